"""Units do not matter, however extreme: answers are those of usual units, or an error says why there is none."""

import numpy as np
import pytest

import ssgp
from helpers import quick, small_forest, wavy

# Powers of two change no digit: about 1e298 for inputs and 1e138 for targets.
INPUTS, TARGETS = 2.0**990, 2.0**460

MAKE = {
    "forest": lambda: small_forest(max_iter=10),
    "svb": lambda: quick(max_iter=10),
    "ssgp": lambda: ssgp.SSGPRegressor(4, max_iter=5, n_restarts=1, random_state=0),
    "vssgp": lambda: ssgp.VSSGPRegressor(5, max_iter=5, random_state=0),
    "dtc": lambda: ssgp.DTCRegressor(8, max_iter=5, random_state=0),
    "pic": lambda: ssgp.PICRegressor(8, max_iter=5, random_state=0),
    "exact": lambda: ssgp.ExactGPRegressor(random_state=0),
}
X, Y, _ = wavy(120)
NEW, NEW_Y, _ = wavy(30, seed=1)


def answers(model, x_unit, y_unit):
    """What a model says of new rows in its units, in usual units."""
    said, y = model.predict_distribution(NEW * x_unit), NEW_Y * y_unit
    in_units = [said.mean(), said.std(), *said.quantile([0.01, 0.5, 0.9]).T, said.crps(y), said.sample(1)[:, 0]]
    return np.array([*(part / y_unit for part in in_units), said.cdf(y), said.logpdf(y) + np.log(y_unit)])


@pytest.fixture(scope="module", params=MAKE)
def make(request):
    return MAKE[request.param]


@pytest.fixture(scope="module")
def usual(make):
    return answers(make().fit(X, Y), 1.0, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("x_unit", [INPUTS, 1.0 / INPUTS])
@pytest.mark.parametrize("y_unit", [TARGETS, 1.0 / TARGETS])
def test_units_do_not_matter(x_unit, y_unit, make, usual):
    model = make().fit(X * x_unit, Y * y_unit)
    np.testing.assert_allclose(answers(model, x_unit, y_unit), usual, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("y_unit", [1e-300, 1e-160, 1e160, 1e300])
def test_targets_whose_squares_are_no_numbers_are_refused(y_unit, make):
    with pytest.raises(ValueError, match=r"y has values too extreme.*their deviation has to be from 1e-140 to 1e\+140"):
        make().fit(X, Y * y_unit)


@pytest.mark.slow
def test_a_recalibration_does_not_mind_either():
    said = []
    for unit in (1.0, TARGETS, 1.0 / TARGETS):
        model = ssgp.recalibrate(MAKE["dtc"]().fit(X, Y * unit), NEW, NEW_Y * unit)
        said.append(answers(model, 1.0, unit))
    np.testing.assert_allclose(said[1], said[0], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(said[2], said[0], rtol=1e-6, atol=1e-9)
