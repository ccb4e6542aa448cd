"""Corrections learned from errors of rows left out: boosted trees, as many as rows held out ask for."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from time import monotonic
from typing import NamedTuple

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.budget import seconds_of
from ssgp._utils.wide import WIDE
from ssgp.engine.threads import FastestThreads
from ssgp.engine.tree_size import TreeSize
from ssgp.forest.boosted_trees import FIRST_TREES, BinnedRows, BoostedTrees, Growth, TreeGrower, TreeRows
from ssgp.forest.correction import Booster, Correction, Residuals, Way, beside, boosting_threads
from ssgp.forest.telling_inputs import telling_inputs

__all__ = ["BinRows", "fit_again", "fit_earlier", "grow_correction"]

# Puts rows into bins, where trees of them are to be grown.
BinRows = Callable[[Array], TreeRows]
# Few trees with many leaves: as accurate as many small ones for errors, and several times as fast to evaluate. Where
# rows held out ask for more than the first trees, there is something fine to learn, which larger ones learn faster.
LARGE_TREES = Growth(0.2, TreeSize(255, 20), TreeSize(1023, 10))
# Those that know the forest's prediction would cut off its extremes one by one.
INFORMED_TREES = Growth(0.2, TreeSize(255, 20, 16), TreeSize(1023, 10, 16))
# What they learn of a function themselves, few rows teach smaller trees better.
SMALL_TREES = Growth(0.2, TreeSize(31, 5), TreeSize(31, 5))
# Within a time limit.
HASTY_TREES = Growth(0.3, TreeSize(255, 20), TreeSize(255, 20))
# Ways that are tried where there is one fold, and where there are several, whose tables are small.
UNINFORMED, INFORMED = Way(1.0), Way(1.0, informed=True)
WAYS = {UNINFORMED: LARGE_TREES, Way(0.7): LARGE_TREES, INFORMED: INFORMED_TREES}
WAYS_OF_FOLDS = {UNINFORMED: SMALL_TREES, Way(0.5): SMALL_TREES}
# Trees that tell which way is best, and the most there are; of many rows there are fewer, so that the correction does
# not take longer than the forest, and of several folds fewer of each, and together.
FIRST, MOST = 25, 400
LEAST_MOST, MOST_ROWS_TIMES_TREES = 100, 100_000_000
MOST_OF_A_FOLD, MOST_OF_FOLDS = 100, 500
# Trees are doubled as long as that takes so large a share off the squared error of rows held out, a larger one beyond
# the first hundred, where they are larger, too.
WORTH, WORTH_OF_LATER = 0.002, 0.005
# A way that is nearly as good as the best by the first trees may have twice as many, too, unless rows are many.
CLOSE, MANY_ROWS = 1.02, 100_000
LEAST_ROWS = 200
# A smaller share of the correction than this is not worth its time at prediction.
LEAST_SHARE = 0.1
# Rows and trees that tell how long others take.
TIMED_ROWS, TIMED_ROUNDS = 4000, 2


class Boosting:
    """Boosted trees of residuals, which go on from those there are.

    Parameters
    ----------
    residuals : Residuals
        Errors to learn from.
    seed, n_threads : int
        Seed, and threads of large tables.
    bin_rows : callable
        What puts the rows into bins.
    """

    def __init__(self, residuals: Residuals, seed: int, n_threads: int, bin_rows: BinRows = BinnedRows.of) -> None:
        self.residuals, self.seed = residuals, seed
        self._threads = FastestThreads(boosting_threads(len(residuals.error), n_threads))
        # Scaled to a mean of one: splits need a least weight.
        self._weight = residuals.importance / residuals.importance.mean()
        self._inputs = _telling_inputs(residuals, seed) if residuals.X.shape[1] > WIDE else None
        X = residuals.X if self._inputs is None else residuals.X[:, self._inputs]
        self._rows = bin_rows(beside(X, _blurred_mean(residuals, seed)))
        self._growers: dict[tuple[Growth, Way], TreeGrower] = {}

    def grow(self, n_rounds: int, growth: Growth, way: Way = UNINFORMED) -> BoostedTrees:
        """So many trees that begin in this way, with those that were grown so before."""
        d = self.residuals.X.shape[1]
        if (growth, way) not in self._growers:
            n_told = d if self._inputs is None else len(self._inputs)
            self._growers[growth, way] = self._rows.grower(
                *(self.residuals.standardized(way.start), self._weight, growth, self.seed, self._threads),
                n_inputs=n_told + way.informed,
            )
        trees = self._growers[growth, way].grow(n_rounds)
        return trees if self._inputs is None else trees.among(np.append(self._inputs, d), d + way.informed)


def _blurred_mean(residuals: Residuals, seed: int) -> Array:
    """Predictions that do not tell targets, shape (n,).

    Of rows with like inputs the one with the highest target has the lowest prediction once it is left out: by so little
    that errors of the usual size, drawn at random, hide it.
    """
    usual = np.sqrt(np.mean(residuals.standardized() ** 2))
    noise = np.random.default_rng([seed, len(residuals.mean)]).normal(size=len(residuals.mean))
    return residuals.mean + usual * residuals.deviation * noise


def fit_again(
    correction: Correction, residuals: Residuals, seed: int, n_threads: int, bin_rows: BinRows = BinnedRows.of
) -> Correction:
    """The same correction, with as many trees, fitted to other residuals."""
    (trees,) = correction.boosters
    assert isinstance(trees, BoostedTrees)
    boosting = Boosting(residuals, seed, n_threads, bin_rows)
    return replace(correction, boosters=(boosting.grow(trees.n_trees, WAYS[correction.way], correction.way),))


def fit_earlier(
    correction: Correction,
    earlier: Sequence[tuple[Residuals, Residuals]],
    last_held_out: Residuals,
    seed: int,
    n_threads: int,
    bin_rows: BinRows = BinnedRows.of,
) -> Correction | None:
    """The correction of the last of several folds, those of earlier ones with as many trees, and one share for all.

    Of each earlier fold there are the errors to learn from, and those of rows held out.
    """
    again = [fit_again(correction, learned, seed, n_threads, bin_rows).boosters[0] for learned, _ in earlier]
    held_out = [*(rows for _, rows in earlier), last_held_out]
    _, best = _with_best_share([*again, *correction.boosters], held_out, correction.way, n_threads)
    return best if best.share >= LEAST_SHARE else None


def grow_correction(
    learned: Sequence[Residuals],
    held_out: Sequence[Residuals],
    seed: int,
    n_threads: int,
    seconds: float = inf,
    bin_rows: BinRows = BinnedRows.of,
) -> Correction | None:
    """The correction with as many trees as rows held out ask for, in the way that is best for them.

    Parameters
    ----------
    learned, held_out : sequences of Residuals
        Of each fold, errors to learn from, and to judge by.
    seed, n_threads : int
        Seed and threads.
    seconds : float
        Time there is, infinite for any: within a limit there are no more trees than there is time for, in one way.
    bin_rows : callable
        What puts rows into bins.
    """
    if min(len(rows.error) for rows in learned) < LEAST_ROWS:
        return None
    if seconds < inf:
        best = _grow_within(seconds, learned, held_out, seed, n_threads, bin_rows)
    else:
        best = _grow_best([Boosting(rows, seed, n_threads, bin_rows) for rows in learned], held_out, n_threads)
    return best if best is not None and best.share >= LEAST_SHARE else None


class _Judged(NamedTuple):
    """A correction, and the squared error that it leaves of rows held out, in the units of `importance`."""

    error: float
    correction: Correction

    @property
    def n_trees(self) -> int:
        """Trees of each fold."""
        (trees, *_) = self.correction.boosters
        assert isinstance(trees, BoostedTrees)
        return trees.n_trees


def _grow_best(boostings: list[Boosting], held_out: Sequence[Residuals], n_threads: int) -> Correction:
    """As many trees as rows held out ask for, in the way that is best for the first of them."""
    n_rows, alone = len(boostings[0].residuals.error), len(boostings) == 1
    ways = WAYS if alone else WAYS_OF_FOLDS
    most = _most_trees(n_rows) if alone else min(MOST_OF_A_FOLD, MOST_OF_FOLDS // len(boostings))

    def judged(way: Way, n_trees: int) -> _Judged:
        trees = [boosting.grow(n_trees, ways[way], way) for boosting in boostings]
        return _with_best_share(trees, held_out, way, n_threads)

    def doubled(before: _Judged) -> list[_Judged]:
        """The same with twice as many trees, if there may be and they are worth their time."""
        way, n_trees = before.correction.way, before.n_trees
        worth = WORTH_OF_LATER if alone and n_trees >= FIRST_TREES else WORTH
        if 2 * n_trees > most or before.correction.share == 0.0:
            return []
        # The first half of more trees takes off more than the second.
        if judged(way, n_trees + n_trees // 2).error > (1.0 - 0.5 * worth) * before.error:
            return []
        after = judged(way, 2 * n_trees)
        return [after] if after.error <= (1.0 - worth) * before.error else []

    best, second, *_ = sorted((judged(way, FIRST) for way in ways), key=_error)
    undecided = second.error <= CLOSE * best.error and alone and n_rows < MANY_ROWS
    candidates = [best, second] if undecided else [best]
    while grown := [after for before in candidates for after in doubled(before)]:
        more = min(grown, key=_error)
        if more.error >= best.error:
            break
        best, candidates = more, [more]
    return best.correction


def _error(judged: _Judged) -> float:
    return judged.error


def _most_trees(n_rows: int) -> int:
    """The most trees of one fold of so many rows."""
    return min(MOST, max(LEAST_MOST, MOST_ROWS_TIMES_TREES // n_rows))


def _grow_within(
    seconds: float,
    learned: Sequence[Residuals],
    held_out: Sequence[Residuals],
    seed: int,
    n_threads: int,
    bin_rows: BinRows,
) -> Correction | None:
    """A correction of as many trees, up to the first number of them, as there are seconds for; None for none."""
    deadline = monotonic() + seconds
    # Binning takes about as long as some trees; rows and trees are as many as a few tell.
    few = learned[0].first(TIMED_ROWS)
    n_timed = TIMED_ROUNDS * len(learned)

    def grow(boostings: list[Boosting], n_rounds: int) -> list[BoostedTrees]:
        return [boosting.grow(n_rounds, HASTY_TREES) for boosting in boostings]

    per_tree = seconds_of(lambda: grow([Boosting(few, seed, n_threads, bin_rows)], TIMED_ROUNDS)) / TIMED_ROUNDS
    if per_tree * max(1.0, len(learned[0].error) / len(few.error)) * n_timed > deadline - monotonic():
        return None
    boostings = [Boosting(rows, seed, n_threads, bin_rows) for rows in learned]
    per_round = seconds_of(lambda: grow(boostings, TIMED_ROUNDS)) / TIMED_ROUNDS
    n_rounds = min(FIRST, TIMED_ROUNDS + int((deadline - monotonic()) / per_round))
    return _with_best_share(grow(boostings, max(TIMED_ROUNDS, n_rounds)), held_out, UNINFORMED, n_threads)[1]


def _telling_inputs(residuals: Residuals, seed: int) -> Indices:
    """Inputs along which the errors' means vary most."""
    return telling_inputs(residuals.X, residuals.importance * residuals.standardized(), seed)


def _with_best_share(boosters: Sequence[Booster], held_out: Sequence[Residuals], way: Way, n_threads: int) -> _Judged:
    """The correction of these boosters, judged by rows held out.

    Its share is the best, in least squares, for rows held out of both trees and boosters: booster i is judged on rows
    `held_out[i]`. The correction is the mean of all.
    """
    along = squared = error = 0.0
    for booster, rows in zip(boosters, held_out, strict=True):
        whole = Correction((booster,), 1.0, *way)
        shift = whole(rows.X, rows.mean, rows.deviation, n_threads) / rows.deviation
        left = rows.standardized()
        along += float(np.sum(rows.importance * shift * left))
        squared += float(np.sum(rows.importance * shift * shift))
        error += float(np.sum(rows.importance * left * left))
    share = min(1.0, max(0.0, along / squared)) if squared > 0.0 else 0.0
    left_over = error - 2.0 * share * along + share * share * squared
    return _Judged(left_over, Correction(tuple(boosters), share, *way))
