"""A correction of effects that local models cannot see, learned from their errors on rows they were not fitted to.

An effect of a day or of a category that all regions share has too few rows in any one leaf. Boosted trees, which
pool all rows, find it in the forest's honest residuals. They are fitted to residuals in deviations of the local
noise, so that a correction is never large where the forest is sure.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from time import monotonic
from typing import Any, NamedTuple, Protocol

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.budget import seconds_of
from ssgp._utils.weights import MOST_SHARE_OF_ERRORS, limit_share
from ssgp._utils.wide import CHOSEN_INPUTS, WIDE, largest
from ssgp.engine.threads import FastestThreads, openmp_threads
from ssgp.engine.tiles import mean_in_order
from ssgp.engine.tree_size import TreeSize
from ssgp.forest.boosted_trees import FIRST_TREES, BinnedRows, BoostedTrees, Growth, TreeGrower, TreeRows
from ssgp.saving.contents import flag, made_of, number, tuple_of
from ssgp.saving.kinds import stored

__all__ = [
    "BinRows",
    "Correction",
    "Residuals",
    "Way",
    "beside",
    "boosting_threads",
    "fit_again",
    "fit_earlier",
    "grow_correction",
    "telling_inputs",
]

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
# Trees that tell where to start from, and the most there are, of one fold, of each of several, and of these together;
# as long as doubling their number takes so large a share off the squared error of rows held out, a larger one beyond
# the first hundred, whose successors take longer.
FIRST_ROUNDS, MOST_ROUNDS = 25, 400
# Trees of many rows are fewer, so that the correction does not take longer than the forest.
LEAST_MOST_ROUNDS, MOST_ROWS_TIMES_ROUNDS = 100, 100_000_000
MOST_ROUNDS_OF_FOLDS, MOST_TREES_OF_FOLDS = 100, 500
WORTH, WORTH_OF_LATER = 0.002, 0.01
# A way that is nearly as good as the best by the first trees may have twice as many, too.
CLOSE = 1.02
LEAST_ROWS = 200
# Residuals beyond so many deviations count as so many.
MOST_DEVIATIONS = 20.0
# A smaller share of the correction than this is not worth its time at prediction.
LEAST_SHARE = 0.1
ROWS_PER_THREAD = 50_000
# Rows and trees that tell how long others take.
TIMED_ROWS, TIMED_ROUNDS = 4000, 2
# Of a table of many inputs: rows that tell which of them errors go with, and the parts they are sorted into.
SORTED_ROWS = 5000
SORTED_PARTS = 16


class Way(NamedTuple):
    """What boosted trees begin with.

    Attributes
    ----------
    start : float
        Share of the forest's own prediction that they start from.
    informed : bool
        Whether that prediction is one of their inputs.
    """

    start: float
    informed: bool = False


# Ways that are tried where there is one fold, and where there are several, whose tables are small.
UNINFORMED, INFORMED = Way(1.0), Way(1.0, informed=True)
WAYS = (UNINFORMED, Way(0.7), INFORMED)
WAYS_OF_FOLDS = (UNINFORMED, Way(0.5))


@dataclass(frozen=True)
class Residuals:
    """Errors of predictions of n rows by models that were fitted without them.

    Attributes
    ----------
    X : array of shape (n, d)
        Standardised inputs.
    error : array of shape (n,)
        Target minus prediction.
    mean : array of shape (n,)
        The prediction.
    deviation : array of shape (n,)
        Deviations of the noise, as the models estimate it.
    weight : array of shape (n,) or None
        Sample weights.
    """

    X: Array
    error: Array
    mean: Array
    deviation: Array
    weight: Array | None

    def standardized(self, start: float = 1.0) -> Array:
        """What the target is beyond so large a share of the prediction, in deviations of the noise."""
        beyond = self.error if start == 1.0 else self.error + (1.0 - start) * self.mean
        return np.clip(beyond / self.deviation, -MOST_DEVIATIONS, MOST_DEVIATIONS)

    @property
    def importance(self) -> Array:
        """Weights halfway between squared errors of the target's units (deviation^2) and of deviations (1)."""
        if self.weight is None:
            return self.deviation
        return self.deviation * limit_share(self.weight, MOST_SHARE_OF_ERRORS)

    def first(self, n_rows: int) -> "Residuals":
        """The first so many rows."""
        weight = None if self.weight is None else self.weight[:n_rows]
        return Residuals(self.X[:n_rows], self.error[:n_rows], self.mean[:n_rows], self.deviation[:n_rows], weight)

    def joined(self, other: "Residuals") -> "Residuals":
        """These rows and others."""
        weight = None
        if self.weight is not None and other.weight is not None:
            weight = np.concatenate([self.weight, other.weight])
        X, error = np.concatenate([self.X, other.X]), np.concatenate([self.error, other.error])
        mean, deviation = np.concatenate([self.mean, other.mean]), np.concatenate([self.deviation, other.deviation])
        return Residuals(X, error, mean, deviation, weight)


