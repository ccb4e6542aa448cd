"""The parts of a report as HTML."""

import io
import platform
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import Any

import numpy as np
import scipy
from scipy.stats import binom

from ssgp._utils.arrays import Array
from ssgp._utils.wording import aligned, percent, quantity, unit_of
from ssgp._version import __version__
from ssgp.distributions.pipeline import steps_of
from ssgp.distributions.recalibrated import original
from ssgp.plot.display import Display
from ssgp.plot.effects import EffectDisplay
from ssgp.plot.predictive import PredictedRows, in_central_interval
from ssgp.plot.style import load_matplotlib, styled
from ssgp.plot.uncertainty import UncertaintyDisplay
from ssgp.report.accuracy import Score
from ssgp.report.columns import ColumnSummary
from ssgp.report.web_page import BASE_STYLE, inline_svg

__all__ = [
    "STYLE",
    "column_table",
    "coverage_sentence",
    "effects_note",
    "heading",
    "headline",
    "lead",
    "learning_sentence",
    "score_table",
    "section",
    "settings_table",
    "small_pictures",
    "target_sentence",
    "uncertainty_note",
]


STYLE = (
    BASE_STYLE
    + """
h1 { margin-bottom: .3rem; line-height: 1.2; } h2 { border-top: 1px solid #dde4ea; padding-top: 1.2rem; }
p { max-width: 46rem; } .lead { color: #5b6b7a; margin-top: 0; }
.meaning { border-left: 4px solid #9fb3c8; background: #f4f7fa; padding: .6rem 1rem; }
.meaning.careful { border-color: #c8553d; background: #fbeee9; }
.numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(12rem, 1fr)); gap: 1.2rem 2rem;
  margin: 1.8rem 0; padding: 0; list-style: none; }
.numbers b { display: block; font-size: 2.3rem; font-weight: 600; line-height: 1.15; white-space: nowrap; }
.numbers b small { font-size: 1rem; font-weight: 400; }
.numbers .good { color: #1f7a5c; } .numbers .poor { color: #c8553d; }
.numbers span { display: block; font-size: .9rem; color: #5b6b7a; max-width: 17rem; }
.figures { display: flex; flex-wrap: wrap; gap: .5rem 2rem; align-items: flex-start; }
.figures > * { flex: 1 1 auto; } .figures > .words { flex: 1 1 18rem; align-self: center; }
figure { display: block; } figure svg { display: block; width: 100%; }
figure text { font-family: system-ui, sans-serif !important; }
#settings-given td { max-width: 22rem; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; } th { font-weight: 600; } th, td { vertical-align: top; }
thead th { border-bottom: 1px solid #5b6b7a; } tbody th { font-weight: 400; } .amount { text-align: right; }
tr.own th, tr.own td { font-weight: 600; }
@media (max-width: 30rem) { #scores { font-size: .82rem; } #scores th, #scores td { padding-right: .35rem; } }
@media (prefers-color-scheme: dark) {
  body { background: #14191e; color: #dfe6ec; } a { color: #8fc1ea; }
  h2, th, td { border-color: #33404c; } thead th { border-color: #8fa1b3; }
  .lead, .numbers span, figcaption { color: #9fb0c0; }
  .meaning { background: #1d252c; border-color: #5b6b7a; }
  .meaning.careful { background: #33211c; border-color: #e08a72; }
  .numbers .good { color: #5fc79f; } .numbers .poor { color: #f08a70; }
  figure svg { filter: invert(.92) hue-rotate(180deg); } }
@media print { body { margin: 0; max-width: none; font-size: 11pt; } figure, tr, .numbers li { break-inside: avoid; }
  h2 { break-after: avoid; } }
"""
)
MEANINGS = {
    False: "The model has not seen these rows: expect the same errors and coverage on new rows like these.",
    True: "The model was fitted to these very rows: on new ones, its errors will be larger, and its intervals will "
    "cover fewer observations. Only held-out rows can show by how much.",
    None: "The page does not know whether the model was fitted to these rows: say so with --seen or --unseen, or with "
    "seen_in_training in Python. If it was, errors and coverage look better here than they will on new rows.",
}
# Width and height in inches: three beside each other on a wide screen, one on a phone.
SMALL = (3.2, 2.5)


