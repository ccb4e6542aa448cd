"""Rows held out of trees: they choose the trees' leaves, correct their errors and calibrate their mixture."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, inf

import numpy as np

from ssgp._utils.arrays import Array, Mask
from ssgp._utils.wide import fewer_if_wide
from ssgp.engine.tiles import mean_in_order
from ssgp.forest.boosted_trees import BinnedRows
from ssgp.forest.calibrating import DensityOf, Likelihood, calibrated_score, fit_calibration
from ssgp.forest.calibration import Calibration, Components
from ssgp.forest.correcting import BinRows, fit_again, fit_earlier, grow_correction
from ssgp.forest.correction import Correction, Residuals
from ssgp.forest.minority_noise import TELLING_ROWS, MinorityNoise, fit_minority_noise, may_have_rare_kinds
from ssgp.forest.nodes import LeaveOneOut
from ssgp.forest.tree import Level, SpectralTree, TreeSkeleton
from ssgp.rows.blocks import Rows
from ssgp.rows.row_tables import RowTable

__all__ = [
    "Fold",
    "choose_level",
    "learn_calibration",
    "learn_correction",
    "learn_minority_noise",
    "refit_correction",
    "scale_of_refitted",
]

# A finer level is taken where it is better than a coarser one by so many nats per held-out row.
WORTH = 0.003
CHOOSING_ROWS = 2000
# More rows than these take more time and memory than they make the correction better.
CORRECTING_ROWS = 1_000_000
# The least and the greatest factor of the scale of trees that were fitted again.
SCALES_OF_REFITTED = (0.5, 1.2)


@dataclass(frozen=True)
class Fold:
    """Trees fitted without some rows, and their predictions of these.

    Attributes
    ----------
    trees : tuple of SpectralTree
        With all levels that could predict.
    skeletons : list of TreeSkeleton
        The trees without their rows.
    table : RowTable
        The rows that the trees were fitted to.
    held_out : Rows
        The others.
    components : list of Components
        Predictions of the held-out rows, by level.
    leave_one_out : list of LeaveOneOut
        Errors of some of the trees on rows they were fitted to.
    """

    trees: tuple[SpectralTree, ...]
    skeletons: list[TreeSkeleton]
    table: RowTable
    held_out: Rows
    components: list[Components]
    leave_one_out: list[LeaveOneOut]

    def held_out_residuals(self, level: int) -> Residuals:
        """Errors of all trees together on the held-out rows."""
        components, rows = self.components[level], self.held_out
        mean = mean_in_order(components.mean)
        return Residuals(rows.X, rows.y - mean, mean, components.noise_deviation(), rows.weight)

    def leave_one_out_residuals(self, level: int, most_rows: int | None = None) -> Residuals:
        """Errors on rows that trees were fitted to, each left out, averaged over the trees that have it."""
        numbers = np.concatenate([np.empty(0, np.int64), *(part.rows for part in self.leave_one_out)])
        distinct, which = np.unique(numbers, return_inverse=True)

        def mean(by_level: list[Array]) -> Array:
            values = np.concatenate([np.empty(0), *(part[level] for part in by_level)])
            return np.bincount(which, values, len(distinct)) / np.bincount(which, minlength=len(distinct))

        error = mean([part.error for part in self.leave_one_out])
        variance = mean([part.noise_variance for part in self.leave_one_out])
        # Evenly from all of the table, which may be sorted.
        n_kept = min(len(distinct), fewer_if_wide(most_rows or CORRECTING_ROWS, self.held_out.X.shape[1]))
        kept = np.arange(n_kept) * len(distinct) // max(1, n_kept)
        rows = self.table.take(distinct[kept])
        return Residuals(rows.X, error[kept], rows.y - error[kept], np.sqrt(variance[kept]), rows.weight)


def choose_level(folds: list[Fold]) -> int:
    """The level of the trees at which held-out rows are most probable, the coarser of equals."""
    first, scores = slice(None, CHOOSING_ROWS), []
    for level in range(len(folds[0].components)):
        components, y, weight = _pooled(folds, [fold.components[level] for fold in folds])
        weight = None if weight is None else weight[first]
        scores.append(calibrated_score(components.rows(first), y[first], weight))
    return int(np.flatnonzero(np.array(scores) >= max(scores) - WORTH)[0])


def learn_correction(
    folds: list[Fold],
    level: int,
    seed: int,
    n_threads: int,
    seconds: float = inf,
    ordered: bool = False,
    bin_rows: BinRows = BinnedRows.of,
) -> Correction | None:
    """Boosted trees that correct the trees' common errors, judged on the held-out rows; None where they do not help.

    There are as many trees as held-out rows ask for, while there is time. Of folds that are `ordered` in time the last
    one asks.
    """
    learned = [fold.leave_one_out_residuals(level) for fold in folds]
    held_out = [fold.held_out_residuals(level) for fold in folds]
    if not ordered:
        return grow_correction(learned, held_out, seed, n_threads, seconds, bin_rows)
    last = grow_correction(learned[-1:], held_out[-1:], seed, n_threads, seconds / len(folds), bin_rows)
    if last is None or len(folds) == 1:
        return last
    earlier = list(zip(learned[:-1], held_out[:-1], strict=True))
    return fit_earlier(last, earlier, held_out[-1], seed, n_threads, bin_rows)


def refit_correction(
    folds: list[Fold],
    level: int,
    correction: Correction,
    seed: int,
    n_threads: int,
    ordered: bool = False,
    bin_rows: BinRows = BinnedRows.of,
) -> Correction:
    """The correction learned from all rows: those of several folds have all been seen, of one those held out join.

    Of folds that are ordered in time the last one has seen all rows but those it held out.
    """
    if len(folds) > 1 and not ordered:
        return correction
    correction = replace(correction, boosters=correction.boosters[-1:])
    residuals = folds[-1].leave_one_out_residuals(level).joined(folds[-1].held_out_residuals(level))
    return fit_again(correction, residuals, seed, n_threads, bin_rows)


def learn_minority_noise(folds: list[Fold], level: int) -> MinorityNoise | None:
    """Factors of the noise of rare kinds of rows, from errors of rows that were left out of the trees of any fold."""
    if not may_have_rare_kinds(np.concatenate([fold.held_out.X for fold in folds])):
        return None
    most = TELLING_ROWS // len(folds)
    return fit_minority_noise([fold.leave_one_out_residuals(level, most) for fold in folds])


def learn_calibration(
    folds: list[Fold],
    level: int,
    correction: Correction | None,
    minority_noise: MinorityNoise | None,
    n_threads: int,
    density_of: DensityOf = Likelihood.density,
) -> Calibration:
    """Calibration of the corrected mixture on the held-out rows of every fold, by that fold's own booster."""
    shifts = _shifts(folds, level, correction, n_threads)
    components = [fold.components[level].shifted(by) for fold, by in zip(folds, shifts, strict=True)]
    if minority_noise is not None:
        pairs = zip(components, folds, strict=True)
        components = [part.rescaled(minority_noise(fold.held_out.X)) for part, fold in pairs]
    return fit_calibration(*_pooled(folds, components), density_of)[0]


