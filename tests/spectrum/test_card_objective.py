"""The local objective on a card, by PyTorch on the processor, against the one of NumPy."""

import numpy as np
import pytest

from devices import CARD
from ssgp.rows.blocks import Block
from ssgp.spectrum.card_objective import CardObjective
from ssgp.spectrum.objectives import Draw, LocalObjective
from ssgp.spectrum.parameters import Hyperparameters

pytestmark = pytest.mark.card

N, M, D = 90, 6, 4


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("trend_inputs", [None, np.array([0, 3])])
def test_values_and_gradients(weighted, trend_inputs, rng):
    X, y = rng.normal(size=(N, D)).astype(np.float32), rng.normal(size=N).astype(np.float32)
    weight = rng.uniform(0.3, 3.0, size=N).astype(np.float32) if weighted else None
    local = LocalObjective(trend=True, trend_inputs=trend_inputs)
    on_card = CardObjective(CARD, local, M, D)
    hyperparameters = Hyperparameters(np.arange(1.0, 5.0), 1.3, 0.2)
    draw = Draw(0.2 * rng.normal(size=(M, D)).astype(np.float32))
    for n in (N, 50):
        block = Block(X[:n], y[:n], None if weight is None else weight[:n])
        found, expected = (objective(block, draw, hyperparameters) for objective in (on_card, local))
        assert found.value == pytest.approx(expected.value, rel=1e-5)
        np.testing.assert_allclose(found.frequencies, expected.frequencies, rtol=1e-3, atol=1e-3)
        assert found.log_noise == pytest.approx(expected.log_noise, rel=1e-4)
        assert found.log_signal == pytest.approx(expected.log_signal, rel=1e-4)
        by_lengthscale = [np.asarray(gradient.log_lengthscale) for gradient in (found, expected)]
        np.testing.assert_allclose(*by_lengthscale, rtol=1e-3, atol=1e-4)
        assert found.weights is None
    assert on_card.n_weights(M) == 0


def test_a_block_that_cannot_be_solved_is_an_error_as_numpys_is():
    block = Block(np.full((20, D), np.nan, np.float32), np.zeros(20, np.float32))
    objective = CardObjective(CARD, LocalObjective(trend=True), M, D)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        objective(block, Draw(np.zeros((M, D), np.float32)), Hyperparameters(np.ones(D), 1.0, 1.0))
