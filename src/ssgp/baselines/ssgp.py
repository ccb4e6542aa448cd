"""SSGP: sparse spectrum regression with a point estimate of its frequencies (Lazaro-Gredilla et al. 2010)."""

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import ClassVar, Literal, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval

from ssgp._utils.arrays import Array
from ssgp.baselines.feature_maps import SpectralMap
from ssgp.baselines.feature_regressor import FeatureRegressor, Learned, stored_with_features
from ssgp.baselines.lbfgs import maximize_bound
from ssgp.baselines.model import Model, RowLikelihood
from ssgp.distributions.table_regressor import Encoder
from ssgp.rows.blocks import Rows
from ssgp.spectrum.parameters import Hyperparameters

__all__ = ["SSGPRegressor"]


# Steps and rows of the short runs that choose where to start.
SHORT_RUN_STEPS = 15
SHORT_RUN_ROWS = 20_000


@stored_with_features(SpectralMap)
class SSGPRegressor(FeatureRegressor):
    """Sparse spectrum Gaussian process regression, by maximum marginal likelihood.

    The latent function is a sum of cosines and sines of ``m`` frequencies with Gaussian weights. Frequencies,
    lengthscales and variances maximise the marginal likelihood of all rows (L-BFGS, closed-form gradients; two passes
    over the rows per step, in chunks, so that memory stays bounded). With many frequencies and few rows a point
    estimate of the frequencies overfits: `SVBSSGPRegressor` and `VSSGPRegressor` have a posterior instead.

    Parameters
    ----------
    n_frequencies : int, default=50
        Number m of spectral frequencies.
    learn_frequencies : bool, default=True
        Whether frequencies are learned. Otherwise they are a draw from the kernel's spectrum, scaled by lengthscales.
    n_restarts : int, default=4
        Number of draws of the frequencies; learning starts from the best after a short run of each.
    max_iter : int, default=200
        Upper limit of the steps.
    tol : float, default=1e-7
        Learning ends when a step changes the bound by less than this share.
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
    frequencies_ : array of shape (m, d)
        Frequencies in cycles per unit of the inputs.
    lengthscale_ : array of shape (d,)
        Lengthscales in the units of the inputs.
    signal_variance_, noise_variance_ : float
        Variances of latent function and noise, in squared units of the target.
    bound_ : float
        Log marginal likelihood of the training rows, in nats.
    bound_trace_ : array of shape (n_steps,)
        The log marginal likelihood after each step, in nats per row.
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
    >>> from ssgp import SSGPRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = SSGPRegressor(n_frequencies=10, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.0]])[0] - np.sin(1.0)) < 0.01)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list | str]] = {
        **FeatureRegressor._parameter_constraints,
        "n_frequencies": [Interval(Integral, 1, None, closed="left")],
        "learn_frequencies": ["boolean"],
        "n_restarts": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_frequencies: int = 50,
        *,
        learn_frequencies: bool = True,
        n_restarts: int = 4,
        max_iter: int = 200,
        tol: float = 1e-7,
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
        self.learn_frequencies = learn_frequencies
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.lengthscale = lengthscale
        self.signal_variance = signal_variance
        self.noise_variance = noise_variance
        self.normalize = normalize
        self.encoder = encoder
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def frequencies_(self) -> Array:
        """Frequencies in cycles per unit of the inputs, shape (m, d)."""
        features = self._model.features
        if not isinstance(features, SpectralMap):
            raise AttributeError("frequencies_ is there after fit")
        return features.frequencies / self._units.x_scale

    def _start(self, rows: Rows, start: Hyperparameters, rng: np.random.Generator) -> Model:
        """Frequencies drawn from the prior."""
        log_length, log_signal = np.log(start.lengthscale), float(np.log(start.signal_variance))
        whitened = rng.normal(size=(self.n_frequencies, rows.X.shape[1]))
        features = SpectralMap(whitened, log_length, log_signal, self.learn_frequencies)
        return Model(features, float(np.log(start.noise_variance)))

    def _choose_start(
        self, rows: Rows, learned: Learned, rng: np.random.Generator, asked_to_stop: Callable[[], bool]
    ) -> bool:
        """Move `learned` to the draw of the frequencies with the best short run; return whether learning is to stop."""
        model, runs, stopped = learned.model, list[_ShortRun](), False
        n_rows = min(len(rows.y), SHORT_RUN_ROWS)
        sample = rows.reorder(np.arange(n_rows), np.array([0, n_rows]))
        try:
            while len(runs) < self.n_restarts > 1 and not stopped:
                run = _ShortRun(_redraw_frequencies(model, rng) if runs else model, learned, asked_to_stop)
                runs.append(run)
                maximize_bound(sample, run.model, RowLikelihood, SHORT_RUN_STEPS, 0.0, self.n_jobs, run)
                stopped = run.stopped
        finally:
            learned.model = max(runs, key=lambda run: run.bound).model if runs else model
        return stopped


def _redraw_frequencies(model: Model, rng: np.random.Generator) -> Model:
    """The model with another draw of the frequencies."""
    features = cast(SpectralMap, model.features)
    return replace(model, features=replace(features, whitened=rng.normal(size=features.whitened.shape)))


class _ShortRun:
    """The model and bound of a short run, which ends early when learning is to stop."""

    def __init__(self, model: Model, learned: Learned, asked_to_stop: Callable[[], bool]) -> None:
        self.model, self.bound, self.stopped = model, -np.inf, False
        self._learned, self._asked_to_stop = learned, asked_to_stop

    def __call__(self, model: Model, bound: float) -> bool:
        self.model = self._learned.model = model
        self.bound, self.stopped = bound, self._asked_to_stop()
        return self.stopped
