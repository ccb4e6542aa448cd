"""Gaussian process regression for tables too large for a Gaussian process."""

from ssgp import bases, metrics
from ssgp.spectral_forest import SpectralForestRegressor
from ssgp.svbssgp import SVBSSGPRegressor

__all__ = ["SVBSSGPRegressor", "SpectralForestRegressor", "bases", "metrics"]
__version__ = "0.1.0"
