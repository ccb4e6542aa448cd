"""Fits and predictions of every regressor in several threads, in a forked process, and with several BLAS threads."""

import multiprocessing
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import ssgp

SETTINGS = {
    "SpectralForestRegressor": {"n_trees": 2, "n_frequencies": 10, "max_iter": 10, "n_jobs": 2},
    "SVBSSGPRegressor": {"n_frequencies": 10, "max_iter": 10, "n_jobs": 2},
    "SSGPRegressor": {"n_frequencies": 20, "max_iter": 5, "n_jobs": 2},
    "VSSGPRegressor": {"n_frequencies": 20, "max_iter": 10, "n_jobs": 2},
    "DTCRegressor": {"n_inducing": 30, "max_iter": 10, "n_jobs": 2},
    "PICRegressor": {"n_inducing": 30, "max_iter": 10, "n_jobs": 2},
    "ExactGPRegressor": {"learn_rows": 100},
}
# The exact process leaves large factorisations to all BLAS threads.
ROUNDED_OTHERWISE = {"ExactGPRegressor"}
SECONDS = 120


def table(n_rows=400):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n_rows)


def fit(name):
    return getattr(ssgp, name)(**SETTINGS[name], random_state=0).fit(*table())


def answers(name):
    """Means and deviations of a new fit of a regressor, or of one that is recalibrated."""
    X, y = table()
    if name == "RecalibratedRegressor":
        return np.stack(ssgp.recalibrate(fit("DTCRegressor"), X, y).predict(X, return_std=True))
    return np.stack(fit(name).predict(X, return_std=True))


def every_regressor():
    return [*SETTINGS, "RecalibratedRegressor"]


def fit_in_forked_process(name):
    """Whether a forked process gives the answers of this one, which has fitted before; run as a script."""
    expected = answers(name)
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(answers(name)))
    child.start()
    arrived = receiver.poll(SECONDS)
    if not arrived:
        child.kill()
    child.join()
    return arrived and bool(np.array_equal(receiver.recv(), expected))


def answers_with_blas_threads(name, number):
    with threadpool_limits(number, user_api="blas"):
        return answers(name)


def run(call):
    """Output of a call of a function of this file, in a process of its own."""
    code = (
        f"import sys; sys.path.insert(0, {__file__.rpartition('/')[0]!r}); from test_processes import *; print({call})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=3 * SECONDS, check=True)
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="the system cannot fork")
@pytest.mark.parametrize("name", every_regressor())
def test_a_forked_process_fits_after_its_parent_has(name):
    """In libraries that start threads, a forked process waits for threads that its parent has."""
    assert run(f"fit_in_forked_process({name!r})") == "True"


@pytest.mark.slow
@pytest.mark.parametrize("name", every_regressor())
def test_the_number_of_blas_threads_does_not_change_answers(name):
    one, two = answers_with_blas_threads(name, 1), answers_with_blas_threads(name, 2)
    if name in ROUNDED_OTHERWISE:
        np.testing.assert_allclose(two, one, rtol=1e-6)
    else:
        np.testing.assert_array_equal(two, one)


@pytest.mark.slow
def test_fits_and_predictions_in_threads_of_a_user_leave_the_number_of_blas_threads_as_it_was():
    names, X = every_regressor()[:6], table()[0]
    together = Barrier(len(names))

    def work(name):
        together.wait()
        model = fit(name)
        for _ in range(20):
            model.predict(X[:50], return_std=True)

    with threadpool_limits(2, user_api="blas"):
        with ThreadPoolExecutor(len(names)) as pool:
            list(pool.map(work, names))
        assert {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"} == {2}


@pytest.mark.parametrize("name", [name for name, settings in SETTINGS.items() if "n_jobs" in settings])
def test_no_threads_at_all_are_refused(name):
    model = getattr(ssgp, name)(**SETTINGS[name] | {"n_jobs": 0})
    with pytest.raises(ValueError, match=r"'n_jobs' parameter of \w+ must be .*\[1, inf\).* Got 0 instead"):
        model.fit(*table())
