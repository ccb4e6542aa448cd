"""A linear model with random features: its parameters, its likelihood, and its bound over all rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Protocol, TypeVar

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.baselines.feature_maps import FeatureMap, InducingMap, SpectralMap, VariationalMap
from ssgp.baselines.linear_bound import Sums, WeightPosterior, feature_gradient
from ssgp.engine.threads import map_in_threads, one_blas_thread
from ssgp.rows.blocks import Block, Rows
from ssgp.saving.contents import MOST_LOG, made_of, number
from ssgp.saving.kinds import stored

__all__ = [
    "LEAST_LOG_NOISE",
    "Likelihood",
    "Model",
    "RowLikelihood",
    "collapsed_bound",
    "parameter_limits",
    "sum_blocks",
]

Summand = TypeVar("Summand")

# Blocks whose sums are in memory together.
BLOCKS_PER_CHUNK = 32
# Limits of the log noise variance of a standardised target; the lower one is less for a target that is not centred.
LEAST_LOG_NOISE, MOST_LOG_NOISE = -14.0, 3.0
# With less noise covariances of rows cannot be factorised; the lower limit is never below it.
LEAST_OF_ALL = -19.0
# Limits of the size of whitened parameters, and of logarithms of lengthscales and signal variance, unless they start
# beyond.
LARGEST_WHITENED, LARGEST_LOG = 30.0, 8.0


@stored(
    {
        "features": made_of(InducingMap, SpectralMap, VariationalMap),
        "log_noise": number(LEAST_OF_ALL, MOST_LOG),
        "least_log_noise": number(LEAST_OF_ALL, MOST_LOG),
    }
)
@dataclass(frozen=True)
class Model:
    """Parameters that are learned: those of the features, and the noise.

    Attributes
    ----------
    features : FeatureMap
        Features of a row.
    log_noise : float
        Log noise variance.
    least_log_noise : float
        Lower limit of the log noise variance.
    """

    features: FeatureMap
    log_noise: float
    least_log_noise: float = LEAST_LOG_NOISE

    @property
    def noise(self) -> float:
        """Noise variance."""
        return float(np.exp(self.log_noise))

    def to_vector(self) -> Array:
        """All parameters as one flat vector."""
        return np.append(self.features.to_vector(), self.log_noise)

    def with_vector(self, vector: Array) -> "Model":
        """The model with the parameters of a flat vector."""
        return replace(self, features=self.features.with_vector(vector[:-1]), log_noise=float(vector[-1]))


class Likelihood(Protocol):
    """Likelihood of a block of rows under a model, as a function of the weights."""

    def __init__(self, model: Model, block: Block) -> None: ...

    def sums(self) -> Sums:
        """Natural statistics of the block."""
        ...

    def gradient(self, posterior: WeightPosterior) -> tuple[float, Array]:
        """Expected log likelihood E_q log p(y | w), and its gradient with respect to the model's flat vector."""
        ...


class RowLikelihood:
    """Likelihood of rows that are independent given the weights."""

    def __init__(self, model: Model, block: Block) -> None:
        self.model, self.block, self.moments = model, block, model.features.moments(block.X)

    def sums(self) -> Sums:
        """Natural statistics of the block."""
        return Sums.of(self.moments, self.block, self.model.noise)

    def gradient(self, posterior: WeightPosterior) -> tuple[float, Array]:
        """Expected log likelihood of the block, and its gradient with respect to the model's flat vector."""
        value, grad_moments, grad_noise = feature_gradient(self.moments, self.block, posterior, self.model.noise)
        return value, np.append(self.model.features.gradient(self.block.X, self.moments, grad_moments), grad_noise)


def sum_blocks(rows: Rows, model: Model, likelihood: type[Likelihood], n_jobs: int | None) -> Sums:
    """Statistics of all blocks of rows; the same for any number of threads."""
    return _reduce_blocks(lambda block: likelihood(model, block).sums(), Sums.merge, rows, n_jobs)


def collapsed_bound(rows: Rows, model: Model, likelihood: type[Likelihood], n_jobs: int | None) -> tuple[float, Array]:
    """Bound under the best q(w), and its gradient with respect to the model's flat vector; two passes over the rows."""
    posterior, bound = WeightPosterior.best(sum_blocks(rows, model, likelihood, n_jobs))
    gradient = _reduce_blocks(lambda block: likelihood(model, block).gradient(posterior)[1], np.add, rows, n_jobs)
    divergence, grad_divergence = model.features.divergence()
    return bound - divergence, gradient - np.append(grad_divergence, 0.0)


def _reduce_blocks(
    function: Callable[[Block], Summand], add: Callable[[Summand, Summand], Summand], rows: Rows, n_jobs: int | None
) -> Summand:
    """Sum of a function over all blocks, in their order, a chunk at a time: its values may be large."""
    total: list[Summand] = []
    with one_blas_thread():
        for first in range(0, rows.n_blocks, BLOCKS_PER_CHUNK):
            chunk = range(first, min(first + BLOCKS_PER_CHUNK, rows.n_blocks))
            values = map_in_threads(lambda k: function(rows.block(k)), chunk, n_jobs)
            total = [reduce(add, [*total, *values])]
    return total[0]


def parameter_limits(model: Model) -> tuple[Array, Array]:
    """Lowest and highest values of the flat vector, for learning that starts at this model."""
    n_logs = len(model.features.log_lengthscale) + 1
    n_others = len(model.to_vector()) - n_logs - 1
    start = model.to_vector()
    largest = np.maximum(np.repeat([LARGEST_WHITENED, LARGEST_LOG], [n_others, n_logs]), np.abs(start[:-1]))
    noise = min(start[-1], model.least_log_noise), max(start[-1], MOST_LOG_NOISE)
    return np.append(-largest, noise[0]), np.append(largest, noise[1])
