"""A study whose cells do what cells do at their worst, importable by the processes they are run in."""

import os
import signal
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from experiments.machine import peak_memory
from experiments.runner import run
from experiments.store import Store
from experiments.study import Cell, Study


@dataclass(frozen=True)
class Toy(Cell):
    kind: str
    number: int = 0


class FullDisk(Store):
    """A store that has no room for one kind of cell."""

    def write(self, cell, *rest):
        if cell.kind == "unwritable":
            raise OSError("no space left on device")
        super().write(cell, *rest)


def sleep(folder):
    """Say which process this is, and take longer than anyone waits."""
    whole = folder / "asleep.part"
    whole.write_text(str(os.getpid()))
    whole.rename(folder / "asleep")
    time.sleep(3600)


def measure(folder, cell):
    if cell.kind == "broken":
        raise FloatingPointError("no luck")
    if cell.kind == "broken once" and not (folder / "tried").exists():
        (folder / "tried").touch()
        raise FloatingPointError("no luck")
    if cell.kind == "deadly":
        # What the system does to a process that takes too much memory.
        os._exit(1)
    if cell.kind == "interrupting":
        os.kill(os.getppid(), signal.SIGINT)
    if cell.kind == "endless":
        sleep(folder)
    if cell.kind == "odd":
        return [{"value": object()}]
    if cell.kind == "wordy":
        raise ValueError("x" * 10**6)
    if cell.kind == "large":
        _ = b"1" * 300_000_000
    return [{"pid": os.getpid(), "peak_gb": peak_memory(), "value": float(cell.number)}]


def study(folder, *kinds):
    return Study([Toy(kind, number) for number, kind in enumerate(kinds)], partial(measure, folder))


if __name__ == "__main__":
    here = Path(sys.argv[1])
    sys.exit(run(study(here, "endless"), Store(here / "rows", Toy)))
