"""Memory that the machine can still give, and amounts of it as people write them."""

import math
import re
from contextlib import suppress
from pathlib import Path

__all__ = ["available_memory", "parse_bytes"]

CONTROL_GROUP = "/sys/fs/cgroup"
PREFIXES = ("", "k", "m", "g", "t")


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


def parse_bytes(text: str, unit: str = "") -> float | None:
    """Number of bytes, from a number with a unit; one without has this one, if any. None where it is no amount.

    Examples
    --------
    >>> parse_bytes("512MB"), parse_bytes("1.5 g"), parse_bytes("64MiB"), parse_bytes("4", "GB")
    (512000000.0, 1500000000.0, 67108864.0, 4000000000.0)
    >>> parse_bytes("4"), parse_bytes("much")
    (None, None)
    """
    amount = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(b|[kmgt]i?b?)?", text.strip().lower())
    if amount is None or not (amount[2] or unit):
        return None
    letters = amount[2] or unit.lower()
    power = PREFIXES.index(letters[0].replace("b", ""))
    size = float(amount[1]) * float(1024 if "i" in letters else 1000) ** power
    return size if math.isfinite(size) else None
