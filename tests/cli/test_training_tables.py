"""Fits to files that are read in parts: the same models as when they are read at once."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import r2_score

import ssgp
from ssgp import TableEncoder
from ssgp._utils.sampling import random_rows
from ssgp.saved_models import read_summary

pytest.importorskip("typer", reason="the command line is not installed")
from command_line import QUICK, fails, mixed, run

N_ROWS = 900
COLUMNS = ["--target", "height", "--key", "id"]
WITH = ("without", "with")


def many_kinds(n_rows, seed=0):
    """The usual table, with weights, more categories than are encoded one by one, and targets missing on the way."""
    rng = np.random.default_rng(seed)
    table = mixed(n_rows, seed)
    height = table["height"].to_numpy().copy()
    height[rng.random(n_rows) < 0.02] = np.nan
    town = pa.array([f"town {i}" for i in rng.integers(40, size=n_rows)])
    table = table.set_column(table.column_names.index("height"), "height", pa.array(height))
    return table.append_column("town", town).append_column("times", pa.array(rng.integers(0, 3, n_rows)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streaming")
    pq.write_table(many_kinds(N_ROWS), folder / "train.parquet", row_group_size=130)
    csv.write_csv(many_kinds(N_ROWS), folder / "train.csv")
    (folder / "parts").mkdir()
    for part in range(3):
        rows = many_kinds(N_ROWS).slice(part * 300, 300)
        pq.write_table(rows, folder / "parts" / f"{part}.parquet", row_group_size=77)
    return folder


@pytest.fixture
def too_large(monkeypatch):
    """As if every table were larger than memory."""
    monkeypatch.setattr("ssgp.cli.memory.BYTES_PER_VALUE", 1e9)


@pytest.fixture
def sampled(monkeypatch):
    """As if some hundred rows were many: of these, encoder and forest learn from samples."""
    monkeypatch.setitem(TableEncoder.__init__.__kwdefaults__, "max_rows", 400)
    monkeypatch.setattr("ssgp.forest.sizes.LEAST_SAMPLED", 500)
    monkeypatch.setattr("ssgp.forest.sizes.MOST_SAMPLED", 500)
    monkeypatch.setattr("ssgp.rows.row_tables.CHUNK", 100)


def fitted(folder, data, name, *options):
    code, out, err = run("fit", folder / data, *COLUMNS, *QUICK, *options, "--out", folder / name)
    assert code == 0, err
    return ssgp.load(folder / name), out


@pytest.mark.slow
@pytest.mark.parametrize("data", ["train.parquet", "parts", "train.csv"])
@pytest.mark.parametrize("weight", [[], ["--weight", "times"]], ids=["plain", "weighted"])
def test_the_model_is_the_same(folder, data, weight, sampled, request):
    options = [*weight, "--hold-out", "0.1", "--json"]
    whole, printed = fitted(folder, data, "whole", *options)
    request.getfixturevalue("too_large")
    streamed, printed_too = fitted(folder, data, "streamed", *options)
    new = many_kinds(300, seed=1)
    np.testing.assert_array_equal(streamed.predict(new), whole.predict(new))
    assert streamed.encoder_.describe() == whole.encoder_.describe()
    notes, notes_too = (read_summary(folder / name)["notes"] for name in ("whole", "streamed"))
    for name in ("target_mean", "target_deviation"):
        assert notes_too.pop(name) == pytest.approx(notes.pop(name))
    assert notes_too == notes
    rmse, rmse_too = (json.loads(text)["held_out"]["model"]["rmse"] for text in (printed, printed_too))
    assert rmse_too == pytest.approx(rmse)


def with_nonsense(table, n_rows, seed=2):
    """The table with rows of weight zero in between, of a town and a height that no other row has."""
    rng = np.random.default_rng(seed)
    nonsense = many_kinds(n_rows, seed).drop_columns(["town", "height", "times"])
    columns = {"town": ["nowhere"] * n_rows, "height": rng.normal(1e4, 1e3, n_rows), "times": np.zeros(n_rows, int)}
    for name, values in columns.items():
        nonsense = nonsense.append_column(name, pa.array(values))
    both = pa.concat_tables([table, nonsense.select(table.column_names)])
    # Rows of the table stay in their order.
    order = np.argsort(np.r_[np.arange(table.num_rows), rng.uniform(0, table.num_rows, n_rows)])
    return both.take(pa.array(order))


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["enough", "too little"])
def test_rows_of_weight_zero_change_nothing(memory, tmp_path, sampled, request):
    if memory == "too little":
        request.getfixturevalue("too_large")
    table = many_kinds(N_ROWS)
    table = table.filter(pa.array(table["times"].to_numpy() > 0))
    pq.write_table(table, tmp_path / "without.parquet", row_group_size=130)
    pq.write_table(with_nonsense(table, 200), tmp_path / "with.parquet", row_group_size=130)
    options = ["--weight", "times", "--hold-out", "0.2", "--json"]
    (without, printed), (model, printed_too) = (fitted(tmp_path, f"{name}.parquet", name, *options) for name in WITH)
    assert model.encoder_.describe() == without.encoder_.describe()
    new = many_kinds(300, seed=1)
    np.testing.assert_array_equal(model.predict(new), without.predict(new))
    found, expected = json.loads(printed_too), json.loads(printed)
    assert found["held_out"]["model"]["mnlp"] == pytest.approx(expected["held_out"]["model"]["mnlp"])
    assert found["held_out"]["baseline"]["rmse"] == pytest.approx(expected["held_out"]["baseline"]["rmse"])
    assert found["notes"]["n_rows"] == expected["notes"]["n_rows"]
    assert found["notes"]["n_rows_without_weight"] == 200
    assert "200 rows left out, where the weight 'times' is zero" in found["warnings"]
    assert not any("weight" in line for line in expected["warnings"])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:rows have values that fit never saw")
@pytest.mark.parametrize("memory", ["enough", "too little"])
def test_scores_of_rows_held_out_are_weighted(memory, tmp_path, request):
    if memory == "too little":
        request.getfixturevalue("too_large")
    rng = np.random.default_rng(0)
    table = mixed(300).slice(3).append_column("times", pa.array(rng.exponential(size=297) ** 3))
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=70)
    model, printed = fitted(tmp_path, "t.parquet", "m", "--weight", "times", "--hold-out", "0.3", "--json")
    numbers = random_rows(297, round(0.3 * 297), 0)
    held, learned = table.take(pa.array(numbers)), np.setdiff1d(np.arange(297), numbers)
    y, times = held["height"].to_numpy(), held["times"].to_numpy()
    X, forest = held, model
    mean = forest.predict(X)
    low, high = forest.predict_interval(X, coverage=0.9).T
    scores = json.loads(printed)["held_out"]
    assert scores["model"]["rmse"] == pytest.approx(np.sqrt(np.average((y - mean) ** 2, weights=times)))
    assert scores["model"]["mae"] == pytest.approx(np.average(np.abs(y - mean), weights=times))
    assert scores["model"]["r2"] == pytest.approx(r2_score(y, mean, sample_weight=times))
    assert scores["model"]["mnlp"] == pytest.approx(-np.average(forest.log_prob(X, y), weights=times))
    covered = np.average((low <= y) & (y <= high), weights=times)
    assert scores["model"]["intervals"][1]["coverage"] == pytest.approx(covered)
    plain = np.average(table["height"].to_numpy()[learned], weights=table["times"].to_numpy()[learned])
    assert scores["baseline"]["rmse"] == pytest.approx(np.sqrt(np.average((y - plain) ** 2, weights=times)))


def test_nothing_but_rows_of_weight_zero(folder, too_large):
    table = mixed(40).append_column("times", pa.array(np.zeros(40)))
    pq.write_table(table, folder / "none.parquet")
    line = fails("fit", folder / "none.parquet", *COLUMNS, "--weight", "times", "--out", folder / "none")
    assert "0 rows in which the target 'height' is known and the weight 'times' is not zero, of 40" in line


@pytest.mark.slow
def test_it_says_that_it_reads_in_parts(folder, too_large):
    _, out = fitted(folder, "train.parquet", "m")
    assert "rows, 7 columns to learn from, read in parts" in out
    assert "Saved to" in out


@pytest.mark.slow
@pytest.mark.parametrize(("text", "n_bytes"), [("1GB", 1e9), ("64MiB", 2**26), ("1 GiB", 2**30), ("2 gb", 2e9)])
def test_memory_is_an_amount(text, n_bytes, folder):
    fitted(folder, "train.parquet", "m", "--memory", text)
    assert ssgp.load(folder / "m").max_memory == n_bytes


def test_memory_decides(folder):
    _, out = fitted(folder, "train.parquet", "m", "--memory", "1GB")
    assert "read in parts" not in out
    assert ssgp.load(folder / "m").max_memory == 1e9


@pytest.mark.slow
def test_whole_numbers_and_nothing_may_become_others(tmp_path, too_large, monkeypatch):
    """Arrow takes the type of a column in a text file from its first block."""
    monkeypatch.setattr("ssgp.tables.formats.CSV_BLOCK_BYTES", 1 << 12)
    number = np.arange(3000, dtype=float) % 1000
    number[-1] = 0.5
    texts = [f"{value:g},{'' if i < 2000 else i % 5},{i % 7}" for i, value in enumerate(number)]
    (tmp_path / "late.csv").write_text("\n".join(["number,late,target", *texts]))
    code, _, err = run("fit", tmp_path / "late.csv", "--target", "target", *QUICK, "--out", tmp_path / "m")
    assert code == 0, err


def test_columns_that_are_not_used_may_be_of_any_type(tmp_path, too_large):
    for name, note in {"a.parquet": pa.array([True] * 40), "b.parquet": pa.array([{"text": "far"}] * 40)}.items():
        pq.write_table(mixed(40).append_column("note", note), tmp_path / name)
    code, out, err = run("fit", tmp_path, *COLUMNS, "--exclude", "note", *QUICK, "--out", tmp_path / "m")
    assert code == 0, err
    assert "read in parts" in out


@pytest.mark.slow
def test_a_fit_goes_on_where_less_memory_is_free_than_before(folder, too_large, monkeypatch, tmp_path):
    arguments = ("--checkpoint", tmp_path / "parts", "--json")
    monkeypatch.setattr("ssgp.cli.fit_command.default_memory", lambda: 2.0**30)
    monkeypatch.setattr("ssgp.cli.fit_command.delete_checkpoint", lambda folder: None)
    fitted(folder, "train.parquet", "first", *arguments)
    monkeypatch.setattr("ssgp.cli.fit_command.default_memory", lambda: 2.0**29)
    fitted(folder, "train.parquet", "second", *arguments)
    assert (folder / "first").read_bytes() == (folder / "second").read_bytes()


def test_only_forests_are_fitted_in_parts(folder, too_large):
    line = fails("fit", folder / "train.csv", *COLUMNS, "--model", "dtc", "--out", folder / "none")
    assert "only --model forest learns from tables that do not fit" in line
    assert "GB of memory" in line
    assert not (folder / "none").exists()


@pytest.mark.parametrize("size", ["much", "1MB", "-3GB", "1.2.3GB", ""])
def test_an_amount_of_memory_that_is_none(folder, size):
    line = fails("fit", folder / "train.csv", *COLUMNS, "--memory", size, "--out", folder / "none", code=2)
    assert f"--memory: {size!r} is not an amount of at least 64 MiB, as in 4GB, 512MB or 1.5GiB" in line


def test_a_column_of_nothing_but_missing_targets(folder, too_large):
    table = mixed(40).drop_columns(["height"]).append_column("height", pa.nulls(40, pa.float64()))
    pq.write_table(table, folder / "none.parquet")
    line = fails("fit", folder / "none.parquet", *COLUMNS, "--out", folder / "none")
    assert "0 rows in which the target 'height' is known, of 40" in line


def test_weights_are_counted_over_all_parts(tmp_path, too_large, monkeypatch):
    monkeypatch.setattr("ssgp.tables.formats.CSV_BLOCK_BYTES", 64)
    rows = ["1,,", *(f"{i},{i},1" for i in range(50)), "1,2,-1", "1,2,3", "1,2,"]
    (tmp_path / "t.csv").write_text("\n".join(["x,y,w", *rows]))
    arguments = (tmp_path / "t.csv", "--target", "y", "--weight", "w", "--out", tmp_path / "m")
    assert "missing, negative or infinite in 2 of 53 rows, the first in row 52 of the table" in fails("fit", *arguments)


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["enough", "too little"])
def test_codes_too_large_for_floats_stay_apart(memory, tmp_path, request):
    if memory == "too little":
        request.getfixturevalue("too_large")
    first = 2**60
    code = np.arange(200) % 4
    rows = [f"{first + number},{'' if i == 7 else number}" for i, number in enumerate(code)]
    (tmp_path / "codes.csv").write_text("\n".join(["code,size", *rows]))
    fitted = ["--target", "size", "--kind", "code=category", *QUICK, "--out", tmp_path / "m"]
    assert run("fit", tmp_path / "codes.csv", *fitted)[0] == 0
    assert run("predict", tmp_path / "m", tmp_path / "codes.csv", "--out", tmp_path / "p.csv")[0] == 0
    mean = csv.read_csv(tmp_path / "p.csv")["mean"].to_numpy()
    np.testing.assert_allclose(mean, code, atol=0.5)


@pytest.mark.slow
@pytest.mark.parametrize("data", ["train.parquet", "train.csv"])
def test_groups_are_held_out_as_a_whole(folder, data, sampled, request):
    """In memory and in parts the same; Python's fit to the rows that are learned from is the oracle."""
    options = ["--group", "town", "--hold-out", "0.2", "--json"]
    whole, printed = fitted(folder, data, "whole", *options)
    request.getfixturevalue("too_large")
    streamed, printed_too = fitted(folder, data, "streamed", *options)
    table = many_kinds(N_ROWS)
    assert "town" not in whole.feature_names_in_
    np.testing.assert_array_equal(streamed.predict(table), whole.predict(table))
    found, found_too = json.loads(printed), json.loads(printed_too)
    assert found_too["held_out"]["model"]["rmse"] == pytest.approx(found["held_out"]["model"]["rmse"])
    assert found["notes"]["group"] == "town"
    used = np.isfinite(table["height"].to_numpy())
    _, sizes = np.unique(table["town"].to_numpy(zero_copy_only=False)[used], return_counts=True)
    n_held_out = used.sum() - found["notes"]["n_rows"]
    # Whole towns of some 22 rows, until there are a fifth.
    assert 0.2 * used.sum() - 1 <= n_held_out <= 0.2 * used.sum() + sizes.max()


