"""A user's table: files, formats, columns, and the encoder that makes numbers of them."""
