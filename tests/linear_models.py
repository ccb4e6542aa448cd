"""Feature maps and small tables that tests of the baselines' bound share."""

import numpy as np

from ssgp.baselines.feature_maps import InducingMap, SpectralMap, VariationalMap
from ssgp.rows.blocks import Rows

N, D = 30, 2
LENGTHS, SIGNAL = np.log([0.8, 1.5]), 0.3


def spectral(rng, learn=True):
    return SpectralMap(rng.normal(size=(4, D)), LENGTHS, SIGNAL, learn)


def variational(rng):
    centre, deviation, place = rng.normal(size=(5, D)), rng.normal(-1, 0.3, size=(5, D)), rng.normal(size=(5, D))
    return VariationalMap(centre, deviation, place, rng.normal(size=5), rng.normal(size=5), LENGTHS, SIGNAL)


def inducing(rng):
    return InducingMap(rng.normal(size=(5, D)), LENGTHS, SIGNAL)


MAPS = {
    "spectral": spectral,
    "fixed frequencies": lambda rng: spectral(rng, learn=False),
    "variational": variational,
    "inducing": inducing,
}


def table(rng, weighted, bounds=(0, 12, N)):
    """Rows of a smooth function in blocks of these bounds."""
    X = rng.normal(size=(N, D))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=N)
    return Rows(X, y, rng.uniform(0.5, 2.0, size=N) if weighted else None, np.array(bounds))


def normal_log_density(y, covariance):
    """Log density of a normal distribution of mean zero, by dense matrices."""
    solved = np.linalg.solve(covariance, y)
    return -0.5 * (y @ solved + np.linalg.slogdet(covariance)[1] + len(y) * np.log(2 * np.pi))
