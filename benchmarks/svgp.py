"""A peer: stochastic variational GP regression with inducing points, by GPyTorch."""

from typing import Any

import gpytorch
import numpy as np
import torch
from numpy.typing import NDArray

Array = NDArray[np.float64]


class _Model(gpytorch.models.ApproximateGP):
    def __init__(self, inducing: torch.Tensor) -> None:
        distribution = gpytorch.variational.CholeskyVariationalDistribution(len(inducing))
        super().__init__(gpytorch.variational.VariationalStrategy(self, inducing, distribution))
        self.mean_module = gpytorch.means.ConstantMean()
        base = gpytorch.kernels.RBFKernel(ard_num_dims=inducing.shape[1])
        base.lengthscale = float(np.sqrt(inducing.shape[1]))
        self.covar_module = gpytorch.kernels.ScaleKernel(base)

    def forward(self, x: torch.Tensor) -> Any:  # noqa: ANN401  GPyTorch's
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def fit_svgp(
    X: Array, y: Array, n_inducing: int = 512, n_epochs: int = 20, batch_size: int = 1024, device: str = "cpu"
) -> dict[str, Any]:
    """Fit on a device; returns model, likelihood and scaling."""
    torch.manual_seed(0)
    units = (X.mean(axis=0), np.maximum(X.std(axis=0), 1e-12), y.mean(), y.std())
    inputs = torch.tensor((X - units[0]) / units[1], dtype=torch.float32, device=device)
    target = torch.tensor((y - units[2]) / units[3], dtype=torch.float32, device=device)
    model = _Model(inputs[torch.randperm(len(inputs))[:n_inducing]].clone()).to(device)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(device)
    bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(target))
    optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.01)
    n_steps = max(n_epochs * -(-len(target) // batch_size), 1000)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.02, total_steps=n_steps)
    for _ in range(n_steps):
        batch = torch.randint(0, len(target), (min(batch_size, len(target)),), device=device)
        optimizer.zero_grad()
        loss = -bound(model(inputs[batch]), target[batch])
        loss.backward()
        optimizer.step()
        schedule.step()
    return {"model": model.eval(), "likelihood": likelihood.eval(), "units": units}


def predict_svgp(fitted: dict[str, Any], X: Array) -> tuple[Array, Array]:
    """Mean and deviation of observations."""
    x_mean, x_scale, y_mean, y_scale = fitted["units"]
    device = next(fitted["model"].parameters()).device
    inputs = torch.tensor((X - x_mean) / x_scale, dtype=torch.float32, device=device)
    means, deviations = [], []
    with torch.no_grad():
        for part in inputs.split(8192):
            predictive = fitted["likelihood"](fitted["model"](part))
            means.append(predictive.mean.cpu().numpy())
            deviations.append(predictive.variance.sqrt().cpu().numpy())
    mean, deviation = np.concatenate(means).astype(float), np.concatenate(deviations).astype(float)
    return y_mean + y_scale * mean, y_scale * deviation
