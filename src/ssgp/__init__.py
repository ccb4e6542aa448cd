"""Gaussian process regression for tables too large for a Gaussian process."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ssgp import bases, metrics
    from ssgp.baselines.dtc import DTCRegressor
    from ssgp.baselines.exact import ExactGPRegressor
    from ssgp.baselines.pic import PICRegressor
    from ssgp.baselines.ssgp import SSGPRegressor
    from ssgp.baselines.vssgp import VSSGPRegressor
    from ssgp.distributions.recalibrated import RecalibratedRegressor, recalibrate
    from ssgp.forest.estimator import SpectralForestRegressor
    from ssgp.saving.model_files import save
    from ssgp.stored import load
    from ssgp.svbssgp.estimator import SVBSSGPRegressor
    from ssgp.tables.encoder import TableEncoder

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
    "DTCRegressor": "baselines.dtc",
    "ExactGPRegressor": "baselines.exact",
    "PICRegressor": "baselines.pic",
    "RecalibratedRegressor": "distributions.recalibrated",
    "SSGPRegressor": "baselines.ssgp",
    "SVBSSGPRegressor": "svbssgp.estimator",
    "SpectralForestRegressor": "forest.estimator",
    "TableEncoder": "tables.encoder",
    "VSSGPRegressor": "baselines.vssgp",
    "load": "stored",
    "recalibrate": "distributions.recalibrated",
    "save": "saving.model_files",
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
