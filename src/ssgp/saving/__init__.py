"""Models and checkpoints in files."""

from ssgp.saving.model_files import SavedModelError, read_summary, save

__all__ = ["SavedModelError", "read_summary", "save"]
