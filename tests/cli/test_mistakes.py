"""Mistakes: one line that says what to do, and nothing is written."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import ssgp

pytest.importorskip("typer", reason="the command line is not installed")
from command_line import fails, run


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
            (["train.csv", "--target", "height", "--set", "n_jobs=0"], 2, "n_jobs=0 threads do nothing"),
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
            (["train.csv", "--target", "height", "--features", "east", "--exclude", "east"], 2, "no column is left"),
            (["train.csv"], 2, "Missing option '--target'"),
            (["train.csv", "--target", "colour"], 1, "'colour' cannot be the target: it holds text, such as"),
            (["train.csv", "--target", "when"], 1, "it holds times"),
            (["train.csv", "--target", "height", "--weight", "north"], 1, "it is missing, negative or infinite in "),
            (
                ["shares.csv", "--target", "y", "--weight", "w", "--model", "ssgp"],
                1,
                "error: --weight w: the column sums to 1: a row of weight k counts for k rows",
            ),
            (
                ["weights.csv", "--target", "height", "--weight", "w"],
                1,
                "in 2 of 3 rows, the first in row 3 of the table",
            ),
            (
                ["train.csv", "--target", "height", "--seed", "99999999999"],
                2,
                "error: --seed: The 'random_state' param",
            ),
            (
                ["train.csv", "--target", "height", "--set", "random_state=-1"],
                2,
                "error: --set: The 'random_state' param",
            ),
            (
                ["latin.csv", "--target", "y"],
                1,
                "in 'latin.csv' cannot be read: the text is not UTF-8; save the file as",
            ),
            (
                ["utf16.csv", "--target", "y"],
                1,
                "'utf16.csv' cannot be read as CSV: the text is UTF-16; save the file as",
            ),
            (
                ["latin_values.csv", "--target", "y"],
                1,
                "not UTF-8, or other bytes; save it as UTF-8, or leave it out: --",
            ),
            (["infinite.csv", "--target", "y"], 1, "error: column 'x' has infinity; replace it by a number"),
            (["huge.csv", "--target", "y"], 1, "error: the target 'y' has values too extreme to standardise"),
            (["huge.csv", "--target", "x"], 1, "error: column 'y' has values too extreme to standardise"),
            (["nest.arrow", "--target", "y"], 1, "no number, time or category; leave it out: --exclude 'my nest'"),
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
        Path("weights.csv").write_text("east,height,w\n1,,\n1,2,3\n2,3,-1\n3,4,\n")
        Path("shares.csv").write_text("x,y,w\n" + "".join(f"{i},{i % 3},0.05\n" for i in range(20)))
        Path("utf16.csv").write_bytes("x,y\n1,2\n3,4\n".encode("utf-16"))
        Path("latin.csv").write_bytes("größe,y\n1,2\n3,4\n".encode("latin-1"))
        Path("latin_values.csv").write_bytes("ort,y\nKöln,2\nBonn,4\n".encode("latin-1"))
        Path("infinite.csv").write_text("x,y\n1,\ninf,2\n3,4\n")
        Path("huge.csv").write_text("colour,x,y\n" + "".join(f"{'ab'[i % 2]},{i},{i - 10}e307\n" for i in range(20)))
        nested = pa.table({"my nest": [[1], [2], [3]], "x": [1, 2, 4], "y": [1.0, 2.0, 3.0]})
        with pa.ipc.new_file("nest.arrow", nested.schema) as file:
            file.write_table(nested)
        assert message in fails("fit", *arguments, "--out", "never", code=code)
        assert not Path("never").exists()

    def test_a_place_that_cannot_be_written_to_is_told_before_the_work(self, folder):
        train = folder / "train.csv"
        assert "it is a folder" in fails("fit", train, "--target", "height", "--out", folder)
        assert "there is no such folder" in fails("fit", train, "--target", "height", "--out", folder / "no" / "m")
        assert "it is a device or a pipe" in fails("fit", train, "--target", "height", "--out", os.devnull)
        assert "must end in .parquet" in fails("predict", folder / "m", train, "--out", folder / "p.txt")

    @pytest.mark.parametrize("out", ["parts/model.safetensors", "parts/below/m", "here/../parts/m", "parts"])
    def test_a_model_in_the_folder_of_the_checkpoint(self, out, folder, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for name in ("parts/below", "here") if out != "parts" else ():
            Path(name).mkdir(parents=True)
        arguments = [folder / "train.csv", "--target", "height", "--checkpoint", "parts", "--out", out]
        assert f"--out: {out!r} is inside the folder of --checkpoint, 'parts'" in fails("fit", *arguments, code=2)

    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            (["n", "new.csv"], 1, "there is no model 'n'"),
            (["new.csv", "new.csv"], 1, "'new.csv' is not a saved model"),
            ([".", "new.csv"], 1, "'.' is a folder"),
            (["array", "new.csv"], 1, "was fitted on an array without names"),
            (["encoder", "new.csv"], 1, "holds a TableEncoder, which predicts nothing"),
            (["m", "few.csv"], 1, "lacks a column that the model needs: 'north'"),
            (["m", "text.csv"], 1, "column 'east' held numbers in fit and holds text"),
            (["m", "header.csv"], 1, "has no rows to predict"),
            (["m", "new.csv", "--keep", "idd"], 2, "--keep: there is no column 'idd' (is 'id' meant?)"),
            (["m", "named.csv", "--keep", "all"], 2, "--keep: 'mean' is the name of a prediction"),
            (["m", "new.csv", "--quantiles", "5,50"], 2, "--quantiles: '5' is not a number between 0 and 1"),
            (["m", "new.csv", "--interval", "90"], 2, "--interval: 90 must lie between 0 and 1"),
            (["m", "new.csv", "--jobs", "two"], 2, "'--jobs'"),
            (
                ["m", "few_keys.csv"],
                1,
                "there is no column 'id', which names the rows (--key of the fit); --keep chooses",
            ),
            (["key_mean", "new_mean.csv"], 2, "and a prediction has the same name; choose other columns by --keep, or"),
        ],
    )
    def test_of_predict(self, arguments, code, message, folder, monkeypatch):
        monkeypatch.chdir(folder)
        x = np.arange(30.0)[:, None]
        ssgp.SSGPRegressor(2, max_iter=2, n_restarts=1).fit(x, x[:, 0]).save("array")
        ssgp.TableEncoder().fit(pa.table({"a": [1, 2]})).save("encoder")
        table = pa.table({"x": x[:, 0]})
        ssgp.save(
            ssgp.SSGPRegressor(2, max_iter=2, n_restarts=1).fit(table, x[:, 0]), "key_mean", notes={"key": ["mean"]}
        )
        Path("new_mean.csv").write_text("x,mean\n1,2\n")
        Path("few.csv").write_text("east\n1\n")
        Path("huge.csv").write_text("id,east,north,colour,when\n1,1e300,1,red,2024-01-01\n")
        Path("latin.csv").write_bytes("größe\n1\n".encode("latin-1"))
        Path("few_keys.csv").write_text("east,north,colour,when\n1,1,red,2024-01-01\n")
        Path("text.csv").write_text("id,east,north,colour,when\n7,far,1,red,2024-01-01\n")
        Path("header.csv").write_text("id,east,north,colour,when\n")
        Path("named.csv").write_text("east,north,colour,when,mean\n1,1,red,2024-01-01,2\n")
        assert message in fails("predict", *arguments, "--out", "never.csv", code=code)
        assert not Path("never.csv").exists()

    @pytest.mark.parametrize(
        "arguments",
        [
            ["fit", "t.csv", "--target", "y", "--out", "m"],
            ["predict", "m", "t.csv", "--out", "p.csv"],
            ["evaluate", "m", "t.csv"],
            ["report", "m", "t.csv", "--out", "r.html"],
            ["demo"],
        ],
    )
    def test_no_threads_at_all(self, arguments):
        for jobs in ("0", "-2"):
            assert "Invalid value for '--jobs'" in fails(*arguments, "--jobs", jobs, code=2)

    def test_of_evaluate(self, folder):
        header = folder / "only_names.csv"
        header.write_text("east,north,colour,when,height\n")
        assert "no row in which the target 'height' is known" in fails("evaluate", folder / "m", header)
        assert "there is no column 'hight'" in fails("evaluate", folder / "m", header, "--target", "hight", code=2)

    def test_a_failure_half_way_leaves_the_old_file(self, folder, tmp_path):
        rows = (folder / "new.csv").read_text().splitlines()
        (tmp_path / "1.csv").write_text("\n".join(rows[:100]))
        (tmp_path / "2.csv").write_text("\n".join([rows[0], *["x,far,1,red,2024-01-01,m,1"] * 30]))
        out = tmp_path / "out" / "p.csv"
        out.parent.mkdir()
        out.write_text("old")
        assert "'east' held numbers in fit and holds text" in fails("predict", folder / "m", tmp_path, "--out", out)
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


@pytest.mark.parametrize("command", ["fit", "predict", "predict the model", "report", "report the model"])
def test_what_is_read_is_not_written_over(folder, command):
    table, model = folder / "new.csv", folder / "m.csv"
    model.write_bytes((folder / "m").read_bytes())
    before = table.read_bytes(), model.read_bytes()
    arguments = {
        "fit": ["fit", table, "--target", "height", "--out", table],
        "predict": ["predict", model, table, "--out", table],
        "predict the model": ["predict", model, table, "--out", model],
        "report": ["report", model, table, "--out", folder / ".." / folder.name / "new.csv"],
        "report the model": ["report", model, table, "--out", model],
    }[command]
    line = fails(*arguments, code=2)
    assert f"is the {'model' if 'model' in command else 'table'} that is read; choose another name" in line
    assert (table.read_bytes(), model.read_bytes()) == before
