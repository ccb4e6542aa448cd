"""What is run: tables, splits, sizes and methods, as data.

An iteration is so many training rows looked at by the gradient, the same number for every method of a suite: on
AIMPEAK and BLOG all of them (a pass), on AIRLINE 50,000. So a method that takes small steps takes more of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from experiments.tables import Table, load_aimpeak, load_airline, load_blog

__all__ = ["AUTHORS", "GAMMAS", "SUITES", "TRACED_GAMMAS", "Cell", "Suite", "cells", "quick", "seed_of"]

# The split that comes with a table; the others, random ones, have numbers.
AUTHORS = "authors"
TRACED_GAMMAS = (0.0, 0.1, 0.2, 0.3)
GAMMAS = tuple(np.round(np.linspace(-1.0, 1.0, 21), 2).tolist())


@dataclass(frozen=True)
class Suite:
    """One table's experiments.

    Attributes
    ----------
    name : str
        Of the suite and its table.
    load : callable
        Takes a folder, or None, to the table.
    splits : tuple of str
        ``"authors"``, or the numbers of random splits, 95 % of the rows to learn from.
    n_frequencies, n_inducing, n_blocks, n_draws : int
        m, the number of inducing inputs, p, and r.
    pic_blocks : int
        Blocks of PIC+, whose rows' covariance is factorised in every step.
    iterations : int
        Length of the traced runs.
    looked_at : tuple of int
        Iterations after which test rows are predicted.
    rows_an_iteration : int or None
        None for all training rows.
    traced : tuple of str
        Methods that are looked at on the way.
    draws : tuple of int
        Numbers of draws that are traced.
    converged : dict of str to int
        Methods that are run to convergence, and the most steps they may take; where it is 0 they stop by themselves.
    exact_rows : int
        Rows of the exact GP.
    n_rows : int or None
        Only so many rows of the table, drawn at random.
    left_out : str
        What is not run on this table, and why.
    """

    name: str
    load: Callable[[Path | None], Table]
    splits: tuple[str, ...]
    n_frequencies: int
    n_inducing: int
    n_blocks: int
    pic_blocks: int
    n_draws: int
    iterations: int
    looked_at: tuple[int, ...]
    rows_an_iteration: int | None = None
    traced: tuple[str, ...] = ("sVBSSGP",)
    draws: tuple[int, ...] = ()
    converged: dict[str, int] = field(default_factory=dict)
    exact_rows: int = 6000
    n_rows: int | None = None
    left_out: str = ""

    @property
    def methods(self) -> set[str]:
        """Everything that is run."""
        return {*self.traced, *self.converged}


@dataclass(frozen=True)
class Cell:
    """One fit: what is resumed, and what can fail without harm to the rest."""

    suite: str
    split: str
    method: str
    kind: str
    n_draws: int

    @property
    def name(self) -> str:
        """Of its file of results."""
        method = "".join(letter if letter.isalnum() else "_" for letter in self.method)
        return f"{self.suite}-{self.split}-{method}-{self.kind}-r{self.n_draws}"


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
        iterations=30,
        looked_at=(1, 2, 3, 5, 7, 10, 15, 20, 25, 30),
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
        iterations=30,
        looked_at=(1, 2, 3, 5, 7, 10, 15, 20, 25, 30),
        draws=(1, 2, 5, 10, 20),
        converged={
            "sVBSSGP": 0,
            "sVBSSGP, local objective": 0,
            "VSSGP": 3000,
            "SSGP": 200,
            "DTC+": 1500,
            "spectral forest": 0,
        },
        left_out="PIC+, which works with the covariances of whole blocks of rows, here of 60 inputs, is not run on "
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
        iterations=45,
        looked_at=(1, 5, 15, 45),
        rows_an_iteration=50_000,
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


def quick(suite: Suite) -> Suite:
    """The same experiments on few rows and small models: every figure in a minute or two, no figure to be believed."""
    return replace(
        suite,
        splits=suite.splits[:2],
        n_frequencies=min(suite.n_frequencies, 8),
        n_inducing=30,
        n_blocks=20,
        pic_blocks=20,
        n_draws=min(suite.n_draws, 3),
        iterations=4,
        looked_at=(1, 2, 4),
        rows_an_iteration=None,
        draws=tuple(sorted({min(r, 3) for r in suite.draws})),
        converged={method: min(steps or 40, 40) for method, steps in suite.converged.items()},
        exact_rows=300,
        n_rows=1500,
    )


def seed_of(split: str) -> int:
    """Seed of the estimators that learn from a split; it also picks the rows of those that take only some."""
    return 0 if split == AUTHORS else int(split)


def cells(suite: Suite) -> list[Cell]:
    """All fits of a suite, split by split, so that what is there first is a whole picture of one."""
    found = []
    for split in suite.splits:
        for method in suite.traced:
            for r in suite.draws if method == "sVBSSGP" else (1,):
                found.append(Cell(suite.name, split, method, "trace", r))
        for method in suite.converged:
            found.append(Cell(suite.name, split, method, "converged", suite.n_draws if "sVBSSGP" in method else 1))
    return found
