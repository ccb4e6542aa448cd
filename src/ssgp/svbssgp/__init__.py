"""The paper's regressor: local models of blocks, test conditionals, and the estimator."""
