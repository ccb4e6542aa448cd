"""Regressors that take a user's table as it is."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import ssgp
from helpers import quick, small_forest

N_ROWS = 240
GRADES = ["low", "middle", "high"]


def forest(**settings):
    """As little of a forest as has all of its parts."""
    return small_forest(n_trees=2, max_iter=15, **settings)


MODELS: dict[str, Any] = {
    "forest": forest(),
    "sVBSSGP": quick(max_iter=20),
    "SSGP": ssgp.SSGPRegressor(5, max_iter=10, n_restarts=1, random_state=0),
    "VSSGP": ssgp.VSSGPRegressor(5, max_iter=5, random_state=0),
    "DTC": ssgp.DTCRegressor(5, max_iter=10, random_state=0),
    "PIC": ssgp.PICRegressor(5, max_iter=10, random_state=0),
    "exact": ssgp.ExactGPRegressor(learn_rows=30, random_state=0),
}
# Seven methods of fitting, each several times.
pytestmark = pytest.mark.slow

every = pytest.mark.parametrize("estimator", MODELS.values(), ids=MODELS)


def to_polars(table):
    """The same table; of the two kinds of categories that polars has, one has an order."""
    ordered = [name for name in table.columns if isinstance(table[name].dtype, pd.CategoricalDtype)]
    return pl.from_pandas(table).with_columns(pl.col(name).cast(pl.Enum(GRADES)) for name in ordered)


FRAMES = {"pandas": lambda table: table, "polars": to_polars, "arrow": pa.Table.from_pandas}
frames = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)


def table(n_rows=N_ROWS, seed=0):
    """Numbers with gaps, truth values, categories, times and text."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "size": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(size=n_rows)),
            "new": rng.random(n_rows) < 0.5,
            "grade": pd.Categorical(rng.choice(GRADES, n_rows), GRADES, ordered=True),
            "town": [f"town {i}" for i in rng.integers(15, size=n_rows)],
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(300, size=n_rows), "D"),
        }
    )


def target(X, seed=1):
    rng = np.random.default_rng(seed)
    return X["size"].fillna(0.5) + X["new"] + X["town"].str.len() + 0.1 * rng.normal(size=len(X))


@pytest.fixture(scope="module")
def rows():
    X = table()
    return X, target(X).to_numpy()


def fresh(estimator, **settings) -> Any:
    copy: Any = clone(estimator)
    return copy.set_params(**settings)


@every
def test_the_model_is_that_of_the_encoded_rows(estimator, rows):
    (X, y), new = rows, table(20, seed=2)
    model = fresh(estimator).fit(X, y)
    encoder = ssgp.TableEncoder()
    expected = fresh(estimator).fit(encoder.fit_transform(X, y), y)
    encoded = encoder.transform(new)
    for mean, found in zip(
        expected.predict(encoded, return_std=True), model.predict(new, return_std=True), strict=True
    ):
        np.testing.assert_array_equal(found, mean)
    np.testing.assert_array_equal(model.predict(new), expected.predict(encoded))
    np.testing.assert_array_equal(model.predict_interval(new, 0.9), expected.predict_interval(encoded, 0.9))
    np.testing.assert_array_equal(model.predict_quantiles(new), expected.predict_quantiles(encoded))
    np.testing.assert_array_equal(model.log_prob(new, y[:20]), expected.log_prob(encoded, y[:20]))
    np.testing.assert_array_equal(model.cdf(new, y[:20]), expected.cdf(encoded, y[:20]))
    np.testing.assert_array_equal(model.sample_y(new, 3), expected.sample_y(encoded, 3))
    assert model.score(new, target(new)) == expected.score(encoded, target(new))
    assert model.predict_distribution(new)[:5].mean().shape == (5,)
    assert model.n_features_in_ == 5
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    assert model.encoder_.describe() == encoder.describe()


