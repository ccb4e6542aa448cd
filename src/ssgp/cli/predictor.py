"""Saved models as commands use them: from a table to predictions."""

import copy
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from ssgp._utils.column_errors import ExtremeValuesError, WeightError
from ssgp._utils.devices import DeviceName
from ssgp._utils.names import hint
from ssgp.cli.errors import CommandError, WrongUsage
from ssgp.cli.notes import Notes
from ssgp.distributions.pipeline import Pipeline, encoder_of, last_inputs, steps_of
from ssgp.distributions.recalibrated import RecalibratedRegressor
from ssgp.saving.model_files import read_summary
from ssgp.stored import load
from ssgp.tables.encoder import TableEncoder
from ssgp.tables.encodings import Dropped, OneHot, TargetMeans
from ssgp.tables.files import TableSource
from ssgp.tables.formats import Csv
from ssgp.tables.text_reading import READINGS

__all__ = ["Predictor", "check_model_file", "load_predictor"]


# Types as which text in a CSV file is read, by what the column held when the model was fitted.
CSV_TYPES = {
    "numbers": pa.float64(),
    "truth values": pa.bool_(),
    "times": pa.timestamp("us"),
    "times with a time zone": pa.timestamp("us", "UTC"),
    "times of day": pa.time32("s"),
    "text": pa.string(),
}
# Whole numbers up to this one are floats without rounding.
LARGEST_EXACT = 2**53


@dataclass(frozen=True)
class Predictor:
    """A fitted model that predicts the rows of a table.

    Attributes
    ----------
    model : estimator or Pipeline
        Any regressor of this library, or a pipeline of an encoder and one, as earlier versions saved.
    raw_notes : dict or None
        Notes that were saved with it.
    """

    model: Any
    raw_notes: dict[str, Any] | None = None

    @property
    def regressor(self) -> Any:  # noqa: ANN401
        """The regressor."""
        return steps_of(self.model)[-1]

    @property
    def encoder(self) -> TableEncoder | None:
        """Encoder of the columns; without one they have to be numbers."""
        return encoder_of(self.model)

    @property
    def notes(self) -> Notes:
        """Notes that `ssgp fit` saved, as far as there are any."""
        return Notes(self.raw_notes)

    @property
    def inputs(self) -> list[str]:
        """Columns that predictions need."""
        if self.encoder is None:
            return [str(name) for name in self.regressor.feature_names_in_]
        return [column.name for column in self.encoder.columns_ if not isinstance(column, Dropped)]

    @contextmanager
    def column_names_in_errors(self, target: str = "", weight: str | None = None) -> Iterator[None]:
        """Context in which errors have the names of columns, where the regressor's have numbers of features."""
        try:
            yield
        except ExtremeValuesError as error:
            column = f"the target {target!r}" if error.feature is None else f"column {error.column!r}"
            raise CommandError(
                f"{column} has values too extreme to standardise; drop those rows or transform the column"
            ) from error
        except WeightError as error:
            raise CommandError(f"--weight {weight}: {str(error).replace('sample_weight', 'the column')}") from error

    def with_fitted_types(self, source: TableSource, target: str | None = None) -> TableSource:
        """A table to predict, whose text is read as it was in fit; text that is no input or target stays as it is."""
        families = dict.fromkeys(source.column_names, "text") | dict.fromkeys(self.inputs, "numbers")
        if self.encoder is not None:
            families |= {name: self.encoder.families_[name] for name in self.inputs}
            families |= dict.fromkeys(set(self.encoder.text_columns) & set(self.inputs), "text")
        # As in other tables, text is read by the encoder: it may be written in another way than it was in fit.
        families |= dict.fromkeys([name for name in _text_columns(source) if families.get(name) in READINGS], "text")
        if target is not None:
            families[target] = self.notes.target_holds or "numbers"
        types = {name: CSV_TYPES.get(family, pa.string()) for name, family in families.items()}
        types |= dict.fromkeys([] if self.encoder is None else _large_codes(self.encoder), pa.int64())
        return source.with_types(types | _nanosecond_types(source, types))

    def encode(self, table: pa.Table) -> Any:  # noqa: ANN401  what regressors take
        """Inputs of the regressor, from a table that has the columns `inputs`."""
        return last_inputs(self.model, table.select(self.inputs))

    def with_regressor(self, regressor: Any) -> "Predictor":  # noqa: ANN401
        """The same model with another regressor at its end."""
        if not isinstance(self.model, Pipeline):
            return replace(self, model=regressor)
        *before, (name, _) = self.model.steps
        return replace(self, model=Pipeline([*before, (name, regressor)]))

    def with_jobs(self, jobs: int | None) -> "Predictor":
        """The same model, on so many threads."""
        return self if jobs is None else self.with_regressor(_with_setting(self.regressor, "n_jobs", jobs))

    def with_device(self, device: str | None) -> "Predictor":
        """The same model, on the processor or a GPU."""
        if device is None:
            return self
        if not DeviceName().is_satisfied_by(device):
            raise WrongUsage(f"--device: {device!r} is none; it can be cpu, cuda, cuda:1 for the second GPU, or auto")
        inner = _innermost(self.regressor)
        if "device" not in inner.get_params():
            raise WrongUsage(f"--device: a {type(inner).__name__} predicts by the processor; leave the option out")
        return self.with_regressor(_with_setting(self.regressor, "device", device))


