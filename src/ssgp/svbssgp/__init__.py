"""The paper's regressor: local models of blocks, test conditionals, and the estimator."""

from ssgp.svbssgp.estimator import SVBSSGPRegressor

__all__ = ["SVBSSGPRegressor"]