class Booster(Protocol):
    """A model of residuals in deviations of the noise."""

    def predict(self, X: Array, /) -> Any:  # noqa: ANN401  an array, as scikit-learn has it
        """Predicted residuals of standardised rows X (n, d), shape (n,)."""
        ...


def _check_inputs(parts: Any) -> Iterator[tuple[bool, str]]:  # noqa: ANN401
    yield parts.boosters[0].n_inputs > bool(parts.informed), "there must be an input of the rows"


@stored(
    {
        "boosters": tuple_of(made_of(BoostedTrees, d=lambda trees: trees.n_inputs), least=1),
        "share": number(0.0, 1.0),
        "start": number(0.0, 1.0),
        "informed": flag,
    },
    added=("start", "informed"),
    relations=_check_inputs,
)
@dataclass(frozen=True)
class Correction:
    """Shift of predictions towards ``start mean(x) + deviation(x) h(x)``, h the mean of boosted trees.

    Attributes
    ----------
    boosters : tuple of Booster
        Fitted to what targets are beyond `start` times the prediction, in deviations of the noise.
    share : float
        How much of the way is gone, from 0 to 1.
    start : float
        Share of the forest's prediction that the boosted trees start from: 1 where they are fitted to its errors, less
        where they are to learn some of the function themselves.
    informed : bool
        Whether the forest's prediction is the last input of the boosted trees.
    """

    boosters: tuple[Booster, ...]
    share: float
    start: float = 1.0
    informed: bool = False

    def __call__(self, X: Array, mean: Array, deviation: Array, n_threads: int = 1) -> Array:
        """Shift of predictions of rows X (n, d) with means and deviations (n,), all standardised, shape (n,)."""
        shift = deviation * _mean_of(self.boosters, beside(X, mean) if self.informed else X, n_threads)
        if self.start < 1.0:
            shift -= (1.0 - self.start) * mean
        return self.share * shift

    @property
    def way(self) -> Way:
        """What the boosted trees began with."""
        return Way(self.start, self.informed)

    @property
    def n_inputs(self) -> int:
        """Inputs of rows: d."""
        return max(booster.n_inputs for booster in self.boosters if isinstance(booster, BoostedTrees)) - self.informed

    @property
    def nbytes(self) -> int:
        """Bytes of the trees."""
        return sum(booster.nbytes for booster in self.boosters if isinstance(booster, BoostedTrees))


def beside(X: Array, mean: Array) -> Array:
    """Rows X (n, d) with predictions (n,) as their last input, shape (n, d + 1), in the precision of X."""
    return np.column_stack([X, mean.astype(X.dtype)])


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
        self._rows = bin_rows(beside(X, residuals.mean))
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


def fit_again(
    correction: Correction, residuals: Residuals, seed: int, n_threads: int, bin_rows: BinRows = BinnedRows.of
) -> Correction:
    """The same correction, with as many trees, fitted to other residuals."""
    (trees,) = correction.boosters
    assert isinstance(trees, BoostedTrees)
    boosting = Boosting(residuals, seed, n_threads, bin_rows)
    return replace(correction, boosters=(boosting.grow(trees.n_trees, _large_trees(correction.way), correction.way),))


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


