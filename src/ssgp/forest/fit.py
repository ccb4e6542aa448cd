"""What fitting a forest does once everything is checked: learn the waves, then plant the trees."""

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import inf, log
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ssgp._utils.progress import StepHooks
from ssgp.engine.threads import one_blas_thread
from ssgp.forest.builder import Planter
from ssgp.forest.sizes import ForestSizes
from ssgp.forest.trees import TreeRecipe
from ssgp.rows.blocking import Blocking, SampledBlocking
from ssgp.rows.row_tables import TrainingRows
from ssgp.rows.standardized import Rows, Standardizer
from ssgp.saving.checkpoints import Checkpoint
from ssgp.spectrum.bases import Normal
from ssgp.spectrum.kernels import KERNELS, tail_scales
from ssgp.spectrum.learner import Learner
from ssgp.spectrum.objectives import LocalObjective
from ssgp.spectrum.optimizers import Adam
from ssgp.spectrum.parameters import Hyperparameters, Layout, Parameters
from ssgp.spectrum.posterior import finish
from ssgp.spectrum.trainer import Schedule
from ssgp.svbssgp.fitted import in_own_units

__all__ = ["ForestFitting", "feature_importances"]

Array = NDArray[np.floating]

DEFAULT_KERNEL = "squared-exponential"
# A learning step sees one block of some hundred rows: more blocks than hold so many rows bring nothing.
LEARNING_ROWS = 200_000
LEARNING_SHARE = 0.35
TRIED_STEPS = 200
TIMED_STEPS = 10
TIMED_ROWS = 8192
LEAST_PLANTED_ROWS = 2000
IMPORTANCE_PAIRS = 4096
# What a coarse clock may take for no time at all.
LEAST_SECONDS = 1e-3


