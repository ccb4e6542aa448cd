"""Values that are not as in fit, told once for all batches of a table."""

import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

import ssgp
from ssgp.tables.input_warnings import told_once, untold

ROWS = pd.DataFrame({"size": [f"{i}.5" for i in range(100)], "colour": ["red", "blue"] * 50})


@pytest.fixture(scope="module")
def model():
    X = ROWS.assign(size=np.arange(100.0))
    return ssgp.ExactGPRegressor(random_state=0, learn_rows=50).fit(X, np.sin(X["size"]))


def changed(rows):
    """Two sizes that cannot be read, each in a batch of its own, and a new colour."""
    rows = rows.copy()
    rows.loc[[10, 40], "size"] = ["?", "-"]
    rows.loc[90, "colour"] = "green"
    return rows


@contextmanager
def recorded():
    """Messages of the warnings of a table."""
    told = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with told_once():
            yield told
        told.extend(str(warning.message) for warning in caught)


def test_counts_are_of_all_batches(model):
    new = changed(ROWS)
    with recorded() as told:
        for i in range(0, 100, 25):
            model.predict(new[i : i + 25])
    assert len(told) == 2
    assert "column 'size' is text that reads as numbers, but for 2 of 100 values (2.00%), such as '?'" in told[0]
    assert "'size' in 2 of 100 (2.0%), 'colour' in 1 of 100 (1.0%)" in told[1]


def test_nothing_is_told_where_there_is_nothing(model):
    with recorded() as told:
        model.predict(ROWS)
    assert not told


def test_rows_that_were_told_of_are_not_counted_again(model):
    with recorded() as told:
        for _ in range(2):
            with untold():
                model.predict(changed(ROWS))
        model.predict(changed(ROWS))
    assert "'colour' in 1 of 100" in told[1]