def _grow_best(boostings: list[Boosting], held_out: Sequence[Residuals], n_threads: int) -> Correction:
    """As many trees as rows held out ask for, in the way that is best for the first of them."""
    alone, n_rounds = len(boostings) == 1, FIRST_ROUNDS
    of_folds = min(MOST_ROUNDS_OF_FOLDS, MOST_TREES_OF_FOLDS // len(boostings))
    most_rounds = _most_rounds_of(len(boostings[0].residuals.error)) if alone else of_folds

    def judged(n_rounds: int, way: Way) -> _Judged:
        growth = _large_trees(way) if alone else SMALL_TREES
        trees = [boosting.grow(n_rounds, growth, way) for boosting in boostings]
        return _with_best_share(trees, held_out, way, n_threads)

    def doubled(before: _Judged) -> list[_Judged]:
        """The same with twice as many trees, if they are worth their time."""
        worth = WORTH if n_rounds < FIRST_TREES else WORTH_OF_LATER
        # The first half of more trees takes off more than the second.
        half = judged(n_rounds + n_rounds // 2, before.correction.way)
        if half.error > (1.0 - 0.5 * worth) * before.error:
            return []
        whole = judged(2 * n_rounds, before.correction.way)
        return [whole] if whole.error <= (1.0 - worth) * before.error else []

    best, second, *_ = sorted((judged(n_rounds, way) for way in (WAYS if alone else WAYS_OF_FOLDS)), key=_error)
    rivals = [second] if alone and second.error <= CLOSE * best.error else []
    while 2 * n_rounds <= most_rounds and best.correction.share > 0.0:
        more = min((after for before in (best, *rivals) for after in doubled(before)), key=_error, default=best)
        if more.error >= best.error:
            break
        best, rivals, n_rounds = more, [], 2 * n_rounds
    return best.correction


def _error(judged: _Judged) -> float:
    return judged.error


def _large_trees(way: Way) -> Growth:
    """How boosted trees of one fold are grown."""
    return INFORMED_TREES if way.informed else LARGE_TREES


def _most_rounds_of(n_rows: int) -> int:
    """The most trees of one fold of so many rows."""
    return min(MOST_ROUNDS, max(LEAST_MOST_ROUNDS, MOST_ROWS_TIMES_ROUNDS // n_rows))


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
    n_rounds = min(FIRST_ROUNDS, TIMED_ROUNDS + int((deadline - monotonic()) / per_round))
    return _with_best_share(grow(boostings, max(TIMED_ROUNDS, n_rounds)), held_out, UNINFORMED, n_threads)[1]


def _telling_inputs(residuals: Residuals, seed: int) -> Indices:
    """Inputs along which the errors' means vary most: trees of all would take memory for each."""
    return telling_inputs(residuals.X, residuals.importance * residuals.standardized(), seed)


def telling_inputs(X: Array, error: Array, seed: int) -> Indices:
    """Inputs of X (n, d) along which the means of errors (n,) vary most, in any form.

    They are told from some rows of the whole table in random order: in that of the table, which may be sorted, errors
    that drift would go with every input of few values.
    """
    rows = np.random.default_rng(seed).permutation(len(error))[:SORTED_ROWS]
    error = error[rows] - error[rows].mean()
    n_inputs = X.shape[1]
    parts = (X[rows, first : first + WIDE] for first in range(0, n_inputs, WIDE))
    return largest(np.concatenate([_variation(error, part) for part in parts]), CHOSEN_INPUTS)


def _variation(error: Array, X: Array) -> Array:
    """How much means of errors (n,) vary along each input of X (n, d), shape (d,); less than nothing for constants."""
    starts = np.arange(SORTED_PARTS) * len(error) // SORTED_PARTS
    variation = np.sum(np.add.reduceat(error[np.argsort(X, axis=0, kind="stable")], starts) ** 2, axis=0)
    return np.where(np.ptp(X, axis=0) > 0, variation, -1.0)


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


def _mean_of(boosters: tuple[Booster, ...], X: Array, n_threads: int) -> Array:
    with openmp_threads(boosting_threads(len(X), n_threads)):
        return mean_in_order(np.stack([booster.predict(X) for booster in boosters]))


def boosting_threads(n_rows: int, n_threads: int) -> int:
    """One thread for few rows: where cores are busy, threads wait for each other longer than short loops take."""
    return max(1, min(n_threads, n_rows // ROWS_PER_THREAD))
