"""Fitted models in one file."""

from ssgp.saving.model_files import SavedModelError, load, read_summary, save

__all__ = ["SavedModelError", "load", "read_summary", "save"]
