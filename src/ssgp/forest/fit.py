"""What fitting a forest does once everything is checked: learn the frequencies, then build the trees."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import log
from typing import Any

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.budget import Budget, UnsavedBudget
from ssgp._utils.progress import StepHooks
from ssgp.engine.workers import ProcessWorkers
from ssgp.forest.atoms import Atoms
from ssgp.forest.builder import ForestBuilder
from ssgp.forest.fitted import FittedForest
from ssgp.forest.half_precision import HalfPrecision
from ssgp.forest.leaf_features import LeafFeatures, WideLeafFeatures
from ssgp.forest.learning import FrequencyLearner, feature_importances
from ssgp.forest.nodes import LeaveOneOut
from ssgp.forest.settings import ForestSettings
from ssgp.forest.tree import Level, SpectralTree, TreeSkeleton
from ssgp.forest.tree_fitter import start_processes
from ssgp.rows.bisecting_tree import BisectingTree
from ssgp.rows.blocks import Rows
from ssgp.rows.row_tables import MemoryTable
from ssgp.rows.standardizer import Standardizer
from ssgp.rows.training_rows import TrainingRows
from ssgp.spectrum.bases import Normal
from ssgp.spectrum.kernels import DEFAULT_KERNEL, tail_scales
from ssgp.spectrum.noise import NoisePrior
from ssgp.spectrum.parameters import Parameters
from ssgp.spectrum.posterior import AffinePosterior, affine_posterior

__all__ = ["CHECKPOINTED", "fit_forest", "learn_more", "quick_forest", "refit_forest"]

# Classes that finished parts of a fit are made of.
CHECKPOINTED = (
    *(BisectingTree, HalfPrecision, LeafFeatures, LeaveOneOut),
    *(Level, NoisePrior, SpectralTree, TreeSkeleton, WideLeafFeatures),
)
# Rows per input of a table of many inputs from which all may teach the frequencies.
MANY_INPUTS, ROWS_PER_INPUT = 64, 10
# Makes hooks for a number of steps and a function that returns the estimator's attributes as they would be if learning
# stopped now.
MakeHooks = Callable[[int, Callable[[], Mapping[str, Any]]], StepHooks]


def fit_forest(
    rows: TrainingRows,
    units: Standardizer,
    settings: ForestSettings,
    budget: Budget,
    start: Parameters | None,
    make_hooks: MakeHooks,
    atoms: Atoms | None = None,
) -> FittedForest:
    """Learn the frequencies and build the forest.

    Parameters
    ----------
    rows : TrainingRows
        Standardised training rows.
    units : Standardizer
        Between the user's units and the model's.
    settings : ForestSettings
        What was asked for.
    budget : Budget
        Time, and what is kept.
    start : Parameters or None
        Where learning begins; None for the prior.
    make_hooks : callable
        Makes what is told of every step and tree, and of the end.
    atoms : Atoms or None
        Those of the target, whose rows are not among these.
    """

    def fit() -> FittedForest:
        learner = FrequencyLearner(_learning_rows(rows, settings), settings, budget, start)
        return _learn_and_build(learner, learner.choose_kernel(), rows, units, make_hooks, atoms)

    return settings.machine.run(fit)


def learn_more(
    last: FittedForest, rows: TrainingRows, settings: ForestSettings, n_steps: int, make_hooks: MakeHooks
) -> FittedForest:
    """So many more learning steps on these rows, and a forest of all of them."""

    def learn() -> FittedForest:
        sample = _learning_rows(rows, settings)
        exactly = replace(settings.with_sizes(max_iter=n_steps), tol=None)
        learner = FrequencyLearner(sample, exactly, Budget(), last.parameters)
        return _learn_and_build(learner, last.kernel, rows, last.units, make_hooks, last.atoms, last.bound_trace)

    return settings.machine.run(learn)


def _learning_rows(rows: TrainingRows, settings: ForestSettings) -> Rows:
    """Rows that frequencies are learned from: all, or those that will not be held out, at least half of them.

    Of many inputs beside few rows some go with the target by chance: rows that had a part in that cannot calibrate.
    """
    sample, sizes = rows.sample, settings.sizes
    n_rows, n_inputs = sample.X.shape
    if n_inputs <= MANY_INPUTS or ROWS_PER_INPUT * n_inputs <= n_rows:
        return sample
    folds = rows.folds(sizes.n_folds, sizes.n_held_out)[::-1]
    held_out = np.concatenate([np.empty(0, np.int64), *folds])
    order = np.concatenate([np.delete(np.arange(n_rows), held_out), held_out])
    n_learned = max(n_rows - len(held_out), -(-n_rows // 2))
    return sample.reorder(order[:n_learned], np.array([0, n_learned]))


def _learn_and_build(
    learner: FrequencyLearner,
    kernel: str,
    rows: TrainingRows,
    units: Standardizer,
    make_hooks: MakeHooks,
    atoms: Atoms | None,
    earlier_bounds: Array | None = None,
) -> FittedForest:
    """Both halves of a fit, of which the hooks are told until its end; bounds go on from earlier ones."""
    settings, budget = learner.settings, learner.budget
    parameters, bounds = learner.initial(), list[float]()
    processes = start_processes(settings, rows.table)

    def build(parameters: Parameters, budget: Budget) -> FittedForest:
        fitted = _build(rows, units, learner, budget, kernel, parameters, bounds, processes)
        fitted = replace(fitted, atoms=atoms)
        if earlier_bounds is None:
            return fitted
        return replace(fitted, bound_trace=np.concatenate([earlier_bounds, fitted.bound_trace]))

    def snapshot() -> dict[str, FittedForest]:
        # A forest on the way, which nobody is told of, is not what is kept.
        return {"_fitted": build(parameters.copy(), Budget(budget.deadline))}

    hooks = make_hooks(settings.sizes.max_iter, snapshot)
    learner.learn(kernel, parameters, bounds, _teller(hooks, units, bounds))
    fitted = build(parameters, replace(budget, hooks=hooks))
    budget.warn_of_left_out()
    hooks.close({"_fitted": fitted})
    return fitted


def refit_forest(last: FittedForest, rows: Rows, settings: ForestSettings) -> FittedForest:
    """The same trees, filled with these rows."""
    builder = _builder(last.kernel, last.parameters, settings, Budget())
    forest = settings.machine.run(lambda: builder.refit(MemoryTable(rows), last.forest, last.skeletons))
    return replace(last, forest=forest, rows=rows, n_rows=len(rows.y), total=rows.total)


def quick_forest(
    rows: TrainingRows, units: Standardizer, settings: ForestSettings, learned: Parameters | None = None
) -> FittedForest:
    """A small forest on the way to another one, of parameters that were learned before, or are now.

    Nobody is told of it, and Ctrl-C ends it with an error.
    """

    def fit() -> FittedForest:
        kernel = DEFAULT_KERNEL if settings.kernel == "auto" else settings.kernel
        learner = FrequencyLearner(_learning_rows(rows, settings), settings, UnsavedBudget(), learned)
        parameters, bounds = learner.initial(), list[float]()
        if learned is None:
            learner.learn(kernel, parameters, bounds, lambda bound: False)
        return _build(rows, units, learner, learner.budget, kernel, parameters, bounds, None)

    return settings.machine.run(fit)


def _teller(hooks: StepHooks, units: Standardizer, bounds: list[float]) -> Callable[[float], bool]:
    """Tells hooks of steps, by their bound in the target's units; True if anybody wants to stop."""
    return lambda bound: hooks.after_step(len(bounds), bound - log(units.y_scale))


