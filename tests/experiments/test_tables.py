"""Tables and their splits, read from files made here: no download is needed."""

import shutil
import zipfile
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import DATA
from evaluation import small_table
from experiments import tables
from experiments.tables import (
    AIMPEAK_INPUTS,
    AIRLINE_INPUTS,
    BLOG_INPUTS,
    FOLDER_VARIABLE,
    SPLITS,
    fingerprint,
    load_aimpeak,
    load_airline,
    load_blog,
    load_uci,
    read_flights,
    split_rows,
)


@pytest.fixture(autouse=True)
def nowhere(monkeypatch):
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)


def write(path, names, n_rows, rng):
    columns = {name: rng.normal(size=n_rows) for name in names}
    pq.write_table(pa.table(columns), path)
    return columns


class TestFolders:
    def test_a_folder_or_the_environment(self, tmp_path, rng, monkeypatch):
        columns = write(tmp_path / "airline.parquet", [*AIRLINE_INPUTS, "ArrDelay"], 20, rng)
        given = load_airline(tmp_path, n_rows=15)
        np.testing.assert_array_equal(given.X[:, 3], columns["plane_age"][:15])
        np.testing.assert_array_equal(given.y, columns["ArrDelay"][:15])
        monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
        np.testing.assert_array_equal(load_airline().y, columns["ArrDelay"])

    def test_the_authors_split_and_blocks(self, tmp_path, rng):
        columns = {name: rng.normal(size=6) for name in [*AIMPEAK_INPUTS, "speed_kmh"]}
        table = pa.table({**columns, "split": [0, 1, 0, 0, 1, 0], "block": [0, 0, 1, 1, 2, 2]})
        pq.write_table(table, tmp_path / "aimpeak.parquet")
        aimpeak = load_aimpeak(tmp_path)
        assert aimpeak.test is not None
        assert aimpeak.blocks is not None
        assert aimpeak.test.tolist() == [False, True, False, False, True, False]
        assert aimpeak.blocks.tolist() == [0, 0, 1, 1, 2, 2]
        np.testing.assert_array_equal(SPLITS["aimpeak"](tmp_path, 0).y_test, columns["speed_kmh"][[1, 4]])

    def test_a_file_that_is_not_there_is_named(self, tmp_path, monkeypatch):
        with pytest.raises(FileNotFoundError, match=r"blog\.parquet is not there: the folder given"):
            load_blog(tmp_path)
        monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
        with pytest.raises(FileNotFoundError, match="the folder that SSGP_DATA names must hold blog"):
            load_blog()

    def test_a_column_that_is_not_there_is_named(self, tmp_path, rng):
        write(tmp_path / "blog.parquet", BLOG_INPUTS, 5, rng)
        with pytest.raises(ValueError, match="has no column 'y'"):
            load_blog(tmp_path)

    def test_what_cannot_be_downloaded_says_how_to_get_it(self):
        with pytest.raises(FileNotFoundError, match=r"authors' repository .* columns t, m1"):
            load_aimpeak()


class TestSplitsOfTheEvaluation:
    def test_are_random_twentieths_that_a_seed_repeats(self):
        table = small_table()
        one, again, other = split_rows(table, "1"), split_rows(table, "1"), split_rows(table, "2")
        np.testing.assert_array_equal(one.y_test, again.y_test)
        assert set(one.y_test) != set(other.y_test)
        assert len(one.y_train) + len(one.y_test) == len(table.y)
        assert not set(one.y_train) & set(one.y_test)
        assert len(one.y_test) == pytest.approx(40, abs=20)

    def test_are_those_that_the_readme_describes(self):
        table, test = small_table(), np.random.default_rng([2017, 3]).random(800) < 0.05
        np.testing.assert_array_equal(split_rows(table, "3").y_test, table.y[test])

    def test_the_authors_own(self):
        np.testing.assert_array_equal(split_rows(small_table(), "authors").y_test, small_table().y[::20])

    def test_a_table_without_one_says_so(self):
        without = replace(small_table(), test=None)
        with pytest.raises(ValueError, match="no split of its own"):
            split_rows(without, "authors")
        with pytest.raises(ValueError, match="no split of its own"):
            without.split()

    def test_rows_of_a_part_keep_to_their_side(self):
        table = small_table()
        whole, part = split_rows(table, "3"), split_rows(table, "3", 300)
        assert len(part.y_train) + len(part.y_test) == 300
        assert set(part.y_test) <= set(whole.y_test)


class TestSplitsOfTheBenchmarks:
    def test_of_a_uci_set_are_its_folds(self, tmp_path, rng):
        (tmp_path / "uci").mkdir()
        columns = {"x0": rng.normal(size=9), "x1": rng.normal(size=9), "y": rng.normal(size=9)}
        pq.write_table(pa.table({**columns, "fold": np.arange(9) % 3}), tmp_path / "uci" / "energy.parquet")
        split = SPLITS["energy"](tmp_path, 2)
        np.testing.assert_array_equal(split.y_test, columns["y"][2::3])
        assert split.X_train.shape == (6, 2)
        assert split.feature_names == ("x0", "x1")

    def test_a_uci_set_without_a_folder_says_what_to_do(self):
        with pytest.raises(FileNotFoundError, match=r"uci/energy\.parquet .* set SSGP_DATA"):
            load_uci("energy")

    def test_of_airline_is_the_end_of_the_table(self, tmp_path, rng):
        columns = write(tmp_path / "airline.parquet", [*AIRLINE_INPUTS, "ArrDelay"], 200, rng)
        np.testing.assert_array_equal(SPLITS["airline"](tmp_path, 0).y_test, columns["ArrDelay"][190:])

    def test_of_blog_is_a_random_twentieth(self, tmp_path, rng):
        columns = write(tmp_path / "blog.parquet", [*BLOG_INPUTS, "y"], 400, rng)
        test = np.random.default_rng(1).random(400) < 0.05
        np.testing.assert_array_equal(SPLITS["blog"](tmp_path, 1).y_test, columns["y"][test])


