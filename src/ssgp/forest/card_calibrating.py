"""The likelihood of held-out rows on a card: see `ssgp.forest.calibrating`, whose gradients PyTorch finds itself."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from ssgp._utils.arrays import Array
from ssgp.distributions.base import LEAST_DOF
from ssgp.distributions.student_mixture import LEAST_COMBINED_DOF
from ssgp.engine.on_card.backend import Tensor, torch
from ssgp.engine.on_card.cards import Card
from ssgp.engine.on_card.graphs import captured
from ssgp.forest.calibrating import START, Density, Likelihood, LikelihoodPart
from ssgp.forest.noise_shape import RowNoise

__all__ = ["density_on_card"]


def density_on_card(card: Card, likelihood: Likelihood, parts: Sequence[LikelihoodPart]) -> Density:
    """The mean log density of the rows of some parts, and its gradient, as a function of the free numbers."""
    rows = _Rows.of(card, likelihood, parts)

    def with_gradient(free: Tensor) -> Tensor:
        with torch.enable_grad():
            numbers = free.detach().requires_grad_()
            value = rows.log_density(numbers)
            (gradient,) = torch.autograd.grad(value, numbers)
        return torch.cat([value.detach()[None], gradient])

    run = captured(card, with_gradient)

    def density(free: Array) -> tuple[float, Array]:
        found = run(free)
        return float(found[0]), found[1:]

    return density


@dataclass(frozen=True)
class _Rows:
    """What is known of n held-out rows, as tensors on a card, in double precision.

    Attributes
    ----------
    likelihood : Likelihood
        Whose rows these are.
    y, share, position : tensors of shape (n,)
        Targets, shares in the likelihood, positions of the means.
    means : tensor of shape (T, n)
        Means of the trees.
    noise : dict of tensors
        The fields of `RowNoise`.
    """

    likelihood: Likelihood
    y: Tensor
    share: Tensor
    position: Tensor
    means: Tensor
    noise: dict[str, Tensor]

    @classmethod
    def of(cls, card: Card, likelihood: Likelihood, parts: Sequence[LikelihoodPart]) -> "_Rows":
        """The rows of some parts."""

        def sent(arrays: list[Array]) -> Tensor:
            return card.send(np.concatenate(arrays, axis=-1).astype(float))

        return cls(
            likelihood,
            y=sent([part.rows.y for part in parts]),
            share=sent([part.rows.share for part in parts]),
            position=sent([part.position for part in parts]),
            means=sent([part.means for part in parts]),
            noise={field.name: sent([getattr(part.noise, field.name) for part in parts]) for field in fields(RowNoise)},
        )

    def log_density(self, free: Tensor) -> Tensor:
        """The mean log density of the rows, of free numbers as `Likelihood.calibration` reads them."""
        log_scale = self._log_scale(free)
        dof = LEAST_DOF + 17.0 * free[3].exp()
        dof = (1.0 / (1.0 / self.noise["dof"] + 1.0 / dof)).clamp_min(LEAST_COMBINED_DOF)
        if self.likelihood.together:
            offsets, log_scales = self._shape(free[len(START) :])
            location = self.noise["mean"] + log_scale.exp() * offsets
            log_scale = log_scale + log_scales
        else:
            location = self.noise["mean"] + free[2].sigmoid() * (self.means - self.noise["mean"])
        z = (self.y - location) / log_scale.exp()
        peak = torch.lgamma(0.5 * dof + 0.5) - torch.lgamma(0.5 * dof) - 0.5 * (np.pi * dof).log()
        logs = peak - log_scale - (0.5 * dof + 0.5) * torch.log1p(z * z / dof)
        return self.share @ (torch.logsumexp(logs, dim=0) - np.log(len(logs)))

    def _log_scale(self, free: Tensor) -> Tensor:
        """Logarithms of the scales of the noise, as `NoiseTrend.scale` has them, shape (T, n) or (1, n)."""
        noise, usual = self.noise, self.likelihood.usual_log_noise
        power, between, disagreement, slope, bend, variation = free[4 : len(START)].unbind()
        log_noise = usual + (1.0 + power) * (noise["log_noise"] - usual)
        if not self.likelihood.together:
            log_noise = log_noise + (1.0 + between) * noise["log_ratio"]
        excess = free[1].exp() * noise["leverage"] + (disagreement - 2.0).exp() * noise["disagreement"]
        trend = slope * self.position + bend * (self.position**2 - 0.5)
        trend = trend + variation * (noise["variation"] - self.likelihood.usual_variation)
        return 0.5 * (free[0] + log_noise + excess.log1p()) + trend

    def _shape(self, free: Tensor) -> tuple[Tensor, Tensor]:
        """Places of the components in scales of the noise, and logarithms of their scales, shape (K, n) or (1, 1)."""
        if not len(free):
            return free.new_zeros((1, 1)), free.new_zeros((1, 1))
        offsets, log_scales, *slopes = free.reshape(-1, self.likelihood.n_components, 1)
        offsets = offsets - offsets.mean()
        if slopes:
            offset_slopes, scale_slopes = slopes
            offsets = offsets + (offset_slopes - offset_slopes.mean()) * self.position
            log_scales = log_scales + scale_slopes * self.position
        return offsets, log_scales
