"""What a measurement was taken on: processor, versions, load, and the memory that a process took."""

import os
import platform
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["load_average", "machine", "peak_memory", "versions", "voluntary_switches"]

PACKAGES = ("ssgp", "numpy", "scipy", "scikit-learn")
# Peers count where the process has imported them.
PEERS = ("lightgbm", "catboost", "quantile_forest", "ngboost", "gpytorch", "torch")


def versions() -> str:
    """Versions of the packages that results depend on."""
    imported = [name for name in PEERS if name in sys.modules]
    return ", ".join(f"{name} {_version(name)}" for name in (*PACKAGES, *imported))


def _version(package: str) -> str:
    """A version, unknown of packages that run from a folder without having been installed: no reason to lose a row."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def machine() -> str:
    """Processor, cores and Python."""
    return f"{_processor()}, {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


@cache
def _processor() -> str:
    """Name of the processor; Linux alone keeps it in a file."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"


def load_average() -> float | None:
    """Processes that wanted a core in the last minute, None where the system does not count them."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def peak_memory() -> float:
    """Peak resident memory of this process in GB.

    Linux begins what `getrusage` reports with the peak of the process that started this one, and has the right
    number in a file.
    """
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    peaks = [int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")]
    if peaks:
        return peaks[0] / 1e9
    import resource  # not there on Windows

    # In bytes on macOS, in KiB elsewhere.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def voluntary_switches() -> int | None:
    """How often threads of this process have given up a core to wait, None where the system does not count it."""
    try:
        import resource  # not there on Windows
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
