"""The exact Gaussian process of scikit-learn, for small tables, with the methods of this library."""

import warnings
from numbers import Integral
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from ssgp._utils.arrays import Array
from ssgp._utils.checks import columns_unchanged_on_error
from ssgp._utils.weights import warn_of_copies
from ssgp.baselines.gaussian_regressor import KERNEL_AND_UNITS, GaussianRegressor
from ssgp.distributions.table_regressor import Encoder, TableRegressor, stored_regressor
from ssgp.rows.standardizer import Standardizer
from ssgp.saving.contents import made_of
from ssgp.spectrum.noise import LOG_TWO_PI

__all__ = ["ExactGPRegressor"]


# Its annotations, inferred from defaults, are narrower than the arguments it accepts.
_Process: Any = GaussianProcessRegressor

# Covariances of new rows with training rows that are in memory together.
COVARIANCES_PER_CHUNK = 1 << 24
# Noise variance, relative to the target's mean square, down to which covariances can be factorised.
LEAST_NOISE = 1e-10
# Scikit-learn's name of its own optimiser.
LBFGS = "fmin_l_bfgs_b"


class _WeightedNoise(WhiteKernel):
    """Noise of rows of which each counts for several: N(y | f, noise)^w.

    That is N(y | f, noise / w), the covariance here, times (2 pi noise)^-(w - 1)/2 w^-1/2, which `minimize` adds.

    Parameters
    ----------
    noise_level, noise_level_bounds : float and pair of float
        As those of `WhiteKernel`.
    weight : array of shape (n,)
        Weights of the training rows.
    """

    def __init__(self, noise_level: float, noise_level_bounds: tuple[float, float], weight: Array) -> None:
        super().__init__(noise_level, noise_level_bounds)
        self.weight = weight

    def __call__(self, X: Array, Y: Array | None = None, eval_gradient: bool = False) -> Any:  # noqa: ANN401
        K = np.diag(self.noise_level / self.weight)
        return (K, K[:, :, None]) if eval_gradient else K

    def minimize(self, loss: Any, start: Array, bounds: Array) -> tuple[Array, float]:  # noqa: ANN401
        """Parameters, the log noise last, at which minus the log likelihood is lowest, and its value there."""
        excess, lowest = float(np.sum(self.weight - 1.0)), bounds[-1, 0]

        def weighted_loss(theta: Array) -> tuple[float, Array]:
            value, gradient = loss(theta)
            # Relative to the least noise: beside a constant of a billion rows, what the others say would be lost.
            return value + 0.5 * excess * (theta[-1] - lowest), gradient + 0.5 * excess * np.eye(len(theta))[-1]

        best = minimize(weighted_loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
        return best.x, float(best.fun)


@stored_regressor(
    {**KERNEL_AND_UNITS, "_process": made_of(GaussianProcessRegressor, d=lambda process: process.n_features_in_)}
)
class ExactGPRegressor(GaussianRegressor):
    """Exact Gaussian process regression with a squared exponential kernel and one lengthscale per input.

    Time grows with the cube of the number of rows and memory with its square: the reference for a few thousand.
    Factorisations use all threads of the linear algebra library, and another number of them may round otherwise.

    Parameters
    ----------
    n_restarts : int, default=1
        Number of starting points of the hyperparameters' optimisation; all but the first are random.
    max_rows : int, default=10000
        More rows are refused: each of about a hundred steps would factorise a matrix of that side.
    learn_rows : int, default=2000
        Largest number of rows that hyperparameters are learned from; predictions use all.
    normalize : bool, default=True
        Whether the target is centred. False keeps the prior mean at zero.
    encoder : "auto", TableEncoder or None, default="auto"
        What makes numbers of a data frame's columns: by default a `TableEncoder`, where they are not all numbers, or
        some are missing. One with settings of its own is used for all rows, and None for none.
    random_state : int, RandomState or None, default=None
        Seed.

    Attributes
    ----------
    lengthscale_ : array of shape (d,)
        Lengthscales in the units of the inputs.
    signal_variance_, noise_variance_ : float
        Variances of latent function and noise, in squared units of the target.
    n_rows_ : int
        Training rows.
    bound_ : float
        Log marginal likelihood of the training rows, in nats.
    encoder_ : TableEncoder or None
        Encoder of the rows, None where they are numbers as they are. Attributes of the inputs, d of them, are then of
        its features (``encoder_.get_feature_names_out()``).
    n_features_in_, feature_names_in_
        Number and names of the columns of the table.

    Examples
    --------
    >>> import numpy as np
    >>> from ssgp import ExactGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, size=(500, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=500)
    >>> model = ExactGPRegressor(random_state=0).fit(X, y)
    >>> mean, std = model.predict([[1.0]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.0)) < 0.1), bool(0.08 < std[0] < 0.13)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list | str]] = {
        **TableRegressor._parameter_constraints,
        "n_restarts": [Interval(Integral, 1, None, closed="left")],
        "max_rows": [Interval(Integral, 1, None, closed="left")],
        "learn_rows": [Interval(Integral, 1, None, closed="left")],
        "normalize": ["boolean"],
        "random_state": ["random_state"],
    }

    bound_: float
    _process: Any

    def __init__(
        self,
        *,
        n_restarts: int = 1,
        max_rows: int = 10_000,
        learn_rows: int = 2000,
        normalize: bool = True,
        encoder: Encoder = "auto",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_restarts = n_restarts
        self.max_rows = max_rows
        self.learn_rows = learn_rows
        self.normalize = normalize
        self.encoder = encoder
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the hyperparameters and condition on the rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs: an array of numbers, or a pandas, polars or Arrow table of any columns (docs/tables.md).
        y : array-like of shape (n,)
            Targets.
        sample_weight : array-like of shape (n,), optional
            How many rows each row counts for: see "Weights" in docs/mathematics.md.

        Returns
        -------
        self : ExactGPRegressor
            Fitted.
        """
        with columns_unchanged_on_error(self):
            X, y, weight, _ = self._training_rows(X, y, sample_weight)
            if len(y) > self.max_rows:
                raise ValueError(
                    f"an exact Gaussian process of {len(y):,} rows needs a matrix of that side, and max_rows is "
                    f"{self.max_rows:,}: raise it, or use SpectralForestRegressor"
                )
            units = Standardizer.fit(X, y, weight, self.normalize)
            rng = check_random_state(self.random_state)
            order = rng.permutation(len(y))
            rows = units.rows(X, y, weight, order, np.array([0, len(y)]))
            inputs, target = rows.X.astype(float), rows.y.astype(float)
            weight = None if rows.weight is None else rows.weight.astype(float)
            warn_of_copies(weight)
            signal, lengths, noise = self._learn(inputs, target, weight, units, rng)
            kernel: Any = ConstantKernel(signal) * RBF(cast(Any, lengths))
            noises, weight_terms = np.full(len(y), noise), 0.0
            if weight is not None:
                noises = np.maximum(noise / weight, LEAST_NOISE * max(signal, units.y_variance))
                weight_terms = float(np.sum((weight - 1.0) * (LOG_TWO_PI + np.log(noise)) + np.log(weight)))
            process = _Process(kernel, alpha=noises, optimizer=None).fit(inputs, target)
            vars(self).update(
                lengthscale_=lengths * units.x_scale,
                signal_variance_=signal * units.y_scale**2,
                noise_variance_=noise * units.y_scale**2,
                n_rows_=len(y),
                bound_=float(process.log_marginal_likelihood_value_ - 0.5 * weight_terms)
                - rows.total * float(np.log(units.y_scale)),
                _process=process,
                _units=units,
            )
        return self

    def _learn(
        self, X: Array, y: Array, weight: Array | None, units: Standardizer, rng: np.random.RandomState
    ) -> tuple[float, Array, float]:
        """Signal variance, lengthscales (d,) and noise variance at which the first rows are most probable."""
        X, y = X[: self.learn_rows], y[: self.learn_rows]
        start: Any = np.full(X.shape[1], 0.5 * np.sqrt(X.shape[1]))
        # The start of the noise is low enough to see a signal beside a target that is far from zero.
        noise, optimizer = WhiteKernel(0.1 * units.y_variance, (units.least_noise(1e-6, LEAST_NOISE), 1e1)), LBFGS
        if weight is not None:
            noise = _WeightedNoise(noise.noise_level, noise.noise_level_bounds, weight[: self.learn_rows])
            optimizer = noise.minimize
        kernel = ConstantKernel(1.0, (1e-3, 1e3)) * RBF(start, (1e-2, 1e3)) + noise
        seed = rng.randint(2**31 - 1)
        with warnings.catch_warnings():
            # A lengthscale at its upper bound is an input that does not matter, noise at its lower one a clean table.
            warnings.filterwarnings("ignore", "The optimal value found for dimension", ConvergenceWarning)
            learned = _Process(
                kernel,
                alpha=1e-10 * units.y_variance,
                optimizer=optimizer,
                n_restarts_optimizer=self.n_restarts - 1,
                random_state=seed,
            ).fit(X, y)
        parameters = learned.kernel_.get_params()
        lengths = np.atleast_1d(np.asarray(parameters["k1__k2__length_scale"], dtype=float))
        return float(parameters["k1__k1__constant_value"]), lengths, float(parameters["k2__noise_level"])

    @property
    def _rows_per_chunk(self) -> int:
        """Rows that are predicted together."""
        return max(1, COVARIANCES_PER_CHUNK // self.n_rows_)

    def _latent(self, X: Array, with_variance: bool) -> tuple[Array, Array | None]:
        if not with_variance:
            return self._process.predict(X.astype(float)), None
        mean, deviation = self._process.predict(X.astype(float), return_std=True)
        return mean, deviation**2
