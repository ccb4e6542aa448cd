"""Training rows whose values stand in for those that a new row does not tell."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import solve
from scipy.spatial.distance import cdist

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp.engine.threads import one_blas_thread
from ssgp.engine.tiles import product_in_tiles
from ssgp.saving.contents import array
from ssgp.saving.kinds import stored

__all__ = ["Donors", "n_donors"]

# Bytes of the rows that are kept at most, but for so few that they are no sample.
LEAST_DONORS = 40
MOST_BYTES = 4_000_000
# Rows that one row is filled from: of so many draws of a distribution, 90 % of further ones are between the ends.
N_FILLINGS = 20
# Ridge per donor of the standardised features, and deviations beyond which a feature tells no more.
RIDGE = 0.01
MOST_DEVIATIONS = 10.0


def n_donors(n_features: int, most: int) -> int:
    """Number of rows to keep, `most` of them or fewer where each has so many features that they are large."""
    return min(most, max(LEAST_DONORS, MOST_BYTES // (8 * n_features)))


@stored(
    {"rows": array("float64", "n", "d")},
    relations=lambda parts: [(len(parts.rows) > 0, "there must be a row")],
)
@dataclass(frozen=True)
class Donors:
    """Random training rows, from which features that a new row does not tell are taken.

    Attributes
    ----------
    rows : array of shape (n, d)
        The rows, encoded as new ones are.
    """

    rows: Array

    @property
    def n_fillings(self) -> int:
        """How many rows k a row with unknown features becomes."""
        return min(N_FILLINGS, len(self.rows))

    def fill(self, X: Array, unknown: Mask) -> Array:
        """Rows X (n, d) with the features that are `unknown` (n, d) taken from k donors, shape (k, n, d).

        All unknown features of a row come from one donor, for they may go together. The donors are those of which a
        linear model of the known features expects about the same unknown ones as of the row. Each row is filled
        without a look at the others.
        """
        filled = np.repeat(X[None], self.n_fillings, axis=0)
        patterns, pattern_of_row = np.unique(unknown, axis=0, return_inverse=True)
        for i, pattern in enumerate(patterns):
            places = np.flatnonzero(pattern_of_row.ravel() == i)
            donors = self._nearest(X[places], pattern)
            filled[:, places[:, None], np.flatnonzero(pattern)] = self.rows[donors][:, :, pattern]
        return filled

    def _nearest(self, X: Array, unknown: Mask) -> Indices:
        """Numbers of the donors for rows X (n, d), of which the same features (d,) are unknown, shape (k, n)."""
        donors = self._standardized(self.rows)
        known = donors[:, ~unknown]
        with one_blas_thread():
            slopes = _slopes(known, donors[:, unknown])
            expected = known @ slopes
            deviation = np.std(donors[:, unknown] - expected, axis=0)
            unit = np.where(deviation > 0.0, deviation, 1.0)
            rows = product_in_tiles(self._standardized(X)[:, ~unknown], slopes)
        distance = cdist(rows / unit, expected / unit, "sqeuclidean")
        return np.argpartition(distance, self.n_fillings - 1, axis=1)[:, : self.n_fillings].T

    def _standardized(self, rows: Array) -> Array:
        centre, scale = self._units
        return np.clip((rows - centre) / scale, -MOST_DEVIATIONS, MOST_DEVIATIONS)

    @cached_property
    def _units(self) -> tuple[Array, Array]:
        """Means and deviations of the features, shapes (d,)."""
        deviation = self.rows.std(axis=0)
        return self.rows.mean(axis=0), np.where(deviation > 0.0, deviation, 1.0)


def _slopes(known: Array, unknown: Array) -> Array:
    """Slopes (p, q) of q features in p others, of standardised rows (n, p) and (n, q), by ridge regression."""
    n_rows, n_known = known.shape
    ridge = RIDGE * n_rows
    # The smaller of two matrices that give the same.
    if n_known <= n_rows:
        return solve(known.T @ known + ridge * np.eye(n_known), known.T @ unknown, assume_a="pos")
    return known.T @ solve(known @ known.T + ridge * np.eye(n_rows), unknown, assume_a="pos")
