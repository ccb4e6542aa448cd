"""How far a regression tree grows, wherever it is grown."""

from dataclasses import dataclass

__all__ = ["TreeSize"]


@dataclass(frozen=True)
class TreeSize:
    """Leaves of a tree at most, and rows of a leaf at least."""

    most_leaves: int
    least_rows: int
