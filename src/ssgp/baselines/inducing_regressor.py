"""What DTC and PIC have in common: inducing inputs, and where they begin."""

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from ssgp._utils.arrays import Array
from ssgp.baselines.block_likelihood import inducing_of
from ssgp.baselines.feature_maps import InducingMap
from ssgp.baselines.feature_regressor import FeatureRegressor
from ssgp.baselines.model import Model
from ssgp.rows.blocks import Rows
from ssgp.spectrum.parameters import Hyperparameters

__all__ = ["InducingRegressor"]


# Rows that k-means looks at.
CLUSTERED_ROWS = 20_000


class InducingRegressor(FeatureRegressor):
    """A regressor with inducing inputs."""

    n_inducing: int

    @property
    def inducing_inputs_(self) -> Array:
        """In the units of the inputs, shape (k, d)."""
        return inducing_of(self._model).places * self._units.x_scale + self._units.x_mean

    def _start(self, rows: Rows, start: Hyperparameters, rng: np.random.Generator) -> Model:
        """Inducing inputs at centres of clusters."""
        places = _centres(rows.X, self.n_inducing, rng)
        features = InducingMap(places, np.log(start.lengthscale), float(np.log(start.signal_variance)))
        return Model(features, float(np.log(start.noise_variance)))


def _centres(X: Array, n_centres: int, rng: np.random.Generator) -> Array:
    """Centres of clusters of rows, shape (k, d); all different rows where there are no more than that."""
    some = X[:CLUSTERED_ROWS].astype(float)
    different = np.unique(some, axis=0)
    if len(different) <= n_centres:
        return different
    seed = int(rng.integers(2**31))
    clusters = MiniBatchKMeans(n_centres, random_state=seed, n_init="auto", batch_size=4096).fit(some)
    return np.asarray(clusters.cluster_centers_)
