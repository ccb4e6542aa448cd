"""Clusters that a command asks to work: one that is there, or processes of this machine that end with the command."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from logging import ERROR
from typing import Any

from ssgp.cli.errors import CommandError, WrongUsage, one_line
from ssgp.cli.memory import default_memory
from ssgp.cli.output import Output, amount
from ssgp.forest.sizes import DEFAULT_MEMORY, LEAST_MEMORY

__all__ = ["CLUSTER_WORDS", "ClusterChoice"]

# Of a worker, for Python and its libraries, besides what a fit may take.
PROCESS_BYTES = 2**29
# A dashboard that is seen from this machine alone, on a port that is free.
DASHBOARD = "127.0.0.1:0"
CONNECT_SECONDS = 30
# The command's words for the library's, in warnings.
CLUSTER_WORDS = {"max_wait": "--max-wait"}
# Dask has its processes return freed memory at once, by which the GNU C library maps every array of 128 KB anew, and
# predictions take twice the time. Tasks give back what they took themselves, at their end.
PROCESS_SETTINGS = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 27,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 1 << 25,
    # So long after a worker died Dask looks whether it is there, and gives it up for good if it is not: too soon on a
    # machine that starts processes slowly, and where it has just died once more.
    "distributed.deploy.lost-worker-timeout": "1000 days",
}


class ClusterChoice:
    """What the options ``--scheduler`` and ``--workers`` choose.

    Parameters
    ----------
    scheduler : str or None
        Address of a scheduler.
    workers : int or None
        Number of processes of this machine.
    max_wait : float or None
        Seconds that the cluster may be without a worker, None for as many as are usual.
    """

    def __init__(self, scheduler: str | None, workers: int | None, max_wait: float | None = None) -> None:
        if scheduler is not None and workers is not None:
            raise WrongUsage("--workers: the workers are those of --scheduler; give one of them")
        self._scheduler, self._workers, self._max_wait = scheduler, workers, max_wait
        if max_wait is not None and not self.given:
            raise WrongUsage("--max-wait: there are no workers to wait for without --scheduler or --workers")

    @property
    def given(self) -> bool:
        """Whether a cluster is to do the work."""
        return self._scheduler is not None or self._workers is not None

    @property
    def option(self) -> str:
        """The option that was given."""
        return "--scheduler" if self._workers is None else "--workers"

    @property
    def waiting(self) -> dict[str, Any]:
        """What those who wait for workers are told of it."""
        return {} if self._max_wait is None else {"max_wait": self._max_wait}

    def memory(self, given: float | None) -> float:
        """Bytes that a fit may take in each process: those that were given, or a share of what is free."""
        if given is not None:
            return given
        return max(LEAST_MEMORY, min(DEFAULT_MEMORY, default_memory() / (1 + (self._workers or 0))))

    @contextmanager
    def opened(self, memory: float | None, output: Output) -> Iterator[Any]:
        """Context with a client of the cluster, None where none was chosen; says where its dashboard is."""
        if not self.given:
            yield None
            return
        import ssgp.dask  # noqa: F401  says what to install where Dask is not

        with ExitStack() as stack:
            client = stack.enter_context(self._local(memory, stack) if self._scheduler is None else self._remote())
            n_workers = len(client.nthreads())
            needs = "" if find_spec("bokeh") else " (needs bokeh: pip install bokeh)"
            output.say(f"Cluster of {amount(n_workers, 'worker')}; dashboard: {client.dashboard_link}{needs}")
            yield client

    def _local(self, memory: float | None, stack: ExitStack) -> Any:  # noqa: ANN401  Dask's classes are lazy
        from dask import config
        from distributed import Client, LocalCluster

        stack.enter_context(config.set(PROCESS_SETTINGS))
        with _starting():
            cluster = LocalCluster(
                n_workers=self._workers,
                threads_per_worker=1,
                processes=True,
                memory_limit=int(self.memory(memory) + PROCESS_BYTES),
                dashboard_address=DASHBOARD,
                preload=["ssgp.cli.cluster_worker"],
                silence_logs=ERROR,
            )
        return Client(stack.enter_context(cluster), set_as_default=False)

    def _remote(self) -> Any:  # noqa: ANN401
        from distributed import Client

        try:
            return Client(self._scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise CommandError(f"--scheduler: {self._scheduler!r} does not answer: {one_line(error)}") from error


@contextmanager
def _starting() -> Iterator[None]:
    """Context in which errors of processes that start say so."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise CommandError(
            f"--workers: the processes did not start ({one_line(error)}); mostly there is too little memory for them: "
            "give fewer"
        ) from error
