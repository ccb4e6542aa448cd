"""Atoms: values that targets take again and again, and boosted trees that say how probable they are."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.ensemble import HistGradientBoostingClassifier

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp._utils.weights import MOST_SHARE_OF_ERRORS, limit_share
from ssgp._utils.wide import WIDE, fewer_if_wide
from ssgp.engine.threads import map_in_threads, n_threads, openmp_threads
from ssgp.forest.boosted_trees import BinnedRows, BoostedTrees, grow
from ssgp.forest.correction import boosting_threads
from ssgp.forest.sklearn_trees import LEAF
from ssgp.forest.telling_inputs import telling_inputs
from ssgp.rows.repeats import keys_of_copies
from ssgp.rows.row_groups import folds_of_groups, folds_of_rows
from ssgp.rows.row_order import parts_in_time
from ssgp.saving.contents import array, made_of, tuple_of
from ssgp.saving.kinds import stored

__all__ = ["Atoms", "LabelledRows", "at_atoms", "fit_atoms"]

# Trees that tell atoms from other rows: few leaves, and as many as rows held out ask for.
BOOSTER = {"min_samples_leaf": 20, "learning_rate": 0.1, "early_stopping": False}
LEAVES, LEAVES_OF_FEW_ROWS = 31, 8
FIRST_ROUNDS, MOST_ROUNDS = 25, 400
# As long as doubling their number takes so large a share off what rows held out have not been told.
WORTH = 0.001
# More rows make probabilities little better; where time is limited there are fewer, and no more trees than these.
MOST_ROWS, MOST_ROWS_IN_TIME, MOST_ROUNDS_IN_TIME = 300_000, 20_000, 50
# Rows held out: a share of many, or all of few in turn.
HELD_OUT_SHARE, MOST_HELD_OUT = 0.2, 20_000
FEW_ROWS, N_FOLDS = 10_000, 5
# Factors of squares in the search for how far the trees are to be believed.
PRIOR = 2.0


def _form_atoms(parts: Any) -> Iterator[tuple[bool, str]]:  # noqa: ANN401
    yield bool((np.diff(parts.values) > 0).all()), "atoms must ascend"
    yield len(parts.values) == len(parts.trees), "there must be trees for every atom"


@stored(
    {"values": array("float64", "atoms"), "trees": tuple_of(made_of(BoostedTrees, d=lambda trees: trees.n_inputs))},
    relations=_form_atoms,
)
@dataclass(frozen=True)
class Atoms:
    """Values that have probabilities of their own.

    Attributes
    ----------
    values : array of shape (k,)
        The values, ascending.
    trees : tuple of BoostedTrees
        Log odds of each value, given that none of those before it is the one, of rows in the user's units.
    """

    values: Array
    trees: tuple[BoostedTrees, ...]

    def probability(self, X: Array, n_jobs: int | None = 1) -> Array:
        """Probabilities of the values for rows X (n, d) in the user's units, shape (k, n)."""
        size = fewer_if_wide(1 << 16, X.shape[1])
        chunks = [X[start : start + size] for start in range(0, len(X), size)]
        with openmp_threads(1):
            return np.concatenate(map_in_threads(self._probability, chunks, n_jobs), axis=1)

    def _probability(self, X: Array) -> Array:
        left, parts = np.ones(len(X)), []
        for trees in self.trees:
            here = left * expit(trees.predict(X))
            parts.append(here)
            left = left - here
        return np.stack(parts)

    def are_at(self, y: Array) -> Mask:
        """Which targets (n,) are atoms."""
        return at_atoms(self.values, y)

    @property
    def nbytes(self) -> int:
        """Bytes of the trees."""
        return sum(trees.nbytes for trees in self.trees)


def at_atoms(values: Array, y: Array) -> Mask:
    """Which targets (n,) are among these values."""
    return np.isin(y, values)


