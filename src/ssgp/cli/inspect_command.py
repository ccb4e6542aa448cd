"""``ssgp inspect``: what a saved model is."""

import os
from typing import Any

import ssgp
from ssgp.cli.errors import one_line
from ssgp.cli.notes import Notes
from ssgp.cli.output import Output, amount
from ssgp.cli.predictor import check_model_file
from ssgp.distributions.recalibration import Recalibration
from ssgp.saving.model_files import read_summary

__all__ = ["inspect_command"]

MOST_IMPORTANT = 10
BAR = 20


def inspect_command(model: str, output: Output) -> int:
    """Tell what is in a file, without loading the model; return the exit code."""
    check_model_file(model)
    found = {"path": model, "bytes": os.path.getsize(model), **read_summary(model)}
    parts = (_head, _notes, _recalibration, _settings, _columns, _training, _importances)
    output.answer(found, "\n".join(text for text in (part(found) for part in parts) if text))
    return 0


def _head(found: dict[str, Any]) -> str:
    written = f"ssgp {found['ssgp_version']}, scikit-learn {found['sklearn_version']}, numpy {found['numpy_version']}"
    return f"{found['path']}: {' and '.join(found['classes'])}, {_size(found['bytes'])}\nWritten by {written}"


def _notes(found: dict[str, Any]) -> str:
    """What `ssgp fit` noted, as far as it is there, and what others did."""
    notes = Notes(found.get("notes"))
    lines = [] if notes.target is None else [f"Predicts {notes.target}{_moments(notes)}{_key(notes)}"]
    others = [f"{name}={value}" for name, value in notes.others.items()]
    return "\n".join([*lines, *([f"Notes: {', '.join(others)}"] if others else [])])


def _moments(notes: Notes) -> str:
    if notes.moments is None:
        return ""
    mean, deviation = notes.moments
    return f" (mean {mean:.4g}, deviation {deviation:.4g} in training)"


def _key(notes: Notes) -> str:
    return f", rows named by {', '.join(notes.key)}" if notes.key else ""


def _recalibration(found: dict[str, Any]) -> str:
    if "recalibration" not in found:
        return ""
    own = dict(found["recalibration"])
    return f"Recalibrated on {amount(own.pop('n_rows'), 'row')}: {Recalibration(**own).describe()}"


def _settings(found: dict[str, Any]) -> str:
    """Those that are not the estimator's own."""
    usual = getattr(ssgp, found["classes"][-1])()._stored_settings()
    changed = {name: value for name, value in found["settings"].items() if value != usual.get(name)}
    listed = ", ".join(f"{name}={value}" for name, value in changed.items())
    return f"Settings: {listed or 'as they come'}{', others as they come' if listed else ''}"


def _columns(found: dict[str, Any]) -> str:
    names = found["feature_names_in"] or [f"x{i}" for i in range(found["n_features_in"])]
    lines = found.get("columns", names)
    return "\n".join([f"Inputs, {amount(len(lines), 'column')}:", *(f"  {one_line(line)}" for line in lines)])


def _training(found: dict[str, Any]) -> str:
    values = found["training"].items()
    return "Training: " + ", ".join(f"{name.removesuffix('_')} {_short(value)}" for name, value in values)


def _importances(found: dict[str, Any]) -> str:
    named = {one_line(name): share for name, share in found.get("feature_importances", {}).items()}
    shares = sorted(named.items(), key=lambda item: -item[1])[:MOST_IMPORTANT]
    if not shares:
        return ""
    width = max(len(name) for name, _ in shares)
    longest = shares[0][1]
    bars = [f"  {name:<{width}} {share:6.1%} {'#' * round(BAR * share / longest)}".rstrip() for name, share in shares]
    return "\n".join(
        ["Feature importances, by lengthscale (an effect that is a straight line counts for little):", *bars]
    )


def _short(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if isinstance(value, float) else str(value)


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:,.1f} MB" if n_bytes >= 1e5 else f"{n_bytes / 1e3:,.1f} kB"
