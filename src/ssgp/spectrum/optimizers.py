"""Optimisers of stochastic gradient ascent, on one flat vector of parameters."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.saving.contents import TINIEST, Contents, array, either, integer, number
from ssgp.saving.kinds import stored_by

__all__ = ["Adam", "EagerAdam", "Optimizer", "RobbinsMonro"]


class Optimizer(Protocol):
    """Methods of an optimiser."""

    def step(self, gradient: Array, factor: float) -> Array:
        """Change of the parameters, in the shape of `gradient`, which may be overwritten.

        `factor` in [0, 1] scales the step: at the end of training it falls to zero.
        """
        ...

    def restart(self) -> None:
        """Forget all steps."""
        ...


def _make_adam(parts: dict[str, Any]) -> "Adam":
    adam = Adam(parts["learning_rate"])
    vars(adam).update(parts, _scratch=np.empty_like(parts["_mean"]))
    return adam


def _make_robbins_monro(parts: dict[str, Any]) -> "RobbinsMonro":
    optimizer = RobbinsMonro(parts["learning_rate"], parts["decay"])
    vars(optimizer).update(parts)
    return optimizer


# Of a vector, or of a matrix.
MOMENTS = either(array(("float32", "float64"), "size"), array(("float32", "float64"), "rows", "columns"))
ADAM = {
    "learning_rate": number(0.0, or_whole=True),
    "momentum": number(0.0, 0.9999),
    "memory": number(0.0, 0.9999),
    "n_steps": integer(),
    "_mean": MOMENTS,
    "_square": MOMENTS,
}


def _check_moments(parts: Any) -> Iterator[tuple[bool, str]]:  # noqa: ANN401
    mean, square = parts._mean, parts._square
    yield mean.shape == square.shape and mean.dtype == square.dtype, "both moments must be alike"
    yield bool((square >= 0.0).all()), "squares must not be negative"


# The scratch array holds nothing between two steps.
@stored_by(
    lambda adam: {name: part for name, part in vars(adam).items() if name != "_scratch"},
    _make_adam,
    Contents(ADAM, relations=_check_moments),
)
class Adam:
    """Adam (Kingma and Ba 2015), ascending.

    Parameters
    ----------
    learning_rate : float
        Size of a step before `factor`.
    """

    def __init__(self, learning_rate: float, momentum: float = 0.9, memory: float = 0.99) -> None:
        self.learning_rate, self.momentum, self.memory = learning_rate, momentum, memory
        self._mean = self._square = self._scratch = np.empty(0)
        self.restart()

    def restart(self) -> None:
        """Forget all steps."""
        self.n_steps = 0

    def step(self, gradient: Array, factor: float) -> Array:
        """Change of the parameters. The moments are kept unnormalised: two passes fewer over memory."""
        if self.n_steps == 0:
            self._mean, self._square = np.zeros_like(gradient), np.zeros_like(gradient)
            self._scratch = np.empty_like(gradient)
        self.n_steps += 1
        mean, square, scratch = self._mean, self._square, self._scratch
        mean *= self.momentum
        mean += gradient
        square *= self.memory
        np.multiply(gradient, gradient, out=scratch)
        square += scratch
        # Normalisers of the two geometric sums, so that constants touch no array twice.
        mean_total = (1.0 - self.momentum**self.n_steps) / (1.0 - self.momentum)
        root_total = ((1.0 - self.memory**self.n_steps) / (1.0 - self.memory)) ** 0.5
        np.sqrt(square, out=scratch)
        scratch += 1e-8 * root_total
        np.divide(mean, scratch, out=gradient)
        gradient *= self.learning_rate * factor * root_total / mean_total
        return gradient


# Eager steps are up to so many times those of Adam.
MOST_EAGER = 10.0


class EagerAdam:
    """Adam for frequencies and the logarithms of hyperparameters, of which those with a long way to go are faster.

    The mean of late gradients over the root of their mean square is near one where they agree, and about a quarter
    where they are noise. With its fourth power a step of a logarithm grows up to tenfold: lengthscales of inputs that
    do not matter rise by orders of magnitude, and so falls the noise of a smooth function. Lengthscales that fall
    do not hurry: an input of few values can lose its lengthscale altogether.

    Parameters
    ----------
    learning_rate : float
        Size of a step before `factor`.
    n_lengthscales : int
        d; the vector ends with the logarithms of d lengthscales, of the signal and of the noise.
    """

    def __init__(self, learning_rate: float, n_lengthscales: int) -> None:
        self._adam, self._n_lengthscales = Adam(learning_rate), n_lengthscales

    def restart(self) -> None:
        """Forget all steps."""
        self._adam.restart()

    def step(self, gradient: Array, factor: float) -> Array:
        """Change of the parameters."""
        change = self._adam.step(gradient, factor)
        logarithms = change[len(change) - self._n_lengthscales - 2 :]
        logarithms *= 1.0 + (MOST_EAGER - 1.0) * self._agreement(logarithms, factor) ** 4
        return change

    def _agreement(self, change: Array, factor: float) -> Array:
        """How far late gradients agree, from 0 to 1; one alone agrees with itself, so the first few count for less."""
        trust = 1.0 - self._adam.momentum**self._adam.n_steps
        ratio = change * (trust / (self._adam.learning_rate * factor))
        np.maximum(ratio[:-2], 0.0, out=ratio[:-2])
        return np.clip(ratio, -1.0, 1.0, out=ratio)


ROBBINS_MONRO = {
    "learning_rate": number(0.0, or_whole=True),
    "decay": number(or_whole=True),
    "delay": number(TINIEST),
    "n_steps": integer(),
}


@stored_by(vars, _make_robbins_monro, Contents(ROBBINS_MONRO))
class RobbinsMonro:
    """Plain stochastic gradient ascent with steps ``learning_rate (1 + t / delay)^-decay``.

    With ``1/2 < decay <= 1`` the steps sum to infinity and their squares do not, which is
    what the convergence guarantee asks for; it does not cover steps that are clipped. The `factor` of a
    step is ignored: these steps fall by themselves.

    Parameters
    ----------
    learning_rate : float
        The first step size.
    decay : float
        Exponent.
    delay : float
        Number of steps before the decay shows.
    """

    def __init__(self, learning_rate: float, decay: float, delay: float = 100.0) -> None:
        self.learning_rate, self.decay, self.delay = learning_rate, decay, delay
        self.restart()

    def restart(self) -> None:
        """Forget all steps."""
        self.n_steps = 0

    def step(self, gradient: Array, factor: float) -> Array:
        """Change of the parameters; no entry moves by more than one unit, however large its gradient."""
        gradient *= self.learning_rate * (1.0 + self.n_steps / self.delay) ** -self.decay
        self.n_steps += 1
        return np.clip(gradient, -1.0, 1.0, out=gradient)
