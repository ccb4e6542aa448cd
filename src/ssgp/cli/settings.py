"""Settings of estimators, from the text of options."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.utils._param_validation import InvalidParameterError

import ssgp
from ssgp._utils.names import hint
from ssgp.cli.errors import WrongUsage, one_line

__all__ = ["MODELS", "make_regressor", "parse_pairs", "read_value"]

MODELS = {
    "forest": "SpectralForestRegressor",
    "svbssgp": "SVBSSGPRegressor",
    "ssgp": "SSGPRegressor",
    "vssgp": "VSSGPRegressor",
    "dtc": "DTCRegressor",
    "pic": "PICRegressor",
    "exact": "ExactGPRegressor",
}
# Settings for a session in Python: they print, or go on from a fitted model, or are no value that text can say.
NOT_SETTABLE = {"encoder", "verbose", "warm_start"}
VALUES_OF_WORDS = {"none": None, "null": None, "true": True, "yes": True, "false": False, "no": False}


def read_value(text: str) -> Any:  # noqa: ANN401
    """A number, a truth value, nothing, a list of numbers, or else the text itself.

    Examples
    --------
    >>> [read_value(text) for text in ("3", "1e-3", "no", "None", "[1, 2.5]", "matern-3/2")]
    [3, 0.001, False, None, [1, 2.5], 'matern-3/2']
    """
    if text.lower() in VALUES_OF_WORDS:
        return VALUES_OF_WORDS[text.lower()]
    try:
        return json.loads(text)
    except ValueError:
        return text


def parse_pairs(option: str, pairs: Sequence[str]) -> dict[str, str]:
    """Values by name, from the ``NAME=VALUE`` of an option that may be repeated."""
    values: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals):
            raise WrongUsage(f"{option}: {pair!r} is not of the form NAME=VALUE")
        if name in values:
            raise WrongUsage(f"{option}: {name} is set twice, to {values[name]!r} and to {value!r}")
        values[name] = value
    return values


def make_regressor(model: str, pairs: Sequence[str], options: Mapping[str, tuple[str, Any]]) -> Any:  # noqa: ANN401
    """An estimator with these settings.

    Parameters
    ----------
    model : str
        Name of the estimator, a key of `MODELS`.
    pairs : sequence of str
        Values of ``--set``, each ``NAME=VALUE``.
    options : dict of (str, object)
        Settings that have an option besides ``--set``: its name, and its value or None where it is not given.
    """
    regressor = getattr(ssgp, MODELS[model])()
    texts, allowed = parse_pairs("--set", pairs), sorted(set(regressor.get_params()) - NOT_SETTABLE)
    for name in texts:
        if name not in allowed:
            raise WrongUsage(
                f"--set: {model} has no setting {name!r}{hint(name, allowed)}; there are {', '.join(allowed)}"
            )
    for name, (option, value) in options.items():
        if name in texts and value is not None:
            raise WrongUsage(f"--set: {name} is given by {option} as well; leave one of them out")
    given = {name: value for name, (_, value) in options.items() if value is not None and name in allowed}
    regressor.set_params(**given, **{name: read_value(text) for name, text in texts.items()})
    if regressor.get_params().get("n_jobs") == 0:
        raise WrongUsage("--set: n_jobs=0 threads do nothing; give 1 or more, or -1 for all of the machine's")
    try:
        regressor._validate_params()
    except InvalidParameterError as error:
        raise WrongUsage(f"{_option_of(str(error), options)}: {one_line(error)}") from error
    return regressor


def _option_of(message: str, options: Mapping[str, tuple[str, Any]]) -> str:
    """The option that gave the setting which scikit-learn complains of."""
    given = {name: option for name, (option, value) in options.items() if value is not None}
    return next((option for name, option in given.items() if f"{name!r} parameter" in message), "--set")
