"""The variational posterior q(alpha): alpha = M z + b with z ~ psi (Lemma 2).

Functions here work on `Parameters`, in whitened coordinates u (see there);
`AffinePosterior` is the distribution of alpha in the units of the data.
"""

from dataclasses import dataclass

import numpy as np

from ssgp._utils.arrays import Array
from ssgp._utils.memory import available_memory
from ssgp.saving.contents import array, either, integer, made_of
from ssgp.saving.kinds import stored
from ssgp.spectrum.bases import STANDARD_BASES, Base, is_standardized
from ssgp.spectrum.noise import LOG_TWO_PI
from ssgp.spectrum.parameters import Layout, Parameters

__all__ = ["AffinePosterior", "MixingFactors", "MixingSummary", "affine_posterior", "check_memory", "scale_matrix"]


def _memory_needed(layout: Layout) -> int:
    """Bytes that this posterior takes at its peak.

    Training holds, in float32, the mixing matrix, its gradient twice and three arrays of the optimiser; the
    `AffinePosterior` is two float64 matrices, and a determinant or inverse of a dense M three more.
    """
    copies = 16 if _dense_blocks(layout) else 12
    return copies * 4 * layout.mixing_size**2


def check_memory(layout: Layout) -> None:
    """Refuse an affine map that does not fit into memory, and say which one would."""
    needed, available = _memory_needed(layout), available_memory()
    if needed <= available:
        return
    raise ValueError(
        f"posterior={layout.kind!r} needs a {layout.dimension:,} x {layout.dimension:,} matrix "
        f"(n_frequencies={layout.n_frequencies}, {layout.n_inputs} inputs): {needed / 2**30:.1f} GiB for training, "
        f"and {available / 2**30:.1f} GiB are available. Use posterior='diagonal', or fewer frequencies."
    )


def deviations(parameters: Parameters, z: Array) -> Array:
    """Deviations M z of u from its mean, shape (draws, D), for draws of z."""
    scale = np.exp(parameters.log_scale)
    if parameters.layout.kind == "diagonal":
        return scale * z
    return scale * (z + z @ parameters.mixing.T)


def scale_matrix(parameters: Parameters) -> Array:
    """M in whitened coordinates: (D, D), or its diagonal (D,) for the diagonal posterior."""
    scale = np.exp(parameters.log_scale)
    if parameters.layout.kind == "diagonal":
        return scale
    matrix = scale[:, None] * parameters.mixing
    matrix[np.diag_indices(len(scale))] += scale
    return matrix


def _dense_blocks(layout: Layout) -> tuple[slice, ...]:
    """Diagonal blocks of M whose determinant needs a factorisation."""
    if layout.kind == "full":
        return (slice(0, layout.dimension),)
    if layout.kind == "block":
        blocks = (slice(0, layout.n_theta), slice(layout.n_theta, layout.dimension))
        return blocks if layout.n_weights else blocks[:1]
    return ()


@dataclass(frozen=True)
class MixingSummary:
    """Functions of the mixing matrix that the bound needs, computed once per step of that matrix.

    Attributes
    ----------
    row_squares : array of shape (D,)
        Squared lengths of the rows of I + mixing.
    log_determinant : float
        log |det(I + mixing)|.
    """

    row_squares: Array
    log_determinant: float


def summarize_mixing(parameters: Parameters) -> MixingSummary:
    """Row lengths and determinant of I + mixing."""
    if parameters.layout.kind == "diagonal":
        return MixingSummary(np.ones_like(parameters.shift), 0.0)
    mixing = parameters.mixing
    squares = 1.0 + np.einsum("ij,ij->i", mixing, mixing) + 2.0 * np.diagonal(mixing)
    blocks = [_unit_plus_mixing(parameters, block) for block in _dense_blocks(parameters.layout)]
    return MixingSummary(squares, sum(float(np.linalg.slogdet(block)[1]) for block in blocks))


