import os
import signal
from pathlib import Path

import numpy as np
import pytest

# Shells let what they run in the background ignore Ctrl-C, and tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The source distribution has the tests of the library, not the packages beside it.
if not (Path(__file__).parents[1] / "experiments").is_dir():
    beside = ("architecture", "documents", "examples", "site")
    collect_ignore = ["experiments", "benchmarks", "evaluation.py", "toy_study.py", *(f"test_{x}.py" for x in beside)]

DATA = Path(os.environ.get("SSGP_DATA", Path(__file__).parents[2] / "shared" / "data"))

# Examples of the documentation that fit whole models; `make quick` has other fits of each of them.
SLOW_EXAMPLES = {
    *("DTCRegressor", "ExactGPRegressor", "PICRegressor", "SSGPRegressor", "SpectralForestRegressor"),
    *("VSSGPRegressor", "RecalibratedRegressor", "Pipeline", "DistributionScorer", "fit_transform_batches", "load"),
    *("recalibrate", "write_report"),
}


def pytest_addoption(parser):
    parser.addoption("--device", help="what tests marked `card` run on: cuda, cuda:1; PyTorch on the processor if none")


def pytest_configure(config):
    # Before tests are imported, also in the processes of pytest-xdist.
    if config.getoption("--device"):
        os.environ["SSGP_TEST_DEVICE"] = config.getoption("--device")


def pytest_collection_modifyitems(items):
    for item in items:
        if isinstance(item, pytest.DoctestItem) and item.name.rsplit(".", 1)[-1] in SLOW_EXAMPLES:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def rng():
    return np.random.default_rng(20170204)


@pytest.fixture
def aimpeak():
    path = DATA / "aimpeak.parquet"
    if not path.exists():
        pytest.skip(f"the AIMPEAK table is not at {path}; set SSGP_DATA to the folder that holds it")
    import pyarrow.parquet as pq

    return pq.read_table(path)


@pytest.fixture
def waves(rng):
    """1,500 rows of a smooth function of two inputs with noise of deviation 0.1."""
    X = rng.uniform(-2, 2, size=(1500, 2))
    latent = np.sin(2 * X[:, 0]) + np.cos(1.5 * X[:, 1])
    return X, latent + 0.1 * rng.normal(size=1500), latent
