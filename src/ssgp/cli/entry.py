"""Where the command line starts, whether or not what it needs is installed."""

import sys
from importlib import import_module

__all__ = ["main"]

NEEDED = ("typer", "rich")


def main() -> int:
    """Run the command line; without its packages, say how to get them and return 1."""
    missing = [name for name in NEEDED if not _is_installed(name)]
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
