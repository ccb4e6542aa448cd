"""Gaussian process regression for tables too large for a Gaussian process."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ssgp import bases, metrics
    from ssgp.dtc import DTCRegressor
    from ssgp.exact import ExactGPRegressor
    from ssgp.pic import PICRegressor
    from ssgp.recalibrated import RecalibratedRegressor, recalibrate
    from ssgp.saved_models import load, save
    from ssgp.sparse_spectrum import SSGPRegressor
    from ssgp.spectral_forest import SpectralForestRegressor
    from ssgp.svbssgp import SVBSSGPRegressor
    from ssgp.table_encoder import TableEncoder
    from ssgp.vssgp import VSSGPRegressor

__all__ = [
    "DTCRegressor",
    "ExactGPRegressor",
    "PICRegressor",
    "RecalibratedRegressor",
    "SSGPRegressor",
    "SVBSSGPRegressor",
    "SpectralForestRegressor",
    "TableEncoder",
    "VSSGPRegressor",
    "bases",
    "load",
    "metrics",
    "recalibrate",
    "save",
]
__version__ = "0.1.0"

# Imported when first used: the command line answers `--help` before numpy and scikit-learn would be there.
_MODULES = {
    "DTCRegressor": "dtc",
    "ExactGPRegressor": "exact",
    "PICRegressor": "pic",
    "RecalibratedRegressor": "recalibrated",
    "SSGPRegressor": "sparse_spectrum",
    "SVBSSGPRegressor": "svbssgp",
    "SpectralForestRegressor": "spectral_forest",
    "TableEncoder": "table_encoder",
    "VSSGPRegressor": "vssgp",
    "load": "saved_models",
    "recalibrate": "recalibrated",
    "save": "saved_models",
}
_SUBMODULES = {"bases", "datasets", "metrics", "plot", "report", "saved_models", "table_files"}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name in _SUBMODULES:
        return import_module(f"ssgp.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module 'ssgp' has no attribute {name!r}")
    return getattr(import_module(f"ssgp.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