@frames
def test_any_kind_of_table_gives_the_same(frame, rows):
    (X, y), new = rows, table(20, seed=2)
    expected = forest().fit(X, y).predict(new)
    model = forest().fit(frame(X), pa.chunked_array([y]))
    np.testing.assert_array_equal(model.predict(frame(new)), expected)
    held = ssgp.recalibrate(model, frame(X), y)
    np.testing.assert_array_equal(held.recalibration_.shift, ssgp.recalibrate(model, X, y).recalibration_.shift)


@every
@frames
def test_numbers_without_gaps_are_taken_as_they_are(estimator, frame, rng):
    X = pd.DataFrame({"a": rng.normal(size=60), "same": 1.0, "n": rng.integers(9, size=60), "b": rng.random(60) < 0.5})
    y = X["a"].to_numpy() + 0.1 * rng.normal(size=60)
    model, expected = fresh(estimator).fit(frame(X), y), fresh(estimator).fit(X.to_numpy(dtype=float), y)
    assert model.encoder_ is None
    assert model.n_features_in_ == 4
    np.testing.assert_array_equal(model.predict(frame(X)), expected.predict(X.to_numpy(dtype=float)))


@every
def test_it_is_saved_and_copied_as_one_thing(estimator, rows, tmp_path):
    (X, y), new = rows, table(20, seed=2)
    settings = {"max_one_hot": 3, "kinds": {"town": "category"}}
    model = fresh(estimator, encoder=ssgp.TableEncoder(**settings)).fit(X, y)
    model.save(tmp_path / "model")
    loaded = ssgp.load(tmp_path / "model")
    for again in (loaded, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(new), model.predict(new))
        assert again.feature_names_in_.tolist() == X.columns.tolist()
        assert again.n_features_in_ == 5
    assert loaded.get_params()["encoder__kinds"] == settings["kinds"]
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    assert ssgp.saved_models.read_summary(tmp_path / "model")["columns"] == model.encoder_.describe().split("\n")


def test_a_file_whose_encoder_is_of_another_table_is_refused(rows, tmp_path):
    X, y = rows
    model = MODELS["SSGP"].fit(X, y)
    model.encoder_ = ssgp.TableEncoder().fit(X[["size", "new"]], y)
    kind = type(model).__stored__
    parts = dict(kind.parts(model))
    parts["fitted"]["n_features_in_"] = len(model.lengthscale_)
    with pytest.raises(ValueError, match="must have 10 for d, as elsewhere, found 3"):
        kind.check(parts)


def test_searches_and_folds(rows):
    X, y = rows
    # Of an encoder that is "auto" as well.
    search = GridSearchCV(fresh(MODELS["SSGP"]), {"encoder__max_one_hot": [3, 20]}, cv=2).fit(X, y)
    assert search.best_estimator_.predict_interval(X).shape == (N_ROWS, 2)
    assert search.best_estimator_.encoder.max_one_hot in (3, 20)
    assert cross_val_score(fresh(MODELS["DTC"]), X, y, cv=2).min() > -1


@every
def test_recalibration_takes_the_table(estimator, rows):
    X, y = rows
    model = fresh(estimator).fit(X[:120], y[:120])
    moved = ssgp.recalibrate(model, X[120:], y[120:] + 3.0)
    before = model.predict(X[120:])
    assert moved.recalibration_.shift == pytest.approx(np.average(y[120:] + 3.0 - before), abs=1.0)
    assert moved.predict_interval(X[:3], 0.9).shape == (3, 2)


def test_rows_of_weight_zero_are_not_among_the_encoder_s(rows):
    X, y = rows
    weight = np.ones(N_ROWS)
    weight[::5] = 0.0
    nonsense = X.copy()
    nonsense.loc[::5, "town"] = "nowhere"
    kept = weight > 0
    model, expected = (fresh(MODELS["DTC"]).fit(*given) for given in ((nonsense, y, weight), (X[kept], y[kept])))
    assert model.encoder_.describe() == expected.encoder_.describe()
    np.testing.assert_allclose(model.predict(X), expected.predict(X))


