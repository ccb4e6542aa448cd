"""Threads and processes that share out work."""

import multiprocessing
import os
import signal
import threading
import time

import joblib
import numpy as np
import pytest

from ssgp.engine.threads import in_forked_process
from ssgp.engine.workers import KeptThreads, ProcessWorkers, ThreadWorkers, _pool, process_workers

N_PROCESSES = 4


@pytest.fixture(scope="module")
def processes():
    """Processes for all tests of this file: they take seconds to start."""
    yield process_workers(N_PROCESSES, os.getpid)
    _pool.close()


@pytest.fixture(params=["one thread", "threads", "processes", "kept threads"])
def workers(request, processes):
    kept = KeptThreads(3)
    yield {"one thread": ThreadWorkers(), "threads": ThreadWorkers(3), "processes": processes, "kept threads": kept}[
        request.param
    ]
    kept.end()


def square(number):
    time.sleep(0.01 * (number % 3))
    return number * number


def fail_at_five(number):
    if number == 5:
        raise KeyError("five")
    return number


def die_elsewhere(parent):
    """End the process, unless it is the one that shares out the work."""
    if os.getpid() != parent:
        os._exit(3)
    return "here"


def interrupt_oneself(_):
    os.kill(os.getpid(), signal.SIGINT)
    return os.getpid()


def sum_of(array):
    return float(array.sum())


def test_results_come_in_the_order_of_the_items(workers):
    assert workers.map(square, range(40)) == [k * k for k in range(40)]
    assert workers.map(square, []) == []


def test_an_error_comes_through_and_later_work_is_done(workers):
    with pytest.raises(KeyError, match="five"):
        workers.map(fail_at_five, range(30))
    assert workers.map(square, range(4)) == [0, 1, 4, 9]


def test_items_of_an_iterator_are_asked_for_when_somebody_is_free():
    asked, done = [], []

    def items():
        for k in range(50):
            asked.append(len(done))
            yield k

    ThreadWorkers(2).map(done.append, items())
    assert all(number - finished <= 5 for number, finished in enumerate(asked))


def test_threads_may_share_processes(processes, rng):
    arrays = [rng.normal(size=100) for _ in range(8)]
    found = {}
    threads = [threading.Thread(target=lambda k=k: found.update({k: processes.map(sum_of, arrays)})) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(3):
        np.testing.assert_array_equal(found[k], [array.sum() for array in arrays])


def test_processes_leave_interrupts_to_the_one_that_shares_out_the_work(processes):
    pids = processes.map(interrupt_oneself, range(8))
    assert os.getpid() not in pids


@pytest.mark.slow
def test_where_processes_die_the_work_is_done_here(processes):
    assert processes.map(die_elsewhere, [os.getpid()] * 3) == ["here"] * 3
    assert os.getpid() not in processes.map(interrupt_oneself, range(4))


def say_so_and_sleep(path):
    path.touch()
    time.sleep(600)


@pytest.mark.slow
def test_who_waits_for_processes_that_were_ended_is_told(processes, tmp_path):
    errors = []

    def wait():
        try:
            processes.map(say_so_and_sleep, [tmp_path / "asleep"])
        except Exception as error:
            errors.append(error)

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    while not (tmp_path / "asleep").exists() and waiting.is_alive():
        time.sleep(0.01)
    processes.end()
    waiting.join(timeout=120)
    assert len(errors) == 1
    assert processes.map(square, [3]) == [9]


def test_few_processes_are_not_worth_it():
    assert process_workers(3, os.getpid) is None


def test_whoever_asks_joblib_for_threads_gets_them():
    with joblib.parallel_config(backend="threading"):
        assert process_workers(N_PROCESSES, os.getpid) is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system with fork")
def test_a_forked_process_has_no_processes_of_its_own():
    def tell(connection):
        connection.send((in_forked_process(), process_workers(N_PROCESSES, os.getpid)))

    here, there = multiprocessing.get_context("fork").Pipe()
    pid = os.fork()
    if pid == 0:
        tell(there)
        os._exit(0)
    os.waitpid(pid, 0)
    assert here.recv() == (True, None)


def test_a_system_without_processes_has_threads(monkeypatch):
    def refuse(number):
        raise OSError("no semaphores")

    monkeypatch.setattr(_pool, "of", refuse)
    assert process_workers(N_PROCESSES, os.getpid) is None
    assert ProcessWorkers(N_PROCESSES).map(square, [2]) == [4]
