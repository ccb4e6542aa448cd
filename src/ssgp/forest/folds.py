"""What trees say of rows they have not seen: it chooses their leaves, corrects and calibrates them."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ssgp.forest.calibration import Calibration, Components, fit_calibration
from ssgp.forest.correction import Correction, Residuals, fit_booster, fit_correction
from ssgp.forest.leaf_features import Waves
from ssgp.forest.trees import LeftOut, SpectralTree
from ssgp.rows.partition import BisectingTree
from ssgp.rows.row_tables import RowTable
from ssgp.rows.standardized import Rows

__all__ = ["Seedling", "Trial", "choose_level", "learn_calibration", "learn_correction"]

Array = NDArray[np.floating]

# A finer level is taken where it is better than a coarser one by so many nats a held-out row.
WORTH = 0.003
CHOOSING_ROWS = 2000
# More rows than these do not make the correction better.
CORRECTING_ROWS = 500_000


@dataclass(frozen=True)
class Seedling:
    """What a tree is before rows fill it: its leaves, its waves, the seed of its sketches, its levels of models."""

    partition: BisectingTree
    waves: Waves
    seed: int
    groups: tuple[int, ...]


@dataclass(frozen=True)
class Trial:
    """Trees planted without some rows, and what they say of these.

    Attributes
    ----------
    trees : tuple of SpectralTree
        With all levels that could predict.
    seedlings : list of Seedling
        Of the trees.
    seen : RowTable
        The rows the trees were planted with.
    unseen : Rows
        The others.
    said : list of Components
        Of the unseen rows, by level.
    left_out : list of LeftOut
        Of the seen rows, by some of the trees.
    """

    trees: tuple[SpectralTree, ...]
    seedlings: list[Seedling]
    seen: RowTable
    unseen: Rows
    said: list[Components]
    left_out: list[LeftOut]

    def residuals(self, level: int) -> Residuals:
        """Errors on the unseen rows, of all trees together."""
        known = self.said[level]
        return Residuals(
            self.unseen.X, self.unseen.y - known.mean.mean(axis=0), known.noise_deviation(), self.unseen.weight
        )

    def left_out_residuals(self, level: int) -> Residuals:
        """Errors on seen rows, each left out of the trees that looked at it; rows that none did are not there."""
        looked = [said.rows for said in self.left_out]
        some, which = np.unique(np.concatenate([np.empty(0, np.int64), *looked]), return_inverse=True)

        def mean(by_level: list[Array]) -> Array:
            values = np.concatenate([np.empty(0), *(own[level] for own in by_level)])
            return np.bincount(which, values, len(some)) / np.bincount(which, minlength=len(some))

        error = mean([said.error for said in self.left_out])
        variance = mean([said.noise_variance for said in self.left_out])
        # Evenly from all of the table, which may be sorted.
        n_kept = min(len(some), CORRECTING_ROWS)
        kept = np.arange(n_kept) * len(some) // max(1, n_kept)
        rows = self.seen.take(some[kept])
        return Residuals(rows.X, error[kept], np.sqrt(variance[kept]), rows.weight)


def choose_level(trials: list[Trial]) -> int:
    """The level of the trees at which unseen rows are most probable, the coarser of equals."""
    scores = []
    for level in range(len(trials[0].said)):
        known, y, weight = _together(trials, [trial.said[level] for trial in trials])
        some = slice(None, CHOOSING_ROWS)
        scores.append(fit_calibration(known.rows(some), y[some], None if weight is None else weight[some])[1])
    return int(np.flatnonzero(np.array(scores) >= max(scores) - WORTH)[0])


def learn_correction(trials: list[Trial], level: int, seed: int, n_threads: int) -> Correction | None:
    """Of the trees' common errors, judged on the unseen rows; None where it does not help."""
    boosters = [fit_booster(trial.left_out_residuals(level), seed, n_threads) for trial in trials]
    fitted = [booster for booster in boosters if booster is not None]
    if len(fitted) < len(trials):
        return None
    return fit_correction(fitted, [trial.residuals(level) for trial in trials], n_threads)


def learn_calibration(trials: list[Trial], level: int, correction: Correction | None, n_threads: int) -> Calibration:
    """Of the trees' corrected mixture, from the unseen rows of every trial and that trial's own correction."""
    known = [trial.said[level] for trial in trials]
    if correction is not None:
        known = [
            said.shifted(replace(correction, boosters=(own,))(trial.unseen.X, said.noise_deviation(), n_threads))
            for said, own, trial in zip(known, correction.boosters, trials, strict=True)
        ]
    return fit_calibration(*_together(trials, known))[0]


def _together(trials: list[Trial], known: list[Components]) -> tuple[Components, Array, Array | None]:
    """Components, targets and weights of the unseen rows of all trials."""
    fewest = min(len(part.mean) for part in known)
    weights = [trial.unseen.weight for trial in trials]
    return (
        Components.concatenate([part.take(fewest) for part in known], axis=1),
        np.concatenate([trial.unseen.y for trial in trials]).astype(float),
        None if weights[0] is None else np.concatenate([w for w in weights if w is not None]).astype(float),
    )
