"""What tasks do with a block of rows: read, check, count, encode. Pure functions, which can be run again anywhere."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.checks import WeightTotals, check_rows
from ssgp.dask.blocks import Block, Piece
from ssgp.forest.atom_choice import given_values
from ssgp.forest.estimator import SpectralForestRegressor
from ssgp.forest.targets import check_allowed
from ssgp.tables.arrow_columns import needs_encoding, selected_rows, to_table
from ssgp.tables.batches import TableBatches
from ssgp.tables.encoder import TableEncoder

__all__ = [
    "Columns",
    "Counts",
    "Encoded",
    "FittedEncoder",
    "Look",
    "RowReader",
    "count",
    "fit_encoder",
    "look",
    "raw_rows",
]

# Rows as models take them: inputs (n, d), targets (n,), weights (n,) or None.
Columns = tuple[Array, Array, Array | None]


class Encoded(NamedTuple):
    """Rows of a block that encodings were fitted to: their places among its rows, and their numbers, cross-fitted."""

    places: Indices
    values: Array


@dataclass(frozen=True)
class Counts:
    """What a block is, besides its rows; of several it adds up.

    Attributes
    ----------
    n_rows : int
        Rows that count.
    total : float
        How many rows they count for.
    extremes : tuple of float
        The least and the largest target.
    weights : WeightTotals or None
        Totals of the weights, None where there are none.
    names : tuple of str or None
        Names of the inputs.
    n_inputs : int
        Their number, zero where there are no rows.
    """

    n_rows: int = 0
    total: float = 0.0
    extremes: tuple[float, ...] = ()
    weights: WeightTotals | None = None
    names: tuple[str, ...] | None = None
    n_inputs: int = 0


@dataclass(frozen=True)
class Look:
    """What is seen at first: how many rows count, whether they have to be encoded and, where not, what they are."""

    n_rows: int
    to_encode: bool
    counts: Counts | None = None


@dataclass(frozen=True)
class RowReader:
    """Reads the rows of a block in numbers, checked as `fit_batches` checks them.

    Attributes
    ----------
    estimator : SpectralForestRegressor
        Not fitted; where columns are known it has their names and number.
    encoder : TableEncoder or None
        Fitted; None where rows are numbers as they are.
    atoms : tuple of float
        Targets whose rows are left out.
    """

    estimator: SpectralForestRegressor
    encoder: TableEncoder | None = None
    atoms: tuple[float, ...] = ()

    def __call__(self, block: Block, encoded: Encoded | None = None) -> Columns:
        """Inputs, targets and weights of the rows that count."""
        return self._columns(counted(block), encoded)

    def _columns(self, pieces: Iterable[Piece], encoded: Encoded | None = None) -> Columns:
        parts, n_read = list[Columns](), 0
        for piece in pieces:
            with errors_of(piece):
                parts.append(self._read(piece, n_read, encoded))
            n_read += len(parts[-1][1])
        if not parts:
            return np.empty((0, self._n_inputs)), np.empty(0), None
        X, y, weights = zip(*parts, strict=True)
        weight = None if weights[0] is None else np.concatenate(weights)
        columns = np.concatenate(X), np.concatenate(y), weight
        return _without(self.atoms, *columns) if self.atoms else columns

    def count(self, pieces: Iterable[Piece], encoded: Encoded | None = None) -> Counts:
        """What the rows of a block are, all of them checked."""
        X, y, weight = self._columns(pieces, encoded)
        if not len(y):
            return Counts()
        names = getattr(self.estimator, "feature_names_in_", None)
        return Counts(
            n_rows=len(y),
            total=float(len(y) if weight is None else weight.sum()),
            extremes=(float(y.min()), float(y.max())),
            weights=None if weight is None else WeightTotals.of(weight),
            names=None if names is None else tuple(map(str, names)),
            n_inputs=X.shape[1],
        )

    @property
    def _n_inputs(self) -> int:
        if self.encoder is not None:
            return len(self.encoder.get_feature_names_out())
        return getattr(self.estimator, "n_features_in_", 0)

    def _read(self, piece: Piece, start: int, encoded: Encoded | None) -> Columns:
        """Rows of a piece, which come after so many others of the block."""
        X, estimator = piece.X, self.estimator
        if self.encoder is not None:
            X = self.encoder._encode(to_table(X), told=True)
            if encoded is not None:
                first, last = np.searchsorted(encoded.places, [start, start + len(X)])
                X[encoded.places[first:last] - start] = encoded.values[first:last]
            estimator = cast(SpectralForestRegressor, clone(estimator))
        known = hasattr(estimator, "n_features_in_")
        X, y, weight, _ = check_rows(estimator, X, piece.y, piece.weight, None, reset=not known, whole=False)
        check_allowed(estimator.target, y, weight, given_values(estimator.atoms))
        return X, y, weight


def _without(atoms: tuple[float, ...], X: Array, y: Array, weight: Array | None) -> Columns:
    """Rows whose targets are none of these."""
    kept = ~np.isin(y, atoms)
    return X[kept], y[kept], None if weight is None else weight[kept]


def look(reader: RowReader, block: Block) -> Look:
    """A first look at a block: whether it has to be encoded and, if not, what its rows are."""
    automatic, pieces = reader.estimator.encoder == "auto", list(counted(block))
    n_rows = sum(len(piece.y) for piece in pieces)
    to_encode = isinstance(reader.estimator.encoder, TableEncoder)
    for piece in pieces if automatic else []:
        with errors_of(piece):
            to_encode = to_encode or needs_encoding(piece.X)
    return Look(n_rows, to_encode, None if to_encode else _fresh(reader).count(pieces))


def _fresh(reader: RowReader) -> RowReader:
    """A reader that takes the columns of the first rows for those of all."""
    return RowReader(cast(SpectralForestRegressor, clone(reader.estimator)))


def count(reader: RowReader, block: Block, encoded: Encoded | None) -> Counts:
    """What the rows of a block are once they are encoded."""
    return reader.count(counted(block), encoded)


def raw_rows(block: Block, places: Indices) -> list[tuple[Any, Any]]:
    """Rows of these places in a block, ascending, as tables of the user's columns, and their targets."""
    parts, n_read = [], 0
    for piece in counted(block):
        with errors_of(piece):
            first, last = np.searchsorted(places, [n_read, n_read + len(piece.y)])
            chosen = np.zeros(len(piece.y), bool)
            chosen[places[first:last] - n_read] = True
            parts.append((selected_rows(piece.X, chosen), np.asarray(piece.y)[chosen]))
            n_read += len(piece.y)
    return parts


