"""How far a regression tree grows, wherever it is grown."""

from dataclasses import dataclass

__all__ = ["TreeSize"]


@dataclass(frozen=True)
class TreeSize:
    """Leaves of a tree at most, rows of a leaf at least, and cuts from the root to a leaf at most, None for any."""

    most_leaves: int
    least_rows: int
    most_depth: int | None = None
