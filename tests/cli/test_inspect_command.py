"""``ssgp inspect``: what a file holds, in words and as JSON."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from sklearn.pipeline import Pipeline

import ssgp
from ssgp.saved_models import read_summary

pytest.importorskip("typer", reason="the command line is not installed")
from command_line import run

EARLIER_FILES = Path(__file__).parents[1] / "saving" / "version_0_1_0"


class TestInspect:
    def test_text(self, folder):
        code, out, _ = run("inspect", folder / "m")
        assert code == 0
        for text in (
            "m: SpectralForestRegressor, ",
            f"Written by ssgp {ssgp.__version__}",
            "Predicts height",
            "rows named by id",
            "n_trees=2",
            "unit: dropped: always 'm'",
            "n_rows 297",
            "Importances: changes of the mean",
        ):
            assert text in out
        assert "encoder=" not in out

    @pytest.mark.parametrize(("name", "gone"), [("forest", "average_prunings"), ("svbssgp", "integrate_weights")])
    def test_settings_that_only_files_have_are_not_shown(self, name, gone):
        code, out, _ = run("inspect", EARLIER_FILES / f"{name}.safetensors")
        assert code == 0
        assert "Settings: " in out
        assert gone not in out

    def test_json(self, folder, model):
        found = json.loads(run("inspect", folder / "m", "--json")[1])
        assert found["bytes"] == (folder / "m").stat().st_size
        assert list(found["feature_importances"].values()) == model.feature_importances_.tolist()
        assert list(found["feature_importances"]) == model.encoder_.get_feature_names_out().tolist()
        expected = ssgp.importances(model)
        assert list(found["importances"]) == list(expected.columns)
        assert [of["spread"] for of in found["importances"].values()] == expected.spread.tolist()

    @pytest.mark.slow
    @pytest.mark.parametrize("n_kept", ["0", "1"])
    def test_models_that_keep_no_two_rows_have_importances_of_their_lengthscales(self, n_kept, folder, tmp_path):
        given = "--target", "height", "--set", "n_trees=2", "--set", "max_iter=3", "--out", tmp_path / "m"
        assert run("fit", folder / "train.csv", *given, "--kept-rows", n_kept, "--quiet")[0] == 0
        code, out, _ = run("inspect", tmp_path / "m")
        assert code == 0
        assert "Feature importances, by lengthscale" in out
        assert f"'kept_rows': {n_kept}" in out

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