@dataclass(frozen=True)
class LabelledRows:
    """Rows in random order, in the user's units, with what says how they are held out: arrays of n rows, or None.

    Attributes
    ----------
    X : array of shape (n, d)
        Inputs.
    y : array of shape (n,)
        Targets.
    weight : array of shape (n,) or None
        Sample weights.
    label : array of shape (n,) or None
        Groups or times of the rows.
    ordered : bool
        Whether labels are times.
    """

    X: Array
    y: Array
    weight: Array | None = None
    label: Array | None = None
    ordered: bool = False

    def take(self, rows: Indices | slice | Mask) -> "LabelledRows":
        """Rows of these numbers."""
        weight, label = (None if part is None else part[rows] for part in (self.weight, self.label))
        return LabelledRows(self.X[rows], self.y[rows], weight, label, self.ordered)

    def folds(self) -> list[tuple[Indices, Indices]]:
        """Numbers of rows to learn from, and of those held out."""
        every = np.arange(len(self.y))
        if self.ordered and self.label is not None:
            last = self.label >= parts_in_time(self.label)[-1]
            return [(every[~last], every[last])]
        few = len(self.y) < FEW_ROWS
        n_folds = min(N_FOLDS, len(self.y)) if few else 1
        n_held_out = len(self.y) // N_FOLDS if few else min(MOST_HELD_OUT, int(HELD_OUT_SHARE * len(self.y)))
        groups = keys_of_copies(self.X, self.y) if self.label is None else self.label
        if groups is None:
            folds = folds_of_rows(len(self.y), n_folds, max(1, n_held_out))
        else:
            folds = folds_of_groups(groups.astype(np.int64), n_folds, max(1, n_held_out))
        return [(np.delete(every, held_out), held_out) for held_out in folds]


def fit_atoms(values: Array, rows: LabelledRows, seed: int, n_jobs: int | None, limited: bool = False) -> Atoms:
    """Trees for each of these values (k,), ascending, all of which are among the targets, as others are.

    Parameters
    ----------
    values : array of shape (k,)
        The atoms.
    rows : LabelledRows
        Rows to learn from, those of the atoms and others.
    seed : int
        Seed.
    n_jobs : int or None
        Threads.
    limited : bool
        Whether there is little time.
    """
    y, weight = rows.y, _weights(rows)
    rows = rows.take(slice(None, fewer_if_wide(MOST_ROWS_IN_TIME if limited else MOST_ROWS, rows.X.shape[1])))
    most_rounds, trees = MOST_ROUNDS_IN_TIME if limited else MOST_ROUNDS, list[BoostedTrees]()
    with openmp_threads(boosting_threads(len(rows.y), n_threads(n_jobs))):
        for value in values:
            here = y == value
            if 0 < np.count_nonzero(rows.y == value) < len(rows.y):
                trees.append(_fit_log_odds(rows, value, seed, most_rounds))
            else:
                # So rare a value, or so rare others, are among all rows alone.
                trees.append(_constant(float(logit(np.average(here, weights=weight))), rows.X.shape[1]))
            y, weight, rows = y[~here], weight[~here], rows.take(rows.y != value)
    return Atoms(np.asarray(values, dtype=float), tuple(trees))


def _weights(rows: LabelledRows) -> Array:
    """How much rows count for, shape (n,)."""
    return np.ones(len(rows.y)) if rows.weight is None else limit_share(rows.weight, MOST_SHARE_OF_ERRORS)


def _constant(log_odds: float, n_inputs: int) -> BoostedTrees:
    """A tree that predicts the same for all rows."""
    leaf = {"feature": np.array([LEAF], np.int32), "number": np.zeros(1), "children": np.zeros((1, 2), np.uint32)}
    return BoostedTrees(np.array([0, 1]), **leaf, baseline=log_odds, n_inputs=n_inputs)