def heading(title: str) -> str:
    """The page's title."""
    return f"<h1>{escape(title)}</h1>"


def lead(model: Any, rows: str, seen: bool | None, sources: Mapping[str, str]) -> str:  # noqa: ANN401
    """Which model is scored on which rows, where both come from, and what that means for the scores."""
    last = steps_of(model)[-1]
    regressor = original(last)
    recalibrated = f", recalibrated on {last.n_recalibration_rows_:,} others" if last is not regressor else ""
    css_class = "meaning" if seen is False else "meaning careful"
    named = "<br>".join(f"{escape(what)}: <b>{escape(name)}</b>" for what, name in sources.items())
    return (
        f'<p class="lead">{escape(type(regressor).__name__)}, fitted to {regressor.n_rows_:,} rows{recalibrated} and '
        f'judged here on {escape(rows)}.<br>{named}</p>\n<p class="{css_class}">{MEANINGS[seen]}</p>'
    )


def headline(y: Array, scores: Sequence[Score], width: float, target: str) -> str:
    """The few numbers to remember: `scores` has the model's first, `width` is that of the 95 % intervals."""
    (model, *baselines), unit = scores, unit_of(target)
    better = "good" if all(model.rmse < score.rmse for score in baselines) else "poor"
    errors = aligned([score.rmse for score in scores])
    compared = ", ".join(
        f"{score.name.partition(' (')[0]} {error}" for score, error in zip(baselines, errors[1:], strict=True)
    )
    typical = f"typical error (RMSE){f'; {compared}' if compared else ''}"
    explained = 1 - model.rmse**2 / y.var() if y.var() > 0 else 0.0
    return _numbers(
        [
            (better, errors[0], unit, typical),
            (
                _coverage_class(round(model.covered * len(y)), len(y)),
                percent(model.covered),
                "",
                f"of {len(y):,} rows were inside their 95 % interval",
            ),
            ("", quantity(width), unit, "median width of the 95 % intervals"),
            ("", percent(explained), "", "of the target's variance is explained (R²)"),
        ]
    )


def _numbers(items: Sequence[tuple[str, str, str, str]]) -> str:
    """A list of large numbers, from CSS classes, values, units and words."""
    lines = "\n".join(
        f'<li><b class="{css_class}">{value} <small>{escape(unit)}</small></b><span>{words}</span></li>'
        for css_class, value, unit, words in items
    )
    return f'<ul class="numbers">\n{lines}\n</ul>'


def score_table(scores: Sequence[Score], target: str) -> str:
    """Errors of the model beside those of predictions that need none."""
    columns = [
        aligned([score.rmse for score in scores]),
        aligned([score.absolute for score in scores]),
        aligned([score.surprise for score in scores]),
        aligned([score.crps for score in scores]),
        [percent(score.covered) for score in scores],
    ]
    names = [score.name for score in scores]
    head = ["predicted by", "RMSE", "MAE", "MNLP", "CRPS", "95 % cover"]
    unit = f", in {escape(unit_of(target))}" if unit_of(target) else ""
    note = (
        f"<p>RMSE and MAE are the root mean squared and the mean absolute error of the predicted mean{unit}. MNLP and "
        "CRPS score the whole distribution; lower is better. They are the mean negative log density of the "
        f"observations, and the mean distance of distributions from them{unit}. 95 % cover is the share of "
        "observations inside their 95 % interval."
    )
    others = (
        " The baseline and the straight line predict each fifth of these rows from the other four, with one standard "
        "deviation for all rows."
    )
    lines = [list(line) for line in zip(names, *columns, strict=True)]
    return _table("scores", "Errors", head, lines, bold=0) + note + (others if len(scores) > 1 else "") + "</p>"


def coverage_sentence(predicted: PredictedRows, seen: bool | None = False) -> str:
    """How many observations intervals held, beside what chance allows if they are right, and what to do if it fails."""
    n = len(predicted.y)
    held, held_by_half = (int(in_central_interval(predicted.pit, level).sum()) for level in (0.95, 0.5))
    low, high = binom.interval(0.95, n, 0.95)
    verdict = "fewer than" if held < low else "more than" if held > high else "as many as"
    return (
        f"<p>95 % intervals covered {percent(held / n)} of {predicted.description}: {verdict} intervals that are "
        f"exactly right would ({percent(low / n)} to {percent(high / n)}, by chance). 50 % intervals covered "
        f"{percent(held_by_half / n)}.{_small_miss(held, n)}</p>{_what_next(held, n, seen)}"
    )


