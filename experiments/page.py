"""One HTML page that needs nothing else: every figure beside the paper's claim and what came of it here."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from html import escape
from pathlib import Path
from typing import get_args

from experiments.authors_program import in_short, program
from experiments.claims import CLAIMS, Claim
from experiments.draw_verdicts import widths_say
from experiments.error_table import COLUMNS, notes, table_lines
from experiments.figures import FIGURES, draw_all
from experiments.store import Results
from experiments.suites import SUITES, Fit, Suite
from experiments.table_one import COLUMNS as PROTOCOL_COLUMNS
from experiments.table_one import Cell, table_one
from experiments.verdicts import Outcome, Verdict
from ssgp.report.web_page import BASE_STYLE, inline_svg, write_html

__all__ = ["write_page"]

OUTCOMES = get_args(Outcome)
TITLES = {drawing.name: drawing.title for drawing in FIGURES}
STYLE = (
    BASE_STYLE
    + """.claim { color: #5b6b7a; } .why { font-size: .95rem; }
.verdict { display: inline-block; border-radius: 1rem; padding: 0 .7rem; font-size: .85rem; color: white;
  white-space: nowrap; }
.reproduced { background: #4d7c57; } .in-part, .a-tie { background: #96701f; }
.not-reproduced { background: #b84a32; } .not-run, .inconclusive { background: #5f7688; }
.judged { font-size: .8rem; color: #5b6b7a; white-space: nowrap; }
.judged.as-printed { color: #3c6646; font-weight: 600; }
.wide { overflow-x: auto; } #table-one td { white-space: nowrap; } #table-one th { min-width: 5rem; }
td, th { vertical-align: top; } #verdicts td { font-size: .9rem; }
figcaption { width: 0; min-width: 100%; }
.quick { background: #fbeee9; padding: .6rem 1rem; border-left: 4px solid #c8553d; }
@media (max-width: 45rem) {
  #verdicts tr { display: grid; grid-template-columns: 1fr 1fr; border-bottom: 1px solid #dde4ea; padding: .4rem 0; }
  #verdicts td { border: 0; padding: .1rem .5rem .1rem 0; } #verdicts th { border: 0; }
  #verdicts td:first-child, #verdicts td:last-child, #verdicts th:first-child { grid-column: 1 / -1; }
  #verdicts th:last-child { display: none; }
  #table-one tr { display: grid; grid-template-columns: 4.5rem repeat(3, 1fr); padding: .4rem 0; font-size: .85rem;
    border-bottom: 1px solid #dde4ea; }
  #table-one td, #table-one th { border: 0; min-width: 0; padding: .1rem .5rem .1rem 0; }
  #table-one td:first-child { grid-column: 1; } #table-one td:nth-child(2) { grid-column: 2 / -1; }
  #table-one th:first-child, #table-one th:nth-child(2) { display: none; }
  figure.panels { overflow-x: auto; } figure.panels svg { max-width: none; }
  figure.panels figcaption { position: sticky; left: 0; width: auto; min-width: 0; max-width: calc(100vw - 2rem); }
}
.short { background: #f3f6f8; padding: .2rem 1rem; border-left: 4px solid #5f7688; }
"""
)


@dataclass(frozen=True)
class _Judged:
    """A claim with its verdicts: on honest blocks, and under the authors' protocol where that has a part in it."""

    claim: Claim
    honest: Verdict
    joint: Verdict | None

    @classmethod
    def of(cls, claim: Claim, results: Results) -> "_Judged":
        """What results say of a claim."""
        return cls(claim, claim.check(results), None if claim.joint is None else claim.joint(results))


def write_page(results: Results, folder: Path) -> list[str]:
    """Draw the figures into a folder and write ``index.html`` there, whole or not at all.

    Returns
    -------
    list of str
        Names of the figures.
    """
    figures = draw_all(results, folder)
    captions = {drawing.name: drawing.caption(results) for drawing in FIGURES}
    judged = [_Judged.of(claim, results) for claim in CLAIMS]
    drawn = {name: _figure(name, svg, captions[name]) for name, svg in figures.items()}
    body = "\n".join(
        [
            _head(results),
            in_short(results),
            _summary(judged),
            _table_one(results),
            program(results),
            *_sections(judged, drawn, results),
            _table(results),
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
    seconds = {tuple(row[name] for name in columns): row["wall_s"] for row in rows}
    hours = sum(seconds.values()) / 3600
    first, last = (end(row["finished"] for row in rows)[:10] for end in (min, max))
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
        f'{warning}<p class="claim">{len(seconds)} fits took {hours:.1f} hours of one core in all, from {first} to '
        f"{last}; {escape('; '.join(machines))}; {escape('; '.join(versions))}</p>"
    )


def _summary(judged: list[_Judged]) -> str:
    lines = "".join(
        f'<tr><td><a href="#{_anchor(one.claim)}">{escape(one.claim.name)}</a></td><td>{_badge(one.honest)}</td>'
        f"<td>{_badge(one.joint) if one.joint else ''}</td><td>{escape(one.claim.reason)}</td></tr>"
        for one in judged
    )
    honest, joint = _counted([one.honest for one in judged]), _counted([one.joint for one in judged if one.joint])
    return (
        f'<h2>Verdicts</h2><p class="claim">Of {honest} on random splits with blocks of the inputs of training rows, a '
        f"user&rsquo;s case; of {joint} under the authors&rsquo; protocol, whose blocks are of inputs and target of "
        "all rows. A claim holds in part where most of it does; &ldquo;clearly lower&rdquo; is by half of the "
        "paper&rsquo;s margin, in logarithms, or more.</p>"
        '<div class="wide"><table id="verdicts"><tr><th>the paper\'s claim</th>'
        "<th>blocks of inputs alone</th><th>the authors' protocol</th><th>why</th></tr>"
        f"{lines}</table></div>"
    )


def _counted(verdicts: list[Verdict]) -> str:
    """How many claims have which outcome."""
    outcomes = [verdict.outcome for verdict in verdicts]
    listed = [f"{outcomes.count(outcome)} {outcome}" for outcome in OUTCOMES if outcome in outcomes]
    return f"{len(outcomes)} claims {', '.join(listed)}"


def _anchor(claim: Claim) -> str:
    return "claim-" + "".join(letter if letter.isalnum() else "-" for letter in claim.name.lower())


def _badge(verdict: Verdict) -> str:
    return f'<span class="verdict {verdict.outcome.replace(" ", "-")}">{verdict.outcome}</span>'


def _table_one(results: Results) -> str:
    """The paper's table beside ours."""
    rows = table_one(results)
    if not rows:
        return ""
    head = "".join(f"<th>{escape(text)}</th>" for text in ("table", "method", "printed", *PROTOCOL_COLUMNS.values()))
    lines = "".join(
        f"<tr><td>{row.table.upper()}</td><td>{escape(row.name)}</td>"
        f"<td>{row.printed:.2f}</td>{''.join(_judged_cell(cell) for cell in row.cells.values())}</tr>"
        for row in rows
    )
    return (
        "<h2>Table 1 of the paper, under both protocols</h2>"
        f'<div class="wide"><table id="table-one"><tr>{head}</tr>{lines}</table></div>'
        '<p class="claim">RMSE on test rows, with one deviation over seeds (first two columns) or random splits. As '
        "printed: within 10 %. AIRLINE&rsquo;s flights are not the paper&rsquo;s: its errors are compared as multiples "
        "of DTC+&rsquo;s. DTC+, SSGP and VSSGP have no blocks, and one error in both first columns. AIRLINE has "
        "fewer random splits in the first two columns; PIC+ has 15 iterations and one split in the first, and blocks "
        "of its own, of training inputs, in the second. Blocks of our own are those of a tree in the metric that was "
        "learned, the others of even k-means. An error without a deviation is of one fit.</p>"
    )


def _judged_cell(cell: Cell | None) -> str:
    if cell is None:
        return "<td></td>"
    kind = " as-printed" if cell.judged == "as printed" else ""
    return f'<td>{cell}<br><span class="judged{kind}">{cell.judged}</span></td>'


def _table(results: Results) -> str:
    errors = table_lines(results)
    head = "".join(f"<th>{escape(column)}</th>" for column in COLUMNS)
    lines = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in line.texts()) + "</tr>" for line in errors)
    below = "".join(f'<p class="claim">{escape(note)}</p>' for note in notes(errors))
    return (
        "<h2>All methods at the end of learning, random splits</h2>"
        f'<div class="wide"><table id="errors"><tr>{head}</tr>{lines}</table></div>{below}'
    )


def _sections(judged: list[_Judged], figures: dict[str, str], results: Results) -> Iterator[str]:
    """A section per claim; a figure is shown with the first claim it belongs to."""
    shown: set[str] = set()
    for one in judged:
        claim = one.claim
        drawn = [name for name in claim.figures if name in figures]
        pictures = "".join(
            f'<p><a href="#{name}">{escape(TITLES[name])}</a> is above.</p>' if name in shown else figures[name]
            for name in drawn
        )
        shown.update(drawn)
        under = (
            f"<p>{_badge(one.joint)} under the authors&rsquo; protocol: {escape(one.joint.finding)}</p>"
            if one.joint
            else ""
        )
        widths = f"<p>{escape(widths_say(results))}</p>" if "draws-width" in drawn else ""
        yield (
            f'<h2 id="{_anchor(claim)}">{escape(claim.name)}</h2>'
            f'<p class="claim">The paper: {escape(claim.statement)}</p>'
            f"<p>{_badge(one.honest)} {escape(one.honest.finding)}</p>{under}{pictures}{widths}"
            f'<p class="why">{escape(claim.why)}</p>'
        )


def _figure(name: str, svg: str, caption: str) -> str:
    panels = ' class="panels"' if svg.count('id="axes_') > 1 else ""
    return f'<figure id="{name}"{panels}>{inline_svg(svg, name)}<figcaption>{escape(caption)}</figcaption></figure>'


def _definitions() -> str:
    lines = "".join(f"<li>{escape(_sizes(suite))}</li>" for suite in SUITES.values())
    return (
        f"<h2>What was run</h2><ul>{lines}</ul><p>Random splits keep 5 % of the rows for the test. The test rows of "
        "split s are drawn by NumPy's <code>default_rng([2017, s])</code>; estimators have "
        "<code>random_state=s</code>, and 0 on the authors' split. Each fit has one core. Times of the traced runs "
        "leave out the predictions of test rows. On random splits sVBSSGP&rsquo;s blocks are those of a tree, even and "
        'local in the learned metric (<code>partition="tree"</code>); even k-means in that metric, as the paper has '
        "it, is a line of its own in the table above. Suites that end in JOINT have the authors&rsquo; protocol, those "
        "that end in INPUTS the same rows with even k-means of training inputs.</p>"
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
