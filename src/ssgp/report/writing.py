"""What goes into a report, in order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ssgp._utils.whole_file import FilePath, check_place
from ssgp.distributions.recalibrated import original
from ssgp.plot.bound import BoundDisplay
from ssgp.plot.display import Display
from ssgp.plot.effects import EffectDisplay, share_limits
from ssgp.plot.importance import ImportanceDisplay
from ssgp.plot.inputs import draw_rows, steps_of
from ssgp.plot.observations import IntervalDisplay, ObservedDisplay
from ssgp.plot.panels import calibration_displays
from ssgp.plot.predictive import Judged, encoded, predictive_of
from ssgp.plot.style import load_matplotlib
from ssgp.plot.uncertainty import UncertaintyDisplay
from ssgp.plot.variation import variations
from ssgp.plot.wording import unit_of
from ssgp.report import html
from ssgp.report.accuracy import Score, baseline_scores, score
from ssgp.report.columns import summarize_columns
from ssgp.report.target import TargetDisplay
from ssgp.report.web_page import write_html
from ssgp.saving.model_files import summarize

__all__ = ["write_report"]

# Quantiles of a mixture have no formula: they are the costly part, and asked of few rows.
INTERVAL_ROWS, EFFECT_ROWS, WIDTH_ROWS, IMPORTANCE_ROWS = 60, 100, 1000, 2000
EFFECTS, UNSURE = 6, 3
MOST_COLUMNS = 60


@dataclass(frozen=True)
class Subject:
    """What a report is of.

    Attributes
    ----------
    model : regressor or Pipeline
        Fitted.
    judged : Judged
        Rows, and what the model says of them.
    target : str
        Its name and unit.
    seen : bool or None
        Whether the model was fitted to the rows; None where nobody says.
    random_state : int
        Seed of what is drawn.
    """

    model: Any
    judged: Judged
    target: str
    seen: bool | None
    random_state: int

    def some(self, n_rows: int) -> Judged:
        """Fewer of the rows."""
        rows = draw_rows(len(self.judged.y), n_rows, self.random_state)
        inputs = self.judged.inputs.take(rows)
        return Judged(inputs, self.judged.y[rows], predictive_of(self.model, inputs))


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
) -> None:
    """Write a page that shows what a model learned and how far it can be believed.

    It is one HTML file with all figures in it, which asks for nothing and runs no code: it can be mailed, printed and
    kept. The same model and rows give the same page.

    Parameters
    ----------
    model : regressor or Pipeline
        Any regressor of the library, or a pipeline that ends with one. Fitted.
    X : array-like of shape (n, d)
        Inputs, as the model takes them; best rows that it has not seen.
    y : array-like of shape (n,)
        Their targets.
    path : path-like
        Where to; a file that is there is replaced once the new one is whole.
    title : str, optional
        By default the target and the model's class.
    target : str, optional
        The target's name, with its unit in brackets at the end: ``"arrival delay (minutes)"``. By default the name of
        `y`, where it has one.
    seen_in_training : bool, optional
        Whether the model was fitted to these rows. The page says what its numbers mean then, and that nobody
        knows where it is not given.
    feature_names : sequence of str, optional
        Names of the columns where X is an array.
    max_rows : int, default=20_000
        Of larger tables so many rows are drawn at random.
    n_rows : int, optional
        Rows of the table that X was drawn from, where X is a random sample itself: the page says so.
    random_state : int, default=0
        Seed of all that is drawn.

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
    judged = Judged.draw(model, X, y, max_rows, random_state, feature_names)
    if n_rows is not None:
        judged = judged.drawn_from(n_rows)
    subject = Subject(model, judged, name, seen_in_training, random_state)
    heading = title or f"{type(original(steps_of(model)[-1])).__name__}: {name.removesuffix(f' ({unit_of(name)})')}"
    body = "\n".join([html.heading(heading), *_sections(subject)])
    write_html(path, heading, body.replace(" %", "\N{NO-BREAK SPACE}%"), html.STYLE)


def _sections(subject: Subject) -> Iterator[str]:
    judged, target = subject.judged, subject.target
    scores = [score("this model", judged), *_baselines(subject)]
    yield html.lead(subject.model, judged.rows, subject.seen)
    low, high = subject.some(WIDTH_ROWS).said.interval(0.95).T
    yield html.headline(judged, scores, float(np.median(high - low)), target)
    yield html.section("accuracy", "How far off it is", html.score_table(scores, target), _predictions(subject))
    honest = calibration_displays(judged, target)
    yield html.section("calibration", "Whether its intervals can be believed", html.coverage_sentence(judged), honest)
    importances = _importances(subject)
    yield html.section("importances", "What it depends on", "", [importances])
    effects, unsure = _effects(subject, importances.names), _unsure(subject)
    yield html.small_pictures("effects", "How it depends on that", html.effects_note(effects), effects)
    yield html.small_pictures("uncertainty", "Where it is unsure", html.unsure_note(unsure), unsure)
    histogram = TargetDisplay(judged.y, judged.rows, target)
    yield html.section("target", "What there is to predict", html.target_sentence(judged.y, target), [histogram])
    columns = summarize_columns(judged.inputs)
    table = html.column_table(columns[:MOST_COLUMNS], len(columns))
    yield html.section("inputs", "What it is given", table, [])
    yield html.section("learning", "How learning went", html.learning_sentence(subject.model), _bound(subject.model))
    yield html.section("settings", "Settings and versions", html.settings_table(summarize(subject.model)), [])


def _baselines(subject: Subject) -> list[Score]:
    X = np.asarray(encoded(subject.model, subject.judged.inputs), dtype=float)
    return baseline_scores(X, subject.judged.y, subject.random_state)


def _predictions(subject: Subject) -> list[Display]:
    judged, target = subject.judged, subject.target
    some = IntervalDisplay.from_judged(subject.some(INTERVAL_ROWS), target)
    return [some, ObservedDisplay(judged.y, judged.moments[0], judged.rows, target)]


def _importances(subject: Subject) -> ImportanceDisplay:
    some = subject.some(IMPORTANCE_ROWS)
    settings = {"target": subject.target, "random_state": subject.random_state}
    return ImportanceDisplay.of_inputs(subject.model, some.inputs, some.y, **settings)


def _effects(subject: Subject, names: list[str]) -> list[EffectDisplay]:
    """Of the most important inputs."""
    inputs = subject.some(EFFECT_ROWS).inputs
    moves = [variation for name in names[:EFFECTS] for variation in variations(inputs, name)][:EFFECTS]
    displays = [EffectDisplay.of_variation(subject.model, inputs, move, target=subject.target) for move in moves]
    share_limits(displays)
    return displays


def _unsure(subject: Subject) -> list[UncertaintyDisplay]:
    judged = subject.judged
    return UncertaintyDisplay.most_informative(judged.inputs, judged.moments[1], subject.target, UNSURE)


def _bound(model: Any) -> list[BoundDisplay]:  # noqa: ANN401
    learned = len(getattr(original(steps_of(model)[-1]), "bound_trace_", ())) > 0
    return [BoundDisplay.from_estimator(model)] if learned else []
