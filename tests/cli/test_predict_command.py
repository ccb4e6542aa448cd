"""``ssgp predict``: the file holds what Python predicts."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import ssgp

pytest.importorskip("typer", reason="the command line is not installed")
from command_line import SMALL_SSGP, predicted, run
from devices import DEVICE


def _as_text(path):
    """A CSV file whose columns are text."""
    names = path.read_text(encoding="utf-8").splitlines()[0].replace('"', "").split(",")
    types = dict.fromkeys(names, pa.string())
    return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=types))


class TestPredict:
    @pytest.mark.parametrize("suffix", [".parquet", ".csv", ".arrow"])
    def test_the_file_holds_what_python_predicts(self, suffix, folder, model):
        path = folder / f"out{suffix}"
        extras = ("--std", "--quantiles", "0.05,0.5", "--interval", "0.8")
        assert run("predict", folder / "m", folder / "new.parquet", *extras, "--out", path, "--jobs", "1")[0] == 0
        found, new = predicted(path), pq.read_table(folder / "new.parquet")
        assert found.column_names == ["id", "mean", "std", "q0.05", "q0.5", "lower_0.8", "upper_0.8"]
        assert found["id"].to_pylist() == new["id"].to_pylist()
        X = new
        mean, std = model.predict(X, return_std=True)
        levels = [0.05, 0.5, 0.5 - 0.8 / 2, 0.5 + 0.8 / 2]
        for name, column in zip(found.column_names[1:3], (mean, std), strict=True):
            np.testing.assert_allclose(found[name], column, rtol=1e-12, atol=1e-12)
        quantiles = model.predict_quantiles(X, levels)
        np.testing.assert_allclose(np.column_stack(found.columns[3:]), quantiles, rtol=1e-12, atol=1e-12)

    def test_batches_that_are_the_whole_table_give_python_s_bits(self, folder, model):
        pq.write_table(pq.read_table(folder / "new.parquet"), folder / "whole.parquet")
        path = folder / "whole_out.csv"
        assert run("predict", folder / "m", folder / "whole.parquet", "--std", "--out", path, "-q") == (0, "", "")
        mean, std = model.predict(pq.read_table(folder / "whole.parquet"), return_std=True)
        np.testing.assert_array_equal(predicted(path)["mean"], mean)
        np.testing.assert_array_equal(predicted(path)["std"], std)

    def test_a_card_predicts_the_same(self, folder, model):
        path = folder / "by_card.parquet"
        command = ("predict", folder / "m", folder / "new.parquet", "--std", "--out", path)
        assert run(*command, "--device", DEVICE)[0] == 0
        mean, std = model.predict(pq.read_table(folder / "new.parquet"), return_std=True)
        np.testing.assert_allclose(predicted(path)["mean"], mean, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(predicted(path)["std"], std, rtol=1e-4, atol=1e-5)

    def test_devices_that_are_none_or_not_of_the_model(self, folder, tmp_path):
        command = ("predict", folder / "m", folder / "new.parquet", "--out", tmp_path / "p.csv", "--device", "gpu")
        code, _, said = run(*command)
        assert (code, "'gpu' is none; it can be cpu, cuda, cuda:1" in said) == (2, True)
        pd.DataFrame({"x": np.arange(20.0), "y": np.sin(np.arange(20.0))}).to_parquet(tmp_path / "x.parquet")
        small = ("--model", "ssgp", *SMALL_SSGP)
        assert run("fit", tmp_path / "x.parquet", "--target", "y", "--out", tmp_path / "m", *small)[0] == 0
        code, _, said = run(
            "predict", tmp_path / "m", tmp_path / "x.parquet", "--out", tmp_path / "p.csv", "--device", "cpu"
        )
        assert (code, "a SSGPRegressor predicts by the processor" in said) == (2, True)

    def test_small_batches_of_several_files_give_the_same(self, folder, model, monkeypatch, tmp_path):
        new = pq.read_table(folder / "new.parquet")
        csv.write_csv(new.slice(0, 200), tmp_path / "1.csv")
        csv.write_csv(new.slice(200), tmp_path / "2.csv")
        sizes, encoded = [], ssgp.TableEncoder.encoded

        def counted(encoder, X):
            sizes.append(X.num_rows)
            return encoded(encoder, X)

        monkeypatch.setattr("ssgp.tables.files.TableSource.batches.__defaults__", (None, 64))
        monkeypatch.setattr("ssgp.TableEncoder.encoded", counted)
        path = folder / "streamed.parquet"
        assert run("predict", folder / "m", tmp_path, "--keep", "all", "--out", path)[0] == 0
        monkeypatch.undo()
        assert max(sizes) == 64
        found = predicted(path)
        assert found.column_names == [*new.column_names, "mean"]
        assert found["id"].to_pylist() == new["id"].to_pylist()
        np.testing.assert_allclose(found["mean"], model.predict(new), rtol=1e-12, atol=1e-12)

    def test_times_may_be_written_in_another_way_and_are_kept_as_they_are(self, folder, model, tmp_path):
        new = pq.read_table(folder / "new.parquet")
        days = pd.to_datetime(new["when"].to_pandas())
        frame = new.to_pandas()
        for order in ("%Y-%m-%d %H:%M:%S", "%d.%m.%Y %H:%M:%S", "%B %d, %Y %I:%M:%S %p"):
            texts = days.dt.strftime(order)
            frame.assign(when=texts).to_csv(tmp_path / "t.csv", index=False)
            code, _, err = run(
                "predict", folder / "m", tmp_path / "t.csv", "--keep", "when", "--out", tmp_path / "p.csv"
            )
            assert code == 0, err
            found = pd.read_csv(tmp_path / "p.csv")
            assert found["when"].tolist() == texts.tolist()
            np.testing.assert_allclose(found["mean"], model.predict(new), rtol=1e-6)

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
        with pytest.warns(UserWarning, match="'colour' in 2 of 2"):
            expected = model.predict(rows)
        np.testing.assert_allclose(predicted(path)["mean"], expected, rtol=1e-12)

    @pytest.mark.parametrize("suffix", [".csv", ".parquet"])
    def test_codes_that_the_model_takes_for_numbers_are_kept_as_text(self, suffix, tmp_path):
        codes = ["007", " 12", "0120", "NA", ""] * 12
        rows = "".join(f"{i % 7},{code},{i / 2},{i}\n" for i, code in enumerate(codes))
        (tmp_path / "t.csv").write_text(f"a,code,size,y\n{rows}", encoding="utf-8")
        arguments = ("--target", "y", "--model", "ssgp", *SMALL_SSGP, "--out", tmp_path / "m")
        assert run("fit", tmp_path / "t.csv", *arguments)[0] == 0
        out = [tmp_path / f"{name}{suffix}" for name in ("kept", "without")]
        for path, keep in zip(out, ("code,size", ""), strict=True):
            assert run("predict", tmp_path / "m", tmp_path / "t.csv", "--keep", keep, "--out", path)[0] == 0
        kept, without = pa.table(pq.read_table(out[0])) if suffix == ".parquet" else _as_text(out[0]), predicted(out[1])
        assert kept["code"].to_pylist() == codes
        assert [float(size) for size in kept["size"].to_pylist()] == [i / 2 for i in range(60)]
        np.testing.assert_array_equal([float(mean) for mean in kept["mean"].to_pylist()], without["mean"])

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

    def test_standard_output(self, folder):
        code, _, err = run("predict", folder / "m", folder / "new.csv", "--out", "-")
        assert code == 2
        assert "--out: the table is not written to the standard output; give the name of a file" in err

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

    def test_what_fit_never_saw_is_told_once_of_all_batches(self, folder, monkeypatch, tmp_path):
        new = pq.read_table(folder / "new.parquet")
        new = new.set_column(new.column_names.index("colour"), "colour", pa.array(["pink", "red", "blue"] * 100))
        pq.write_table(new, tmp_path / "new.parquet")
        monkeypatch.setattr("ssgp.tables.files.TableSource.batches.__defaults__", (None, 64))
        code, _, err = run("predict", folder / "m", tmp_path / "new.parquet", "--out", tmp_path / "out.csv")
        assert code == 0
        assert err.count("ssgp: warning: ") == 1
        assert "'colour' in 100 of 300 (33.3%)" in err
