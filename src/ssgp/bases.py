"""Distributions of z behind the posterior of `SVBSSGPRegressor`, and what one of your own needs."""

from ssgp.spectrum import Base, Laplace, Logistic, Normal, StudentT

__all__ = ["Base", "Laplace", "Logistic", "Normal", "StudentT"]
