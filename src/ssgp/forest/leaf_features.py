"""The features of a tree's leaves, by one product: cosines and sines, a constant and linear functions."""

from dataclasses import dataclass

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.engine.tiles import product_in_tiles
from ssgp.saving.contents import array, integer
from ssgp.saving.kinds import stored

__all__ = ["LeafFeatures"]

# Rows of a product, where a row's features must not depend on which rows come with it.
TILE_ROWS = 512


@stored(
    {"projection": array("float32", "d + 1", "q"), "n_cosines": integer(2)},
    name="Waves",
    relations=lambda p: [
        (p.projection.shape[1] == p.n_cosines + p.projection.shape[0], "the features must be cosines and a trend")
    ],
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
        1 + d features of the trend.
    n_cosines : int
        2m.
    """

    projection: Array
    n_cosines: int

    @classmethod
    def of(cls, frequencies: Array, lengthscale: Array) -> "LeafFeatures":
        """Features of frequencies (m, d), with trends in units of the lengthscales (d,)."""
        m, d = frequencies.shape
        phases = 2.0 * np.pi * np.tile(frequencies.T, 2)
        slopes = np.diag(np.sqrt(m / d) / lengthscale)
        top = np.concatenate([phases, np.zeros((d, 1)), slopes], axis=1)
        bottom = np.concatenate([np.zeros(m), np.full(m, -0.5 * np.pi), [np.sqrt(m)], np.zeros(d)])
        return cls(np.concatenate([top, bottom[None]]).astype(np.float32), 2 * m)

    @property
    def n_inputs(self) -> int:
        """Number of inputs, d."""
        return len(self.projection) - 1

    @property
    def n_features(self) -> int:
        """Cosines and trend together, q = 2m + 1 + d."""
        return self.projection.shape[1]

    def __call__(self, X: Array) -> Array:
        """Features of stacks of rows (..., n, d), shape (..., n, q)."""
        return self._with_cosines(_joined(X) @ self.projection)

    def in_tiles(self, X: Array) -> Array:
        """Features of rows (n, d), shape (n, q): a row has the same ones whatever rows come with it."""
        return self._with_cosines(product_in_tiles(_joined(X), self.projection, TILE_ROWS))

    def _with_cosines(self, phi: Array) -> Array:
        """Cosines in the place of phases."""
        np.cos(phi[..., : self.n_cosines], out=phi[..., : self.n_cosines])
        return phi


def _joined(X: Array) -> Array:
    """[x, 1] of stacks of rows (..., n, d), shape (..., n, d + 1)."""
    return np.concatenate([X, np.ones((*X.shape[:-1], 1), X.dtype)], axis=-1)
