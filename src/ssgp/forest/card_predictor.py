"""Predictions by a forest that is on a card."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.distributions.student_mixture import StudentMixture
from ssgp.engine.on_card.backend import Tensor, torch
from ssgp.engine.on_card.cards import Card
from ssgp.engine.threads import map_in_threads
from ssgp.forest.atoms import Atoms
from ssgp.forest.calibration import Components
from ssgp.forest.card_forest import CardForest, CardUnits, rows_at_once, tree_sums
from ssgp.forest.fitted import FittedForest

__all__ = ["CardPredictor"]

T = TypeVar("T")

LESS_TO_PREDICT = "predict fewer rows at a time"
# Rows whose distributions are made of the trees' predictions together, by a thread of the processor.
ROWS_PER_TASK = 1 << 14


@dataclass(frozen=True)
class CardPredictor:
    """Predicts by a card: see `ssgp.forest.machines.Predictor`.

    Trees and their correction stay on the card from the first prediction on, as long as the fitted forest lives.
    Rows X (n, d) are arrays, or tensors on any device: those on this card are not copied.

    Attributes
    ----------
    card : Card
        Where.
    fitted : FittedForest
        What predicts.
    n_jobs : int or None
        Threads that make distributions of what the card has predicted.
    """

    card: Card
    fitted: FittedForest
    n_jobs: int | None

    def means(self, X: Any) -> Array:  # noqa: ANN401
        """Means in the user's units, shape (n,)."""
        units = self.fitted.units
        parts = self._mapped(X, lambda forest, rows: self.card.fetch(forest.means(rows)))
        return units.y_mean + units.y_scale * np.concatenate(parts)

    def distribution(self, X: Any) -> StudentMixture:  # noqa: ANN401
        """Predictive distributions in the user's units."""
        return StudentMixture.concatenate(self._map_components(X, self.fitted.mixture_of))

    def noise_variance(self, X: Any) -> Array:  # noqa: ANN401
        """Variances of the noise, in squared units of the target, shape (n,)."""
        return np.concatenate(self._map_components(X, self.fitted.noise_of))

    def probability(self, atoms: Atoms, X: Any) -> Array:  # noqa: ANN401
        """Probabilities of atoms, shape (k, n)."""

        def predict() -> Array:
            trees = [tree_sums(self.card, each) for each in atoms.trees]
            chunks = self._chunks(X, rows_at_once(self.card, X.shape[1]))
            return np.concatenate([self.card.fetch(_probability(trees, rows)) for rows in chunks], axis=1)

        return self._run(predict)

    def _map_components(self, X: Any, function: Callable[[Components], T]) -> list[T]:  # noqa: ANN401
        """What a function of the trees' predictions returns for some rows after the others, in threads."""
        found = self._mapped(X, lambda forest, rows: forest.components(rows))
        tasks = [
            part.rows(slice(i, i + ROWS_PER_TASK))
            for part in found
            for i in range(0, part.mean.shape[1], ROWS_PER_TASK)
        ]
        return map_in_threads(function, tasks, self.n_jobs)

    def _mapped(self, X: Any, function: Callable[[CardForest, Tensor], T]) -> list[T]:  # noqa: ANN401
        """What a function of the forest on the card and standardised rows returns for some rows after the others."""

        def predict() -> list[T]:
            forest, units = self._forest(), CardUnits(self.card, self.fitted.units)
            return [function(forest, units(rows)) for rows in self._chunks(X, forest.rows_at_once)]

        return self._run(predict)

    def _forest(self) -> CardForest:
        """The forest on the card, where it is sent once."""
        kept, name = self.fitted.forest.on_cards, self.card.name
        if name not in kept:
            kept[name] = CardForest(self.card, self.fitted.forest)
        return kept[name]

    def _run(self, predict: Callable[[], T]) -> T:
        """What a function returns that predicts; where the card is full, nothing stays there."""
        try:
            return self.card.run(predict, LESS_TO_PREDICT)
        except MemoryError:
            self.fitted.forest.on_cards.pop(self.card.name, None)
            self.card.free()
            raise

    def _chunks(self, X: Any, at_once: int) -> Iterator[Tensor]:  # noqa: ANN401
        """Rows on the card, some at a time."""
        return (self.card.send(X[start : start + at_once]) for start in range(0, len(X), at_once))


def _probability(trees: list[Callable[[Tensor], Tensor]], X: Tensor) -> Tensor:
    left, parts = X.new_ones(len(X), dtype=torch.float64), []
    for log_odds in trees:
        here = left * torch.sigmoid(log_odds(X))
        parts.append(here)
        left = left - here
    return torch.stack(parts)
