"""Attributes of a fitted model, from its learned parameters."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ssgp._utils.arrays import Array, Indices
from ssgp.rows.bisecting_tree import BisectingTree
from ssgp.rows.blocking import indices_of_labels
from ssgp.rows.blocks import Rows
from ssgp.rows.partition import NearestCentre, NearestRow, Partition
from ssgp.rows.standardizer import Standardizer
from ssgp.saving.contents import Rule, array, fixed_tuple, integer, labels, made_of, number, optional
from ssgp.saving.kinds import stored
from ssgp.spectrum.bases import STANDARD_BASES, Base
from ssgp.spectrum.learner import Optimizers
from ssgp.spectrum.noise import LEARNING_PRIOR
from ssgp.spectrum.optimizers import Adam, RobbinsMonro
from ssgp.spectrum.parameters import Parameters
from ssgp.spectrum.posterior import AffinePosterior, affine_posterior
from ssgp.svbssgp.conditional import Conditional, build_conditional

__all__ = ["CONTENTS", "Context", "check_contents", "fitted_attributes"]


@stored(
    {
        "units": made_of(Standardizer),
        "base": made_of(*STANDARD_BASES),
        "block_labels": optional(labels("labels")),
        "n_draws": integer(1),
        "draw_seed": integer(),
        "step_rng": made_of(np.random.Generator),
        "optimizers": fixed_tuple(made_of(Adam, RobbinsMonro), made_of(Adam, RobbinsMonro)),
        "n_waiting": integer(),
    }
)
@dataclass(frozen=True)
class Context:
    """Everything that is fixed before the first step, and what `partial_fit` continues with.

    Attributes
    ----------
    units : Standardizer
        Map between the user's units and the model's.
    base : Base
        Distribution psi of z.
    block_labels : array of shape (p,) or None
        Sorted labels of the user's blocks, None where the model has made the blocks.
    n_draws : int
        Number r of draws of alpha that predictions average over.
    draw_seed : int
        Seed of these draws.
    step_rng : Generator
        Random numbers of the training steps; `partial_fit` continues with them.
    optimizers : pair of Optimizer
        State of the optimisers; `partial_fit` continues with it.
    n_waiting : int
        Number of rows added since the last training step.
    """

    units: Standardizer
    base: Base
    block_labels: NDArray[Any] | None
    n_draws: int
    draw_seed: int
    step_rng: np.random.Generator
    optimizers: Optimizers
    n_waiting: int = 0

    def copy(self) -> "Context":
        """A copy with another generator and optimisers; the base, which may be a user's, stays the same object."""
        return deepcopy(self, {id(self.base): self.base})

    def block_indices(self, blocks: ArrayLike, X: Array) -> Indices:
        """Indices of the blocks with these labels, one per row of X, shape (n,)."""
        return indices_of_labels(blocks, self.block_labels, X)


