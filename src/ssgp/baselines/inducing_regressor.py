"""The base of DTC and PIC: inducing inputs, and where they start."""

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from ssgp._utils.arrays import Array
from ssgp.baselines.block_likelihood import inducing_features
from ssgp.baselines.feature_maps import InducingMap
from ssgp.baselines.feature_regressor import FeatureRegressor
from ssgp.baselines.model import Model
from ssgp.engine.threads import one_blas_thread, openmp_threads
from ssgp.rows.blocks import Rows
from ssgp.spectrum.parameters import Hyperparameters

__all__ = ["InducingRegressor"]


# Rows that k-means uses.
CLUSTERED_ROWS = 20_000


class InducingRegressor(FeatureRegressor):
    """A regressor with inducing inputs."""

    n_inducing: int

    @property
    def inducing_inputs_(self) -> Array:
        """Inducing inputs in the units of the inputs, shape (k, d)."""
        return inducing_features(self._model).inputs * self._units.x_scale + self._units.x_mean

    def _start(self, rows: Rows, start: Hyperparameters, rng: np.random.Generator) -> Model:
        """Inducing inputs at centres of clusters."""
        inputs = _cluster_centres(rows.X, self.n_inducing, rng)
        features = InducingMap(inputs, np.log(start.lengthscale), float(np.log(start.signal_variance)))
        return Model(features, float(np.log(start.noise_variance)))


def _cluster_centres(X: Array, n_centres: int, rng: np.random.Generator) -> Array:
    """Centres of clusters of rows, shape (k, d); all different rows where there are at most that many."""
    sample = X[:CLUSTERED_ROWS].astype(float)
    different = np.unique(sample, axis=0)
    if len(different) <= n_centres:
        return different
    seed = int(rng.integers(2**31))
    clusters = MiniBatchKMeans(n_centres, random_state=seed, n_init="auto", batch_size=4096)
    # Its threads add up centres in the order in which they come.
    with one_blas_thread(), openmp_threads(1):
        return np.asarray(clusters.fit(sample).cluster_centers_)
