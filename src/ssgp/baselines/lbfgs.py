"""Two ways up the bound of a linear model with random features: all rows at once, or some at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.optimize import minimize

from ssgp.baselines.feature_maps import FeatureMap
from ssgp.baselines.linear_bound import Sums, WeightPosterior, feature_gradient
from ssgp.engine.threads import one_blas_thread
from ssgp.rows.blocks import Block, Rows
from ssgp.spectrum.optimizers import Adam

__all__ = ["CHUNK", "Likelihood", "Model", "RowLikelihood", "StochasticAscent", "climb", "collapsed_bound", "sum_over"]

Array = NDArray[np.floating]

# Rows whose features are held at once, in each thread.
CHUNK = 8192
# Blocks whose sums are held at once.
AT_ONCE = 32
# Noise variance of a standardised target stays within these; of one that is not centred it may fall further.
LEAST_LOG_NOISE, MOST_LOG_NOISE = -14.0, 3.0
# Whitened parameters, and logarithms of lengthscales and signal variance, have no business beyond these, if they did
# not start there.
BOX, LOG_BOX = 30.0, 8.0
# Smallest step of the natural gradient: q(w) is an average over some fifty blocks.
FORGETTING = 0.02


@dataclass(frozen=True)
class Model:
    """Features and noise: what is learned.

    Attributes
    ----------
    features : FeatureMap
        The features.
    log_noise : float
        Log noise variance.
    least_log_noise : float
        Where learning keeps it from falling further.
    """

    features: FeatureMap
    log_noise: float
    least_log_noise: float = LEAST_LOG_NOISE

    @property
    def noise(self) -> float:
        """Noise variance."""
        return float(np.exp(self.log_noise))

    def to_vector(self) -> Array:
        """Everything that is learned, flat."""
        return np.append(self.features.to_vector(), self.log_noise)

    def with_vector(self, vector: Array) -> "Model":
        """The model of these values."""
        return replace(self, features=self.features.with_vector(vector[:-1]), log_noise=float(vector[-1]))


class Likelihood(Protocol):
    """Of a block of rows under a model, as a function of the weights."""

    def __init__(self, model: Model, block: Block) -> None: ...

    def sums(self) -> Sums:
        """Natural statistics."""
        ...

    def gradient(self, posterior: WeightPosterior) -> tuple[float, Array]:
        """E_q log p(y | w), and its gradient with respect to the model's flat vector."""
        ...


class RowLikelihood:
    """Rows are independent given the weights."""

    def __init__(self, model: Model, block: Block) -> None:
        self.model, self.block, self.moments = model, block, model.features.moments(block.X)

    def sums(self) -> Sums:
        """Natural statistics of the block."""
        return Sums.of(self.moments, self.block, self.model.noise)

    def gradient(self, posterior: WeightPosterior) -> tuple[float, Array]:
        """Expected log likelihood of the block and its gradient."""
        value, by, by_noise = feature_gradient(self.moments, self.block, posterior, self.model.noise)
        return value, np.append(self.model.features.gradient(self.block.X, self.moments, by), by_noise)


def sum_over(rows: Rows, model: Model, likelihood: type[Likelihood], n_jobs: int | None) -> Sums:
    """Statistics of all blocks of rows; the same for any number of threads."""
    return _total(lambda block: likelihood(model, block).sums(), Sums.merge, rows, n_jobs)


def collapsed_bound(rows: Rows, model: Model, likelihood: type[Likelihood], n_jobs: int | None) -> tuple[float, Array]:
    """The bound under the best q(w), and its gradient with respect to the model's flat vector: two passes."""
    posterior, bound = WeightPosterior.best(sum_over(rows, model, likelihood, n_jobs))
    gradient = _total(lambda block: likelihood(model, block).gradient(posterior)[1], np.add, rows, n_jobs)
    divergence, by_divergence = model.features.divergence()
    return bound - divergence, gradient - np.append(by_divergence, 0.0)


def _total(function: Callable[[Block], Any], add: Callable[[Any, Any], Any], rows: Rows, n_jobs: int | None) -> Any:  # noqa: ANN401
    """Sum over all blocks, in their order, some at a time: what they return may be large."""
    so_far: list[Any] = []
    with one_blas_thread(), Parallel(n_jobs=n_jobs, prefer="threads", require="sharedmem") as parallel:
        for first in range(0, rows.n_blocks, AT_ONCE):
            some = range(first, min(first + AT_ONCE, rows.n_blocks))
            so_far = [reduce(add, [*so_far, *parallel(delayed(function)(rows.block(k)) for k in some)])]
    return so_far[0]


def climb(
    rows: Rows,
    model: Model,
    likelihood: type[Likelihood],
    max_iter: int,
    tol: float,
    n_jobs: int | None,
    after_step: Callable[[Model, float], bool],
) -> int:
    """Maximise the collapsed bound by L-BFGS; return how many models on the way could not be evaluated.

    `after_step` is given the model and its bound a row after each step, and says whether to stop.
    """
    loss = _Loss(lambda vector: collapsed_bound(rows, model.with_vector(vector), likelihood, n_jobs), rows.total)

    def callback(vector: Array) -> None:
        place = loss.begin_step()
        if after_step(model.with_vector(place.vector), -place.value):
            raise StopIteration

    start, bounds = model.to_vector(), list(zip(*_limits(model), strict=True))
    options = {"maxiter": max_iter, "maxfun": 2 * max_iter + 20, "ftol": tol, "gtol": 1e-7, "maxcor": 20}
    minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, callback=callback, options=options)
    return loss.n_failed


