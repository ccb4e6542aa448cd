"""Planted faults, by which the runner itself is tested: what a case does is its seed's number in the list."""

import ctypes
import os
import time

SECONDS = 4


def case(seed: int) -> None:
    """Do something wrong, or nothing at all for other seeds."""
    if seed < len(FAULTS):
        FAULTS[seed]()


def _crash() -> None:
    ctypes.string_at(0)


def _hang() -> None:
    while True:
        time.sleep(0.01)


def _hang_without_listening() -> None:
    import signal

    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    _hang()


def _take_memory() -> None:
    bytearray(1 << 34)


def _leave() -> None:
    os._exit(0)


def _abort() -> None:
    os.abort()


def _wrong_exception() -> None:
    raise KeyError("not documented")


def _print() -> None:
    print("a line that is no answer", flush=True)


FAULTS = [_crash, _hang, _hang_without_listening, _take_memory, _leave, _abort, _wrong_exception, _print]
