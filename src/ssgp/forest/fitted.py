"""A fitted forest: what `fit` returns, what predicts, and what is saved."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np

from ssgp._utils.arrays import Array
from ssgp._utils.wide import fewer_if_wide
from ssgp.distributions.student_mixture import StudentMixture
from ssgp.engine.threads import map_in_threads, n_threads, one_blas_thread
from ssgp.engine.tiles import TILE_ROWS, mean_in_order
from ssgp.forest.atoms import Atoms
from ssgp.forest.calibration import Calibration, Components
from ssgp.forest.correction import Correction
from ssgp.forest.minority_noise import MinorityNoise
from ssgp.forest.tree import SpectralTree, TreeSkeleton
from ssgp.forest.tree_stack import TreeStack, stack_trees
from ssgp.rows.blocks import Rows
from ssgp.rows.standardizer import Standardizer
from ssgp.saving.contents import Rule, array, integer, list_of, made_of, number, optional, text, tuple_of
from ssgp.saving.kinds import stored
from ssgp.spectrum.kernels import KERNELS
from ssgp.spectrum.parameters import Parameters
from ssgp.spectrum.posterior import AffinePosterior

__all__ = ["CONTENTS", "OPTIONAL_CONTENTS", "FittedForest", "Forest", "check_contents"]

T = TypeVar("T")

# Rows that a thread predicts at a time, and how often it comes back for more where they are that many.
LEAST_CHUNK, MOST_CHUNK = 4096, 32768
CHUNKS_PER_THREAD = 2
# Scales of mapped targets, in deviations of all of them, are this at most.
MOST_SPREAD = 2.0


def _check_forest(parts: Any) -> Iterator[tuple[bool, str]]:  # noqa: ANN401
    yield all(len(tree.levels) == 1 for tree in parts.trees), "trees must have one level"
    sizes = {(tree.partition.n_blocks, tree.levels[0].leaves_per_node) for tree in parts.trees}
    yield len(sizes) == 1, "trees must have equally many leaves"
    yield len({id(tree) for tree in parts.trees}) == len(parts.trees), "trees must be different ones"


@stored(
    {
        "trees": tuple_of(made_of(SpectralTree, d=lambda tree: tree.features.n_inputs), least=1),
        "calibration": made_of(Calibration),
        "correction": optional(made_of(Correction, d=lambda correction: correction.n_inputs)),
        "minority_noise": optional(made_of(MinorityNoise, d=lambda noise: noise.n_inputs)),
    },
    added=("minority_noise",),
    relations=_check_forest,
)
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
    minority_noise : MinorityNoise or None
        Factors of the noise of rare kinds of rows.
    """

    trees: tuple[SpectralTree, ...]
    calibration: Calibration
    correction: Correction | None = None
    minority_noise: MinorityNoise | None = None

    def prepare(self, n_rows: int, means_alone: bool = False) -> None:
        """Make ready what predictions of so many rows need: once, before threads that would each do so."""
        for stack in self._stacks:
            stack.prepare(n_rows, means_alone)

    def means(self, X: Array) -> Array:
        """Means of the trees for standardised rows X (n, d), shape (T, n): those of `components`, and no more."""
        parts = [stack.means_and_noise(X) for stack in self._stacks]
        means, noise = (_joined(arrays, axis=0) for arrays in zip(*parts, strict=True))
        if self.correction is not None:
            means += self.correction(X, mean_in_order(means), np.sqrt(mean_in_order(noise)))
        return means

    def components(self, X: Array) -> Components:
        """Predictions of the trees for standardised rows X (n, d), shape (T, n)."""
        components = self._all_components(X)
        if self.correction is not None:
            mean, deviation = mean_in_order(components.mean), components.noise_deviation()
            components = components.shifted(self.correction(X, mean, deviation))
        return components if self.minority_noise is None else components.rescaled(self.minority_noise(X))

    def all_components(self, X: Array, n_jobs: int | None) -> Components:
        """Predictions of all levels of all trees for standardised rows, not corrected, shape (T levels, n)."""
        self.prepare(len(X))
        return Components.concatenate(_map_chunks(lambda rows: self._all_components(X[rows]), X, n_jobs), axis=1)

    def _all_components(self, X: Array) -> Components:
        return Components.concatenate([stack.components(X) for stack in self._stacks], axis=0)

    @cached_property
    def _stacks(self) -> tuple[TreeStack, ...]:
        return stack_trees(self.trees)

    @cached_property
    def on_cards(self) -> dict[str, Any]:
        """The same on cards that have predicted, by their names: it stays there as long as this object does."""
        return {}

    def __getstate__(self) -> dict:
        """Pickle the trees alone, not their stacks, nor what is on cards."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def only(self, level: int) -> "Forest":
        """The forest with one level of models: counted from the branches (0), or backwards (-1, leaves)."""
        return replace(self, trees=tuple(tree.only(level) for tree in self.trees))

    @property
    def nbytes(self) -> int:
        """Bytes of the model."""
        features = {id(tree.features): tree.features.nbytes for tree in self.trees}
        boosted = sum(part.nbytes for part in (self.correction, self.minority_noise) if part is not None)
        return sum(tree.nbytes for tree in self.trees) + sum(features.values()) + boosted


def _map_chunks(predict: Callable[[slice], T], X: Array, n_jobs: int | None) -> list[T]:
    """What `predict` returns for the places of every chunk of rows X (n, d), in threads."""
    size = _rows_per_chunk(len(X), X.shape[1], n_jobs)
    with one_blas_thread():
        return map_in_threads(predict, [slice(i, i + size) for i in range(0, len(X), size)], n_jobs)


def _rows_per_chunk(n_rows: int, n_inputs: int, n_jobs: int | None) -> int:
    """Chunks are few and large: threads wait for each other between any two steps of one."""
    size = LEAST_CHUNK
    if n_rows > size:
        share = -(-n_rows // (CHUNKS_PER_THREAD * n_threads(n_jobs)))
        size = min(max(share, LEAST_CHUNK), MOST_CHUNK)
    return fewer_if_wide(size, n_inputs, multiple_of=TILE_ROWS)


def _joined(arrays: Sequence[Array], axis: int) -> Array:
    """One array of several, which is not copied where it is alone."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis)


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
    atoms : Atoms or None
        Values that have probabilities of their own: the forest is of the other rows.
    held_out_by : "groups", "time" or None
        Labels by which rows were held out, None where each stood for itself.
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
    atoms: Atoms | None = None
    held_out_by: Literal["groups", "time"] | None = None

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
            **({} if self.atoms is None else {"_atoms": self.atoms}),
            **({} if self.held_out_by is None else {"_held_out_by": self.held_out_by}),
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
            atoms=attributes.get("_atoms"),
            held_out_by=attributes.get("_held_out_by"),
        )

    def means(self, X: Array, n_jobs: int | None) -> Array:
        """Means of rows X (n, d) in the user's units, shape (n,); to the last bit those of `distribution`."""

        def predict(rows: Array) -> Array:
            return mean_in_order(self._in_units(self.calibration.centres(self.forest.means(rows))))

        self.forest.prepare(len(X), means_alone=True)
        return _joined(self._map_standardized(predict, X, n_jobs), axis=0)

    def distribution(self, X: Array, n_jobs: int | None) -> StudentMixture:
        """Predictive distributions of rows X (n, d) in the user's units."""
        self.forest.prepare(len(X))
        parts = self._map_standardized(lambda rows: self.mixture_of(self.forest.components(rows)), X, n_jobs)
        return StudentMixture.concatenate(parts)

    def noise_variance(self, X: Array, n_jobs: int | None) -> Array:
        """Variances of the noise in the regions of rows X (n, d), in squared units of the target, shape (n,)."""
        self.forest.prepare(len(X))
        parts = self._map_standardized(lambda rows: self.noise_of(self.forest.components(rows)), X, n_jobs)
        return _joined(parts, axis=0)

    def mixture_of(self, components: Components) -> StudentMixture:
        """Predictive distributions in the user's units, of the trees' predictions."""
        return self._mixture_in_units(self.calibration(components))

    def noise_of(self, components: Components) -> Array:
        """Variances of the noise in squared units of the target, of the trees' predictions, shape (n,)."""
        return self.units.y_scale**2 * self.calibration.noise_variance(components)

    def _map_standardized(self, predict: Callable[[Array], T], X: Array, n_jobs: int | None) -> list[T]:
        """What `predict` returns for every chunk of rows X (n, d), standardised, in threads."""
        return _map_chunks(lambda rows: predict(self.units.inputs(X[rows])), X, n_jobs)

    def _mixture_in_units(self, mixture: StudentMixture) -> StudentMixture:
        centre = None if mixture.centre is None else self._in_units(mixture.centre)
        # Of a row far from all others, twice what is known of a row without inputs: a map back would make it absurd.
        widest = np.inf if self.units.target_map is None else MOST_SPREAD
        scale = self.units.y_scale * np.minimum(mixture.scale, widest)
        in_units = StudentMixture(self._in_units(mixture.location), scale, mixture.dof, centre)
        if self.units.target_map is None:
            return in_units
        return in_units.moved(np.minimum(self.units.target_map.farthest - in_units.mean(), 0.0))

    def _in_units(self, location: Array) -> Array:
        return self.units.y_mean + self.units.y_scale * location


