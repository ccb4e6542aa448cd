"""A user's table: files, formats, columns, and the encoder that turns columns into numbers."""
