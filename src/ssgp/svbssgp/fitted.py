"""Attributes of a fitted model, from its learned parameters."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.checks import check_blocks
from ssgp.rows.blocks import Rows
from ssgp.rows.partition import Partition
from ssgp.rows.standardizer import Standardizer
from ssgp.saving.kinds import stored
from ssgp.spectrum.bases import Base
from ssgp.spectrum.learner import Optimizers
from ssgp.spectrum.noise import LEARNING_PRIOR
from ssgp.spectrum.parameters import Parameters
from ssgp.spectrum.posterior import affine_posterior
from ssgp.svbssgp.conditional import build_conditional

__all__ = ["Context", "fitted_attributes"]


@stored()
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
        fitted = self.block_labels
        if fitted is None:
            raise ValueError("blocks can be given to predict only where they were given to fit")
        labels = check_blocks(blocks, X)
        indices = np.minimum(np.searchsorted(fitted, labels), len(fitted) - 1)
        unknown = fitted[indices] != labels
        if unknown.any():
            raise ValueError(f"blocks has label {labels[unknown][0]!r}, which was not among the blocks in fit")
        return indices


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
    return {
        "posterior_": affine_posterior(parameters, base, frequency_unit / units.x_scale, units.y_scale * weight_unit),
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
