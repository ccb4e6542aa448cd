"""Columns that cannot be used: errors that know which, so that whoever catches them can tell it in other words."""

__all__ = ["ExtremeValuesError", "InfiniteValuesError", "UnusableTypeError", "WeightError"]


class InfiniteValuesError(ValueError):
    """A column of numbers with infinity in it."""

    def __init__(self, column: str, n_infinite: int, n_rows: int, first: int) -> None:
        super().__init__(column, n_infinite, n_rows, first)
        self.column = column

    def __str__(self) -> str:
        column, n_infinite, n_rows, first = self.args
        return (
            f"column {column!r} has infinity in {n_infinite} of {n_rows} rows, the first in row {first}; "
            "replace it by a number, or by a missing value"
        )


class UnusableTypeError(ValueError):
    """A column of a type that has no encoding."""

    def __init__(self, column: str, kind: str) -> None:
        super().__init__(column, kind)
        self.column, self.kind = column, kind

    def __str__(self) -> str:
        return (
            f"column {self.column!r} has the type {self.kind}, which is no number, time or category; "
            f"leave it out: kinds={{{self.column!r}: 'drop'}}"
        )


class ExtremeValuesError(ValueError):
    """Values that are infinite once they are standardised: of a feature, by its number, or of the target.

    `column` is the name of the feature's column, where it is known.
    """

    def __init__(self, feature: int | None, column: str | None = None) -> None:
        super().__init__(feature, column)
        self.feature, self.column = feature, column

    def __str__(self) -> str:
        if self.feature is not None:
            where = f"X has values in column {self.feature if self.column is None else repr(self.column)}"
            return f"Input {where} too extreme to standardise; drop or transform them first"
        return (
            "Input y has values too extreme to standardise: their deviation has to be from 1e-140 to 1e+140; drop or "
            "transform them first"
        )


class WeightError(ValueError):
    """Weights that cannot be numbers of rows; the message begins with `sample_weight`, where no batch comes before."""
