"""The bound climbed with some rows at a time: natural gradient steps for the weights, Adam for everything else."""

from collections.abc import Iterator

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.baselines.linear_bound import Sums, WeightPosterior
from ssgp.baselines.model import Likelihood, Model, learning_limits
from ssgp.rows.blocks import Rows
from ssgp.spectrum.optimizers import Adam

__all__ = ["StochasticAscent"]

# Smallest step of the natural gradient: q(w) is an average over some fifty blocks.
FORGETTING = 0.02


class StochasticAscent:
    """Natural gradient steps for q(w), Adam for everything else, from one block of rows at a time.

    q(w) is kept by its natural statistics: a natural gradient step of size rho is their convex combination
    with those of the block, scaled to all rows.

    Parameters
    ----------
    rows : Rows
        In blocks, which are the batches.
    model : Model
        Where to begin.
    likelihood : type of Likelihood
        Of a block.
    learning_rate : float
        Of Adam.
    rng : Generator
        Of the order of the blocks.
    forgetting : float
        Smallest rho; the first steps average all blocks so far.
    """

    def __init__(
        self,
        rows: Rows,
        model: Model,
        likelihood: type[Likelihood],
        learning_rate: float,
        rng: np.random.Generator,
        forgetting: float = FORGETTING,
    ) -> None:
        self.rows, self.model, self.likelihood, self.forgetting, self._rng = rows, model, likelihood, forgetting, rng
        self._optimizer, self._sums, self._n_steps = Adam(learning_rate), None, 0
        self._order, self._limits = self._epochs(), learning_limits(model)
        self._evaluated, self._bound, self.n_failed = model, np.nan, 0

    def _epochs(self) -> Iterator[int]:
        """All blocks in random order, again and again."""
        while True:
            yield from self._rng.permutation(self.rows.n_blocks).tolist()

    def step(self, shrink: float) -> float:
        """Take a step; return an estimate of the bound a row.

        A model that cannot be evaluated costs the step, not the run: learning goes on from the last one that could.
        """
        try:
            self._bound, vector = self._evaluate(shrink)
        except np.linalg.LinAlgError:
            self.n_failed += 1
            self.model, self._optimizer = self._evaluated, Adam(self._optimizer.learning_rate)
            return self._bound
        self._evaluated = self.model
        self.model = self.model.with_vector(np.clip(vector, *self._limits))
        return self._bound

    def _evaluate(self, shrink: float) -> tuple[float, Array]:
        """The bound a row, estimated from the next block, and where to go from here."""
        model, block, total = self.model, self.rows.block(next(self._order)), self.rows.total
        scale = float(self.rows.n_blocks)
        likelihood = self.likelihood(model, block)
        posterior = self._move_weights(likelihood.sums().scaled(scale))
        fit, gradient = likelihood.gradient(posterior)
        divergence, by_divergence = model.features.divergence()
        gradient *= scale
        gradient[:-1] -= by_divergence
        if not np.isfinite(gradient).all():
            raise np.linalg.LinAlgError("the gradient is not finite")
        bound = (scale * fit - posterior.divergence() - divergence) / total
        return bound, model.to_vector() + self._optimizer.step(gradient / total, shrink)

    def _move_weights(self, block: Sums) -> WeightPosterior:
        if not np.isfinite([block.gram.sum(), block.cross.sum(), block.constant]).all():
            raise np.linalg.LinAlgError("the block's statistics are not finite")
        self._n_steps += 1
        rho = max(self.forgetting, 1.0 / self._n_steps)
        self._sums = block if self._sums is None else self._sums.scaled(1.0 - rho).merge(block.scaled(rho))
        return WeightPosterior.best(self._sums)[0]
