"""Fitted models in one file."""

from ssgp.saving import SavedModelError, read_summary, save
from ssgp.stored import load

__all__ = ["SavedModelError", "load", "read_summary", "save"]
