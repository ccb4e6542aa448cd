"""The collapsed bound climbed by L-BFGS, also where some models cannot be evaluated."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from linear_models import N, spectral, table
from ssgp.baselines.lbfgs import maximize_bound
from ssgp.baselines.linear_bound import Sums
from ssgp.baselines.model import Model, RowLikelihood


def fails_between(steps, how):
    """The likelihood of rows, that fails in evaluations of these numbers."""

    class Fragile(RowLikelihood):
        n_evaluated = 0

        def sums(self):
            Fragile.n_evaluated += 1
            found = super().sums()
            if Fragile.n_evaluated not in steps:
                return found
            if how == "raises":
                raise np.linalg.LinAlgError("not positive definite")
            return Sums(found.gram, found.cross, float(how))

    return Fragile


def keep_in(kept: list[Any], what: Callable[[Model, float], Any]) -> Callable[[Model, float], bool]:
    """What is called after each step: it keeps something of it, and does not stop."""

    def after_step(model: Model, bound: float) -> bool:
        kept.append(what(model, bound))
        return False

    return after_step


class TestClimb:
    @pytest.mark.slow
    @pytest.mark.parametrize("how", ["raises", "nan", "inf"])
    @pytest.mark.parametrize("steps", [(2,), (3,), (3, 4), (6, 7, 8), (4, 9, 14)], ids=str)
    def test_it_goes_on_from_models_that_cannot_be_evaluated(self, steps, how, rng):
        rows, model = table(rng, False, (0, N)), Model(spectral(rng, learn=False), 0.0)
        bounds: list[Any] = []
        bounds_too: list[Any] = []
        after, after_too = (keep_in(own, lambda _, bound: bound) for own in (bounds, bounds_too))
        assert maximize_bound(rows, model, RowLikelihood, 200, 1e-12, 1, after) == 0
        assert maximize_bound(rows, model, fails_between(steps, how), 200, 1e-12, 1, after_too) == len(steps)
        assert bounds_too[-1] == pytest.approx(bounds[-1], abs=1e-6)

    @pytest.mark.slow
    def test_it_keeps_away_from_where_no_model_can_be_evaluated(self, rng):
        """Models of little noise fail: the best of the others is at the edge."""

        class Fragile(RowLikelihood):
            def __init__(self, model, block):
                if model.log_noise < edge:
                    raise np.linalg.LinAlgError("not positive definite")
                super().__init__(model, block)

        rows, start, models = table(rng, False, (0, N)), Model(spectral(rng, learn=False), 0.0), []
        after = keep_in(models, lambda model, _: model)
        maximize_bound(rows, start, RowLikelihood, 200, 1e-12, 1, after)
        edge = models[-1].log_noise + 0.5
        models.clear()
        assert maximize_bound(rows, start, Fragile, 200, 1e-12, 1, after) > 0
        assert edge <= models[-1].log_noise < edge + 1e-3
        assert all(np.isfinite(model.to_vector()).all() for model in models)

    def test_nothing_is_learned_from_a_start_that_cannot_be_evaluated(self, rng):
        rows, model, steps = table(rng, False, (0, N)), Model(spectral(rng), 0.0), []
        after = keep_in(steps, lambda *step: step)
        assert maximize_bound(rows, model, fails_between(range(99), "raises"), 9, 0.0, 1, after) == 1
        assert not steps
