"""DTC+: stochastic variational inference with inducing inputs (Hensman et al. 2013)."""

from numbers import Integral, Real
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval

from ssgp.baselines.feature_maps import InducingMap
from ssgp.baselines.feature_regressor import FeatureRegressor, stored_with_features
from ssgp.baselines.inducing_regressor import InducingRegressor
from ssgp.distributions.table_regressor import Encoder

__all__ = ["DTCRegressor"]


@stored_with_features(InducingMap)
class DTCRegressor(InducingRegressor):
    """Gaussian process regression with inducing inputs, by stochastic variational inference (DTC+, also known as SVGP).

    The latent function's values at ``n_inducing`` inputs have a Gaussian posterior, learned by natural gradients from
    batches of rows; these inputs, lengthscales and variances follow the gradient of the bound, in closed form.
    Predictions use the best posterior of all rows, from one last pass.

    Parameters
    ----------
    n_inducing : int, default=250
        Number of inducing inputs; they start at centres of k-means.
    batch_size : int or None, default=1000
        Rows of a stochastic step. None uses all rows in every step, with L-BFGS.
    max_iter : int, default=2000
        Upper limit of the steps.
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
    inducing_inputs_ : array of shape (k, d)
        Inducing inputs, in the units of the inputs.
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
    >>> from ssgp import DTCRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, size=(500, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=500)
    >>> model = DTCRegressor(20, max_iter=300, random_state=0).fit(X, y)
    >>> mean, std = model.predict([[1.0]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.0)) < 0.1), bool(0.08 < std[0] < 0.13)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list | str]] = {
        **FeatureRegressor._parameter_constraints,
        "n_inducing": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_inducing: int = 250,
        *,
        batch_size: int | None = 1000,
        max_iter: int = 2000,
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
        self.n_inducing = n_inducing
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