class TestMoreRows:
    @pytest.mark.parametrize("name", ["forest", "sVBSSGP"])
    def test_are_encoded_as_new_ones(self, name, rows):
        X, y = rows
        model = fresh(MODELS[name]).partial_fit(X[:200], y[:200])
        encoder = model.encoder_
        model.partial_fit(X[200:], y[200:])
        first = ssgp.TableEncoder()
        expected = fresh(MODELS[name]).partial_fit(first.fit_transform(X[:200], y[:200]), y[:200])
        expected.partial_fit(first.transform(X[200:]), y[200:])
        assert model.encoder_ is encoder
        assert model.n_rows_ == N_ROWS
        np.testing.assert_array_equal(model.predict(X), expected.predict(first.transform(X)))


@pytest.fixture(scope="module")
def expected(rows):
    """A forest of the whole table."""
    return forest().fit(*rows)


class TestBatches:
    @frames
    @pytest.mark.parametrize("as_list", [False, True], ids=["function", "list"])
    def test_give_the_model_of_the_whole_table(self, frame, as_list, rows, expected):
        X, y = rows
        parts = [(frame(X[start : start + 50]), y[start : start + 50]) for start in range(0, N_ROWS, 50)]
        model = forest().fit_batches(parts if as_list else lambda: iter(parts))
        np.testing.assert_array_equal(model.predict(X), expected.predict(X))
        assert model.feature_names_in_.tolist() == X.columns.tolist()
        assert model.encoder_.describe() == expected.encoder_.describe()

    def test_whose_number_is_known_are_not_counted(self, rows, expected):
        X, y = rows
        n_read = 0

        def read():
            nonlocal n_read
            n_read += 1
            yield X, y

        model = forest(encoder=ssgp.TableEncoder()).fit_batches(read, n_rows=N_ROWS)
        assert n_read == 2
        np.testing.assert_array_equal(model.predict(X), expected.predict(X))

    def test_of_weight_zero_do_not_count(self, rows):
        X, y = rows
        weight = np.tile([1.0, 2.0, 0.0], N_ROWS // 3)
        whole = forest().fit(X, y, weight)
        model = forest().fit_batches([(X[:90], y[:90], weight[:90]), (X[90:], y[90:], weight[90:])])
        np.testing.assert_array_equal(model.predict(X), whole.predict(X))

    def test_that_can_be_read_once_are_refused_where_they_have_to_be_read_again(self, rows):
        X, y = rows
        with pytest.raises(ValueError, match="give a function that returns them anew"):
            forest().fit_batches(iter([(X, y)]))

    def test_of_numbers_are_read_once(self, rng):
        X = pd.DataFrame(rng.normal(size=(100, 2)), columns=pd.Index(["a", "b"]))
        y = X["a"].to_numpy()
        model = forest().fit_batches((X[start : start + 50], y[start : start + 50]) for start in (0, 50))
        assert model.encoder_ is None
        np.testing.assert_array_equal(model.predict(X), forest().fit(X, y).predict(X))


class TestErrors:
    def test_text_in_an_array_is_named_with_a_way_out(self, rows):
        X, y = rows
        array = X[["size", "new", "town"]].to_numpy(dtype=object)
        with pytest.raises(ValueError, match=r"column 2 of X holds text, such as 'town \d+'.*data frame"):
            forest().fit(array, y)
        with pytest.raises(ValueError, match="column 'town' of X holds text"):
            forest(encoder=None).fit(X[["new", "town"]], y)

    def test_missing_values_in_an_array_have_a_way_out(self, rows):
        X, y = rows
        with pytest.raises(ValueError, match=r"NaN in column 0.*data frame.*in which values may be missing"):
            forest().fit(X[["size"]].to_numpy(), y)

    def test_missing_values_in_a_table_of_numbers_have_a_way_out(self, rows):
        _, y = rows
        numbers = pd.DataFrame({"a": np.arange(len(y)) % 7.0, "b": np.arange(len(y)) % 5.0})
        gap = numbers[:3].assign(a=np.nan)
        with pytest.raises(ValueError, match=r"NaN in column 'a'.*fit with encoder=TableEncoder\(\)"):
            forest().fit(numbers, y).predict(gap)
        model = forest(encoder=ssgp.TableEncoder()).fit(numbers, y)
        with pytest.warns(UserWarning, match="column 'a' in 3 of 3"):
            assert np.isfinite(model.predict(gap)).all()

    def test_an_array_is_no_table(self, rows):
        model = MODELS["SSGP"].fit(*rows)
        with pytest.raises(ValueError, match="give a table with the same names"):
            model.predict(np.zeros((3, 5)))

    def test_no_rows(self, rows):
        X, y = rows
        with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
            MODELS["SSGP"].fit(X, y).predict(X[:0])

    def test_a_fit_that_fails_leaves_the_model(self, rows):
        X, y = rows
        model = fresh(MODELS["exact"]).fit(X[:60], y[:60])
        before = model.predict(X[:60])
        with pytest.raises(ValueError, match="max_rows"):
            model.set_params(max_rows=10).fit(X[["size", "new"]], y)
        np.testing.assert_array_equal(model.predict(X[:60]), before)

    def test_an_extreme_column_has_its_name(self, rows):
        X, y = rows
        X = X.assign(size=np.where(np.arange(N_ROWS) % 2, 1e308, -1e308))
        with pytest.raises(ValueError, match="X has values in column 'size' too extreme"):
            fresh(MODELS["exact"]).fit(X[["town", "size"]], y)

    def test_a_wrong_encoder(self, rows):
        with pytest.raises(ValueError, match="'encoder' parameter"):
            forest(encoder="none").fit(*rows)


class TestPipeline:
    @pytest.fixture
    def steps(self):
        drop = FunctionTransformer(lambda X: X.drop(columns="day"))
        return [("drop", drop), ("nothing", "passthrough"), ("model", fresh(MODELS["DTC"]))]

    def test_predicts_what_its_last_step_does(self, steps, rows):
        X, y = rows
        pipeline, last = ssgp.Pipeline(steps).fit(X, y), X.drop(columns="day")
        model = fresh(MODELS["DTC"]).fit(last, y)
        np.testing.assert_array_equal(pipeline.predict(X, return_std=True), model.predict(last, return_std=True))
        np.testing.assert_array_equal(pipeline.predict_distribution(X).mean(), model.predict_distribution(last).mean())
        np.testing.assert_array_equal(pipeline.predict_interval(X, 0.5), model.predict_interval(last, 0.5))
        np.testing.assert_array_equal(pipeline.predict_quantiles(X, [0.1]), model.predict_quantiles(last, [0.1]))
        np.testing.assert_array_equal(pipeline.log_prob(X, y, latent=True), model.log_prob(last, y, latent=True))
        np.testing.assert_array_equal(pipeline.cdf(X, y), model.cdf(last, y))
        np.testing.assert_array_equal(pipeline.sample_y(X, 2), model.sample_y(last, 2))

    def test_is_recalibrated_searched_and_copied(self, steps, rows):
        X, y = rows
        pipeline = fresh(ssgp.Pipeline(steps)).fit(X, y)
        assert ssgp.recalibrate(pipeline, X, y).predict_interval(X).shape == (N_ROWS, 2)
        search = GridSearchCV(ssgp.Pipeline(steps), {"model__n_inducing": [3, 5]}, cv=2).fit(X, y)
        assert search.best_estimator_.log_prob(X, y).shape == (N_ROWS,)

    def test_of_another_regressor_has_no_distributions(self, rows):
        from sklearn.linear_model import Ridge

        pipeline = ssgp.Pipeline([("encoder", ssgp.TableEncoder()), ("model", Ridge())]).fit(*rows)
        assert not hasattr(pipeline, "predict_interval")

    def test_files_hold_one_kind_of_pipelines(self, rows, tmp_path):
        X, y = rows
        theirs = make_pipeline(ssgp.TableEncoder(), fresh(MODELS["SSGP"])).fit(X, y)
        ssgp.save(theirs, tmp_path / "theirs")
        ours = ssgp.load(tmp_path / "theirs")
        assert type(ours) is ssgp.Pipeline
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
        ours.save(tmp_path / "ours")
        assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


class TestUnknownValues:
    def test_are_told_once_with_columns_and_shares(self, rows):
        X, y = rows
        model = fresh(MODELS["SSGP"]).fit(X, y)
        new = X[:20].assign(town=["town 1"] * 15 + ["new town"] * 5)
        new["day"] = new["day"].where(np.arange(20) >= 2)
        with pytest.warns(UserWarning, match=r"'town' in 5 of 20 \(25.0%\), 'day' in 2 of 20 \(10.0%\)") as told:
            model.predict_interval(new)
        assert len(told) == 1

    def test_are_not_those_that_fit_had(self, rows):
        X, y = rows
        assert X["size"].isna().any()
        fresh(MODELS["SSGP"]).fit(X, y).predict(X.assign(size=np.nan))


class Stream:
    """A table that is read once, as those of other libraries are."""

    def __init__(self, X):
        self._table: Any = pa.Table.from_pandas(X)

    def __arrow_c_stream__(self, requested_schema=None):
        table, self._table = self._table, None
        return table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("numbers", [False, True], ids=["mixed", "numbers"])
def test_a_stream_is_read_once(rows, numbers):
    X, y = rows
    X = X[["new"]].assign(size=X["size"].fillna(0.0)) if numbers else X
    expected = forest().fit(X, y).predict(X)
    model = forest().fit(Stream(X), y)
    np.testing.assert_array_equal(model.predict(Stream(X)), expected)
    np.testing.assert_array_equal(model.predict(pa.Table.from_pandas(X).to_reader()), expected)


@pytest.mark.parametrize("numbers", [False, True], ids=["mixed", "numbers"])
@pytest.mark.parametrize(("make", "message"), [
    (lambda X: pl.from_pandas(X).lazy(), "got LazyFrame; collect"),
    (dict, "got dict; make a table of it first"),
    (lambda X: X.to_dict("records"), "got list; make a table of it first"),
    (lambda X: X.to_records(), "with fields; make a table of it first"),
    (lambda X: "rows.csv", "got str; read the file first"),
    (lambda X: None, "got NoneType"),
    (lambda X: X[[]], "a table without columns|column 'new' is missing"),
], ids=["lazy", "dict", "records", "fields", "path", "nothing", "no columns"])  # fmt: skip
def test_what_is_no_table_is_told(rows, make, message, numbers):
    X, y = rows
    X = X[["new"]].assign(size=X["size"].fillna(0.0)) if numbers else X
    with pytest.raises(ValueError, match=message):
        forest().fit(make(X), y)
    with pytest.raises(ValueError, match=message):
        forest().fit(X, y).predict(make(X))


def test_a_new_column_of_text_beside_numbers_is_told_as_new(rng):
    X = pd.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40)})
    with pytest.raises(ValueError, match="unseen at fit time:\n- c"):
        forest().fit(X, X["a"]).predict(X.assign(c="text"))


