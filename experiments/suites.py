"""What is run: tables, splits, sizes and methods, as data.

An iteration is a number of training rows that the gradient takes in, the same for every method of a suite: on AIMPEAK
and BLOG all of them (a pass), on AIRLINE 50,000. So a method that takes small steps takes more of them. Iteration 0 is
before the first step, of sVBSSGP alone.

Beside the suites of the evaluation there are those of two protocols, which differ in their blocks and nothing else:
"joint" has the blocks that the program of the paper's authors made, of inputs and target of all rows, "inputs" blocks
of the inputs of training rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from experiments.protocols import MakeBlocks, given_blocks, input_blocks, joint_blocks, raw_input_blocks
from experiments.study import Cell, plain
from experiments.tables import AUTHORS, Table, load_aimpeak, load_aimpeak_joint, load_airline, load_blog
from experiments.update_rule import RULES

__all__ = ["EVALUATION", "GAMMAS", "PROTOCOLS", "SUITES", "TRACED_GAMMAS", "Fit", "Suite", "cells", "reduced"]

TRACED_GAMMAS = (0.0, 0.1, 0.2, 0.3)
GAMMAS = tuple(np.round(np.linspace(-1.0, 1.0, 21), 2).tolist())


@dataclass(frozen=True)
class Suite:
    """Experiments on one table.

    Attributes
    ----------
    name : str
        Name of the suite, which begins with that of its table.
    load : callable
        Takes a folder, or None, to the table.
    splits : tuple of str
        ``"authors"``, or the numbers of random splits, 95 % of the rows to learn from.
    n_frequencies, n_inducing, n_blocks, n_draws : int
        m, the number of inducing inputs, p, and r.
    pic_blocks : int
        Blocks of PIC+, whose rows' covariance is factorised in every step.
    iterations : tuple of int
        Iterations of the traced runs after which test rows are predicted; the last is their length.
    rows_per_iteration : int or None
        None for all training rows.
    traced : tuple of str
        Methods whose test rows are predicted on the way.
    rule_iterations : tuple of int
        Steps of the authors' updates, of one block each, after which test rows are predicted.
    widths : bool
        Whether draws are averaged at posteriors of several widths.
    blocks : callable or None
        What makes blocks for the methods that have some; None for blocks of their own.
    own_split : bool
        Whether all splits have the test rows that the table comes with: they differ in their seeds alone.
    few_splits : dict of str to int
        Methods that are run on the first so many splits only.
    fixed : dict of str to float
        Variances of the sVBSSGP that does not learn any; "auto" where there are none.
    draws : tuple of int
        Numbers of draws that are traced.
    converged : dict of str to int
        Methods that are run to convergence, and the most steps they may take; where it is 0 they stop by themselves.
    exact_rows : int
        Rows of the exact GP.
    n_rows : int or None
        Only so many rows of the table, drawn at random.
    omissions : str
        What is not run on this table, and why.
    is_reduced : bool
        Whether this is a reduced suite, for a quick run.
    """

    name: str
    load: Callable[[Path | None], Table]
    splits: tuple[str, ...]
    n_frequencies: int
    n_inducing: int
    n_blocks: int
    pic_blocks: int
    n_draws: int
    iterations: tuple[int, ...]
    rows_per_iteration: int | None = None
    traced: tuple[str, ...] = ("sVBSSGP",)
    rule_iterations: tuple[int, ...] = (0, 5, 10, 15, 20, 25, 30)
    widths: bool = False
    blocks: MakeBlocks | None = None
    own_split: bool = False
    few_splits: dict[str, int] = field(default_factory=dict)
    fixed: dict[str, float] = field(default_factory=dict)
    draws: tuple[int, ...] = ()
    converged: dict[str, int] = field(default_factory=dict)
    exact_rows: int = 6000
    n_rows: int | None = None
    omissions: str = ""
    is_reduced: bool = False

    @property
    def methods(self) -> set[str]:
        """Everything that is run."""
        return {*self.traced, *self.converged}


@dataclass(frozen=True)
class Fit(Cell):
    """A fit of the evaluation.

    Attributes
    ----------
    suite, split, method : str
        What is fitted to which rows.
    kind : {"trace", "converged", "widths"}
        Whether test rows are predicted on the way or at the end, or at posteriors of several widths.
    n_draws : int
        Draws that a prediction averages.
    quick : bool
        Whether the suite is reduced.
    """

    suite: str
    split: str
    method: str
    kind: str
    n_draws: int
    quick: bool = False

    @property
    def name(self) -> str:
        """Name of the file of its rows."""
        ending = "-quick" if self.quick else ""
        return f"{self.suite}-{self.split}-{plain(self.method)}-{self.kind}-r{self.n_draws}{ending}"

    @property
    def alike(self) -> tuple[str, ...]:
        """Suite, method and kind: splits and draws hardly matter."""
        return self.suite, self.method, self.kind

    def __str__(self) -> str:
        return f"{self.suite}, split {self.split}, {self.method}, {self.kind}, r = {self.n_draws}"


RANDOM = ("0", "1", "2", "3", "4")
AIMPEAK = Suite(
    name="aimpeak",
    load=load_aimpeak,
    splits=(AUTHORS, *RANDOM),
    n_frequencies=20,
    n_inducing=250,
    n_blocks=200,
    pic_blocks=200,
    n_draws=20,
    iterations=(0, 1, 2, 3, 5, 7, 10, 15, 20, 25, 30),
    traced=("sVBSSGP", "PIC+", "DTC+", "VSSGP"),
    draws=(1, 2, 5, 10, 20),
    # The deviations that the program of the authors holds fixed.
    fixed={"noise_variance": 2.0**2, "signal_variance": 7.0**2},
    converged={
        "sVBSSGP": 0,
        "sVBSSGP, even k-means": 0,
        "sVBSSGP, fixed hyperparameters": 0,
        "sVBSSGP, local objective": 0,
        "VSSGP": 5000,
        "SSGP": 200,
        "DTC+": 3000,
        "exact GP, some rows": 0,
        "spectral forest": 0,
    },
)
BLOG = Suite(
    name="blog",
    load=load_blog,
    splits=RANDOM,
    n_frequencies=5,
    n_inducing=250,
    n_blocks=200,
    pic_blocks=285,
    n_draws=20,
    iterations=(1, 2, 3, 5, 7, 10, 15, 20, 25, 30),
    draws=(1, 2, 5, 10, 20),
    converged={
        "sVBSSGP": 0,
        "sVBSSGP, even k-means": 0,
        "sVBSSGP, fixed hyperparameters": 0,
        "sVBSSGP, local objective": 0,
        "VSSGP": 3000,
        "SSGP": 200,
        "DTC+": 1500,
        "spectral forest": 0,
    },
    omissions="PIC+, which works with the covariances of whole blocks of rows, here of 60 inputs, is not run on "
    "BLOG, nor in the paper; nor is the exact GP, which takes more than 20 minutes to learn 60 lengthscales.",
)
AIRLINE = Suite(
    name="airline",
    load=load_airline,
    splits=RANDOM,
    n_frequencies=20,
    n_inducing=512,
    n_blocks=2000,
    pic_blocks=8000,
    n_draws=5,
    iterations=(1, 5, 15, 45),
    rows_per_iteration=50_000,
    traced=("sVBSSGP", "PIC+", "DTC+", "VSSGP"),
    draws=(5,),
    converged={
        "sVBSSGP": 0,
        "sVBSSGP, local objective": 0,
        "VSSGP": 5000,
        "SSGP": 40,
        "exact GP, some rows": 0,
        "spectral forest": 0,
    },
)
AIMPEAK_JOINT = replace(
    AIMPEAK,
    name="aimpeak-joint",
    load=load_aimpeak_joint,
    splits=RANDOM,
    own_split=True,
    blocks=given_blocks,
    iterations=(0, 1, 5, 10, 15, 20, 25, 30),
    traced=("sVBSSGP", "PIC+", "DTC+", "VSSGP", *RULES),
    draws=(1, 2, 5, 10, 20),
    few_splits={"PIC+": 2, "DTC+": 1, "VSSGP": 2, "SSGP": 2},
    converged={
        "sVBSSGP": 0,
        "sVBSSGP, fixed hyperparameters": 0,
        "update rule": 0,
        "VSSGP": 5000,
        "SSGP": 200,
        "DTC+": 3000,
    },
    omissions="All splits have the test rows of the authors' partition, and differ in their seeds. DTC+, VSSGP and "
    "SSGP have no blocks.",
)
AIRLINE_JOINT = replace(
    AIRLINE,
    name="airline-joint",
    splits=("0", "1", "2"),
    few_splits={"PIC+": 1},
    blocks=joint_blocks,
    iterations=(15,),
    traced=("PIC+",),
    draws=(),
    converged={"sVBSSGP": 0},
    omissions="Three splits, of PIC+ one, with 15 iterations. DTC+, VSSGP and SSGP have no blocks: their errors are "
    "those of the same splits above.",
)
# Iterations as those of the program of the authors are counted: a step each.
AIMPEAK_STEPS = replace(
    AIMPEAK_JOINT,
    name="aimpeak-steps",
    splits=("0",),
    rows_per_iteration=1000,
    iterations=(0, 5, 10, 15, 20, 25, 30),
    traced=("sVBSSGP", "PIC+", "DTC+", "VSSGP"),
    draws=(20,),
    converged={},
    omissions="One seed. A step of PIC+ takes in one block: five of them are an iteration.",
)
EVALUATION = {suite.name: suite for suite in (AIMPEAK, BLOG, AIRLINE)}
PROTOCOLS = {
    suite.name: suite
    for suite in (
        AIMPEAK_JOINT,
        replace(
            AIMPEAK_JOINT,
            name="aimpeak-inputs",
            blocks=raw_input_blocks,
            widths=True,
            traced=("sVBSSGP", "PIC+", *RULES),
            converged={"sVBSSGP": 0, "sVBSSGP, fixed hyperparameters": 0, "update rule": 0},
        ),
        AIMPEAK_STEPS,
        AIRLINE_JOINT,
        replace(
            AIRLINE_JOINT,
            name="airline-inputs",
            blocks=input_blocks,
            traced=(),
            omissions="Three splits. PIC+ with blocks of its own is that of the same splits above.",
        ),
    )
}
SUITES: dict[str, Suite] = {**EVALUATION, **PROTOCOLS}


def reduced(suite: Suite) -> Suite:
    """The same experiments on few rows and small models: every figure in a minute or two, no figure to be believed."""
    return replace(
        suite,
        splits=suite.splits[: 2 if suite.blocks is None else 1],
        n_frequencies=min(suite.n_frequencies, 8),
        n_inducing=30,
        n_blocks=20,
        pic_blocks=20,
        n_draws=min(suite.n_draws, 3),
        iterations=(*(t for t in suite.iterations if t == 0), 1, 2, 4),
        rows_per_iteration=None,
        draws=tuple(sorted({min(r, 3) for r in suite.draws})),
        converged={method: min(steps or 40, 40) for method, steps in suite.converged.items()},
        exact_rows=300,
        n_rows=1500,
        is_reduced=True,
    )


def cells(suite: Suite) -> list[Fit]:
    """All fits of a suite, split by split, so that what is there first is a whole picture of one."""
    return [fit for number, split in enumerate(suite.splits) for fit in _of_split(suite, split, number)]


def _of_split(suite: Suite, split: str, number: int) -> list[Fit]:
    """All fits of a split, of the methods that are run on so many splits."""
    fits = [("trace", method, r) for method in suite.traced for r in _draws(suite, method)]
    fits += [("converged", method, suite.n_draws if _averages(method) else 1) for method in suite.converged]
    fits += [("widths", "sVBSSGP", suite.n_draws)] if suite.widths else []
    return [
        Fit(suite.name, split, method, kind, r, suite.is_reduced)
        for kind, method, r in fits
        if number < suite.few_splits.get(method, len(suite.splits))
    ]


def _averages(method: str) -> bool:
    """Whether a method's predictions average over draws."""
    return "sVBSSGP" in method or method in RULES


def _draws(suite: Suite, method: str) -> tuple[int, ...]:
    """Numbers of draws with which a method is traced."""
    return suite.draws if method == "sVBSSGP" or method in RULES else (1,)
