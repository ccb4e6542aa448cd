"""``ssgp inspect``: what a saved model is."""

import os
from dataclasses import fields
from typing import Any

from ssgp.cli.errors import one_line
from ssgp.cli.notes import Notes
from ssgp.cli.output import Output, amount, plain_numbers
from ssgp.cli.predictor import check_model_file
from ssgp.distributions.pipeline import encoder_of, steps_of
from ssgp.distributions.recalibrated import RecalibratedRegressor
from ssgp.distributions.recalibration import Recalibration
from ssgp.plot.exchange import importances
from ssgp.saved_models import SavedModelError
from ssgp.saving.model_files import read_summary
from ssgp.stored import ESTIMATORS, load
from ssgp.tables.encoder import TableEncoder

__all__ = ["inspect_command"]

MOST_IMPORTANCES = 10
BAR_LENGTH = 20


def inspect_command(model: str, output: Output) -> int:
    """Print what is in a file; return the exit code."""
    check_model_file(model)
    summary = {"path": model, "bytes": os.path.getsize(model), **read_summary(model), **_whole_importances(model)}
    parts = (_head, _notes, _recalibration, _settings, _columns, _training, _importances)
    output.answer(summary, "\n".join(text for text in (part(summary) for part in parts) if text))
    return 0


def _head(summary: dict[str, Any]) -> str:
    libraries = {"ssgp": "ssgp", "scikit-learn": "sklearn", "numpy": "numpy"}
    versions = ", ".join(f"{name} {summary[f'{key}_version']}" for name, key in libraries.items())
    return f"{summary['path']}: {' and '.join(summary['classes'])}, {_size(summary['bytes'])}\nWritten by {versions}"


def _notes(summary: dict[str, Any]) -> str:
    """Notes of `ssgp fit`, as far as they are there, and others."""
    notes = Notes(summary.get("notes"))
    lines = [] if notes.target is None else [f"Predicts {notes.target}{_moments(notes)}{_key(notes)}"]
    others = [f"{name}={value}" for name, value in notes.others.items()]
    return "\n".join([*lines, *([f"Notes: {', '.join(others)}"] if others else [])])


def _moments(notes: Notes) -> str:
    if notes.moments is None:
        return ""
    mean, deviation = plain_numbers(notes.moments)
    return f" (mean {mean}, deviation {deviation} in training)"


def _key(notes: Notes) -> str:
    return f", rows named by {', '.join(notes.key)}" if notes.key else ""


def _recalibration(summary: dict[str, Any]) -> str:
    if "recalibration" not in summary:
        return ""
    numbers = summary["recalibration"]
    recalibration = Recalibration(
        **{field.name: numbers[field.name] for field in fields(Recalibration) if field.name in numbers}
    )
    return f"Recalibrated on {amount(int(numbers.get('n_rows', 0)), 'row')}: {recalibration.describe()}"


def _settings(summary: dict[str, Any]) -> str:
    """Settings that are not the estimator's defaults."""
    estimators: dict[str, Any] = {cls.__name__: cls for cls in ESTIMATORS if cls is not RecalibratedRegressor}
    cls = estimators.get(summary["classes"][-1])
    defaults = {} if cls is None else cls()._stored_settings() | cls._removed_settings
    usual = defaults | {"encoder": str(TableEncoder()._stored_settings())}
    changed = {
        name: value for name, value in summary["settings"].items() if value not in (defaults.get(name), usual.get(name))
    }
    listed = ", ".join(f"{name}={value}" for name, value in changed.items())
    return f"Settings: {listed or 'defaults'}{', others at their defaults' if listed else ''}"


def _columns(summary: dict[str, Any]) -> str:
    names = summary["feature_names_in"] or [f"x{i}" for i in range(summary["n_features_in"])]
    lines = summary.get("columns", names)
    return "\n".join([f"Inputs, {amount(len(lines), 'column')}:", *(f"  {one_line(line)}" for line in lines)])


def _training(summary: dict[str, Any]) -> str:
    values = summary["training"].items()
    return "Training: " + ", ".join(f"{name.removesuffix('_')} {_short(value)}" for name, value in values)


def _whole_importances(path: str) -> dict[str, Any]:
    """What predictions depend on, where the model can be loaded and keeps rows to tell it by."""
    try:
        model = load(path)
        encoder = encoder_of(model)
        if encoder is None or isinstance(steps_of(model)[-1], TableEncoder):
            return {}
        if encoder.donors is None or len(encoder.donors.rows) < 2:
            return {}
        found = importances(model)
    except (SavedModelError, OSError):
        # What can be told of such a file is in its summary.
        return {}
    numbers = zip(found.columns, found.mean.tolist(), found.spread.tolist(), strict=True)
    return {"importances": {name: {"mean": mean, "spread": spread} for name, mean, spread in numbers}}


def _importances(summary: dict[str, Any]) -> str:
    if "importances" not in summary:
        return _importances_of_features(summary)
    found = sorted(summary["importances"].items(), key=lambda item: -item[1]["mean"])[:MOST_IMPORTANCES]
    width, largest = max(len(one_line(name)) for name, _ in found), found[0][1]["mean"] or 1.0
    bars = [
        f"  {one_line(name):<{width}} {plain_numbers([of['mean']])[0]:>9} {of['spread']:7.1%}  "
        f"{'#' * round(BAR_LENGTH * of['mean'] / largest)}".rstrip()
        for name, of in found
    ]
    head = "Importances: changes of the mean, and of the deviation, when a training row gets another row's value:"
    return "\n".join([head, *bars])


def _importances_of_features(summary: dict[str, Any]) -> str:
    named = {one_line(name): share for name, share in summary.get("feature_importances", {}).items()}
    shares = sorted(named.items(), key=lambda item: -item[1])[:MOST_IMPORTANCES]
    if not shares:
        return ""
    width = max(len(name) for name, _ in shares)
    longest = shares[0][1] or 1.0
    bars = [
        f"  {name:<{width}} {share:6.1%} {'#' * round(BAR_LENGTH * share / longest)}".rstrip() for name, share in shares
    ]
    return "\n".join(
        ["Feature importances, by lengthscale (an effect that is a straight line counts for little):", *bars]
    )


def _short(value: object) -> str:
    written = plain_numbers([value])[0] if isinstance(value, float) else str(value)
    return f"{value:,}" if isinstance(value, int) else written


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:,.1f} MB" if n_bytes >= 1e5 else f"{n_bytes / 1e3:,.1f} kB"
