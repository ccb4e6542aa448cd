"""Gaussian process regression for tables too large for a Gaussian process."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ssgp._version import __version__ as __version__

if TYPE_CHECKING:
    from ssgp import bases, metrics
    from ssgp.baselines import DTCRegressor, ExactGPRegressor, PICRegressor, SSGPRegressor, VSSGPRegressor
    from ssgp.distributions import Pipeline, RecalibratedRegressor, recalibrate
    from ssgp.forest import SpectralForestRegressor
    from ssgp.plot import importances
    from ssgp.saving import save
    from ssgp.stored import load
    from ssgp.svbssgp import SVBSSGPRegressor
    from ssgp.tables import TableEncoder

__all__ = [
    "DTCRegressor",
    "ExactGPRegressor",
    "PICRegressor",
    "Pipeline",
    "RecalibratedRegressor",
    "SSGPRegressor",
    "SVBSSGPRegressor",
    "SpectralForestRegressor",
    "TableEncoder",
    "VSSGPRegressor",
    "bases",
    "importances",
    "load",
    "metrics",
    "recalibrate",
    "save",
]

# Imported when first used: the command line answers `--help` before numpy and scikit-learn would be there.
_HOMES = {
    "DTCRegressor": "baselines",
    "ExactGPRegressor": "baselines",
    "PICRegressor": "baselines",
    "Pipeline": "distributions",
    "RecalibratedRegressor": "distributions",
    "SSGPRegressor": "baselines",
    "SVBSSGPRegressor": "svbssgp",
    "SpectralForestRegressor": "forest",
    "TableEncoder": "tables",
    "VSSGPRegressor": "baselines",
    "importances": "plot",
    "load": "stored",
    "recalibrate": "distributions",
    "save": "saving",
}
_SUBMODULES = {"bases", "dask", "datasets", "metrics", "plot", "report", "saved_models", "table_files"}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name in _SUBMODULES:
        return import_module(f"ssgp.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'ssgp' has no attribute {name!r}")
    return getattr(import_module(f"ssgp.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
