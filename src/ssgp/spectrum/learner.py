"""One learning run, from settings to learned parameters."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ssgp._utils.arrays import Array
from ssgp._utils.warning import warn_user
from ssgp.rows.blocking import Blocking, SampledBlocking
from ssgp.rows.blocks import Rows
from ssgp.spectrum.bases import Base
from ssgp.spectrum.objectives import LocalObjective, Objective
from ssgp.spectrum.optimizers import Optimizer
from ssgp.spectrum.parameters import Parameters
from ssgp.spectrum.trainer import NOISE_RANGE, BoundEstimator, Schedule, Trainer

__all__ = ["Learner", "report_skipped"]

Optimizers = tuple[Optimizer, Optimizer]

# Where gradients are estimated from blocks and the metric is learned, the blocks of the first round are local in
# standardised inputs, and those of the second round in the metric that the first one learned.
FIRST_ROUND_SHARE = 1 / 3
# The first one learns a metric: it need not settle for long.
FIRST_ROUND_DECAY = 0.4
# Share of the steps that may be skipped without a warning.
SKIPPED_SHARE = 0.01


@dataclass(frozen=True)
class Learner:
    """Settings of a learning run.

    Attributes
    ----------
    objective : Objective
        The data's part of the bound.
    base : Base
        Distribution psi of z.
    learn_hyperparameters : bool
        Whether kernel and noise are learned.
    make_optimizer : callable
        Makes a new optimiser.
    minibatch : {"rows", "blocks"}
        What gradients of the global objective are estimated from.
    partition_metric : {"learned", "standardized"}
        Units of distances between rows: lengthscales, or standardised inputs.
    plain_metric : array of shape (d,)
        Factor of each standardised input in distances that are not in lengthscales.
    batch_size : int
        Rows per step, about, where `blocks_per_step` is "auto".
    blocks_per_step, draws_per_step : int
        a and b of appendix G.
    schedule : Schedule
        Number and sizes of the steps.
    tail_scales : array of shape (m, 1) or float
        Factors of the frequencies' prior deviations, see `ssgp.spectrum.kernels`.
    least_noise : float
        Lower limit of the noise variance.
    """

    objective: Objective
    base: Base
    learn_hyperparameters: bool
    make_optimizer: Callable[[], Optimizer]
    minibatch: str
    partition_metric: str
    plain_metric: Array
    batch_size: int
    blocks_per_step: int | Literal["auto"]
    draws_per_step: int
    schedule: Schedule
    tail_scales: Array | float = 1.0
    least_noise: float = NOISE_RANGE[0]

    @property
    def on_blocks(self) -> bool:
        """Whether gradients are estimated from the blocks of the partition, not from random rows."""
        return self.minibatch == "blocks" or isinstance(self.objective, LocalObjective)

    def metric(self, parameters: Parameters) -> Array:
        """Factor of each input in distances between rows, shape (d,)."""
        lengthscale = parameters.hyperparameters.lengthscale
        return 1.0 / lengthscale if self.partition_metric == "learned" else self.plain_metric

    def make_optimizers(self) -> Optimizers:
        """New optimisers, for the vectors and for the mixing matrix."""
        return self.make_optimizer(), self.make_optimizer()

    def trainer(self, parameters: Parameters, rows: Rows, optimizers: Optimizers, rng: np.random.Generator) -> Trainer:
        """Trainer of `parameters` on the blocks of `rows`."""
        estimator = BoundEstimator(self.objective, self.base, self.learn_hyperparameters, self.tail_scales)
        n_blocks = self.blocks_per_step
        if n_blocks == "auto":
            n_blocks = max(1, round(self.batch_size * rows.n_blocks / len(rows.y)))
        return Trainer(
            estimator, parameters, rows, optimizers, rng, n_blocks, self.draws_per_step, least_noise=self.least_noise
        )

    def learn(
        self,
        parameters: Parameters,
        rows: Rows,
        blocking: Blocking | SampledBlocking,
        optimizers: Optimizers | None,
        rng: np.random.Generator,
        after_step: Callable[[float], bool],
    ) -> None:
        """Train `parameters` in place until the schedule ends or `after_step(bound)` is true.

        Without `optimizers` every round has new ones, which know nothing of the gradients of other blocks.
        """
        trainers: list[Trainer] = []
        for blocks, schedule in self._rounds(parameters, rows, blocking):
            trainers.append(self.trainer(parameters, blocks, optimizers or self.make_optimizers(), rng))
            if any(after_step(trainers[-1].bounds[-1]) for _ in trainers[-1].run(schedule)):
                break
        report_skipped(sum(trainer.n_skipped for trainer in trainers), sum(len(trainer.bounds) for trainer in trainers))

    def _rounds(
        self, parameters: Parameters, rows: Rows, blocking: Blocking | SampledBlocking
    ) -> Iterator[tuple[Rows, Schedule]]:
        """Blocks that gradients are estimated from, with a schedule, for each round of the run."""
        if not self.on_blocks:
            yield rows, self.schedule
            return
        max_iter = self.schedule.max_iter
        first = int(FIRST_ROUND_SHARE * max_iter)
        if first and self.partition_metric == "learned" and blocking.labels is None:
            short = replace(self.schedule, max_iter=first, decay_after_plateau=FIRST_ROUND_DECAY)
            yield blocking.sort(rows, self.plain_metric), short
            max_iter -= first
        yield blocking.sort(rows, self.metric(parameters)), replace(self.schedule, max_iter=max_iter)


def report_skipped(n_skipped: int, n_steps: int) -> None:
    """Warn of many steps without a finite gradient; raise where no step had one."""
    if n_skipped == n_steps:
        raise ValueError(
            f"none of {n_steps} training steps had a finite bound and gradient; "
            "look for extreme values in X, y, sample_weight or the starting hyperparameters"
        )
    if n_skipped > SKIPPED_SHARE * n_steps:
        warn_user(
            f"{n_skipped} of {n_steps} training steps were left out because their gradient was not finite; "
            "the model may not have converged",
            ConvergenceWarning,
        )
