"""The updates of the public program of the paper's authors, with and without their gradient.

alpha = M z + b holds m frequencies, in the units of the inputs, and 2m weights, which are gamma times those of the
paper. M begins as U U^T + I with U uniform, whose entries are about a quarter of its side, b as uniform numbers. A step
takes the gradient of the bound from one block and one z, scales all of it to length one, and moves M by
rate (gradient - 2 M), and b likewise. Noise and signal stay where they are.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.local_predictions import BlockedRows, features
from experiments.protocols import BlockLabels
from experiments.study import Row
from ssgp.datasets import Split
from ssgp.metrics import rmse

__all__ = ["RULES", "UpdateRule", "rule_rows"]

Array = NDArray[np.float64]

RATE, DELAY, DECAY, SHRINKAGE = 1.6, 2.0, 0.6, 2.0
NOISE, SIGNAL = 2.0, 7.0
SEEDS = (26031993, 20051987, 4111987, 10081950, 8071950)
# What stands for gamma = 0, by which weights are divided.
LEAST_GAMMA = 0.01
N_STEPS = 30
# Names of the methods, and whether they follow the gradient.
RULES = {"update rule": True, "update rule, no gradient": False}


@dataclass
class UpdateRule:
    """State of the updates.

    Attributes
    ----------
    mixing : array of shape (D, D)
        M, with D = m (d + 2).
    shift : array of shape (D,)
        b.
    n_frequencies, n_inputs : int
        m and d.
    gamma : float
        Of the test conditional, which scales the weights.
    """

    mixing: Array
    shift: Array
    n_frequencies: int
    n_inputs: int
    gamma: float

    @classmethod
    def start(cls, n_frequencies: int, n_inputs: int, gamma: float, rng: np.random.Generator) -> "UpdateRule":
        """The state before the first step."""
        size = n_frequencies * (n_inputs + 2)
        uniform = rng.random((size, size))
        gamma = gamma if abs(gamma) >= LEAST_GAMMA else LEAST_GAMMA
        return cls(uniform @ uniform.T + np.eye(size), rng.random(size), n_frequencies, n_inputs, gamma)

    def split(self, z: Array) -> tuple[Array, Array]:
        """Frequencies (m, d) and weights (2m,) at a draw z (D,)."""
        alpha, n_theta = self.mixing @ z + self.shift, self.n_frequencies * self.n_inputs
        return alpha[:n_theta].reshape(self.n_frequencies, self.n_inputs), alpha[n_theta:]

    def step(self, t: int, direction: tuple[Array, Array] | None) -> None:
        """Move by the step of number t = 0, 1, ...; without a direction, M and b decay alone."""
        rate = step_size(t)
        along_mixing, along_shift = (0.0, 0.0) if direction is None else direction
        self.mixing = self.mixing + rate * (along_mixing - SHRINKAGE * self.mixing)
        self.shift = self.shift + rate * (along_shift - SHRINKAGE * self.shift)

    def direction(self, X: Array, y: Array, n_blocks: int, z: Array) -> tuple[Array, Array]:
        """Gradient of the bound with respect to M and b from one block and one z, together of length one."""
        frequencies, weights = self.split(z)
        of_alpha = n_blocks * self._likelihood_gradient(X, y, frequencies, weights)
        weight_variance = (self.gamma * SIGNAL) ** 2 / self.n_frequencies
        of_alpha -= np.concatenate([frequencies.ravel(), weights / weight_variance])
        of_mixing = np.outer(of_alpha, z) + np.linalg.inv(self.mixing).T
        length = np.sqrt((of_mixing**2).sum() + (of_alpha**2).sum())
        return of_mixing / length, of_alpha / length

    def _likelihood_gradient(self, X: Array, y: Array, frequencies: Array, weights: Array) -> Array:
        """Derivative (D,) of -|y - phi^T weights / gamma|^2 / (2 noise) with respect to alpha."""
        m, phi = self.n_frequencies, features(X, frequencies)
        residual = (y - phi @ weights / self.gamma) / (self.gamma * NOISE**2)
        slope = 2.0 * np.pi * (phi[:, :m] * weights[m:] - phi[:, m:] * weights[:m])
        return np.concatenate([((slope * residual[:, None]).T @ X).ravel(), phi.T @ residual])

    def predict(self, rows: BlockedRows, draws: Array) -> tuple[Array, Array]:
        """Means and variances of observations at test rows, averaged over draws of z (r, D)."""
        means, variances = [], []
        for z in draws:
            frequencies, weights = self.split(z)
            local, spread = rows.local_moments(frequencies, self.n_frequencies * (NOISE / SIGNAL) ** 2)
            means.append((1.0 - self.gamma) * local + features(rows.X_test, frequencies) @ weights)
            variances.append((1.0 - self.gamma**2) * NOISE**2 * (1.0 + spread))
        return np.mean(means, axis=0), np.mean(variances, axis=0)


def step_size(t: int) -> float:
    """Rate of the step of number t = 0, 1, ..."""
    delay = DELAY + 0.1 * np.sqrt(np.arange(t + 1)).sum()
    return RATE / (1.0 + t * delay * RATE) ** DECAY


def rule_rows(
    method: str,
    gammas: tuple[float, ...],
    iterations: tuple[int, ...],
    sizes: tuple[int, int],
    data: Split,
    blocks: BlockLabels,
    seed: int,
) -> list[Row]:
    """Errors on the test rows after these iterations, of one block each.

    Parameters
    ----------
    method : str
        One of `RULES`.
    gammas : tuple of float
        Test conditionals; each has a run of its own.
    iterations : tuple of int
        Steps after which test rows are predicted.
    sizes : pair of int
        Numbers of frequencies and of draws.
    data, blocks
        Rows in their blocks.
    seed : int
        0 to 4, for the five seeds of the program.
    """
    rows = BlockedRows.of(data, blocks)
    return [row for gamma in gammas for row in _run(RULES[method], gamma, iterations, sizes, rows, seed)]


def _run(
    follow: bool, gamma: float, iterations: tuple[int, ...], sizes: tuple[int, int], rows: BlockedRows, seed: int
) -> list[Row]:
    n_frequencies, n_draws = sizes
    rng = np.random.default_rng(SEEDS[seed])
    rule = UpdateRule.start(n_frequencies, rows.X.shape[1], gamma, rng)
    # The first r of the same draws, whatever their number.
    draws = np.random.default_rng([SEEDS[seed], 1]).standard_normal((n_draws, len(rule.shift)))
    found = []
    for t in range(max(iterations) + 1):
        if t in iterations:
            common = {"gamma": gamma, "iteration": t, "steps": t, "converged": False, "train_s": 0.0}
            found.append({**common, **_scores(rule, rows, draws)})
        block, z = int(rng.integers(rows.n_blocks)), rng.standard_normal(len(rule.shift))
        rule.step(t, rule.direction(*rows.block(block), rows.n_blocks, z) if follow else None)
    return found


def _scores(rule: UpdateRule, rows: BlockedRows, draws: Array) -> Row:
    """RMSE, MNLP and cover, the latter two of normal distributions."""
    mean, variance = rule.predict(rows, draws)
    error = rows.y_test - mean
    # At gamma = 1 and -1 this test conditional has no variance.
    mnlp = 0.5 * np.mean(error**2 / variance + np.log(2.0 * np.pi * variance)) if variance.all() else np.nan
    covered = np.mean(np.abs(error) <= 1.96 * np.sqrt(variance))
    return {"rmse": rmse(rows.y_test, mean), "mnlp": float(mnlp), "coverage": float(covered)}
