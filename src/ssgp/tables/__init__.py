"""A user's table: files, formats, columns, and the encoder that turns columns into numbers."""

from ssgp.tables.encoder import TableEncoder
from ssgp.tables.files import open_table

__all__ = ["TableEncoder", "open_table"]
