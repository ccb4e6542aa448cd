"""Table 1 beside the paper's, of rows that were never measured."""

import pytest

from evaluation import made_up
from experiments.store import Results
from experiments.table_one import table_one, table_one_holds


def ended(suite, method, rmse, **more):
    gamma = 0.0 if method == "sVBSSGP" else None
    return made_up(suite=suite, method=method, kind="converged", iteration=-1, gamma=gamma, rmse=rmse, **more)


def cells(rows):
    """Errors and judgements by method and column, of those that were run."""
    return {
        (row.method, column): (cell.rmse[0], cell.judged)
        for row in table_one(Results(rows))
        for column, cell in row.cells.items()
        if cell is not None
    }


@pytest.mark.parametrize(
    ("rmse", "judged"),
    [
        (4.73, "as printed"),
        (5.2, "as printed"),
        (5.21, "higher"),
        (5.3, "higher"),
        (4.31, "as printed"),
        (4.26, "as printed"),
        (4.25, "lower"),
        (4.2, "lower"),
    ],
)
def test_errors_are_judged_by_the_printed_ones(rmse, judged):
    assert cells(ended("aimpeak-joint", "sVBSSGP", rmse)) == {("sVBSSGP", "-joint"): (rmse, judged)}


def test_on_airline_ratios_count():
    rows = ended("airline", "DTC+", 30.0) + ended("airline", "sVBSSGP", 30.0) + ended("airline-joint", "sVBSSGP", 17.0)
    rows += ended("airline", "DTC+", 99.0, split="4")
    found = cells(rows)
    assert found["sVBSSGP", "-joint"] == (17.0, "as printed")
    # Of the same split.
    assert found["sVBSSGP", ""] == (30.0, "higher")
    assert found["DTC+", "-joint"] == (30.0, "unit")


def test_ratios_are_of_the_splits_that_a_method_has():
    rows = ended("airline-joint", "sVBSSGP", 20.0) + ended("airline-joint", "sVBSSGP", 20.0, split="1")
    rows += ended("airline", "DTC+", 30.0) + ended("airline", "DTC+", 90.0, split="1")
    rows += made_up(suite="airline-joint", method="PIC+", gamma=None, rmse=25.0)
    found = cells(rows)
    assert found["PIC+", "-joint"] == (25.0, "as printed")
    assert found["sVBSSGP", "-joint"] == (20.0, "lower")


def test_methods_without_blocks_are_the_same_under_both_protocols():
    rows = ended("aimpeak-joint", "DTC+", 9.0) + ended("aimpeak-inputs", "sVBSSGP", 8.0)
    rows += ended("aimpeak-joint", "PIC+", 3.0)
    found = cells(rows)
    assert found["DTC+", "-inputs"] == found["DTC+", "-joint"] == (9.0, "lower")
    assert ("PIC+", "-inputs") not in found


@pytest.mark.parametrize(
    ("errors", "outcome"),
    [((4.7, 6.1, 12.0), "reproduced"), ((8.0, 6.1, 12.0), "in part"), ((8.0, 6.1, 8.0), "not reproduced")],
)
def test_the_table_holds_where_its_errors_do(errors, outcome):
    rows = [
        row
        for method, error in zip(("sVBSSGP", "PIC+", "DTC+"), errors, strict=True)
        for row in ended("aimpeak", method, error)
    ]
    assert table_one_holds("", Results(rows)).outcome == outcome
    assert table_one_holds("-joint", Results(rows)).outcome == "not run"
