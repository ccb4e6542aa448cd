"""Tasks of one fit on a cluster: named, waited for, and taken back where nobody waits any more."""

import operator
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar
from uuid import uuid4

from dask import config
from dask.delayed import Delayed, delayed
from distributed import Client, Future, KilledWorker, as_completed, default_client, get_client

from ssgp._utils.machine_errors import ClusterError
from ssgp.dask.workers import MAX_WAIT, Workforce, check_scheduler

__all__ = ["Tasks", "tasks_of"]

T = TypeVar("T")

# Cuts of a tree, and places of sampled rows, are some MB: there is nothing about it that a user could change.
QUIETLY = {"distributed.admin.large-graph-warning-threshold": "1GB"}
LOST = (
    "tasks were lost: the scheduler ended, or the connection to it broke, or somebody else cancelled them; with a "
    "checkpoint, a fit goes on from the parts that it had finished"
)
# Seconds until it is looked again whether a task is done.
SECONDS_BETWEEN_RESULTS = 0.01


class Tasks:
    """Tasks that a client asks a cluster for.

    They are functions of modules and their arguments, and can be run again on any worker. Their names have a number
    of their own, so that no two fits on a cluster share a task which one of them may take back.

    Parameters
    ----------
    client : Client
        Connected to the cluster.
    max_wait : float or None
        Seconds without a worker after which waiting for results ends with an error.
    """

    def __init__(self, client: Client, max_wait: float | None = MAX_WAIT) -> None:
        self._workforce = Workforce(client, max_wait)
        self.client, self._token, self._n_named = client, uuid4().hex[:8], 0
        self._lock, self._waited_for = Lock(), set[Future]()

    @property
    def n_threads(self) -> int:
        """Threads of all workers that are there now."""
        threads: Any = self.client.nthreads()
        return sum(threads.values())

    def call(self, name: str, function: Callable[..., Any], *arguments: Any) -> Delayed:  # noqa: ANN401
        """A task, which may take what others return; `name` is what the dashboard calls its kind."""
        return delayed(function, pure=False)(*arguments, dask_key_name=self._key(name))

    def constant(self, name: str, value: Any) -> Delayed:  # noqa: ANN401
        """A value that many tasks take, sent once."""
        return delayed(value, name=self._key(name), traverse=False)

    def parts(self, name: str, task: Delayed, number: int) -> list[Delayed]:
        """Each of so many things that a task returns: workers fetch no others."""
        return [self.call(name, operator.getitem, task, part) for part in range(number)]

    def run(self, tasks: Sequence[Delayed], after: Callable[[Any], Any] = lambda result: None) -> list[Any]:
        """Results in order; `after` is called with each, in the order in which they come."""
        futures = self.keep(tasks)
        place, results = {future.key: i for i, future in enumerate(futures)}, [None] * len(futures)
        try:
            for future, result in self._completed(futures):
                results[place[future.key]] = result
                future.release()
                after(result)
        except KilledWorker as error:
            raise ClusterError(
                f"workers died again and again while they were busy with {error.task!r}; mostly their memory was too "
                "small: give them more, or set max_memory lower"
            ) from error
        finally:
            self.forget(futures)
        return results

    def _completed(self, futures: Sequence[Future]) -> Iterator[tuple[Future, Any]]:
        """Futures and their results, as they come; meanwhile it is seen to that there are workers."""
        waiting: Any = as_completed(futures, loop=self.client.loop, with_results=True)
        while waiting.count():
            if not waiting.has_ready():
                self._workforce.look()
                time.sleep(SECONDS_BETWEEN_RESULTS)
                continue
            future, result = next(waiting)
            if future.cancelled():
                raise ClusterError(LOST)
            self._workforce.has_worked()
            yield future, result

    def keep(self, tasks: Sequence[Delayed]) -> list[Future]:
        """Futures of tasks, whose results stay on the cluster until they are forgotten."""
        if self.client.status == "closed":
            raise ClusterError(LOST)
        futures: Any = self.client.compute(list(tasks), optimize_graph=False)
        with self._lock:
            self._waited_for.update(futures)
        return futures

    def forget(self, futures: Sequence[Future]) -> None:
        """Take back what is not done, and let go of what is."""
        unfinished = [future for future in futures if not future.done()]
        with self._lock:
            self._waited_for.difference_update(futures)
        if unfinished:
            self.client.cancel(unfinished)
        for future in futures:
            future.release()

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            futures = list(self._waited_for)
        self.forget(futures)

    def _key(self, name: str) -> str:
        with self._lock:
            self._n_named += 1
            return f"ssgp-{name}-{self._token}-{self._n_named}"


@contextmanager
def tasks_of(client: Client | None, max_wait: float | None = MAX_WAIT) -> Iterator[Tasks]:
    """Context of a fit's tasks on the cluster of a client, by default the one that Dask would use."""
    tasks = Tasks(_connected(client), max_wait)
    try:
        check_scheduler(tasks.client)
        with config.set(QUIETLY):
            yield tasks
    finally:
        tasks.close()


def _connected(client: Client | None) -> Client:
    if client is not None:
        return client
    try:
        return default_client()
    except ValueError:
        pass
    try:
        return get_client()
    except ValueError as error:
        raise ValueError(
            "there is no cluster to work on: make a client first, distributed.Client('tcp://scheduler:8786') or, for "
            "processes on this machine, distributed.Client(), or give one as `client`"
        ) from error
