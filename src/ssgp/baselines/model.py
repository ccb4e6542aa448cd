"""A linear model with random features: what is learned, its likelihood, and its bound over all rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed

from ssgp._utils.arrays import Array
from ssgp.baselines.feature_maps import FeatureMap
from ssgp.baselines.linear_bound import Sums, WeightPosterior, feature_gradient
from ssgp.engine.threads import one_blas_thread
from ssgp.rows.blocks import Block, Rows
from ssgp.saving.kinds import stored

__all__ = [
    "LEAST_LOG_NOISE",
    "Likelihood",
    "Model",
    "RowLikelihood",
    "collapsed_bound",
    "learning_limits",
    "sum_over",
]

# Blocks whose sums are held at once.
AT_ONCE = 32
# Noise variance of a standardised target stays within these; of one that is not centred it may fall further.
LEAST_LOG_NOISE, MOST_LOG_NOISE = -14.0, 3.0
# Whitened parameters, and logarithms of lengthscales and signal variance, have no business beyond these, if they did
# not start there.
BOX, LOG_BOX = 30.0, 8.0


@stored()
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


def learning_limits(model: Model) -> tuple[Array, Array]:
    """Lowest and highest values of the flat vector, for learning that starts at this model."""
    n_logs = len(model.features.log_lengthscale) + 1
    n_others = len(model.to_vector()) - n_logs - 1
    start = model.to_vector()
    box = np.maximum(np.repeat([BOX, LOG_BOX], [n_others, n_logs]), np.abs(start[:-1]))
    noise = min(start[-1], model.least_log_noise), max(start[-1], MOST_LOG_NOISE)
    return np.append(-box, noise[0]), np.append(box, noise[1])
