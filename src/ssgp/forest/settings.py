"""Settings of a fit of a forest, resolved for one table."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from ssgp.forest.machines import Machine, find_machine
from ssgp.forest.sizes import Auto, ForestSizes, MemoryShares, choose_sizes
from ssgp.forest.tree import TreeShape
from ssgp.spectrum.parameters import Parameters

__all__ = ["ForestParameters", "ForestSeeds", "ForestSettings", "shares_of", "sizes_of"]


class ForestParameters(Protocol):
    """Parameters of the estimator, which describes them, as a user has set them."""

    n_trees: int | Auto
    n_frequencies: int | Auto
    leaf_size: int | Auto
    kernel: str
    shrink: bool
    n_sketches: int | Literal["exact"]
    correct: bool
    max_iter: int | Auto
    tol: float | None
    learning_rate: float
    max_memory: float | str
    target: Any
    atoms: Any
    device: str
    n_jobs: int | None
    random_state: int | np.random.RandomState | None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters by name."""
        ...


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

    @classmethod
    def of(
        cls, asked: ForestParameters, n_rows: int, n_inputs: int, seed: int, start: Parameters | None = None
    ) -> "ForestSettings":
        """Settings for a table; a fit that goes on from a start has as many frequencies as that."""
        return cls(
            sizes=sizes_of(asked, n_rows, n_inputs, start),
            kernel=asked.kernel,
            learning_rate=asked.learning_rate,
            tol=asked.tol,
            n_sketches=asked.n_sketches,
            shrink=asked.shrink,
            correct=asked.correct,
            n_jobs=asked.n_jobs,
            seed=seed,
            device=asked.device,
        )

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


def shares_of(asked: ForestParameters, n_inputs: int) -> MemoryShares:
    """What `max_memory` is shared among."""
    return MemoryShares.of(asked.max_memory, n_inputs)


def sizes_of(asked: ForestParameters, n_rows: int, n_inputs: int, start: Parameters | None = None) -> ForestSizes:
    """Sizes that were set or follow from the table; of a fit that goes on from a start, with its frequencies."""
    return choose_sizes(
        n_rows,
        n_inputs,
        shares_of(asked, n_inputs),
        n_frequencies=asked.n_frequencies if start is None else start.layout.n_frequencies,
        n_trees=asked.n_trees,
        leaf_size=asked.leaf_size,
        max_iter=asked.max_iter,
        n_sketches=asked.n_sketches,
    )
