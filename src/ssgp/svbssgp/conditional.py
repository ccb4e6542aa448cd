"""The test conditionals of Proposition 1, averaged over draws of alpha (section 4.2)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp.engine.threads import map_in_threads, one_blas_thread
from ssgp.rows.blocks import Rows
from ssgp.saving.kinds import stored
from ssgp.spectrum.features import features
from ssgp.spectrum.noise import LEARNING_PRIOR, NoisePrior, fit_noise_prior
from ssgp.spectrum.parameters import Hyperparameters
from ssgp.svbssgp.local_models import LocalModels, block_sums, solve_blocks

__all__ = ["Conditional", "check_gamma", "condition"]


# Predictions are made this many rows at a time: it bounds the memory, and as every chunk
# has the same shape a row's prediction does not depend on which rows came with it.
CHUNK = 2048
TASK_BYTES = 1 << 24


@stored()
@dataclass(frozen=True)
class Conditional:
    """p(f_* | y_k, alpha) for a number of draws of alpha.

    Attributes
    ----------
    frequencies : array of shape (r, m, d)
        theta of each draw.
    weights : array of shape (r, 2m) or (r, 0)
        s of each draw; none where it is integrated out.
    local : list of LocalModels
        What Gamma_k, of each draw and block, determines.
    noise_variance : array of shape (r, p)
        sigma_n^2 of each draw and block: one and the same for the paper's objective, the blocks'
        own for the local one.
    """

    frequencies: Array
    weights: Array
    local: list[LocalModels]
    noise_variance: Array

    def moments(
        self, X: Array, blocks: Indices, gamma: float, with_variance: bool, n_jobs: int | None
    ) -> tuple[Array, Array | None]:
        """Mean and variance of the latent function by the law of total variance over the draws.

        See `noise_at` for what an observation's variance has besides.

        Parameters
        ----------
        X : array of shape (n, d), float32
            Standardised rows.
        blocks : int array of shape (n,)
            Their blocks.
        gamma : float
            From global (1) to local (0).
        with_variance : bool
            Whether the variance is wanted.
        n_jobs : int or None
            Threads.
        """
        order = np.argsort(blocks, kind="stable")
        mean, variance = np.empty(len(X)), np.empty(len(X)) if with_variance else None

        def predict(start: int) -> None:
            rows = order[start : start + CHUNK]
            means, variances = self._by_draw(X[rows], blocks[rows], gamma, with_variance)
            mean[rows] = means.mean(axis=0)
            if variance is not None:
                variance[rows] = variances.mean(axis=0) + means.var(axis=0)

        with one_blas_thread():
            map_in_threads(predict, range(0, len(X), CHUNK), n_jobs)
        return mean, variance

    def noise_at(self, blocks: Indices) -> Array:
        """Noise variance in each row's block, averaged over the draws, shape (n,)."""
        return self.noise_variance.mean(axis=0)[blocks]

    def _by_draw(self, X: Array, blocks: Indices, gamma: float, with_variance: bool) -> tuple[Array, Array]:
        """Mean and variance under each draw, shape (r, n), for one chunk of rows sorted by block."""
        n_rows = len(X)
        padded = np.zeros((CHUNK, X.shape[1]), dtype=X.dtype)
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
                spread = self._spread(phi, blocks, self.local[i].whitener)
                variances[i] = (1 - gamma**2) * self.noise_variance[i, blocks] * spread
        return means, variances

    @staticmethod
    def _spread(phi: Array, blocks: Indices, whitener: Array) -> Array:
        """phi^T Gamma_k^-1 phi of each row."""
        out = np.empty(len(phi))
        for rows in _runs(blocks):
            white = phi[rows] @ whitener[blocks[rows.start]].T
            out[rows] = np.einsum("ij,ij->i", white, white)
        return out


def _runs(labels: Indices) -> Iterator[slice]:
    """Slices of equal labels in a sorted array."""
    edges = np.flatnonzero(np.diff(labels)) + 1
    starts = [0, *edges.tolist()]
    for start, stop in zip(starts, [*starts[1:], len(labels)], strict=True):
        yield slice(start, stop)


def condition(
    rows: Rows,
    frequencies: Array,
    weights: Array,
    hyperparameters: Hyperparameters,
    n_jobs: int | None,
    noise_prior: NoisePrior = LEARNING_PRIOR,
) -> Conditional:
    """Build the test conditional: Gamma_k for every block and draw, in one pass a draw.

    Parameters
    ----------
    rows : Rows
        Training rows, sorted by block.
    frequencies, weights : arrays of shape (r, m, d), (r, 2m)
        Draws of alpha.
    hyperparameters : Hyperparameters
        For sigma_n^2 Lambda^-1.
    n_jobs : int or None
        Threads.
    noise_prior : NoisePrior
        Near which the prior of blocks' own noise is looked for.
    """
    local = _local_models(rows, frequencies, hyperparameters.ridge(frequencies.shape[1]), n_jobs)
    noise = np.full((len(frequencies), rows.n_blocks), hyperparameters.noise_variance)
    if weights.shape[1] == 0:
        noise = np.stack([_block_noise(models, noise_prior) for models in local])
    return Conditional(frequencies, weights, local, noise)


def _block_noise(models: LocalModels, start: NoisePrior) -> Array:
    """Posterior mean of each block's noise variance, under the prior that all blocks make most probable."""
    prior = fit_noise_prior(models.count, models.rss, start)
    return prior.scale_after(models.rss) / np.maximum(prior.shape_after(models.count) - 1.0, 0.5)


def _local_models(rows: Rows, frequencies: Array, ridge: float, n_jobs: int | None) -> list[LocalModels]:
    size = 2 * frequencies.shape[1]
    models = [
        LocalModels(
            np.empty((rows.n_blocks, size), np.float32),
            np.empty((rows.n_blocks, size, size), np.float32),
            np.empty(rows.n_blocks),
            np.empty(rows.n_blocks),
        )
        for _ in frequencies
    ]

    step = max(1, TASK_BYTES // (8 * size * size))

    def build(task: tuple[int, int]) -> None:
        draw, start = task
        blocks = range(start, min(start + step, rows.n_blocks))
        solved = solve_blocks(block_sums(rows, blocks, frequencies[draw]), ridge)
        models[draw].weights[start : blocks.stop] = solved.weights
        models[draw].whitener[start : blocks.stop] = solved.whitener
        models[draw].count[start : blocks.stop], models[draw].rss[start : blocks.stop] = solved.count, solved.rss

    tasks = [(draw, start) for draw in range(len(frequencies)) for start in range(0, rows.n_blocks, step)]
    with one_blas_thread():
        map_in_threads(build, tasks, n_jobs)
    return models


def check_gamma(gamma: float, local: bool) -> float:
    """A test conditional that the objective has."""
    if not -1 <= gamma <= 1:
        raise ValueError(f"gamma must lie in [-1, 1], got {gamma!r}")
    if local and gamma != 0:
        raise ValueError(
            f"objective='local' integrates the nuisance variables out: gamma must be 0, got {gamma!r}. "
            "Use objective='global' for other test conditionals."
        )
    return gamma
