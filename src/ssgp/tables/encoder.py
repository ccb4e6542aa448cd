"""The encoder that turns a table of mixed columns into the numbers that regressors need."""

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp._utils.checks import check_target
from ssgp._utils.names import hint
from ssgp._utils.sampling import random_rows
from ssgp.saving.contents import list_of, made_of, mapping_of, optional, text
from ssgp.saving.mixin import SaveMixin, stored_estimator
from ssgp.tables.arrow_columns import ONE_ROW, UNNAMED, Column, family, is_array, named_arrow_errors, to_table
from ssgp.tables.batches import ReadBatches, RowSelection, TableBatches
from ssgp.tables.donors import Donors, n_donors
from ssgp.tables.encoding_fit import KINDS, ColumnFitter
from ssgp.tables.encodings import ColumnEncoding, Dropped, Number, OneHot, Ordinal, TargetMeans, Time, unknown_values
from ssgp.tables.input_warnings import tell_unknown, tell_unreadable, warn_of_unread_dates
from ssgp.tables.text_reading import ORDERS, READINGS, read_as, read_text, unread_dates

__all__ = ["TableEncoder"]

# Characters of a value that an error shows.
LONGEST_EXAMPLE = 40
# Settings that files of earlier versions have not, and what they were.
ADDED_SETTINGS = (("dates", "auto"), ("kept_rows", 500))


def _check_columns(parts: Any) -> Iterator[tuple[bool, str]]:  # noqa: ANN401
    names = [column.name for column in parts.columns_]
    yield len(names) == parts.n_features_in_, "there must be an encoding for each column"
    yield sorted(names) == sorted(parts._families), "columns and their families must have the same names"
    given = parts.feature_names_in_
    yield given is None or [*given] == names, "columns must have the names that they had in fit"
    yield parts._readings is None or set(parts._readings) <= set(names), "text that is read must be of columns"
    yield any(not isinstance(column, Dropped) for column in parts.columns_), "a column must be left"
    n_features = sum(len(column.feature_names()) for column in parts.columns_)
    yield parts._donors is None or parts._donors.rows.shape[1] == n_features, "donors must have all features"


