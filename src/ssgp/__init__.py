"""Gaussian process regression for tables too large for a Gaussian process."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ssgp import bases, metrics
from ssgp.dtc import DTCRegressor
from ssgp.exact import ExactGPRegressor
from ssgp.pic import PICRegressor
from ssgp.sparse_spectrum import SSGPRegressor
from ssgp.spectral_forest import SpectralForestRegressor
from ssgp.svbssgp import SVBSSGPRegressor
from ssgp.vssgp import VSSGPRegressor

if TYPE_CHECKING:
    from ssgp.saved_models import load, save
    from ssgp.table_encoder import TableEncoder

__all__ = [
    "DTCRegressor",
    "ExactGPRegressor",
    "PICRegressor",
    "SSGPRegressor",
    "SVBSSGPRegressor",
    "SpectralForestRegressor",
    "TableEncoder",
    "VSSGPRegressor",
    "bases",
    "load",
    "metrics",
    "save",
]
__version__ = "0.1.0"

# What reads tables and files is imported when it is first used.
_LATER = {"TableEncoder": "ssgp.table_encoder", "load": "ssgp.saved_models", "save": "ssgp.saved_models"}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name not in _LATER:
        raise AttributeError(f"module 'ssgp' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