def _shifts(folds: list[Fold], level: int, correction: Correction | None, n_threads: int) -> list[Array]:
    """How far predictions of the held-out rows of every fold are moved, by that fold's own booster."""
    if correction is None:
        return [np.zeros(len(fold.held_out.y)) for fold in folds]
    own = [replace(correction, boosters=(booster,)) for booster in correction.boosters]
    residuals = [fold.held_out_residuals(level) for fold in folds]
    return [shift(rows.X, rows.mean, rows.deviation, n_threads) for shift, rows in zip(own, residuals, strict=True)]


def scale_of_refitted(
    fold: Fold,
    level: int,
    correction: Correction | None,
    trees: Sequence[SpectralTree],
    errors: Sequence[Array],
    alone: Mask,
) -> float:
    """Factor of a calibration's scale once a fold's trees have been fitted to the rows held out of them as well.

    Calibrations are learned from errors of trees that have seen fewer rows. Those that have seen all err less, and
    estimate the noise of their leaves otherwise.

    Parameters
    ----------
    fold : Fold
        Trees as they were, and the rows held out of them.
    level : int
        The level that predicts.
    correction : Correction or None
        As the fold's rows have judged it.
    trees : sequence of SpectralTree
        The same trees of all rows, with the one level that predicts.
    errors : sequence of arrays of shape (n,)
        Of the first of these, errors of the rows held out, each left out of the tree; none where nobody asked.
    alone : bool array of shape (n,)
        Rows that may be left out alone: they are unlike any other.
    """
    pairs = zip(fold.trees, trees, strict=True)
    noise = [_mean_log_noise(after.levels[-1]) - _mean_log_noise(before.levels[level]) for before, after in pairs]
    scale = exp(-0.5 * float(np.mean(noise)))
    if len(errors) and alone.any():
        scale *= _ratio_of_errors(fold, level, correction, np.mean(errors, axis=0), len(errors), alone)
    return float(np.clip(scale, *SCALES_OF_REFITTED))


def _mean_log_noise(level: Level) -> float:
    return float(np.mean(np.log(level.noise_variance.astype(float))))


def _ratio_of_errors(
    fold: Fold, level: int, correction: Correction | None, after: Array, n_trees: int, alone: Mask
) -> float:
    """Size of errors `after` (n,) of the first trees on rows held out, over that before, in deviations of before."""
    residuals = fold.held_out_residuals(level)
    y, deviation, total = fold.held_out.y.astype(float), residuals.deviation, np.zeros(2)
    for k, mean in enumerate((mean_in_order(fold.components[level].mean[:n_trees]), y - after)):
        error = y - mean
        if correction is not None:
            own = replace(correction, boosters=correction.boosters[-1:])
            error = error - own(residuals.X, mean, deviation)
        size = np.abs(error / deviation) if residuals.weight is None else np.abs(error / deviation) * residuals.weight
        total[k] = size[alone].sum()
    before, now = total
    return float(now / before) if before > 0.0 else 1.0


def _pooled(folds: list[Fold], components: list[Components]) -> tuple[Components, Array, Array | None]:
    """Components, targets and weights of the held-out rows of all folds; of the trees that all of them have."""
    fewest = min(len(part.mean) for part in components)
    weights = [fold.held_out.weight for fold in folds]
    return (
        Components.concatenate([part.take(fewest) for part in components], axis=1),
        np.concatenate([fold.held_out.y for fold in folds]).astype(float),
        None if weights[0] is None else np.concatenate([w for w in weights if w is not None]).astype(float),
    )
