"""The local objective, computed on a card."""

from functools import cached_property

import numpy as np

from ssgp.engine.on_card.cards import Card
from ssgp.engine.on_card.local_bound import BoundParts, LocalBound
from ssgp.rows.blocks import Block
from ssgp.spectrum.objectives import BlockGradient, Draw, LocalObjective
from ssgp.spectrum.parameters import Hyperparameters

__all__ = ["CardObjective"]


class CardObjective:
    """`LocalObjective` with a trend, on a card.

    Parameters
    ----------
    card : Card
        Where.
    local : LocalObjective
        What is computed there.
    n_frequencies, n_inputs : int
        m and d.
    """

    def __init__(self, card: Card, local: LocalObjective, n_frequencies: int, n_inputs: int) -> None:
        self.card, self.local, self._sizes = card, local, (n_frequencies, n_inputs)

    def n_weights(self, n_frequencies: int) -> int:
        """No weights: they are integrated out."""
        return 0

    def __call__(self, block: Block, draw: Draw, hyperparameters: Hyperparameters) -> BlockGradient:
        """Value and gradient on one block."""
        n_frequencies, n_inputs = draw.frequencies.shape
        trend = slice(None) if self.local.trend_inputs is None else self.local.trend_inputs
        lengthscale = hyperparameters.lengthscale[trend]
        slopes = np.sqrt(n_frequencies / len(lengthscale)) / lengthscale
        ridge = hyperparameters.ridge(n_frequencies)
        found = self._bound(block.X, block.y, block.weight, block.total, draw.frequencies, slopes, ridge)
        return self.local.gradient(
            block.total, n_inputs, found.rss, found.log_determinant, found.frequencies, found.gain
        )

    @cached_property
    def _bound(self) -> LocalBound:
        prior = self.local.noise_prior
        return LocalBound(self.card, BoundParts(*self._sizes, self.local.trend_inputs, prior.shape, prior.scale))
