"""A fitted tree: a balanced partition with a sparse spectrum model in every node of some levels."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from ssgp._utils.arrays import Array
from ssgp.forest.half_precision import HalfPrecision
from ssgp.forest.leaf_features import LeafFeatures
from ssgp.rows.bisecting_tree import BisectingTree
from ssgp.saving.contents import array, integer, made_of, tuple_of
from ssgp.saving.kinds import stored
from ssgp.spectrum.noise import NoisePrior, estimated_noise

__all__ = ["Level", "SpectralTree", "TreeShape", "TreeSkeleton"]

# Levels of a tree that have models: those of 16, 4 and 1 leaves per node.
BRANCH_DEPTH = 4
LEVELS_APART = 2


@dataclass(frozen=True)
class TreeShape:
    """Leaves of a tree, and its levels that have models.

    Attributes
    ----------
    n_leaves : int
        Number of leaves, a power of two.
    leaves_per_node : tuple of int
        Leaves under a node of each level that has models, from a branch to a leaf (1).
    """

    n_leaves: int
    leaves_per_node: tuple[int, ...]

    @classmethod
    def of_depth(cls, depth: int) -> "TreeShape":
        """The shape of a tree of that depth."""
        depths = range(0, min(depth, BRANCH_DEPTH) + 1, LEVELS_APART)
        return cls(2**depth, tuple(2**k for k in reversed(depths)))

    @property
    def leaves_per_branch(self) -> int:
        """Leaves under a node of the first level that has models."""
        return self.leaves_per_node[0]

    @property
    def n_branches(self) -> int:
        """Nodes of the first level that has models."""
        return self.n_leaves // self.leaves_per_branch

    def part(self, n_leaves: int) -> "TreeShape":
        """The shape of so many neighbouring leaves, whole branches, as a tree of their own."""
        return replace(self, n_leaves=n_leaves)

    def cut_at(self, level: int) -> "TreeShape":
        """The shape whose leaves are the nodes of a level, with the same ancestors."""
        leaf = self.leaves_per_node[level]
        return TreeShape(self.n_leaves // leaf, tuple(size // leaf for size in self.leaves_per_node[: level + 1]))


TREE = {
    "partition": made_of(BisectingTree, d=lambda partition: partition.directions.shape[1]),
    "features": made_of(LeafFeatures, d=lambda features: features.n_inputs, q=lambda features: features.n_features),
}


def _check_skeleton(parts: Any) -> Iterator[tuple[bool, str]]:  # noqa: ANN401
    n_leaves, sizes = parts.partition.n_blocks, parts.leaves_per_node
    yield sizes[-1] == 1, "the last level must be that of leaves"
    yield all(larger % smaller == 0 for larger, smaller in pairwise((n_leaves, *sizes))), "levels must be nested"


@stored(
    {**TREE, "seed": integer(), "leaves_per_node": tuple_of(integer(1), least=1)},
    name="Seedling",
    relations=_check_skeleton,
    renamed={"features": "waves", "leaves_per_node": "groups"},
)
@dataclass(frozen=True)
class TreeSkeleton:
    """A tree before rows fill its leaves.

    Attributes
    ----------
    partition : BisectingTree
        The leaves.
    features : LeafFeatures
        Features of the leaves' models.
    seed : int
        Seed of the signs that covariances are sketched with.
    leaves_per_node : tuple of int
        See `TreeShape`.
    """

    partition: BisectingTree
    features: LeafFeatures
    seed: int
    leaves_per_node: tuple[int, ...]

    @property
    def shape(self) -> TreeShape:
        """Leaves and levels."""
        return TreeShape(self.partition.n_blocks, tuple(self.leaves_per_node))

    def with_shape(self, shape: TreeShape) -> "TreeSkeleton":
        """The same tree, cut off at another shape's leaves."""
        partition = self.partition.coarser(shape.n_leaves)
        return replace(self, partition=partition, leaves_per_node=shape.leaves_per_node)


@stored(
    {
        "leaves_per_node": integer(1),
        "weights": made_of(HalfPrecision, p=lambda half: half.values.shape[0], q=lambda half: half.values.shape[2]),
        "sketch": made_of(HalfPrecision, p=lambda half: half.values.shape[0], q=lambda half: half.values.shape[2]),
        "count": array("float32", "p", least=0.0),
        "rss": array("float32", "p", least=0.0),
        "noise_prior": made_of(NoisePrior),
    },
    relations=lambda p: [(p.weights.values.shape[1] == 1, "weights must be one vector for each node")],
    renamed={"leaves_per_node": "group"},
    removed={"log_weight": None},
)
@dataclass(frozen=True)
class Level:
    """Models of the p nodes of one level of a tree.

    Attributes
    ----------
    leaves_per_node : int
        Leaves under a node.
    weights : HalfPrecision
        Posterior means of the nodes' weights, one vector of q for each.
    sketch : HalfPrecision
        Sketches of their covariances, k vectors of q for each: see `ssgp.engine.ridge.RidgeSolution`.
    count, rss : arrays of shape (p,), float32
        Rows of the nodes, and their penalised residual sums of squares.
    noise_prior : NoisePrior
        Prior of the nodes' noise variances, fitted to all nodes of the level.
    """

    leaves_per_node: int
    weights: HalfPrecision
    sketch: HalfPrecision
    count: Array
    rss: Array
    noise_prior: NoisePrior

    @property
    def noise_parameters(self) -> tuple[Array, Array]:
        """a_n and b_n of the nodes' noise, shapes (p,), in double precision."""
        shape, scale = self.noise_prior.shape_after(self.count), self.noise_prior.scale_after(self.rss)
        return shape.astype(float), scale.astype(float)

    @cached_property
    def noise_variance(self) -> Array:
        """Estimated noise variances of the nodes, shape (p,)."""
        return estimated_noise(*self.noise_parameters)

    @property
    def nbytes(self) -> int:
        """Bytes of the models."""
        return self.weights.nbytes + self.sketch.nbytes + self.count.nbytes + self.rss.nbytes


def _check_levels(parts: Any) -> Iterator[tuple[bool, str]]:  # noqa: ANN401
    n_leaves = parts.partition.n_blocks
    nodes = [len(level.count) * level.leaves_per_node for level in parts.levels]
    yield all(n == n_leaves for n in nodes), "levels must have nodes for all leaves"


@stored(
    {**TREE, "levels": tuple_of(made_of(Level, q=lambda level: level.weights.values.shape[2]), least=1)},
    relations=_check_levels,
    renamed={"features": "waves"},
)
@dataclass(frozen=True)
class SpectralTree:
    """A partition, the features that its leaves share, and the models of its nodes.

    Attributes
    ----------
    partition : BisectingTree
        The leaves.
    features : LeafFeatures
        Features of the models.
    levels : tuple of Level
        Those that could predict, from branches to leaves, or the one that does.
    """

    partition: BisectingTree
    features: LeafFeatures
    levels: tuple[Level, ...]

    def only(self, level: int) -> "SpectralTree":
        """The tree with one level of models: counted from the branches (0), or backwards (-1, leaves)."""
        return replace(self, levels=(self.levels[level],))

    @property
    def nbytes(self) -> int:
        """Bytes of the models and the partition."""
        tree = self.partition
        partition = tree.directions.nbytes + tree.thresholds.nbytes + tree.children.nbytes
        return partition + sum(level.nbytes for level in self.levels)
