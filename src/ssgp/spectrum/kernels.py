"""Spectra of stationary kernels: how the prior of a frequency is spread around zero.

A Matern kernel of smoothness nu has a multivariate Student-t spectrum of 2 nu degrees of freedom
(Rasmussen and Williams 2006, eq. 4.15): a normal one whose deviation is itself random. Conditional on that deviation,
one for each frequency, everything stays normal and closed form.
"""

import numpy as np
from scipy.stats import chi2

from ssgp._utils.arrays import Array

__all__ = ["KERNELS", "tail_scales"]


KERNELS: dict[str, float | None] = {
    "squared-exponential": None,
    "matern-5/2": 2.5,
    "matern-3/2": 1.5,
    "matern-1/2": 0.5,
}


def tail_scales(kernel: str, n_frequencies: int) -> Array | None:
    """Factors of the m frequencies' prior deviations, shape (m, 1); None where all are one.

    They are the quantiles of their distribution at (i + 1/2) / m: as even a sample of it as
    m numbers can be.
    """
    smoothness = KERNELS[kernel]
    if smoothness is None:
        return None
    levels = (np.arange(n_frequencies) + 0.5) / n_frequencies
    return np.sqrt(2.0 * smoothness / chi2.ppf(levels, 2.0 * smoothness))[:, None].astype(np.float32)