class FakePooch:
    """Hands out a file as if it had been downloaded; as pooch does, it keeps it and does not look at it again."""

    def __init__(self, cache, archive):
        self.cache, self.archive, self.n_downloads = cache, archive, 0

    def os_cache(self, name):
        return self.cache / name

    def retrieve(self, url, known_hash, path, fname, progressbar):
        if not (path / fname).exists():
            self.n_downloads += 1
            shutil.copy(self.archive, path / fname)
        return str(path / fname)


class TestBlogDownload:
    @pytest.fixture
    def downloaded(self, tmp_path, rng, monkeypatch):
        numbers = rng.integers(0, 9, size=(30, 281)).astype(float)
        with zipfile.ZipFile(tmp_path / "blog.zip", "w") as archive:
            for name, part in (("train.csv", numbers[:20]), ("test.csv", numbers[20:])):
                archive.writestr(name, "\n".join(",".join(map(str, row)) for row in part))
        pooch = FakePooch(tmp_path / "cache", tmp_path / "blog.zip")
        (tmp_path / "cache" / "ssgp").mkdir(parents=True)
        monkeypatch.setitem(__import__("sys").modules, "pooch", pooch)
        names = [*(f"f{i}" for i in range(1, 281)), "y"]
        whole = pa.table({name: numbers[:, i] for i, name in enumerate(names)})
        return pooch, numbers, fingerprint(whole, [*BLOG_INPUTS, "y"])

    def test_is_read_once_and_kept(self, downloaded, monkeypatch):
        pooch, numbers, expected = downloaded
        monkeypatch.setattr(tables, "BLOG_FINGERPRINT", expected)
        blog = load_blog()
        assert sorted(blog.y) == sorted(numbers[:, -1])
        assert blog.X.shape == (30, 60)
        load_blog()
        assert pooch.n_downloads == 1

    def test_other_numbers_are_refused_and_nothing_is_kept(self, downloaded):
        pooch, _, _ = downloaded
        with pytest.raises(ValueError, match="is not the BlogFeedback table"):
            load_blog()
        assert not list((pooch.cache / "ssgp").iterdir())

    def test_a_download_cut_short_is_tried_again(self, downloaded, monkeypatch):
        pooch, _, expected = downloaded
        monkeypatch.setattr(tables, "BLOG_FINGERPRINT", expected)
        whole = pooch.archive.read_bytes()
        pooch.archive.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(ValueError, match="zip file"):
            load_blog()
        pooch.archive.write_bytes(whole)
        assert load_blog().X.shape == (30, 60)


def test_the_fingerprint_is_of_the_numbers_not_of_their_order(rng):
    numbers = rng.normal(size=(10, 2))
    one, other = (pa.table({"a": rows[:, 0], "b": rows[:, 1]}) for rows in (numbers, numbers[::-1]))
    assert fingerprint(one, ["a", "b"]) == fingerprint(other, ["a", "b"])
    numbers[3, 1] += 1e-3
    assert fingerprint(pa.table({"a": numbers[:, 0], "b": numbers[:, 1]}), ["a", "b"]) != fingerprint(one, ["a", "b"])


def test_the_blog_of_uci_has_the_fingerprint():
    path = DATA / "blog.parquet"
    if not path.exists():
        pytest.skip(f"the BLOG table is not at {path}; set SSGP_DATA to the folder that holds it")
    assert fingerprint(pq.read_table(path), [*BLOG_INPUTS, "y"]) == tables.BLOG_FINGERPRINT


def test_flights_of_the_data_expo(tmp_path):
    (tmp_path / "2008.csv").write_text(
        "Year,Month,DayofMonth,DayOfWeek,DepTime,ArrTime,TailNum,AirTime,ArrDelay,Distance\n"
        "2008,1,3,4,2003,2211,N1,116,-14,810\n"
        "2008,1,3,4,754,1002,N2,113,2,810\n"
        "2008,2,4,1,628,804,N3,76,14,515\n"
        "2008,2,4,1,628,804,N7,76,15,515\n"
        "2008,2,4,1,628,804,N9,76,16,515\n"
        "2008,2,4,1,NA,NA,N1,NA,NA,515\n"
    )
    (tmp_path / "planes.csv").write_text("tailnum,type,year\nN7\nN1,A,1998\nN2,A,None\nN3,A,2001\n")
    table = read_flights(tmp_path / "2008.csv", tmp_path / "planes.csv")
    columns = {name: table[name].to_pylist() for name in table.column_names}
    assert columns["ArrDelay"] == [-14, 14]
    assert columns["plane_age"] == [10, 7]
    assert columns["DepTime"] == [20 * 60 + 3, 6 * 60 + 28]
    assert list(columns) == [*AIRLINE_INPUTS, "ArrDelay"]