# What files hold of a fitted regressor: its attributes, and the parts of a fitted forest.
CONTENTS: dict[str, Rule] = {
    "posterior_": made_of(AffinePosterior, d=lambda posterior: posterior.n_inputs),
    "lengthscale_": array("float64", "d", finite=False),
    "feature_importances_": array("float64", "d", least=0.0, most=1.0),
    "kernel_": text(*KERNELS),
    "n_frequencies_": integer(1),
    "n_trees_": integer(1),
    "n_leaves_": integer(1),
    "leaf_size_": number(0.0, 1e18, or_whole=True),
    "calibration_": made_of(Calibration),
    "corrected_share_": number(0.0, 1.0),
    "n_rows_": integer(1),
    "n_iter_": integer(),
    "bound_trace_": array("float64", "steps", finite=False),
    "_units": made_of(Standardizer, d=lambda units: len(units.x_mean)),
    "_forest": made_of(Forest, d=lambda forest: forest.trees[0].features.n_inputs),
    "_seedlings": list_of(made_of(TreeSkeleton, d=lambda skeleton: skeleton.features.n_inputs)),
    "_parameters": made_of(Parameters, d=lambda parameters: parameters.layout.n_inputs),
    "_seed": integer(),
    "_rows": optional(made_of(Rows, d=lambda rows: rows.X.shape[1])),
}

# The same of what only some have.
OPTIONAL_CONTENTS: dict[str, Rule] = {
    "_atoms": made_of(Atoms, d=lambda atoms: atoms.trees[0].n_inputs),
    "_held_out_by": text("groups", "time"),
}


def check_contents(parts: Any) -> Iterator[tuple[bool, str]]:  # noqa: ANN401
    """Whether the parts of a file belong together: `partial_fit`, which goes on from them, does not look."""
    fitted = FittedForest.restored(vars(parts))
    yield parts.n_frequencies_ == fitted.n_frequencies, "n_frequencies_ must be that of the parameters"
    yield parts.n_trees_ == fitted.n_trees and parts.n_leaves_ == fitted.n_leaves, "trees must be as many as it says"
    yield len(parts._seedlings) in (0, fitted.n_trees), "there must be a skeleton for each tree, or none"
    leaves = {skeleton.partition.n_blocks for skeleton in parts._seedlings}
    yield leaves <= {fitted.forest.trees[0].partition.n_blocks}, "skeletons must have the leaves of the trees"
