"""One HTML page that needs nothing else: every figure beside the paper's claim and what came of it here."""

from collections.abc import Iterator
from dataclasses import fields
from html import escape
from pathlib import Path

from experiments.claims import CLAIMS, Claim
from experiments.error_table import COLUMNS, notes, table_lines
from experiments.figures import FIGURES, draw_all
from experiments.store import Results
from experiments.suites import SUITES, Fit, Suite
from experiments.verdicts import Verdict
from ssgp.report.web_page import BASE_STYLE, inline_svg, write_html

__all__ = ["write_page"]

TITLES = {drawing.name: drawing.title for drawing in FIGURES}
STYLE = (
    BASE_STYLE
    + """.claim { color: #5b6b7a; } .why { font-size: .95rem; }
.verdict { display: inline-block; border-radius: 1rem; padding: 0 .7rem; font-size: .85rem; color: white; }
.reproduced { background: #4d7c57; } .in-part { background: #b98a2f; }
.not-reproduced { background: #c8553d; } .not-run { background: #8aa3b5; }
figcaption { width: 0; min-width: 100%; }
.quick { background: #fbeee9; padding: .6rem 1rem; border-left: 4px solid #c8553d; }
"""
)


def write_page(results: Results, folder: Path) -> list[str]:
    """Draw the figures into a folder and write ``index.html`` there, whole or not at all.

    Returns
    -------
    list of str
        Names of the figures.
    """
    figures = draw_all(results, folder)
    captions = {drawing.name: drawing.caption(results) for drawing in FIGURES}
    verdicts = [(claim, claim.check(results)) for claim in CLAIMS]
    body = "\n".join(
        [
            _head(results),
            _summary(verdicts),
            _table(results),
            *_sections(verdicts, {name: _figure(name, svg, captions[name]) for name, svg in figures.items()}),
            _definitions(),
            _failures(results),
        ]
    )
    write_html(folder / "index.html", "sVBSSGP: the experiments again", body, STYLE)
    return list(figures)


def _head(results: Results) -> str:
    rows = results.rows
    if not rows:
        return "<h1>The paper's experiments, again</h1><p>Nothing has been run yet.</p>"
    machines, versions = sorted({row["machine"] for row in rows}), sorted({row["versions"] for row in rows})
    columns = [field.name for field in fields(Fit)]
    hours = sum({tuple(row[name] for name in columns): row["wall_s"] for row in rows}.values()) / 3600
    first, last = min(row["finished"] for row in rows), max(row["finished"] for row in rows)
    warning = ""
    if any(row["quick"] for row in rows):
        warning = (
            '<p class="quick">A quick run on reduced tables and small models: it shows that everything runs. '
            "No number here is to be believed.</p>"
        )
    return (
        "<h1>The paper's experiments, again</h1>"
        "<p>Every table and figure of the evaluation of &ldquo;A Generalized Stochastic Variational Bayesian "
        "Hyperparameter Learning Framework for Sparse Spectrum Gaussian Process Regression&rdquo; (AAAI 2017), run "
        "with this library.</p>"
        f'{warning}<p class="claim">{hours:.1f} hours of one core, {first} to {last}; {escape("; ".join(machines))}; '
        f"{escape('; '.join(versions))}</p>"
    )


def _summary(verdicts: list[tuple[Claim, Verdict]]) -> str:
    lines = "".join(f"<tr><td>{escape(claim.name)}</td><td>{_badge(verdict)}</td></tr>" for claim, verdict in verdicts)
    return f'<h2>Verdicts</h2><table id="verdicts">{lines}</table>'


def _badge(verdict: Verdict) -> str:
    return f'<span class="verdict {verdict.outcome.replace(" ", "-")}">{verdict.outcome}</span>'


def _table(results: Results) -> str:
    errors = table_lines(results)
    head = "".join(f"<th>{escape(column)}</th>" for column in COLUMNS)
    lines = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in line.texts()) + "</tr>" for line in errors)
    below = "".join(f'<p class="claim">{escape(note)}</p>' for note in notes(errors))
    return f'<h2>Table 1: at the end of learning</h2><table id="errors"><tr>{head}</tr>{lines}</table>{below}'


def _sections(verdicts: list[tuple[Claim, Verdict]], figures: dict[str, str]) -> Iterator[str]:
    """A section per claim; a figure is shown with the first claim it belongs to."""
    shown: set[str] = set()
    for claim, verdict in verdicts:
        drawn = [name for name in claim.figures if name in figures]
        pictures = "".join(
            f'<p><a href="#{name}">{escape(TITLES[name])}</a> is above.</p>' if name in shown else figures[name]
            for name in drawn
        )
        shown.update(drawn)
        yield (
            f"<h2>{escape(claim.name)} {_badge(verdict)}</h2>"
            f'<p class="claim">The paper: {escape(claim.statement)}</p>'
            f"<p>{escape(verdict.finding)}</p>{pictures}"
            f'<p class="why">{escape(claim.why)}</p>'
        )


def _figure(name: str, svg: str, caption: str) -> str:
    return f'<figure id="{name}">{inline_svg(svg, name)}<figcaption>{escape(caption)}</figcaption></figure>'


def _definitions() -> str:
    lines = "".join(f"<li>{escape(_sizes(suite))}</li>" for suite in SUITES.values())
    return (
        f"<h2>What was run</h2><ul>{lines}</ul><p>Random splits keep 5 % of the rows for the test. The test rows of "
        "split s are drawn by NumPy's <code>default_rng([2017, s])</code>; estimators have "
        "<code>random_state=s</code>, and 0 on the authors' split. Each fit has one core. Times of the traced runs "
        "leave out the predictions of test rows.</p>"
    )


def _sizes(suite: Suite) -> str:
    """How large the models of a suite are, of the methods that it runs."""
    rows = "all training rows" if suite.rows_per_iteration is None else f"{suite.rows_per_iteration:,} training rows"
    sizes = [f"2m = {2 * suite.n_frequencies} features", f"p = {suite.n_blocks:,} blocks", f"r = {suite.n_draws} draws"]
    if suite.methods & {"PIC+", "DTC+"}:
        sizes.append(f"{suite.n_inducing} inducing inputs")
    if "PIC+" in suite.methods:
        sizes.append(f"{suite.pic_blocks:,} blocks for PIC+")
    if "exact GP, some rows" in suite.methods:
        sizes.append(f"{suite.exact_rows:,} rows for the exact GP")
    return (
        f"{suite.name.upper()}: an iteration is {rows} that the gradient takes in, the same for every method; "
        f"{', '.join(sizes)}. {suite.omissions}"
    ).strip()


def _failures(results: Results) -> str:
    lines = "".join(
        f"<li>{escape(row['suite'])}, split {escape(row['split'])}, {escape(row['method'])}: "
        f"{escape(row['error'])}</li>"
        for row in results.failures()
    )
    return f"<h2>What failed</h2><ul>{lines}</ul>" if lines else ""
