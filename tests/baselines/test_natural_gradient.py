"""Stochastic steps up the bound, from blocks of rows."""

import numpy as np
import pytest

from linear_models import D, N, inducing, table
from ssgp.baselines.block_likelihood import BlockLikelihood
from ssgp.baselines.feature_maps import InducingMap
from ssgp.baselines.linear_bound import WeightPosterior
from ssgp.baselines.model import Model, RowLikelihood, collapsed_bound, sum_blocks
from ssgp.baselines.natural_gradient import NaturalGradientTrainer


class TestStochasticAscent:
    @pytest.mark.parametrize("likelihood", [RowLikelihood, BlockLikelihood], ids=["rows", "blocks"])
    def test_blocks_are_unbiased(self, likelihood, rng):
        """Statistics of the blocks, scaled to all rows and averaged, are those of all rows; so are gradients."""
        rows, model = table(rng, False, (0, 10, 20, N)), Model(inducing(rng), -1.5)
        whole = sum_blocks(rows, model, likelihood, 1)
        posterior, _ = WeightPosterior.best(whole)
        scaled = [likelihood(model, rows.block(k)).sums().scaled(3.0) for k in range(3)]
        np.testing.assert_allclose(np.mean([s.gram for s in scaled], axis=0), whole.gram, rtol=1e-9, atol=1e-9)
        gradients = [3.0 * likelihood(model, rows.block(k)).gradient(posterior)[1] for k in range(3)]
        expected = collapsed_bound(rows, model, likelihood, 1)[1]
        np.testing.assert_allclose(np.mean(gradients, axis=0), expected, rtol=1e-6, atol=1e-6)

    @pytest.mark.slow
    def test_climbs(self, rng):
        rows, model = table(rng, False, tuple(range(0, N + 1, 10))), Model(inducing(rng), 0.0)
        ascent = NaturalGradientTrainer(rows, model, RowLikelihood, 0.02, rng)
        for _ in range(300):
            ascent.step(1.0)
        before, after = (collapsed_bound(rows, m, RowLikelihood, 1)[0] for m in (model, ascent.model))
        assert after > before + 5.0

    def test_a_bad_block_moves_nothing(self, rng):
        rows = table(rng, False, (0, N))
        rows.y[0] = np.inf
        ascent = NaturalGradientTrainer(rows, Model(inducing(rng), 0.0), RowLikelihood, 0.02, rng)
        before = ascent.model.to_vector()
        with np.errstate(all="ignore"):
            ascent.step(1.0)
        np.testing.assert_array_equal(ascent.model.to_vector(), before)
        rows.y[0] = 0.0
        assert np.isfinite(ascent.step(1.0))
        assert (ascent.model.to_vector() != before).any()

    def test_a_model_that_cannot_be_evaluated_is_taken_back(self, rng):
        class Fragile(RowLikelihood):
            def __init__(self, model, block):
                nonlocal n_evaluated
                n_evaluated += 1
                if n_evaluated == 3:
                    raise np.linalg.LinAlgError("not positive definite")
                super().__init__(model, block)

        n_evaluated, models = 0, []
        ascent = NaturalGradientTrainer(table(rng, False, (0, N)), Model(inducing(rng), 0.0), Fragile, 0.02, rng)
        for _ in range(4):
            bound = ascent.step(1.0)
            models.append(ascent.model.to_vector())
        # The third step finds that the second led nowhere, and goes back to where that began.
        np.testing.assert_array_equal(models[2], models[0])
        assert (models[3] != models[2]).any()
        assert ascent.n_failed == 1
        assert np.isfinite(bound)

    def test_what_starts_far_out_may_stay_there(self, rng):
        places = np.full((3, D), 63.0) + rng.normal(size=(3, D))
        model = Model(InducingMap(places, np.full(D, 9.0), 0.0), 0.0)
        ascent = NaturalGradientTrainer(table(rng, False, (0, N)), model, RowLikelihood, 0.02, rng)
        ascent.step(1.0)
        moved = ascent.model.features
        assert isinstance(moved, InducingMap)
        np.testing.assert_allclose(moved.inputs, places, atol=0.05)
        np.testing.assert_allclose(moved.log_lengthscale, 9.0, atol=0.05)
