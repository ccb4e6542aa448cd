"""Columns in types that Arrow can compute with: some of its newer ones it reads, but neither filters nor casts."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

__all__ = ["usual_schema", "with_usual_types"]

compute: Any = pyarrow.compute

VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
# Codes of categories that may be too few for those of several batches or files together.
SHORT_CODES = pa.int8(), pa.uint8(), pa.int16(), pa.uint16()


def usual_schema(schema: pa.Schema) -> pa.Schema:
    """The schema that a table has after `with_usual_types`."""
    return pa.schema([field.with_type(_with_long_codes(_usual(field.type))) for field in schema])


def with_usual_types(table: pa.Table) -> pa.Table:
    """The same values, views of text as text, and runs of equal values as values; other columns as they are.

    Codes of categories are long enough for those of many such tables, and values of dictionaries are never missing:
    Arrow does not join those of parts of a table otherwise.
    """
    schema = usual_schema(table.schema)
    usual = [_is_usual(column, kind) for column, kind in zip(table.columns, schema.types, strict=True)]
    if all(usual):
        return table
    columns = [
        column if as_it_is else pa.chunked_array([_array(chunk, kind) for chunk in column.chunks], kind)
        for column, kind, as_it_is in zip(table.columns, schema.types, usual, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _with_long_codes(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind) and kind.index_type in SHORT_CODES:
        return pa.dictionary(pa.int32(), kind.value_type, kind.ordered)
    return kind


def _usual(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        # Joined categories of half precision come out as other numbers.
        value_type = pa.float32() if kind.value_type == pa.float16() else _usual(kind.value_type)
        return pa.dictionary(kind.index_type, value_type, kind.ordered)
    if pa.types.is_run_end_encoded(kind):
        return _usual(kind.value_type)
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_usual(kind.value_type)))
    if pa.types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(_usual(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_usual(field.type)) for field in kind])
    return VIEWS.get(kind, kind)


def _is_usual(column: Any, kind: pa.DataType) -> bool:  # noqa: ANN401  pyarrow.ChunkedArray has no annotations
    has_dictionary = pa.types.is_dictionary(kind)
    return column.type == kind and not (has_dictionary and any(chunk.dictionary.null_count for chunk in column.chunks))


def _array(array: Any, kind: pa.DataType) -> Any:  # noqa: ANN401
    if pa.types.is_dictionary(array.type):
        return _categories(array.indices, _cast(array.dictionary, kind.value_type), kind)
    if not pa.types.is_run_end_encoded(array.type):
        return array.cast(kind)
    return compute.run_end_decode(array) if array.type.value_type == kind else pa.array(array.to_pylist(), kind)


def _cast(values: Any, kind: pa.DataType) -> Any:  # noqa: ANN401
    """Values of another type; half precision, which not every Arrow casts, by way of Python's numbers."""
    return pa.array(values.to_pylist(), kind) if values.type == pa.float16() else values.cast(kind)


def _categories(codes: Any, values: Any, kind: pa.DataType) -> Any:  # noqa: ANN401
    """Categories whose values are all there; codes of values that are missing become missing codes."""
    present = values.is_valid().to_numpy(zero_copy_only=False)
    new_codes = pa.array(np.cumsum(present) - 1, mask=~present).cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(new_codes.take(codes), values.drop_null(), ordered=kind.ordered)
