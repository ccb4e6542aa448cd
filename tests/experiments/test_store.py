"""Rows in Parquet files, of this version and of earlier ones."""

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaluation import made_up
from experiments.page import write_page
from experiments.records import open_store, whole_or_quick
from experiments.store import Store
from experiments.suites import Fit
from toy_study import Toy


class TestStore:
    CELL = Toy("a")

    def test_has_what_was_written_and_where_it_was_measured(self, tmp_path):
        store = Store(tmp_path / "new", Toy)
        store.write(self.CELL, [{"rmse": 2.0, "steps": 7, "converged": True, "gamma": None}], 1.5)
        (row,) = store.read().rows
        assert (
            row.items() >= {"kind": "a", "number": 0, "rmse": 2.0, "steps": 7, "converged": True, "gamma": None}.items()
        )
        assert {"error", "wall_s", "finished", "load", "machine", "versions"} <= set(row)
        assert (row["wall_s"], row["error"]) == (1.5, None)
        assert store.cells() == {self.CELL}

    def test_columns_are_those_of_any_row(self, tmp_path):
        store = Store(tmp_path, Toy)
        store.write(self.CELL, [{"rmse": 1}, {"rmse": 2.5, "mnlp": 3.0}], 1.0)
        store.write(Toy("b"), [{"seconds": 4.0}], 1.0)
        assert store.read().values("rmse") == [1.0, 2.5, None]
        assert store.read().values("mnlp") == [None, 3.0, None]
        assert store.read().values("seconds") == [None, None, 4.0]

    def test_a_cell_that_failed_is_not_done(self, tmp_path):
        store = Store(tmp_path, Toy)
        store.write(self.CELL, [], 1.0, "MemoryError")
        assert not store.cells()
        assert [row["error"] for row in store.read().failures()] == ["MemoryError"]
        store.write(self.CELL, [{"rmse": 1.0}], 1.0)
        assert store.cells() == {self.CELL}
        assert not store.read().failures()

    def test_rows_of_nothing_are_refused(self, tmp_path):
        with pytest.raises(ValueError, match="no rows"):
            Store(tmp_path, Toy).write(self.CELL, [], 1.0)
        assert not list(tmp_path.iterdir())

    def test_a_file_is_there_whole_or_not_at_all(self, tmp_path, monkeypatch):
        store = Store(tmp_path, Toy)
        store.write(self.CELL, [{"rmse": 1.0}], 1.0)

        def half(table, path):
            path.write_bytes(b"PAR1")
            raise OSError("no space left on device")

        monkeypatch.setattr(pq, "write_table", half)
        with pytest.raises(OSError, match="no space"):
            store.write(self.CELL, [{"rmse": 2.0}], 1.0)
        assert store.read().values("rmse") == [1.0]
        assert len(list(tmp_path.iterdir())) == 1

    def test_other_tables_are_named(self, tmp_path):
        pq.write_table(pa.table({"ArrDelay": [1.0]}), tmp_path / "airline.parquet")
        with pytest.raises(ValueError, match=r"airline.parquet is no file of results"):
            Store(tmp_path, Toy).read()

    def test_no_folder_is_no_results(self, tmp_path):
        assert Store(tmp_path / "nowhere", Toy).read().rows == []


class TestRowsOfTheEvaluation:
    CELL = Fit("aimpeak", "3", "VSSGP", "converged", 1)
    ROW: ClassVar = {"iteration": -1, "steps": 7, "converged": False, "train_s": 1.0, "rmse": 2.0, "mnlp": 3.0}

    def former(self, path, rows):
        """A file as it was before rows had a seed and told whether runs had stopped by themselves."""
        former = [{name: row[name] for name in row if name not in ("seed", "converged")} for row in rows]
        pq.write_table(pa.Table.from_pylist(former), path)

    def test_a_file_of_many_cells_has_each_of_them(self, tmp_path):
        store, other = open_store(tmp_path), replace(self.CELL, split="4")
        self.former(tmp_path / "rows.parquet", made_up(**vars(self.CELL)) + made_up(**vars(other)))
        assert store.cells() == {self.CELL, other}

    def test_the_newest_rows_of_a_cell_are_its_rows(self, tmp_path):
        old = made_up(**vars(self.CELL), rmse=9.0, finished="2026-01-01T00:00:00Z")
        self.former(tmp_path / "zz-rows.parquet", old * 2)
        store = open_store(tmp_path)
        store.write(self.CELL, [self.ROW], 1.0)
        assert store.read().values("rmse") == [2.0]

    def test_the_newest_rows_of_a_file_are_its_rows(self, tmp_path):
        times = ("2026-01-02", "2026-01-03", "2026-01-01")
        rows = [row for i, time in enumerate(times) for row in made_up(finished=time, rmse=float(i))]
        self.former(tmp_path / "rows.parquet", rows)
        assert open_store(tmp_path).read().values("rmse") == [1.0]

    def test_the_same_rows_in_two_files_count_once(self, tmp_path):
        for name in ("a", "b"):
            self.former(tmp_path / f"{name}.parquet", made_up(**vars(self.CELL)))
        assert len(open_store(tmp_path).read().rows) == 1

    def test_quick_rows_do_not_stand_in_for_others(self, tmp_path):
        store, quick = open_store(tmp_path), replace(self.CELL, quick=True)
        store.write(quick, [self.ROW], 1.0)
        assert store.cells() == {quick}
        assert len(whole_or_quick(store.read()).rows) == 1
        store.write(self.CELL, [{**self.ROW, "rmse": 5.0}], 1.0)
        assert whole_or_quick(store.read()).values("rmse") == [5.0]
        assert whole_or_quick(store.read(), quick=True).values("rmse") == [2.0]

    @pytest.mark.parametrize(
        ("kind", "steps", "converged"), [("converged", 1959, True), ("converged", 3000, False), ("trace", 7, False)]
    )
    def test_former_files_are_completed(self, kind, steps, converged, tmp_path):
        row = made_up(kind=kind, steps=steps, split="3") + made_up(kind=kind, steps=steps, split="authors")
        self.former(tmp_path / "rows.parquet", row)
        results = open_store(tmp_path).read()
        assert results.values("seed") == [3, 0]
        assert results.values("converged") == [converged, converged]

    def test_files_from_before_quick_runs_are_read(self, tmp_path):
        pq.write_table(pa.Table.from_pylist(made_up()).drop_columns(["quick"]), tmp_path / "rows.parquet")
        assert open_store(tmp_path).read().values("quick") == [False]

    def test_our_own_run_can_still_be_read(self):
        results = open_store(Path(__file__).parents[2] / "experiments" / "full-run").read()
        assert len(results.where(suite="aimpeak").rows) > 1000
        assert {type(value) for name in ("seed", "converged") for value in results.values(name)} == {int, bool}

    def test_rows_without_results_are_read_as_failures(self, tmp_path):
        store = open_store(tmp_path)
        self.former(tmp_path / "rows.parquet", made_up(**vars(self.CELL), rmse=None, mnlp=None, iteration=None))
        assert not store.cells()
        assert store.read().failures()
        write_page(store.read(), tmp_path / "page")

    def test_failures_alone_make_a_page(self, tmp_path):
        store = open_store(tmp_path)
        store.write(self.CELL, [], 1.0, "MemoryError: too much")
        write_page(store.read(), tmp_path / "page")
        assert "MemoryError: too much" in (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
