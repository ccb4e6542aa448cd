"""
A table in parts
================

Tables larger than memory are read in batches, and give the same model as in memory, to the
last bit. This one is small, so that the page builds quickly; a hundred million rows take
the same lines of code and half an hour on two cores (:doc:`/large_tables`).
"""

# sphinx_gallery_thumbnail_path = "images/thumbnails/parts.svg"

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
# ``fit_batches`` takes a function that reads the table from the start each time it is
# called, as batches of inputs and targets. ``max_memory`` limits the memory of the fit,
# whatever the number of rows. With ``checkpoint=folder``, a fit that was killed can
# continue.


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
# On the command line, the same is::
#
#     ssgp fit 'flights/*.parquet' --target arr_delay --memory 4GB \
#         --checkpoint parts --out delays.safetensors
#
# For more than one machine, see :doc:`/cluster`.
