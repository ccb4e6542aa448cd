"""The features of a tree's leaves, by one product: cosines and sines, a constant and linear functions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp.engine.tiles import product_in_tiles
from ssgp.saving.contents import array, integer, optional
from ssgp.saving.kinds import stored

__all__ = ["TILE_ROWS", "LeafFeatures"]

# Rows of a product, where a row's features must not depend on which rows come with it.
TILE_ROWS = 512


def _check_features(parts: Any) -> Iterator[tuple[bool, str]]:  # noqa: ANN401
    (n_rows, n_columns), chosen = parts.projection.shape, parts.trend_inputs
    yield n_rows > 1, "there must be an input"
    yield n_columns == parts.n_cosines + (n_rows if chosen is None else 1), "features must be cosines and a trend"
    yield (chosen is None) == (parts.slopes is None), "inputs of the trend and their slopes go together"
    yield chosen is None or bool((chosen < n_rows - 1).all()), "inputs of the trend must be some that there are"


@stored(
    {
        "projection": array("float32", "d + 1", "q"),
        "n_cosines": integer(2),
        "trend_inputs": optional(array("int64", "t", least=0)),
        "slopes": optional(array("float32", "t")),
    },
    name="Waves",
    relations=_check_features,
    added=("trend_inputs", "slopes"),
)
@dataclass(frozen=True, eq=False)
class LeafFeatures:
    """A draw of the frequencies, ready for use.

    The features are `features` and `trend_features` of `ssgp.spectrum.features` side by side, but those of a row are
    neighbours in memory: predictions gather leaves' weights row by row.

    Attributes
    ----------
    projection : array of shape (d + 1, q), float32
        Takes [x, 1] to the phases of 2m cosines (a sine is a cosine a quarter turn late) and to the
        1 + d features of the trend; where the trend is of some inputs, to the phases and the constant alone.
    n_cosines : int
        2m.
    trend_inputs : int array of shape (t,) or None
        Inputs of the trend, None for all.
    slopes : array of shape (t,), float32, or None
        What they are multiplied with.
    """

    projection: Array
    n_cosines: int
    trend_inputs: Indices | None = None
    slopes: Array | None = None

    @classmethod
    def of(cls, frequencies: Array, lengthscale: Array, trend_inputs: Indices | None = None) -> "LeafFeatures":
        """Features of frequencies (m, d), with trends of all or some inputs in units of the lengthscales (d,)."""
        m, d = frequencies.shape
        phases = 2.0 * np.pi * np.tile(frequencies.T, 2)
        n_linear = d if trend_inputs is None else 0
        slopes = np.diag(np.sqrt(m / d) / lengthscale) if trend_inputs is None else np.zeros((d, 0))
        top = np.concatenate([phases, np.zeros((d, 1)), slopes], axis=1)
        bottom = np.concatenate([np.zeros(m), np.full(m, -0.5 * np.pi), [np.sqrt(m)], np.zeros(n_linear)])
        projection = np.concatenate([top, bottom[None]]).astype(np.float32)
        if trend_inputs is None:
            return cls(projection, 2 * m)
        scale = np.sqrt(m / len(trend_inputs)) / lengthscale[trend_inputs]
        return cls(projection, 2 * m, trend_inputs, scale.astype(np.float32))

    @property
    def n_inputs(self) -> int:
        """Number of inputs, d."""
        return len(self.projection) - 1

    @property
    def n_features(self) -> int:
        """Cosines and trend together, q = 2m + 1 + d, or t in the place of d."""
        return self.projection.shape[1] + (0 if self.trend_inputs is None else len(self.trend_inputs))

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        others = [array for array in (self.trend_inputs, self.slopes) if array is not None]
        return self.projection.nbytes + sum(array.nbytes for array in others)

    def __call__(self, X: Array) -> Array:
        """Features of stacks of rows (..., n, d), shape (..., n, q)."""
        return self._completed(_joined(X) @ self.projection, X)

    def in_tiles(self, X: Array) -> Array:
        """Features of rows (n, d), shape (n, q): a row has the same ones whatever rows come with it."""
        return self._completed(product_in_tiles(_joined(X), self.projection, TILE_ROWS), X)

    def _completed(self, phi: Array, X: Array) -> Array:
        """Cosines in the place of phases, and the trend of some inputs."""
        np.cos(phi[..., : self.n_cosines], out=phi[..., : self.n_cosines])
        if self.trend_inputs is None or self.slopes is None:
            return phi
        return np.concatenate([phi, X[..., self.trend_inputs] * self.slopes], axis=-1)


def _joined(X: Array) -> Array:
    """[x, 1] of stacks of rows (..., n, d), shape (..., n, d + 1)."""
    return np.concatenate([X, np.ones((*X.shape[:-1], 1), X.dtype)], axis=-1)
