"""Warnings, shown at the line of the user's own code that led to them."""

import sys
import warnings
from pathlib import Path

import sklearn

__all__ = ["warn_user"]

LIBRARIES = (str(Path(__file__).parents[1]), str(Path(sklearn.__file__).parent))


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line outside this library and scikit-learn, whose decorators lie in between."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(LIBRARIES):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
