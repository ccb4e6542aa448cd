"""``ssgp evaluate``: scores are those of other code, and the recalibrated model is Python's."""

import json

import numpy as np
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import mean_absolute_error, r2_score

import ssgp
from ssgp import metrics
from ssgp.distributions import NormalDistribution
from ssgp.saved_models import read_summary

pytest.importorskip("typer", reason="the command line is not installed")
from command_line import SMALL_MODELS, SMALL_SSGP, fails, mixed, predicted, run


@pytest.fixture(scope="module")
def calibrated(folder):
    """What `ssgp evaluate --calibrate` said, and the file it wrote."""
    path = folder / "calibrated"
    code, out, err = run("evaluate", folder / "m", folder / "new.csv", "--calibrate", "--out", path, "--jobs", "1")
    assert code == 0, err
    return out, path


class TestEvaluate:
    def test_scores_are_those_of_other_code(self, folder, model):
        code, out, err = run("evaluate", folder / "m", folder / "new.parquet", "--json")
        assert (code, err) == (0, "")
        found = json.loads(out)
        new = pq.read_table(folder / "new.parquet").slice(3)
        y, X = new["height"].to_numpy(), new
        regressor, scores = model, found["model"]
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
        constant = NormalDistribution.of(np.full(len(y), train.mean()), np.full(len(y), train.std()))
        assert found["of"] == "the training rows"
        assert found["rmse"] == pytest.approx(metrics.rmse(y, constant.mean()))
        assert found["mnlp"] == pytest.approx(metrics.log_score(y, constant))
        assert found["intervals"][2]["coverage"] == pytest.approx(metrics.coverage(y, constant, level=0.95))

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
        expected = ssgp.recalibrate(model, new, new["height"].to_numpy())
        loaded = ssgp.load(calibrated[1])
        assert loaded.recalibration_ == expected.recalibration_
        np.testing.assert_array_equal(loaded.predict(new, return_std=True), expected.predict(new, return_std=True))

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

    @pytest.mark.slow
    def test_other_commands_use_it(self, folder, calibrated):
        new, path = pq.read_table(folder / "new.parquet"), folder / "calibrated.parquet"
        assert run("predict", calibrated[1], folder / "new.parquet", "--interval", "0.9", "--out", path)[0] == 0
        loaded, found = ssgp.load(calibrated[1]), predicted(path)
        interval = loaded.predict_interval(new, 0.9)
        np.testing.assert_allclose(found["mean"], loaded.predict(new), rtol=1e-12)
        np.testing.assert_allclose(np.column_stack([found["lower_0.9"], found["upper_0.9"]]), interval, rtol=1e-9)
        out = run("inspect", calibrated[1])[1]
        assert "SpectralForestRegressor" in out
        assert "Recalibrated on 297 rows: moved by " in out
        page = folder / "calibrated.html"
        assert run("report", calibrated[1], folder / "new.parquet", "--out", page)[0] == 0
        assert "fitted to 297 rows, recalibrated on 297 others" in page.read_text(encoding="utf-8")

    def test_recalibrating_again_starts_from_the_model(self, folder, calibrated):
        path = folder / "twice"
        assert run("evaluate", calibrated[1], folder / "new.csv", "--calibrate", "--out", path)[0] == 0
        assert path.read_bytes() == calibrated[1].read_bytes()

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["ssgp", "svbssgp"])
    def test_normal_predictions_get_tails(self, name, folder):
        path, out = folder / f"{name}_plain", folder / f"{name}_calibrated"
        fitted = ("--target", "height", "--key", "id", "--model", name, *SMALL_MODELS[name], "--out", path)
        assert run("fit", folder / "train.csv", *fitted)[0] == 0
        assert run("evaluate", path, folder / "new.csv", "--calibrate", "--out", out)[0] == 0
        new = pq.read_table(folder / "new.parquet").slice(3)
        loaded = ssgp.load(out)
        y = new["height"].to_numpy()
        low, high = loaded.predict_interval(new, 0.9).T
        assert np.mean((low <= y) & (y <= high)) == pytest.approx(0.9, abs=0.05)

    def test_large_tables_are_sampled_as_they_are_read(self, folder, monkeypatch):
        sizes, transform = [], ssgp.TableEncoder.encoded

        def counted(encoder, X):
            sizes.append(X.num_rows)
            return transform(encoder, X)

        monkeypatch.setattr("ssgp.cli.evaluate_command.MOST_ROWS", 100)
        monkeypatch.setattr("ssgp.tables.files.TableSource.batches.__defaults__", (None, 64))
        monkeypatch.setattr("ssgp.TableEncoder.encoded", counted)
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
        before = (folder / "new.csv").read_bytes()
        refused = fails("evaluate", *arguments, "--calibrate", "--out", folder / "new.csv", code=2)
        assert "is the table that is read" in refused
        assert (folder / "new.csv").read_bytes() == before
        few = folder / "few.csv"
        few.write_text("\n".join((folder / "new.csv").read_text(encoding="utf-8").splitlines()[:20]), encoding="utf-8")
        message = fails("evaluate", folder / "m", few, "--calibrate", "--out", path)
        assert "--calibrate" in message
        assert "has 16 rows in which the target 'height' is known; at least 20 are needed" in message
        assert not path.exists()
