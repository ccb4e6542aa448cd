"""Seconds of the stages of a forest's fit."""

import time
from dataclasses import dataclass, field
from typing import Any

from experiments.study import Row

__all__ = ["STAGES", "Stages"]

STAGES = ("read", "learn", "trees", "rest")


@dataclass(frozen=True)
class Moment:
    """Seconds on the clock, and of this process's work."""

    wall: float = field(default_factory=time.perf_counter)
    cpu: float = field(default_factory=time.process_time)


@dataclass
class Stages:
    """Seconds of the stages of a fit, which it tells an observer."""

    began: Moment = field(default_factory=Moment)
    ends: dict[str, Moment] = field(default_factory=dict)

    def __call__(self, what: str, done: int, total: int) -> None:
        """Note when the first step, the last one, and the last tree were done."""
        if what == "step":
            self.ends.setdefault("read", Moment())
            self.ends["learn"] = Moment()
        elif what == "tree":
            self.ends["trees"] = Moment()

    def seconds(self) -> Row:
        """Seconds of each, and of this process's work, up to now."""
        row, begin = dict[str, Any](), self.began
        for stage in STAGES:
            end = self.ends.get(stage) or Moment()
            row |= {f"{stage}_s": end.wall - begin.wall, f"{stage}_cpu_s": end.cpu - begin.cpu}
            begin = end
        return {"fit_s": begin.wall - self.began.wall, "cpu_s": begin.cpu - self.began.cpu, **row}
