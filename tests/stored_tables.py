"""A table, and how it is stored in files by Arrow's own functions."""

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

TABLE = pa.table(
    {"key": [f"{i:03d}" for i in range(100)], "size": [i / 4 for i in range(100)], "count": list(range(100))}
)

SUFFIXES = [".parquet", ".csv", ".tsv", ".arrow", ".feather"]


def write(path, table=TABLE):
    """By Arrow's own functions."""
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=30)
    elif path.suffix in (".csv", ".tsv"):
        csv.write_csv(table, path, csv.WriteOptions(delimiter="\t" if path.suffix == ".tsv" else ","))
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=30)
    return path


def strings(source):
    """The same table, the keys read as text from files of text."""
    return source.with_types({"key": pa.string()})
