"""Everything the bound is maximised over, as named views of one flat vector.

With one vector an optimiser is a few vectorised lines, and each of a step's two updates (of
the vectors, and every few steps of the mixing matrix) a single operation that Ctrl-C cannot
split: whenever it comes, the parameters are those of a complete model.

The posterior is in *whitened* coordinates u = alpha / (prior deviation), in which
the prior is standard normal and the divergence from it does not depend on the
hyperparameters. Rows of the affine map are relative to their scale,
M = diag(exp(log_scale)) (I + mixing): a step is then a relative change,
however narrow the posterior has become.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal

import numpy as np

from ssgp._utils.arrays import Array
from ssgp._utils.checks import check_positive
from ssgp.rows.standardizer import Standardizer
from ssgp.saving.contents import MOST_LOG, Contents, array, integer, made_of, text
from ssgp.saving.kinds import stored, stored_by

__all__ = ["Hyperparameters", "Layout", "Parameters", "PosteriorKind", "initial_hyperparameters"]

PosteriorKind = Literal["full", "triangular", "block", "diagonal"]

INITIAL_LOG_SCALE = -2.0


@stored(
    {
        "n_frequencies": integer(1),
        "n_inputs": integer(1),
        "n_weights": integer(),
        "kind": text("full", "triangular", "block", "diagonal"),
    },
    relations=lambda p: [(p.n_weights in (0, 2 * p.n_frequencies), "there must be no weights, or two per frequency")],
)
@dataclass(frozen=True)
class Layout:
    """Sizes of the posterior: alpha = vec(frequencies, weights).

    Attributes
    ----------
    n_frequencies, n_inputs : int
        m and d.
    n_weights : int
        2m, or 0 for an objective that integrates the weights out.
    kind : {"full", "triangular", "block", "diagonal"}
        Structure of the affine map M.
    """

    n_frequencies: int
    n_inputs: int
    n_weights: int
    kind: PosteriorKind

    @cached_property
    def n_theta(self) -> int:
        """Number of entries of alpha that are frequencies."""
        return self.n_frequencies * self.n_inputs

    @cached_property
    def dimension(self) -> int:
        """Length of alpha."""
        return self.n_theta + self.n_weights

    @cached_property
    def without_mixing(self) -> "Layout":
        """The layout without a mixing matrix, for gradients of the vectors."""
        return Layout(self.n_frequencies, self.n_inputs, self.n_weights, "diagonal")

    @property
    def mixing_size(self) -> int:
        """Side of the mixing matrix (0 where there is none)."""
        return 0 if self.kind == "diagonal" else self.dimension

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Lengths of the parts of the flat vector, in the order of `Parameters`' fields."""
        return (self.dimension, self.dimension, self.n_inputs, 1, 1, self.mixing_size**2)


@dataclass(frozen=True)
class Hyperparameters:
    """Kernel and noise, in the units of the standardised data.

    Attributes
    ----------
    lengthscale : array of shape (d,)
        Lengthscales l; a frequency's prior is N(0, diag(1 / (2 pi l))^2).
    signal_variance, noise_variance : float
        sigma_s^2 and sigma_n^2.
    """

    lengthscale: Array
    signal_variance: float
    noise_variance: float

    @property
    def frequency_deviation(self) -> Array:
        """Prior deviation of a frequency's entries, shape (d,)."""
        return 1.0 / (2.0 * np.pi * self.lengthscale)

    def weight_deviation(self, n_frequencies: int) -> float:
        """Prior deviation of a weight: the square root of Lambda's diagonal."""
        return float(np.sqrt(self.signal_variance / n_frequencies))

    def ridge(self, n_frequencies: int) -> float:
        """Diagonal of sigma_n^2 Lambda^-1, which Gamma_k adds to Phi_k^T Phi_k."""
        return n_frequencies * self.noise_variance / self.signal_variance


def _check_vector(parts: Any) -> Iterator[tuple[bool, str]]:  # noqa: ANN401
    yield len(parts.flat) == sum(parts.layout.sizes), "flat must be as long as its layout says"
    logs = Parameters(parts.layout, parts.flat)
    largest = max(np.abs(logs.log_scale).max(), np.abs(logs.hyper).max())
    yield bool(largest <= MOST_LOG), f"logarithms must lie within {MOST_LOG:g} of zero"