def _text_columns(source: TableSource) -> list[str]:
    """Columns that are text at the beginning of a text file."""
    schemas = [file.schema({}) for file in source.files if isinstance(file.format, Csv)]
    return [field.name for schema in schemas for field in schema if field.type == pa.string()]


def _large_codes(encoder: TableEncoder) -> list[str]:
    """Columns of numbers that name things, with numbers too large to be told apart as floats."""
    return [
        column.name
        for column in encoder.columns_
        if isinstance(column, OneHot | TargetMeans)
        and encoder.families_[column.name] == "numbers"
        and any(code.lstrip("-").isdecimal() and abs(int(code)) > LARGEST_EXACT for code in column.categories)
    ]


def _nanosecond_types(source: TableSource, types: Mapping[str, pa.DataType]) -> dict[str, pa.DataType]:
    """Types of times with nanoseconds at the beginning of a file; others hold microseconds, which reach further."""
    times = {name: kind for name, kind in types.items() if pa.types.is_timestamp(kind)}
    schemas = [file.schema({}) for file in source.files] if times else []
    return {
        name: pa.timestamp("ns", kind.tz)
        for name, kind in times.items()
        if any(_has_nanoseconds(schema, name) for schema in schemas)
    }


def _has_nanoseconds(schema: pa.Schema, name: str) -> bool:
    kind = schema.field(name).type if name in schema.names else pa.null()
    return pa.types.is_timestamp(kind) and kind.unit == "ns"


def _with_setting(regressor: Any, name: str, value: Any) -> Any:  # noqa: ANN401
    """A copy with such a setting, where it has one: the model itself may be saved again, as it was."""
    copied = copy.copy(regressor)
    if isinstance(copied, RecalibratedRegressor):
        copied.regressor = _with_setting(copied.regressor, name, value)
    elif name in copied.get_params():
        copied.set_params(**{name: value})
    return copied


def _innermost(regressor: Any) -> Any:  # noqa: ANN401
    """The regressor that was recalibrated, or itself."""
    return _innermost(regressor.regressor) if isinstance(regressor, RecalibratedRegressor) else regressor


def check_model_file(path: str) -> None:
    """Raise an error that says which file may be meant, if there is none of that name."""
    if os.path.isdir(path):
        raise CommandError(f"{path!r} is a folder; give the file of a saved model")
    if not os.path.exists(path):
        folder, name = os.path.split(path)
        there = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
        raise CommandError(f"there is no model {path!r}{hint(name, there)}")


def load_predictor(path: str) -> Predictor:
    """Load a model that predicts tables."""
    check_model_file(path)
    model, notes = load(path), read_summary(path).get("notes")
    first, last = steps_of(model)[0], steps_of(model)[-1]
    if isinstance(last, TableEncoder):
        raise CommandError(f"{path!r} holds a {type(last).__name__}, which predicts nothing")
    if not hasattr(first, "feature_names_in_"):
        raise CommandError(
            f"{path!r} was fitted on an array without names, so that columns of a file cannot be told apart; "
            "fit it on a table, or with `ssgp fit`"
        )
    return Predictor(model, notes)