def _unit_plus_mixing(parameters: Parameters, block: slice) -> Array:
    """Diagonal block of I + mixing, in float64."""
    part = parameters.mixing[block, block].astype(float)
    part[np.diag_indices(len(part))] += 1.0
    return part


@dataclass(frozen=True)
class MixingFactors:
    """Gradient of the data's part of the bound with respect to the mixing matrix, as factors.

    Attributes
    ----------
    left, right : arrays of shape (draws, D)
        The gradient is the sum over draws of their outer products.
    """

    left: Array
    right: Array


def set_affine_gradient(
    gradient: Parameters, parameters: Parameters, z: Array, deviation: Array, grad_u: Array
) -> MixingFactors:
    """Gradient with respect to b and M, from that with respect to u, averaged over draws (appendix D).

    Parameters
    ----------
    gradient : Parameters
        Its `shift` and `log_scale` are overwritten.
    parameters : Parameters
        Where the gradient is taken.
    z, deviation, grad_u : arrays of shape (draws, D)
        Draws of z, M z, and the derivative with respect to u at each draw.

    Returns
    -------
    MixingFactors
        Gradient with respect to the mixing matrix.
    """
    n_draws, scale = len(z), np.exp(parameters.log_scale)
    gradient.shift[:] = grad_u.sum(axis=0) / n_draws
    gradient.log_scale[:] = np.einsum("jd,jd->d", grad_u, deviation) / n_draws
    return MixingFactors((scale / n_draws) * grad_u, z)


def mixing_gradient(parameters: Parameters, steps: list[MixingFactors], base: Base, n: float) -> Array:
    """Gradient of the bound over n with respect to the mixing matrix, averaged over steps.

    The structure of the posterior is imposed: entries that are not free have gradient zero.
    """
    gradient = np.concatenate([step.left for step in steps]).T @ np.concatenate([step.right for step in steps])
    gradient /= len(steps)
    if is_standardized(base):
        squared_scale = np.exp(2.0 * parameters.log_scale) / n
        gradient -= squared_scale[:, None] * parameters.mixing
        gradient[np.diag_indices(len(squared_scale))] -= squared_scale
    for block in _dense_blocks(parameters.layout):
        gradient[block, block] += np.linalg.inv(_unit_plus_mixing(parameters, block)).T / n
    return _impose_structure(gradient, parameters.layout)


def _impose_structure(gradient: Array, layout: Layout) -> Array:
    if layout.kind == "triangular":
        return np.tril(gradient, -1)
    if layout.kind == "block":
        gradient[: layout.n_theta, layout.n_theta :] = 0.0
        gradient[layout.n_theta :, : layout.n_theta] = 0.0
    return gradient


def add_divergence(
    gradient: Parameters,
    parameters: Parameters,
    summary: MixingSummary,
    base: Base,
    z: Array,
    u: Array,
    n: float,
) -> float:
    """Add the gradient of -KL(q | p) / n with respect to `shift` and `log_scale`; return KL.

    For a standardised base the divergence and its gradient are exact. For any other base
    they are the unbiased estimate of appendix D from the draws z, u (draws, D), and
    the prior's part of the gradient is in `prior_gradient`.
    """
    gradient.log_scale += 1.0 / n
    log_determinant = summary.log_determinant + float(parameters.log_scale.sum(dtype=float))
    dimension = parameters.layout.dimension
    if not is_standardized(base):
        prior = 0.5 * float(np.mean(np.sum(u * u, axis=1, dtype=float)))
        return float(np.mean(base.log_density(z))) - log_determinant + prior + 0.5 * dimension * LOG_TWO_PI
    shift, row_squares = parameters.shift, np.exp(2.0 * parameters.log_scale) * summary.row_squares
    gradient.shift -= shift / n
    gradient.log_scale -= row_squares / n
    squares = float(shift @ shift) + float(row_squares.sum())
    return 0.5 * squares + dimension * (0.5 * LOG_TWO_PI - base.entropy) - log_determinant


def prior_gradient(base: Base, u: Array, n: float) -> Array | float:
    """Gradient of log p(u) / n at draws u (draws, D); zero where `add_divergence` has its exact mean."""
    return 0.0 if is_standardized(base) else -u / n


