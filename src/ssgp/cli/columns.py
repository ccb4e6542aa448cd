"""Which columns of a table play which part in a fit."""

from collections.abc import Sequence
from dataclasses import dataclass

from ssgp._utils.names import hint, listed
from ssgp.cli.errors import WrongUsage

__all__ = ["ColumnRoles", "check_column", "choose_columns", "split_names"]


@dataclass(frozen=True)
class ColumnRoles:
    """Parts that columns play.

    Attributes
    ----------
    target : str
        What is predicted.
    features : list of str
        What it is predicted from, in the order of the table.
    key : list of str
        What names a row: not learned from, kept beside predictions.
    weight : str or None
        How many rows a row counts for.
    """

    target: str
    features: list[str]
    key: list[str]
    weight: str | None

    @property
    def used(self) -> list[str]:
        """Columns that a fit reads."""
        return [*self.features, self.target, *([] if self.weight is None else [self.weight])]


def split_names(values: Sequence[str], names: Sequence[str]) -> list[str]:
    """Names separated by commas, unless a column has commas in its name.

    Examples
    --------
    >>> split_names(["a, b", "c,d"], ["a", "b", "c,d"])
    ['a', 'b', 'c,d']
    """
    parts = [[value] if value in names else [part.strip() for part in value.split(",")] for value in values]
    return [name for part in parts for name in part if name]


def check_column(option: str, name: str, names: Sequence[str]) -> str:
    """A column that is there, or an error that names the option."""
    if name not in names:
        raise WrongUsage(f"{option}: there is no column {name!r}{hint(name, names)}; there are {listed(names)}")
    return name


def choose_columns(
    names: Sequence[str],
    target: str,
    features: Sequence[str],
    exclude: Sequence[str],
    key: Sequence[str],
    weight: str | None,
) -> ColumnRoles:
    """Parts of the columns `names`, from what a user asked for; without features, all others are features."""
    check_column("--target", target, names)
    given = {"--features": features, "--exclude": exclude, "--key": key, "--weight": [weight] if weight else []}
    asked = {option: split_names(values, names) for option, values in given.items()}
    for option, columns in asked.items():
        for name in columns:
            check_column(option, name, names)
    taken = {target: "--target", **{name: option for option in ("--key", "--weight") for name in asked[option]}}
    for option in ("--features", "--key", "--weight"):
        _check_apart(option, asked[option], {name: other for name, other in taken.items() if other != option})
    wanted = set(asked["--features"] or names) - set(taken) - set(asked["--exclude"])
    chosen = [name for name in names if name in wanted]
    if not chosen:
        raise WrongUsage(f"no column is left to learn from: the table has {listed(names)}")
    return ColumnRoles(target, chosen, asked["--key"], weight)


def _check_apart(option: str, columns: Sequence[str], taken: dict[str, str]) -> None:
    for name in columns:
        if name in taken:
            raise WrongUsage(f"{option}: column {name!r} is also given as {taken[name]}; it can be only one of them")
