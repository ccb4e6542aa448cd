"""The mathematics of the paper's bound: features, kernels, posterior, objectives and the stochastic ascent."""

from ssgp.spectrum.bases import Base, Laplace, Logistic, Normal, StudentT

__all__ = ["Base", "Laplace", "Logistic", "Normal", "StudentT"]
