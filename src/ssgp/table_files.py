"""Tables in files: CSV, Parquet and Arrow, here or elsewhere, read some rows at a time."""

from ssgp.tables.files import TableFileError, TableSource, open_table

__all__ = ["TableFileError", "TableSource", "open_table"]
