"""The features that trees of a forest share: m waves, a constant and linear functions, in one product."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Waves"]

Array = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Waves:
    """A draw of the frequencies, ready for use.

    `features` and `trend_features` of `ssgp.spectrum.features` side by side, but a row's features are neighbours
    in memory: predictions gather leaves' weights row by row.

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
    def of(cls, frequencies: Array, lengthscale: Array) -> "Waves":
        """Waves of frequencies (m, d), with trends in units of the lengthscales (d,)."""
        m, d = frequencies.shape
        phases = 2.0 * np.pi * np.tile(frequencies.T, 2)
        slopes = np.diag(np.sqrt(m / d) / lengthscale)
        top = np.concatenate([phases, np.zeros((d, 1)), slopes], axis=1)
        bottom = np.concatenate([np.zeros(m), np.full(m, -0.5 * np.pi), [np.sqrt(m)], np.zeros(d)])
        return cls(np.concatenate([top, bottom[None]]).astype(np.float32), 2 * m)

    @property
    def n_features(self) -> int:
        """Waves and trend together, q = 2m + 1 + d."""
        return self.projection.shape[1]

    def features(self, joined: Array) -> Array:
        """Features of rows [x, 1] (..., d + 1), shape (..., q)."""
        phi = joined @ self.projection
        np.cos(phi[..., : self.n_cosines], out=phi[..., : self.n_cosines])
        return phi
