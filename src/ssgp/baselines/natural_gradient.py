"""Stochastic maximisation of the bound: natural gradient steps for the weights, Adam for everything else."""

from collections.abc import Iterator

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.baselines.linear_bound import Sums, WeightPosterior
from ssgp.baselines.model import Likelihood, Model, parameter_limits
from ssgp.rows.blocks import Rows
from ssgp.spectrum.optimizers import Adam

__all__ = ["NaturalGradientTrainer"]

# Smallest step rho of the natural gradient: q(w) is an average over about fifty blocks.
LEAST_STEP = 0.02


class NaturalGradientTrainer:
    """Natural gradient steps for q(w), Adam for everything else, from one block of rows at a time.

    q(w) is represented by its natural statistics: a natural gradient step of size rho is their convex combination
    with those of the block, scaled to all rows. The first steps average all blocks so far.

    Parameters
    ----------
    rows : Rows
        Training rows; their blocks are the batches.
    model : Model
        Where to start.
    likelihood : type of Likelihood
        Likelihood of a block.
    learning_rate : float
        Step size of Adam.
    rng : Generator
        Source of the order of the blocks.
    """

    def __init__(
        self, rows: Rows, model: Model, likelihood: type[Likelihood], learning_rate: float, rng: np.random.Generator
    ) -> None:
        self.rows, self.model, self.likelihood, self._rng = rows, model, likelihood, rng
        self._optimizer, self._sums, self._n_steps = Adam(learning_rate), None, 0
        self._order, self._limits = self._epochs(), parameter_limits(model)
        self._evaluated, self._bound, self.n_failed = model, np.nan, 0

    def _epochs(self) -> Iterator[int]:
        """Indices of all blocks in random order, epoch after epoch."""
        while True:
            yield from self._rng.permutation(self.rows.n_blocks).tolist()

    def step(self, factor: float) -> float:
        """Take a step, scaled by `factor`; return an estimate of the bound per row.

        A model that cannot be evaluated costs one step, not the run: learning continues from the last one that could.
        """
        try:
            self._bound, vector = self._evaluate(factor)
        except np.linalg.LinAlgError:
            self.n_failed += 1
            self.model, self._optimizer = self._evaluated, Adam(self._optimizer.learning_rate)
            return self._bound
        self._evaluated = self.model
        self.model = self.model.with_vector(np.clip(vector, *self._limits))
        return self._bound

    def _evaluate(self, factor: float) -> tuple[float, Array]:
        """Bound per row, estimated from the next block, and the parameters after the step."""
        model, block, total = self.model, self.rows.block(next(self._order)), self.rows.total
        scale = float(self.rows.n_blocks)
        likelihood = self.likelihood(model, block)
        posterior = self._move_weights(likelihood.sums().scaled(scale))
        log_likelihood, gradient = likelihood.gradient(posterior)
        divergence, grad_divergence = model.features.divergence()
        gradient *= scale
        gradient[:-1] -= grad_divergence
        if not np.isfinite(gradient).all():
            raise np.linalg.LinAlgError("the gradient is not finite")
        bound = (scale * log_likelihood - posterior.divergence() - divergence) / total
        return bound, model.to_vector() + self._optimizer.step(gradient / total, factor)

    def _move_weights(self, block: Sums) -> WeightPosterior:
        """Posterior of the weights after a natural gradient step, from statistics of a block scaled to all rows."""
        if not np.isfinite([block.gram.sum(), block.cross.sum(), block.constant]).all():
            raise np.linalg.LinAlgError("the block's statistics are not finite")
        self._n_steps += 1
        rho = max(LEAST_STEP, 1.0 / self._n_steps)
        self._sums = block if self._sums is None else self._sums.scaled(1.0 - rho).merge(block.scaled(rho))
        return WeightPosterior.best(self._sums)[0]
