"""The map of the target, chosen by how probable held-out rows are under small forests."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.budget import Budget, seconds_of
from ssgp.distributions.base import Distribution
from ssgp.distributions.counts import in_target_units
from ssgp.forest.fit import quick_forest
from ssgp.forest.fitted import FittedForest
from ssgp.forest.settings import ForestSettings
from ssgp.forest.sizes import MemoryShares, choose_sizes
from ssgp.rows.standardizer import Standardizer
from ssgp.rows.target_maps import TargetMap
from ssgp.rows.training_rows import TrainingRows
from ssgp.spectrum.parameters import Parameters

__all__ = ["CHOOSING_ROWS", "LEAST_ROWS", "TIME_SHARE", "ChoosingRows", "choose_map", "in_units", "small_forest"]

# Rows by which maps are chosen, at most, and the share of them that judges.
CHOOSING_ROWS = 3000
JUDGING_SHARE = 0.4
# Fewer rows are not asked.
LEAST_ROWS = 60
# A target is mapped unasked where held-out rows are so much more probable, in nats per row, and by so many standard
# errors of that: small forests are not the forest.
LEAST_GAIN = 0.015
LEAST_ERRORS = 3.0
# Where so large a share of intervals of 90 % would begin below zero, rows that are no less probable are enough.
IMPOSSIBLE_SHARE = 0.01
# The small forests.
TREES, FREQUENCIES, STEPS = 4, 30, 100
# Share of the time of a fit that trials may take where it is limited.
TIME_SHARE = 0.2


@dataclass(frozen=True)
class ChoosingRows:
    """Rows in random order by which a map is chosen, in the user's units: arrays of n rows, or None."""

    X: Array
    y: Array
    weight: Array | None = None
    groups: Array | None = None

    @classmethod
    def of(cls, X: Array, y: Array, weight: Array | None, groups: Array | None, places: Indices) -> "ChoosingRows":
        """The first of the rows of these numbers, in that order."""
        some = places[:CHOOSING_ROWS]
        weight = None if weight is None else weight[some]
        return cls(X[some], y[some], weight, None if groups is None else groups[some])

    def take(self, rows: Indices) -> "ChoosingRows":
        """Rows of these numbers."""
        return ChoosingRows.of(self.X, self.y, self.weight, self.groups, rows)

    @property
    def are_of_one_group(self) -> bool:
        """Whether none can be held out of the others."""
        return self.groups is not None and len(np.unique(self.groups)) < 2

    def halves(self) -> "tuple[ChoosingRows, ChoosingRows] | None":
        """Rows that judge, and the others, which are learned from; None where groups are too few for that."""
        if self.are_of_one_group:
            return None
        units = Standardizer.fit(self.X, self.y, self.weight, centre_target=True, tell=False)
        held_out = self.training(units).folds(1, int(JUDGING_SHARE * len(self.y)))[0]
        judges, learners = self.take(held_out), self.take(np.delete(np.arange(len(self.y)), held_out))
        # Those who learn hold out some of their own.
        return None if learners.are_of_one_group else (judges, learners)

    def training(self, units: Standardizer) -> TrainingRows:
        """The rows in units of a model, to learn from."""
        n_rows = len(self.y)
        rows = units.rows(self.X, self.y, self.weight, np.arange(n_rows), np.array([0, n_rows]))
        training, groups = TrainingRows.in_random_order(rows), self.groups
        return training if groups is None else training.in_groups(groups, lambda: [groups])


def choose_map(
    candidates: Sequence[TargetMap | None], rows: ChoosingRows, settings: ForestSettings, budget: Budget
) -> TargetMap | None:
    """The candidate under which held-out rows are the most probable; the target as it is unless one is clearly better.

    Small forests of the same frequencies are fitted to some rows and judged by others, in the units of the target.

    Parameters
    ----------
    candidates : sequence of TargetMap or None
        Maps that are possible, None for the target as it is, the first if it is among them.
    rows : ChoosingRows
        Rows to learn from and to judge by.
    settings : ForestSettings
        Those of the fit; sizes are those of small forests.
    budget : Budget
        Time of the fit.
    """
    # The largest scale: a logarithm of nearly all targets.
    untried = None if candidates[0] is None else candidates[-1]
    halves = None if len(candidates) == 1 or len(rows.y) < LEAST_ROWS else rows.halves()
    if halves is None:
        return untried
    judges, learners = halves
    forests: list[FittedForest] = []

    def try_next() -> None:
        learned = forests[0].parameters if forests else None
        forests.append(small_forest(candidates[len(forests)], learners, settings, learned))

    if seconds_of(try_next) * len(candidates) > TIME_SHARE * budget.seconds_left():
        budget.left_out.append("the choice of a map of the target")
        return untried
    while len(forests) < len(candidates):
        try_next()
    predicted = [in_units(forest, judges.X) for forest in forests]
    return candidates[_best(predicted, judges, unasked=candidates[0] is None)]


def _best(predicted: Sequence[Distribution], judges: ChoosingRows, unasked: bool) -> int:
    """Number of the predictions under which the rows are the most probable; the first, `unasked`, unless by far."""
    weight = np.ones(len(judges.y)) if judges.weight is None else judges.weight
    scores = [distribution.logpdf(judges.y) for distribution in predicted]
    best = int(np.argmax([np.average(score, weights=weight) for score in scores]))
    if not unasked or best == 0:
        return best
    gain, impossible = scores[best] - scores[0], predicted[0].interval(0.9)[:, 0] < 0.0
    if np.average(impossible, weights=weight) > IMPOSSIBLE_SHARE or _is_clear(gain, weight):
        return best
    return 0


def small_forest(
    target_map: TargetMap | None, learners: ChoosingRows, settings: ForestSettings, learned: Parameters | None
) -> FittedForest:
    """A small forest of a target that is mapped."""
    units = Standardizer.fit(learners.X, learners.y, learners.weight, True, target_map, tell=False)
    return quick_forest(learners.training(units), units, _small(settings, *learners.X.shape), learned)


def in_units(forest: FittedForest, X: Array) -> Distribution:
    """Predictions of rows X (n, d) in the units of the target."""
    predicted, target_map = forest.distribution(X, n_jobs=1), forest.units.target_map
    return predicted if target_map is None else in_target_units(predicted, target_map)


def _small(settings: ForestSettings, n_rows: int, n_inputs: int) -> ForestSettings:
    """Settings of a small forest."""
    shares = MemoryShares.of("auto", n_inputs)
    sizes = choose_sizes(
        n_rows, n_inputs, shares, n_frequencies=FREQUENCIES, n_trees=TREES, max_iter=min(STEPS, settings.sizes.max_iter)
    )
    return replace(settings, sizes=sizes, correct=False, n_sketches=1, n_jobs=1)


def _is_clear(gain: Array, weight: Array) -> bool:
    """Whether gains of rows (n,) are large enough on average, and surely more than none."""
    mean = float(np.average(gain, weights=weight))
    error = float(np.sqrt(np.sum((weight * (gain - mean)) ** 2))) / float(weight.sum())
    return mean > LEAST_GAIN and mean > LEAST_ERRORS * error
