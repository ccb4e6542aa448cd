"""Spectra of stationary kernels: prior distributions of the frequencies.

A Matern kernel of smoothness nu has a multivariate Student-t spectrum of 2 nu degrees of freedom
(Rasmussen and Williams 2006, eq. 4.15): a normal one whose deviation is itself random. Given that deviation,
one per frequency, everything stays normal and closed form.
"""

from math import inf

import numpy as np
from scipy.stats import chi2

from ssgp._utils.arrays import Array

__all__ = ["DEFAULT_KERNEL", "KERNELS", "tail_scales"]

# Smoothness nu of each kernel.
KERNELS = {
    "squared-exponential": inf,
    "matern-5/2": 2.5,
    "matern-3/2": 1.5,
    "matern-1/2": 0.5,
}
DEFAULT_KERNEL = "squared-exponential"


def tail_scales(kernel: str, n_frequencies: int) -> Array:
    """Factors of the prior deviations of m frequencies, shape (m, 1): all one for a normal spectrum.

    They are the quantiles of their distribution at (i + 1/2) / m: as even a sample of it as
    m numbers can be.
    """
    smoothness = KERNELS[kernel]
    if smoothness == inf:
        return np.ones((n_frequencies, 1), np.float32)
    levels = (np.arange(n_frequencies) + 0.5) / n_frequencies
    return np.sqrt(2.0 * smoothness / chi2.ppf(levels, 2.0 * smoothness))[:, None].astype(np.float32)
