"""The sections of a report, in order."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ssgp._utils.whole_file import FilePath, check_place
from ssgp._utils.wording import unit_of
from ssgp.distributions.pipeline import steps_of
from ssgp.distributions.recalibrated import original
from ssgp.plot.bound import BoundDisplay
from ssgp.plot.display import Display
from ssgp.plot.effects import EffectDisplay
from ssgp.plot.importance import ImportanceDisplay, SpreadImportanceDisplay
from ssgp.plot.inputs import draw_rows
from ssgp.plot.observations import IntervalDisplay, ObservedDisplay
from ssgp.plot.panels import calibration_displays
from ssgp.plot.predictive import PredictedRows, encode_inputs
from ssgp.plot.style import load_matplotlib
from ssgp.plot.uncertainty import UncertaintyDisplay
from ssgp.plot.variation import variations
from ssgp.report import html
from ssgp.report.accuracy import Score, baseline_scores, score
from ssgp.report.columns import summarize_columns
from ssgp.report.target import TargetDisplay
from ssgp.report.web_page import write_html
from ssgp.saving.summary import summarize
from ssgp.tables.input_warnings import untold

__all__ = ["write_report"]

# Quantiles of a mixture have no formula: they are the costly part, and computed for few rows.
INTERVAL_ROWS, EFFECT_ROWS, WIDTH_ROWS, IMPORTANCE_ROWS, SPREAD_ROWS = 60, 100, 1000, 2000, 1000
MOST_EFFECTS, MOST_UNCERTAINTIES = 6, 3
MOST_COLUMNS = 60
# What the parts of the page take of the work, in order: predictions, importances and effects nearly all of it.
WORK = (7, 0, 1, 1, 7, 3, 0, 0, 0, 0, 1)


@dataclass(frozen=True)
class Subject:
    """The model and the rows that a report is about.

    Attributes
    ----------
    model : regressor or Pipeline
        The model, fitted.
    predicted : PredictedRows
        Rows and their predictive distributions.
    target : str
        Name and unit of the target.
    seen : bool or None
        Whether the model was fitted to the rows; None where nobody says.
    random_state : int
        Seed of everything that is drawn at random.
    """

    model: Any
    predicted: PredictedRows
    target: str
    seen: bool | None
    random_state: int

    def sample(self, n_rows: int) -> PredictedRows:
        """At most `n_rows` of the rows, drawn at random."""
        return self.predicted.take(draw_rows(len(self.predicted.y), n_rows, self.random_state))


def write_report(
    model: Any,  # noqa: ANN401  any regressor of the library
    X: Any,  # noqa: ANN401  any table
    y: ArrayLike,
    path: FilePath,
    *,
    title: str | None = None,
    target: str | None = None,
    seen_in_training: bool | None = None,
    feature_names: Sequence[str] | None = None,
    max_rows: int = 20_000,
    n_rows: int | None = None,
    random_state: int = 0,
    sources: Mapping[str, str] | None = None,
    day: date | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> None:
    """Write a page on what a model learned and how reliable it is.

    A single HTML file with all figures in it, which loads nothing and runs no code: you can mail, print and keep it.
    The same model and rows give the same page on the same day.

    Parameters
    ----------
    model : regressor or Pipeline
        Any regressor of the library, or a pipeline that ends with one; fitted.
    X : array-like of shape (n, d)
        Inputs, as the model takes them; preferably rows that it has not seen.
    y : array-like of shape (n,)
        Targets of the rows.
    path : path-like
        File to write; an existing one is replaced once the new one is complete.
    title : str, optional
        Title of the page; by default "How well (target) is predicted".
    target : str, optional
        The target's name, with its unit in brackets at the end: ``"arrival delay (minutes)"``. By default the name of
        `y`, if it has one.
    seen_in_training : bool, optional
        Whether the model was fitted to these rows. The page says what its numbers mean in either case, and asks to
        be told if this is not given.
    feature_names : sequence of str, optional
        Names of the columns where X is an array.
    max_rows : int, default=20_000
        Most rows to use; of larger tables so many are drawn at random.
    n_rows : int, optional
        Rows of the table that X was drawn from, where X is a random sample itself: the page says so.
    random_state : int, default=0
        Seed of everything that is drawn at random.
    sources : mapping of str to str, optional
        What the head of the page names, such as ``{"model": "delays.safetensors", "rows": "may.csv"}``.
    day : datetime.date, optional
        Day to write in the head; today where it is not given.
    progress : callable, optional
        Called as ``progress("part", done, total)`` while the page is made.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np, ssgp
    >>> from ssgp.report import write_report
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> model = ssgp.SSGPRegressor(n_frequencies=5, max_iter=20, random_state=0).fit(X[::2], np.sin(X[::2, 0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "report.html")
    ...     write_report(model, X[1::2], np.sin(X[1::2, 0]), path, target="height (m)", seen_in_training=False)
    ...     os.path.getsize(path) > 10_000
    True
    """
    load_matplotlib()
    check_place(path, "the report")
    name = target or str(getattr(y, "name", None) or "target")
    told = progress or (lambda *_: None)
    told("part", 0, sum(WORK))
    predicted = PredictedRows.draw(model, X, y, max_rows, random_state, feature_names)
    if n_rows is not None:
        predicted = predicted.drawn_from(n_rows)
    subject = Subject(model, predicted, name, seen_in_training, random_state)
    heading = title or f"How well {name.removesuffix(f' ({unit_of(name)})')} is predicted"
    day = day or date.today()
    named = {**(sources or {}), "written on": f"{day.day} {day:%B %Y}"}
    with untold():
        body = "\n".join([html.heading(heading), *_followed(_sections(subject, named), told)])
    write_html(path, heading, body.replace(" %", "\N{NO-BREAK SPACE}%"), html.STYLE)


def _followed(sections: Iterator[str], told: Callable[[str, int, int], None]) -> Iterator[str]:
    """The same parts, and how much of the work is done after each."""
    done = 0
    for section, work in zip(sections, WORK, strict=True):
        done += work
        told("part", done, sum(WORK))
        yield section


def _sections(subject: Subject, sources: Mapping[str, str]) -> Iterator[str]:
    predicted, target = subject.predicted, subject.target
    scores = [score("this model", predicted), *_baselines(subject)]
    yield html.lead(subject.model, predicted.description, subject.seen, sources)
    low, high = subject.sample(WIDTH_ROWS).distribution.interval(0.95).T
    yield html.headline(predicted.y, scores, float(np.median(high - low)), target)
    yield html.section("accuracy", "How accurate it is", html.score_table(scores, target), _predictions(subject))
    coverage, displays = html.coverage_sentence(predicted, subject.seen), calibration_displays(predicted, target)
    yield html.section("calibration", "Whether its intervals are reliable", coverage, displays)
    importances = _importances(subject)
    yield html.section("importances", "What it depends on", "", [importances, *_spread(subject)])
    effects, uncertainties = _effects(subject, importances.names), _uncertainties(subject)
    yield html.small_pictures("effects", "How it depends on its inputs", html.effects_note(effects), effects)
    note = html.uncertainty_note(uncertainties)
    yield html.small_pictures("uncertainty", "Where it is uncertain", note, uncertainties)
    histogram = TargetDisplay(predicted.y, predicted.description, target)
    yield html.section("target", "The target", html.target_sentence(predicted.y, target), [histogram])
    columns = summarize_columns(predicted.inputs)
    table = html.column_table(columns[:MOST_COLUMNS], len(columns))
    yield html.section("inputs", "The inputs", table, [])
    yield html.section("learning", "How learning went", html.learning_sentence(subject.model), _bound(subject.model))
    yield html.section("settings", "Settings and versions", html.settings_table(summarize(subject.model)), [])


def _baselines(subject: Subject) -> list[Score]:
    X = np.asarray(encode_inputs(subject.model, subject.predicted.inputs), dtype=float)
    return baseline_scores(X, subject.predicted.y, subject.random_state)


def _predictions(subject: Subject) -> list[Display]:
    predicted, target = subject.predicted, subject.target
    intervals = IntervalDisplay.from_predicted_rows(subject.sample(INTERVAL_ROWS), target)
    return [intervals, ObservedDisplay(predicted.y, predicted.mean, predicted.description, target)]


def _importances(subject: Subject) -> ImportanceDisplay:
    sample = subject.sample(IMPORTANCE_ROWS)
    settings = {"target": subject.target, "random_state": subject.random_state}
    return ImportanceDisplay.of_inputs(subject.model, sample.inputs, sample.y, **settings)


def _spread(subject: Subject) -> list[SpreadImportanceDisplay]:
    """What the deviation depends on, unless there is one row alone: columns are exchanged between rows."""
    inputs = subject.sample(SPREAD_ROWS).inputs
    if inputs.n_rows < 2:
        return []
    return [SpreadImportanceDisplay.of_inputs(subject.model, inputs, subject.target, subject.random_state)]


def _effects(subject: Subject, names: list[str]) -> list[EffectDisplay]:
    """Pictures of the most important inputs; `names` has these first."""
    inputs = subject.sample(EFFECT_ROWS).inputs
    moves = [move for name in names[:MOST_EFFECTS] for move in variations(inputs, name)][:MOST_EFFECTS]
    return [EffectDisplay.of_variation(subject.model, inputs, move, target=subject.target) for move in moves]


def _uncertainties(subject: Subject) -> list[UncertaintyDisplay]:
    predicted = subject.predicted
    return UncertaintyDisplay.most_informative(predicted.inputs, predicted.std, subject.target, MOST_UNCERTAINTIES)


def _bound(model: Any) -> list[BoundDisplay]:  # noqa: ANN401
    has_trace = len(getattr(original(steps_of(model)[-1]), "bound_trace_", ())) > 0
    return [BoundDisplay.from_estimator(model)] if has_trace else []
