"""Posteriors and a user's base distribution that tests share."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from ssgp.spectrum.parameters import Layout, Parameters


@dataclass(frozen=True)
class Shifted:
    """A user's base: neither standardised nor of independent components."""

    def sample(self, rng, size):
        z = rng.normal(0.3, 1.2, size=size)
        z[:, 1:] += 0.5 * z[:, :-1]
        return z

    def _independent(self, z):
        x = z.copy()
        for j in range(1, z.shape[-1]):
            x[..., j] = z[..., j] - 0.5 * x[..., j - 1]
        return x

    def log_density(self, z):
        return norm.logpdf(z - self._shift(z), 0.3, 1.2).sum(axis=-1)

    def _shift(self, z):
        shift = np.zeros_like(z)
        independent = np.zeros_like(z)
        independent[..., 0] = z[..., 0]
        for j in range(1, z.shape[-1]):
            shift[..., j] = 0.5 * independent[..., j - 1]
            independent[..., j] = z[..., j] - shift[..., j]
        return shift

    def score(self, z):
        raise AssertionError("the gradient of the bound does not need it")


def random_parameters(kind, rng, m=2, d=2):
    layout = Layout(m, d, 2 * m, kind)
    parameters = Parameters(layout, 0.3 * rng.normal(size=sum(layout.sizes)))
    if kind == "triangular":
        parameters.mixing[:] = np.tril(parameters.mixing, -1)
    if kind == "block":
        parameters.mixing[: layout.n_theta, layout.n_theta :] = 0
        parameters.mixing[layout.n_theta :, : layout.n_theta] = 0
    return parameters
