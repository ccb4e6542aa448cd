"""What others' code calls by name is as it was in the version before, apart from what was removed on purpose.

`public_names.json` was written from that version, and changes only where a name is meant to come or to go.
"""

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn

import ssgp
from helpers import quick, small_forest

BEFORE = json.loads(Path(__file__).with_name("public_names.json").read_text(encoding="utf-8"))
# Defaults that are others than they were.
CHANGED = {"SpectralForestRegressor": {"tol=0.001": "tol=0.005"}}

SMALL: dict[str, Any] = {
    "DTCRegressor": ssgp.DTCRegressor(5, max_iter=3, random_state=0),
    "ExactGPRegressor": ssgp.ExactGPRegressor(random_state=0),
    "PICRegressor": ssgp.PICRegressor(5, max_iter=3, random_state=0),
    "Pipeline": ssgp.Pipeline([("model", ssgp.ExactGPRegressor(random_state=0))]),
    "SSGPRegressor": ssgp.SSGPRegressor(3, max_iter=3, n_restarts=1, random_state=0),
    "SVBSSGPRegressor": quick(max_iter=3),
    "SpectralForestRegressor": small_forest(max_iter=3),
    "TableEncoder": ssgp.TableEncoder(),
    "VSSGPRegressor": ssgp.VSSGPRegressor(3, max_iter=3, random_state=0),
}


def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=pd.Index(["a", "b"]))
    return X, np.sin(X["a"].to_numpy()) + 0.1 * rng.normal(size=60)


def fitted(name):
    X, y = rows()
    if name == "RecalibratedRegressor":
        return ssgp.recalibrate(SMALL["DTCRegressor"].fit(X, y), X, y)
    return SMALL[name].fit(X, y)


def parameters(function):
    """Names, order and defaults, without types."""
    signature = inspect.signature(function)
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))


def classes():
    return [name for name in BEFORE["names"] if inspect.isclass(getattr(ssgp, name))]


def test_a_star_import_has_the_same_names():
    names = {}
    exec("from ssgp import *", names)
    assert sorted(name for name in names if not name.startswith("__")) == BEFORE["names"]


@pytest.mark.parametrize("name", BEFORE["parameters"])
def test_constructors_take_the_same_parameters_with_the_same_defaults(name):
    expected = BEFORE["parameters"][name]
    for before, now in CHANGED.get(name, {}).items():
        assert expected.count(before) == 1
        expected = expected.replace(before, now)
    assert parameters(getattr(ssgp, name)) == expected


def test_no_class_came_without_being_written_down():
    for group in ("parameters", "methods", "fitted_attributes"):
        assert list(BEFORE[group]) == classes()


@pytest.mark.parametrize("name", BEFORE["methods"])
def test_every_method_is_still_there(name):
    missing = [method for method in BEFORE["methods"][name] if not callable(getattr(getattr(ssgp, name), method, None))]
    assert missing == []


@pytest.mark.parametrize("name", BEFORE["fitted_attributes"])
def test_fits_leave_the_same_attributes(name):
    model = fitted(name)
    own = [attribute for attribute in dir(model) if attribute.endswith("_") and not attribute.startswith("_")]
    assert sorted(attribute for attribute in own if hasattr(model, attribute)) == BEFORE["fitted_attributes"][name]


class TestCommandLine:
    @pytest.fixture
    def commands(self):
        typer = pytest.importorskip("typer", reason="the command line is not installed")
        from ssgp.cli.app import app

        return typer.main.get_command(app)

    def test_has_the_same_commands(self, commands):
        assert {"", *commands.commands} == set(BEFORE["commands"])

    @pytest.mark.parametrize("name", BEFORE["commands"])
    def test_takes_the_same_options_and_arguments(self, name, commands):
        command = commands.commands[name] if name else commands
        options = [option for taken in command.params for option in (*taken.opts, *taken.secondary_opts)]
        assert sorted(options) == BEFORE["commands"][name]


@pytest.mark.parametrize(
    ("name", "keywords"), [("DTCRegressor", {"latent"}), ("SVBSSGPRegressor", {"latent", "gamma", "blocks"})]
)
def test_scikit_learn_can_be_asked_to_pass_the_keywords_of_predict_on(name, keywords):
    with sklearn.config_context(enable_metadata_routing=True):
        model = getattr(ssgp, name)().set_predict_request(**dict.fromkeys(keywords, True))
        assert model.get_metadata_routing().predict.requests.items() >= dict.fromkeys(keywords, True).items()