@dataclass(frozen=True)
class ForestFitting:
    """One call of `fit`.

    Attributes
    ----------
    units : Standardizer
        Between the user's units and the model's.
    rows : TrainingRows
        What to learn from.
    sizes : ForestSizes
        Of the forest.
    recipe : TreeRecipe
        Of its trees.
    kernel : str
        A name of `ssgp.spectrum.kernels.KERNELS`, or "auto".
    learning_rate, tol : float
        Of the learning run.
    seed : int
        Of everything random.
    n_jobs : int or None
        Threads.
    correct : bool
        Whether boosted trees may correct the forest.
    deadline : float
        Time on the monotonic clock by which everything should be done.
    start : Parameters or None
        Where to begin learning; None for the prior.
    checkpoint : Checkpoint
        Where finished parts are kept.
    """

    units: Standardizer
    rows: TrainingRows
    sizes: ForestSizes
    recipe: TreeRecipe
    kernel: str
    learning_rate: float
    tol: float | None
    seed: int
    n_jobs: int | None
    correct: bool
    deadline: float = inf
    start: Parameters | None = None
    checkpoint: Checkpoint = field(default_factory=lambda: Checkpoint(None))

    @cached_property
    def _seeds(self) -> list[int]:
        """Of the start, the blocks, the steps and the trees."""
        return np.random.SeedSequence(self.seed).generate_state(4).tolist()

    @cached_property
    def _blocking(self) -> Blocking | SampledBlocking:
        """Blocks that drive the gradient: of the whole sample, so that they are as local as it allows."""
        n_rows = len(self.rows.sample.y)
        n_blocks = max(1, round(n_rows / self.sizes.block_size))
        if n_rows <= LEARNING_ROWS:
            return Blocking("tree", n_blocks, None, self._seeds[1])
        return SampledBlocking(n_blocks, LEARNING_ROWS * n_blocks // n_rows, self._seeds[1])

    def initial(self) -> Parameters:
        """Where learning begins: lengthscales grow with the root of the number of inputs, as distances do."""
        if self.start is not None:
            return self.start.copy()
        n_inputs = self.rows.sample.X.shape[1]
        layout = Layout(self.sizes.n_frequencies, n_inputs, 0, "diagonal")
        plain = Hyperparameters(np.full(n_inputs, np.sqrt(n_inputs)), 1.0, 0.5)
        return Parameters.initial(layout, plain, np.random.default_rng(self._seeds[0]))

    def learner(self, kernel: str, max_iter: int) -> Learner:
        """Settings of a learning run."""
        return Learner(
            objective=LocalObjective(trend=True),
            base=Normal(),
            learn_hyperparameters=True,
            make_optimizer=partial(Adam, self.learning_rate),
            minibatch="blocks",
            partition_metric="learned",
            plain_metric=np.ones(self.rows.sample.X.shape[1]),
            batch_size=self.sizes.block_size,
            blocks_per_step=1,
            draws_per_step=1,
            schedule=Schedule(max_iter, self.tol),
            tail=tail_scales(kernel, self.sizes.n_frequencies),
        )

    def run(self, hooks: StepHooks, kernel: str, parameters: Parameters, bounds: list[float]) -> None:
        """Learn, moving `parameters` and adding to `bounds` after each step; Ctrl-C ends it early.

        What a checkpoint knows to be learned is taken from there.
        """
        known = self.checkpoint.read("learned")
        if known is not None:
            parameters.flat[:], bounds[:] = known
            return

        def after_step(bound: float) -> bool:
            bounds.append(bound)
            return hooks.after_step(len(bounds), bound - log(self.units.y_scale))

        with one_blas_thread():
            learner = self.learner(kernel, self.affordable_steps(kernel))
            rng = np.random.default_rng(self._seeds[2])
            try:
                learner.ascend(parameters, self.rows.sample, self._blocking, learner.make_optimizers(), rng, after_step)
                self.checkpoint.write("learned", (parameters.flat, bounds))
            except KeyboardInterrupt:
                self.checkpoint.close()
                warnings.warn(
                    f"learning was interrupted after {len(bounds)} of at most {learner.schedule.max_iter} steps; "
                    "the forest is planted with what was learned. Interrupt again to give up",
                    ConvergenceWarning,
                    stacklevel=4,
                )

    def choose_kernel(self) -> str:
        """The kernel: the user's, or the one of the highest bound after a short run of each."""
        if self.kernel != "auto":
            return self.kernel
        n_steps = TRIED_STEPS
        with one_blas_thread():
            if self.deadline < inf:
                n_steps = max(1, min(TRIED_STEPS, self.affordable_steps(DEFAULT_KERNEL) // (2 * len(KERNELS))))
            rows = self._blocking.sort(self.rows.sample, np.ones(self.rows.sample.X.shape[1]))
            try:
                scores = {kernel: self._bound_after(kernel, rows, n_steps) for kernel in KERNELS}
            except KeyboardInterrupt:
                self.checkpoint.close()
                message = f"interrupted while the kernel was chosen; it is {DEFAULT_KERNEL}"
                warnings.warn(message, ConvergenceWarning, stacklevel=4)
                return DEFAULT_KERNEL
        return max(scores, key=lambda kernel: scores[kernel])

    def _bound_after(self, kernel: str, rows: Rows, n_steps: int) -> float:
        """Bound of a kernel after a short run."""
        learner = self.learner(kernel, n_steps)
        rng = np.random.default_rng(self._seeds[2])
        trainer = learner.trainer(self.initial(), rows, learner.make_optimizers(), rng)
        for _ in trainer.run(learner.schedule):
            pass
        return trainer.probe()

    def affordable_steps(self, kernel: str) -> int:
        """Steps of the learning run: as many as there is time for."""
        if self.deadline == inf:
            return self.sizes.max_iter
        learner = self.learner(kernel, self.sizes.max_iter)
        rows = self._blocking.sort(self.rows.sample, learner.plain_metric)
        trainer = learner.trainer(self.initial(), rows, learner.make_optimizers(), np.random.default_rng(0))
        began = monotonic()
        for _ in range(TIMED_STEPS):
            trainer.step()
        now = monotonic()
        return int(
            np.clip(
                LEARNING_SHARE * (self.deadline - now) * TIMED_STEPS / max(now - began, LEAST_SECONDS),
                1,
                self.sizes.max_iter,
            )
        )

    def planter(self, kernel: str, parameters: Parameters, after_tree: Any = None) -> Planter:  # noqa: ANN401
        """What builds the trees of these parameters."""
        own = parameters.hyperparameters
        tail = tail_scales(kernel, self.sizes.n_frequencies)
        posterior = finish(parameters, Normal(), own.frequency_deviation, 1.0, tail)

        def draw(rng: np.random.Generator) -> Array:
            return posterior.split(posterior.sample(1, rng))[0][0]

        # A snapshot on the way, which nobody is told of, is not what is kept.
        extra = {} if after_tree is None else {"after_tree": after_tree, "checkpoint": self.checkpoint}
        seed = self._seeds[3]
        return Planter(draw, own, self.recipe, self.sizes, seed, self.n_jobs, self.correct, self.deadline, **extra)

    def attributes(self, kernel: str, parameters: Parameters, bounds: list[float], after_tree: Any = None) -> dict:  # noqa: ANN401
        """Fitted attributes as of these parameters."""
        planter, rows = self._affordable(self.planter(kernel, parameters, after_tree))
        forest, seedlings = planter(rows)
        own, units = parameters.hyperparameters, self.units
        tail = tail_scales(kernel, self.sizes.n_frequencies)
        n_leaves = forest.trees[0].partition.n_blocks // forest.trees[0].levels[-1].group
        return {
            "posterior_": finish(parameters, Normal(), own.frequency_deviation / units.x_scale, 1.0, tail),
            "lengthscale_": own.lengthscale * units.x_scale,
            "feature_importances_": feature_importances(self.rows.sample.X, own.lengthscale),
            "kernel_": kernel,
            "n_frequencies_": self.sizes.n_frequencies,
            "n_trees_": len(forest.trees),
            "n_leaves_": n_leaves,
            "leaf_size_": rows.table.total / n_leaves,
            "calibration_": forest.calibration,
            "corrected_share_": 0.0 if forest.correction is None else forest.correction.share,
            "n_rows_": self.rows.table.n_rows,
            "n_iter_": len(bounds),
            "bound_trace_": in_own_units(bounds, units),
            "_units": units,
            "_forest": forest,
            "_seedlings": seedlings,
            "_parameters": parameters,
        }

    def _affordable(self, planter: Planter) -> tuple[Planter, TrainingRows]:
        """All rows, or as many of the sample as there is time to plant one tree with, and a planter for them."""
        n_rows = self.rows.table.n_rows
        if self.deadline == inf or n_rows <= TIMED_ROWS:
            return planter, self.rows
        began = monotonic()
        shallower = int(np.log2(n_rows / TIMED_ROWS))
        planter.plant_one(self.rows.first(TIMED_ROWS), max(0, self.sizes.depth - shallower))
        now = monotonic()
        passes = self.sizes.n_folds + 1
        affordable = int(TIMED_ROWS * max(0.0, self.deadline - now) / max(now - began, LEAST_SECONDS) / passes)
        if affordable >= n_rows:
            return planter, self.rows
        affordable = min(max(LEAST_PLANTED_ROWS, affordable), len(self.rows.sample.y))
        depth = max(0, self.sizes.depth - int(np.log2(n_rows / affordable)))
        sizes = replace(self.sizes, depth=depth, n_held_out=min(self.sizes.n_held_out, affordable // 10), n_folds=1)
        return replace(planter.with_depth(depth), sizes=sizes), self.rows.first(affordable)


def feature_importances(X: Array, lengthscale: Array) -> Array:
    """How much correlation of two rows is lost by exchanging one of their inputs, scaled to sum to one.

    ``1 - mean exp(-(x_j - x'_j)^2 / (2 l_j^2))`` over pairs of rows in random order.
    """
    some = X[: 2 * IMPORTANCE_PAIRS].astype(float)
    apart = (some - np.roll(some, len(some) // 2 or 1, axis=0)) / lengthscale
    lost = 1.0 - np.exp(-0.5 * apart * apart).mean(axis=0)
    total = lost.sum()
    return lost / total if total > 0 else np.full(len(lost), 1.0 / len(lost))
