"""Warnings, shown at the line of the user's own code that led to them."""

import sys
import warnings
from pathlib import Path
from typing import Any

import sklearn

__all__ = ["DEPRECATED", "warn_of_removed", "warn_user"]

LIBRARIES = (str(Path(__file__).parents[1]), str(Path(sklearn.__file__).parent))
# Default of a parameter that has no effect any more.
DEPRECATED = "deprecated"


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line outside this library and scikit-learn, whose decorators lie in between."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(LIBRARIES):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def warn_of_removed(estimator: Any, **reasons: str) -> None:  # noqa: ANN401  any estimator
    """Warn of parameters that were set and have no effect any more; a reason for each."""
    for name, reason in reasons.items():
        if getattr(estimator, name) != DEPRECATED:
            warn_user(f"{name} has no effect any more and will be removed in ssgp 0.2: {reason}", FutureWarning)
