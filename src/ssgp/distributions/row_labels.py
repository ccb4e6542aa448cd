"""What users say of rows that belong together: their groups, or their times, as numbers."""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length

from ssgp._utils.arrays import Array
from ssgp._utils.checks import GroupNumbers, check_blocks
from ssgp._utils.foreign_arrays import on_host
from ssgp.distributions.table_regressor import Encoder
from ssgp.tables.encoder import TableEncoder
from ssgp.tables.row_times import row_times, time_column

__all__ = ["BatchLabels", "LabelKind", "RowLabels"]

LabelKind = Literal["groups", "time"]
# What a batch may have.
PARTS = ("X", "y", "sample_weight", "groups", "time")


class RowLabels:
    """Labels of a table's rows, which come at once or in parts.

    Parameters
    ----------
    encoder : "auto", TableEncoder or None
        A regressor's: it may say how dates are read.

    Attributes
    ----------
    kind : "groups", "time" or None
        What the labels are, None where there are none.
    """

    def __init__(self, encoder: Encoder) -> None:
        self.kind: LabelKind | None = None
        self._dates = encoder.dates if isinstance(encoder, TableEncoder) else "auto"
        self._groups = GroupNumbers()

    def of(self, X: ArrayLike, groups: ArrayLike | None, time: ArrayLike | None) -> Array | None:
        """Numbers of the labels of rows X, (n,), of which one sort or none is given."""
        if groups is not None and time is not None:
            raise ValueError(
                "groups and time are both given, and rows are held out by one: where rows of a group are close in "
                "time, time alone will do"
            )
        if groups is not None:
            self.kind = "groups"
            return self._groups.of(check_blocks(groups, X, "groups", "group")).astype(float)
        if time is not None:
            self.kind = "time"
            return _checked_times(time, X, self._dates)
        return None

    def check(self) -> None:
        """Refuse labels that are the same for all rows."""
        if self.kind == "groups":
            self._groups.check()


class BatchLabels(RowLabels):
    """Labels of rows that come in batches (X, y, sample_weight, groups, time), the last ones None or left out."""

    def numbered(self, batches: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        """The batches as (X, y, sample_weight, label), those without labels and broken ones as they are."""
        for number, batch in enumerate(batches):
            if isinstance(batch, tuple | list) and len(batch) <= len(PARTS):
                batch = [on_host(part) for part in batch]
                parts = [*batch, *[None] * (len(PARTS) - len(batch))]
                label = self._of_batch(number, parts[0], parts[3], parts[4])
                yield tuple(batch[:3]) if label is None else (*parts[:3], label)
            else:
                yield batch
        self.check()

    def _of_batch(self, number: int, X: Any, groups: Any, time: Any) -> Array | None:  # noqa: ANN401
        """Labels of a batch, of the same sort as of those before it."""
        before = self.kind
        try:
            label = self.of(X, groups, time)
        except ValueError as error:
            raise ValueError(f"batch {number}: {error}") from error
        if number and (self.kind != before or (label is None and before is not None)):
            found = "no labels" if label is None else self.kind
            raise ValueError(f"batch {number} has {found}, and those before it have {before or 'none'}")
        return label


def _checked_times(time: ArrayLike, X: ArrayLike, dates: str) -> Array:
    """Times as numbers, all there."""
    column = time_column(on_host(time), "time")
    times = row_times(column, "time", dates)
    check_consistent_length(times, X)
    missing = np.isnan(times)
    if missing.any():
        raise ValueError(
            f"time is missing in row {int(np.argmax(missing))} ({int(missing.sum()):,} of {len(times):,} rows); every "
            "row needs its time: drop these rows, or fill in when they were"
        )
    return times
