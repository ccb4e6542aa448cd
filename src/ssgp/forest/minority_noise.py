"""Noise of rows that are the fewer of two kinds: those with a gap, of a rare category, or with a flag of the user's.

Rows of a rare kind share their leaves with others, whose noise is taken for theirs. The sizes of their honest errors
say how much more, or less, they have.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp._utils.weights import MOST_SHARE_OF_ERRORS, limit_share
from ssgp._utils.wide import WIDE
from ssgp.forest.correction import Residuals
from ssgp.saving.contents import array, integer
from ssgp.saving.kinds import stored

__all__ = ["TELLING_ROWS", "MinorityNoise", "fit_minority_noise", "may_have_rare_kinds"]

# Kinds of at least so many rows whose errors are known, and of this share of them at most: others have their leaves.
LEAST_ROWS, MOST_SHARE = 20, 0.25
# Rows that tell, of larger tables.
TELLING_ROWS = 200_000
# Sizes of errors, in deviations of the leaves' noise, below which one is as good as another.
LEAST_SIZE = 0.01
# Their logarithms vary more than this, unless a few values are all there are: those of a normal error have 1.2.
LEAST_VARIANCE = 1e-3
# Deviation of the factors' logarithms, before any error is seen, and how sure a factor has to be, in its deviations.
PRIOR_DEVIATION, LEAST_SURE = 0.7, 4.0


def _form(parts: Any) -> Iterator[tuple[bool, str]]:  # noqa: ANN401
    yield len(parts.inputs) > 0, "there must be inputs"
    yield bool((parts.inputs < parts.n_inputs).all()), "inputs must be ones that there are"


@stored(
    {
        "inputs": array("int64", "k", least=0),
        "threshold": array("float64", "k"),
        "side": array("int64", "k", least=-1, most=1),
        "log_factor": array("float64", "k", least=-5.0, most=5.0),
        "n_inputs": integer(1),
    },
    relations=_form,
)
@dataclass(frozen=True)
class MinorityNoise:
    """Logarithms of factors of the noise's deviation, for rows of rare kinds.

    Attributes
    ----------
    inputs : int array of shape (k,)
        Inputs of two values.
    threshold : array of shape (k,)
        What is between these.
    side : int array of shape (k,)
        Where the fewer rows are: 1 above it, -1 below.
    log_factor : array of shape (k,)
        The logarithms, which add up for rows that are of several rare kinds.
    n_inputs : int
        d.
    """

    inputs: Indices
    threshold: Array
    side: Indices
    log_factor: Array
    n_inputs: int

    def __call__(self, X: Array) -> Array:
        """Logarithms of the factors for standardised rows X (n, d), shape (n,)."""
        return np.einsum("nk,k->n", _are_rare(X, self.inputs, self.threshold, self.side), self.log_factor)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(part.nbytes for part in (self.inputs, self.threshold, self.side, self.log_factor))


def fit_minority_noise(learned: Sequence[Residuals]) -> MinorityNoise | None:
    """Factors for the rare kinds whose errors are surely larger or smaller, None where there is none.

    They are learned from errors of rows that trees were fitted to, each left out, in several sets.
    """
    X, n_inputs = np.concatenate([part.X for part in learned]), learned[0].X.shape[1]
    kinds = _rare_kinds(X) if len(X) > 0 and n_inputs <= WIDE else None
    if kinds is None:
        return None
    inputs, threshold, side = kinds
    size = np.log(np.maximum(np.abs(np.concatenate([part.standardized() for part in learned])), LEAST_SIZE))
    weights = [part.weight for part in learned if part.weight is not None]
    weight = limit_share(np.concatenate(weights), MOST_SHARE_OF_ERRORS) if weights else np.ones(len(size))
    is_rare = _are_rare(X, inputs, threshold, side).astype(float)
    log_factor, deviation = _regressed(is_rare, size, weight)
    sure = np.abs(log_factor) > LEAST_SURE * deviation
    if not sure.any():
        return None
    log_factor, _ = _regressed(is_rare[:, sure], size, weight)
    return MinorityNoise(inputs[sure], threshold[sure], side[sure], log_factor, n_inputs)


def may_have_rare_kinds(X: Array) -> bool:
    """Whether a table of which these are some rows (n, d) may have inputs of two values that are looked at."""
    return len(X) > 0 and X.shape[1] <= WIDE and bool(_have_two_values(X).any())


def _have_two_values(X: Array) -> Mask:
    """Whether each input of X (n, d) has at most two values, shape (d,)."""
    return ((X.min(axis=0) == X) | (X.max(axis=0) == X)).all(axis=0)


def _are_rare(X: Array, inputs: Indices, threshold: Array, side: Indices) -> Mask:
    """Whether rows X (n, d) are of each of k rare kinds, shape (n, k)."""
    return side * (X[:, inputs] - threshold) > 0


def _rare_kinds(X: Array) -> tuple[Indices, Array, Indices] | None:
    """Inputs of X (n, d) of two values, what is between these, and on which side fewer rows are; None for none."""
    low, high = X.min(axis=0), X.max(axis=0)
    two_values = _have_two_values(X) & (low < high)
    above = (high == X).sum(axis=0)
    fewer = np.minimum(above, len(X) - above)
    inputs = np.flatnonzero(two_values & (fewer >= LEAST_ROWS) & (fewer <= MOST_SHARE * len(X)))
    if not len(inputs):
        return None
    side = np.where(above[inputs] == fewer[inputs], 1, -1)
    return inputs, 0.5 * (low[inputs].astype(float) + high[inputs]), side


def _regressed(is_rare: Array, size: Array, weight: Array) -> tuple[Array, Array]:
    """Coefficients of rare kinds (n, k) in the log sizes of errors (n,), and their deviations, both of shape (k,)."""
    features = np.column_stack([is_rare, np.ones(len(size))])
    weighted = features * weight[:, None]
    precision = np.append(np.full(is_rare.shape[1], PRIOR_DEVIATION**-2), 0.0)
    variance = float(np.average((size - np.average(size, weights=weight)) ** 2, weights=weight))
    variance = max(variance, LEAST_VARIANCE)
    covariance = np.linalg.inv(weighted.T @ features / variance + np.diag(precision))
    coefficients = covariance @ (weighted.T @ size) / variance
    return coefficients[:-1], np.sqrt(np.diagonal(covariance)[:-1])
