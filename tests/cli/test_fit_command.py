"""``ssgp fit``: the model is the one that Python fits."""

import json
import re
import signal
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from sklearn.pipeline import Pipeline

import ssgp
from ssgp.saved_models import read_summary

pytest.importorskip("typer", reason="the command line is not installed")
from command_line import QUICK, SMALL_MODELS, SMALL_SSGP, mixed, predicted, run


class TestFit:
    def test_the_model_is_the_one_that_python_fits(self, folder, model):
        table = csv.read_csv(folder / "train.csv").slice(3)
        regressor = ssgp.SpectralForestRegressor(
            2, max_iter=20, n_frequencies=8, correct=False, n_jobs=1, random_state=0
        )
        expected = Pipeline([("encoder", ssgp.TableEncoder()), ("regressor", regressor)])
        expected.fit(table.drop_columns(["id", "height"]), table["height"].to_numpy())
        new = pq.read_table(folder / "new.parquet")
        np.testing.assert_array_equal(model.predict(new), expected.predict(new))

    def test_the_file_says_what_it_predicts(self, folder):
        notes = read_summary(folder / "m")["notes"]
        y = mixed(300)["height"].drop_null().to_numpy()
        assert (notes["target"], notes["key"], notes["n_rows_without_target"]) == ("height", ["id"], 3)
        assert notes["target_mean"] == pytest.approx(y.mean())
        assert notes["target_deviation"] == pytest.approx(y.std())

    def test_the_same_command_gives_the_same_file(self, folder):
        arguments = ("--target", "height", "--key", "id", *QUICK, "--out", folder / "again", "--json")
        code, out, err = run("fit", folder / "train.csv", *arguments)
        assert code == 0, err
        assert (folder / "again").read_bytes() == (folder / "m").read_bytes()
        assert json.loads(out)["fit_seconds"] > 0

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

    @pytest.mark.slow
    def test_quiet_says_nothing(self, folder):
        arguments = ("--target", "height", *QUICK, "--out", folder / "other", "--quiet")
        assert run("fit", folder / "train.csv", *arguments) == (0, "", "")

    @pytest.mark.slow
    def test_json_is_one_object(self, folder):
        arguments = ("--target", "height", "--hold-out", "0.2", *QUICK, "--out", folder / "other", "--json")
        code, out, err = run("fit", folder / "train.csv", *arguments)
        found = json.loads(out)
        assert (code, err, out.count("\n")) == (0, "", 1)
        assert found["training"]["n_rows_"] == 238
        assert found["warnings"] == ["3 rows left out, where the target 'height' is missing"]
        assert 0 < found["held_out"]["model"]["rmse"] < found["held_out"]["baseline"]["rmse"]

    @pytest.mark.slow
    def test_columns_are_chosen(self, folder):
        path = folder / "chosen"
        arguments = ("--target", "height", "--features", "north, east,unit", "--exclude", "unit")
        assert run("fit", folder / "train.csv", *arguments, *QUICK, "--out", path)[0] == 0
        assert read_summary(path)["feature_names_in"] == ["east", "north"]

    @pytest.mark.slow
    def test_kinds_are_passed_on(self, folder):
        path = folder / "kinds"
        arguments = ("--target", "height", "--kind", "colour=drop", "--out", path)
        assert run("fit", folder / "train.csv", *arguments, *QUICK)[0] == 0
        assert "colour: dropped: as asked for" in read_summary(path)["columns"]

    @pytest.mark.parametrize(
        ("kind", "map_of"),
        [pytest.param("positive", "positive", marks=pytest.mark.slow), ("0,9.5", "bounded"), ("any", None)],
    )
    def test_what_the_target_is(self, kind, map_of, tmp_path):
        rng = np.random.default_rng(0)
        x = rng.uniform(size=80)
        table = pa.table({"x": x, "y": np.exp(np.sin(6 * x) + 0.3 * rng.normal(size=80))})
        csv.write_csv(table, tmp_path / "t.csv")
        arguments = ("fit", tmp_path / "t.csv", "--target", "y", *QUICK, "--target-kind", kind, "--out", tmp_path / "m")
        code, out, err = run(*arguments)
        assert code == 0, err
        assert ssgp.load(tmp_path / "m").target_kind_ == (map_of or "any")
        assert (f"Target: {map_of}: " in out) == (map_of is not None)
        assert f"target_kind {map_of or 'any'}" in run("inspect", tmp_path / "m")[1]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--target-kind", "log"), "--target-kind: The 'target' parameter .* must be a str among"),
            (("--target-kind", "0,high"), "--target-kind: bounds must be two numbers, as in 0,100, found '0,high'"),
            (("--target-kind", "count"), "y has the value .* target='count' allows whole numbers from 0 on"),
            (("--target-kind", "positive", "--model", "ssgp"), "--target-kind: ssgp takes targets as they are"),
        ],
    )
    def test_a_kind_that_is_none(self, arguments, message, folder):
        code, _, err = run("fit", folder / "train.csv", "--target", "height", "--out", folder / "no", *arguments)
        assert code != 0
        assert re.search(message, err), err
        assert err.count("\n") <= 2

    @pytest.mark.slow
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
        assert ssgp.load(tmp_path / "m").encoder_.get_feature_names_out().tolist() == ["code_007", "code_10", "code_A0"]

    @pytest.mark.slow
    @pytest.mark.parametrize("name", SMALL_MODELS)
    def test_every_model(self, name, folder):
        arguments = ("--features", "east,north", "--model", name, *SMALL_MODELS[name], "--out", folder / name)
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

    def test_little_weight_is_warned_of_by_the_name_of_its_column(self, tmp_path):
        rows = "".join(f"{i},{i % 3},0.08\n" for i in range(50))
        (tmp_path / "t.csv").write_text(f"x,y,often\n{rows}")
        arguments = ("--target", "y", "--weight", "often", "--model", "ssgp", *SMALL_SSGP, "--out", tmp_path / "m")
        assert "warning: --weight often: sums to 4 for 50 rows" in run("fit", tmp_path / "t.csv", *arguments)[2]

    def test_weights_of_rows_without_a_target_do_not_matter(self, tmp_path):
        rows = "".join(f"{i},{i},1\n" for i in range(20))
        (tmp_path / "t.csv").write_text(f"x,y,w\n1,,\n2,,-1\n3,,inf\n{rows}", encoding="utf-8")
        arguments = ("--target", "y", "--weight", "w", "--model", "ssgp", *SMALL_SSGP, "--out", tmp_path / "m")
        code, _, err = run("fit", tmp_path / "t.csv", *arguments)
        assert code == 0, err

    @pytest.mark.slow
    def test_the_search_for_a_start_keeps_the_time_limit(self, folder):
        settings = ("--model", "ssgp", "--set", "n_restarts=1000000", "--max-time", "0.5")
        began = time.monotonic()
        assert run("fit", folder / "train.csv", "--target", "height", *settings, "--out", folder / "x")[0] == 0
        assert time.monotonic() - began < 60
        assert read_summary(folder / "x")["training"]["n_iter_"] == 0

    @pytest.mark.slow
    def test_a_time_limit_ends_learning(self, folder):
        settings = ("--model", "svbssgp", "--set", "max_iter=1000000", "--set", "tol=none", "--max-time", "0.5")
        began = time.monotonic()
        assert run("fit", folder / "train.csv", "--target", "height", *settings, "--out", folder / "timed")[0] == 0
        assert time.monotonic() - began < 60
        assert read_summary(folder / "timed")["training"]["n_iter_"] < 1_000_000

    @pytest.mark.slow
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

        monkeypatch.setattr("ssgp.TableEncoder.fit_encoded", press)
        path = folder / "nothing"
        code, _, err = run("fit", folder / "train.csv", "--target", "height", *QUICK, "--out", path, "--json")
        assert (code, err) == (130, "ssgp: interrupted; what was not finished was not written\n")
        assert not path.exists()
