"""The entry point of the command line, whether or not the packages it needs are installed."""

import sys
from importlib import import_module

from ssgp.cli.printing import open_streams

__all__ = ["main"]

PACKAGES = ("typer", "rich")


def main() -> int:
    """Run the command line; without its packages, print how to install them and return 1."""
    open_streams()
    missing = [name for name in PACKAGES if not _is_installed(name)]
    if missing:
        print(
            f"ssgp: error: the command line needs {' and '.join(missing)}: pip install 'ssgp[cli]'",
            file=sys.stderr,
        )
        return 1
    from ssgp.cli.app import app

    app(prog_name="ssgp")
    return 0


def _is_installed(name: str) -> bool:
    try:
        import_module(name)
    except ImportError:
        return False
    return True
