"""A table that a saved model is judged by."""

from ssgp.cli.columns import check_column
from ssgp.cli.errors import WrongUsage
from ssgp.cli.predictor import Predictor
from ssgp.table_files import TableSource, check_columns, open_table

__all__ = ["open_judged"]


def open_judged(predictor: Predictor, model: str, data: str, target: str | None) -> tuple[TableSource, str]:
    """The table, read as it was in fit, and the name of its target; `model` is the model's file."""
    source = open_table(data)
    name = target or predictor.notes.get("target")
    if name is None:
        raise WrongUsage(f"--target: {model!r} does not say what it predicts; give the name of the column")
    check_column("--target", name, source.column_names)
    check_columns(predictor.inputs, source.column_names, f"{data!r} lacks a column that the model needs:")
    return predictor.typed(source, name), name