@pytest.mark.parametrize("memory", ["enough", "too little"])
def test_columns_that_cannot_be_groups(memory, tmp_path, request):
    if memory == "too little":
        request.getfixturevalue("too_large")
    table = mixed(40).append_column("same", pa.array(["a"] * 40))
    owner = pa.array([None if i == 30 else f"owner {i % 5}" for i in range(40)])
    pq.write_table(table.append_column("owner", owner), tmp_path / "t.parquet", row_group_size=13)
    arguments = ("fit", tmp_path / "t.parquet", *COLUMNS, "--out", tmp_path / "m")
    assert "--group: column 'owner' is missing in 1 row, the first in row 31 of the table" in fails(
        *arguments, "--group", "owner"
    )
    assert "--group: column 'same' has the same value in all rows" in fails(*arguments, "--group", "same")
    assert "--group: there is no column 'ownr' (is 'owner' meant?)" in fails(*arguments, "--group", "ownr", code=2)
    assert "--group: column 'height' is also given as --target" in fails(*arguments, "--group", "height", code=2)
    assert "only --model forest does" in fails(*arguments, "--group", "unit", "--model", "dtc", code=2)


@pytest.mark.slow
def test_a_group_is_learned_from_where_that_is_asked_for(folder):
    model, _ = fitted(folder, "train.parquet", "m", "--group", "town", "--features", "town,colour")
    assert sorted(model.feature_names_in_) == ["colour", "town"]


