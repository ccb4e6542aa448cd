"""Test conditionals of Proposition 1, averaged over draws of alpha (section 4.2)."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp.engine.threads import map_in_threads, one_blas_thread
from ssgp.rows.blocks import Rows
from ssgp.saving.contents import TINIEST, array, list_of, made_of
from ssgp.saving.kinds import stored
from ssgp.spectrum.features import features
from ssgp.spectrum.noise import LEARNING_PRIOR, NoisePrior, fit_noise_prior
from ssgp.spectrum.parameters import Hyperparameters
from ssgp.svbssgp.local_models import LocalModels, block_sums, solve_blocks

__all__ = ["Conditional", "build_conditional", "check_gamma"]


# Rows that are predicted together. It bounds the memory, and as every chunk
# has the same shape a row's prediction does not depend on the other rows.
ROWS_PER_CHUNK = 2048
# Bytes of the Gram matrices that a thread solves together.
BYTES_PER_TASK = 1 << 24


def _fits(models: LocalModels, frequencies: Array) -> bool:
    return models.weights.shape[1] == 2 * frequencies.shape[1]


@stored(
    {
        "frequencies": array("float32", "r", "m", "d"),
        "weights": array("float64", "r", "weights"),
        "local": list_of(made_of(LocalModels, p=lambda models: len(models.count)), least=1),
        "noise_variance": array("float64", "r", "p", least=TINIEST),
    },
    relations=lambda p: [
        (len(p.local) == len(p.frequencies), "there must be local models for each draw"),
        (all(_fits(models, p.frequencies) for models in p.local), "local models must be of these frequencies"),
        (p.weights.shape[1] in (0, 2 * p.frequencies.shape[1]), "there must be no weights, or two per frequency"),
    ],
)
@dataclass(frozen=True)
class Conditional:
    """Test conditionals p(f_* | y_k, alpha) of all blocks k and of r draws of alpha.

    Attributes
    ----------
    frequencies : array of shape (r, m, d)
        Frequencies theta of each draw.
    weights : array of shape (r, 2m) or (r, 0)
        Weights s of each draw; none where they are integrated out.
    local : list of LocalModels
        Local models of all blocks, for each draw.
    noise_variance : array of shape (r, p)
        Noise variance sigma_n^2 of each draw and block; all the same for the paper's objective.
    """

    frequencies: Array
    weights: Array
    local: list[LocalModels]
    noise_variance: Array

    def moments(
        self, X: Array, blocks: Indices, gamma: float, with_variance: bool, n_jobs: int | None
    ) -> tuple[Array, Array | None]:
        """Mean and variance of the latent function, shapes (n,), by the law of total variance over the draws.

        An observation has the noise variance `mean_noise` of its block besides.

        Parameters
        ----------
        X : array of shape (n, d), float32
            Standardised rows.
        blocks : int array of shape (n,)
            Indices of their blocks.
        gamma : float
            Test conditional, from global (1) to local (0).
        with_variance : bool
            Whether to return the variance; None otherwise.
        n_jobs : int or None
            Number of threads.
        """
        order = np.argsort(blocks, kind="stable")
        mean, variance = np.empty(len(X)), np.empty(len(X)) if with_variance else None

        def predict(start: int) -> None:
            rows = order[start : start + ROWS_PER_CHUNK]
            means, variances = self._moments_per_draw(X[rows], blocks[rows], gamma, with_variance)
            mean[rows] = means.mean(axis=0)
            if variance is not None:
                variance[rows] = variances.mean(axis=0) + means.var(axis=0)

        with one_blas_thread():
            map_in_threads(predict, range(0, len(X), ROWS_PER_CHUNK), n_jobs)
        return mean, variance

    @property
    def mean_noise(self) -> Array:
        """Noise variance of each block, averaged over the draws, shape (p,)."""
        return self.noise_variance.mean(axis=0)

    def _moments_per_draw(self, X: Array, blocks: Indices, gamma: float, with_variance: bool) -> tuple[Array, Array]:
        """Mean and variance under each draw, shapes (r, n), for one chunk of rows sorted by block."""
        n_rows = len(X)
        padded = np.zeros((ROWS_PER_CHUNK, X.shape[1]), dtype=X.dtype)
        padded[:n_rows] = X
        means = np.zeros((len(self.frequencies), n_rows))
        variances = np.zeros((len(self.frequencies), n_rows))
        for i, frequencies in enumerate(self.frequencies):
            phi = np.ascontiguousarray(features(padded, frequencies)[:n_rows])
            if gamma != 0:
                means[i] += gamma * np.einsum("ij,j->i", phi, self.weights[i], dtype=float)
            if gamma != 1:
                means[i] += (1 - gamma) * np.einsum("ij,ij->i", phi, self.local[i].weights[blocks], dtype=float)
            if with_variance and abs(gamma) != 1:
                leverage = _leverage(phi, blocks, self.local[i].whitener)
                variances[i] = (1 - gamma**2) * self.noise_variance[i, blocks] * leverage
        return means, variances


def _leverage(phi: Array, blocks: Indices, whitener: Array) -> Array:
    """Leverage phi^T Gamma_k^-1 phi of each row, shape (n,); rows are sorted by block."""
    leverage = np.empty(len(phi))
    edges = np.flatnonzero(np.diff(blocks)) + 1
    for start, stop in pairwise([0, *edges.tolist(), len(blocks)]):
        white = phi[start:stop] @ whitener[blocks[start]].T
        leverage[start:stop] = np.einsum("ij,ij->i", white, white)
    return leverage


def build_conditional(
    rows: Rows,
    frequencies: Array,
    weights: Array,
    hyperparameters: Hyperparameters,
    n_jobs: int | None,
    noise_prior: NoisePrior = LEARNING_PRIOR,
) -> Conditional:
    """Test conditionals from training rows, in one pass over the rows per draw.

    Parameters
    ----------
    rows : Rows
        Training rows, sorted by block.
    frequencies, weights : arrays of shape (r, m, d), (r, 2m)
        Draws of alpha.
    hyperparameters : Hyperparameters
        Kernel and noise.
    n_jobs : int or None
        Number of threads.
    noise_prior : NoisePrior
        Start of the search for the prior of the blocks' noise variances, where each block has one.
    """
    local = _local_models(rows, frequencies, hyperparameters.ridge(frequencies.shape[1]), n_jobs)
    noise = np.full((len(frequencies), rows.n_blocks), hyperparameters.noise_variance)
    if weights.shape[1] == 0:
        noise = np.stack([_block_noise(models, noise_prior) for models in local])
    return Conditional(frequencies, weights, local, noise)


def _block_noise(models: LocalModels, start: NoisePrior) -> Array:
    """Posterior mean of each block's noise variance, shape (p,), under the prior that all blocks make most probable."""
    prior = fit_noise_prior(models.count, models.rss, start)
    return prior.scale_after(models.rss) / np.maximum(prior.shape_after(models.count) - 1.0, 0.5)