@pytest.mark.parametrize("columns", [["a"], ["a", "c"]], ids=["numbers", "mixed"])
@pytest.mark.parametrize(("change", "message"), [
    (lambda y: pd.date_range("2024-01-01", periods=len(y)), "y has to hold numbers, and holds dates: '2024-01-01"),
    (lambda y: pd.Series(pd.date_range("2024-01-01", periods=len(y), tz="UTC")), "holds dates: '2024-01-01"),
    (lambda y: pl.Series(pd.to_timedelta(y, unit="h")), "holds durations: .* in row 0; in seconds"),
    (lambda y: ["1.5"] * 39 + ["high"], "holds text: 'high' in row 39"),
    (lambda y: y + 1j, "holds complex numbers"),
    (lambda y: [*y[:7], None, *y[8:]], "y has 1 values that are not finite, the first in row 7"),
], ids=["dates", "zone", "durations", "text", "complex", "missing"])  # fmt: skip
def test_targets_that_are_no_numbers_are_told(columns, change, message, rng):
    X = pd.DataFrame({"a": rng.normal(size=40), "c": rng.choice(["x", "y"], 40)})
    with pytest.raises(ValueError, match=message):
        forest().fit(X[columns], change(X["a"].to_numpy()))


def test_integers_beyond_64_bits_are_rounded(rng):
    numbers = rng.integers(1, 1000, 60)
    X, floats = pd.DataFrame({"a": [int(i) << 70 for i in numbers]}), pd.DataFrame({"a": numbers * 2.0**70})
    expected = forest(encoder=ssgp.TableEncoder()).fit(floats, numbers).predict(floats)
    np.testing.assert_array_equal(forest().fit(X, numbers).predict(X), expected)