@dataclass(frozen=True)
class _Place:
    """A point, and the loss and its gradient there."""

    vector: Array
    value: float
    gradient: Array


class _Loss:
    """Minus the bound a row and its gradient, finite everywhere.

    Where the bound cannot be evaluated the loss is flat, and as far above the point where the step began as the slope
    there promised to fall: a search along the line then turns back to about a tenth. At infinity it would end as if it
    had converged, and from a very high wall it would turn back to a step of nothing.

    Parameters
    ----------
    bound : callable
        Bound and gradient at a point.
    total : float
        How many rows they are of.
    """

    def __init__(self, bound: Callable[[Array], tuple[float, Array]], total: float) -> None:
        self._bound, self._total, self.n_failed = bound, total, 0
        self._began: _Place | None = None
        self._last: _Place | None = None

    def __call__(self, vector: Array) -> tuple[float, Array]:
        place = self._evaluate(vector)
        if place is None:
            self.n_failed += 1
            return self._wall(vector), np.zeros_like(vector)
        self._began, self._last = self._began or place, place
        return place.value, place.gradient

    def _evaluate(self, vector: Array) -> _Place | None:
        try:
            bound, gradient = self._bound(vector)
        except np.linalg.LinAlgError:
            return None
        finite = np.isfinite(bound) and np.isfinite(gradient).all()
        return _Place(vector.copy(), -bound / self._total, -gradient / self._total) if finite else None

    def _wall(self, vector: Array) -> float:
        began = self._began
        return 0.0 if began is None else began.value + abs(float(began.gradient @ (vector - began.vector)))

    def begin_step(self) -> _Place:
        """The next step begins at the last point that could be evaluated, which is returned."""
        if self._last is None:
            raise RuntimeError("a step has to begin where the loss was evaluated")
        self._began = self._last
        return self._last


def _limits(model: Model) -> tuple[Array, Array]:
    """Lowest and highest values of the flat vector, for learning that starts at this model."""
    n_logs = len(model.features.log_lengthscale) + 1
    n_others = len(model.to_vector()) - n_logs - 1
    start = model.to_vector()
    box = np.maximum(np.repeat([BOX, LOG_BOX], [n_others, n_logs]), np.abs(start[:-1]))
    noise = min(start[-1], model.least_log_noise), max(start[-1], MOST_LOG_NOISE)
    return np.append(-box, noise[0]), np.append(box, noise[1])


class StochasticAscent:
    """Natural gradient steps for q(w), Adam for everything else, from one block of rows at a time.

    q(w) is kept by its natural statistics: a natural gradient step of size rho is their convex combination
    with those of the block, scaled to all rows.

    Parameters
    ----------
    rows : Rows
        In blocks, which are the batches.
    model : Model
        Where to begin.
    likelihood : type of Likelihood
        Of a block.
    learning_rate : float
        Of Adam.
    rng : Generator
        Of the order of the blocks.
    forgetting : float
        Smallest rho; the first steps average all blocks so far.
    """

    def __init__(
        self,
        rows: Rows,
        model: Model,
        likelihood: type[Likelihood],
        learning_rate: float,
        rng: np.random.Generator,
        forgetting: float = FORGETTING,
    ) -> None:
        self.rows, self.model, self.likelihood, self.forgetting, self._rng = rows, model, likelihood, forgetting, rng
        self._optimizer, self._sums, self._n_steps = Adam(learning_rate), None, 0
        self._order, self._limits = self._epochs(), _limits(model)
        self._evaluated, self._bound, self.n_failed = model, np.nan, 0

    def _epochs(self) -> Iterator[int]:
        """All blocks in random order, again and again."""
        while True:
            yield from self._rng.permutation(self.rows.n_blocks).tolist()

    def step(self, shrink: float) -> float:
        """Take a step; return an estimate of the bound a row.

        A model that cannot be evaluated costs the step, not the run: learning goes on from the last one that could.
        """
        try:
            self._bound, vector = self._evaluate(shrink)
        except np.linalg.LinAlgError:
            self.n_failed += 1
            self.model, self._optimizer = self._evaluated, Adam(self._optimizer.learning_rate)
            return self._bound
        self._evaluated = self.model
        self.model = self.model.with_vector(np.clip(vector, *self._limits))
        return self._bound

    def _evaluate(self, shrink: float) -> tuple[float, Array]:
        """The bound a row, estimated from the next block, and where to go from here."""
        model, block, total = self.model, self.rows.block(next(self._order)), self.rows.total
        scale = float(self.rows.n_blocks)
        likelihood = self.likelihood(model, block)
        posterior = self._move_weights(likelihood.sums().scaled(scale))
        fit, gradient = likelihood.gradient(posterior)
        divergence, by_divergence = model.features.divergence()
        gradient *= scale
        gradient[:-1] -= by_divergence
        if not np.isfinite(gradient).all():
            raise np.linalg.LinAlgError("the gradient is not finite")
        bound = (scale * fit - posterior.divergence() - divergence) / total
        return bound, model.to_vector() + self._optimizer.step(gradient / total, shrink)

    def _move_weights(self, block: Sums) -> WeightPosterior:
        if not np.isfinite([block.gram.sum(), block.cross.sum(), block.constant]).all():
            raise np.linalg.LinAlgError("the block's statistics are not finite")
        self._n_steps += 1
        rho = max(self.forgetting, 1.0 / self._n_steps)
        self._sums = block if self._sums is None else self._sums.scaled(1.0 - rho).merge(block.scaled(rho))
        return WeightPosterior.best(self._sums)[0]
