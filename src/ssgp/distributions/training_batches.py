"""Tables that are larger than memory, read in batches, in the numbers that regressors learn from."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from ssgp.distributions.table_regressor import Encoder, checked_copy
from ssgp.tables.arrow_columns import given_rows, is_array, needs_encoding, selected_rows
from ssgp.tables.encoder import TableEncoder

__all__ = ["GivenBatches", "encoded_batches"]

# Batches (X, y), which may go on with sample_weight, groups and time, or a function that returns them anew each time.
GivenBatches = Iterable[tuple[Any, ...]] | Callable[[], Iterable[tuple[Any, ...]]]


def encoded_batches(
    batches: GivenBatches, encoder: Encoder, n_rows: int | None = None
) -> tuple[TableEncoder | None, Iterable[tuple[Any, ...]]]:
    """Batches in numbers, and the encoder that was fitted to them, None where they are numbers as they are.

    Parameters
    ----------
    batches : iterable of tuple, or function that returns one
        Batches (X, y), with weights and labels after these. Those to encode are read several times: an iterator is
        refused then.
    encoder : "auto", TableEncoder or None
        As the parameter of regressors.
    n_rows : int, optional
        Rows of all batches together, those of weight zero left out; counted if they are needed and not given.
    """
    batches = _given(batches)
    if isinstance(encoder, TableEncoder):
        chosen = checked_copy(encoder)
    else:
        batches, to_encode = (batches, False) if encoder is None else _look(batches)
        chosen = TableEncoder() if to_encode else None
    if chosen is None:
        return None, batches() if callable(batches) else batches
    read = _reader(batches)
    return chosen, chosen.fit_transform_batches(lambda: _counted(read()), n_rows)


def _given(batches: GivenBatches) -> GivenBatches:
    """The same batches, with rows that can be read once as tables; an error for what is none."""
    if callable(batches):
        return lambda: map(_given_batch, batches())
    return map(_given_batch, batches) if isinstance(batches, Iterator) else list(map(_given_batch, batches))


def _given_batch(batch: Any) -> Any:  # noqa: ANN401  a user's
    return (given_rows(batch[0]), *batch[1:]) if isinstance(batch, tuple | list) and len(batch) else batch


def _look(batches: GivenBatches) -> tuple[GivenBatches, bool]:
    """The batches, and whether any has to be encoded; of an iterator, which is read once, the first one tells."""
    if isinstance(batches, Iterator):
        first = list(_first(batches))
        return chain(first, batches), any(_needs_encoding(batch) for batch in first)
    read = _reader(batches)
    if all(_is_of_arrays(batch) for batch in _first(read())):
        return batches, False
    return batches, any(_needs_encoding(batch) for batch in read())


def _first(batches: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """The first batch, where there is one."""
    for batch in batches:
        yield batch
        return


def _is_of_arrays(batch: Any) -> bool:  # noqa: ANN401  a user's
    return not isinstance(batch, tuple | list) or len(batch) == 0 or is_array(batch[0])


def _needs_encoding(batch: Any) -> bool:  # noqa: ANN401  a user's
    return not _is_of_arrays(batch) and needs_encoding(batch[0])


def _reader(batches: GivenBatches) -> Callable[[], Iterable[tuple[Any, ...]]]:
    """A function that returns the batches anew."""
    if isinstance(batches, Iterator):
        raise ValueError(
            "batches of columns that have to be encoded (text, dates, categories, missing values) are read several "
            "times, and an iterator is read once: give a function that returns them anew each time, or a list of them"
        )
    return batches if callable(batches) else lambda: batches


def _counted(batches: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """The same batches without rows of weight zero, for an encoder counts every row."""
    for batch in map(list, batches):
        weight = None if len(batch) < 3 or batch[2] is None else np.asarray(batch[2])
        if weight is None or weight.shape[:1] != (len(batch[0]),) or (weight != 0).all():
            yield tuple(batch)
        else:
            kept = weight != 0
            others = (None if part is None else np.asarray(part)[kept] for part in batch[1:])
            yield selected_rows(batch[0], kept), *others
