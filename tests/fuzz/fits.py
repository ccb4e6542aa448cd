"""Fits of odd tables by every regressor: what it predicts obeys the laws, or the table is refused with a reason.

Tables are few rows or many columns, repeated, constant, nearly collinear, with gaps, outliers and huge or tiny numbers,
or of mixed columns that are encoded first. Numbers keep within what 64-bit floats hold the squares of many times
over, and rows to predict within a million deviations of the others.
"""

import base64
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline

import ssgp
from ssgp._utils.column_errors import ExtremeValuesError, InfiniteValuesError, UnusableTypeError
from tests.fuzz import laws
from tests.fuzz.arrow_tables import PLAIN_COLUMNS, random_table

CASES = 100

Settings = dict[str, Any]
Rng = np.random.Generator

N_ROWS = (1, 2, 3, 5, 12, 21, 30, 60, 150, 300)
N_COLUMNS = (1, 1, 2, 2, 3, 5, 12, 40)
# Fewer rows are refused, as documented.
LEAST_RECALIBRATED = 20
REFUSALS = (ValueError, InfiniteValuesError, UnusableTypeError, ExtremeValuesError)
# How far a row alone may be from the same row among others, where sums are in another order: of float32, but for these.
SINGLE_ROUNDING = 1e-6
ROUNDING = {"SpectralForestRegressor": 1e-12}
# What documented errors say of tables without gaps.
REASONS = ("has infinity", "is left to learn from", "has times that cannot be read", "n_blocks", "too extreme")


def case(seed: int) -> None:
    """Fit a random regressor to a random table, and hold its predictions against the laws."""
    replay(explicit(seed))