def _bearable(held: int, n: int) -> bool:
    """Whether 95 % intervals hold about what they should: as many as by chance, or within a point of it."""
    low, high = binom.interval(0.95, n, 0.95)
    return min(low, 0.94 * n) <= held <= max(high, 0.96 * n)


def _coverage_class(held: int, n: int) -> str:
    """Intervals that hold too few are in the colour of bad figures; those that hold too many are safe, and in none."""
    return "good" if _bearable(held, n) else "poor" if held < 0.95 * n else ""


def _small_miss(held: int, n: int) -> str:
    low, high = binom.interval(0.95, n, 0.95)
    return (
        " The difference is less than a point, and matters little."
        if _bearable(held, n) and not low <= held <= high
        else ""
    )


def _what_next(held: int, n: int, seen: bool | None) -> str:
    """What to do where coverage fails."""
    if _bearable(held, n):
        return ""
    if seen is not False:
        return (
            '<p class="meaning careful"><b>What to do:</b> test the model on rows that it was not fitted to, which '
            "<code>ssgp fit --hold-out 0.1</code> sets aside. On rows that it has seen, intervals may cover more or "
            "fewer than on new ones.</p>"
        )
    first = (
        "its intervals promise too much here. First check whether these rows differ from the training rows: for rows "
        "of new users, places or machines, use <code>fit(..., groups=)</code> or <code>ssgp fit --group</code>, and "
        "for later rows <code>fit(..., time=)</code> or <code>ssgp fit --time</code>."
        if held < 0.95 * n
        else "its intervals are wider than they need to be here."
    )
    return (
        f'<p class="meaning careful"><b>What to do:</b> {first} Then correct the intervals with rows that the model '
        "has not seen: <code>ssgp.recalibrate(model, X, y)</code>, or <code>ssgp evaluate MODEL DATA --calibrate --out "
        "NEW</code>. If you need a guarantee, use conformal prediction.</p>"
    )


def effects_note(displays: Sequence[EffectDisplay]) -> str:
    """Text above all pictures of effects."""
    if not displays:
        return ""
    first = displays[0]
    return (
        f"<p>The predicted mean, and the ends of the {100 * first.coverage:g} % interval, as one input varies and all "
        f"others stay the same: averages over {escape(first.rows)}. Ticks at the bottom are rows. Each figure has its "
        "own scale, chosen for its line, and the band may leave it. Varying one input alone creates rows that never "
        "occur, so take care with inputs that go together, such as the length and the duration of a trip.</p>"
    )


def uncertainty_note(displays: Sequence[UncertaintyDisplay]) -> str:
    """Text above all pictures of uncertainty."""
    if not displays:
        return ""
    return (
        "<p>Mean predicted deviation by the inputs that say most about it, in bins of about equally many rows or by "
        f"category, all on one scale; the thin line is the mean of all {escape(displays[0].rows)}.</p>"
    )


def target_sentence(y: Array, target: str) -> str:
    """The target in a few numbers."""
    low, quarter, middle, three, high = (quantity(value) for value in np.quantile(y, [0, 0.25, 0.5, 0.75, 1]))
    mean, deviation = quantity(float(y.mean())), quantity(float(y.std()))
    return (
        f"<p>The target, {escape(target)}, has mean {mean} and deviation {deviation}; "
        f"it ranges from {low} to {high}, its middle half from {quarter} to {three}, and its median is {middle}.</p>"
    )


def column_table(columns: Sequence[ColumnSummary], n_columns: int) -> str:
    """What the columns hold and become."""
    lines = [[column.name, column.values, column.becomes] for column in columns]
    more = f"<p>These are the first {len(columns)} of {n_columns} columns.</p>" if len(columns) < n_columns else ""
    head = ["column", "in these rows", "what the model gets"]
    return _table("columns", "Columns", head, lines, numeric=False) + more


