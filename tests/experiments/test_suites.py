"""The suites: what is run on which table."""

from dataclasses import fields

import pytest

from experiments.fits import evaluation
from experiments.methods import METHODS
from experiments.suites import GAMMAS, SUITES, TRACED_GAMMAS, Fit, cells, reduced
from experiments.update_rule import RULES


@pytest.mark.parametrize("suite", SUITES.values(), ids=list(SUITES))
def test_every_method_of_a_suite_can_be_made(suite):
    for cell in [cell for cell in cells(reduced(suite)) if cell.method not in RULES]:
        assert METHODS[cell.method].make(suite, cell, 3, 0).get_params()


def test_every_fit_has_a_file():
    fits = [cell for suite in SUITES.values() for whole in (suite, reduced(suite)) for cell in cells(whole)]
    assert len({cell.name for cell in fits}) == len(set(fits)) == len(fits)


def test_names_and_words_of_a_fit():
    fit = Fit("blog", "authors", "sVBSSGP, local objective", "converged", 20)
    assert fit.name == "blog-authors-sVBSSGP__local_objective-converged-r20"
    assert str(fit) == "blog, split authors, sVBSSGP, local objective, converged, r = 20"
    assert [field.name for field in fields(fit)] == ["suite", "split", "method", "kind", "n_draws", "quick"]


def test_a_split_is_whole_before_the_next_begins():
    splits = [cell.split for cell in cells(SUITES["aimpeak"])]
    assert splits == sorted(splits, key=SUITES["aimpeak"].splits.index)
    assert len(cells(SUITES["aimpeak"])) == 102


def test_methods_that_take_long_are_run_on_few_splits():
    joint = cells(SUITES["aimpeak-joint"])
    assert {cell.split for cell in joint if cell.method == "PIC+"} == {"0", "1"}
    assert {cell.split for cell in joint if cell.method == "sVBSSGP"} == {"0", "1", "2", "3", "4"}


def test_protocols_differ_in_their_blocks_alone():
    joint, inputs = (SUITES[f"aimpeak-{protocol}"] for protocol in ("joint", "inputs"))
    assert joint.blocks is not inputs.blocks
    alike = ("load", "splits", "own_split", "n_frequencies", "n_inducing", "n_blocks", "pic_blocks", "n_draws", "fixed")
    assert all(getattr(joint, name) == getattr(inputs, name) for name in alike)


def test_the_evaluation_has_the_fits_of_all_its_suites():
    study = evaluation(map(reduced, SUITES.values()), None)
    assert {cell.suite for cell in study.cells} == set(SUITES)
    assert all(cell.quick for cell in study.cells)


def test_traced_conditionals_are_among_all():
    assert set(TRACED_GAMMAS) <= set(GAMMAS)