def _local_models(rows: Rows, frequencies: Array, ridge: float, n_jobs: int | None) -> list[LocalModels]:
    """Local models of all blocks, for each draw of the frequencies (r, m, d)."""
    n_blocks, size = rows.n_blocks, 2 * frequencies.shape[1]
    models = [LocalModels.empty(n_blocks, size) for _ in frequencies]
    blocks_per_task = max(1, BYTES_PER_TASK // (8 * size * size))

    def build(task: tuple[int, int]) -> None:
        draw, start = task
        blocks = range(start, min(start + blocks_per_task, n_blocks))
        models[draw].put(blocks, solve_blocks(block_sums(rows, blocks, frequencies[draw]), ridge))

    tasks = [(draw, start) for draw in range(len(frequencies)) for start in range(0, n_blocks, blocks_per_task)]
    with one_blas_thread():
        map_in_threads(build, tasks, n_jobs)
    return models


def check_gamma(gamma: float, local: bool) -> float:
    """The test conditional `gamma`, refused where the objective does not have it."""
    if not -1 <= gamma <= 1:
        raise ValueError(f"gamma must lie in [-1, 1], got {gamma!r}")
    if local and gamma != 0:
        raise ValueError(
            f"objective='local' integrates the nuisance variables out: gamma must be 0, got {gamma!r}. "
            "Use objective='global' for other test conditionals."
        )
    return gamma
