"""Conjugate noise: one noise variance per block of rows, integrated out.

A block's noise variance v has the prior InvGamma(a0, b0), its weights the prior N(w0, v / ridge I).
With rss the penalised residual sum of squares of n rows, v | y ~ InvGamma(a0 + n/2, b0 + rss/2), and
predictions are Student-t.
"""

from dataclasses import dataclass
from math import hypot
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln, zeta

from ssgp._utils.arrays import Array
from ssgp.saving.contents import TINIEST, number
from ssgp.saving.kinds import stored

__all__ = ["LEARNING_PRIOR", "LOG_TWO_PI", "NoisePrior", "estimated_noise", "fit_noise_prior"]

LOG_TWO_PI = float(np.log(2.0 * np.pi))


@stored({"shape": number(TINIEST), "scale": number(TINIEST)})
@dataclass(frozen=True)
class NoisePrior:
    """Prior InvGamma(shape, scale) of a noise variance, in squared deviations of the target.

    Attributes
    ----------
    shape, scale : float
        a0 and b0.
    """

    shape: float
    scale: float

    def scaled(self, factor: float) -> "NoisePrior":
        """The prior of `factor` times the noise variance."""
        return NoisePrior(self.shape, factor * self.scale)

    def shape_after(self, n: Any) -> Any:  # noqa: ANN401  a number or an array
        """a_n: half the degrees of freedom of a prediction after n rows."""
        return self.shape + 0.5 * n

    def scale_after(self, rss: Any) -> Any:  # noqa: ANN401
        """b_n: a prediction's squared scale is b_n / a_n (1 + leverage)."""
        return self.scale + 0.5 * rss

    def noise_after(self, n: Any, rss: Any) -> Any:  # noqa: ANN401
        """Estimate b_n / a_n of the noise variance after n rows."""
        return estimated_noise(self.shape_after(n), self.scale_after(rss))

    def log_evidence(self, n: Any, rss: Any) -> Any:  # noqa: ANN401
        """Part of log p(y) that depends on the prior of the noise."""
        a, b = self.shape_after(n), self.scale_after(rss)
        prior = self.shape * np.log(self.scale) - gammaln(self.shape)
        return prior + gammaln(a) - a * np.log(b) - 0.5 * n * LOG_TWO_PI


def estimated_noise(shape: Any, scale: Any) -> Any:  # noqa: ANN401
    """Estimate of a noise variance whose posterior is InvGamma(shape, scale): what a leaf's noise is taken for."""
    return scale / shape


# Fixed while frequencies are learned: a prior that followed blocks of constant target would shrink to
# nothing, and those blocks would then outweigh all others. It is fitted once the blocks are solved.
LEARNING_PRIOR = NoisePrior(2.0, 0.2)
# Steps of Newton's method to the most probable prior, the longest one in either logarithm, and a last one, whose error
# is about its square.
MOST_NEWTON_STEPS = 100
MOST_NEWTON_STEP = 3.0
LEAST_NEWTON_STEP = 1e-4


def fit_noise_prior(n: Array, rss: Array, start: NoisePrior = LEARNING_PRIOR) -> NoisePrior:
    """The prior under which blocks are most probable.

    A weak normal hyperprior on log a0 and log b0, around `start`, keeps one block, or blocks all
    alike, from sending them to infinity.

    Parameters
    ----------
    n, rss : arrays of shape (p,)
        Numbers of rows, and penalised residual sums of squares, of p blocks.
    start : NoisePrior
        Centre of the hyperprior.
    """
    centre, width = np.log([start.shape, start.scale]), np.array([2.0, 4.0])
    target = _PriorLoss(n, rss, centre, width)
    logs, damping = centre, 0.0
    loss, gradient, curvature = target(logs)
    for _ in range(MOST_NEWTON_STEPS):
        proposed = np.clip(logs - _damped_step(gradient, curvature, damping), centre - 4 * width, centre + 4 * width)
        new_loss, *derivatives = target(proposed)
        if not new_loss <= loss + 1e-12 * abs(loss):
            damping = max(10.0 * damping, 1e-3 * float(np.abs(curvature).max()))
            continue
        moved = float(np.abs(proposed - logs).max())
        logs, loss, (gradient, curvature), damping = proposed, new_loss, derivatives, 0.1 * damping
        if moved < LEAST_NEWTON_STEP:
            break
    return NoisePrior(*np.exp(logs).tolist())


class _PriorLoss:
    """Minus the log probability of log a0 and log b0, with its gradient (2,) and curvature (2, 2)."""

    def __init__(self, n: Array, rss: Array, centre: Array, width: Array) -> None:
        # Functions of the number of rows are dear, and many blocks have the same.
        self.distinct, self.times = np.unique(n, return_counts=True)
        self.n, self.rss, self.centre, self.width = n, rss, centre, width

    def __call__(self, logs: Array) -> tuple[float, Array, Array]:
        prior, p = NoisePrior(*np.exp(logs).tolist()), len(self.n)
        a0, b0 = prior.shape, prior.scale
        a, b, distinct = prior.shape_after(self.n), prior.scale_after(self.rss), prior.shape_after(self.distinct)
        log_b, by_b = np.log(b), a / b
        deviation = (logs - self.centre) / self.width
        evidence = self.times @ gammaln(distinct) - p * gammaln(a0) + p * a0 * np.log(b0) - a @ log_b
        by_shape = p * (np.log(b0) - digamma(a0)) - log_b.sum() + self.times @ digamma(distinct)
        first = np.array([a0 * by_shape, p * a0 - b0 * by_b.sum()])
        across = a0 * b0 * (p / b0 - np.sum(1.0 / b))
        second = np.array(
            [
                [first[0] + a0**2 * (self.times @ zeta(2.0, distinct) - p * zeta(2.0, a0)), across],
                [across, b0**2 * np.sum(by_b / b) - b0 * by_b.sum()],
            ]
        )
        curvature = np.diag(1.0 / self.width**2) - second
        return 0.5 * float(deviation @ deviation) - float(evidence), deviation / self.width - first, curvature


def _damped_step(gradient: Array, curvature: Array, damping: float) -> Array:
    """Newton's step, with as much damping as it takes to go down."""
    (a, b), (_, c) = curvature.tolist()
    first, second = gradient.tolist()
    # The lowest eigenvalue, and the matrix with the damping, in closed form: the functions for matrices take longer.
    lowest = 0.5 * (a + c) - hypot(0.5 * (a - c), b)
    damping = max(0.0, damping, 1e-6 * max(abs(a), abs(b), abs(c)) - lowest)
    a, c = a + damping, c + damping
    step = np.array([c * first - b * second, a * second - b * first]) / (a * c - b * b)
    return np.clip(step, -MOST_NEWTON_STEP, MOST_NEWTON_STEP)
