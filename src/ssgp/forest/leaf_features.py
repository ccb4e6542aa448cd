"""The features of a tree's leaves, by one product: cosines and sines, a constant and linear functions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp.engine.tiles import product_in_tiles
from ssgp.saving.contents import array, integer
from ssgp.saving.kinds import stored

__all__ = ["LeafFeatures", "StackedFeatures", "WideLeafFeatures", "features_in_tiles"]


@stored(
    {"projection": array("float32", "d + 1", "q"), "n_cosines": integer(2)},
    name="Waves",
    relations=lambda p: [
        (len(p.projection) > 1, "there must be an input"),
        (
            p.projection.shape[1] == p.n_cosines + len(p.projection),
            "features must be cosines and a trend of all",
        ),
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
    def of(cls, frequencies: Array, lengthscale: Array, trend_inputs: Indices | None = None) -> "LeafFeatures":
        """Features of frequencies (m, d), with trends of all or some inputs in units of the lengthscales (d,)."""
        m, d = frequencies.shape
        if trend_inputs is not None:
            slopes = np.sqrt(m / len(trend_inputs)) / lengthscale[trend_inputs]
            return WideLeafFeatures(
                _projection(frequencies, np.empty((d, 0))), 2 * m, trend_inputs, slopes.astype(np.float32)
            )
        return LeafFeatures(_projection(frequencies, np.diag(np.sqrt(m / d) / lengthscale)), 2 * m)

    @property
    def n_inputs(self) -> int:
        """Number of inputs, d."""
        return len(self.projection) - 1

    @property
    def n_features(self) -> int:
        """Cosines and trend together, q = 2m + 1 + d."""
        return self.projection.shape[1]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.projection.nbytes

    def __call__(self, X: Array) -> Array:
        """Features of stacks of rows (..., n, d), shape (..., n, q)."""
        return self._completed(_joined(X) @ self.projection, X)

    def in_tiles(self, X: Array) -> Array:
        """Features of rows (n, d), shape (n, q): a row has the same ones whatever rows come with it."""
        return features_in_tiles(X, self.projection, self.n_cosines)

    def _completed(self, phi: Array, X: Array) -> Array:
        """Cosines in the place of phases."""
        return _with_cosines(phi, self.n_cosines)


@stored(
    {
        "projection": array("float32", "d + 1", "cosines + 1"),
        "n_cosines": integer(2),
        "trend_inputs": array("int64", "t", least=0),
        "slopes": array("float32", "t"),
    },
    name="WideWaves",
    relations=lambda p: [
        (p.projection.shape[1] == p.n_cosines + 1, "the projection must be to cosines and a constant"),
        (bool((p.trend_inputs < len(p.projection) - 1).all()), "a trend must be of inputs that there are"),
    ],
)
@dataclass(frozen=True, eq=False)
class WideLeafFeatures(LeafFeatures):
    """The same for many inputs, with a trend of some of them.

    Attributes
    ----------
    projection : array of shape (d + 1, 2m + 1), float32
        Takes [x, 1] to the phases and the constant.
    n_cosines : int
        2m.
    trend_inputs : int array of shape (t,)
        Inputs of the trend.
    slopes : array of shape (t,), float32
        What they are multiplied with.
    """

    trend_inputs: Indices
    slopes: Array

    @property
    def n_features(self) -> int:
        """Cosines and trend together, q = 2m + 1 + t."""
        return self.projection.shape[1] + len(self.trend_inputs)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.projection.nbytes + self.trend_inputs.nbytes + self.slopes.nbytes

    def in_tiles(self, X: Array) -> Array:
        """Features of rows (n, d), shape (n, q): a row has the same ones whatever rows come with it."""
        return self._completed(product_in_tiles(_joined(X), self.projection), X)

    def _completed(self, phi: Array, X: Array) -> Array:
        """Cosines in the place of phases, and the trend beside the constant."""
        return np.concatenate([super()._completed(phi, X), X[..., self.trend_inputs] * self.slopes], axis=-1)


@dataclass(frozen=True, eq=False)
class StackedFeatures:
    """Features of the leaves of several trees, side by side.

    Attributes
    ----------
    projections : array of shape (T, d + 1, q), float32
        The trees' projections, see `LeafFeatures`.
    n_cosines : int
        2m.
    """

    projections: Array
    n_cosines: int

    @classmethod
    def of(cls, features: Sequence[LeafFeatures]) -> "StackedFeatures":
        """Features of trees of equally many, each of all inputs."""
        return cls(np.stack([each.projection for each in features]), features[0].n_cosines)

    @property
    def n_features(self) -> int:
        """Cosines and trend together, q = 2m + 1 + d."""
        return self.projections.shape[-1]

    def __call__(self, X: Array, trees: Indices) -> Array:
        """Features of stacks of rows (f, n, d) in these trees (f,), shape (f, n, q): those of each tree alone."""
        return _with_cosines(_joined(X) @ self.projections[trees], self.n_cosines)


def features_in_tiles(X: Array, projection: Array, n_cosines: int) -> Array:
    """Features of rows (n, d) by projections (..., d + 1, q) of one or several draws, shape (..., n, q)."""
    return _with_cosines(product_in_tiles(_joined(X), projection), n_cosines)


def _with_cosines(phi: Array, n_cosines: int) -> Array:
    """Cosines in the place of phases."""
    np.cos(phi[..., :n_cosines], out=phi[..., :n_cosines])
    return phi


def _projection(frequencies: Array, slopes: Array) -> Array:
    """Takes [x, 1] to phases of frequencies (m, d), the constant, and linear functions with slopes (d, t)."""
    m, d = frequencies.shape
    phases = 2.0 * np.pi * np.tile(frequencies.T, 2)
    top = np.concatenate([phases, np.zeros((d, 1)), slopes], axis=1)
    bottom = np.concatenate([np.zeros(m), np.full(m, -0.5 * np.pi), [np.sqrt(m)], np.zeros(slopes.shape[1])])
    return np.concatenate([top, bottom[None]]).astype(np.float32)


def _joined(X: Array) -> Array:
    """[x, 1] of stacks of rows (..., n, d), shape (..., n, d + 1)."""
    return np.concatenate([X, np.ones((*X.shape[:-1], 1), X.dtype)], axis=-1)
