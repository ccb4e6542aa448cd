"""Conjugate noise: one noise variance per block of rows, integrated out.

A block's noise variance v has the prior InvGamma(a0, b0), its weights the prior N(w0, v / ridge I).
With rss the penalised residual sum of squares of n rows, v | y ~ InvGamma(a0 + n/2, b0 + rss/2), and
predictions are Student-t.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln, zeta

from ssgp._utils.arrays import Array
from ssgp.saving.contents import TINIEST, number
from ssgp.saving.kinds import stored

__all__ = ["LEARNING_PRIOR", "LOG_TWO_PI", "NoisePrior", "estimated_noise", "fit_noise_prior", "fit_noise_priors"]

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
    return fit_noise_priors(n[None], rss[None], start)[0]


def fit_noise_priors(n: Array, rss: Array, start: NoisePrior = LEARNING_PRIOR) -> list[NoisePrior]:
    """The priors of several sets of as many blocks each, arrays of shape (T, p): all take their steps together."""
    centre, width = np.log([start.shape, start.scale]), np.array([2.0, 4.0])
    target = _PriorLoss(n, rss, centre, width)
    logs, damping, going = np.tile(centre, (len(n), 1)), np.zeros(len(n)), np.ones(len(n), bool)
    loss, gradient, curvature = target(logs)
    for _ in range(MOST_NEWTON_STEPS):
        step = _damped_steps(gradient, curvature, damping)
        proposed = np.where(going[:, None], np.clip(logs - step, centre - 4 * width, centre + 4 * width), logs)
        new_loss, new_gradient, new_curvature = target(proposed)
        better = new_loss <= loss + 1e-12 * np.abs(loss)
        more = np.maximum(10.0 * damping, 1e-3 * np.abs(curvature).max(axis=(1, 2)))
        moved = np.abs(proposed - logs).max(axis=1)
        damping = np.where(better, 0.1 * damping, more)
        logs, loss = np.where(better[:, None], proposed, logs), np.where(better, new_loss, loss)
        gradient = np.where(better[:, None], new_gradient, gradient)
        curvature = np.where(better[:, None, None], new_curvature, curvature)
        going &= ~better | (moved >= LEAST_NEWTON_STEP)
        if not going.any():
            break
    return [NoisePrior(*pair) for pair in np.exp(logs).tolist()]


class _PriorLoss:
    """Minus the log probabilities (T,) of log a0 and log b0, with gradients (T, 2) and curvatures (T, 2, 2)."""

    def __init__(self, n: Array, rss: Array, centre: Array, width: Array) -> None:
        # Functions of the number of rows are dear, and many blocks have the same.
        self.distinct, self.times = n, np.ones(1)
        distinct, which = np.unique(n, return_inverse=True)
        if len(distinct) < n.shape[1]:
            places = which.reshape(n.shape) + len(distinct) * np.arange(len(n))[:, None]
            self.times = np.bincount(places.ravel(), minlength=len(n) * len(distinct)).reshape(len(n), -1)
            self.distinct = distinct
        self.n, self.rss, self.centre, self.width = n, rss, centre, width

    def __call__(self, logs: Array) -> tuple[Array, Array, Array]:
        p, a0, b0 = self.n.shape[1], *np.exp(logs).T
        prior = NoisePrior(a0[:, None], b0[:, None])
        a, b, distinct = prior.shape_after(self.n), prior.scale_after(self.rss), prior.shape_after(self.distinct)
        log_b, by_b = np.log(b), a / b
        deviation = (logs - self.centre) / self.width
        evidence = self._sum(gammaln(distinct)) - p * gammaln(a0) + p * a0 * np.log(b0) - np.sum(a * log_b, axis=1)
        by_shape = p * (np.log(b0) - digamma(a0)) - log_b.sum(axis=1) + self._sum(digamma(distinct))
        first = np.stack([a0 * by_shape, p * a0 - b0 * by_b.sum(axis=1)], axis=1)
        curvature = np.empty((len(logs), 2, 2))
        trigamma = self._sum(zeta(2.0, distinct)) - p * zeta(2.0, a0)
        curvature[:, 0, 0] = 1.0 / self.width[0] ** 2 - first[:, 0] - a0**2 * trigamma
        curvature[:, 1, 1] = 1.0 / self.width[1] ** 2 - b0**2 * np.sum(by_b / b, axis=1) + b0 * by_b.sum(axis=1)
        curvature[:, 0, 1] = curvature[:, 1, 0] = -a0 * b0 * (p / b0 - np.sum(1.0 / b, axis=1))
        return 0.5 * np.sum(deviation**2, axis=1) - evidence, deviation / self.width - first, curvature

    def _sum(self, by_number: Array) -> Array:
        """Sums over blocks of a function of their numbers of rows, shape (T,)."""
        return np.sum(self.times * by_number, axis=1)


def _damped_steps(gradient: Array, curvature: Array, damping: Array) -> Array:
    """Newton's steps (T, 2), with as much damping (T,) as it takes to go down."""
    a, b, c = curvature[:, 0, 0], curvature[:, 0, 1], curvature[:, 1, 1]
    first, second = gradient.T
    # The lowest eigenvalue, and the matrix with the damping, in closed form: the functions for matrices take longer.
    lowest = 0.5 * (a + c) - np.hypot(0.5 * (a - c), b)
    most = np.maximum(np.maximum(np.abs(a), np.abs(b)), np.abs(c))
    damping = np.maximum(np.maximum(damping, 0.0), 1e-6 * most - lowest)
    a, c = a + damping, c + damping
    step = np.stack([c * first - b * second, a * second - b * first], axis=1) / (a * c - b * b)[:, None]
    return np.clip(step, -MOST_NEWTON_STEP, MOST_NEWTON_STEP)
