"""The likelihood of a block of rows with its weights and noise integrated out, and its gradient, on a card.

One such step is some fifty short kernels: on a GPU they are captured as a graph, for each number of rows that blocks
are padded to, and started together. Features are in single precision, all else is in double precision.
"""

from dataclasses import dataclass

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp.engine.on_card.backend import Tensor, torch
from ssgp.engine.on_card.cards import Card
from ssgp.engine.on_card.graphs import captured
from ssgp.engine.ridge import LEAST_RIDGE

__all__ = ["BlockBound", "BoundParts", "LocalBound"]

TWO_PI = 2.0 * np.pi
# Blocks are padded to multiples of so many rows: there are few graphs, and short kernels take no longer.
PADDED_TO = 512


@dataclass(frozen=True)
class BlockBound:
    """What a bound is made of, from one block.

    Attributes
    ----------
    frequencies : array of shape (m, d)
        Derivative with respect to the frequencies.
    gain : array of shape (q,)
        For each feature by how much a smaller scale of its own would raise the value, per logarithm of it.
    rss, log_determinant : float
        Penalised residual sum of squares, and log |A / ridge|.
    """

    frequencies: Array
    gain: Array
    rss: float
    log_determinant: float


@dataclass(frozen=True)
class BoundParts:
    """Sizes and numbers that stay while frequencies are learned.

    Attributes
    ----------
    n_frequencies, n_inputs : int
        m and d.
    trend_inputs : int array of shape (t,) or None
        Inputs that have linear features, None for all.
    shape, scale : float
        Of the prior of a block's noise variance.
    """

    n_frequencies: int
    n_inputs: int
    trend_inputs: Indices | None
    shape: float
    scale: float


class LocalBound:
    """The bound of blocks, with a trend.

    Parameters
    ----------
    card : Card
        Where.
    parts : BoundParts
        Sizes and numbers that stay.
    """

    def __init__(self, card: Card, parts: BoundParts) -> None:
        self.card, self.parts = card, parts
        self._trend = slice(None) if parts.trend_inputs is None else card.send(parts.trend_inputs)
        self._run = captured(card, self._packed)

    def __call__(
        self, X: Array, y: Array, weight: Array | None, total: float, frequencies: Array, slopes: Array, ridge: float
    ) -> BlockBound:
        """The bound of rows X (n, d) with targets and weights (n,), which count for `total` rows.

        `slopes` (t,) are what inputs of the trend are multiplied with.
        """
        n_rows, m = len(y), self.parts.n_frequencies
        padded = max(1, -(-n_rows // PADDED_TO)) * PADDED_TO
        rows = np.zeros((padded, X.shape[1] + 2), np.float32)
        rows[:n_rows, :-2], rows[:n_rows, -2], rows[:n_rows, -1] = X, y, 1.0 if weight is None else weight
        numbers = np.concatenate([frequencies.ravel(), slopes, [np.sqrt(m), ridge, total]], dtype=np.float64)
        found = self._run(rows, numbers)
        by_frequency, gain, (rss, log_determinant, failed) = np.split(found, [frequencies.size, len(found) - 3])
        if failed:
            raise np.linalg.LinAlgError("Phi^T Phi + ridge I is not positive definite to rounding")
        return BlockBound(by_frequency.reshape(frequencies.shape), gain, float(rss), float(log_determinant))

    def _packed(self, rows: Tensor, numbers: Tensor) -> Tensor:
        """The derivatives by the frequencies, the gains, the two numbers and whether it failed, in one vector."""
        parts, m = self.parts, self.parts.n_frequencies
        X, y, weight = rows[:, :-2], rows[:, -2].double(), rows[:, -1].double()
        by_frequency, trend = numbers[: m * parts.n_inputs], numbers[m * parts.n_inputs : -2]
        ridge, total = numbers[-2], numbers[-1]
        phase = X @ (TWO_PI * by_frequency.reshape(m, parts.n_inputs)).float().T
        linear = (X[:, self._trend] * trend[:-1]).double()
        constant = trend[-1].expand(len(X), 1)
        phi = torch.cat([torch.cos(phase).double(), torch.sin(phase).double(), constant, linear], dim=1)
        weighted = phi * weight[:, None]
        gram = phi.T @ weighted
        raised = torch.maximum(ridge, LEAST_RIDGE * gram.diagonal().sum())
        identity = torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
        factor, failed = torch.linalg.cholesky_ex(gram + raised * identity)
        # Twice as fast as `torch.cholesky_inverse`.
        half = torch.linalg.solve_triangular(factor, identity, upper=False)
        inverse = half.T @ half
        weights = inverse @ (weighted.T @ y)
        residual = y - phi @ weights
        weighted_residual = weight * residual
        rss = residual @ weighted_residual + ridge * (weights @ weights)
        precision = (parts.shape + 0.5 * total) / (parts.scale + 0.5 * rss)
        grad = torch.outer(weighted_residual, precision * weights[: 2 * m]) - weighted @ inverse[:, : 2 * m]
        grad_phase = grad[:, m:] * phi[:, :m] - grad[:, :m] * phi[:, m : 2 * m]
        gain = 1.0 - ridge * (inverse.diagonal() + precision * weights * weights)
        log_determinant = 2.0 * factor.diagonal().log().sum() - len(gram) * raised.log()
        ends = torch.stack([rss, log_determinant, failed.double()])
        return torch.cat([TWO_PI * (grad_phase.T @ X.double()).ravel(), gain, ends])