# The vector, not the views of it.
@stored_by(
    lambda value: {"layout": value.layout, "flat": value.flat},
    lambda parts: Parameters(**parts),
    Contents({"layout": made_of(Layout), "flat": array(("float32", "float64"), "size")}, relations=_check_vector),
)
class Parameters:
    """Named views of one flat vector; writing to a view writes to the vector.

    Attributes
    ----------
    shift, log_scale : arrays of shape (D,)
        b, and the logarithm of the scale of M's rows, in whitened coordinates.
    log_lengthscale, log_signal, log_noise : arrays of shape (d,), (1,), (1,)
        Logarithms of the hyperparameters; `hyper` is the three together.
    mixing : array of shape (D, D), or (0, 0)
        M = diag(exp(log_scale)) (I + mixing).
    vectors : array
        Everything but `mixing`.
    """

    def __init__(self, layout: Layout, flat: Array) -> None:
        ends = list(accumulate(layout.sizes))
        if flat.shape != (ends[-1],):
            raise ValueError(f"flat has shape {flat.shape}, the layout needs ({ends[-1]},)")
        self.layout = layout
        self.flat = flat
        self.shift = flat[: ends[0]]
        self.log_scale = flat[ends[0] : ends[1]]
        self.log_lengthscale = flat[ends[1] : ends[2]]
        self.log_signal = flat[ends[2] : ends[3]]
        self.log_noise = flat[ends[3] : ends[4]]
        self.hyper = flat[ends[1] : ends[4]]
        self.vectors = flat[: ends[4]]
        self.mixing = flat[ends[4] :].reshape(layout.mixing_size, layout.mixing_size)

    @classmethod
    def zeros(cls, layout: Layout, dtype: np.dtype | type = np.float32) -> "Parameters":
        """Parameters that are all zero."""
        return cls(layout, np.zeros(sum(layout.sizes), dtype=dtype))

    @classmethod
    def initial(cls, layout: Layout, hyperparameters: Hyperparameters, rng: np.random.Generator) -> "Parameters":
        """Frequencies drawn from their prior, weights at zero, a narrow posterior."""
        parameters = cls.zeros(layout)
        parameters.shift[: layout.n_theta] = rng.standard_normal(layout.n_theta)
        parameters.log_scale[:] = INITIAL_LOG_SCALE
        parameters.log_lengthscale[:] = np.log(hyperparameters.lengthscale)
        parameters.log_signal[:] = np.log(hyperparameters.signal_variance)
        parameters.log_noise[:] = np.log(hyperparameters.noise_variance)
        return parameters

    def copy(self) -> "Parameters":
        """An independent copy."""
        return Parameters(self.layout, self.flat.copy())

    @property
    def hyperparameters(self) -> Hyperparameters:
        """The hyperparameters, exponentials of the logarithms here."""
        return Hyperparameters(
            np.exp(self.log_lengthscale, dtype=float),
            float(np.exp(self.log_signal[0], dtype=float)),
            float(np.exp(self.log_noise[0], dtype=float)),
        )

    def __reduce__(self) -> tuple:
        """Pickle the vector, not the views."""
        return Parameters, (self.layout, self.flat)


def initial_hyperparameters(
    lengthscale: Any,  # noqa: ANN401  checked here
    signal_variance: Any,  # noqa: ANN401
    noise_variance: Any,  # noqa: ANN401
    units: Standardizer,
) -> Hyperparameters:
    """A user's starting values in the model's units; "auto" is a rule of thumb.

    A target that is not centred starts from its mean square: until its mean is learned, that is not far from noise.
    """
    n_inputs = len(units.x_scale)
    lengths = np.full(n_inputs, 0.5 * np.sqrt(n_inputs))
    if not _is_auto(lengthscale):
        lengths = np.broadcast_to(check_positive(lengthscale, "lengthscale", n_inputs), n_inputs) / units.x_scale
    signal = 1.0 if _is_auto(signal_variance) else check_positive(signal_variance, "signal_variance") / units.y_scale**2
    noise = 0.5 if _is_auto(noise_variance) else check_positive(noise_variance, "noise_variance") / units.y_scale**2
    return Hyperparameters(lengths, float(signal), float(noise))


def _is_auto(value: Any) -> bool:  # noqa: ANN401  an array has no truth value, so `== "auto"` would not do
    return isinstance(value, str) and value == "auto"
