"""Notes that `ssgp fit` writes to the file of a model. Python may write other notes there, or none."""

import sys
from typing import Any

__all__ = ["Notes"]

FIT_NOTES = {
    "target",
    "target_holds",
    "target_mean",
    "target_deviation",
    "key",
    "missing",
    "weight",
    "group",
    "time",
    "n_rows",
    "n_rows_without_target",
    "n_rows_without_weight",
    # Of files that were written when it still was a note.
    "fit_seconds",
}


class Notes:
    """Notes of a file, those of `ssgp fit` by name; one that is missing, or of a wrong type, is None.

    Parameters
    ----------
    raw : object
        Notes as the file has them; None where it has none.
    """

    def __init__(self, raw: Any) -> None:  # noqa: ANN401  whatever was saved
        self._raw: dict[str, Any] = raw if isinstance(raw, dict) else {}

    @property
    def target(self) -> str | None:
        """Column that is predicted."""
        return self._text("target")

    @property
    def target_holds(self) -> str | None:
        """What the target's column held, in words."""
        return self._text("target_holds")

    @property
    def moments(self) -> tuple[float, float] | None:
        """Mean and deviation of the target in training."""
        mean, deviation = self._number("target_mean"), self._number("target_deviation")
        return None if mean is None or deviation is None else (mean, deviation)

    @property
    def n_rows(self) -> float | None:
        """Number of rows that were learned from."""
        return self._number("n_rows")

    @property
    def key(self) -> list[str]:
        """Columns that name a row."""
        return self._texts("key")

    @property
    def missing(self) -> list[str]:
        """Text that stood for missing values, besides what always does."""
        return self._texts("missing")

    @property
    def others(self) -> dict[str, Any]:
        """Notes that are not those of `ssgp fit`."""
        return {name: value for name, value in self._raw.items() if name not in FIT_NOTES}

    def _text(self, name: str) -> str | None:
        value = self._raw.get(name)
        return value if isinstance(value, str) else None

    def _texts(self, name: str) -> list[str]:
        values = self._raw.get(name)
        return values if isinstance(values, list) and all(isinstance(value, str) for value in values) else []

    def _number(self, name: str) -> float | None:
        value = self._raw.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return value if abs(value) <= sys.float_info.max else None