@dataclass(frozen=True)
class FittedEncoder:
    """An encoder fitted to a sample of the rows.

    Attributes
    ----------
    encoder : TableEncoder
        Fitted.
    values : array of shape (n, k)
        The sample, cross-fitted.
    messages : list of str
        Warnings of the fit.
    """

    encoder: TableEncoder
    values: Array
    messages: list[str] = field(default_factory=list)

    def rows_of(self, start: int, places: Indices) -> Encoded:
        """Rows of a block, of which the sample has these places from `start` on."""
        return Encoded(places, self.values[start : start + len(places)])


def fit_encoder(encoder: TableEncoder, sample: Sequence[list[tuple[Any, Any]]]) -> FittedEncoder:
    """Fit encodings to rows that were sampled from every block."""
    parts = [part for block in sample for part in block]
    batches = TableBatches(lambda: parts, sum(len(y) for _, y in parts))
    table, target = batches.take(np.arange(batches.n_rows))
    encoder = cast(TableEncoder, clone(encoder))
    with warnings.catch_warnings(record=True) as caught, config_context(skip_parameter_validation=True):
        warnings.simplefilter("always")
        values = encoder._fit_sample(table, target, batches.named)
    return FittedEncoder(encoder, values, [str(warning.message) for warning in caught])


def counted(block: Block) -> Iterator[Piece]:
    """Pieces of a block, without rows of weight zero; none of them is empty."""
    for piece in block.pieces():
        with errors_of(piece):
            n_rows = len(piece.X)
            if n_rows != len(piece.y):
                raise ValueError(f"X has {n_rows:,} rows and y {len(piece.y):,}")
            piece = _without_weightless(piece)
        if len(piece.y):
            yield piece


def _without_weightless(piece: Piece) -> Piece:
    if piece.weight is None:
        return piece
    weight = np.asarray(piece.weight)
    kept: NDArray[np.bool_] = weight != 0
    if weight.shape != (len(piece.y),) or kept.all():
        return piece
    return Piece(piece.name, selected_rows(piece.X, kept), np.asarray(piece.y)[kept], weight[kept])


@contextmanager
def errors_of(piece: Piece) -> Iterator[None]:
    """Context in which errors say whose rows they are about."""
    try:
        yield
    except (ValueError, TypeError, pa.ArrowException) as error:
        raise ValueError(f"{piece.name}: {error}") from error
