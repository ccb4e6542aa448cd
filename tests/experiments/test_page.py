"""The page of the evaluation, of few results or none."""

import re

from evaluation import made_up
from experiments.page import write_page
from experiments.store import Results
from experiments.suites import SUITES


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
