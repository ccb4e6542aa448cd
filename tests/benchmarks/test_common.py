"""What the benchmarks share."""

import pytest

from benchmarks import common
from benchmarks.common import options, print_command, print_table, results, run_benchmark
from toy_study import Toy, study


@pytest.fixture(autouse=True)
def results_here(tmp_path, monkeypatch):
    monkeypatch.setattr(common, "RESULTS", tmp_path / "results")


@pytest.mark.slow
class TestRuns:
    def test_keep_their_rows_and_print_them_in_the_order_of_the_cells(self, tmp_path, capsys):
        rows = run_benchmark("toys", study(tmp_path, "zebra", "ant"), columns=("kind", "value"))
        assert [row["value"] for row in rows] == [0.0, 1.0]
        assert capsys.readouterr().out.splitlines()[-3:] == [" kind  value", "zebra      0", "  ant      1"]
        assert results("toys", Toy).read().values("value") == [1.0, 0.0]

    def test_measure_again_unless_told_otherwise(self, tmp_path):
        results("toys", Toy).write(Toy("ant"), [{"value": 7.0}], 1.0)
        (kept,) = run_benchmark("toys", study(tmp_path, "ant"), again=False)
        (measured,) = run_benchmark("toys", study(tmp_path, "ant"))
        assert (kept["value"], measured["value"]) == (7.0, 0.0)

    def test_rows_of_other_cells_are_not_shown(self, tmp_path):
        results("toys", Toy).write(Toy("zebra"), [{"value": 7.0}], 1.0)
        assert [row["kind"] for row in run_benchmark("toys", study(tmp_path, "ant"))] == ["ant"]

    def test_end_with_an_error_where_a_cell_fails_and_show_the_others(self, tmp_path, capsys):
        with pytest.raises(SystemExit) as ended:
            run_benchmark("toys", study(tmp_path, "broken", "ant"), columns=("kind",))
        assert ended.value.code == 1
        assert capsys.readouterr().out.splitlines()[-2:] == ["kind", " ant"]

    def test_end_without_a_table_where_they_are_interrupted(self, tmp_path, capsys):
        with pytest.raises(SystemExit) as ended:
            run_benchmark("toys", study(tmp_path, "interrupting", "ant"), columns=("kind",))
        assert ended.value.code == 130
        assert "ant" not in capsys.readouterr().out


class TestTables:
    def test_have_the_columns_that_have_values_but_for_common_ones(self, capsys):
        print_table([{"a": 1.23456, "b": None, "error": None, "wall_s": 2.0}, {"a": 20, "c": "text", "machine": "m"}])
        assert capsys.readouterr().out.splitlines() == ["    a     c", "1.235      ", "   20  text"]

    def test_of_no_rows_are_empty(self, capsys):
        print_table([])
        assert capsys.readouterr().out.strip() == ""


def test_commands_can_be_copied(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["a/path/cores.py", "--methods", "spectral forest", "--rows", "10"])
    print_command("cores")
    assert capsys.readouterr().out == "\npython -m benchmarks.cores --methods 'spectral forest' --rows 10\n\n"


def test_flags_have_the_types_of_their_defaults(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.argv", ["benchmark", "--data", str(tmp_path), "--n-seeds", "3"])
    flags = options("What it is.", n_seeds=5, memory="4GB")
    assert (flags.data, flags.n_seeds, flags.memory) == (tmp_path, 3, "4GB")
