"""Table 1 of the page, of rows that were never measured."""

import numpy as np
import pytest

from evaluation import made_up
from experiments.error_table import notes, table_lines
from experiments.store import Results


def test_keeps_the_authors_split_apart():
    rows = [
        row for s, e in (("0", 2.0), ("1", 4.0)) for row in made_up(kind="converged", split=s, rmse=e, iteration=-1)
    ]
    rows += made_up(kind="converged", split="authors", rmse=9.0, iteration=-1)
    rows += made_up(method="PIC+", gamma=None, rmse=7.0, iteration=1) + made_up(
        method="PIC+", gamma=None, rmse=5.0, iteration=30
    )
    ours, theirs = table_lines(Results(rows))
    assert (ours.rmse, ours.n_splits, ours.authors, ours.paper) == ((3.0, pytest.approx(2**0.5)), 2, 9.0, 4.73)
    assert (theirs.method, theirs.rmse[0]) == ("PIC+", 5.0)


def test_counts_a_split_once_where_nothing_has_converged_yet():
    rows = [row for r in (1, 20) for row in made_up(suite="blog", n_draws=r, rmse=float(r))]
    (line,) = table_lines(Results(rows))
    assert (line.rmse[0], line.n_splits) == (20.0, 1)
    assert "20.00" in line.texts()
    assert np.isnan(line.rmse[1])


def test_says_which_runs_did_not_stop_by_themselves():
    rows = made_up(kind="converged", steps=1200, converged=True) + made_up(kind="converged", split="1", steps=3000)
    rows += made_up(kind="converged", method="SSGP", gamma=None, steps=70, converged=True)
    rows += made_up(kind="converged", method="VSSGP", gamma=None, steps=5000)
    rows += made_up(kind="trace", method="PIC+", gamma=None, steps=6000, train_s=150.0)
    lines = table_lines(Results(rows))
    text = " ".join(notes(lines))
    assert "not by themselves: AIMPEAK: sVBSSGP (3,000, 1 of 2 splits), VSSGP (5,000)." in text
    assert "end of the traced runs: AIMPEAK: PIC+ (6,000)." in text
    assert {line.method: "*" in line.texts()[4] for line in lines} == {
        "sVBSSGP": False,
        "PIC+": True,
        "VSSGP": False,
        "SSGP": False,
    }
