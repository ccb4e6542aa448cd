"""Predictions of regressors with normal distributions and the same noise everywhere."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ssgp._utils.arrays import Array, Indices
from ssgp.distributions.filled import FilledDistribution, InputRows
from ssgp.distributions.normal import NormalDistribution
from ssgp.distributions.table_regressor import TableRegressor
from ssgp.rows.standardizer import Standardizer
from ssgp.saving.contents import Rule, array, integer, made_of, number

__all__ = ["KERNEL_AND_UNITS", "GaussianRegressor"]

# What files hold of every such regressor; variances of a target of tiny or huge numbers may be beyond all numbers.
KERNEL_AND_UNITS: dict[str, Rule] = {
    "lengthscale_": array("float64", "d", finite=False),
    "signal_variance_": number(0.0, finite=False),
    "noise_variance_": number(0.0, finite=False),
    "n_rows_": integer(1),
    "bound_": number(),
    "_units": made_of(Standardizer, d=lambda units: len(units.x_mean)),
}

# Rows that are predicted together.
ROWS_PER_CHUNK = 1 << 14


class GaussianRegressor(TableRegressor):
    """A fitted regressor that predicts a normal distribution for every row.

    Subclasses implement `_latent`.
    """

    # What scikit-learn may pass on to `predict`, which its signature does not show.
    __metadata_request__predict: ClassVar[dict[str, None]] = {"latent": None}

    lengthscale_: Array
    signal_variance_: float
    noise_variance_: float
    n_rows_: int
    _units: Standardizer

    @abstractmethod
    def _latent(self, X: Array, with_variance: bool) -> tuple[Array, Array | None]:
        """Mean and variance of the latent function at standardised rows X (n, d), in the model's units, shapes (n,)."""

    def predict_distribution(self, X: ArrayLike, *, latent: bool = False) -> NormalDistribution | FilledDistribution:
        """Predictive distributions of observations.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.
        latent : bool, default=False
            Whether to predict the function without its noise.

        Returns
        -------
        NormalDistribution, or FilledDistribution where rows have values that fit never saw
            One distribution per row, in the target's units.
        """
        return self._distribution(self._checked(X), latent)

    def _means(self, X: ArrayLike, *, latent: bool = False) -> Array:
        return self._checked(X).means(lambda rows, _: self._moments(rows, None, with_variance=False)[0])

    def _distribution(
        self, rows: InputRows, latent: bool, blocks: Indices | None = None
    ) -> NormalDistribution | FilledDistribution:
        """Distributions of rows, in blocks of these indices (n,) where they are given."""

        def predict(part: Array, numbers: slice | Indices) -> NormalDistribution:
            mean, variance = self._moments(part, None if blocks is None else blocks[numbers], with_variance=True)
            return NormalDistribution(mean, np.sqrt(variance + (0.0 if latent else self.noise_variance_)))

        return rows.distribution(predict)

    def _checked(self, X: ArrayLike) -> InputRows:
        """Rows to predict, once there is a model."""
        check_is_fitted(self, "_units")
        return self._input_rows(X)

    @property
    def _rows_per_chunk(self) -> int:
        """Rows that are predicted together."""
        return ROWS_PER_CHUNK

    def _latent_in_blocks(self, X: Array, blocks: Indices, with_variance: bool) -> tuple[Array, Array | None]:
        """As `_latent`, of rows in blocks of these indices (n,), for methods with blocks."""
        raise NotImplementedError

    def _moments(self, X: Array, blocks: Indices | None, with_variance: bool) -> tuple[Array, Array]:
        """Mean and variance of the latent function at rows X (n, d) in the target's units, shapes (n,).

        Rows are in blocks of these indices (n,) where they are given. The variances are zeros without `with_variance`.
        """
        mean, variance = np.empty(len(X)), np.zeros(len(X))
        for start in range(0, len(X), self._rows_per_chunk):
            chunk = slice(start, start + self._rows_per_chunk)
            inputs = self._units.inputs(X[chunk])
            mean[chunk], latent_variance = (
                self._latent(inputs, with_variance)
                if blocks is None
                else self._latent_in_blocks(inputs, blocks[chunk], with_variance)
            )
            if latent_variance is not None:
                variance[chunk] = np.maximum(latent_variance, 0.0)
        return self._units.y_mean + self._units.y_scale * mean, self._units.y_scale**2 * variance