def learning_sentence(model: Any) -> str:  # noqa: ANN401
    """Why there is no picture of learning, where there is none."""
    regressor = original(steps_of(model)[-1])
    if len(getattr(regressor, "bound_trace_", ())):
        return ""
    return f"<p>{type(regressor).__name__} keeps no record of learning.</p>"


def settings_table(summary: dict[str, Any]) -> str:
    """Settings, what came of them, and versions."""
    settings = [[name, str(value)] for name, value in summary["settings"].items()]
    fitted = [[name.rstrip("_"), _value_text(value)] for name, value in summary["training"].items()]
    versions = {"ssgp": __version__, "numpy": np.__version__, "scipy": scipy.__version__}
    versions |= {"scikit-learn": summary["sklearn_version"], "matplotlib": load_matplotlib().__version__}
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        '<div class="figures">'
        + _table("settings-given", "Settings", ["setting", "value"], settings, numeric=False)
        + _table("settings-found", "Fitted values", ["fitted", "value"], fitted, numeric=False)
        + f"</div><p>{escape(listed)}; Python {platform.python_version()}.</p>"
    )


def _value_text(value: Any) -> str:  # noqa: ANN401
    return quantity(value, 4) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _table(
    name: str, label: str, head: Sequence[str], lines: Sequence[Sequence[str]], numeric: bool = True, bold: int = -1
) -> str:
    """A table whose first cells name their lines; the line of number `bold` stands out."""
    css_class = ' class="amount"' if numeric else ""
    titles = "".join(f'<th scope="col"{css_class if i else ""}>{title}</th>' for i, title in enumerate(head))
    body = "\n".join(
        f'<tr{" class=own" if i == bold else ""}><th scope="row">{escape(line[0])}</th>'
        + "".join(f"<td{css_class}>{escape(cell)}</td>" for cell in line[1:])
        + "</tr>"
        for i, line in enumerate(lines)
    )
    return (
        f'<div class="scroll"><table id="{name}" aria-label="{escape(label)}">\n'
        f"<thead><tr>{titles}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def section(name: str, title: str, text: str, displays: Sequence[Display]) -> str:
    """A section of the page: words, tables, then figures with their captions."""
    figures = [
        _figure(f"{name}-{i}", display, display.size, f"<figcaption>{escape(display.caption)}</figcaption>")
        for i, display in enumerate(displays, 1)
    ]
    return _section(name, title, text, figures)


def small_pictures(name: str, title: str, text: str, displays: Sequence[Display]) -> str:
    """A section of figures whose captions would all be the same: the words say once what they show."""
    figures = [_figure(f"{name}-{i}", display, SMALL, "") for i, display in enumerate(displays, 1)]
    return _section(name, title, text, figures)


def _section(name: str, title: str, text: str, figures: Sequence[str]) -> str:
    shown = "\n".join(['<div class="figures">', *figures, "</div>"]) if figures else ""
    if text and len(figures) == 1:
        # Beside a picture that is alone there is room for the words.
        text, shown = "", f'<div class="figures">\n{figures[0]}\n<div class="words">{text}</div>\n</div>'
    return f'<section id="{name}">\n<h2>{escape(title)}</h2>\n{text}\n{shown}\n</section>'


def _figure(name: str, display: Display, size: tuple[float, float], caption: str) -> str:
    picture = inline_svg(_svg(display, size), name, display.caption)
    width = f"flex-basis: {96 * size[0]:.0f}px; max-width: {130 * size[0]:.0f}px"
    return f'<figure id="{name}" style="{width}">{picture}{caption}</figure>'


def _svg(display: Display, size: tuple[float, float]) -> str:
    load_matplotlib()
    from matplotlib.figure import Figure

    text = io.StringIO()
    with styled(), _any_glyph():
        figure = Figure(figsize=size, layout="constrained")
        display.plot(figure.subplots(), note=False)
        no_metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(text, format="svg", metadata=no_metadata, transparent=True)
    return text.getvalue()


@contextmanager
def _any_glyph() -> Iterator[None]:
    """Context without warnings of letters that matplotlib's font lacks: browsers write the page in their own fonts."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ .*missing from", UserWarning)
        yield
