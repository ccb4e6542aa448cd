import linecache
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from threading import Barrier, Event, Thread

import pytest
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from ssgp.engine import threads
from ssgp.engine.threads import FastestThreads, map_in_threads, one_blas_thread, openmp_threads

# Nobody waits for longer, on a machine that is busy with others.
SECONDS = 60


def n_threads(user_api):
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == user_api}


def apart(function, *arguments):
    """What a thread that ends at once returns: as long as one lives that has set the number, no other may."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function, *arguments).result()


@pytest.fixture(autouse=True)
def two_threads():
    """On every machine, so that there is something to limit."""
    limits = apart(threadpool_limits, 2, "blas")
    assert n_threads("blas") == {2}
    yield
    apart(limits.restore_original_limits)


class Inside:
    """A thread that is inside of the context until it is told to leave."""

    def __init__(self):
        self._entered, self._told = Event(), Event()
        self._thread = Thread(target=self._stay)
        self._thread.start()
        assert self._entered.wait(SECONDS)

    def _stay(self):
        with one_blas_thread():
            self._entered.set()
            self._told.wait(SECONDS)

    def leave(self):
        self._told.set()
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()


def in_child(function):
    """What a function returns in a forked process, which has a minute: a number up to 255."""
    process = os.fork()
    if not process:
        os._exit(function())
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(process, 9)
    os.waitpid(process, 0)
    return None


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_the_limit_lasts_until_the_last_thread_has_left_whichever_that_is(order):
    inside = [Inside() for _ in range(3)]
    for number in order:
        assert n_threads("blas") == {1}
        inside[number].leave()
    assert n_threads("blas") == {2}


def test_who_leaves_after_the_thread_that_set_the_limit_has_ended_restores_the_number():
    first = Inside()
    with one_blas_thread():
        first.leave()
        assert n_threads("blas") == {1}
    assert n_threads("blas") == {2}


def test_the_limit_holds_beside_one_that_another_thread_keeps():
    """`threadpoolctl` lets only that thread set numbers."""
    done, ready = Event(), Event()

    def keep():
        with threadpool_limits(3, user_api="blas"):
            ready.set()
            done.wait(SECONDS)

    other = Thread(target=keep)
    other.start()
    assert ready.wait(SECONDS)
    with one_blas_thread():
        assert n_threads("blas") == {1}
    assert n_threads("blas") == {3}
    done.set()
    other.join()
    assert n_threads("blas") == {2}


def test_many_threads_that_come_and_go_together_leave_the_number_as_it_was():
    together = Barrier(8)

    def work(_):
        seen = set()
        for _ in range(20):
            together.wait()
            with one_blas_thread(), openmp_threads(1):
                seen |= n_threads("blas")
        return seen

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [{1}] * 8
    assert n_threads("blas") == {2}


def test_contexts_nest_and_end_with_an_error():
    with one_blas_thread():
        with pytest.raises(ZeroDivisionError), one_blas_thread():
            raise ZeroDivisionError
        assert n_threads("blas") == {1}
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        raise ZeroDivisionError
    assert n_threads("blas") == {2}


class InterruptAt:
    """Context in which the user interrupts at a line, counted among all those of the module that run."""

    def __init__(self, line):
        self.line, self.n_lines = line, 0

    def __enter__(self):
        sys.settrace(self)
        return self

    def __exit__(self, *error):
        sys.settrace(None)
        return error[0] is KeyboardInterrupt

    def __call__(self, frame, event, _):
        if frame.f_code.co_filename != threads.__file__:
            return None
        # Python itself looks for no signals where it takes or gives back a lock.
        if event == "line" and not linecache.getline(threads.__file__, frame.f_lineno).lstrip().startswith("with "):
            self.n_lines += 1
            if self.n_lines == self.line:
                raise KeyboardInterrupt
        return self


@pytest.mark.slow
def test_an_interrupt_at_any_line_leaves_nobody_with_one_thread_for_good():
    with one_blas_thread(), InterruptAt(None) as all_lines, one_blas_thread():
        pass
    usual = sys.gettrace()
    for line in range(1, 200):
        with InterruptAt(line) as interrupt, one_blas_thread():
            pass
        with one_blas_thread():
            assert n_threads("blas") == {1}, line
        assert n_threads("blas") == {2}, line
        if interrupt.n_lines < line:
            break
    sys.settrace(usual)
    assert line > all_lines.n_lines > 10


@needs_fork
def test_a_forked_process_is_not_held_to_the_limit_of_a_thread_it_does_not_have():
    other = Inside()
    assert in_child(lambda: max(n_threads("blas"))) == 2
    other.leave()


@needs_fork
def test_a_process_forked_inside_leaves_the_context_by_itself():
    with ExitStack() as inside:
        inside.enter_context(one_blas_thread())

        def leave():
            inside.close()
            return max(n_threads("blas"))

        assert in_child(lambda: max(n_threads("blas"))) == 1
        assert in_child(leave) == 2
    assert n_threads("blas") == {2}


@needs_fork
def test_a_forked_process_makes_its_own_threads():
    assert map_in_threads(abs, range(-4, 0), 2) == [4, 3, 2, 1]
    assert in_child(lambda: sum(map_in_threads(abs, range(-4, 0), 2))) == 10


def test_no_more_threads_are_made_than_there_is_work():
    assert map_in_threads(abs, range(-3, 0), 10**6) == [3, 2, 1]


class PerThread:
    """A library whose number of threads belongs to the calling thread."""

    threading_layer = "openmp"

    def __init__(self, local):
        self._local = local

    @classmethod
    def clear_controlling_thread(cls, force=False):
        pass

    def get_num_threads(self):
        return getattr(self._local, "number", 4)

    def set_num_threads(self, number):
        self._local.number = number


@pytest.fixture
def per_thread(monkeypatch):
    library = PerThread(threading.local())
    with monkeypatch.context() as patch:
        patch.setattr(threads, "_libraries", lambda user_api: (library,))
        threads._blas_libraries.cache_clear()
        yield library
    threads._blas_libraries.cache_clear()


def test_a_library_that_counts_per_thread_is_limited_in_every_thread(per_thread):
    together = Barrier(2)

    def number(_):
        together.wait(SECONDS)
        return per_thread.get_num_threads()

    with one_blas_thread():
        assert map_in_threads(number, range(2), 2) == [1, 1]
    assert per_thread.get_num_threads() == 4


@pytest.mark.slow
def test_libraries_are_found_before_anything_else_has_loaded_them():
    code = (
        "from ssgp.engine.threads import one_blas_thread, openmp_threads\n"
        "with one_blas_thread(), openmp_threads(1):\n"
        "    import scipy.linalg, sklearn.cluster, threadpoolctl\n"
        "    print({library['num_threads'] for library in threadpoolctl.threadpool_info()})"
    )
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "{1}"


def test_openmp_loops_have_so_many_threads_at_most_and_blas_is_left_alone():
    ThreadpoolController().limit(limits=2, user_api="openmp")
    other = Inside()
    with openmp_threads(1):
        other.leave()
        assert n_threads("openmp") == {1}
    assert (n_threads("openmp"), n_threads("blas")) == ({2}, {2})
    with openmp_threads(3):
        assert n_threads("openmp") == {2}
    with openmp_threads():
        assert n_threads("openmp") == {2}


@needs_fork
def test_openmp_loops_of_a_forked_process_have_one_thread():
    ThreadpoolController().limit(limits=2, user_api="openmp")

    def inside():
        with openmp_threads(2):
            return max(n_threads("openmp"))

    assert in_child(inside) == 1


@pytest.mark.parametrize(
    ("seconds", "tried", "best"),
    [
        ({8: 1.0, 4: 1.7}, [8, 4], 8),
        ({8: 9.0, 4: 6.0, 2: 1.5, 1: 2.0}, [8, 4, 2, 1], 2),
        ({3: 9.0, 1: 1.0}, [3, 1], 1),
        ({2: 1.0, 1: 1.8}, [2, 1], 2),
        ({1: 1.0}, [], 1),
    ],
    ids=["idle cores", "busy cores", "odd number", "two", "one"],
)
def test_fewer_threads_are_taken_as_long_as_they_are_faster(seconds, tried, best, monkeypatch):
    clock, asked = [0.0], list[int]()

    @contextmanager
    def limited(number):
        asked.append(number)
        yield

    def work():
        clock[0] += seconds[asked[-1]]

    monkeypatch.setattr(threads, "monotonic", lambda: clock[0])
    monkeypatch.setattr(threads, "openmp_threads", limited)
    number = FastestThreads(max(seconds))
    while number.has_one_to_try:
        number.try_next(work)
    assert (asked, number.best) == (tried, best)
