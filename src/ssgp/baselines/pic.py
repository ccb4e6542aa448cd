"""PIC+: inducing inputs, and blocks whose rows keep their covariance, learned block by block (Hoang et al. 2015)."""

from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.budget import interruptible
from ssgp._utils.progress import Monitor
from ssgp._utils.weights import warn_of_copies
from ssgp.baselines.block_likelihood import BlockLikelihood, SolvedBlock, inducing_features, solve_block
from ssgp.baselines.feature_maps import InducingMap
from ssgp.baselines.feature_regressor import AfterStep, FeatureRegressor, stored_with_features
from ssgp.baselines.inducing_regressor import InducingRegressor
from ssgp.baselines.linear_bound import WeightPosterior
from ssgp.baselines.model import Model, sum_blocks
from ssgp.baselines.natural_gradient import NaturalGradientTrainer
from ssgp.distributions.filled import FilledDistribution
from ssgp.distributions.normal import NormalDistribution
from ssgp.distributions.table_regressor import Encoder
from ssgp.engine.threads import map_in_threads, one_blas_thread
from ssgp.rows.bisecting_tree import BisectingTree, grow_tree
from ssgp.rows.blocking import indices_of_labels
from ssgp.rows.blocks import LabelledRows, Rows
from ssgp.rows.partition import NearestRow
from ssgp.saving.contents import labels, made_of

__all__ = ["PICRegressor"]


# Rows of a block with n_blocks="auto": their covariance is factorised in every step.
ROWS_PER_BLOCK = 200
# Rows that are predicted together: blocks are factorised again for the next ones.
ROWS_PER_CHUNK = 1 << 20
# Rows of a block that are predicted together.
ROWS_PER_TASK = 4096


