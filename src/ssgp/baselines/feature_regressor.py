"""What SSGP, VSSGP and DTC have in common: a linear model on features that are learned."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from math import log
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from ssgp._utils.arrays import Array
from ssgp._utils.budget import Budget
from ssgp._utils.checks import check_rows, columns_unchanged_on_error
from ssgp._utils.progress import CallbackSupportMixin, Monitor, StepHooks
from ssgp._utils.warning import warn_user
from ssgp.baselines.gaussian_regressor import GaussianRegressor
from ssgp.baselines.lbfgs import climb
from ssgp.baselines.linear_bound import WeightPosterior
from ssgp.baselines.model import LEAST_LOG_NOISE, Model, RowLikelihood, sum_over
from ssgp.baselines.natural_gradient import StochasticAscent
from ssgp.engine.threads import one_blas_thread
from ssgp.rows.blocks import Rows, even_bounds
from ssgp.rows.standardizer import LEAST_NOISE, Standardizer
from ssgp.spectrum.parameters import Hyperparameters, initial_hyperparameters

__all__ = ["FeatureRegressor", "Learned"]

AfterStep = Callable[[Model, float], bool]

# Rows whose features are held at once, in each thread.
CHUNK = 8192
# Share of the stochastic steps over which their size falls to zero.
WIND_DOWN = 0.4


def _nothing(step: int) -> None:
    """Before a step."""


class Learned:
    """The model of the last whole step, and the bounds on the way: what is left when learning is cut short."""

    def __init__(self, model: Model) -> None:
        self.model, self.bounds = model, list[float]()

    def __call__(self, model: Model, bound: float) -> None:
        """Remember a step."""
        self.model = model
        self.bounds.append(bound)


class FeatureRegressor(CallbackSupportMixin, GaussianRegressor):
    """A regressor whose latent function is linear in learned features, with Gaussian weights.

    Subclasses give `_start`, perhaps `_look_around`, and `_ascend` where they learn neither from all rows at once nor
    from batches of them.
    """

    batch_size: int | None = None
    learning_rate: float
    max_iter: int
    tol: float
    lengthscale: float | ArrayLike | Literal["auto"]
    signal_variance: float | Literal["auto"]
    noise_variance: float | Literal["auto"]
    normalize: bool
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    verbose: int

    n_iter_: int
    bound_: float
    bound_trace_: Array
    _model: Model
    _weights: WeightPosterior

    _parameter_constraints: ClassVar[dict[str, list | str]] = {
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "lengthscale": "no_validation",
        "signal_variance": "no_validation",
        "noise_variance": "no_validation",
        "normalize": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    @abstractmethod
    def _start(self, rows: Rows, start: Hyperparameters, rng: np.random.Generator) -> Model:
        """Where learning begins."""

    def _look_around(
        self, rows: Rows, learned: Learned, rng: np.random.Generator, asked_to_stop: Callable[[], bool]
    ) -> bool:
        """Move `learned` to a better start, where a search for one is worth its time; whether learning is to stop."""
        return False

    def _ascend(self, rows: Rows, model: Model, rng: np.random.Generator, after_step: AfterStep) -> None:
        """Learn from all rows at once, or from batches of them."""
        if self.batch_size is None:
            n_failed = climb(_chunks(rows), model, RowLikelihood, self.max_iter, self.tol, self.n_jobs, after_step)
            if n_failed:
                warn_user(
                    f"{n_failed} of the models on the way cannot be evaluated, and were turned back from: learning may "
                    "have ended early; try other starting values",
                    ConvergenceWarning,
                )
            return
        batches = _chunks(rows, self.batch_size)
        self._take_steps(StochasticAscent(batches, model, RowLikelihood, self.learning_rate, rng), after_step)

    def _take_steps(
        self, ascent: StochasticAscent, after_step: AfterStep, before_step: Callable[[int], None] = _nothing
    ) -> None:
        """Take stochastic steps, winding down at the end."""
        with one_blas_thread():
            for step in range(self.max_iter):
                before_step(step)
                bound = ascent.step(min(1.0, (self.max_iter - step) / (WIND_DOWN * self.max_iter)))
                if after_step(ascent.model, bound):
                    break
        if ascent.n_failed:
            warn_user(
                f"{ascent.n_failed} of at most {self.max_iter} steps led to models that cannot be evaluated, and were "
                "taken back: try a smaller learning_rate",
                ConvergenceWarning,
            )

    def _condition(self, rows: Rows, model: Model) -> dict[str, Any]:
        """What predictions need, from one pass over all rows."""
        weights, bound = WeightPosterior.best(sum_over(_chunks(rows), model, RowLikelihood, self.n_jobs))
        return {"_weights": weights, "_bound": bound - model.features.divergence()[0]}

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, monitor: Monitor | None = None
    ) -> Self:
        """Learn the features and the weights.

        Ctrl-C ends learning after the last completed step and leaves a usable model.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs: an array, or a pandas, polars or Arrow table of numbers.
        y : array-like of shape (n,)
            Targets.
        sample_weight : array-like of shape (n,), optional
            How many rows each row counts for.
        monitor : callable, optional
            ``monitor(n_iter, snapshot)`` is called after each step, and with ``n_iter=0`` while a start is searched
            for. ``snapshot()`` returns the regressor as if learning had stopped there (one pass over the rows).
            Return True to stop.

        Returns
        -------
        self
            Fitted.
        """
        with columns_unchanged_on_error(self):
            X, y, weight, _ = check_rows(self, X, y, sample_weight, None, reset=True)
            units = Standardizer.fit(X, y, weight, self.normalize)
            seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
            order, begin, steps = np.random.default_rng(seed).spawn(3)
            rows = units.rows(X, y, weight, order.permutation(len(y)), np.array([0, len(y)]))
            start = initial_hyperparameters(self.lengthscale, self.signal_variance, self.noise_variance, units)
            lowest = max(LEAST_LOG_NOISE + log(units.y_variance), log(LEAST_NOISE))
            learned = Learned(replace(self._start(rows, start, begin), least_log_noise=lowest))
            hooks = StepHooks(
                self, self.max_iter, lambda: self._attributes(rows, units, learned), monitor, self.verbose
            )

            def after_step(model: Model, bound: float) -> bool:
                learned(model, bound)
                return hooks.after_step(len(learned.bounds), bound - np.log(units.y_scale))

            def learn() -> None:
                if not self._look_around(rows, learned, steps, hooks.asked_to_stop):
                    self._ascend(rows, learned.model, steps, after_step)

            Budget().attempt(
                learn,
                lambda: None,
                lambda: (
                    f"learning was interrupted after {len(learned.bounds)} of at most {self.max_iter} steps; "
                    "the model of the last completed step is returned"
                ),
            )
            fitted = self._attributes(rows, units, learned)
            vars(self).update(fitted)
            hooks.close(fitted)
        return self

    def _attributes(self, rows: Rows, units: Standardizer, learned: Learned) -> dict[str, Any]:
        """Fitted attributes as of the last step."""
        model, features = learned.model, learned.model.features
        found = self._condition(rows, model)
        return {
            "lengthscale_": np.exp(features.log_lengthscale) * units.x_scale,
            "signal_variance_": float(np.exp(features.log_signal)) * units.y_scale**2,
            "noise_variance_": model.noise * units.y_scale**2,
            "n_rows_": len(rows.y),
            "n_iter_": len(learned.bounds),
            "bound_": found.pop("_bound") - rows.total * float(np.log(units.y_scale)),
            "bound_trace_": units.in_target_units(learned.bounds),
            "_units": units,
            "_model": model,
            **found,
        }

    def _latent(self, X: Array, with_variance: bool) -> tuple[Array, Array | None]:
        moments = self._model.features.moments(X)
        if not with_variance:
            return moments.mean @ self._weights.mean, None
        return self._weights.predict(moments)


def _chunks(rows: Rows, size: int = CHUNK) -> Rows:
    """The same rows in runs of about equal size."""
    return Rows(rows.X, rows.y, rows.weight, even_bounds(len(rows.y), size))
