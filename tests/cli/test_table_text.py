"""Options that say how CSV files are written, and what is told where they are not given."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

pytest.importorskip("typer", reason="the command line is not installed")
from command_line import QUICK, SMALL_SSGP, fails, predicted, run

FIT = ("--target", "height", "--key", "id", *QUICK)


@pytest.fixture(scope="module")
def frame(folder):
    """The table to learn from, with text where there is text."""
    return csv.read_csv(
        folder / "train.csv", convert_options=csv.ConvertOptions(column_types={"id": pa.string()})
    ).to_pandas()


def test_tables_of_europe_give_the_same_model(folder, frame, tmp_path):
    frame.to_csv(tmp_path / "europe.csv", sep=";", decimal=",", index=False)
    code, out, err = run("fit", tmp_path / "europe.csv", *FIT, "--out", tmp_path / "m")
    assert code == 0, err
    assert "europe.csv: found semicolons between columns (--sep) and decimal commas (--decimal)" in out
    for model, path in {folder / "m": "a.parquet", tmp_path / "m": "b.parquet"}.items():
        assert run("predict", model, folder / "new.csv", "--out", tmp_path / path)[0] == 0
    means = [predicted(tmp_path / path)["mean"].to_numpy() for path in ("a.parquet", "b.parquet")]
    np.testing.assert_array_equal(*means)
    options = ("--sep", ";", "--decimal", ",")
    code, out, _ = run("evaluate", tmp_path / "m", tmp_path / "europe.csv", *options)
    assert code == 0
    assert "found" not in out


def test_what_was_missing_in_fit_is_missing_later(folder, frame, tmp_path):
    frame.fillna({"north": -999}).to_csv(tmp_path / "t.csv", index=False)
    assert run("fit", tmp_path / "t.csv", *FIT, "--na", "-999", "--out", tmp_path / "m")[0] == 0
    for i, options in enumerate([(), ("--na", "-999")]):
        assert run("predict", tmp_path / "m", tmp_path / "t.csv", *options, "--out", tmp_path / f"{i}.csv")[0] == 0
    assert (tmp_path / "0.csv").read_bytes() == (tmp_path / "1.csv").read_bytes()
    assert run("predict", folder / "m", folder / "train.csv", "--out", tmp_path / "usual.csv")[0] == 0
    np.testing.assert_array_equal(predicted(tmp_path / "0.csv")["mean"], predicted(tmp_path / "usual.csv")["mean"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--sep", "ab"), "--sep: 'ab' is not a single sign"),
        (("--decimal", "x"), "--decimal: 'x' is neither '.' nor ','"),
        (("--sep", ",", "--decimal", ","), "it cannot be both"),
    ],
    ids=str,
)
def test_wrong_signs(options, message, folder):
    assert message in fails("fit", folder / "train.csv", *FIT, *options, "--out", folder / "x", code=2)


def test_files_that_need_no_such_options(folder):
    assert "is Parquet" in fails(
        "predict", folder / "m", folder / "new.parquet", "--na", "?", "--out", folder / "x.csv"
    )


def test_an_index_without_a_name_is_told(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=50), "y": rng.normal(size=50)})
    frame.to_csv(tmp_path / "index.csv")
    arguments = ("--target", "y", "--model", "ssgp", *SMALL_SSGP, "--out", tmp_path / "m")
    code, _, err = run("fit", tmp_path / "index.csv", *arguments)
    assert code == 0
    assert "column '' counts the rows, and is learned from; --exclude '' leaves it out" in err
    code, out, err = run("fit", tmp_path / "index.csv", *arguments, "--exclude", "")
    assert "1 column to learn from" in out
    assert "counts the rows" not in err
    pd.read_csv(tmp_path / "index.csv").to_csv(tmp_path / "again.csv", index=False)
    assert "column 'Unnamed: 0' counts the rows" in run("fit", tmp_path / "again.csv", *arguments)[2]


def test_kept_columns_keep_their_types(folder, tmp_path):
    """In files that have types: numbers and dates are what they are, codes such as 007 stay text."""
    new = pq.read_table(folder / "new.parquet").slice(0, 3)
    kept = pa.table(
        {
            "number": [1, None, 3],
            "code": ["007", "8", "9"],
            "share": [0.5, 1.25, None],
            "day": pa.array(["2024-01-01", "2024-02-29", None]).cast(pa.date32()),
            "good": [True, False, True],
        }
    )
    for name in kept.column_names:
        new = new.append_column(name, kept[name])
    csv.write_csv(new, tmp_path / "new.csv")
    columns = ["east", "colour", *kept.column_names]
    out = tmp_path / "out.parquet"
    assert run("predict", folder / "m", tmp_path / "new.csv", "--keep", ",".join(columns), "--out", out)[0] == 0
    found = pq.read_table(out)
    assert found.select(kept.column_names).equals(kept)
    assert found["east"].equals(new["east"])
    assert found["colour"].to_pylist() == new["colour"].to_pylist()
    assert (
        run("predict", folder / "m", tmp_path / "new.csv", "--keep", "code,number", "--out", tmp_path / "o.csv")[0] == 0
    )
    assert (tmp_path / "o.csv").read_text(encoding="utf-8").splitlines()[1].startswith('"007","1",')
