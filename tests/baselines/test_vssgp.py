"""VSSGP, against the paper's regressor with a factorised posterior."""

import numpy as np
import pytest

from helpers import wavy
from ssgp import SVBSSGPRegressor
from ssgp.baselines.feature_maps import VariationalMap


@pytest.mark.slow
def test_vssgp_is_svbssgp_with_a_factorised_posterior():
    """At gamma = 1, E phi(x)^T s over independent frequencies and weights is closed form; draws agree with it."""
    X, y, _ = wavy(400)
    model = SVBSSGPRegressor(
        6, posterior="diagonal", gamma=1.0, n_draws=4000, max_iter=150, n_blocks=2, normalize=False, random_state=0
    ).fit(X, y)
    shift, scale = model.posterior_.shift, np.asarray(model.posterior_.scale)
    centre, weights = model.posterior_.split(shift)
    deviation, weight_scale = model.posterior_.split(scale if scale.ndim == 1 else np.diagonal(scale))
    features = VariationalMap(
        mean=2 * np.pi * np.tile(centre, (2, 1)),
        log_deviation=np.log(2 * np.pi * np.tile(np.abs(deviation), (2, 1))),
        origin=np.zeros((12, 2)),
        phase=np.repeat([0.0, -0.5 * np.pi], 6),
        width_logit=np.full(12, -20.0),
        log_lengthscale=np.zeros(2),
        log_signal=float(np.log(6.0)),
    )
    new = wavy(25, seed=1)[0]
    moments = features.moments(new - model.input_mean_)
    expected = moments.mean @ weights
    second = moments.mean**2 + (moments.variance if moments.variance is not None else 0.0)
    spread = np.sqrt(second @ (weight_scale**2 + weights**2))
    np.testing.assert_array_less(np.abs(model.predict(new) - expected), 5 * spread / np.sqrt(4000) + 1e-6)
