"""What is run: tables, splits, sizes and methods, as data.

An iteration is a number of training rows that the gradient takes in, the same for every method of a suite: on AIMPEAK
and BLOG all of them (a pass), on AIRLINE 50,000. So a method that takes small steps takes more of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from experiments.study import Cell, plain
from experiments.tables import AUTHORS, Table, load_aimpeak, load_airline, load_blog

__all__ = ["GAMMAS", "SUITES", "TRACED_GAMMAS", "Fit", "Suite", "cells", "reduced"]

TRACED_GAMMAS = (0.0, 0.1, 0.2, 0.3)
GAMMAS = tuple(np.round(np.linspace(-1.0, 1.0, 21), 2).tolist())


@dataclass(frozen=True)
class Suite:
    """Experiments on one table.

    Attributes
    ----------
    name : str
        Name of the suite and its table.
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
    kind : {"trace", "converged"}
        Whether test rows are predicted on the way or at the end.
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
SUITES: dict[str, Suite] = {
    "aimpeak": Suite(
        name="aimpeak",
        load=load_aimpeak,
        splits=(AUTHORS, *RANDOM),
        n_frequencies=20,
        n_inducing=250,
        n_blocks=200,
        pic_blocks=200,
        n_draws=20,
        iterations=(1, 2, 3, 5, 7, 10, 15, 20, 25, 30),
        traced=("sVBSSGP", "PIC+", "DTC+", "VSSGP"),
        draws=(1, 2, 5, 10, 20),
        converged={
            "sVBSSGP": 0,
            "sVBSSGP, local objective": 0,
            "VSSGP": 5000,
            "SSGP": 200,
            "DTC+": 3000,
            "exact GP, some rows": 0,
            "spectral forest": 0,
        },
    ),
    "blog": Suite(
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
            "sVBSSGP, local objective": 0,
            "VSSGP": 3000,
            "SSGP": 200,
            "DTC+": 1500,
            "spectral forest": 0,
        },
        omissions="PIC+, which works with the covariances of whole blocks of rows, here of 60 inputs, is not run on "
        "BLOG, nor in the paper; nor is the exact GP, which takes more than 20 minutes to learn 60 lengthscales.",
    ),
    "airline": Suite(
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
    ),
}


def reduced(suite: Suite) -> Suite:
    """The same experiments on few rows and small models: every figure in a minute or two, no figure to be believed."""
    return replace(
        suite,
        splits=suite.splits[:2],
        n_frequencies=min(suite.n_frequencies, 8),
        n_inducing=30,
        n_blocks=20,
        pic_blocks=20,
        n_draws=min(suite.n_draws, 3),
        iterations=(1, 2, 4),
        rows_per_iteration=None,
        draws=tuple(sorted({min(r, 3) for r in suite.draws})),
        converged={method: min(steps or 40, 40) for method, steps in suite.converged.items()},
        exact_rows=300,
        n_rows=1500,
        is_reduced=True,
    )


def cells(suite: Suite) -> list[Fit]:
    """All fits of a suite, split by split, so that what is there first is a whole picture of one."""
    fits = []
    for split in suite.splits:
        for method in suite.traced:
            for r in suite.draws if method == "sVBSSGP" else (1,):
                fits.append(Fit(suite.name, split, method, "trace", r, suite.is_reduced))
        for method in suite.converged:
            r = suite.n_draws if "sVBSSGP" in method else 1
            fits.append(Fit(suite.name, split, method, "converged", r, suite.is_reduced))
    return fits