def _posterior(kernel: str, parameters: Parameters, units: Standardizer | None = None) -> AffinePosterior:
    """q(theta) of learned parameters, for standardised inputs, or for those of these units."""
    unit = parameters.hyperparameters.frequency_deviation
    unit = unit if units is None else units.frequencies_in_input_units(unit)
    return affine_posterior(parameters, Normal(), unit, 1.0, tail_scales(kernel, parameters.layout.n_frequencies))


def _builder(
    kernel: str,
    parameters: Parameters,
    settings: ForestSettings,
    budget: Budget,
    trend_inputs: Indices | None = None,
) -> ForestBuilder:
    """What builds forests of these parameters."""
    posterior = _posterior(kernel, parameters)

    def draw(rng: np.random.Generator) -> Array:
        return posterior.split(posterior.sample(1, rng))[0][0]

    return ForestBuilder(draw, parameters.hyperparameters, settings, budget, trend_inputs)


def _build(
    rows: TrainingRows,
    units: Standardizer,
    learner: FrequencyLearner,
    budget: Budget,
    kernel: str,
    parameters: Parameters,
    bounds: list[float],
    processes: ProcessWorkers | None,
) -> FittedForest:
    """The forest of learned parameters."""
    builder = _builder(kernel, parameters, learner.settings, budget, learner.trend_inputs)
    builder, fitted_rows = replace(builder, processes=processes).affordable(rows)
    forest, skeletons = builder.build(fitted_rows)
    return FittedForest(
        units=units,
        parameters=parameters,
        posterior=_posterior(kernel, parameters, units),
        kernel=kernel,
        feature_importances=feature_importances(rows.sample.X, parameters.hyperparameters.lengthscale),
        bound_trace=units.in_target_units(bounds),
        forest=forest,
        skeletons=skeletons,
        n_rows=rows.table.n_rows,
        total=fitted_rows.table.total,
        seed=learner.settings.seed,
    )
