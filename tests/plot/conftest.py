"""What the tests of figures share: rows, fitted models, and no window."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from sklearn.pipeline import make_pipeline

from helpers import wavy
from plot_rows import REGRESSORS, mixed_rows
from ssgp import SSGPRegressor, TableEncoder

mpl.use("agg")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def data():
    X, y, _ = wavy(400, d=3)
    return X, y


@pytest.fixture(scope="session")
def fitted(data):
    """Each regressor, fitted when it is first asked for."""
    models = {}

    def get(name):
        if name not in models:
            models[name] = REGRESSORS[name].fit(*data)
        return models[name]

    return get


@pytest.fixture(scope="session")
def pipeline():
    table, y = mixed_rows()
    return make_pipeline(TableEncoder(), SSGPRegressor(n_frequencies=8, max_iter=10, random_state=0)).fit(table, y)
