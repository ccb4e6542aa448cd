"""Rows drawn from a stream: as many as asked for, all equally probable, the same in batches of any size."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare

from ssgp.tables.row_sample import RowSample


def drawn(n_rows, max_rows, batch, seed=0):
    table, sample = pa.table({"row": np.arange(n_rows)}), RowSample(max_rows, seed)
    for start in range(0, n_rows, batch):
        sample.add(table.slice(start, batch))
    assert sample.n_seen == n_rows
    return sample.table["row"].to_numpy()


def test_few_rows_are_all_kept():
    np.testing.assert_array_equal(drawn(50, 50, 7), np.arange(50))


def test_many_rows_are_drawn_without_repetition_in_their_order():
    rows = drawn(1000, 90, 64)
    assert len(rows) == 90
    assert (np.diff(rows) > 0).all()


@pytest.mark.parametrize("batch", [1, 13, 999, 1000])
def test_batches_do_not_matter(batch):
    np.testing.assert_array_equal(drawn(1000, 90, batch), drawn(1000, 90, 64))


def test_every_row_is_as_probable_as_every_other():
    counts = np.zeros(40)
    for seed in range(2000):
        counts[drawn(40, 10, 15, seed)] += 1
    assert counts.sum() == 20_000
    assert chisquare(counts).pvalue > 1e-4


def test_nothing_to_draw_from_is_told():
    with pytest.raises(ValueError, match="no rows were added"):
        _ = RowSample(10).table
