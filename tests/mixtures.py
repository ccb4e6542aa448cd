"""Mixtures of Student-t distributions that tests share."""

from typing import Any

import numpy as np
from scipy.stats import t

from ssgp.distributions.student_mixture import StudentMixture


def mixture(rng, n=7, components=3):
    """Components of different places, widths and tails."""
    location, scale = rng.normal(size=(components, n)), rng.uniform(0.2, 3.0, size=(components, n))
    return StudentMixture(location, scale, rng.uniform(3.0, 40.0, size=(components, n)))


def random_mixtures(rng, n, components=4):
    """Components whose widths and tails differ little, so that few rows tell much."""
    location, scale = rng.normal(size=(components, n)), rng.uniform(0.5, 2.0, size=(components, n))
    return StudentMixture(location, scale, rng.uniform(4.0, 40.0, size=(components, n)))


def forest_like(rng, n):
    """Eight components per row, whose scales differ by a factor of a hundred and more."""
    location = 3.0 * rng.normal(size=(8, n))
    scale, dof = np.exp(1.2 * rng.normal(size=(8, n))), rng.uniform(2.4, 30.0, size=(8, n))
    return StudentMixture(location, scale, dof)


def components(mixture, row) -> list[Any]:
    """SciPy's distributions of one row."""
    return [t(mixture.dof[k, row], mixture.location[k, row], mixture.scale[k, row]) for k in range(len(mixture.dof))]
