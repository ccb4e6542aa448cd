"""The table that a command fits a model to, where the workers of a cluster read it."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from ssgp._utils.progress import observed
from ssgp.cli.columns import ColumnRoles
from ssgp.cli.errors import CommandError
from ssgp.cli.progress_display import Display
from ssgp.cli.training_tables import LabelledRows, check_enough_rows
from ssgp.tables.arrow_columns import family
from ssgp.tables.files import TableSource
from ssgp.tables.formats import Parquet

__all__ = ["SharedTable", "check_shareable"]


def check_shareable(source: TableSource) -> None:
    """Refuse files that workers cannot read in parts."""
    for file in source.files:
        if not isinstance(file.format, Parquet):
            raise CommandError(
                f"{file.name!r} is {file.format.name}, and the workers of a cluster read Parquet files, which pandas, "
                "polars and Arrow can write"
            )


class SharedTable:
    """A table whose row groups are read by the workers of a cluster; all rows are learned from."""

    def __init__(
        self,
        source: TableSource,
        roles: ColumnRoles,
        client: Any,  # noqa: ANN401
        display: Display,
        waiting: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        from ssgp.dask.counting import count_targets
        from ssgp.dask.sources import TargetColumns

        self._path, self._client, self._waiting = source.name, client, waiting
        self._columns = TargetColumns(roles.target, roles.features, roles.weight, known_only=True)
        self.target_holds = family(source.schema([roles.target]).field(roles.target).type)
        with observed(display):
            counts = count_targets([self._path], self._columns, client, lambda *rows: display("row", *rows), **waiting)
        self.n_rows, self.n_missing, self.n_weightless = counts.n_rows, counts.n_missing, counts.n_weightless
        self.moments = counts.moments
        check_enough_rows(self.n_rows, counts.n_read, roles, source)

    @property
    def n_training(self) -> int:
        """Number of rows to learn from: all."""
        return self.n_rows

    def fit(self, model: Any, display: Display, fit_options: dict[str, Any]) -> None:  # noqa: ANN401
        """Fit a regressor to all rows."""
        from ssgp.dask.fitting import fit_columns

        fit_columns(model, self._path, self._columns, self._client, **fit_options, **self._waiting)

    def held_out(self) -> Iterator[LabelledRows]:
        """Rows held out of training: none."""
        yield from ()
