"""What `fit` and `partial_fit` do once everything is checked and settled."""

import warnings
from dataclasses import dataclass
from math import log
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from ssgp._utils.progress import StepHooks
from ssgp.engine.threads import one_blas_thread
from ssgp.rows.blocking import Blocking
from ssgp.rows.blocks import Rows, even_bounds
from ssgp.spectrum.learner import Learner, report_skipped
from ssgp.spectrum.parameters import Parameters
from ssgp.spectrum.trainer import Schedule
from ssgp.svbssgp.fitted import Context, fitted_attributes, in_own_units

__all__ = ["Fitting", "train_on"]


@dataclass(frozen=True)
class Fitting:
    """One call of `fit`.

    Attributes
    ----------
    learner : Learner
        How to learn.
    context : Context
        Units, base and random numbers.
    parameters : Parameters
        Where to start; moved in place.
    rows : Rows
        Training rows, shuffled.
    blocking : Blocking
        Recipe for the blocks.
    n_jobs : int or None
        Threads.
    """

    learner: Learner
    context: Context
    parameters: Parameters
    rows: Rows
    blocking: Blocking
    n_jobs: int | None

    def attributes(self, bounds: list[float]) -> dict[str, Any]:
        """Fitted attributes as of now, after as many steps as there are bounds."""
        partition, blocked = self.blocking(self.rows, self.learner.metric(self.parameters))
        trace, parameters = in_own_units(bounds, self.context.units), self.parameters.copy()
        return fitted_attributes(self.context.copy(), parameters, blocked, partition, trace, self.n_jobs)

    def run(self, hooks: StepHooks, bounds: list[float]) -> dict[str, Any]:
        """Learn, adding to `bounds` after each step, and return the fitted attributes, come Ctrl-C or not."""

        def after_step(bound: float) -> bool:
            bounds.append(bound)
            return hooks.after_step(len(bounds), bound - log(self.context.units.y_scale))

        context, limit = self.context, self.learner.schedule.max_iter
        with one_blas_thread():
            try:
                self.learner.ascend(
                    self.parameters, self.rows, self.blocking, context.optimizers, context.step_rng, after_step
                )
            except KeyboardInterrupt:
                _warn(
                    f"training was interrupted after {len(bounds)} of at most {limit} steps; "
                    "the model of the last completed step is returned"
                )
            try:
                return self.attributes(bounds)
            except KeyboardInterrupt:
                _warn(
                    "interrupted while the local models were built; building them, without which there is no model. "
                    "Interrupt again to give up"
                )
                return self.attributes(bounds)


def _warn(message: str) -> None:
    """Warn at the line that called `fit`: four frames of this library and scikit-learn lie between."""
    warnings.warn(message, ConvergenceWarning, stacklevel=5)


def train_on(
    learner: Learner, context: Context, parameters: Parameters, rows: Rows, n_steps: int, batch_size: int
) -> list[float]:
    """Take some more steps on rows that are sorted by block; return the bounds on the way."""
    if not learner.on_blocks:
        shuffle = context.step_rng.permutation(len(rows.y))
        rows = rows.reorder(shuffle, even_bounds(len(shuffle), batch_size))
    trainer = learner.trainer(parameters, rows, context.optimizers, context.step_rng)
    with one_blas_thread():
        for _ in trainer.run(Schedule(n_steps, None, wind_down=1.0)):
            pass
    report_skipped(trainer.n_skipped, len(trainer.bounds))
    return trainer.bounds
