"""Errors of commands, and how these and all others are printed in one line."""

import shlex
import sys
import traceback

from ssgp._utils.column_errors import InfiniteValuesError, UnusableTypeError
from ssgp._utils.machine_errors import ClusterError, DeviceError
from ssgp._utils.names import printable
from ssgp.cli.printing import tell

__all__ = ["INTERRUPTED", "CommandError", "WrongUsage", "one_line", "os_error_text", "report"]

# Exit code of a command that Ctrl-C ended, as shells have it.
INTERRUPTED = 130


class CommandError(Exception):
    """A command that failed; the message says why and what to do."""

    exit_code = 1


class WrongUsage(CommandError):
    """Options or names that make no sense; the message says what is allowed."""

    exit_code = 2


def report(error: Exception, debug: bool) -> int:
    """Print an error and return its exit code."""
    if debug:
        tell("".join(traceback.format_exception(error)).rstrip("\n"), sys.stderr)
    tell(f"ssgp: error: {_message(error)}", sys.stderr)
    return error.exit_code if isinstance(error, CommandError) else 1


def one_line(text: object) -> str:
    """Text without line breaks, or anything else that a terminal would obey."""
    return printable(" ".join(str(text).split()))


def _message(error: Exception) -> str:
    if isinstance(error, InfiniteValuesError):
        # Its message counts the rows of one batch, without those that have no target.
        return f"column {error.column!r} has infinity; replace it by a number, or by a missing value"
    if isinstance(error, UnusableTypeError):
        return _unusable_type_message(error)
    if isinstance(error, ClusterError):
        return one_line(error).replace("max_wait", "--max-wait")
    if isinstance(error, CommandError | DeviceError | ValueError):
        return one_line(error)
    if isinstance(error, ModuleNotFoundError):
        return f"{error.name} is not installed: pip install {error.name}"
    if isinstance(error, ImportError):
        return one_line(error)
    if isinstance(error, OSError):
        return os_error_text(error)
    if isinstance(error, MemoryError):
        return f"not enough memory ({one_line(error) or 'none left'}); use fewer rows or columns"
    return f"unexpected {type(error).__name__}: {one_line(error)}; --debug shows where"


def os_error_text(error: OSError) -> str:
    """What the system says, without its number, and of which file."""
    if not error.strerror:
        return one_line(error)
    return one_line(f"{error.filename!r}: {error.strerror}" if error.filename else error.strerror)


def _unusable_type_message(error: UnusableTypeError) -> str:
    remedy = f"leave it out: --exclude {shlex.quote(one_line(error.column))}"
    if "binary" in error.kind:
        return f"column {error.column!r} has text that is not UTF-8, or other bytes; save it as UTF-8, or {remedy}"
    return f"column {error.column!r} has the type {error.kind}, which is no number, time or category; {remedy}"