@pytest.mark.parametrize("dtype", [">f8", ">i4", np.longdouble], ids=str)
def test_numbers_of_other_machines_are_read(dtype, rng):
    numbers = rng.integers(100, size=60)
    X, usual = (pd.DataFrame({"a": numbers.astype(kind), "c": ["x", "y"] * 30}) for kind in (dtype, float))
    y = rng.normal(size=60)
    np.testing.assert_array_equal(forest().fit(X, y).predict(X), forest().fit(usual, y).predict(usual))
    array = numbers.astype(dtype)[:, None]
    np.testing.assert_array_equal(ssgp.TableEncoder().fit(array).transform(array)[:, 0], numbers)


def test_a_type_of_polars_that_arrow_has_not_is_told(rng):
    X = pl.DataFrame({"a": rng.normal(size=20), "b": range(20)}).with_columns(pl.col("b").cast(pl.Int128))
    with pytest.raises(ValueError, match="column 'b' has the type Int128, which Arrow has not"):
        forest().fit(X, X["a"])


def test_dates_in_an_array_are_told(rng):
    dates = np.array(["2024-01-01", "2024-01-02"] * 20, dtype="M8[D]")[:, None]
    for array in (dates, dates - dates[0, 0]):
        with pytest.raises(ValueError, match=r"got ndarray of .*64\[D\]; make a table of it first"):
            forest().fit(array, rng.normal(size=40))


