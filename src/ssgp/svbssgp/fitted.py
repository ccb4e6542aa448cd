"""From learned parameters to a model that predicts."""

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
from ssgp.svbssgp.conditional import condition

__all__ = ["Context", "fitted_attributes"]


@stored()
@dataclass(frozen=True)
class Context:
    """What is settled before the first step and stays with the model.

    Attributes
    ----------
    units : Standardizer
        Between the user's units and the model's.
    base : Base
        psi(z).
    block_labels : array of shape (p,) or None
        Labels of the blocks that the user gave.
    n_draws : int
        r.
    draw_seed : int
        Of the draws that predictions average over.
    step_rng : Generator
        Of the training steps; `partial_fit` goes on with it,
    optimizers : pair of Optimizer
        and with these.
    n_waiting : int
        Rows that have joined since the last training step.
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
        """With generator and optimizers of its own; the base, which may be a user's, stays the same object."""
        return deepcopy(self, {id(self.base): self.base})

    def numbers_of(self, blocks: ArrayLike, X: Array) -> Indices:
        """Numbers of blocks given by their labels, one a row of X."""
        known = self.block_labels
        if known is None:
            raise ValueError("blocks can be given to predict only where they were given to fit")
        labels = check_blocks(blocks, X)
        at = np.minimum(np.searchsorted(known, labels), len(known) - 1)
        unknown = known[at] != labels
        if unknown.any():
            raise ValueError(f"blocks has label {labels[unknown][0]!r}, which was not among the blocks in fit")
        return at


def fitted_attributes(
    context: Context,
    parameters: Parameters,
    rows: Rows,
    partition: Partition,
    bound_trace: Array,
    n_jobs: int | None,
) -> dict[str, Any]:
    """Everything a fitted model is, as of these parameters.

    Parameters
    ----------
    context : Context
        Units, base and seeds; kept, as are the parameters.
    parameters : Parameters
        What was learned; kept, so pass a copy of parameters that are still moving.
    rows : Rows
        Training rows, sorted by the blocks of the partition.
    partition : Partition
        The blocks.
    bound_trace : array of shape (n_iter,)
        Estimates of the bound in nats, see `in_nats`.
    n_jobs : int or None
        Threads.
    """
    units, own, m = context.units, parameters.hyperparameters, parameters.layout.n_frequencies
    posterior = affine_posterior(parameters, context.base, own.frequency_deviation, own.weight_deviation(m))
    alpha = posterior.sample(context.n_draws, np.random.default_rng(context.draw_seed))
    frequencies, weights = posterior.split(alpha)
    noise_prior = LEARNING_PRIOR.scaled(units.y_variance)
    conditional = condition(rows, frequencies.astype(np.float32), weights, own, n_jobs, noise_prior)
    share = np.diff(rows.bounds) / len(rows.y)
    noise = float(conditional.noise_variance.mean(axis=0) @ share)
    frequency_unit, weight_unit = own.frequency_deviation / units.x_scale, units.y_scale * own.weight_deviation(m)
    return {
        "posterior_": affine_posterior(parameters, context.base, frequency_unit, weight_unit),
        "input_mean_": units.x_mean,
        "target_mean_": units.y_mean,
        "lengthscale_": own.lengthscale * units.x_scale,
        "signal_variance_": noise * own.signal_variance / own.noise_variance * units.y_scale**2,
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