def fitted_attributes(
    context: Context,
    parameters: Parameters,
    rows: Rows,
    partition: Partition,
    bound_trace: Array,
    n_jobs: int | None,
) -> dict[str, Any]:
    """Attributes of a fitted model.

    Parameters
    ----------
    context : Context
        Units, base and seeds; becomes part of the model.
    parameters : Parameters
        Learned parameters; become part of the model, so pass a copy of parameters that are still moving.
    rows : Rows
        Training rows, sorted by the blocks of the partition.
    partition : Partition
        The blocks.
    bound_trace : array of shape (n_iter,)
        Estimates of the bound, in nats per row of the target in its units.
    n_jobs : int or None
        Number of threads.
    """
    units, hyper, base = context.units, parameters.hyperparameters, context.base
    frequency_unit, weight_unit = hyper.frequency_deviation, hyper.weight_deviation(parameters.layout.n_frequencies)
    posterior = affine_posterior(parameters, base, frequency_unit, weight_unit)
    alpha = posterior.sample(context.n_draws, np.random.default_rng(context.draw_seed))
    frequencies, weights = posterior.split(alpha)
    noise_prior = LEARNING_PRIOR.scaled(units.y_variance)
    conditional = build_conditional(rows, frequencies.astype(np.float32), weights, hyper, n_jobs, noise_prior)
    noise = float(conditional.mean_noise @ (np.diff(rows.bounds) / len(rows.y)))
    unit_of_inputs = units.frequencies_in_input_units(frequency_unit)
    return {
        "posterior_": affine_posterior(parameters, base, unit_of_inputs, units.y_scale * weight_unit),
        "input_mean_": units.x_mean,
        "target_mean_": units.y_mean,
        "lengthscale_": hyper.lengthscale * units.x_scale,
        "signal_variance_": noise * hyper.signal_variance / hyper.noise_variance * units.y_scale**2,
        "noise_variance_": noise * units.y_scale**2,
        "n_rows_": len(rows.y),
        "n_iter_": len(bound_trace),
        "bound_trace_": bound_trace,
        "partition_": partition,
        "block_labels_": context.block_labels,
        "_context": context,
        "_parameters": parameters,
        "_rows": rows,
        "_conditional": conditional,
    }


# What files hold of a fitted regressor.
CONTENTS: dict[str, Rule] = {
    "posterior_": made_of(AffinePosterior, d=lambda posterior: posterior.n_inputs),
    "input_mean_": array("float64", "d"),
    "target_mean_": number(),
    "lengthscale_": array("float64", "d", finite=False),
    "signal_variance_": number(0.0, finite=False),
    "noise_variance_": number(0.0, finite=False),
    "n_rows_": integer(1),
    "n_iter_": integer(),
    "bound_trace_": array("float64", "steps", finite=False),
    "partition_": made_of(
        *(NearestCentre, NearestRow, BisectingTree),
        p=lambda partition: partition.n_blocks,
        d=lambda partition: _n_partitioned_inputs(partition),
    ),
    "block_labels_": optional(labels("labels")),
    "_context": made_of(Context, d=lambda context: len(context.units.x_mean)),
    "_parameters": made_of(Parameters, d=lambda parameters: parameters.layout.n_inputs),
    "_rows": made_of(Rows, d=lambda rows: rows.X.shape[1], p=lambda rows: rows.n_blocks),
    "_conditional": made_of(
        Conditional, d=lambda laws: laws.frequencies.shape[2], p=lambda laws: laws.noise_variance.shape[1]
    ),
}


def check_contents(parts: Any) -> Iterator[tuple[bool, str]]:  # noqa: ANN401
    """Whether the parts of a file belong together: predictions, and steps that go on from them, do not look."""
    block_labels, context, parameters, rows = parts.block_labels_, parts._context, parts._parameters, parts._rows
    yield block_labels is context.block_labels, "both labels of blocks must be the same"
    yield block_labels is None or len(block_labels) == rows.n_blocks, "there must be a label for each block"
    yield context.n_waiting <= len(rows.y), "no more rows can wait for a step than there are"
    sizes = len(parameters.vectors), parameters.mixing.size
    moments = [(optimizer, size) for optimizer, size in zip(context.optimizers, sizes, strict=True)]
    yield all(_fits(optimizer, size) for optimizer, size in moments), "optimisers must be those of the parameters"
    yield len(parts._conditional.frequencies) == context.n_draws, "there must be as many draws as it says"
    yield parts._conditional.frequencies.shape[1] == parameters.layout.n_frequencies, "frequencies must be as many"


def _fits(optimizer: Adam | RobbinsMonro, size: int) -> bool:
    """Whether an optimiser has taken steps with so many parameters, or none."""
    return not isinstance(optimizer, Adam) or optimizer.n_steps == 0 or optimizer._mean.size == size


def _n_partitioned_inputs(partition: BisectingTree | NearestCentre | NearestRow) -> int:
    return partition.directions.shape[1] if isinstance(partition, BisectingTree) else len(partition.metric)
