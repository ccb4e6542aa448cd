"""A forest whose trees, correction and units are on a card: predictions of many rows at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.engine.on_card.backend import Tensor, torch
from ssgp.engine.on_card.cards import Card
from ssgp.engine.on_card.descent import descend
from ssgp.engine.on_card.regression_trees import CardTreeSums
from ssgp.engine.on_card.stacks import stack_leaves
from ssgp.forest.boosted_trees import BoostedTrees
from ssgp.forest.calibration import Components
from ssgp.forest.card_nodes import CardFeatures
from ssgp.forest.correction import Correction
from ssgp.forest.fitted import Forest
from ssgp.forest.half_precision import HalfPrecision
from ssgp.forest.minority_noise import MinorityNoise
from ssgp.forest.tree import Level, SpectralTree
from ssgp.forest.tree_stack import TreeStack, stack_trees
from ssgp.rows.standardizer import FARTHEST, Standardizer

__all__ = ["CardForest", "CardUnits", "all_components", "rows_at_once", "tree_sums"]

# Vectors of a node that are gathered for each of its rows; more are multiplied leaf by leaf, rows sorted by leaf.
MOST_GATHERED = 8
# Rows that are predicted together, at most: more make no kernel longer that is not long already.
MOST_ROWS = 1 << 19


class CardUnits:
    """The map from a user's inputs to standardised ones, see `Standardizer.inputs`."""

    def __init__(self, card: Card, units: Standardizer) -> None:
        self._mean, self._scale = card.send(units.x_mean), card.send(units.x_scale)

    def __call__(self, X: Tensor) -> Tensor:
        """Standardised rows (n, d), single precision."""
        return ((X.double() - self._mean) / self._scale).clamp(-FARTHEST, FARTHEST).float()


@dataclass(frozen=True)
class TreeComponents:
    """Predictions of n rows by k models each: tensors of shape (k, n), see `Components`."""

    mean: Tensor
    leverage: Tensor
    shape: Tensor
    scale: Tensor

    def fetched(self, card: Card) -> Components:
        """The same as arrays, in double precision."""
        parts = (self.mean, self.leverage, self.shape, self.scale)
        return Components(*(card.fetch(part.double()) for part in parts))