def explicit(seed: int) -> dict[str, Any]:
    """Regressor and settings, table and targets, rows to predict, and which law of fitting again is looked at."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(list(REGRESSORS)))
    mixed = bool(rng.random() < 0.25)
    X, y, rows = _mixed_table(rng) if mixed else _numbers(rng)
    settings = {**REGRESSORS[name](rng), "random_state": int(rng.integers(1000))}
    # Differences of numbers that are nearly the same are rounding, on both sides of a map.
    if settings.get("target") == "positive" and not y.std() > 1e-6 * np.abs(y).max():
        settings["target"] = "auto"
    if settings.get("target") == "positive":
        y = np.maximum(np.abs(y), 1e-9 * np.abs(y).max() + 1e-100)
    return {
        "regressor": name,
        "settings": settings,
        "mixed": mixed,
        "X": _packed(X),
        "y": y.tolist(),
        "rows": _packed(rows),
        "again": str(rng.choice(list(AGAIN))),
        "recalibrated": bool(rng.random() < 0.1),
    }


def replay(kept: dict[str, Any]) -> None:
    """Fit and check."""
    X, y, rows = _unpacked(kept["X"]), np.array(kept["y"]), _unpacked(kept["rows"])
    model = getattr(ssgp, kept["regressor"])(**kept["settings"])
    if kept["mixed"]:
        model = make_pipeline(ssgp.TableEncoder(max_one_hot=3), model)
    else:
        X, rows = _array(X), _array(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Of NumPy, where something overflows or is divided by zero that nobody thought of.
        warnings.simplefilter("error", RuntimeWarning)
        if _fitted(model, X, y, kept["mixed"]):
            _check(model, X, y, rows, kept)


def _fitted(model: Any, X: Any, y: np.ndarray, mixed: bool) -> bool:
    """Whether the regressor was fitted, which tables without gaps may refuse only for the documented reasons."""
    refusal = None
    try:
        model.fit(X, y)
    except REFUSALS as error:
        if type(error) not in REFUSALS:
            raise
        refusal = str(error)
    sound = np.isfinite(y).all() and (mixed or np.isfinite(X).all())
    if refusal is None:
        assert sound, "numbers that are not finite were accepted"
        return True
    assert not sound or any(reason in refusal for reason in REASONS), f"a sound table is refused: {refusal}"
    return False


def _again(model: Any, X: Any, y: np.ndarray, **settings: Any) -> Any:
    """Another model of the same settings, but for these."""
    other: Any = clone(model)
    return other.set_params(**settings).fit(X, y)


def _check(model: Any, X: Any, y: np.ndarray, rows: Any, kept: dict[str, Any]) -> None:
    laws.check_predictions(model, rows)
    laws.check_saved(model, rows)
    laws.check_rows_apart(model, rows, ROUNDING.get(kept["regressor"], SINGLE_ROUNDING))
    AGAIN[kept["again"]](model, X, y, rows)
    if kept["recalibrated"] and len(y) >= LEAST_RECALIBRATED:
        recalibrated = ssgp.recalibrate(model, X, y)
        laws.check_predictions(recalibrated, rows)
        laws.check_saved(recalibrated, rows)


def _same_fit(model: Any, X: Any, y: np.ndarray, rows: Any) -> None:
    assert laws.same_predictions(model, _again(model, X, y), rows), "the same fit predicts otherwise"


def _other_threads(model: Any, X: Any, y: np.ndarray, rows: Any) -> None:
    names = [name for name in model.get_params() if name.split("__")[-1] == "n_jobs"]
    for jobs in (2, 3):
        other = _again(model, X, y, **dict.fromkeys(names, jobs))
        assert laws.same_predictions(model, other, rows), f"{jobs} threads predict otherwise"


def _other_target_units(model: Any, X: Any, y: np.ndarray, rows: Any) -> None:
    """Powers of two, by which nothing is rounded; a constant target has no scale, and its unit is taken for one."""
    if y.std() <= 1e-9 * np.abs(y).max():
        return
    for unit in (2.0**-20, 2.0**10):
        _check_same(model, _again(model, X, unit * y), rows, rows, unit)


def _other_input_units(model: Any, X: Any, y: np.ndarray, rows: Any) -> None:
    """Powers of two again, of columns that are not constant up to rounding."""
    # Blocks of the paper's regressor are in raw distances where it does not normalize.
    if isinstance(X, pa.Table) or (hasattr(model, "partition_metric") and not model.normalize):
        return
    varies = X.std(axis=0) > 1e-9 * np.abs(X).max(axis=0)
    units = np.where(varies, 2.0 ** (np.arange(X.shape[1]) % 7 * 3 - 9), 1.0)
    _check_same(model, _again(model, units * X, y), rows, units * rows, 1.0)


def _check_same(model: Any, other: Any, rows: Any, other_rows: Any, unit: float) -> None:
    one, two = laws.distribution_of(model, rows), laws.distribution_of(other, other_rows)
    for ask in ("mean", "std"):
        distance = np.abs(getattr(one, ask)() - getattr(two, ask)() / unit)
        worst = float((distance / (one.std() + 1e-9 * np.abs(one.mean()))).max())
        assert worst < 1e-6, f"in other units the {ask} is {worst:.1e} deviations off"


def _in_batches(model: Any, X: Any, y: np.ndarray, rows: Any) -> None:
    """A forest that is fitted to a table in parts is the one that is fitted to all of it."""
    if not hasattr(model[-1] if isinstance(model, Pipeline) else model, "fit_batches"):
        return
    other: Any = clone(model)
    bounds = np.linspace(0, len(y), 4).astype(int)

    def read() -> Iterator[tuple[Any, np.ndarray]]:
        for part in map(slice, bounds[:-1], bounds[1:]):
            yield (X.slice(part.start, part.stop - part.start) if isinstance(X, pa.Table) else X[part]), y[part]

    if kept_together := dict(getattr(other, "steps", [])):
        encoder, forest = kept_together.values()
        forest.fit_batches(encoder.fit_transform_batches(read))
    else:
        other.fit_batches(read())
    assert laws.same_predictions(model, other, rows), "a fit in batches predicts otherwise"


def _more_rows(model: Any, X: Any, y: np.ndarray, rows: Any) -> None:
    """A model that got its rows one half after the other obeys the laws too."""
    if not hasattr(model, "partial_fit") or len(y) < 4:
        return
    other: Any = clone(model)
    other.partial_fit(X[::2], y[::2])
    try:
        other.partial_fit(X[1::2], y[1::2])
    except ExtremeValuesError:
        # In the units of the first half, which stay.
        return
    laws.check_predictions(other, rows)
    laws.check_saved(other, rows)


AGAIN: dict[str, Callable[[Any, Any, np.ndarray, Any], None]] = {
    "the same fit": _same_fit,
    "other threads": _other_threads,
    "other target units": _other_target_units,
    "other input units": _other_input_units,
    "in batches": _in_batches,
    "more rows": _more_rows,
}


def _one_of(rng: Rng, *values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def _forest(rng: Rng) -> Settings:
    return {
        "n_trees": _one_of(rng, 1, 2, 3, 9),
        "n_frequencies": _one_of(rng, 1, 4, 8),
        "leaf_size": _one_of(rng, "auto", 1, 20, 50),
        "kernel": _one_of(rng, "squared-exponential", "matern-1/2", "matern-5/2"),
        "shrink": _one_of(rng, True, False),
        "n_sketches": _one_of(rng, 1, 3, "exact"),
        "correct": _one_of(rng, True, False),
        "max_iter": _one_of(rng, 1, 10, 30),
        "n_jobs": 1,
        "target": _one_of(rng, "auto", "any", "positive"),
    }


def _svbssgp(rng: Rng) -> Settings:
    objective = _one_of(rng, "global", "local")
    return {
        "n_frequencies": _one_of(rng, 1, 3, 8),
        "objective": objective,
        "posterior": _one_of(rng, "triangular", "full", "block", "diagonal"),
        "base": _one_of(rng, "normal", "student-t", "laplace", "logistic"),
        "gamma": 0.0 if objective == "local" else _one_of(rng, 0.0, 0.5, 1.0, -1.0),
        "n_draws": _one_of(rng, 1, 3),
        "n_blocks": _one_of(rng, "auto", 1, 2),
        "partition": _one_of(rng, "auto", "kmeans", "tree"),
        "minibatch": _one_of(rng, "rows", "blocks"),
        "optimizer": _one_of(rng, "adam", "adam", "robbins-monro"),
        "max_iter": _one_of(rng, 1, 10, 30),
        "normalize": _one_of(rng, True, True, False),
    }


def _ssgp(rng: Rng) -> Settings:
    return {
        "n_frequencies": _one_of(rng, 1, 4, 8),
        "learn_frequencies": _one_of(rng, True, False),
        "n_restarts": _one_of(rng, 1, 2),
        "max_iter": _one_of(rng, 1, 10),
        "normalize": _one_of(rng, True, True, False),
    }


def _vssgp(rng: Rng) -> Settings:
    return {
        "n_frequencies": _one_of(rng, 1, 4, 8),
        "batch_size": _one_of(rng, None, 10, 100),
        "max_iter": _one_of(rng, 1, 10),
        "normalize": _one_of(rng, True, True, False),
    }


def _dtc(rng: Rng) -> Settings:
    return {
        "n_inducing": _one_of(rng, 1, 5, 20),
        "batch_size": _one_of(rng, None, 10, 1000),
        "max_iter": _one_of(rng, 1, 15),
        "normalize": _one_of(rng, True, True, False),
    }


def _pic(rng: Rng) -> Settings:
    return {
        "n_inducing": _one_of(rng, 1, 5, 20),
        "n_blocks": _one_of(rng, "auto", 1, 2),
        "max_iter": _one_of(rng, 1, 15),
        "normalize": _one_of(rng, True, True, False),
    }


def _exact(rng: Rng) -> Settings:
    return {"n_restarts": 1, "learn_rows": _one_of(rng, 2000, 20), "normalize": _one_of(rng, True, True, False)}


REGRESSORS: dict[str, Callable[[Rng], Settings]] = {
    "SpectralForestRegressor": _forest,
    "SVBSSGPRegressor": _svbssgp,
    "SSGPRegressor": _ssgp,
    "VSSGPRegressor": _vssgp,
    "DTCRegressor": _dtc,
    "PICRegressor": _pic,
    "ExactGPRegressor": _exact,
}


def _numbers(rng: Rng) -> tuple[pa.Table, np.ndarray, pa.Table]:
    """An array with some oddities, targets, and rows to predict near and far."""
    n, d = int(_one_of(rng, *N_ROWS)), int(_one_of(rng, *N_COLUMNS))
    X = _one_of(rng, rng.normal, rng.uniform, _cauchy(rng), rng.standard_exponential)(size=(n, d))
    y = _targets(rng, X)
    for _ in range(int(rng.integers(4))):
        X = _one_of(rng, *ODDITIES)(rng, X)
    if rng.random() < 0.05:
        holes = X if rng.random() < 0.5 else y
        holes[tuple(int(rng.integers(size)) for size in holes.shape)] = _one_of(rng, np.nan, np.inf, -np.inf)
    return _table(X), y, _table(_rows(rng, X))


def _cauchy(rng: Rng) -> Callable[..., np.ndarray]:
    return lambda size: rng.standard_cauchy(size=size)


def _targets(rng: Rng, X: np.ndarray) -> np.ndarray:
    n = len(X)
    waves = np.sin(2.0 * X[:, 0])
    y = _one_of(
        rng,
        waves + 0.1 * rng.normal(size=n),
        waves,
        rng.normal(size=n),
        rng.standard_cauchy(size=n),
        np.full(n, 3.0),
        rng.integers(3, size=n).astype(float),
        np.where(rng.random(n) < 0.9, 0.0, rng.exponential(10.0, size=n)),
        np.exp(3.0 * rng.normal(size=n)),
        np.where(np.arange(n) == n // 2, 1e6, waves),
    )
    return _one_of(rng, 0.0, 0.0, 1e4, -1e9) + y * 10.0 ** _one_of(rng, 0, 0, 0, 6, -6, 30, -30)


def _constant(rng: Rng, X: np.ndarray) -> np.ndarray:
    return _with_column(X, rng, np.full(len(X), _one_of(rng, 0.0, 7.0, 1e9, 3e30)))


def _alike(rng: Rng, X: np.ndarray) -> np.ndarray:
    return _with_column(X, rng, X[:, 0] + _one_of(rng, 0.0, 1e-9, 1e-3) * rng.normal(size=len(X)))


def _repeated_rows(rng: Rng, X: np.ndarray) -> np.ndarray:
    return X[rng.integers(max(1, len(X) // _one_of(rng, 2, 10, 100)), size=len(X))]


def _scaled(rng: Rng, X: np.ndarray) -> np.ndarray:
    return X * 10.0 ** rng.choice([0, 0, 6, -6, 15, -15, 30, -30], size=X.shape[1])


def _moved(rng: Rng, X: np.ndarray) -> np.ndarray:
    return X + rng.choice([0.0, 1.0, 1e6, -1e12], size=X.shape[1])


def _outlier(rng: Rng, X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X[rng.integers(len(X)), rng.integers(X.shape[1])] *= _one_of(rng, 1e3, -1e6)
    return X


def _few_values(rng: Rng, X: np.ndarray) -> np.ndarray:
    return _with_column(X, rng, rng.integers(_one_of(rng, 2, 5), size=len(X)).astype(float))


def _sparse(rng: Rng, X: np.ndarray) -> np.ndarray:
    return np.where(rng.random(X.shape) < 0.95, 0.0, X)


def _with_column(X: np.ndarray, rng: Rng, column: np.ndarray) -> np.ndarray:
    X = X.copy()
    X[:, rng.integers(X.shape[1])] = column
    return X


ODDITIES = (_constant, _alike, _repeated_rows, _scaled, _moved, _outlier, _few_values, _sparse)


def _rows(rng: Rng, X: np.ndarray) -> np.ndarray:
    """Rows of the table, rows between them, and rows far away."""
    finite = np.where(np.isfinite(X), X, 0.0)
    old = finite[rng.integers(len(X), size=4)]
    between = 0.5 * (old + finite[rng.integers(len(X), size=4)])
    far = old + 10.0 ** rng.integers(0, 7, size=(4, 1)) * rng.normal(size=old.shape) * finite.std(axis=0)
    return np.concatenate([old, between, far])


def _mixed_table(rng: Rng) -> tuple[pa.Table, np.ndarray, pa.Table]:
    """A table of columns of all kinds that can be learned from, and rows of it."""
    n = int(_one_of(rng, *N_ROWS))
    table = random_table(rng, PLAIN_COLUMNS, n)
    table = table.rename_columns([f"c{i}" for i in range(table.num_columns)])
    return table, _targets(rng, rng.normal(size=(n, 1))), laws.rows_of(table, rng.integers(n, size=8))


def _table(X: np.ndarray) -> pa.Table:
    return pa.table({f"x{i}": column for i, column in enumerate(X.T)})


def _array(table: pa.Table) -> np.ndarray:
    return np.column_stack([column.to_numpy() for column in table.columns])


def _packed(table: pa.Table) -> str:
    data = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(data, table.schema, options=options) as writer:
        writer.write_table(table)
    return base64.b64encode(data.getvalue().to_pybytes()).decode()


def _unpacked(text: str) -> pa.Table:
    return pa.ipc.open_stream(base64.b64decode(text)).read_all()
