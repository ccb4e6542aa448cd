"""Learning and conditioning, for `fit` and `partial_fit`, once everything is checked."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ssgp._utils.budget import Budget
from ssgp._utils.progress import StepHooks
from ssgp._utils.warning import warn_user
from ssgp.engine.threads import one_blas_thread
from ssgp.rows.blocking import Blocking
from ssgp.rows.blocks import Rows, even_bounds
from ssgp.rows.standardizer import Standardizer
from ssgp.spectrum.learner import Learner, report_skipped
from ssgp.spectrum.parameters import Parameters, initial_hyperparameters
from ssgp.spectrum.trainer import Schedule
from ssgp.svbssgp.fitted import Context, fitted_attributes

__all__ = ["Fit", "automatic_start", "train_more"]

# A start whose function has hardly any variance beside the noise's after this share of the steps is given up for the
# automatic one. At the end, with less, it is a constant.
TRIAL_SHARE = 1 / 3
LEAST_SIGNAL_OF_TRIAL, LEAST_SIGNAL = 1e-2, 1e-3


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
    fallback : Parameters or None
        Where to start again if nothing was learned from `parameters`; None for no second start.
    """

    learner: Learner
    context: Context
    parameters: Parameters
    rows: Rows
    blocking: Blocking
    n_jobs: int | None
    fallback: Parameters | None = None

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

        budget = Budget()
        with one_blas_thread():
            budget.attempt(
                lambda: self._learn(bounds, after_step),
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

    def _learn(self, bounds: list[float], after_step: Callable[[float], bool]) -> None:
        """Learn, from the fallback with the steps that are left where the start leads to a constant."""
        if self.fallback is None:
            self._climb(self.learner, after_step)
            return
        schedule = self.learner.schedule
        trial, given_up = int(TRIAL_SHARE * schedule.max_iter), False

        def end_trial(bound: float) -> bool:
            nonlocal given_up
            stopped = after_step(bound)
            given_up = not stopped and len(bounds) == trial and self._signal < LEAST_SIGNAL_OF_TRIAL
            return stopped or given_up

        self._climb(self.learner, end_trial)
        if given_up:
            warn_user(
                f"nothing was learned in {trial} steps from the lengthscale given, which may be far too short: "
                'learning began again from the automatic one. Pass a longer lengthscale, or lengthscale="auto"',
                ConvergenceWarning,
            )
            self.parameters.flat[:] = self.fallback.flat
            for optimizer in self.context.optimizers:
                optimizer.restart()
            self._climb(
                replace(self.learner, schedule=replace(schedule, max_iter=schedule.max_iter - trial)), after_step
            )
        if self._signal < LEAST_SIGNAL:
            warn_user(
                "the model predicts a constant: nothing was learned from the lengthscale given, which may be far too "
                'short, or the inputs say nothing of the target. Try lengthscale="auto", or more steps (max_iter)',
                ConvergenceWarning,
            )

    def _climb(self, learner: Learner, after_step: Callable[[float], bool]) -> None:
        """Steps from where the parameters are."""
        context = self.context
        learner.learn(self.parameters, self.rows, self.blocking, context.optimizers, context.step_rng, after_step)

    @property
    def _signal(self) -> float:
        """Variance of the function over that of the noise."""
        learned = self.parameters.hyperparameters
        return learned.signal_variance / learned.noise_variance


def automatic_start(parameters: Parameters, units: Standardizer) -> Parameters:
    """The same start with lengthscales of the rule of thumb."""
    start = parameters.copy()
    start.log_lengthscale[:] = np.log(initial_hyperparameters("auto", "auto", "auto", units).lengthscale)
    return start


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