@stored_with_features(
    InducingMap,
    optional_parts={"block_labels_": labels("labels")},
    partition_=made_of(
        BisectingTree, NearestRow, d=lambda partition: _n_inputs(partition), p=lambda partition: partition.n_blocks
    ),
    _rows=made_of(Rows, d=lambda rows: rows.X.shape[1], p=lambda rows: rows.n_blocks),
)
class PICRegressor(InducingRegressor):
    """Gaussian process regression with inducing inputs, exact within blocks of neighbouring rows (PIC+).

    As in `DTCRegressor` the latent function's values at inducing inputs have a Gaussian posterior, learned by natural
    gradients; but rows of one block keep their covariance given these values, and a new row is predicted from the
    values as well as from the rows of its block. With one block this is the exact Gaussian process.

    Parameters
    ----------
    n_inducing : int, default=250
        Number of inducing inputs; they start at centres of k-means.
    n_blocks : int or "auto", default="auto"
        Number of blocks, of equal size, cut by a tree. ``"auto"`` makes blocks of about 200 rows. `fit` also takes
        blocks of your choice.
    max_iter : int, default=1000
        Number of steps, of one block each.
    learning_rate : float, default=0.02
        Step size of Adam.
    lengthscale : float, array-like of shape (d,) or "auto", default="auto"
        Start in the units of the inputs; half the square root of d standard deviations by default.
    signal_variance, noise_variance : float or "auto", default="auto"
        Start in squared units of the target; 1 and 1/2 of its variance by default, or of its
        mean square where `normalize` is False.
    normalize : bool, default=True
        Whether the target is centred. False keeps the prior mean at zero.
    encoder : "auto", TableEncoder or None, default="auto"
        What makes numbers of a data frame's columns: by default a `TableEncoder`, where they are not all numbers, or
        some are missing. One with settings of its own is used for all rows, and None for none.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed.
    verbose : int, default=0
        1 prints about ten lines, 2 a hundred.

    Attributes
    ----------
    inducing_inputs_ : array of shape (k, d)
        Inducing inputs, in the units of the inputs.
    partition_ : BisectingTree or NearestRow
        The blocks, in standardised inputs.
    block_labels_ : array of shape (p,) or None
        The labels passed to `fit` as `blocks`.
    lengthscale_ : array of shape (d,)
        Lengthscales in the units of the inputs.
    signal_variance_, noise_variance_ : float
        Variances of latent function and noise, in squared units of the target.
    bound_ : float
        Log p(y) of the training rows under the model, in nats.
    bound_trace_ : array of shape (n_steps,)
        Estimates of a lower bound of `bound_` from the steps' blocks, in nats per row.
    n_rows_ : int
        Training rows.
    n_iter_ : int
        Steps taken.
    encoder_ : TableEncoder or None
        Encoder of the rows, None where they are numbers as they are. Attributes of the inputs, d of them, are then of
        its features (``encoder_.get_feature_names_out()``).
    n_features_in_, feature_names_in_
        Number and names of the columns of the table.

    Examples
    --------
    >>> import numpy as np
    >>> from ssgp import PICRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, size=(500, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=500)
    >>> model = PICRegressor(10, n_blocks=4, max_iter=300, random_state=0).fit(X, y)
    >>> mean, std = model.predict([[1.0]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.0)) < 0.1), bool(0.08 < std[0] < 0.13)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list | str]] = {
        **FeatureRegressor._parameter_constraints,
        "n_inducing": [Interval(Integral, 1, None, closed="left")],
        "n_blocks": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
    }

    # What scikit-learn may pass on to `predict`, which its signature does not show.
    __metadata_request__predict: ClassVar[dict[str, None]] = {"latent": None, "blocks": None}

    partition_: BisectingTree | NearestRow
    block_labels_: NDArray[Any] | None
    _rows: Rows

    def __init__(
        self,
        n_inducing: int = 250,
        *,
        n_blocks: int | Literal["auto"] = "auto",
        max_iter: int = 1000,
        learning_rate: float = 0.02,
        lengthscale: float | ArrayLike | Literal["auto"] = "auto",
        signal_variance: float | Literal["auto"] = "auto",
        noise_variance: float | Literal["auto"] = "auto",
        normalize: bool = True,
        encoder: Encoder = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_inducing = n_inducing
        self.n_blocks = n_blocks
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.lengthscale = lengthscale
        self.signal_variance = signal_variance
        self.noise_variance = noise_variance
        self.normalize = normalize
        self.encoder = encoder
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    @interruptible
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        blocks: ArrayLike | None = None,
        monitor: Monitor | None = None,
    ) -> Self:
        """Learn the inducing inputs and the posterior of their values.

        Ctrl-C ends learning after the last completed step and leaves a usable model.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs: an array of numbers, or a pandas, polars or Arrow table of any columns (docs/tables.md).
        y : array-like of shape (n,)
            Targets.
        sample_weight : array-like of shape (n,), optional
            How many rows each row counts for: see "Weights" in docs/mathematics.md.
        blocks : array-like of shape (n,), optional
            Labels of the rows' blocks; `n_blocks` then has no effect. The covariance of a block's rows is factorised
            in every step: blocks of more than some thousand rows are slow.
        monitor : callable, optional
            ``monitor(n_iter, snapshot)`` is called after each step. ``snapshot()`` returns the regressor as if learning
            had stopped there (one pass over the rows). Return True to stop.

        Returns
        -------
        self : PICRegressor
            Fitted.
        """
        return self._fit(X, y, sample_weight, blocks, monitor)

    def predict_distribution(
        self, X: ArrayLike, *, latent: bool = False, blocks: ArrayLike | None = None
    ) -> NormalDistribution | FilledDistribution:
        """Predictive distributions of observations.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.
        latent : bool, default=False
            Whether to predict the function without its noise.
        blocks : array-like of shape (n,), optional
            Labels of the rows' blocks, for a model fitted with `blocks`. By default a row goes to the nearest block
            (for such a model, to the block of the nearest training row).

        Returns
        -------
        NormalDistribution, or FilledDistribution where rows have values that fit never saw
            One distribution per row, in the target's units.
        """
        rows = self._checked(X)
        return self._distribution(rows, latent, self._given(blocks, rows.X))

    def _means(self, X: ArrayLike, *, latent: bool = False, blocks: ArrayLike | None = None) -> Array:
        rows = self._checked(X)
        given = self._given(blocks, rows.X)
        return rows.means(
            lambda part, numbers: self._moments(part, None if given is None else given[numbers], with_variance=False)[0]
        )

    def _stored_attributes(self) -> dict[str, Any]:
        """Attributes as files hold them: labels where there are some."""
        attributes = super()._stored_attributes()
        return {name: part for name, part in attributes.items() if name != "block_labels_" or part is not None}

    def _restore_attributes(self, attributes: dict[str, Any]) -> None:
        """Take over what `_stored_attributes` gave."""
        super()._restore_attributes({"block_labels_": None, **attributes})

    def _given(self, blocks: ArrayLike | None, X: Array) -> Indices | None:
        """Indices of the blocks (n,) that a user names for rows X, None where none are named."""
        return None if blocks is None else indices_of_labels(blocks, self.block_labels_, X)

    def _blocks(self, rows: Rows, model: Model) -> tuple[BisectingTree | NearestRow, Rows]:
        """Blocks of the user, or of equal size and local in the metric of the model, and the rows sorted by them."""
        metric = np.exp(-model.features.log_lengthscale).astype(np.float32)
        if isinstance(rows, LabelledRows):
            return NearestRow.fit(rows.X, rows.indices, metric), rows.sort_by(rows.indices, len(rows.names))
        n_rows = len(rows.y)
        n_blocks = max(1, round(n_rows / ROWS_PER_BLOCK)) if isinstance(self.n_blocks, str) else self.n_blocks
        if n_blocks > n_rows:
            raise ValueError(f"n_blocks={n_blocks} must be at most the number of rows, found {n_rows} rows")
        tree, indices = grow_tree(rows.X, n_blocks, np.random.default_rng(0), metric)
        return tree, rows.sort_by(indices, n_blocks)

    def _optimize(self, rows: Rows, model: Model, rng: np.random.Generator, after_step: AfterStep) -> None:
        """Learn from one block at a time; half-way the blocks are cut again, in the metric learned so far."""
        warn_of_copies(rows.weight)
        _, blocks = self._blocks(rows, model)
        trainer = NaturalGradientTrainer(blocks, model, BlockLikelihood, self.learning_rate, rng)

        def cut_blocks(step: int) -> None:
            if step == self.max_iter // 2:
                trainer.rows = self._blocks(rows, trainer.model)[1]

        self._take_steps(trainer, after_step, cut_blocks)

    def _condition(self, rows: Rows, model: Model) -> dict[str, Any]:
        partition, blocks = self._blocks(rows, model)
        names = rows.names if isinstance(rows, LabelledRows) else None
        weights, bound = WeightPosterior.best(sum_blocks(blocks, model, BlockLikelihood, self.n_jobs))
        return {"_weights": weights, "_bound": bound, "partition_": partition, "block_labels_": names, "_rows": blocks}

    @property
    def _rows_per_chunk(self) -> int:
        """Rows that are predicted together."""
        return ROWS_PER_CHUNK

    def _latent(self, X: Array, with_variance: bool) -> tuple[Array, Array | None]:
        return self._latent_in_blocks(X, self.partition_.assign(X), with_variance)

    def _latent_in_blocks(self, X: Array, blocks: Indices, with_variance: bool) -> tuple[Array, Array | None]:
        order = np.argsort(blocks, kind="stable")
        bounds = np.searchsorted(blocks[order], np.arange(self.partition_.n_blocks + 1))
        mean, variance = np.empty(len(X)), np.empty(len(X)) if with_variance else None

        def predict(block: int) -> None:
            rows = order[bounds[block] : bounds[block + 1]]
            mean[rows], block_variance = self._predict_in_block(X[rows].astype(float), block, with_variance)
            if variance is not None:
                variance[rows] = block_variance

        with one_blas_thread():
            map_in_threads(predict, np.unique(blocks), self.n_jobs)
        return mean, variance

    def _predict_in_block(self, X: Array, block: int, with_variance: bool) -> tuple[Array, Array | None]:
        """Mean and variance of the latent function, shapes (n,), at rows X (n, d) of a block."""
        solved = solve_block(self._model, self._rows.block(block))
        parts = [
            self._predict_given(solved, X[i : i + ROWS_PER_TASK], with_variance)
            for i in range(0, len(X), ROWS_PER_TASK)
        ]
        means, variances = zip(*parts, strict=True)
        return np.concatenate(means), np.concatenate(variances) if with_variance else None

    def _predict_given(self, solved: SolvedBlock, X: Array, with_variance: bool) -> tuple[Array, Array | None]:
        """Mean and variance at rows X (n, d), from the inducing values and from the rows of their block."""
        inducing = inducing_features(self._model)
        psi = inducing(X)
        residual = inducing.kernel(X, solved.X) - psi @ solved.psi.T
        gain = solved.factor.solve_transposed(solved.factor.solve(residual))
        effective = psi - gain @ solved.psi
        mean = effective @ self._weights.mean + gain @ solved.y
        if not with_variance:
            return mean, None
        unexplained = inducing.residual(psi) - np.einsum("nk,nk->n", gain, residual)
        spread = np.einsum("nk,nk->n", effective @ self._weights.covariance, effective)
        return mean, np.maximum(unexplained, 0.0) + spread


def _n_inputs(partition: BisectingTree | NearestRow) -> int:
    return partition.directions.shape[1] if isinstance(partition, BisectingTree) else len(partition.metric)
