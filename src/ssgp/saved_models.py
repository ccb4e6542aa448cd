"""Fitted models in one file."""

from ssgp.saving.model_files import SavedModelError, read_summary, save
from ssgp.stored import load

__all__ = ["SavedModelError", "load", "read_summary", "save"]
