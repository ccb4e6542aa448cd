"""The comparison with peers, without the peers."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import compare, compare_report
from benchmarks.compare import FOLDED, SUITE, Comparison, cells, measure
from benchmarks.compare_report import best_boosting, draw, markdown, means
from benchmarks.quantiles import Quantiles
from experiments.store import Store
from experiments.tables import SPLITS
from ssgp.datasets import Split


class TestCells:
    def test_every_table_can_be_split(self):
        assert set(SUITE) <= set(SPLITS)

    def test_tables_with_folds_have_several(self):
        chosen = cells(list(SUITE), ["spectral forest"], 3)
        assert {cell.table for cell in chosen if cell.fold > 0} == set(FOLDED)
        assert len({cell.name for cell in cells(list(SUITE), [], 3)}) == len(cells(list(SUITE), [], 3))

    def test_methods_of_a_fold_stand_together(self):
        folds = [cell.fold for cell in cells(["energy"], [], 2)]
        assert folds == sorted(folds)

    def test_no_cell_is_an_error_that_names_the_methods(self, monkeypatch, capsys):
        monkeypatch.setattr("sys.argv", ["compare", "--tables", "energy", "--methods", "oracle"])
        with pytest.raises(SystemExit):
            compare.main()
        assert "none of the methods oracle is run on energy" in capsys.readouterr().err


def test_a_row_has_the_scores_of_what_a_method_predicts(monkeypatch):
    y = np.array([0.0, 1.0, 2.0, 5.0])
    split = Split(np.ones((6, 1)), np.arange(6.0), np.ones((4, 1)), y, ("x",))
    outcome = SimpleNamespace(
        predicted=Quantiles(np.array([0.025, 0.5, 0.975]), np.array([[-1.0, 0.0, 1.0]] * 4)),
        fit_s=1.0,
        predict_s=2.0,
        about={"peak_gb": 0.25},
    )
    monkeypatch.setitem(SPLITS, "energy", lambda folder, fold: split)
    monkeypatch.setitem(sys.modules, "benchmarks.peers", SimpleNamespace(METHODS={"constant": lambda data: outcome}))
    (row,) = measure(None, Comparison("energy", "constant", 0))
    assert (row["rmse"], row["mnlp"], row["coverage"], row["width"]) == (7.5**0.5, None, 0.5, 2.0)
    assert [row[f"coverage_{level}"] for level in (50, 80, 90, 95, 99)] == [0.25, 0.25, 0.25, 0.5, 0.5]
    assert row["crps"] == pytest.approx(np.mean([0.16, 0.66, 1.66, 4.66]), abs=0.02)
    assert 0.975 - 0.25 < row["pit_distance"] < 1 - 0.25
    assert (row["n_train"], row["n_test"], row["target_deviation"]) == (6, 4, np.arange(6).std())
    assert (row["fit_s"], row["predict_s"], row["peak_gb"]) == (1.0, 2.0, 0.25)
    assert row["loaded_gb"] > 0


class TestReport:
    @pytest.fixture
    def store(self, tmp_path):
        """Two folds of the forest and of boosting, in old columns, one of quantiles without density, and a failure."""
        store = Store(tmp_path / "compare", Comparison)
        row = {"rmse": 2.0, "mnlp": 1.0, "crps": 0.5, "coverage": 0.95, "fit_s": 4.0, "predict_s": 0.1, "peak_gb": 0.3}
        now = {"coverage_50": 0.51, "coverage_80": 0.79, "coverage_90": 0.9, "coverage_99": 0.99, "pit_distance": 0.02}
        for fold in (0, 1):
            store.write(Comparison("energy", "spectral forest", fold), [{**row, "rmse": 1.0 + fold}], 1.0)
            store.write(Comparison("energy", "LightGBM", fold), [{**row, "mnlp": 2.0}], 1.0)
        store.write(Comparison("energy", "LightGBM quantile", 0), [{**row, **now, "rmse": 1.0, "mnlp": None}], 1.0)
        store.write(Comparison("energy", "NGBoost", 0), [], 1.0, "MemoryError")
        return store

    def test_means_are_over_folds_in_the_order_of_the_suite(self, store):
        compared = means(store.read())
        assert list(compared) == [("energy", name) for name in ("spectral forest", "LightGBM", "LightGBM quantile")]
        forest = compared["energy", "spectral forest"]
        assert (forest["rmse"], forest["folds"]) == (1.5, 2)

    def test_the_table_has_a_line_per_method(self, store):
        lines = markdown(means(store.read())).splitlines()
        without = "1.5000 | 1.000 | 0.5000 | 0.950 |  |  |  |  |  | 4.0 | 0.10 | 0.30"
        assert lines[2] == f"| energy | spectral forest | 2 | {without} |"
        calibrated = "0.950 | 0.510 | 0.790 | 0.900 | 0.990 | 0.020"
        assert lines[4] == f"| energy | LightGBM quantile | 1 | 1.0000 |  | 0.5000 | {calibrated} | 4.0 | 0.10 | 0.30 |"
        assert len(lines) == 5

    def test_the_forest_is_compared_with_the_best_boosting_that_has_densities(self, store):
        compared = means(store.read())
        assert best_boosting(compared, "energy") == compared["energy", "LightGBM"]
        assert best_boosting(compared, "flights") is None
        panels = draw(compared).axes
        dots = [np.asarray(panel.collections[1].get_offsets())[0, 0] for panel in panels]
        assert dots == pytest.approx([1.5 / 2.0, 2.0 - 1.0, 1.0, 95.0])
        assert [label.get_text() for label in panels[0].get_yticklabels()] == ["energy"]

    @pytest.mark.slow
    def test_is_written_by_the_command(self, store, tmp_path, monkeypatch, capsys):
        out = ["--table", str(tmp_path / "a" / "t.md"), "--figure", str(tmp_path / "b" / "f.png")]
        monkeypatch.setattr("sys.argv", ["report", "--results", str(store.folder), *out])
        compare_report.main()
        assert "3 lines" in capsys.readouterr().out
        assert (tmp_path / "a" / "t.md").read_text().startswith("| table |")
        assert (tmp_path / "b" / "f.png").stat().st_size > 0

    def test_without_results_says_what_to_run(self, tmp_path, monkeypatch):
        monkeypatch.setattr("sys.argv", ["report", "--results", str(tmp_path)])
        with pytest.raises(SystemExit, match=r"run python -m benchmarks\.compare first"):
            compare_report.main()
