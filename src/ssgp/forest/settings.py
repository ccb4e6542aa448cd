"""Settings of a fit of a forest, resolved for one table."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from ssgp.forest.machines import Machine, find_machine
from ssgp.forest.sizes import ForestSizes
from ssgp.forest.tree import TreeShape

__all__ = ["ForestSeeds", "ForestSettings"]


class ForestSeeds(NamedTuple):
    """Seeds of the parts of a fit."""

    start: int
    blocks: int
    steps: int
    trees: int


@dataclass(frozen=True)
class ForestSettings:
    """Settings of the estimator, with sizes in the place of "auto".

    Attributes
    ----------
    sizes : ForestSizes
        Sizes of the forest.
    kernel : str
        A name of `ssgp.spectrum.kernels.KERNELS`, or "auto" for the one that learning prefers.
    learning_rate, tol : float
        Step size of the learning run, and the rise of the bound below which it ends; None for never.
    n_sketches : int or "exact"
        Vectors that are kept of a node's covariance.
    shrink : bool
        Whether leaves are shrunk towards their ancestors.
    correct : bool
        Whether boosted trees may correct the forest.
    n_jobs : int or None
        Threads.
    seed : int
        Seed of everything random.
    device : str
        What the forest is fitted by: "cpu", or a GPU's name.
    """

    sizes: ForestSizes
    kernel: str
    learning_rate: float
    tol: float | None
    n_sketches: int | Literal["exact"]
    shrink: bool
    correct: bool
    n_jobs: int | None
    seed: int
    device: str = "cpu"

    @property
    def machine(self) -> Machine:
        """What the forest is fitted by."""
        return find_machine(self.device)

    @cached_property
    def seeds(self) -> ForestSeeds:
        """Seeds of the parts of the fit, all of them from the one."""
        return ForestSeeds(*np.random.SeedSequence(self.seed).generate_state(4).tolist())

    @property
    def shape(self) -> TreeShape:
        """Leaves and levels of the trees."""
        return TreeShape.of_depth(self.sizes.depth)

    def with_sizes(self, **sizes: int) -> "ForestSettings":
        """The same with some other sizes."""
        return replace(self, sizes=replace(self.sizes, **sizes))
