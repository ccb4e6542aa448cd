"""Attributes and predictions of a fitted regressor with blocks."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.progress import CallbackSupportMixin
from ssgp.distributions.filled import FilledDistribution, InputRows
from ssgp.distributions.normal import NormalDistribution
from ssgp.distributions.table_regressor import TableRegressor
from ssgp.rows.blocks import Rows
from ssgp.rows.partition import Partition
from ssgp.spectrum.parameters import Parameters
from ssgp.spectrum.posterior import AffinePosterior
from ssgp.svbssgp.conditional import Conditional, check_gamma
from ssgp.svbssgp.fitted import Context

__all__ = ["BlockRegressor"]

# Rows whose standardised inputs are in memory together.
ROWS_PER_CHUNK = 1 << 17


class BlockRegressor(CallbackSupportMixin, TableRegressor):
    """A fitted regressor whose test conditional depends on the test row's block.

    The attributes are those of `ssgp.svbssgp.fitted.fitted_attributes`.
    """

    # What scikit-learn may pass on to `predict`, which its signature does not show.
    __metadata_request__predict: ClassVar[dict[str, None]] = {"latent": None, "gamma": None, "blocks": None}

    gamma: float
    n_jobs: int | None

    posterior_: AffinePosterior
    input_mean_: Array
    target_mean_: float
    lengthscale_: Array
    signal_variance_: float
    noise_variance_: float
    n_rows_: int
    n_iter_: int
    bound_trace_: Array
    partition_: Partition
    block_labels_: NDArray[Any] | None
    _context: Context
    _parameters: Parameters
    _rows: Rows
    _conditional: Conditional

    def predict_distribution(
        self,
        X: ArrayLike,
        *,
        latent: bool = False,
        gamma: float | None = None,
        blocks: ArrayLike | None = None,
    ) -> NormalDistribution | FilledDistribution:
        """Predictive distributions of observations: normal, with the mean and variance of the mixture of all draws.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.
        latent : bool, default=False
            Whether to predict the function without its noise.
        gamma : float in [-1, 1], optional
            Test conditional; the estimator's `gamma` by default.
        blocks : array-like of shape (n,), optional
            Labels of the rows' blocks, for a model fitted with `blocks`. By default a
            row goes to the nearest block (for such a model, to the block of the nearest training row).

        Returns
        -------
        NormalDistribution, or FilledDistribution where rows have values that fit never saw
            One distribution per row, in the target's units.
        """
        rows, gamma, indices = self._checked(X, gamma, blocks)
        scale = self._context.units.y_scale

        def predict(part: Array, numbers: slice | Indices) -> NormalDistribution:
            of_part = None if indices is None else indices[numbers]
            mean, variance, noise = self._moments(part, gamma, of_part, with_variance=True)
            return NormalDistribution(mean, scale * np.sqrt(variance + (0.0 if latent else noise)))

        return rows.distribution(predict)

    def _means(
        self, X: ArrayLike, *, latent: bool = False, gamma: float | None = None, blocks: ArrayLike | None = None
    ) -> Array:
        rows, gamma, indices = self._checked(X, gamma, blocks)

        def predict(part: Array, numbers: slice | Indices) -> Array:
            of_part = None if indices is None else indices[numbers]
            return self._moments(part, gamma, of_part, with_variance=False)[0]

        return rows.means(predict)

    def _checked(
        self, X: ArrayLike, gamma: float | None, blocks: ArrayLike | None
    ) -> tuple[InputRows, float, Indices | None]:
        """Rows to predict, the test conditional, and the rows' blocks (n,) where they are given."""
        check_is_fitted(self, "_conditional")
        rows = self._input_rows(X)
        gamma = check_gamma(self.gamma if gamma is None else gamma, self._parameters.layout.n_weights == 0)
        return rows, gamma, None if blocks is None else self._context.block_indices(blocks, rows.X)

    def _moments(
        self, X: Array, gamma: float, indices: Indices | None, with_variance: bool
    ) -> tuple[Array, Array, Array]:
        """Means in the target's units, and variances of latent function and noise in the model's, shapes (n,).

        Of rows X (n, d) in blocks of these numbers (n,), or in the nearest. The variances are zeros without
        `with_variance`.
        """
        units = self._context.units
        mean, variance, noise = np.empty(len(X)), np.zeros(len(X)), np.zeros(len(X))
        for start in range(0, len(X), ROWS_PER_CHUNK):
            chunk = slice(start, start + ROWS_PER_CHUNK)
            inputs = units.inputs(X[chunk])
            block = self.partition_.assign(inputs) if indices is None else indices[chunk]
            mean[chunk], latent_variance = self._conditional.moments(inputs, block, gamma, with_variance, self.n_jobs)
            if latent_variance is not None:
                variance[chunk], noise[chunk] = latent_variance, self._conditional.mean_noise[block]
        return units.y_mean + units.y_scale * mean, variance, noise
