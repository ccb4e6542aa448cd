"""A fit whose rows are read, and whose trees are fitted, by the workers of a cluster."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
from dask.delayed import Delayed
from distributed import Client, Future
from sklearn.base import clone

from ssgp._utils.budget import interruptible
from ssgp._utils.checks import WeightTotals, check_total_weight, columns_unchanged_on_error
from ssgp._utils.progress import RowCounter
from ssgp._utils.warning import warn_user
from ssgp._utils.whole_file import FilePath
from ssgp.dask.blocks import Block, RowGroups
from ssgp.dask.reading import Counts, FittedEncoder, Look, RowReader, count, fit_encoder, look, raw_rows
from ssgp.dask.sources import TargetColumns, blocks_of
from ssgp.dask.table import ClusterRows, ClusterTable
from ssgp.dask.tasks import Tasks, tasks_of
from ssgp.dask.workers import MAX_WAIT
from ssgp.forest.estimator import SpectralForestRegressor
from ssgp.forest.sizes import MemoryShares
from ssgp.tables.encoder import TableEncoder

__all__ = ["fit", "fit_columns"]

# Shares of sorted rows in one thread that a block of a file takes in the user's units, at most.
MOST_BLOCK_SHARES = 8


def fit(
    model: SpectralForestRegressor,
    source: Any,  # noqa: ANN401  a user's
    client: Client | None = None,
    *,
    target: str | None = None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    checkpoint: FilePath | None = None,
    max_wait: float | None = MAX_WAIT,
) -> SpectralForestRegressor:
    """Fit a forest to rows that the workers of a cluster read.

    The model is the one that `fit_batches` makes of the same rows in the same order, to the last bit, whatever the
    number of workers, and if some of them die meanwhile. Workers read the rows anew for each tree: partitions of
    arrays and data frames are computed each time, unless you have persisted them. A sample of them comes to the
    process that calls, which learns the frequencies; of tables that are no larger than that sample (an eighth of
    `max_memory`, and 4,000,000 rows at most) all do, and the fit is that of this process.

    Parameters
    ----------
    model : SpectralForestRegressor
        What to fit; `max_time` must be None.
    source : pair of Dask arrays or data frames, Dask data frame, or paths of Parquet files
        ``(X, y)``, ``(X, y, sample_weight)``, or a table with all columns: a data frame, or a file, a folder or glob of
        files, or a list of them, which every worker can read.
    client : distributed.Client, optional
        Client of the cluster; by default the one that Dask would use.
    target, features, weight : str, sequence of str, str, optional
        Columns of a table: the target, the inputs (by default all others), and how many rows each row counts for.
    checkpoint : path-like, optional
        Folder of the process that calls, to go on from after it was killed; as in `SpectralForestRegressor.fit`.
    max_wait : float or None, default=300
        Seconds that the cluster may be without a worker: after ten a warning says so, and after these the fit ends with
        `ClusterError`. None waits for ever.

    Returns
    -------
    SpectralForestRegressor
        The model, fitted: one like any other.

    Examples
    --------
    >>> import dask.array as da, ssgp, ssgp.dask
    >>> from distributed import Client
    >>> X = da.random.default_rng(0).normal(size=(3000, 2), chunks=(1000, 2))
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
    ...     model = ssgp.SpectralForestRegressor(2, max_iter=20, random_state=0)
    ...     model = ssgp.dask.fit(model, (X, X[:, 0] * 2), client)
    >>> bool(abs(model.predict([[1.0, 0.0]])[0] - 2.0) < 0.2)
    True
    """
    return fit_columns(model, source, TargetColumns(target, features, weight), client, checkpoint, max_wait)


@interruptible
def fit_columns(
    model: SpectralForestRegressor,
    source: Any,  # noqa: ANN401
    columns: TargetColumns,
    client: Client | None = None,
    checkpoint: FilePath | None = None,
    max_wait: float | None = MAX_WAIT,
) -> SpectralForestRegressor:
    """The same, with columns as they were chosen."""
    _check_model(model)
    with (
        model._budget(checkpoint) as budget,
        columns_unchanged_on_error(model),
        tasks_of(client, max_wait) as tasks,
        _opened(model, source, columns, tasks) as rows,
    ):
        return model._fit_stored(rows, ClusterTable, budget)


def _check_model(model: Any) -> None:  # noqa: ANN401
    if not isinstance(model, SpectralForestRegressor):
        raise TypeError(f"model must be a SpectralForestRegressor, got {type(model).__name__}; others need all rows")
    model._validate_params()
    if model.max_time is not None:
        raise ValueError("max_time limits fits of one machine; set max_time=None, and give the cluster more workers")
    if model.device != "cpu":
        raise ValueError(f"device={model.device!r} is for fits of one machine; set device='cpu'")
    if model.keep_rows is True:
        raise ValueError("keep_rows=True keeps all rows in memory: set keep_rows='auto'")


@contextmanager
def _opened(
    model: SpectralForestRegressor,
    source: Any,  # noqa: ANN401
    columns: TargetColumns,
    tasks: Tasks,
) -> Iterator[ClusterRows]:
    """The rows of a source, checked and counted; the model gets their columns and its encoder."""
    most_bytes = MOST_BLOCK_SHARES * MemoryShares.of(model.max_memory, 1).part_bytes
    blocks = blocks_of(source, columns, tasks, most_bytes)
    reader = RowReader(_unfitted(model))
    read = RowCounter(_number_of_rows(blocks), "row")
    read(0)
    looks = [tasks.call("look", look, reader, block) for block in blocks]
    seen: list[Look] = tasks.run(looks, lambda block: read(block.n_rows))
    encoded: list[Future] | None = None
    if any(block.to_encode for block in seen):
        encoder, encoded = _encoder(model, blocks, seen, tasks)
        reader = RowReader(reader.estimator, encoder)
        encoding = RowCounter(sum(block.n_rows for block in seen), "row")
        encoding(0)
        pairs = zip(blocks, encoded, strict=True)
        counting = [tasks.call("count", count, reader, *pair) for pair in pairs]
        counts: list[Counts] = tasks.run(counting, lambda block: encoding(block.n_rows))
        model._set_encoder(encoder)
    else:
        counts = [block.counts or Counts() for block in seen]
        _set_columns(model, counts)
        reader = RowReader(_with_columns_of(model))
    _check_counts(counts)
    yield ClusterRows(tasks, blocks, reader, counts, encoded)


def _number_of_rows(blocks: Sequence[Block | Delayed]) -> int | None:
    """How many rows there are, None where only those who compute them know."""
    groups = [block for block in blocks if isinstance(block, RowGroups)]
    return sum(block.n_rows for block in groups) if len(groups) == len(blocks) else None


def _encoder(
    model: SpectralForestRegressor, blocks: Sequence[Block | Delayed], seen: Sequence[Look], tasks: Tasks
) -> tuple[TableEncoder, list[Future]]:
    """An encoder fitted to a sample of the rows, and these, cross-fitted, of each block."""
    encoder = model.encoder if isinstance(model.encoder, TableEncoder) else TableEncoder()
    starts = np.concatenate([[0], np.cumsum([block.n_rows for block in seen])])
    if not starts[-1]:
        raise ValueError("source has no rows, or none with a weight: there is nothing to fit to")
    sample = encoder.sampled_rows(int(starts[-1]))
    ends = np.searchsorted(sample, starts)
    places = [sample[ends[i] : ends[i + 1]] - starts[i] for i in range(len(blocks))]
    raw = [tasks.call("sample", raw_rows, block, own) for block, own in zip(blocks, places, strict=True)]
    # It is kept on the cluster, and made again where the worker that has it dies.
    (fitted,) = tasks.keep([tasks.call("encoder", fit_encoder, encoder, raw)])
    encoded = tasks.keep(
        [tasks.call("encoded", FittedEncoder.rows_of, fitted, int(ends[i]), own) for i, own in enumerate(places)]
    )
    found, messages = tasks.run([tasks.call("encodings", _without_values, fitted)])[0]
    for message in messages:
        warn_user(message)
    return found, encoded


def _without_values(fitted: FittedEncoder) -> tuple[TableEncoder, list[str]]:
    return fitted.encoder, fitted.messages


def _set_columns(model: SpectralForestRegressor, counts: Sequence[Counts]) -> None:
    """Let the model expect the columns of the blocks, which all have to have the same."""
    filled = [(i, block) for i, block in enumerate(counts) if block.n_rows]
    if not filled:
        raise ValueError("source has no rows, or none with a weight: there is nothing to fit to")
    _, first = filled[0]
    for i, block in filled[1:]:
        if (block.n_inputs, block.names) != (first.n_inputs, first.names):
            raise ValueError(
                f"block {i} has {_columns_text(block)}, and block {filled[0][0]} before it {_columns_text(first)}"
            )
    model._set_encoder(None)
    model.n_features_in_ = first.n_inputs
    vars(model).pop("feature_names_in_", None)
    if first.names is not None:
        model.feature_names_in_ = np.array(first.names, dtype=object)


def _unfitted(model: SpectralForestRegressor) -> SpectralForestRegressor:
    return cast(SpectralForestRegressor, clone(model))


def _columns_text(block: Counts) -> str:
    return f"{block.n_inputs} columns" + ("" if block.names is None else f" ({', '.join(block.names)})")


def _with_columns_of(model: SpectralForestRegressor) -> SpectralForestRegressor:
    """An estimator that is not fitted and expects the same columns."""
    expecting = _unfitted(model)
    expecting.n_features_in_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        expecting.feature_names_in_ = model.feature_names_in_
    return expecting


def _check_counts(counts: Sequence[Counts]) -> None:
    """Refuse a table without rows, one of which only a part has weights, and weights that are no numbers of rows."""
    filled = [block for block in counts if block.n_rows]
    if not filled:
        raise ValueError("source has no rows, or none with a weight: there is nothing to fit to")
    weights = [block.weights for block in filled if block.weights is not None]
    if weights:
        check_total_weight(sum(weights, WeightTotals()))
