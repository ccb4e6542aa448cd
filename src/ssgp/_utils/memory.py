"""Memory that the machine can still give."""

from contextlib import suppress
from pathlib import Path

__all__ = ["available_memory"]

CONTROL_GROUP = "/sys/fs/cgroup"


def available_memory() -> int:
    """Bytes of memory that can still be had, as the system and its control group tell."""
    limits = []
    with suppress(OSError, KeyError, ValueError), open("/proc/meminfo", encoding="utf-8") as lines:
        fields = dict(line.split(":") for line in lines)
        limits.append(int(fields["MemAvailable"].split()[0]) * 1024)
    with suppress(OSError, KeyError, ValueError):
        group = Path(CONTROL_GROUP)
        used = int((group / "memory.current").read_text(encoding="utf-8"))
        fields = dict(line.split() for line in (group / "memory.stat").read_text(encoding="utf-8").splitlines())
        # Files in the cache count as used, and make room when it is asked for.
        limits.append(int((group / "memory.max").read_text(encoding="utf-8")) - used + int(fields["inactive_file"]))
    return max(0, min(limits, default=8 * 2**30))
