"""Where to cut the rows of many nodes in two, on a card: all nodes of a level at once, see `ssgp.engine.cuts`."""

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp.engine.cuts import COMPARED_ROWS, DIRECTION_ROWS, LINEAR_RIDGE, MIN_SIDE_ROWS, competing_inputs
from ssgp.engine.on_card.backend import Tensor, torch
from ssgp.engine.on_card.cards import Card

__all__ = ["CardCutter", "cut_directions"]

# Nodes that are cut at once, at most: CUDA's eigenvectors fail for some 32,000 matrices together.
MOST_NODES = 16_384


class CardCutter:
    """Cuts nodes of trees in two, and keeps the order that brings rows of a node together.

    Parameters
    ----------
    card : Card
        Where.
    X : array of shape (n, d)
        Rows, scaled by the metric.
    y : array of shape (n,) or None
        Their targets, by which cuts are chosen.
    n_trees : int
        Trees that are grown together.
    jitter : float
        See `cut_directions`.
    """

    def __init__(self, card: Card, X: Array, y: Array | None, n_trees: int, jitter: float) -> None:
        self.card, self.jitter = card, jitter
        self._X, self._y = card.send(X), None if y is None else card.send(y)
        self._order = torch.arange(len(X), device=card.name).repeat(n_trees)

    @property
    def order(self) -> Indices:
        """Numbers of the rows, node after node and tree after tree."""
        return self.card.fetch(self._order)

    def cut(self, begin: Indices, size: int, n_left: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Cut nodes of so many rows each, which begin there (k,), `n_left` of them to the left.

        Returns the normals (k, d) of the hyperplanes, and their offsets (k,).
        """
        at_once = self.card.numbers_at_once // (size * (self._X.shape[1] + 2) * 4)
        at_once = max(1, min(at_once, MOST_NODES))
        parts = [self._cut(begin[i : i + at_once], size, n_left, rng) for i in range(0, len(begin), at_once)]
        directions, thresholds = (np.concatenate(column) for column in zip(*parts, strict=True))
        return directions, thresholds

    def _cut(self, begin: Indices, size: int, n_left: int, rng: np.random.Generator) -> tuple[Array, Array]:
        places = self.card.send(begin)[:, None] + torch.arange(size, device=self.card.name)
        numbers = self._order[places]
        X = self._X[numbers]
        direction = cut_directions(self.card, X, None if self._y is None else self._y[numbers], rng, self.jitter)
        projection, ranked = torch.sort((X @ direction[:, :, None])[:, :, 0], dim=1, stable=True)
        self._order[places] = numbers.gather(1, ranked)
        left, right = projection[:, n_left - 1], projection[:, n_left]
        middle = 0.5 * (left + right)
        return self.card.fetch(direction), self.card.fetch(torch.where(middle > left, middle, right))


def cut_directions(card: Card, X: Tensor, y: Tensor | None, rng: np.random.Generator, jitter: float) -> Tensor:
    """Normals of the hyperplanes that cut k nodes of rows (k, n, d) with targets (k, n), shape (k, d).

    See `ssgp.engine.cuts.cut_directions`; numbers are drawn by the same generator, for other rows.
    """
    n_nodes, n_rows, n_inputs = X.shape
    if n_rows > DIRECTION_ROWS:
        drawn = card.send(rng.integers(0, n_rows, (n_nodes, DIRECTION_ROWS)))
        X = X.gather(1, drawn[:, :, None].expand(-1, -1, n_inputs))
        y = None if y is None else y.gather(1, drawn)
    centred = X - X.mean(dim=1, keepdim=True)
    widest = torch.linalg.eigh(centred.mT @ centred)[1][:, :, -1]
    if jitter:
        noise = jitter / np.sqrt(n_inputs) * rng.standard_normal((n_nodes, n_inputs))
        widest = widest + card.send(noise.astype(np.float32))
    if y is None or X.shape[1] < COMPARED_ROWS:
        return widest
    inputs = card.send(competing_inputs(rng.random((n_nodes, n_inputs)), None))
    alone = X.new_zeros((*inputs.shape, n_inputs)).scatter_(2, inputs[:, :, None], 1.0)
    candidates = torch.cat([widest[:, None], alone], dim=1)
    likelihoods = _log_likelihoods(X, y, candidates @ X.mT)
    return candidates[torch.arange(n_nodes, device=X.device), likelihoods.argmax(dim=1)]


def _log_likelihoods(X: Tensor, y: Tensor, projections: Tensor) -> Tensor:
    """Log likelihoods of linear models of y (k, n) on X (k, n, d) in two halves, up to a constant, shape (k, c).

    The halves are those of projections (k, c, n) above and below their median.
    """
    n_rows = X.shape[1]
    deviation = X.std(dim=1, keepdim=True, correction=0)
    scaled = (X - X.mean(dim=1, keepdim=True)) / torch.where(deviation > 0, deviation, 1.0)
    joined = torch.cat([torch.ones_like(y)[:, :, None], scaled, y[:, :, None]], dim=2).double()
    ranked = projections.sort(dim=2).values
    median = 0.5 * (ranked[:, :, (n_rows - 1) // 2] + ranked[:, :, n_rows // 2])
    right = (projections >= median[:, :, None]).double()
    products = joined.mT @ joined
    right_products = torch.stack([(joined * side[:, :, None]).mT @ joined for side in right.unbind(1)], dim=1)
    sums = torch.stack([right_products, products[:, None] - right_products])
    counts = sums[..., 0, 0].clone()
    diagonal = sums.diagonal(dim1=-2, dim2=-1)
    diagonal[..., :-1] += LINEAR_RIDGE * n_rows
    # Enough for the factor to exist where nothing is left of the target.
    diagonal[..., -1] += 1e-9 * n_rows + 1e-12 * products[:, None, -1, -1]
    residual = torch.linalg.cholesky_ex(sums)[0][..., -1, -1] ** 2
    likelihood = -0.5 * counts * torch.log(residual / counts.clamp(min=1.0))
    return likelihood.masked_fill(counts < MIN_SIDE_ROWS, -torch.inf).sum(dim=0)
