"""The base of SSGP, VSSGP, DTC and PIC: a linear model of learned features."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
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
from ssgp._utils.budget import Budget, interruptible
from ssgp._utils.checks import N_JOBS, columns_unchanged_on_error
from ssgp._utils.progress import CallbackSupportMixin, Monitor, StepHooks
from ssgp._utils.warning import warn_user
from ssgp.baselines.gaussian_regressor import KERNEL_AND_UNITS, GaussianRegressor
from ssgp.baselines.lbfgs import maximize_bound
from ssgp.baselines.linear_bound import WeightPosterior
from ssgp.baselines.model import LEAST_LOG_NOISE, Model, RowLikelihood, sum_blocks
from ssgp.baselines.natural_gradient import NaturalGradientTrainer
from ssgp.distributions.table_regressor import TableRegressor, stored_regressor
from ssgp.engine.threads import one_blas_thread
from ssgp.rows.blocks import LabelledRows, Rows, even_bounds
from ssgp.rows.standardizer import LEAST_NOISE, Standardizer
from ssgp.saving.contents import Rule, array, integer, made_of
from ssgp.spectrum.parameters import Hyperparameters, initial_hyperparameters

__all__ = ["FeatureRegressor", "Learned", "stored_with_features"]

AfterStep = Callable[[Model, float], bool]

# Rows whose features are in memory together, per thread.
ROWS_PER_CHUNK = 8192
# Share of the stochastic steps over which their size falls to zero.
WIND_DOWN = 0.4


class Learned:
    """The model of the last completed step, and the bounds per row after each step."""

    def __init__(self, model: Model) -> None:
        self.model, self.bounds = model, list[float]()

    def __call__(self, model: Model, bound: float) -> None:
        """Record a step."""
        self.model = model
        self.bounds.append(bound)


class FeatureRegressor(CallbackSupportMixin, GaussianRegressor):
    """A regressor whose latent function is linear in learned features, with Gaussian weights.

    Subclasses implement `_start`, and override `_choose_start` to search for a better one, and `_optimize` and
    `_condition` to learn and predict otherwise than from independent rows.
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
        **TableRegressor._parameter_constraints,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "lengthscale": "no_validation",
        "signal_variance": "no_validation",
        "noise_variance": "no_validation",
        "normalize": ["boolean"],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    @abstractmethod
    def _start(self, rows: Rows, start: Hyperparameters, rng: np.random.Generator) -> Model:
        """Initial model, of the initial hyperparameters."""

    def _choose_start(
        self, rows: Rows, learned: Learned, rng: np.random.Generator, asked_to_stop: Callable[[], bool]
    ) -> bool:
        """Move `learned` to a better start, if that is worth a search; return whether learning is to stop."""
        return False

    def _optimize(self, rows: Rows, model: Model, rng: np.random.Generator, after_step: AfterStep) -> None:
        """Learn from all rows at once, or from batches of them."""
        if self.batch_size is None:
            chunks, tol = _chunks(rows), self.tol
            n_failed = maximize_bound(chunks, model, RowLikelihood, self.max_iter, tol, self.n_jobs, after_step)
            if n_failed:
                warn_user(
                    f"{n_failed} of the models on the way cannot be evaluated, and were turned back from: learning may "
                    "have ended early; try other starting values",
                    ConvergenceWarning,
                )
            return
        batches = _chunks(rows, self.batch_size)
        self._take_steps(NaturalGradientTrainer(batches, model, RowLikelihood, self.learning_rate, rng), after_step)

    def _take_steps(
        self, trainer: NaturalGradientTrainer, after_step: AfterStep, before_step: Callable[[int], None] | None = None
    ) -> None:
        """Take stochastic steps, whose size falls to zero at the end."""
        for step in range(self.max_iter):
            if before_step is not None:
                before_step(step)
            bound = trainer.step(min(1.0, (self.max_iter - step) / (WIND_DOWN * self.max_iter)))
            if after_step(trainer.model, bound):
                break
        if trainer.n_failed:
            warn_user(
                f"{trainer.n_failed} of at most {self.max_iter} steps led to models that cannot be evaluated, and were "
                "taken back: try a smaller learning_rate",
                ConvergenceWarning,
            )

    def _condition(self, rows: Rows, model: Model) -> dict[str, Any]:
        """Attributes that predictions need, and the bound, from one pass over all rows."""
        weights, bound = WeightPosterior.best(sum_blocks(_chunks(rows), model, RowLikelihood, self.n_jobs))
        return {"_weights": weights, "_bound": bound - model.features.divergence()[0]}

    @_fit_context(prefer_skip_nested_validation=True)
    @interruptible
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, monitor: Monitor | None = None
    ) -> Self:
        """Learn the features and the weights.

        Ctrl-C ends learning after the last completed step and leaves a usable model.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs: an array of numbers, or a pandas, polars or Arrow table of any columns (docs/tables.md).
        y : array-like of shape (n,)
            Targets.
        sample_weight : array-like of shape (n,), optional
            How many rows each row counts for: see "Weights" in docs/mathematics.md.
        monitor : callable, optional
            ``monitor(n_iter, snapshot)`` is called after each step, and with ``n_iter=0`` while a start is searched
            for. ``snapshot()`` returns the regressor as if learning had stopped there (one pass over the rows).
            Return True to stop.

        Returns
        -------
        self
            Fitted.
        """
        return self._fit(X, y, sample_weight, None, monitor)

    def _fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        blocks: ArrayLike | None,
        monitor: Monitor | None,
    ) -> Self:
        """Fit to rows that may be in blocks of the user."""
        # Other sums, of several BLAS threads, would lead to another optimum.
        with columns_unchanged_on_error(self), one_blas_thread():
            X, y, weight, labels = self._training_rows(X, y, sample_weight, blocks)
            units = Standardizer.fit(X, y, weight, self.normalize)
            seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
            order_rng, start_rng, step_rng = np.random.default_rng(seed).spawn(3)
            order = order_rng.permutation(len(y))
            rows = units.rows(X, y, weight, order, np.array([0, len(y)]))
            if labels is not None:
                rows = LabelledRows.of(rows, labels[order])
            learned = Learned(self._initial_model(rows, units, start_rng))

            def attributes() -> dict[str, Any]:
                return self._attributes(rows, units, learned)

            hooks = StepHooks(self, self.max_iter, attributes, monitor, self.verbose)
            self._learn(rows, units, learned, step_rng, hooks)
            fitted = attributes()
            vars(self).update(fitted)
            hooks.close(fitted)
        return self

    def _initial_model(self, rows: Rows, units: Standardizer, rng: np.random.Generator) -> Model:
        """Initial model, with the lower limit of the noise in these units."""
        start = initial_hyperparameters(self.lengthscale, self.signal_variance, self.noise_variance, units)
        least_log_noise = max(LEAST_LOG_NOISE + log(units.y_variance), log(LEAST_NOISE))
        return replace(self._start(rows, start, rng), least_log_noise=least_log_noise)

    def _learn(
        self, rows: Rows, units: Standardizer, learned: Learned, rng: np.random.Generator, hooks: StepHooks
    ) -> None:
        """Learn until steps, tolerance, a monitor or Ctrl-C end it; `learned` has the result."""

        def after_step(model: Model, bound: float) -> bool:
            learned(model, bound)
            return hooks.after_step(len(learned.bounds), bound - np.log(units.y_scale))

        def learn() -> None:
            if not self._choose_start(rows, learned, rng, hooks.asked_to_stop):
                self._optimize(rows, learned.model, rng, after_step)

        def message() -> str:
            return (
                f"learning was interrupted after {len(learned.bounds)} of at most {self.max_iter} steps; "
                "the model of the last completed step is returned"
            )

        Budget().attempt(learn, lambda: None, message)

    def _attributes(self, rows: Rows, units: Standardizer, learned: Learned) -> dict[str, Any]:
        """Fitted attributes of the model so far."""
        model, features = learned.model, learned.model.features
        conditioned = self._condition(rows, model)
        return {
            "lengthscale_": np.exp(features.log_lengthscale) * units.x_scale,
            "signal_variance_": float(np.exp(features.log_signal)) * units.y_scale**2,
            "noise_variance_": model.noise * units.y_scale**2,
            "n_rows_": len(rows.y),
            "n_iter_": len(learned.bounds),
            "bound_": conditioned.pop("_bound") - rows.total * float(np.log(units.y_scale)),
            "bound_trace_": units.in_target_units(learned.bounds),
            "_units": units,
            "_model": model,
            **conditioned,
        }

    def _latent(self, X: Array, with_variance: bool) -> tuple[Array, Array | None]:
        with one_blas_thread():
            moments = self._model.features.moments(X)
            if not with_variance:
                return moments.mean @ self._weights.mean, None
            return self._weights.predict(moments)


def _chunks(rows: Rows, size: int = ROWS_PER_CHUNK) -> Rows:
    """The same rows in blocks of about equal size."""
    return Rows(rows.X, rows.y, rows.weight, even_bounds(len(rows.y), size))


def stored_with_features(
    map_class: type, optional_parts: dict[str, Rule] | None = None, **more: Rule
) -> Callable[[type], type]:
    """Decorator of a regressor of such features that files may hold, with more fitted attributes of its own."""

    def check(parts: Any) -> Iterator[tuple[bool, str]]:  # noqa: ANN401
        features = parts._model.features
        yield isinstance(features, map_class), f"the features must be those of a {map_class.__name__}"
        yield len(parts._weights.mean) == features.n_features, "there must be a weight for each feature"

    fitted = {
        "n_iter_": integer(),
        "bound_trace_": array("float64", "steps", finite=False),
        "_model": made_of(Model, d=lambda model: len(model.features.log_lengthscale)),
        "_weights": made_of(WeightPosterior),
    }
    return stored_regressor({**KERNEL_AND_UNITS, **fitted, **more}, optional_parts=optional_parts, relations=check)
