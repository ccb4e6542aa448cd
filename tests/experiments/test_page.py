"""The page of the evaluation, of few results or none."""

import re

from evaluation import made_up
from experiments.authors_program import in_short, program
from experiments.page import write_page
from experiments.store import Results
from experiments.suites import SUITES


def ended(suite, method, rmse, **more):
    gamma = 0.0 if method == "sVBSSGP" else None
    return made_up(suite=suite, method=method, kind="converged", iteration=-1, gamma=gamma, rmse=rmse, **more)


def test_has_the_sizes_of_what_is_run_alone(tmp_path):
    write_page(Results([]), tmp_path)
    (blog,) = re.findall("<li>(BLOG: .*?)</li>", (tmp_path / "index.html").read_text(encoding="utf-8"))
    assert "blocks for PIC+" not in blog
    assert "PIC+" in blog
    assert "inducing inputs" in blog
    assert "DTC+" in SUITES["blog"].methods


def test_says_that_there_are_no_results(tmp_path):
    assert write_page(Results([]), tmp_path) == []
    assert "Nothing has been run yet" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_names_failures(tmp_path):
    write_page(Results(made_up(error="MemoryError: <too much>")), tmp_path)
    assert "MemoryError: &lt;too much&gt;" in (tmp_path / "index.html").read_text(encoding="utf-8")


def page(folder, rows):
    write_page(Results(rows), folder)
    return (folder / "index.html").read_text(encoding="utf-8")


def test_counts_verdicts_and_says_how_blocks_are_made(tmp_path):
    text = page(tmp_path, [])
    assert "Of 9 claims 9 not run on random splits" in text
    assert "of 7 claims 7 not run under the authors" in text
    assert 'partition="tree"' in text
    assert "even k-means in that metric, as the paper has it, is a line of its own" in text


def test_tells_how_long_all_fits_took(tmp_path):
    rows = ended("aimpeak", "DTC+", 8.0, wall_s=1800.0) * 2 + ended("aimpeak", "SSGP", 9.0, wall_s=5400.0)
    assert "2 fits took 2.0 hours of one core in all, from 2026-11-15 to 2026-11-15" in page(
        tmp_path, [{**row, "finished": "2026-11-15T18:47:50Z"} for row in rows]
    )


def test_is_short_about_what_holds():
    ends = {"aimpeak": 7.0, "aimpeak-joint": 3.0, "aimpeak-inputs": 8.0}
    rows = [row for suite, error in ends.items() for row in ended(suite, "sVBSSGP", error)]
    assert in_short(Results(rows)) == ""
    for suite, error in (("aimpeak-joint", 4.0), ("aimpeak-inputs", 11.0)):
        rows += made_up(suite=suite, method="update rule", iteration=30, rmse=error)
    rows += ended("aimpeak", "DTC+", 8.0) + ended("aimpeak", "SSGP", 14.0)
    text = in_short(Results(rows))
    assert "RMSE of 7.00 on AIMPEAK, which is below DTC+, VSSGP and SSGP by 12 to 50 % on AIMPEAK, and learns" in text
    assert "updates end at an RMSE of 4.00 and our sVBSSGP at 3.00" in text
    assert "they end at 11.00 and 8.00" in text


def test_means_of_blocks_are_of_those_of_the_method_that_is_compared():
    rows = []
    for suite, error in (("airline-joint", 20.0), ("airline-inputs", 40.0)):
        rows += ended(suite, "sVBSSGP", 1.0, block_mean=error) * 3
        rows += ended(suite, "sVBSSGP", 1.0, block_mean=error + 2.0, split="1")
        rows += made_up(suite=suite, method="PIC+", gamma=None, n_draws=1, block_mean=1.0)
    text = program(Results(rows))
    assert "21.00 on AIRLINE with blocks of inputs and target, and 41.00 with blocks of inputs" in text


def test_the_updates_stand_beside_the_results_that_are_committed_with_the_program():
    rows = [
        row
        for r, factor in ((5, 1.0), (20, 0.5))
        for t, error in ((0, 1000.0), (5, 20.0), (30, 4.0))
        for row in made_up(suite="aimpeak-joint", method="update rule", n_draws=r, iteration=t, rmse=error * factor)
    ]
    assert "with five draws an RMSE of 1,000, 20.0 and 4.0." in program(Results(rows))
    assert "with five draws an RMSE" not in program(Results(rows[1:]))
