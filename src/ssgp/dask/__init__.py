"""Fits and predictions on a cluster of Dask: for rows that do not fit, or do not finish, on one machine."""

try:
    import distributed as _distributed  # noqa: F401
except ImportError as error:
    raise ImportError(f"ssgp.dask needs Dask, which is not installed ({error}): pip install 'ssgp[dask]'") from error

from ssgp._utils.machine_errors import ClusterError
from ssgp.dask.fitting import fit
from ssgp.dask.predicting import log_prob, predict, predict_interval, predict_quantiles

__all__ = ["ClusterError", "fit", "log_prob", "predict", "predict_interval", "predict_quantiles"]
