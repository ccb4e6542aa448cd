"""``python -m docs.site docs/_build/html`` checks the built site, and exits with 1 where something is missing."""

import sys
from pathlib import Path

from docs.site.checks import broken_links, pages_that_have, written_pages

# Words that people look for, and a page that has to be found.
QUESTIONS = {
    "interval": "examples/plot_01_own_table",
    "quantile": "generated/api/ssgp.SpectralForestRegressor",
    "positive target": "targets",
    "long table take": "how_long",
    "lightgbm": "examples/plot_03_judging",
    "missing values": "tables",
    "missing": "tables",
    "gpu": "gpu",
    "never negative": "targets",
    "million rows memory": "how_long",
    "trust model file": "saved_models",
    "security": "generated/security",
}


def main() -> int:
    """Say what is broken or not found."""
    site = Path(sys.argv[1])
    faults = [f"broken link in {link}" for link in broken_links(site)]
    found = {words: pages_that_have(site, words) for words in QUESTIONS}
    lost = [words for words, page in QUESTIONS.items() if page not in found[words]]
    faults += [f"search for {words!r} finds {found[words]}" for words in lost]
    print("\n".join([*faults, f"{len(written_pages(site))} pages, {len(faults)} faults"]))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