@pytest.mark.parametrize("read", [True, False], ids=["function", "list"])
def test_rows_of_batches_are_told_and_read_once_too(rows, read):
    X, y = rows
    expected = forest().fit(X, y).predict(X)

    def batches():
        return [(Stream(X[:100]), y[:100]), (Stream(X[100:]), y[100:])]

    np.testing.assert_array_equal(forest().fit_batches(batches if read else batches()).predict(X), expected)
    with pytest.raises(ValueError, match="got LazyFrame; collect"):
        forest().fit_batches(lambda: [(pl.from_pandas(X).lazy(), y)])


@pytest.mark.parametrize(
    "settings", [{"kinds": ["town"]}, {"dates": "european"}, {"max_one_hot": -1}, {"cv": 1}], ids=str
)
def test_settings_of_an_encoder_are_checked_in_every_fit(rows, settings):
    X, y = rows
    name = next(iter(settings))
    model = forest(encoder=ssgp.TableEncoder(**settings))
    with pytest.raises(ValueError, match=f"The '{name}' parameter of TableEncoder must be"):
        model.fit(X, y)
    with pytest.raises(ValueError, match=f"The '{name}' parameter of TableEncoder must be"):
        model.fit_batches([(X, y)])


def test_what_is_done_with_a_model_takes_the_same_tables(rows):
    X, y = rows
    model = forest().fit(X, y)
    odd = X.assign(other=[object()] * len(X))
    uses = [lambda X: ssgp.recalibrate(model, X, y).predict(odd), lambda X: ssgp.importances(model, X).mean]
    for use in uses:
        np.testing.assert_array_equal(use(odd), use(X))
        np.testing.assert_array_equal(use(Stream(X)), use(pa.Table.from_pandas(X)))
        with pytest.raises(ValueError, match="got LazyFrame; collect"):
            use(pl.from_pandas(X).lazy())
        with pytest.raises(ValueError, match="got dict; make a table of it first"):
            use(dict(X))
        with pytest.raises(ValueError, match="X is an array without names, and fit saw a table"):
            use(X.to_numpy())
