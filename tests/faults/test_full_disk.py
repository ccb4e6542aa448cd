"""Disks that are full: an error that tells how much room is missing where, and nothing half-written."""

import errno
import os

import pyarrow as pa
import pytest

from faults_of_the_system import all_files, files_of_at_most, tiny_disk
from helpers import small_forest, wavy
from ssgp.tables.writing import write_table

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of files as POSIX has them")


@pytest.fixture(scope="module")
def model():
    X, y, _ = wavy(300)
    return small_forest(max_iter=5).fit(X, y)


def test_a_model_that_does_not_fit(model, tmp_path):
    path = tmp_path / "model"
    path.write_text("old")
    with (
        files_of_at_most(10_000),
        pytest.raises(
            OSError, match=r"cannot write '.*model': files of that size .* needs at least 0\.\d MB"
        ) as raised,
    ):
        model.save(path)
    assert raised.value.errno == errno.EFBIG
    assert all_files(tmp_path) == ["model"]
    assert path.read_text() == "old"


def test_a_model_that_does_not_fit_on_a_disk(model, tmp_path):
    with tiny_disk(tmp_path / "disk", 16) as disk:
        with pytest.raises(OSError, match=f"the disk is full.*the folder '{disk}' had 0.0 MB free") as raised:
            model.save(disk / "model")
        assert raised.value.errno == errno.ENOSPC
        assert all_files(disk) == []


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_a_table_that_does_not_fit(suffix, tmp_path, rng):
    table = pa.table({"x": rng.normal(size=10_000)})
    with files_of_at_most(10_000), pytest.raises(OSError, match=f"cannot write '.*t.{suffix}'.* did not fit"):
        write_table([table], tmp_path / f"t.{suffix}")
    assert all_files(tmp_path) == []


def test_rows_of_a_large_table_that_do_not_fit(tmp_path):
    X, y, _ = wavy(2000)
    with (
        files_of_at_most(10_000),
        pytest.raises(OSError, match=f"no room for 0.0 GB of rows in the folder '{tmp_path}'"),
    ):
        small_forest(max_iter=5).fit_batches([(X, y)], folder=tmp_path)
    assert all_files(tmp_path) == []


@pytest.mark.slow
def test_a_fit_with_a_checkpoint_is_not_lost(tmp_path):
    pytest.importorskip("typer", reason="the command line is not installed")
    from command_line import QUICK, fails, run

    many_trees = ["n_trees=8" if word == "n_trees=2" else word for word in QUICK]

    X, y, _ = wavy(600)
    write_table([pa.table({"east": X[:, 0], "north": X[:, 1], "height": y})], tmp_path / "t.csv")
    command = ["fit", tmp_path / "t.csv", "--target", "height", *many_trees, "--quiet"]
    resumable = [*command, "--checkpoint", tmp_path / "parts", "--out", tmp_path / "model"]
    assert run(*command, "--out", tmp_path / "whole") == (0, "", "")
    # Parts of the fit are smaller than the model.
    with files_of_at_most((tmp_path / "whole").stat().st_size * 2 // 3):
        line = fails(*resumable)
    assert f"cannot write '{tmp_path / 'model'}': files of that size are not allowed there" in line
    assert f"finished parts of the fit are still in '{tmp_path / 'parts'}'" in line
    files = all_files(tmp_path)
    assert sum(name.startswith("parts/fold-") for name in files) >= 8
    assert not any(name.endswith(".part") for name in files)
    assert run(*resumable) == (0, "", "")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "whole").read_bytes()
