"""The command of the evaluation."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments import __main__ as command
from experiments.__main__ import main
from experiments.claims import CLAIMS
from experiments.figures import FIGURES
from experiments.fits import evaluation
from experiments.records import open_store
from experiments.suites import SUITES, reduced
from experiments.tables import AIMPEAK_INPUTS, AIRLINE_INPUTS, BLOG_INPUTS, FOLDER_VARIABLE
from helpers import Page, browse

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables with the columns of the real ones."""
    path, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(0)

    def write(name, inputs, target, **more):
        X = rng.normal(size=(1600, len(inputs)))
        y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=1600)
        table = {input_: X[:, i] for i, input_ in enumerate(inputs)} | {target: y} | more
        pq.write_table(pa.table(table), path / f"{name}.parquet")

    for name in ("aimpeak", "aimpeak_joint_blocks"):
        write(name, AIMPEAK_INPUTS, "speed_kmh", split=(np.arange(1600) % 20 == 0) * 1, block=np.arange(1600) // 40)
    write("airline", AIRLINE_INPUTS, "ArrDelay")
    write("blog", BLOG_INPUTS, "y")
    return path


@pytest.fixture(scope="module")
def quick_run(folder, tmp_path_factory):
    """A quick run of everything: most cells here, which is faster than a process each, the last by the command."""
    results, out = tmp_path_factory.mktemp("results"), tmp_path_factory.mktemp("page")
    study, store = evaluation(map(reduced, SUITES.values()), folder), open_store(results)
    for cell in study.cells[:-3]:
        store.write(cell, study.measure(cell), 1.0)
    arguments = ["--quick", "--results", str(results), "--out", str(out)]
    assert main(["run", *arguments, "--jobs", "2", "--data", str(folder)]) == 0
    assert store.cells() == set(study.cells)
    return SimpleNamespace(out=out, arguments=arguments)


@pytest.mark.slow
class TestQuickRun:
    def test_has_every_figure_and_every_verdict(self, quick_run):
        text = (quick_run.out / "index.html").read_text(encoding="utf-8")
        page = Page(text)
        assert page.tags["svg"] == page.tags["figure"] == len(FIGURES)
        assert {path.stem for path in quick_run.out.glob("*.png")} == {
            path.stem for path in quick_run.out.glob("*.svg")
        }
        under_both = [claim for claim in CLAIMS if claim.joint is not None]
        assert len(re.findall('<span class="verdict', text)) == 2 * (len(CLAIMS) + len(under_both))
        assert not re.search(">not run<|not run yet", text)
        assert "No number here is to be believed" in text
        assert "What failed" not in text

    def test_makes_one_file_that_asks_for_nothing(self, quick_run):
        page = Page((quick_run.out / "index.html").read_text(encoding="utf-8"))
        assert max(page.ids.values()) == 1
        assert all(address.startswith("#") or address == "data:," for address in page.addresses)
        assert {address[1:] for address in page.addresses if address.startswith("#")} <= set(page.ids)

    def test_is_drawn_again_without_fitting(self, quick_run, monkeypatch):
        before = (quick_run.out / "index.html").read_bytes()
        (quick_run.out / "index.html").unlink()
        monkeypatch.setattr(command, "run", None)
        assert main(["draw", *quick_run.arguments]) == 0
        assert (quick_run.out / "index.html").read_bytes() == before

    def test_fits_nothing_the_second_time(self, quick_run, capsys):
        assert main(["run", *quick_run.arguments, "--jobs", "1", "--data", "/nowhere"]) == 0
        assert "cells are there already" in capsys.readouterr().out

    def test_opens_in_a_browser(self, quick_run, tmp_path):
        shown = browse(quick_run.out / "index.html", tmp_path)
        assert Page(shown.stdout).tags["svg"] == len(FIGURES)
        assert "CONSOLE" not in shown.stderr


@pytest.mark.parametrize(("quick", "name"), [([], "experiments"), (["--quick"], "experiments-quick")])
def test_a_quick_page_does_not_take_the_place_of_another(quick, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["draw", *quick]) == 0
    assert [path.parent.name for path in tmp_path.rglob("index.html")] == [name]


def test_no_jobs_at_all_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["run", "--jobs", "0"])
    assert "--jobs: at least 1, got 0" in capsys.readouterr().err


def test_without_data_the_message_says_what_to_do(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    suite = replace(SUITES["aimpeak"], splits=("0",), traced=(), converged={"SSGP": 3})
    monkeypatch.setattr(command, "SUITES", {"aimpeak": suite})
    folders = ["--results", str(tmp_path / "rows"), "--out", str(tmp_path / "page")]
    assert main(["run", "--suites", "aimpeak", *folders]) == 1
    assert "authors' repository" in capsys.readouterr().err