def _lengths(n_frequencies: int, n_inputs: int) -> tuple[int, int]:
    """Lengths of alpha without and with weights."""
    return n_frequencies * n_inputs, n_frequencies * (n_inputs + 2)


@stored(
    {
        # In the units of inputs, whose scale may be beyond all numbers.
        "shift": array("float64", "D", finite=False),
        "scale": either(array("float64", "D", "D", finite=False), array("float64", "D", finite=False)),
        "base": made_of(*STANDARD_BASES),
        "n_frequencies": integer(1),
        "n_inputs": integer(1),
    },
    relations=lambda p: [
        (len(p.shift) in _lengths(p.n_frequencies, p.n_inputs), "shift must be frequencies, or these and weights")
    ],
)
@dataclass(frozen=True)
class AffinePosterior:
    """Distribution q(alpha) of alpha = vec(frequencies, weights), alpha = M z + b.

    Attributes
    ----------
    shift : array of shape (D,)
        b.
    scale : array of shape (D, D) or (D,)
        M, or its diagonal.
    base : Base
        Distribution psi of z.
    n_frequencies, n_inputs : int
        m and d: the first m d entries of alpha are the frequencies, row by row.
    """

    shift: Array
    scale: Array
    base: Base
    n_frequencies: int
    n_inputs: int

    def sample(self, n_draws: int, rng: np.random.Generator) -> Array:
        """Independent draws of alpha, shape (n_draws, D)."""
        z = np.asarray(self.base.sample(rng, (n_draws, len(self.shift))))
        return self.shift + (z * self.scale if self.scale.ndim == 1 else z @ self.scale.T)

    def split(self, alpha: Array) -> tuple[Array, Array]:
        """Frequencies (..., m, d) and weights (..., 2m) of draws of alpha."""
        n_theta = self.n_frequencies * self.n_inputs
        frequencies = alpha[..., :n_theta].reshape(*alpha.shape[:-1], self.n_frequencies, self.n_inputs)
        return frequencies, alpha[..., n_theta:]

    def log_density(self, alpha: Array) -> Array:
        """Log density log psi(M^-1 (alpha - b)) - log |det M|, shape (n_draws,)."""
        determinant = np.log(self.scale).sum() if self.scale.ndim == 1 else np.linalg.slogdet(self.scale)[1]
        return self.base.log_density(self._standardize(alpha)) - determinant

    def score(self, alpha: Array) -> Array:
        """Gradient of the log density with respect to alpha, shape (n_draws, D)."""
        inner = self.base.score(self._standardize(alpha))
        return inner / self.scale if self.scale.ndim == 1 else np.linalg.solve(self.scale.T, inner.T).T

    def _standardize(self, alpha: Array) -> Array:
        centred = alpha - self.shift
        return centred / self.scale if self.scale.ndim == 1 else np.linalg.solve(self.scale, centred.T).T


def affine_posterior(
    parameters: Parameters, base: Base, frequency_unit: Array, weight_unit: float, tail_scales: Array | float = 1.0
) -> AffinePosterior:
    """The posterior of alpha, from that of the whitened u.

    `frequency_unit` (d,) and `weight_unit` are the prior deviations in the units wanted, and `tail_scales` (m, 1)
    the factors of the former (see `ssgp.spectrum.kernels`).
    """
    layout = parameters.layout
    frequency_units = np.ones((layout.n_frequencies, 1)) * tail_scales * frequency_unit
    unit = np.concatenate([frequency_units.ravel(), np.full(layout.n_weights, weight_unit)])
    matrix = scale_matrix(parameters).astype(float)
    # Units of the tiniest inputs are infinite.
    with np.errstate(over="ignore", invalid="ignore"):
        matrix *= unit if matrix.ndim == 1 else unit[:, None]
        shift = unit * parameters.shift
    return AffinePosterior(shift, matrix, base, layout.n_frequencies, layout.n_inputs)
