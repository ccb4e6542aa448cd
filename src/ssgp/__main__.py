"""``python -m ssgp`` is the command line."""

import sys

from ssgp.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
