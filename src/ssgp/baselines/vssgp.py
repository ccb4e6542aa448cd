"""VSSGP: sparse spectrum regression with a factorised posterior of frequencies and phases (Gal and Turner 2015)."""

from numbers import Integral, Real
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval

from ssgp.baselines.feature_maps import VariationalMap
from ssgp.baselines.feature_regressor import FeatureRegressor, stored_with_features
from ssgp.baselines.model import Model
from ssgp.distributions.table_regressor import Encoder
from ssgp.rows.blocks import Rows
from ssgp.spectrum.parameters import Hyperparameters

__all__ = ["VSSGPRegressor"]


# Initial deviation of the frequencies, in deviations of the prior: with more, features fade before they reach the rows.
START_DEVIATION = 0.1


@stored_with_features(VariationalMap)
class VSSGPRegressor(FeatureRegressor):
    """Variational sparse spectrum Gaussian process regression.

    The latent function is a sum of ``K`` cosines. Every frequency has a Gaussian posterior with one deviation per
    input, every phase a uniform one; they are independent, so that means and variances of the features, the bound, its
    gradient and the predictions are all closed form. The weights' posterior is the best Gaussian.

    Parameters
    ----------
    n_frequencies : int, default=50
        Number K of frequencies.
    batch_size : int or None, default=None
        Rows of a stochastic step: natural gradients for the weights, Adam for everything else. None uses all rows
        in every step, with L-BFGS.
    max_iter : int, default=200
        Upper limit of the steps. Stochastic ones are many times as cheap: allow thousands.
    tol : float, default=1e-7
        Without batches, learning ends when a step changes the bound by less than this share.
    learning_rate : float, default=0.02
        Step size of Adam, with batches.
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
    lengthscale_ : array of shape (d,)
        Lengthscales in the units of the inputs.
    signal_variance_, noise_variance_ : float
        Variances of latent function and noise, in squared units of the target.
    bound_ : float
        Lower bound of log p(y), in nats.
    bound_trace_ : array of shape (n_steps,)
        The bound after each step, or estimates of it from the steps' batches, in nats per row.
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
    >>> from ssgp import VSSGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, size=(500, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=500)
    >>> model = VSSGPRegressor(20, max_iter=60, random_state=0).fit(X, y)
    >>> mean, std = model.predict([[1.0]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.0)) < 0.1), bool(0.08 < std[0] < 0.13)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list | str]] = {
        **FeatureRegressor._parameter_constraints,
        "n_frequencies": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_frequencies: int = 50,
        *,
        batch_size: int | None = None,
        max_iter: int = 200,
        tol: float = 1e-7,
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
        self.n_frequencies = n_frequencies
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate
        self.lengthscale = lengthscale
        self.signal_variance = signal_variance
        self.noise_variance = noise_variance
        self.normalize = normalize
        self.encoder = encoder
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _start(self, rows: Rows, start: Hyperparameters, rng: np.random.Generator) -> Model:
        """Frequencies and phases drawn from the prior, the origins of the features at random rows."""
        shape = (self.n_frequencies, rows.X.shape[1])
        features = VariationalMap(
            mean=rng.normal(size=shape),
            log_deviation=np.full(shape, np.log(START_DEVIATION)),
            origin=rows.X[rng.integers(len(rows.y), size=self.n_frequencies)].astype(float),
            phase=rng.uniform(0.0, 2.0 * np.pi, self.n_frequencies),
            width_logit=np.full(self.n_frequencies, -2.0),
            log_lengthscale=np.log(start.lengthscale),
            log_signal=float(np.log(start.signal_variance)),
        )
        return Model(features, float(np.log(start.noise_variance)))