@stored_estimator(
    {
        "columns_": list_of(made_of(Dropped, Number, OneHot, Ordinal, TargetMeans, Time), least=1),
        "_families": mapping_of(text()),
    },
    optional_parts={"_readings": mapping_of(text(*READINGS)), "_donors": made_of(Donors)},
    settings={"kinds": optional(mapping_of(text()))},
    relations=_check_columns,
)
class TableEncoder(SaveMixin, TransformerMixin, BaseEstimator):
    """Turn a table of numbers, times, categories and missing values into floats.

    Numbers, truth values and durations (in seconds) stay as they are. Dates and times become points on circles for the
    hour of day, day of week and day of year, if these vary, and days since the first. If a column has few categories,
    each becomes a feature; many categories become the smoothed mean of the target in each, cross-fitted in
    `fit_transform` so that no row sees its own target. Missing values (null, NaN, the empty string) are imputed by the
    median, with an indicator if there were some in `fit`. Text that reads as dates or numbers becomes dates or numbers.
    Ordered categories become their positions in the order. Uninformative columns are dropped: constant ones, empty
    ones, and text that differs in nearly every row. `describe` says what became of every column.

    Weights are not used: every row counts once in medians, in means of the target and in what is dropped. Leave out
    rows of weight zero beforehand.

    New categories and missing values are fine in `transform`. A column that is missing, renamed or of another type is
    an error that names it, as is infinity. Columns that were not there in `fit` are ignored.

    Parameters
    ----------
    kinds : dict of str, default=None
        How to encode columns, by name, to override the choice by type: ``"number"``, ``"time"``, ``"category"`` or
        ``"drop"``.
    dates : {"auto", "dayfirst", "monthfirst"}, default="auto"
        How to read dates in text with the year last, such as 3/4/2025. By default, days beyond the twelfth, or dots,
        decide; if they do not, the column holds categories. Dates in ISO 8601 need no setting.
    max_one_hot : int, default=10
        Maximum number of categories that become one feature each.
    smooth : "auto" or float, default="auto"
        Weight of the mean of all rows in the mean of a category, in rows; see scikit-learn's `TargetEncoder`.
    cv : int, default=5
        Number of folds of cross-fitting.
    max_rows : int, default=500,000
        Maximum number of rows that encodings are fitted to: for a larger table, a random sample, and only the sample is
        cross-fitted.
    random_state : int or None, default=0
        Seed of the folds and of the sample.
    kept_rows : int, default=500
        Maximum number of random rows of `fit` to keep, encoded, and to save with a model: regressors fill in unknown
        values of new rows from them. With 0, no rows are kept, and a median or a mean stands for unknown values.

    Attributes
    ----------
    columns_ : list of ColumnEncoding
        Encodings of the columns.
    families_ : dict of str
        What each column held: ``"numbers"``, ``"text"``, ``"times"``, ...
    n_features_in_, feature_names_in_
        As in every scikit-learn estimator.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from ssgp import TableEncoder
    >>> table = pa.table({"kind": ["a", "b", None, "a"], "size": [1.0, None, 3.0, 4.0], "unit": ["m"] * 4})
    >>> encoder = TableEncoder().fit(table)
    >>> print(encoder.describe())
    kind: 2 categories, one feature each; 1 of 4 missing, a category of their own
    size: numbers as they are; 1 of 4 missing, imputed by 3 with an indicator
    unit: dropped: always 'm'
    >>> encoder.transform(table)[1].tolist()
    [0.0, 1.0, 0.0, 3.0, 1.0]
    """

    _parameter_constraints: ClassVar[dict[str, list | str]] = {
        "kinds": [dict, None],
        "dates": [StrOptions({"auto", *ORDERS})],
        "max_one_hot": [Interval(Integral, 0, None, closed="left")],
        "smooth": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "max_rows": [Interval(Integral, 1, None, closed="left")],
        "random_state": [Interval(Integral, 0, None, closed="left"), None],
        "kept_rows": [Interval(Integral, 0, None, closed="left")],
    }

    columns_: list[ColumnEncoding]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _families: dict[str, str]
    _readings: dict[str, str]
    _donors: Donors

    def __init__(
        self,
        *,
        kinds: dict[str, Literal["number", "time", "category", "drop"]] | None = None,
        dates: Literal["auto", "dayfirst", "monthfirst"] = "auto",
        max_one_hot: int = 10,
        smooth: float | Literal["auto"] = "auto",
        cv: int = 5,
        max_rows: int = 500_000,
        random_state: int | None = 0,
        kept_rows: int = 500,
    ) -> None:
        self.kinds = kinds
        self.dates = dates
        self.max_one_hot = max_one_hot
        self.smooth = smooth
        self.cv = cv
        self.max_rows = max_rows
        self.random_state = random_state
        self.kept_rows = kept_rows

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:  # noqa: ANN401
        """Fit the encodings of a table's columns; see `fit_transform`."""
        self._fit(X, y)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Any, y: ArrayLike | None = None) -> Array:  # noqa: ANN401
        """Fit the encodings of a table's columns, and encode it without letting a row see its own target.

        Parameters
        ----------
        X : pandas, polars or Arrow table, or array of numbers, of shape (n, d)
            The table.
        y : array-like of shape (n,), optional
            Targets; needed if a column has more categories than `max_one_hot`.

        Returns
        -------
        array of shape (n, k)
            The table as floats. For columns of many categories these are not those of ``fit(X, y).transform(X)``.
        """
        return self._fit(X, y)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_encoded(self, X: Any, y: ArrayLike | None = None) -> Array:  # noqa: ANN401
        """`fit_transform`, whose answer is an array whatever `set_output` says."""
        return self._fit(X, y)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform_batches(self, read: ReadBatches, n_rows: int | None = None) -> Iterator[tuple[Any, ...]]:
        """Fit to a table larger than memory, and encode it batch by batch, as `fit_transform` would encode it at once.

        At most `max_rows` random rows and one batch are in memory together. The encoder is fitted when this returns;
        batches are encoded one after another, as you iterate.

        Parameters
        ----------
        read : callable
            Returns the batches of the table: tuples ``(X, y)`` or ``(X, y, sample_weight)`` of a table as `fit` takes
            it, its targets, and its weights, which the encoder passes on. It is called twice, or three times if
            `n_rows` is not given, and must return the same batches each time.
        n_rows : int, optional
            Number of rows of all batches together; counted if not given.

        Returns
        -------
        iterator of tuple
            The batches with the table as floats, an array of shape (m, k) for m rows, and everything else unchanged:
            what `SpectralForestRegressor.fit_batches` takes. Batches without rows are left out.

        Examples
        --------
        >>> import numpy as np
        >>> import pyarrow as pa
        >>> from sklearn.pipeline import make_pipeline
        >>> from ssgp import SpectralForestRegressor, TableEncoder
        >>> rng = np.random.default_rng(0)
        >>> town = rng.integers(20, size=600)
        >>> table = pa.table({"town": [f"town {i}" for i in town], "rent": town + rng.normal(size=600)})
        >>> def read():
        ...     for start in range(0, 600, 100):
        ...         part = table.slice(start, 100)
        ...         yield part.select(["town"]), part["rent"]
        >>> encoder, forest = TableEncoder(), SpectralForestRegressor(2, max_iter=20, random_state=0)
        >>> model = make_pipeline(encoder, forest.fit_batches(encoder.fit_transform_batches(read)))
        >>> print(encoder.describe())
        town: 20 categories as the target's mean in each, smoothed
        >>> bool(abs(model.predict(pa.table({"town": ["town 7"]}))[0] - 7) < 1)
        True
        """
        batches = TableBatches(read, n_rows)
        sample = self.sampled_rows(batches.n_rows)
        table, target = batches.take(sample)
        encoded_sample = self._fit_sample(table, target, batches.named)
        return self._encode_batches(batches, sample, encoded_sample)

    def sampled_rows(self, n_rows: int) -> Indices:
        """Numbers of the rows that encodings are fitted to in a table of `n_rows` rows, ascending."""
        if n_rows <= self.max_rows:
            return np.arange(n_rows)
        return np.sort(random_rows(n_rows, self.max_rows, self.random_state))

    def _fit(self, X: Any, y: ArrayLike | None) -> Array:  # noqa: ANN401
        table, named = to_table(X), not is_array(X)
        if not (table.num_rows and table.num_columns):
            raise ValueError(
                f"Found array with {table.num_rows} sample(s) and {table.num_columns} feature(s) "
                f"(shape={table.shape}) while a minimum of 1 is required: X has no rows or no columns"
            )
        target = None if y is None else check_target(y, cast(Any, table))
        sample = self.sampled_rows(table.num_rows)
        if len(sample) == table.num_rows:
            return self._fit_sample(table, target, named)
        encoded_sample = self._fit_sample(table.take(sample), None if target is None else target[sample], named)
        encoded = self._encode(table, told=True)
        encoded[sample] = encoded_sample
        return encoded

    def _fit_sample(self, table: pa.Table, target: Array | None, named: bool) -> Array:
        """Fit to these rows, and encode them, cross-fitted."""
        kinds = self._checked_kinds(table)
        table, readings = _read_texts(table, kinds, self.dates)
        columns, encoded = self._fit_columns(table, target, kinds)
        self.columns_, self._readings = columns, readings
        self.n_features_in_ = table.num_columns
        self._families = {field.name: family(field.type) for field in table.schema}
        vars(self).pop("feature_names_in_", None)
        if named:
            self.feature_names_in_ = np.array(table.column_names, dtype=object)
        # Encoded as new rows are: without cross-fitting.
        chosen = random_rows(table.num_rows, n_donors(encoded.shape[1], self.kept_rows), self.random_state)
        vars(self).pop("_donors", None)
        if len(chosen):
            self._donors = Donors(self._encode(table.take(chosen), told=True))
        return encoded

    def _encode_batches(
        self, batches: TableBatches, sample: Indices, encoded_sample: Array
    ) -> Iterator[tuple[Any, ...]]:
        """Encoded batches, the rows of the sample as they were cross-fitted."""
        selection, n_before = RowSelection(sample), 0
        for table, others in batches:
            sampled = selection.next_batch(table.num_rows)
            n_sampled = int(sampled.sum())
            encoded = self._encode(table, told=True)
            encoded[sampled] = encoded_sample[n_before : n_before + n_sampled]
            n_before += n_sampled
            yield encoded, *others

    def _fit_columns(
        self, table: pa.Table, target: Array | None, kinds: dict[str, str]
    ) -> tuple[list[ColumnEncoding], Array]:
        """Encodings of the columns, and these rows encoded by them, cross-fitted."""
        fitter = ColumnFitter(target, self.max_one_hot, self.smooth, self.cv, self.random_state)
        fitted = [fitter(table.column(name), name, kinds.get(name)) for name in table.column_names]
        columns = [encoding for encoding, _ in fitted]
        if all(isinstance(column, Dropped) for column in columns):
            reasons = "; ".join(f"{column.name}: {column.describe()}" for column in columns)
            raise ValueError(f"no column of X is left to learn from, n_samples={table.num_rows} ({reasons})")
        return columns, np.column_stack([encoded for _, encoded in fitted])

    def transform(self, X: Any) -> Array:  # noqa: ANN401
        """Encode a table, row by row: parts of it give the same as the whole.

        Parameters
        ----------
        X : pandas, polars or Arrow table, or array of numbers, of shape (n, d)
            The table, with the columns of `fit` in any order.

        Returns
        -------
        array of shape (n, k)
            The table as floats. A median or a mean stands for values that `fit` never saw, and a warning says so.
        """
        rows = self.encoded(X)
        tell_unknown(*self._unknown(X, replaced=False)[1:], filled=False)
        return rows

    def encoded(self, X: Any) -> Array:  # noqa: ANN401
        """Rows as `transform` gives them, as an array whatever `set_output` says, and without its warning."""
        check_is_fitted(self, "columns_")
        named = hasattr(self, "feature_names_in_")
        if named and is_array(X):
            if getattr(X, "ndim", 2) == 1:
                raise ValueError(f"X must be a table, got {type(X).__name__}: a row of a pandas table is {ONE_ROW}")
            raise ValueError(UNNAMED)
        table = to_table(X, self._names_in_fit)
        if not named and table.num_columns != self.n_features_in_:
            raise ValueError(
                f"X has {table.num_columns} features, but TableEncoder is expecting {self.n_features_in_} "
                "features as input"
            )
        return self._encode(table)

    def _encode(self, table: pa.Table, told: bool = False) -> Array:
        """Rows as floats; of text that is no number, the user may have been `told`."""
        used = [column for column in self.columns_ if not isinstance(column, Dropped)]
        return np.column_stack([self._encode_column(table, column, told) for column in used])

    def _encode_column(self, table: pa.Table, encoding: ColumnEncoding, told: bool) -> Array:
        with named_arrow_errors(encoding.name):
            return encoding.encode(self._column(table, encoding.name, told))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Names of the features, each beginning with that of its column.

        `input_features` is there for scikit-learn; the names are those of the table in `fit`.
        """
        check_is_fitted(self, "columns_")
        return np.array(_distinct([name for column in self.columns_ for name in column.feature_names()]), dtype=object)

    def feature_columns(self) -> list[str]:
        """Names of the columns that the features come from, one per feature."""
        check_is_fitted(self, "columns_")
        return [column.name for column in self.columns_ for _ in column.feature_names()]

    @property
    def families_(self) -> dict[str, str]:
        """What each column of the table held in `fit`, in words: numbers, text, times, ..."""
        check_is_fitted(self, "columns_")
        return dict(self._families)

    def describe(self) -> str:
        """Description of the encodings, one line per column."""
        check_is_fitted(self, "columns_")
        return "\n".join(f"{column.name}: {column.describe()}" for column in self.columns_)

    def _checked_kinds(self, table: pa.Table) -> dict[str, str]:
        for name, kind in (self.kinds or {}).items():
            if kind not in KINDS:
                raise ValueError(f"kinds[{name!r}] must be one of {', '.join(map(repr, KINDS))}, got {kind!r}")
            if name not in table.column_names:
                raise ValueError(f"kinds has {name!r}, and X has no such column{hint(name, table.column_names)}")
        return dict(self.kinds or {})

    @property
    def _names_in_fit(self) -> set[str]:
        return {column.name for column in self.columns_}

    def _column(self, table: pa.Table, name: str, told: bool = False) -> Column:
        """A column of a table; an error if it is missing, or holds something else than in fit."""
        if name not in table.column_names:
            columns = ", ".join(map(repr, table.column_names)) or "none"
            raise ValueError(
                f"column {name!r} is missing: it was there in fit{hint(name, table.column_names)}. "
                f"Columns of X: {columns}"
            )
        column, expected = table.column(name), self._families[name]
        # A column without values has no certain type in some tables.
        if column.null_count == len(column):
            return pa.chunked_array([pa.nulls(len(column))])
        if family(column.type) == "text" and expected in READINGS:
            column = self._read_again(column, name, told)
        if family(column.type) not in (expected, "nothing"):
            example = (
                f", such as {str(column.drop_null()[0])[:LONGEST_EXAMPLE]!r}" if family(column.type) == "text" else ""
            )
            raise ValueError(
                f"column {name!r} held {expected} in fit and holds {family(column.type)} ({column.type}){example} now"
            )
        return column

    def _read_again(self, column: Column, name: str, told: bool) -> Column:
        """Text in a column that held numbers, times or truth values in fit, as those; as it is where it is none."""
        how, was_text = self._readings.get(name, self._families[name]), name in self._readings
        reading = read_as(column, how) or read_text(column, self.dates)
        if reading is None or family(reading.values.type) not in ("nothing", self._families[name]):
            reading = read_as(column, how, gaps=True) if was_text else None
        if reading is None:
            return column
        if not told:
            tell_unreadable(name, reading)
        return reading.values

    def unknown_features(self, X: Any) -> Mask | None:  # noqa: ANN401
        """Features that rows of X do not tell, shape (n, k), None where they tell all; a warning names the columns.

        They are those of columns that are missing in a row and hardly ever were in fit, or that have a new category.
        """
        replaced = self.donors is not None
        masks, counts, n_rows = self._unknown(X, replaced)
        tell_unknown(counts, n_rows, replaced)
        if not any(counts.values()):
            return None
        n_features = [len(column.feature_names()) for column in self.columns_ if column.name in masks]
        return np.repeat(np.stack([*masks.values()], axis=1), n_features, axis=1)

    def _unknown(self, X: Any, replaced: bool) -> tuple[dict[str, Mask], dict[str, int], int]:  # noqa: ANN401
        """Rows that do not tell a column, (n,) each, by its name; how many these are; and the number of rows n."""
        table = to_table(X, self._names_in_fit)
        used = [column for column in self.columns_ if not isinstance(column, Dropped)]
        masks = {c.name: unknown_values(c, self._column(table, c.name, told=True), replaced) for c in used}
        return masks, {name: int(mask.sum()) for name, mask in masks.items()}, table.num_rows

    @property
    def donors(self) -> Donors | None:
        """Some rows of fit, from which unknown features are taken; None without `kept_rows`, and in earlier files."""
        return getattr(self, "_donors", None)

    def as_read(self, table: pa.Table) -> pa.Table:
        """An Arrow table whose text is numbers and times in the columns that held these in fit."""
        for name in set(table.column_names) & set(self._families):
            if family(table.schema.field(name).type) == "text" and self._families[name] in READINGS:
                table = table.set_column(table.column_names.index(name), name, self._column(table, name, told=True))
        return table

    @property
    def text_columns(self) -> list[str]:
        """Names of the columns that were text in fit and read as numbers, times or truth values."""
        return list(self._readings)

    def _stored_settings(self) -> dict[str, Any]:
        """Settings as files hold them, without those that earlier files have not where they are as these had them."""
        settings = super()._stored_settings()
        return {name: value for name, value in settings.items() if (name, value) not in ADDED_SETTINGS}

    def _stored_attributes(self) -> dict[str, Any]:
        """Attributes as files hold them: how text was read where there was some."""
        attributes = super()._stored_attributes()
        return {name: part for name, part in attributes.items() if name != "_readings" or part}

    def _restore_attributes(self, attributes: dict[str, Any]) -> None:
        """Take over what `_stored_attributes` gave."""
        super()._restore_attributes({"_readings": {}, **attributes})

    def _summary_entries(self) -> dict[str, Any]:
        return {"columns": [f"{column.name}: {column.describe()}" for column in self.columns_]}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _read_texts(table: pa.Table, kinds: dict[str, str], dates: str) -> tuple[pa.Table, dict[str, str]]:
    """The table with text that reads as numbers, times or truth values as these, and how it was read, by name."""
    readings: dict[str, str] = {}
    for i, field in enumerate(table.schema):
        chosen = kinds.get(field.name)
        if family(field.type) != "text" or pa.types.is_dictionary(field.type) or chosen not in (None, "time"):
            continue
        reading = read_text(table.column(i), dates)
        if reading is None and (unread := unread_dates(table.column(i))):
            warn_of_unread_dates(field.name, *unread)
        if reading is None or (chosen == "time" and family(reading.values.type) == "numbers"):
            continue
        tell_unreadable(field.name, reading)
        table = table.set_column(i, field.name, reading.values)
        readings[field.name] = reading.how
    return table, readings


def _distinct(names: list[str]) -> list[str]:
    """Names that are all different: a number is added to those that were there before."""
    counts: dict[str, int] = {}
    used, distinct = set(names), []
    for name in names:
        counts[name] = number = counts.get(name, 0) + 1
        new = name
        while number > 1 and (new := f"{name}_{number}") in used:
            number += 1
        used.add(new)
        distinct.append(new)
    return distinct