class CardVectors:
    """k vectors for each node of several trees, as `HalfPrecision` has them; nodes are numbered through all trees."""

    def __init__(self, card: Card, halves: Sequence[HalfPrecision]) -> None:
        self._card, self._n_nodes = card, len(halves[0].values)
        self._values = torch.cat([card.send(half.values) for half in halves])
        self._scale = torch.cat([card.send(half.scale) for half in halves])

    def dot(self, phi: Tensor, node: Tensor, first_tree: int) -> Tensor:
        """Products of features (n, q) with the vectors of the rows' nodes (T, n) in T trees, shape (T, n, k)."""
        place = node + self._n_nodes * torch.arange(first_tree, first_tree + len(node), device=node.device)[:, None]
        products = self._gathered if self._values.shape[1] <= MOST_GATHERED else self._by_node
        return products(phi, place) * self._scale[place]

    def _gathered(self, phi: Tensor, place: Tensor) -> Tensor:
        return (self._values[place] * phi[:, None]).sum(dim=-1)

    def _by_node(self, phi: Tensor, place: Tensor) -> Tensor:
        n_vectors, n_features = self._values.shape[1:]
        most = max(1, self._card.numbers_at_once // (n_vectors * n_features))
        out = phi.new_empty((*place.shape, n_vectors))
        for tree, nodes in enumerate(place):
            order = torch.sort(nodes, stable=True).indices
            present, counts = torch.unique_consecutive(nodes[order], return_counts=True)
            stops = np.cumsum(self._card.fetch(counts))
            starts = np.concatenate([[0], stops[:-1]])
            for stack in stack_leaves(self._card, starts, stops, most):
                vectors = self._values[present[stack.leaves]].float()
                rows = order[stack.rows]
                products = phi[rows] @ vectors.mT
                out[tree, rows[stack.inside]] = products[stack.inside]
        return out


class CardLevel:
    """The same level of several trees."""

    def __init__(self, card: Card, levels: Sequence[Level]) -> None:
        self._leaves_per_node, self._n_nodes = levels[0].leaves_per_node, len(levels[0].count)
        self.weights = CardVectors(card, [level.weights for level in levels])
        self._sketches, self._card = [level.sketch for level in levels], card
        self._sketch: CardVectors | None = None
        parameters = zip(*(level.noise_parameters for level in levels), strict=True)
        self._shape, self._scale = (card.send(np.concatenate(parts)) for parts in parameters)

    @property
    def n_sketches(self) -> int:
        """Vectors of a sketch."""
        return self._sketches[0].values.shape[1]

    @property
    def sketch(self) -> CardVectors:
        """Sketches of the nodes' covariances, sent when they are needed: means do without."""
        if self._sketch is None:
            self._sketch = CardVectors(self._card, self._sketches)
        return self._sketch

    def nodes(self, leaf: Tensor) -> Tensor:
        """Nodes above leaves (T, n), counted in each tree."""
        return leaf if self._leaves_per_node == 1 else leaf // self._leaves_per_node

    def noise(self, leaf: Tensor) -> tuple[Tensor, Tensor]:
        """a_n and b_n of the noise at leaves (T, n), shapes (T, n)."""
        place = self.nodes(leaf) + self._n_nodes * torch.arange(len(leaf), device=leaf.device)[:, None]
        return self._shape[place], self._scale[place]


class CardTrees:
    """Trees of one kind side by side, see `TreeStack`."""

    def __init__(self, card: Card, stack: TreeStack) -> None:
        trees = stack.trees
        self.card, self.n_trees = card, len(trees)
        self._planes = tuple(map(card.send, (stack.directions, stack.thresholds, trees[0].partition.children)))
        self._levels = [CardLevel(card, levels) for levels in zip(*(tree.levels for tree in trees), strict=True)]
        # Trees that share their features are neighbours.
        starts = [i for i in range(len(trees)) if i == 0 or trees[i].features is not trees[i - 1].features]
        self._draws = [
            (slice(first, last), CardFeatures(card, trees[first].features))
            for first, last in zip(starts, [*starts[1:], len(trees)], strict=True)
        ]

    @property
    def numbers_per_row(self) -> int:
        """Numbers of the largest array of a prediction, per row."""
        together = max(trees.stop - trees.start for trees, _ in self._draws)
        n_vectors = min(MOST_GATHERED, max(level.n_sketches for level in self._levels))
        return together * n_vectors * max(features.n_features for _, features in self._draws)

    def means_and_noise(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """Predictive means and noise variances of rows X (n, d), by the trees' first level: shapes (T, n)."""
        leaf, level = self._leaves(X), self._levels[0]
        means = [level.weights.dot(phi, level.nodes(leaf[trees]), trees.start) for trees, phi in self._features(X)]
        shape, scale = level.noise(leaf)
        return torch.cat(means)[:, :, 0].double(), scale / shape

    def components(self, X: Tensor) -> TreeComponents:
        """Predictions of each level of each tree for rows X (n, d), shape (T levels, n)."""
        leaf = self._leaves(X)
        means, leverages = [], []
        for trees, phi in self._features(X):
            nodes = [level.nodes(leaf[trees]) for level in self._levels]
            pairs = list(zip(self._levels, nodes, strict=True))
            means.append(torch.stack([level.weights.dot(phi, node, trees.start)[:, :, 0] for level, node in pairs], 1))
            sketched = (level.sketch.dot(phi, node, trees.start) for level, node in pairs)
            leverages.append(torch.stack([(products * products).sum(dim=2) for products in sketched], 1))
        noise = zip(*(level.noise(leaf) for level in self._levels), strict=True)
        parts = torch.cat(means).double(), torch.cat(leverages).double(), *(torch.stack(part, 1) for part in noise)
        return TreeComponents(*(part.flatten(0, 1) for part in parts))

    def _leaves(self, X: Tensor) -> Tensor:
        return descend(X, *self._planes)

    def _features(self, X: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """Trees that share their features, and these, (n, q)."""
        return ((trees, features(X)) for trees, features in self._draws)


class CardForest:
    """Trees and their correction on a card.

    Parameters
    ----------
    card : Card
        Where.
    forest : Forest
        What is sent there.
    """

    def __init__(self, card: Card, forest: Forest) -> None:
        self.card, correction = card, forest.correction
        self.stacks = [CardTrees(card, stack) for stack in stack_trees(forest.trees)]
        self._correction = None if correction is None else CardCorrection(card, correction)
        self._noise = None if forest.minority_noise is None else CardNoise(card, forest.minority_noise)

    @property
    def rows_at_once(self) -> int:
        """Rows that are predicted together."""
        return rows_at_once(self.card, max(stack.numbers_per_row for stack in self.stacks))

    def means(self, X: Tensor) -> Tensor:
        """Means over the trees for standardised rows X (n, d), corrected, shape (n,)."""
        parts = [stack.means_and_noise(X) for stack in self.stacks]
        mean, variance = (torch.cat(tensors).mean(dim=0) for tensors in zip(*parts, strict=True))
        return mean if self._correction is None else mean + self._correction(X, mean, variance.sqrt())

    def components(self, X: Tensor) -> Components:
        """Predictions of the trees for standardised rows X (n, d), corrected, shape (T, n)."""
        parts = [stack.components(X) for stack in self.stacks]
        components = Components.concatenate([part.fetched(self.card) for part in parts], axis=0)
        if self._correction is not None:
            mean = torch.cat([part.mean for part in parts]).mean(dim=0)
            variance = torch.cat([part.scale / part.shape for part in parts]).mean(dim=0)
            components = components.shifted(self.card.fetch(self._correction(X, mean, variance.sqrt())))
        return components if self._noise is None else components.rescaled(self.card.fetch(self._noise(X)))


class CardCorrection:
    """A correction on a card, see `Correction`."""

    def __init__(self, card: Card, correction: Correction) -> None:
        self._share, (self._start, self._informed) = correction.share, correction.way
        self._boosters = [tree_sums(card, booster) for booster in correction.boosters]

    def __call__(self, X: Tensor, mean: Tensor, deviation: Tensor) -> Tensor:
        """Shift of predictions of rows X (n, d) with means and deviations (n,), all standardised, shape (n,)."""
        rows = torch.cat([X, mean[:, None].to(X.dtype)], dim=1) if self._informed else X
        shift = deviation * torch.stack([booster(rows) for booster in self._boosters]).mean(dim=0)
        if self._start < 1.0:
            shift = shift - (1.0 - self._start) * mean
        return self._share * shift


class CardNoise:
    """Factors of the noise on a card, see `MinorityNoise`."""

    def __init__(self, card: Card, noise: MinorityNoise) -> None:
        parts = noise.inputs, noise.threshold, noise.side, noise.log_factor
        self._inputs, self._threshold, self._side, self._log_factor = map(card.send, parts)

    def __call__(self, X: Tensor) -> Tensor:
        """Logarithms of the factors for standardised rows X (n, d), shape (n,)."""
        is_rare = self._side * (X[:, self._inputs] - self._threshold) > 0
        return is_rare.double() @ self._log_factor


def tree_sums(card: Card, trees: object) -> CardTreeSums:
    """Boosted trees on a card."""
    assert isinstance(trees, BoostedTrees)
    return CardTreeSums(card, trees.bounds, trees.feature, trees.number, trees.children, trees.baseline)


def all_components(card: Card, trees: Sequence[SpectralTree], X: Array) -> Components:
    """Predictions of all levels of trees for standardised rows X (n, d), not corrected, shape (T levels, n).

    One tree is on the card at a time: all their levels may be many times as large as what is kept of them.
    """
    rows, parts = card.send(X), list[Components]()
    for tree in trees:
        on_card = CardTrees(card, TreeStack.of([tree]))
        chunks = rows.split(rows_at_once(card, on_card.numbers_per_row))
        parts.append(Components.concatenate([on_card.components(chunk).fetched(card) for chunk in chunks], axis=1))
    return Components.concatenate(parts, axis=0)


def rows_at_once(card: Card, numbers_per_row: int) -> int:
    """Rows that are predicted together, of so many numbers each in the largest array."""
    return max(1, min(MOST_ROWS, card.numbers_at_once // numbers_per_row))
