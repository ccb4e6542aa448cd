"""The roles of columns in a fit: target, features, key, weight, group and time."""

from collections.abc import Sequence
from dataclasses import dataclass

from ssgp._utils.names import hint, listed
from ssgp.cli.errors import WrongUsage

__all__ = ["ColumnRoles", "check_column", "choose_columns", "split_names"]


@dataclass(frozen=True)
class ColumnRoles:
    """Roles of columns.

    Attributes
    ----------
    target : str
        Column that is predicted.
    features : list of str
        Columns that it is predicted from, in the order of the table.
    key : list of str
        Columns that name a row: not learned from, kept beside predictions.
    weight : str or None
        Column that tells how many rows a row counts for.
    group : str or None
        Column that tells which rows belong together.
    time : str or None
        Column that tells when a row was.
    """

    target: str
    features: list[str]
    key: list[str]
    weight: str | None
    group: str | None = None
    time: str | None = None

    @property
    def used(self) -> list[str]:
        """Columns that a fit reads, each once."""
        names = [*self.features, self.target, self.weight, self.group, self.time]
        return list(dict.fromkeys(name for name in names if name is not None))


def split_names(values: Sequence[str], names: Sequence[str]) -> list[str]:
    """Names separated by commas, unless a column has commas in its name.

    Examples
    --------
    >>> split_names(["a, b", "c,d"], ["a", "b", "c,d"])
    ['a', 'b', 'c,d']
    """
    parts = [
        [value] if value in names else [part.strip() for part in value.split(",") if part.strip()] for value in values
    ]
    return [name for part in parts for name in part]


def check_column(option: str, name: str, names: Sequence[str]) -> str:
    """The name, if there is such a column; otherwise an error that names the option."""
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
    group: str | None = None,
    time: str | None = None,
) -> ColumnRoles:
    """Roles of the columns `names`, as the options give them; without ``--features``, all others are features.

    The time is a feature too, and the group where ``--features`` names it.
    """
    if group is not None and time is not None:
        raise WrongUsage("--time: rows are held out by --group or by --time; give one of them")
    check_column("--target", target, names)
    texts = {"--features": features, "--exclude": exclude, "--key": key, "--weight": [weight] if weight else []}
    options = {option: split_names(values, names) for option, values in texts.items()}
    for option, columns in options.items():
        for name in columns:
            check_column(option, name, names)
    for option, name in {"--group": group, "--time": time}.items():
        if name is not None:
            check_column(option, name, names)
            _check_single_role(option, [name], {target: "--target", **dict.fromkeys(options["--weight"], "--weight")})
    no_features = {target: "--target", **{name: option for option in ("--key", "--weight") for name in options[option]}}
    for option in ("--features", "--key", "--weight"):
        others = {name: other for name, other in no_features.items() if other != option}
        _check_single_role(option, options[option], others)
    allowed = set(options["--features"] or set(names) - {group}) - set(no_features) - set(options["--exclude"])
    chosen = [name for name in names if name in allowed]
    if not chosen:
        raise WrongUsage(f"no column is left to learn from: the table has {listed(names)}")
    return ColumnRoles(target, chosen, options["--key"], weight, group, time)


def _check_single_role(option: str, columns: Sequence[str], others: dict[str, str]) -> None:
    """Raise if a column that an option names has another role; `others` are the options of columns."""
    for name in columns:
        if name in others:
            raise WrongUsage(f"{option}: column {name!r} is also given as {others[name]}; it can be only one of them")
