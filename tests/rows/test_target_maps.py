"""Maps of targets: there and back, slopes, ends."""

import numpy as np
import pytest

from ssgp.rows.target_maps import Logit, SoftLog
from ssgp.saving.contents import ContentsError
from ssgp.saving.flattening import flatten, rebuild
from ssgp.stored import KINDS

MAPS = [
    SoftLog("positive", 3.0),
    SoftLog("count", 20.0, 0.5),
    SoftLog("non-negative", 2.0, 0.1),
    Logit(0.0, 1.0),
    Logit(-5.0, 20.0, 0.5),
]
VALUES = np.array([1e-9, 1e-3, 0.2, 0.5, 0.9])


@pytest.mark.parametrize("target_map", MAPS)
class TestEveryMap:
    def test_there_and_back(self, target_map):
        z = target_map.to_model(VALUES)
        np.testing.assert_allclose(target_map.to_target(z), VALUES, rtol=1e-6, atol=1e-15)
        assert (np.diff(z) > 0).all()

    def test_slopes_are_those_of_differences(self, target_map):
        z, step = np.linspace(-6, 6, 13), 1e-5
        difference = (target_map.to_target(z + step) - target_map.to_target(z - step)) / (2 * step)
        np.testing.assert_allclose(target_map.slope(z), difference, rtol=1e-6)
        np.testing.assert_allclose(target_map.log_slope(target_map.to_target(z)), -np.log(difference), atol=1e-6)

    def test_what_is_below_all_is_infinitely_far(self, target_map):
        assert target_map.to_model(np.array([target_map.low - target_map.margin - 1.0])) == -np.inf

    def test_targets_to_learn_from_are_finite_where_an_end_has_a_mass(self, target_map):
        ends = np.array([target_map.low] + [target_map.high] * bool(np.isfinite(target_map.high)))
        learned = target_map.learned(ends)
        assert np.isfinite(learned).all() == (target_map.margin > 0)
        if target_map.kind != "count" and target_map.margin:
            assert (target_map.to_target(learned) < ends)[0]

    def test_a_file_holds_it(self, target_map):
        flat = flatten(target_map)
        assert rebuild(flat, KINDS) == target_map


def test_a_soft_logarithm_is_one_far_below_its_scale_and_linear_far_above():
    target_map = SoftLog("positive", 1e6)
    np.testing.assert_allclose(np.diff(target_map.to_model(np.array([1.0, 10.0, 100.0]))), np.log(10), rtol=1e-4)
    np.testing.assert_allclose(np.diff(target_map.to_model(np.array([2e8, 3e8, 5e8]))), [100.0, 200.0], rtol=1e-9)


@pytest.mark.parametrize("target_map", [SoftLog("positive", 2.6e31), Logit(0.0, 2.6e31)])
def test_targets_so_far_below_their_scale_that_the_share_has_few_digits_have_all(target_map):
    y = np.array([1e-300, 4.3e-290, 3e-280, 1e-276, 1e-250])
    z = target_map.to_model(y)
    np.testing.assert_allclose(z, np.log(y) - np.log(2.6e31), rtol=1e-15)
    np.testing.assert_allclose(target_map.to_target(z), y, rtol=1e-12)
    np.testing.assert_allclose(target_map.slope(z), y, rtol=1e-12)
    np.testing.assert_allclose(target_map.log_slope(y), -np.log(y), rtol=1e-15)


def test_tiny_and_huge_targets_stay_in_order():
    target_map = SoftLog("positive", 1.0)
    y = np.array([1e-300, 1e-30, 1e-3, 1e3, 1e300])
    np.testing.assert_allclose(target_map.to_target(target_map.to_model(y)), y, rtol=1e-12)


@pytest.mark.parametrize(
    "impossible", [SoftLog("positive", 0.0), SoftLog("odd", 1.0), SoftLog("count", 1.0), Logit(1.0, 1.0)]
)
def test_a_file_with_an_impossible_map_is_refused(impossible):
    with pytest.raises(ContentsError):
        KINDS.by_name[type(impossible).__name__].check(vars(impossible))
