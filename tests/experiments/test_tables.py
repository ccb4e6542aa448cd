"""The paper's tables, read from files made here: no download is needed."""

import shutil
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments import tables as paper_tables
from experiments.tables import (
    AIMPEAK_INPUTS,
    AIRLINE_INPUTS,
    BLOG_INPUTS,
    FOLDER_VARIABLE,
    fingerprint,
    load_aimpeak,
    load_airline,
    load_blog,
    read_flights,
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
        found = load_aimpeak(tmp_path)
        assert found.test is not None
        assert found.blocks is not None
        assert found.test.tolist() == [False, True, False, False, True, False]
        assert found.blocks.tolist() == [0, 0, 1, 1, 2, 2]

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
        monkeypatch.setattr(paper_tables, "BLOG_FINGERPRINT", expected)
        found = load_blog()
        assert sorted(found.y) == sorted(numbers[:, -1])
        assert found.X.shape == (30, 60)
        load_blog()
        assert pooch.n_downloads == 1

    def test_other_numbers_are_refused_and_nothing_is_kept(self, downloaded):
        pooch, _, _ = downloaded
        with pytest.raises(ValueError, match="is not the BlogFeedback table"):
            load_blog()
        assert not list((pooch.cache / "ssgp").iterdir())

    def test_a_download_cut_short_is_tried_again(self, downloaded, monkeypatch):
        pooch, _, expected = downloaded
        monkeypatch.setattr(paper_tables, "BLOG_FINGERPRINT", expected)
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
    from conftest import DATA

    path = DATA / "blog.parquet"
    if not path.exists():
        pytest.skip(f"the BLOG table is not at {path}; set SSGP_DATA to the folder that holds it")
    assert fingerprint(pq.read_table(path), [*BLOG_INPUTS, "y"]) == paper_tables.BLOG_FINGERPRINT


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
    found = {name: table[name].to_pylist() for name in table.column_names}
    assert found["ArrDelay"] == [-14, 14]
    assert found["plane_age"] == [10, 7]
    assert found["DepTime"] == [20 * 60 + 3, 6 * 60 + 28]
    assert list(found) == [*AIRLINE_INPUTS, "ArrDelay"]
