from concurrent.futures import ThreadPoolExecutor

from threadpoolctl import threadpool_info

from ssgp.threads import one_blas_thread


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_the_limit_is_lifted_again_however_threads_come_and_go():
    """Contexts of several threads overlap in any order; after all of them the number is the old one."""
    before = blas_threads()

    def work(_):
        with one_blas_thread():
            return min(blas_threads())

    with ThreadPoolExecutor(8) as pool:
        inside = list(pool.map(work, range(200)))
    assert min(inside) == 1
    assert blas_threads() == before


def test_contexts_nest():
    before = blas_threads()
    with one_blas_thread():
        with one_blas_thread():
            pass
        assert set(blas_threads()) == {1}
    assert blas_threads() == before
