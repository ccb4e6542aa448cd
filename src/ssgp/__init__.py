"""Gaussian process regression for tables too large for a Gaussian process."""

from ssgp import bases, metrics
from ssgp.dtc import DTCRegressor
from ssgp.exact import ExactGPRegressor
from ssgp.pic import PICRegressor
from ssgp.sparse_spectrum import SSGPRegressor
from ssgp.spectral_forest import SpectralForestRegressor
from ssgp.svbssgp import SVBSSGPRegressor
from ssgp.vssgp import VSSGPRegressor

__all__ = [
    "DTCRegressor",
    "ExactGPRegressor",
    "PICRegressor",
    "SSGPRegressor",
    "SVBSSGPRegressor",
    "SpectralForestRegressor",
    "VSSGPRegressor",
    "bases",
    "metrics",
]
__version__ = "0.1.0"
