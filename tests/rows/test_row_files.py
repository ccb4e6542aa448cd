"""Rows of tables larger than memory, in files."""

import errno

import numpy as np
import pytest

from ssgp.forest.estimator import SpectralForestRegressor
from ssgp.rows.row_files import RecordFile, gathered


def test_a_full_disk_is_told_with_the_folder(tmp_path, monkeypatch):
    file = RecordFile(np.dtype(np.float64), tmp_path)

    class Full:
        def seek(self, _):
            pass

        def write(self, _):
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self):
            pass

    file.close()
    monkeypatch.setattr(file, "_file", Full())
    with pytest.raises(OSError, match=rf"no room for 0.0 GB of rows in the folder '{tmp_path}'.*TMPDIR"):
        file.append(np.zeros(3))


class TestGathering:
    def test_rows_of_no_weight_are_left_out(self, rng):
        X, y = rng.normal(size=(6, 2)), np.arange(6.0)
        batches = [(X[:2], y[:2], [0, 0]), (X[2:5], y[2:5], [1, 0, 2]), (X[5:5], y[5:5], [])]
        with gathered(SpectralForestRegressor(), batches, None) as file:
            found, target, weight = file.read(0, 10)
        np.testing.assert_array_equal(found, X[[2, 4]])
        np.testing.assert_array_equal(target, [2.0, 4.0])
        np.testing.assert_array_equal(weight, [1.0, 2.0])

    @pytest.mark.parametrize(
        ("batches", "message"),
        [
            ([], "batches has no rows"),
            ([(np.ones((2, 2)), np.ones(2), np.zeros(2))], "none with a weight"),
            ([np.ones((2, 2))], "batch 0 must be .X, y. or .X, y, sample_weight., got a ndarray"),
            ([(np.ones((2, 2)),)], "batch 0 must be .* got 1 parts"),
            ([(np.ones((2, 2)), [1, 2]), (np.ones((2, 3)), [1, 2])], "batch 1: X has 3 features, .* expecting 2"),
            ([(np.ones((2, 2)), [1, 2]), (np.full((2, 2), np.nan), [1, 2])], "batch 1: Input X contains NaN in column"),
            ([(np.ones((2, 2)), [1, 2]), (np.ones((2, 2)), [1, np.nan])], "batch 1: Input y contains NaN"),
            ([(np.ones((2, 2)), [])], "batch 0: .*inconsistent numbers of samples"),
            ([(np.ones((2, 2)), [1, 2, 3], [0, 0])], "batch 0: .*inconsistent numbers of samples"),
            ([(np.ones((2, 2)), 3.0)], "batch 0: "),
            ([(np.ones((2, 2)), [1, 2]), (np.ones((2, 2)), [1, 2], [1, 1])], "batch 1 has weights, unlike"),
            ([(np.ones((2, 2)), [1, 2], [1, 1]), (np.ones((2, 2)), [1, 2])], "batch 1 has no weights, unlike"),
        ],
    )
    def test_what_is_wrong_is_told_with_the_batch(self, batches, message):
        with pytest.raises((ValueError, TypeError), match=message):
            SpectralForestRegressor().fit_batches(batches)

    def test_a_folder_that_is_not_there(self, tmp_path):
        with pytest.raises(NotADirectoryError, match="folder must exist"):
            SpectralForestRegressor().fit_batches([(np.ones((2, 2)), [1, 2])], folder=tmp_path / "nowhere")