class _LogOdds:
    """Boosted trees of the log odds of an event, which go on from those there are."""

    def __init__(self, X: Array, event: Mask, weight: Array, seed: int) -> None:
        self.event, self.weight, self.n_inputs = event, weight / weight.mean(), X.shape[1]
        error = self.weight * (event - np.average(event, weights=weight))
        self._inputs = telling_inputs(X, error, seed) if self.n_inputs > WIDE else None
        self._rows = BinnedRows.of(X if self._inputs is None else X[:, self._inputs])
        most_leaves = LEAVES if len(X) >= FEW_ROWS else LEAVES_OF_FEW_ROWS
        settings: dict[str, Any] = {**BOOSTER, "max_leaf_nodes": most_leaves, "random_state": seed}
        self._booster = HistGradientBoostingClassifier(**settings, warm_start=True)

    def grow(self, n_rounds: int) -> BoostedTrees:
        """So many trees, with those that were grown before."""
        trees = grow(self._booster.set_params(max_iter=n_rounds), self._rows, self.event, self.weight)
        return trees if self._inputs is None else trees.among(self._inputs, self.n_inputs)


def _fit_log_odds(rows: LabelledRows, value: float, seed: int, most_rounds: int) -> BoostedTrees:
    """Log odds of a value: as many trees as rows held out ask for, believed as far as these say, fitted to all rows."""
    event, weight = rows.y == value, _weights(rows)
    # Both have to be seen in every part to learn from.
    folds = [
        (learned, held_out) for learned, held_out in rows.folds() if 0 < np.count_nonzero(event[learned]) < len(learned)
    ]
    if not folds:
        return _LogOdds(rows.X, event, weight, seed).grow(FIRST_ROUNDS)
    boosters = [_LogOdds(rows.X[learned], event[learned], weight[learned], seed) for learned, _ in folds]
    held_out = np.concatenate([places for _, places in folds])
    loss = partial(_loss, event=event[held_out], weight=weight[held_out])

    def grown(n_rounds: int) -> Array:
        pairs = zip(boosters, folds, strict=True)
        return np.concatenate([booster.grow(n_rounds).predict(rows.X[places]) for booster, (_, places) in pairs])

    n_rounds, odds = FIRST_ROUNDS, grown(FIRST_ROUNDS)
    while 2 * n_rounds <= most_rounds:
        more = grown(2 * n_rounds)
        if loss(more) > (1.0 - WORTH) * loss(odds):
            break
        n_rounds, odds = 2 * n_rounds, more
    offset, slope = _believed(odds, event[held_out], weight[held_out])
    return _stretched(_LogOdds(rows.X, event, weight, seed).grow(n_rounds), offset, slope)


def _loss(odds: Array, event: Mask, weight: Array) -> float:
    """Mean negative log probability of what happened, by log odds (n,)."""
    return float(np.average(np.logaddexp(0.0, np.where(event, -odds, odds)), weights=weight))


def _believed(odds: Array, event: Mask, weight: Array) -> tuple[float, float]:
    """Offset and factor of log odds (n,) that make what happened most probable, near 0 and 1 where rows are few."""
    total = weight.sum()

    def loss(free: Array) -> tuple[float, Array]:
        offset, slope = free[0], np.exp(free[1])
        stretched = offset + slope * odds
        by_odds = weight / total * (expit(stretched) - event)
        gradient = np.array([by_odds.sum(), slope * (by_odds @ odds)]) + 2.0 * PRIOR / total * free
        return _loss(stretched, event, weight) + PRIOR / total * float(free @ free), gradient

    best = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=[(-5.0, 5.0), (-3.0, 3.0)])
    return float(best.x[0]), float(np.exp(best.x[1]))


def _stretched(trees: BoostedTrees, offset: float, slope: float) -> BoostedTrees:
    """Trees that predict an offset plus a factor times what they did."""
    number = np.where(trees.feature == LEAF, slope * trees.number, trees.number)
    return replace(trees, number=number, baseline=offset + slope * trees.baseline)
