"""
A table in parts
================

Tables larger than memory are read in batches, and give the model that they would have given
in memory, to the last bit. This one is small, so that the page is built quickly; a hundred
million rows take the same lines and half an hour on two cores (:doc:`/large_tables`).
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import ssgp
from ssgp.datasets import load_flights
from ssgp.table_files import open_table

flights = load_flights()
columns = dict(zip(flights.feature_names, flights.X_train[:8000].T, strict=True))
table = pa.table({**columns, "arr_delay": flights.y_train[:8000]})
folder = TemporaryDirectory()
for part in range(4):
    pq.write_table(
        table[2000 * part : 2000 * (part + 1)], Path(folder.name, f"part-{part}.parquet")
    )

# %%
# What is given to ``fit_batches`` is a function that reads the table anew each time it is
# called, as batches of inputs and targets. ``max_memory`` is what the fit may take,
# whatever the number of rows; ``checkpoint=folder`` would let it go on where it was killed.


def read() -> Iterator[tuple[pa.Table, pa.ChunkedArray]]:
    """Batches of inputs and targets."""
    for batch in open_table(f"{folder.name}/*.parquet").batches(
        [*flights.feature_names, "arr_delay"]
    ):
        yield batch.drop_columns("arr_delay"), batch["arr_delay"]


settings = {"max_memory": "500MB", "max_iter": 200, "random_state": 0}
model = ssgp.SpectralForestRegressor(**settings).fit_batches(read)
low, high = model.predict_interval(pa.table(columns)[:3], 0.9).T
print(np.column_stack([low, high]).round(1))

# %%
# The same rows in memory give the same model:

in_memory = ssgp.SpectralForestRegressor(**settings).fit(
    table.drop_columns("arr_delay"), table["arr_delay"]
)
new = pa.table(dict(zip(flights.feature_names, flights.X_test[:1000].T, strict=True)))
print((model.predict(new) == in_memory.predict(new)).all())
folder.cleanup()

# %%
# In a shell, ``ssgp fit 'flights/*.parquet' --target arr_delay --memory 4GB --checkpoint
# parts --out delays.safetensors``. Past one machine: :doc:`/cluster`.