@pytest.mark.slow
@pytest.mark.parametrize("data", ["train.parquet", "train.csv"])
def test_the_last_rows_in_time_are_held_out(folder, data, sampled, request):
    options = ["--time", "when", "--hold-out", "0.2", "--json"]
    whole, printed = fitted(folder, data, "whole", *options)
    request.getfixturevalue("too_large")
    streamed, printed_too = fitted(folder, data, "streamed", *options)
    table = many_kinds(N_ROWS)
    assert "when" in whole.feature_names_in_
    np.testing.assert_array_equal(streamed.predict(table), whole.predict(table))
    found, found_too = json.loads(printed), json.loads(printed_too)
    assert found_too["held_out"]["model"]["rmse"] == pytest.approx(found["held_out"]["model"]["rmse"])
    assert found["notes"]["time"] == "when"
    used = table.filter(pa.array(np.isfinite(table["height"].to_numpy())))
    last = np.argsort(used["when"].cast(pa.int64()).to_numpy(), kind="stable")[-round(0.2 * used.num_rows) :]
    error = used["height"].to_numpy()[last] - whole.predict(used.take(pa.array(last)))
    assert found["held_out"]["model"]["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-6)


@pytest.mark.parametrize("memory", ["enough", "too little"])
def test_columns_that_cannot_be_times(memory, tmp_path, request):
    if memory == "too little":
        request.getfixturevalue("too_large")
    table = mixed(40).append_column("date", pa.array([None if i == 30 else f"{i}/4/2025" for i in range(40)]))
    table = table.append_column("day", pa.array([None if i == 30 else i for i in range(40)]))
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=13)
    arguments = ("fit", tmp_path / "t.parquet", *COLUMNS, "--out", tmp_path / "m")
    assert "--time: column 'day' is missing in 1 row, the first in row 31 of the table" in fails(
        *arguments, "--time", "day"
    )
    assert "--time: column 'colour' holds text, such as" in fails(*arguments, "--time", "colour")
    both = ["--time", "day", "--group", "unit"]
    assert "--time: rows are held out by --group or by --time" in fails(*arguments, *both, code=2)
    assert "--time: there is no column 'dya'" in fails(*arguments, "--time", "dya", code=2)
