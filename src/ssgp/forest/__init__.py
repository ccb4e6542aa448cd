"""The spectral forest; README.md beside this file says in which order to read it."""

from ssgp.forest.estimator import SpectralForestRegressor

__all__ = ["SpectralForestRegressor"]
