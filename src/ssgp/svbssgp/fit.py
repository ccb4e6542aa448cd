"""Learning and conditioning, for `fit` and `partial_fit`, once everything is checked."""

from dataclasses import dataclass
from math import log
from typing import Any

from ssgp._utils.budget import Budget
from ssgp._utils.progress import StepHooks
from ssgp.engine.threads import one_blas_thread
from ssgp.rows.blocking import Blocking
from ssgp.rows.blocks import Rows, even_bounds
from ssgp.spectrum.learner import Learner, report_skipped
from ssgp.spectrum.parameters import Parameters
from ssgp.spectrum.trainer import Schedule
from ssgp.svbssgp.fitted import Context, fitted_attributes

__all__ = ["Fit", "train_more"]


@dataclass(frozen=True)
class Fit:
    """One call of `fit`.

    Attributes
    ----------
    learner : Learner
        Settings of the learning run.
    context : Context
        Units, base and random numbers.
    parameters : Parameters
        Where to start; moved in place.
    rows : Rows
        Training rows, shuffled.
    blocking : Blocking
        Partition of rows into blocks.
    n_jobs : int or None
        Number of threads.
    """

    learner: Learner
    context: Context
    parameters: Parameters
    rows: Rows
    blocking: Blocking
    n_jobs: int | None

    def attributes(self, bounds: list[float]) -> dict[str, Any]:
        """Fitted attributes of the parameters so far, after one step per bound."""
        partition, blocked = self.blocking(self.rows, self.learner.metric(self.parameters))
        trace, parameters = self.context.units.in_target_units(bounds), self.parameters.copy()
        return fitted_attributes(self.context.copy(), parameters, blocked, partition, trace, self.n_jobs)

    def run(self, hooks: StepHooks, bounds: list[float]) -> dict[str, Any]:
        """Learn, adding to `bounds` after each step, and return the fitted attributes, after Ctrl-C too."""

        def after_step(bound: float) -> bool:
            bounds.append(bound)
            return hooks.after_step(len(bounds), bound - log(self.context.units.y_scale))

        context, budget = self.context, Budget()
        with one_blas_thread():
            budget.attempt(
                lambda: self.learner.learn(
                    self.parameters, self.rows, self.blocking, context.optimizers, context.step_rng, after_step
                ),
                lambda: None,
                lambda: (
                    f"training was interrupted after {len(bounds)} of at most {self.learner.schedule.max_iter} steps; "
                    "the model of the last completed step is returned"
                ),
            )
            return budget.attempt(
                lambda: self.attributes(bounds),
                lambda: self.attributes(bounds),
                "interrupted while the local models were built; building them, without which there is no model. "
                "Interrupt again to give up",
            )


def train_more(
    learner: Learner, context: Context, parameters: Parameters, rows: Rows, n_steps: int, batch_size: int
) -> list[float]:
    """Take `n_steps` more steps on rows that are sorted by block; return the bound of each."""
    if not learner.on_blocks:
        shuffle = context.step_rng.permutation(len(rows.y))
        rows = rows.reorder(shuffle, even_bounds(len(shuffle), batch_size))
    trainer = learner.trainer(parameters, rows, context.optimizers, context.step_rng)
    with one_blas_thread():
        for _ in trainer.run(Schedule(n_steps, None, decay_share=1.0)):
            pass
    report_skipped(trainer.n_skipped, len(trainer.bounds))
    return trainer.bounds
