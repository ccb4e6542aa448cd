"""Predictions of rows on a cluster: nothing is computed before it is asked for, and then by partitions."""

import copy
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

import numpy as np
from dask.base import compute, is_dask_collection
from dask.delayed import Delayed, delayed
from distributed import Future
from numpy.typing import ArrayLike

from ssgp._utils.arrays import Array
from ssgp._utils.checks import check_levels
from ssgp.dask.sources import open_parquet, partitions, paths_of

__all__ = ["log_prob", "predict", "predict_interval", "predict_quantiles"]

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


def predict(model: Any, source: Any, *, return_std: bool = False) -> Any:  # noqa: ANN401
    """Predictive means and, if asked for, standard deviations of observations.

    Parameters
    ----------
    model : fitted regressor, Future or Delayed of one
        What predicts. A large one is sent once where it is scattered before: ``client.scatter(model, broadcast=True)``.
    source : Dask array or data frame of n rows, or paths of Parquet files
        Inputs. Files may have other columns too, and are read by the workers.
    return_std : bool, default=False
        Whether to return deviations too.

    Returns
    -------
    mean : Dask array of shape (n,), or series where the source is a data frame
        Lazy, with the partitions of the source.
    std : the same
        Only with `return_std`.
    """
    if not return_std:
        return _each_partition(model, source, "predict", {}, "mean")
    both = _each_partition(model, source, "predict", {"return_std": True}, ["mean", "std"])
    return (both["mean"], both["std"]) if hasattr(both, "columns") else (both[:, 0], both[:, 1])


def predict_quantiles(model: Any, source: Any, quantiles: ArrayLike = LEVELS) -> Any:  # noqa: ANN401
    """Quantiles of observations, a lazy array of shape (n, k) or a data frame; `model` and `source` as in `predict`."""
    levels = check_levels(quantiles, "quantiles")
    return _each_partition(
        model, source, "predict_quantiles", {"quantiles": levels}, [f"{level:g}" for level in levels]
    )


def predict_interval(model: Any, source: Any, coverage: float = 0.95) -> Any:  # noqa: ANN401
    """Central intervals of observations, a lazy array of shape (n, 2) or a data frame; see `predict`."""
    check_levels([coverage], "coverage")
    return _each_partition(model, source, "predict_interval", {"coverage": coverage}, ["lower", "upper"])


def log_prob(model: Any, X: Any, y: Any) -> Any:  # noqa: ANN401
    """Log densities of observations y at X, both arrays or data frames of Dask with the same partitions, shape (n,)."""
    if not is_dask_collection(X):
        raise TypeError(f"X must be an array or a data frame of Dask, as y must, got {type(X).__name__}")
    return _each_partition(model, X, "log_prob", {}, "log_prob", y)


def _each_partition(
    model: Any,  # noqa: ANN401
    source: Any,  # noqa: ANN401
    method: str,
    keywords: dict[str, Any],
    names: str | Sequence[str],
    y: Any = None,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """What a method of the model returns for every partition, as one collection: columns of these names, or the one."""
    if not isinstance(model, Future | Delayed):
        model = delayed(model, name=f"ssgp-model-{uuid4().hex}", traverse=False)
    if hasattr(source, "map_partitions") and not hasattr(source, "chunks"):
        return _of_frame(model, source, method, keywords, names, y)
    if hasattr(source, "chunks"):
        parts, sizes = partitions(source, source), source.chunks[0]
        targets = [None] * len(parts) if y is None else partitions(y, source)
        tasks = [_task(_answer, model, *pair, method, keywords) for pair in zip(parts, targets, strict=True)]
    else:
        paths = paths_of(source, "source must be an array or a data frame of Dask")
        tables = open_parquet(paths, compute(delayed(_input_names)(model))[0])
        tasks = [_task(_answer_groups, model, table, method, keywords) for table in tables]
        sizes = [table.n_rows for table in tables]
    return _as_array(tasks, sizes, () if isinstance(names, str) else (len(names),))


def _task(function: Callable[..., Any], *arguments: Any) -> Delayed:  # noqa: ANN401
    return delayed(function, pure=False)(*arguments, dask_key_name=f"ssgp-predict-{uuid4().hex}")


def _as_array(tasks: Sequence[Delayed], sizes: Sequence[float], rest: tuple[int, ...]) -> Any:  # noqa: ANN401
    """One array of the answers of all partitions, of the shape (n, *rest)."""
    import dask.array as da

    arrays = [
        da.from_delayed(task, (size, *rest), meta=np.empty((0,) * (1 + len(rest)), float))
        for task, size in zip(tasks, sizes, strict=True)
    ]
    # Files may have no row groups at all.
    return da.concatenate(arrays or [da.zeros((0, *rest))], allow_unknown_chunksizes=True)


def _of_frame(
    model: Any,  # noqa: ANN401
    source: Any,  # noqa: ANN401
    method: str,
    keywords: dict[str, Any],
    names: str | Sequence[str],
    y: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """A series or a data frame of the answers, with the partitions and the index of the source."""
    others = () if y is None else (y,)
    meta = _as_frame(np.empty(0), None, names)
    return source.map_partitions(_frame_answer, *others, model, method, keywords, names, meta=meta)


def _frame_answer(X: Any, *others: Any) -> Any:  # noqa: ANN401
    """The answer for a partition of a data frame."""
    *targets, model, method, keywords, names = others
    return _as_frame(_answer(model, X, targets[0] if targets else None, method, keywords), X.index, names)


def _as_frame(answer: Array, index: Any, names: str | Sequence[str]) -> Any:  # noqa: ANN401
    """A data frame with columns of these names, or a series of the one."""
    import pandas as pd

    if isinstance(names, str):
        return pd.Series(answer, index=index, name=names)
    return pd.DataFrame(answer.reshape(-1, len(names)), index=index, columns=pd.Index(list(names)))


def _answer(model: Any, X: Any, y: Any, method: str, keywords: dict[str, Any]) -> Array:  # noqa: ANN401
    """What a method returns for a partition, in one thread: workers have others."""
    if not len(X):
        n_columns = (
            2 if method == "predict_interval" or keywords.get("return_std") else len(keywords.get("quantiles", ()))
        )
        return np.empty((0, n_columns) if n_columns else 0)
    if hasattr(model, "n_jobs"):
        model = copy.copy(model)
        model.n_jobs = 1
    answer = getattr(model, method)(X, *(() if y is None else (np.asarray(y),)), **keywords)
    return np.stack(answer, axis=1) if isinstance(answer, tuple) else answer


def _answer_groups(model: Any, block: Any, method: str, keywords: dict[str, Any]) -> Array:  # noqa: ANN401
    """The same for row groups of files."""
    return np.concatenate([_answer(model, table, None, method, keywords) for table in block.tables()])


def _input_names(model: Any) -> list[str] | None:  # noqa: ANN401
    """Names of the columns that a model takes; None where it was fitted to rows without names."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]
