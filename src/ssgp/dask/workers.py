"""Who works: a fit waits for workers that are to come, and ends where none do or none can."""

import time
from collections.abc import Callable, Collection
from threading import Lock
from typing import Any

from distributed import Client

from ssgp._utils.machine_errors import ClusterError
from ssgp._utils.progress import current_observer
from ssgp._utils.warning import warn_user
from ssgp._version import __version__

__all__ = ["MAX_WAIT", "Workforce"]

# Seconds without a worker after which a fit ends, unless others are given: machines of a cloud start in a few minutes.
MAX_WAIT = 300.0
# Seconds from one look to the next, and without a worker until that is told.
SECONDS_BETWEEN_LOOKS, SECONDS_UNTOLD = 1.0, 10.0
# A scheduler that takes longer to say who works says nothing.
ANSWER_SECONDS = 30.0


class Workforce:
    """The workers of a cluster, as a fit that waits for its tasks sees them.

    A worker counts once it has been there for two looks: one that dies as soon as it has started, and comes again, does
    not. Nor does one that is paused because its memory is full.

    Parameters
    ----------
    client : Client
        Connected to the cluster.
    max_wait : float or None
        Seconds without a worker and without a result after which a fit ends; None to wait for ever.
    """

    def __init__(self, client: Client, max_wait: float | None = MAX_WAIT) -> None:
        if max_wait is not None and not max_wait > 0:
            raise ValueError(f"max_wait must be seconds above 0, or None to wait for ever, got {max_wait!r}")
        self._client, self._max_wait, self._observer = client, max_wait, current_observer()
        self._lock, self._next_look = Lock(), 0.0
        self._alone_since: float | None = None
        self._told, self._there, self._seen = False, set[str](), set[str]()

    def has_worked(self) -> None:
        """A result has come: somebody works."""
        self._alone_since, self._told = None, False

    def look(self) -> None:
        """See who is there, now and then; raise where nobody has been for too long, or has another version."""
        with self._lock:
            now = time.monotonic()
            if now >= self._next_look:
                self._next_look = now + SECONDS_BETWEEN_LOOKS
                self._see(now)
            since = self._alone_since
            if since is None:
                return
            seconds = now - since
            if self._max_wait is not None and seconds > self._max_wait:
                raise ClusterError(f"{self._found(f'for {seconds:.0f} seconds')}: {self._remedy()}")
            self._tell(seconds)

    def _see(self, now: float) -> None:
        there = set(self._asked("ncores_running"))
        check_versions(self._client, there - self._seen)
        if there & self._there:
            self.has_worked()
        elif self._alone_since is None:
            self._alone_since = now
        self._there = there
        self._seen |= there

    def _asked(self, what: str) -> dict[str, int]:
        """Threads of workers by address; nobody's where the scheduler does not answer."""
        ask: Any = getattr(self._client.scheduler, what)
        try:
            answer: Any = self._client.sync(ask, callback_timeout=ANSWER_SECONDS)
            return answer
        except OSError:
            return {}

    def _tell(self, seconds: float) -> None:
        if seconds < SECONDS_UNTOLD:
            return
        limit = None if self._max_wait is None else round(self._max_wait)
        if not self._told:
            self._told = True
            rest = "until some do" if limit is None else f"{limit} seconds at most (max_wait)"
            warn_user(f"{self._found('now')}: waiting for some, {rest}")
        if self._observer is not None:
            self._observer("second", round(seconds), limit)

    def _found(self, when: str) -> str:
        """What is known of workers, where none works."""
        n_paused = len(self._asked("ncores"))
        if n_paused:
            return f"no worker of the cluster works {when}, and {n_paused} are paused, or have just come"
        if not self._seen:
            return f"the cluster has no workers {when}, and had none before"
        return f"the cluster has no workers {when}; the {len(self._seen)} that were seen have gone"

    def _remedy(self) -> str:
        address = getattr(self._client.scheduler, "address", "ADDRESS")
        if not self._seen:
            return f"start some (dask worker {address}), or wait for longer (max_wait)"
        return (
            "their logs say why; mostly their memory limit is too small (--memory-limit of dask worker), or they were "
            "taken away, and others are to come later than max_wait"
        )


def check_versions(client: Client, workers: Collection[str]) -> None:
    """Refuse workers that have another version of this library, or none."""
    if not workers:
        return
    found: Any = client.run(_version_finder(), workers=list(workers), on_error="return")
    for address, version in found.items():
        # One that has gone meanwhile says nothing.
        if not isinstance(version, OSError):
            _check_version(f"the worker {address}", version)


def check_scheduler(client: Client) -> None:
    """Refuse a scheduler that has another version of this library, or none: it unpacks tasks to pass them on."""
    try:
        version: Any = client.run_on_scheduler(_version_finder())
    except ImportError as error:
        version = error
    _check_version("the scheduler", version)


def _check_version(who: str, version: str | Exception) -> None:
    if isinstance(version, Exception):
        raise ClusterError(f"{who} cannot import ssgp ({version}): install ssgp {__version__} there, as it is here")
    if version != __version__:
        raise ClusterError(f"{who} has ssgp {version}, and this process {__version__}: install the same version on all")


def _version_finder() -> Callable[[], str]:
    """A function that is sent as it is: one of this module would have to be imported where it runs."""

    def version() -> str:
        import ssgp

        return ssgp.__version__

    return version
