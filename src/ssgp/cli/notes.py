"""What `ssgp fit` notes in the file of a model. Python may note anything else there, or nothing."""

from typing import Any

__all__ = ["Notes"]

OWN = {
    "target",
    "target_holds",
    "target_mean",
    "target_deviation",
    "key",
    "weight",
    "n_rows",
    "n_rows_without_target",
    "n_rows_without_weight",
    "fit_seconds",
}


class Notes:
    """Notes of a file, those of `ssgp fit` by name; what is not there, or not what it should be, is None.

    Parameters
    ----------
    noted : object
        As the file has it; None where it has none.
    """

    def __init__(self, noted: Any) -> None:  # noqa: ANN401  whatever was saved
        self._noted: dict[str, Any] = noted if isinstance(noted, dict) else {}

    @property
    def target(self) -> str | None:
        """Column that is predicted."""
        return self._text("target")

    @property
    def target_holds(self) -> str | None:
        """What that column held, in words."""
        return self._text("target_holds")

    @property
    def moments(self) -> tuple[float, float] | None:
        """Mean and deviation of the target in training."""
        mean, deviation = self._number("target_mean"), self._number("target_deviation")
        return None if mean is None or deviation is None else (mean, deviation)

    @property
    def n_rows(self) -> float | None:
        """Rows that were learned from."""
        return self._number("n_rows")

    @property
    def key(self) -> list[str]:
        """Columns that name a row."""
        found = self._noted.get("key")
        return found if isinstance(found, list) and all(isinstance(name, str) for name in found) else []

    @property
    def others(self) -> dict[str, Any]:
        """What others noted."""
        return {name: value for name, value in self._noted.items() if name not in OWN}

    def _text(self, name: str) -> str | None:
        found = self._noted.get(name)
        return found if isinstance(found, str) else None

    def _number(self, name: str) -> float | None:
        found = self._noted.get(name)
        return found if isinstance(found, int | float) else None
