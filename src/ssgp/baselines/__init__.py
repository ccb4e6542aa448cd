"""The methods that the paper compares with, one file per method, on one linear bound."""

from ssgp.baselines.dtc import DTCRegressor
from ssgp.baselines.exact import ExactGPRegressor
from ssgp.baselines.pic import PICRegressor
from ssgp.baselines.ssgp import SSGPRegressor
from ssgp.baselines.vssgp import VSSGPRegressor

__all__ = ["DTCRegressor", "ExactGPRegressor", "PICRegressor", "SSGPRegressor", "VSSGPRegressor"]
