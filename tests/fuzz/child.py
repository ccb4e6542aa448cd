"""The process in which cases run: it may crash, hang or run out of memory, and the runner lives on.

It reads one request per line, ``{"seed": 7}`` or ``{"kept": {...}}``, and answers each by one line: null, or what was
wrong. A null before the first says that it is ready. Faults that end it leave the stack on the standard error.
"""

import faulthandler
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from tests.fuzz.sorts import module_of, seconds_per_case

GIBIBYTE = 1 << 30
# Lines of a traceback that a finding quotes.
LINES = 12


def limit_memory(extra: int) -> None:
    """Let the process take so many bytes more than it has; where systems have no such limit, there is none."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[5])
        limit = pages * resource.getpagesize() + extra
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    except (ImportError, OSError, ValueError):
        return


def wrong_with(sort: Any, request: dict[str, Any]) -> str | None:
    """What is wrong with a case, None if nothing is."""
    try:
        if "seed" in request:
            sort.case(request["seed"])
        else:
            sort.replay(request["kept"])
    except BaseException as error:
        lines = traceback.format_exc().splitlines()
        return "\n".join([f"{type(error).__name__}: {error}", *lines[-LINES:]])
    return None


def main(name: str) -> None:
    """Answer requests until there are none."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    faulthandler.enable()
    sort, seconds = module_of(name), seconds_per_case(name)
    limit_memory(3 * GIBIBYTE)
    print("null", file=answers, flush=True)
    for line in sys.stdin:
        faulthandler.dump_traceback_later(0.9 * seconds)
        answer = wrong_with(sort, json.loads(line))
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
