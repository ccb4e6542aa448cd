"""The frequencies of a forest, learned by stochastic ascent of the bound of local models."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from math import isqrt

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.budget import Budget, seconds_of
from ssgp._utils.wide import CHOSEN_INPUTS, WIDE, largest, target_correlations
from ssgp.engine.threads import n_threads, one_blas_thread
from ssgp.engine.workers import KeptThreads
from ssgp.forest.settings import ForestSettings
from ssgp.forest.sizes import LARGE
from ssgp.rows.blocking import Blocking, SampledBlocking
from ssgp.rows.blocks import Rows
from ssgp.saving.contents import array, fixed_tuple, list_of, number
from ssgp.spectrum.bases import Normal
from ssgp.spectrum.kernels import DEFAULT_KERNEL, KERNELS, tail_scales
from ssgp.spectrum.learner import Learner
from ssgp.spectrum.objectives import MOST_PARTS, LocalObjective, Objective
from ssgp.spectrum.optimizers import Adam, EagerAdam, Optimizer
from ssgp.spectrum.parameters import Hyperparameters, Layout, Parameters
from ssgp.spectrum.trainer import Schedule

__all__ = ["FrequencyLearner", "feature_importances"]

# A learning step sees one block of some hundred rows: more blocks than hold so many rows bring nothing.
LEARNING_ROWS = 200_000
# The bound is probed often, since steps of lengthscales are long, on few blocks, since each costs as much as a step.
STEPS_PER_PROBE = 25
BLOCKS_PER_PROBE = 4
LEAST_PROBES, MOST_PROBES = 2, 8
# On a plateau steps go round what they look for, each drawn to the block it sees. Smaller ones settle, over the more
# steps the more blocks there are: for each step before so many, or so many per block.
MOST_DECAY = 2.0
DECAY_PER_BLOCK = 0.25
# Share of the time that is for learning, where there is a limit.
LEARNING_SHARE = 0.35
# Steps after which kernels are compared, and steps that tell how long one takes.
COMPARED_STEPS = 200
TIMED_STEPS = 10
IMPORTANCE_PAIRS = 4096
# Parameters and bounds, as checkpoints hold them.
LEARNED = fixed_tuple(array(("float32", "float64"), "size"), list_of(number(finite=False)))


class FrequencyLearner:
    """Learns frequencies and lengthscales from rows in random order.

    Parameters
    ----------
    rows : Rows
        Standardised training rows, or a sample of them.
    settings : ForestSettings
        What was asked for.
    budget : Budget
        Time, and what is kept.
    start : Parameters or None
        Where to begin; None for the prior.
    """

    def __init__(self, rows: Rows, settings: ForestSettings, budget: Budget, start: Parameters | None) -> None:
        self.rows, self.settings, self.budget, self.start = rows, settings, budget, start
        self._threads = KeptThreads(min(n_threads(settings.n_jobs), MOST_PARTS))

    @cached_property
    def _blocking(self) -> Blocking | SampledBlocking:
        """Blocks that drive the gradient: of all rows, so that they are as local as these allow."""
        n_rows, seed = len(self.rows.y), self.settings.seeds.blocks
        n_blocks = max(1, round(n_rows / self.settings.sizes.block_size))
        if n_rows <= LEARNING_ROWS:
            return Blocking("tree", n_blocks, None, seed, self.settings.machine.partitioner)
        n_kept = LEARNING_ROWS * n_blocks // n_rows
        return SampledBlocking(n_blocks, n_kept, seed, self.settings.machine.partitioner)

    @cached_property
    def trend_inputs(self) -> Indices | None:
        """Inputs that local models are linear in: those most correlated with the target where there are many."""
        if self.rows.X.shape[1] <= WIDE:
            return None
        return largest(target_correlations(self.rows.X, self.rows.y, self.rows.weight), CHOSEN_INPUTS)

    def initial(self) -> Parameters:
        """Parameters to begin with: lengthscales grow with the root of the number of inputs, as distances do."""
        if self.start is not None:
            return self.start.copy()
        n_inputs = self.rows.X.shape[1]
        layout = Layout(self.settings.sizes.n_frequencies, n_inputs, 0, "diagonal")
        plain = Hyperparameters(np.full(n_inputs, np.sqrt(n_inputs)), 1.0, 0.5)
        return Parameters.initial(layout, plain, np.random.default_rng(self.settings.seeds.start))

    @cached_property
    def _objective(self) -> Objective:
        """What is maximised, on the machine that learns."""
        local = LocalObjective(trend=True, trend_inputs=self.trend_inputs, threads=self._threads)
        return self.settings.machine.objective(local, self.settings.sizes.n_frequencies, self.rows.X.shape[1])

    def _learner(self, kernel: str, max_iter: int) -> Learner:
        """Settings of a learning run."""
        settings = self.settings
        return Learner(
            objective=self._objective,
            base=Normal(),
            learn_hyperparameters=True,
            make_optimizer=self._make_optimizer,
            minibatch="blocks",
            partition_metric="learned",
            plain_metric=np.ones(self.rows.X.shape[1]),
            batch_size=settings.sizes.block_size,
            blocks_per_step=1,
            draws_per_step=1,
            schedule=Schedule(
                max_iter,
                None if self._is_large else settings.tol,
                decay_after_plateau=min(MOST_DECAY, DECAY_PER_BLOCK * self._blocking.n_blocks),
                steps_per_probe=STEPS_PER_PROBE,
                blocks_per_probe=BLOCKS_PER_PROBE,
                probes_per_plateau=min(max(LEAST_PROBES, isqrt(self._blocking.n_blocks)), MOST_PROBES),
            ),
            tail_scales=tail_scales(kernel, settings.sizes.n_frequencies),
        )

    @property
    def _is_large(self) -> bool:
        """Whether the table is one whose trees take many times as long as all learning steps, which all pay there."""
        return len(self.rows.y) >= LARGE

    def _make_optimizer(self) -> Optimizer:
        """Adam, which takes long steps where gradients agree so that there may be few of them."""
        rate = self.settings.learning_rate
        return Adam(rate) if self._is_large else EagerAdam(rate, self.rows.X.shape[1])

    def learn(
        self, kernel: str, parameters: Parameters, bounds: list[float], after_step: Callable[[float], bool]
    ) -> None:
        """Learn, moving `parameters` and adding to `bounds` after each step; Ctrl-C ends it early.

        Parameters
        ----------
        kernel : str
            A name of `KERNELS`.
        parameters, bounds : Parameters, list of float
            Where to begin, and bounds so far.
        after_step : callable
            Is told the bound after each step, and says whether to stop.
        """

        def run() -> tuple[Array, list[float]]:
            self._ascend(kernel, parameters, bounds, after_step)
            return parameters.flat, bounds

        with self._in_threads():
            parameters.flat[:], bounds[:] = self.budget.kept.once("learned", run, LEARNED)

    def _ascend(
        self, kernel: str, parameters: Parameters, bounds: list[float], after_step: Callable[[float], bool]
    ) -> None:
        learner = self._learner(kernel, self._affordable_steps(kernel))
        rng = np.random.default_rng(self.settings.seeds.steps)
        # Of a large table blocks are many and alike in both rounds: what is known of their gradients stays true.
        optimizers = learner.make_optimizers() if self._is_large else None

        def collect(bound: float) -> bool:
            bounds.append(bound)
            return after_step(bound)

        self.budget.attempt(
            lambda: learner.learn(parameters, self.rows, self._blocking, optimizers, rng, collect),
            lambda: None,
            lambda: (
                f"learning was interrupted after {len(bounds)} of at most {learner.schedule.max_iter} steps; "
                "the forest is fitted with what was learned. Interrupt again to give up"
            ),
        )
        most = self.settings.sizes.max_iter
        if len(bounds) >= learner.schedule.max_iter:
            self.budget.leave_out(most - learner.schedule.max_iter, most, "learning steps")

    def choose_kernel(self) -> str:
        """The kernel of the settings or, for "auto", that of the highest bound after a short run of each."""
        if self.settings.kernel != "auto":
            return self.settings.kernel

        def compare() -> str:
            n_steps = COMPARED_STEPS
            if self.budget.limited:
                affordable = self._affordable_steps(DEFAULT_KERNEL) // (2 * len(KERNELS))
                n_steps = max(1, min(COMPARED_STEPS, affordable))
            rows = self._blocking.sort(self.rows, np.ones(self.rows.X.shape[1]))
            bounds = {kernel: self._bound_after(kernel, rows, n_steps) for kernel in KERNELS}
            return max(bounds, key=lambda kernel: bounds[kernel])

        message = f"interrupted while the kernel was chosen; it is {DEFAULT_KERNEL}"
        with self._in_threads():
            return self.budget.attempt(compare, lambda: DEFAULT_KERNEL, message)

    @contextmanager
    def _in_threads(self) -> Iterator[None]:
        """Context of learning steps: threads that are gone when it ends, with one thread of linear algebra in each."""
        try:
            with one_blas_thread():
                yield
        finally:
            self._threads.end()

    def _bound_after(self, kernel: str, rows: Rows, n_steps: int) -> float:
        """Bound of a kernel after a short run."""
        learner = self._learner(kernel, n_steps)
        rng = np.random.default_rng(self.settings.seeds.steps)
        trainer = learner.trainer(self.initial(), rows, learner.make_optimizers(), rng)
        for _ in trainer.run(learner.schedule):
            pass
        return trainer.probe()

    def _affordable_steps(self, kernel: str) -> int:
        """Steps of the learning run: as many as there is time for."""
        most = self.settings.sizes.max_iter
        if not self.budget.limited:
            return most
        learner = self._learner(kernel, most)
        rows = self._blocking.sort(self.rows, learner.plain_metric)
        trainer = learner.trainer(self.initial(), rows, learner.make_optimizers(), np.random.default_rng(0))
        seconds = seconds_of(lambda: [trainer.step() for _ in range(TIMED_STEPS)])
        return int(np.clip(LEARNING_SHARE * self.budget.seconds_left() * TIMED_STEPS / seconds, 1, most))


def _lost_correlation(X: Array, lengthscale: Array) -> Array:
    """One minus the mean correlation of pairs of rows X (n, d) in each input, shape (d,)."""
    rows = X.astype(float)
    apart = (rows - np.roll(rows, len(rows) // 2 or 1, axis=0)) / lengthscale
    return 1.0 - np.exp(-0.5 * apart * apart).mean(axis=0)


def feature_importances(X: Array, lengthscale: Array) -> Array:
    """Correlation of two rows that is lost by exchanging one of their inputs, scaled to sum to one, shape (d,).

    It is that of the squared exponential kernel with these lengthscales, whichever kernel the frequencies are of:
    ``1 - mean exp(-(x_j - x'_j)^2 / (2 l_j^2))`` over pairs of rows in random order.
    """
    lost = np.concatenate(
        [
            _lost_correlation(X[: 2 * IMPORTANCE_PAIRS, i : i + WIDE], lengthscale[i : i + WIDE])
            for i in range(0, X.shape[1], WIDE)
        ]
    )
    total = lost.sum()
    return lost / total if total > 0 else np.full(len(lost), 1.0 / len(lost))
