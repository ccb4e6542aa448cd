from concurrent.futures import ThreadPoolExecutor

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from ssgp.engine.threads import one_blas_thread


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def apart(function, *arguments):
    """What a thread that ends at once returns: as long as one lives that has set the number, no other may."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function, *arguments).result()


@pytest.fixture(autouse=True)
def two_threads():
    """On every machine, so that there is something to limit."""
    limits = apart(threadpool_limits, 2, "blas")
    assert set(blas_threads()) == {2}
    yield
    apart(limits.restore_original_limits)


def inside_of_many():
    """Numbers of threads inside of contexts of several threads, which overlap in any order."""

    def work(_):
        with one_blas_thread():
            return set(blas_threads())

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(work, range(200)))


def test_the_limit_is_lifted_again_however_threads_come_and_go():
    """Who is inside when the first goes may see it lifted, but nobody's limit outlasts all of them."""
    assert {1} in inside_of_many()
    assert set(blas_threads()) == {2}


def test_as_long_as_the_first_is_inside_everybody_has_one_thread():
    with one_blas_thread():
        assert inside_of_many() == [{1}] * 200
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {2}


def test_contexts_nest():
    with one_blas_thread():
        with one_blas_thread():
            pass
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {2}
