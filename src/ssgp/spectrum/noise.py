"""Conjugate noise: one noise variance per block of rows, integrated out.

A block's noise variance v has the prior InvGamma(a0, b0), its weights the prior N(w0, v / ridge I).
With rss the penalised residual sum of squares of n rows, v | y ~ InvGamma(a0 + n/2, b0 + rss/2), and
predictions are Student-t.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import digamma, gammaln

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

    def loss(logs: Array) -> tuple[float, Array]:
        prior = NoisePrior(*np.exp(logs).tolist())
        a, b = prior.shape_after(n), prior.scale_after(rss)
        deviation = (logs - centre) / width
        grad_shape = np.sum(np.log(prior.scale) - np.log(b) + digamma(a) - digamma(prior.shape))
        grad_scale = np.sum(prior.shape / prior.scale - a / b)
        gradient = np.array([grad_shape * prior.shape, grad_scale * prior.scale]) - deviation / width
        return -float(np.sum(prior.log_evidence(n, rss))) + 0.5 * float(deviation @ deviation), -gradient

    bounds = [(c - 4 * w, c + 4 * w) for c, w in zip(centre, width, strict=True)]
    best = minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=bounds)
    return NoisePrior(*np.exp(best.x).tolist())
