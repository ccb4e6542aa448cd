"""Predictions of a fitted forest in the units of the target: mapped back, with atoms, over ways to fill gaps."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ssgp._utils.arrays import Array
from ssgp._utils.wide import fewer_if_wide
from ssgp.distributions.atoms import AtomDistribution, mean_with_atoms
from ssgp.distributions.counts import in_target_units
from ssgp.distributions.filled import FilledDistribution, InputRows
from ssgp.distributions.mapped import MappedDistribution
from ssgp.distributions.regressor import means_of_parts
from ssgp.distributions.student_mixture import StudentMixture
from ssgp.engine.threads import n_threads
from ssgp.forest.atoms import Atoms
from ssgp.forest.fitted import FittedForest
from ssgp.forest.machines import Predictor
from ssgp.rows.target_maps import TargetMap

__all__ = ["ForestDistribution", "Predictions"]

# Rows whose distributions are kept at a time, or so many per thread.
PREDICT_ROWS = 1 << 17
PREDICT_ROWS_PER_THREAD = 1 << 14
# What predictions are.
ForestDistribution = StudentMixture | FilledDistribution | MappedDistribution | AtomDistribution


@dataclass(frozen=True)
class Predictions:
    """Predicts rows, which have been checked and are in numbers.

    Attributes
    ----------
    fitted : FittedForest
        The forest.
    predictor : Predictor
        What predicts by it, without maps and atoms.
    n_jobs : int or None
        Threads.
    """

    fitted: FittedForest
    predictor: Predictor
    n_jobs: int | None

    @property
    def target_map(self) -> TargetMap | None:
        """The map of the target."""
        return self.fitted.units.target_map

    def means(self, rows: InputRows) -> Array:
        """Means, shape (n,)."""
        if self.target_map is not None:
            return means_of_parts(self.parts(rows), self.n_jobs)
        means, atoms = rows.means(lambda X, _: self.predictor.means(X)), self.fitted.atoms
        return means if atoms is None else mean_with_atoms(atoms.values, self._probability(atoms, rows), means)

    def parts(self, rows: InputRows) -> Iterator[ForestDistribution]:
        """Distributions of all rows in their order, of as many at a time as memory is for."""
        at_once = PREDICT_ROWS
        if len(rows) > at_once:
            at_once = max(at_once, PREDICT_ROWS_PER_THREAD * n_threads(self.n_jobs))
        # Each row with gaps is filled in several ways.
        at_once = at_once if rows.unknown is None else min(at_once, PREDICT_ROWS_PER_THREAD)
        at_once = fewer_if_wide(at_once, rows.X.shape[1])
        return (self.distribution(rows[start : start + at_once]) for start in range(0, len(rows), at_once))

    def distribution(self, rows: InputRows) -> ForestDistribution:
        """Distributions of the rows."""
        predicted = rows.distribution(lambda X, _: self.predictor.distribution(X))
        if self.target_map is not None:
            predicted = in_target_units(predicted, self.target_map)
        atoms = self.fitted.atoms
        return predicted if atoms is None else AtomDistribution(predicted, atoms.values, self._probability(atoms, rows))

    def noise_variance(self, rows: InputRows) -> Array:
        """Variances of the noise in squared units of the target, shape (n,): see `SpectralForestRegressor`."""
        variance = rows.means(lambda X, _: self.predictor.noise_variance(X))
        if self.target_map is None:
            return variance
        mean = rows.means(lambda X, _: self.predictor.means(X))
        return variance * self.target_map.slope(np.minimum(mean, self.target_map.farthest)) ** 2

    def _probability(self, atoms: Atoms, rows: InputRows) -> Array:
        """Probabilities of the atoms, shape (k, n); of rows with gaps, means over the ways to fill them."""
        return rows.means(lambda X, _: self.predictor.probability(atoms, X))
