"""A fitted forest: what `fit` returns, what predicts, and what is saved."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.distributions.student_mixture import StudentMixture
from ssgp.engine.threads import map_in_threads, n_threads, one_blas_thread
from ssgp.engine.tiles import mean_in_order
from ssgp.forest.calibration import Calibration, Components
from ssgp.forest.correction import Correction
from ssgp.forest.tree import SpectralTree, TreeSkeleton
from ssgp.rows.blocks import Rows
from ssgp.rows.standardizer import Standardizer
from ssgp.saving.kinds import stored
from ssgp.spectrum.parameters import Parameters
from ssgp.spectrum.posterior import AffinePosterior

__all__ = ["FittedForest", "Forest"]

# Rows that a thread predicts at a time.
CHUNK = 16384


@stored()
@dataclass(frozen=True)
class Forest:
    """Trees, the correction of their common errors, and the calibration of their mixture.

    Attributes
    ----------
    trees : tuple of SpectralTree
        The trees.
    calibration : Calibration
        Calibration of the trees' predictions, corrected.
    correction : Correction or None
        Correction of their means.
    """

    trees: tuple[SpectralTree, ...]
    calibration: Calibration
    correction: Correction | None = None

    def means(self, X: Array, n_jobs: int | None) -> Array:
        """Means of the trees for standardised rows X (n, d), shape (T, n): those of `components`, and no more."""
        means, noise = np.empty((len(self.trees), len(X))), np.zeros(len(X))

        def predict(start: int) -> None:
            rows = slice(start, start + CHUNK)
            for k, (tree, phi) in enumerate(self._with_features(X[rows])):
                means[k, rows], variance = tree.mean_and_noise(X[rows], phi)
                noise[rows] += variance

        _in_chunks(len(X), predict, n_jobs)
        if self.correction is not None:
            means += self.correction(X, np.sqrt(noise / len(self.trees)), n_threads(n_jobs))
        return means

    def components(self, X: Array, n_jobs: int | None) -> Components:
        """Predictions of the trees for standardised rows X (n, d), shape (T, n)."""
        components = self.all_components(X, n_jobs)
        if self.correction is None:
            return components
        return components.shifted(self.correction(X, components.noise_deviation(), n_threads(n_jobs)))

    def all_components(self, X: Array, n_jobs: int | None) -> Components:
        """Predictions of all levels of all trees for standardised rows, not corrected, shape (T levels, n)."""
        parts: list[Components | None] = [None] * -(-len(X) // CHUNK)

        def predict(start: int) -> None:
            part = X[start : start + CHUNK]
            by_tree = [tree.components(part, phi) for tree, phi in self._with_features(part)]
            parts[start // CHUNK] = Components.concatenate(by_tree, axis=0)

        _in_chunks(len(X), predict, n_jobs)
        return Components.concatenate([part for part in parts if part is not None], axis=1)

    def _with_features(self, X: Array) -> Iterator[tuple[SpectralTree, Array]]:
        """Trees with the features of a chunk of rows, which trees of the same draw share."""
        features, phi = None, X
        for tree in self.trees:
            if tree.features is not features:
                features, phi = tree.features, tree.features.in_tiles(X)
            yield tree, phi

    def only(self, level: int) -> "Forest":
        """The forest with one level of models: counted from the branches (0), or backwards (-1, leaves)."""
        return replace(self, trees=tuple(tree.only(level) for tree in self.trees))

    @property
    def nbytes(self) -> int:
        """Bytes of the model."""
        features = {id(tree.features): tree.features.projection.nbytes for tree in self.trees}
        correction = 0 if self.correction is None else self.correction.nbytes
        return sum(tree.nbytes for tree in self.trees) + sum(features.values()) + correction


def _in_chunks(n_rows: int, predict: Callable[[int], None], n_jobs: int | None) -> None:
    """Call `predict` with the start of every chunk, in threads."""
    with one_blas_thread():
        map_in_threads(predict, range(0, n_rows, CHUNK), n_jobs)


@dataclass(frozen=True)
class FittedForest:
    """Everything that a fit leaves behind.

    Attributes
    ----------
    units : Standardizer
        Between the user's units and the model's.
    parameters : Parameters
        Learned parameters of the posterior, in the model's units: where learning can go on from.
    posterior : AffinePosterior
        q(theta) of the frequencies, in the units of the inputs.
    kernel : str
        Kernel whose spectrum the frequencies come from.
    feature_importances : array of shape (d,)
        See `ssgp.forest.learning.feature_importances`.
    bound_trace : array of shape (n_iter,)
        Stochastic estimates of the bound, in nats per row of the target in its own units.
    forest : Forest
        Trees, calibration and correction.
    skeletons : list of TreeSkeleton
        Trees without their rows, with all levels: what more rows are fitted to.
    n_rows : int
        Training rows.
    total : float
        How many rows they count for.
    seed : int
        Seed of everything random.
    rows : Rows or None
        The training rows, where they are kept.
    """

    units: Standardizer
    parameters: Parameters
    posterior: AffinePosterior
    kernel: str
    feature_importances: Array
    bound_trace: Array
    forest: Forest
    skeletons: list[TreeSkeleton]
    n_rows: int
    total: float
    seed: int
    rows: Rows | None = None

    @property
    def lengthscale(self) -> Array:
        """Learned lengthscales in the units of the inputs, shape (d,)."""
        return self.parameters.hyperparameters.lengthscale * self.units.x_scale

    @property
    def n_frequencies(self) -> int:
        """Number of frequencies."""
        return self.parameters.layout.n_frequencies

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.forest.trees)

    @property
    def n_leaves(self) -> int:
        """Leaves per tree: nodes of the level that predicts."""
        tree = self.forest.trees[0]
        return tree.partition.n_blocks // tree.levels[-1].leaves_per_node

    @property
    def leaf_size(self) -> float:
        """Mean number of rows in a leaf."""
        return self.total / self.n_leaves

    @property
    def calibration(self) -> Calibration:
        """Calibration by the held-out rows."""
        return self.forest.calibration

    @property
    def corrected_share(self) -> float:
        """Share of the boosted trees' correction that is applied, from 0 to 1."""
        return 0.0 if self.forest.correction is None else self.forest.correction.share

    @property
    def n_iter(self) -> int:
        """Learning steps taken."""
        return len(self.bound_trace)

    def stored_parts(self) -> dict[str, Any]:
        """What files hold beside the estimator's fitted attributes, by its name there."""
        return {
            "_units": self.units,
            "_forest": self.forest,
            "_seedlings": self.skeletons,
            "_parameters": self.parameters,
            "_seed": self.seed,
            "_rows": self.rows,
        }

    @classmethod
    def restored(cls, attributes: Mapping[str, Any]) -> "FittedForest":
        """The forest of a file: of its `stored_parts` and the estimator's fitted attributes."""
        return cls(
            units=attributes["_units"],
            parameters=attributes["_parameters"],
            posterior=attributes["posterior_"],
            kernel=attributes["kernel_"],
            feature_importances=attributes["feature_importances_"],
            bound_trace=attributes["bound_trace_"],
            forest=attributes["_forest"],
            skeletons=attributes["_seedlings"],
            n_rows=attributes["n_rows_"],
            total=attributes["leaf_size_"] * attributes["n_leaves_"],
            seed=attributes["_seed"],
            rows=attributes["_rows"],
        )

    def means(self, X: Array, n_jobs: int | None) -> Array:
        """Means of rows X (n, d) in the user's units, shape (n,); to the last bit those of `distribution`."""
        means = self.forest.means(self.units.inputs(X), n_jobs)
        parts = (means[:, start : start + CHUNK] for start in range(0, len(X), CHUNK))
        return np.concatenate([mean_in_order(self._in_units(self.calibration.locations(part))) for part in parts])

    def distribution(self, X: Array, n_jobs: int | None) -> StudentMixture:
        """Predictive distributions of rows X (n, d) in the user's units."""
        components = self.forest.components(self.units.inputs(X), n_jobs)
        mixture = self.calibration(components)
        return StudentMixture(self._in_units(mixture.location), self.units.y_scale * mixture.scale, mixture.dof)

    def _in_units(self, location: Array) -> Array:
        return self.units.y_mean + self.units.y_scale * location

    def noise_variance(self, X: Array, n_jobs: int | None) -> Array:
        """Variances of the noise in the regions of rows X (n, d), in squared units of the target, shape (n,)."""
        components = self.forest.components(self.units.inputs(X), n_jobs)
        return self.units.y_scale**2 * self.calibration.noise_variance(components)
