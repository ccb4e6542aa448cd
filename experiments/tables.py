"""The tables of the paper's evaluation: from a folder, or downloaded where their owners publish them."""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ssgp._utils.whole_file import whole_file

__all__ = ["FOLDER_VARIABLE", "Table", "load_aimpeak", "load_airline", "load_blog", "read_columns"]

Array = NDArray[np.float64]

FOLDER_VARIABLE = "SSGP_DATA"
AIMPEAK_INPUTS = ("t", "m1", "m2", "m3", "m4", "m5")
AIRLINE_INPUTS = ("Month", "DayofMonth", "DayOfWeek", "plane_age", "AirTime", "Distance", "ArrTime", "DepTime")
BLOG_INPUTS = tuple(f"f{i}" for i in range(1, 61))

BLOG_ARCHIVE = "https://archive.ics.uci.edu/static/public/304/blogfeedback.zip"
# UCI publishes no checksum: this one is of the numbers themselves, in an order of their own (see `fingerprint`).
BLOG_FINGERPRINT = "b06f9c78530d757e6fb33f035303f0251bb640ad08e4ec24ae3cbca7f87da9bc"
# Data Expo 2009 in Harvard's Dataverse, which publishes a checksum for each file.
FLIGHTS_REPOSITORY = "doi:10.7910/DVN/HG7NV7"
FLIGHTS_FILE, PLANES_FILE = "2008.csv.bz2", "plane-data.csv"


@dataclass(frozen=True)
class Table:
    """A table to learn from.

    Attributes
    ----------
    X : array of shape (n, d)
        Inputs.
    y : array of shape (n,)
        Target.
    feature_names : tuple of str
        Names of the inputs.
    test : bool array of shape (n,) or None
        Test rows, where the table has a split of its own.
    blocks : int array of shape (n,) or None
        Blocks, where the table has its own.
    """

    X: Array
    y: Array
    feature_names: tuple[str, ...]
    test: NDArray[np.bool_] | None = None
    blocks: NDArray[np.int64] | None = None


def load_aimpeak(folder: Path | str | None = None) -> Table:
    """41,800 speeds (km/h) of roads in the morning peak of one day, in the split and the blocks of the paper's authors.

    Parameters
    ----------
    folder : path, optional
        Where ``aimpeak.parquet`` is; by default the folder that the environment variable SSGP_DATA names. It
        cannot be downloaded: it has no licence. An error says how to get it.
    """
    path = _local("aimpeak.parquet", folder)
    if path is None:
        raise FileNotFoundError(
            "AIMPEAK has no licence to be handed on, so it is not downloaded. Get the 'noleak' version from the "
            "authors' repository (github.com/qminh93/AGP), write it as aimpeak.parquet with the columns "
            f"{', '.join(AIMPEAK_INPUTS)}, speed_kmh, split (0 to learn from, 1 to test) and block (0 to 199), and "
            f"pass its folder, or set {FOLDER_VARIABLE} to it"
        )
    table = read_columns(path, [*AIMPEAK_INPUTS, "speed_kmh", "split", "block"])
    return Table(table[:, :6], table[:, 6], AIMPEAK_INPUTS, table[:, 7] == 1, table[:, 8].astype(np.int64))


def load_airline(folder: Path | str | None = None, n_rows: int = 2_000_000) -> Table:
    """Arrival delays (minutes) of flights in the United States, with the eight inputs of the AIRLINE benchmark.

    Parameters
    ----------
    folder : path, optional
        Where ``airline.parquet`` is; by default the folder that SSGP_DATA names. Without either, the flights of
        2008 and the registry of planes are downloaded (Data Expo 2009, Harvard Dataverse, 110 MB) and kept.
    n_rows : int, default=2_000_000
        The first so many rows of the file, which are in random order.
    """
    path = _local("airline.parquet", folder) or _downloaded("airline.parquet", _download_flights)
    table = read_columns(path, [*AIRLINE_INPUTS, "ArrDelay"], n_rows)
    return Table(table[:, :-1], table[:, -1], AIRLINE_INPUTS)


def load_blog(folder: Path | str | None = None) -> Table:
    """Comments in the next day on 60,021 blog posts, with the first 60 inputs (UCI BlogFeedback, Buza 2014).

    Parameters
    ----------
    folder : path, optional
        Where ``blog.parquet`` is; by default the folder that SSGP_DATA names. Without either, UCI's archive is
        downloaded (2.6 MB) and kept.
    """
    path = _local("blog.parquet", folder) or _downloaded("blog.parquet", _download_blog)
    table = read_columns(path, [*BLOG_INPUTS, "y"])
    return Table(table[:, :-1], table[:, -1], BLOG_INPUTS)


def _local(name: str, folder: Path | str | None) -> Path | None:
    """The file in the folder given, or in the one the environment names; None where neither is set."""
    given = folder if folder is not None else os.environ.get(FOLDER_VARIABLE)
    if not given:
        return None
    path = Path(given) / name
    if not path.exists():
        source = "the folder given" if folder is not None else f"the folder that {FOLDER_VARIABLE} names"
        raise FileNotFoundError(f"{path} is not there: {source} must hold {name}")
    return path


def read_columns(path: Path, names: Sequence[str], n_rows: int | None = None) -> Array:
    """Columns of a Parquet file as one array, read a column at a time."""
    file = pq.ParquetFile(path)
    absent = [name for name in names if name not in file.schema_arrow.names]
    if absent:
        raise ValueError(f"{path} has no column {absent[0]!r}; it needs {', '.join(names)}")
    n_rows = min(file.metadata.num_rows, file.metadata.num_rows if n_rows is None else n_rows)
    out = np.empty((n_rows, len(names)))
    for i, name in enumerate(names):
        out[:, i] = file.read([name]).column(0).slice(0, n_rows).to_numpy()
    return out


def _downloaded(name: str, download: Callable[[Any, Path], pa.Table]) -> Path:
    """The table in the cache of this user, put there if it is not."""
    try:
        import pooch
    except ImportError as error:
        raise ImportError(
            f"{name} is in no folder that was given (set {FOLDER_VARIABLE}); to download it: pip install pooch"
        ) from error
    cache = Path(pooch.os_cache("ssgp"))
    path = cache / name
    if not path.exists():
        table = download(pooch, cache)
        with whole_file(path) as part:
            pq.write_table(table, part)
    return path


def _download_blog(pooch: Any, cache: Path) -> pa.Table:  # noqa: ANN401  a module
    archive = pooch.retrieve(BLOG_ARCHIVE, known_hash=None, path=cache, fname="blogfeedback.zip", progressbar=False)
    try:
        return _read_blog(Path(archive))
    except (BadZipFile, ValueError) as error:
        # Kept, it would be taken for the table again, without another download.
        Path(archive).unlink()
        raise ValueError(f"what {BLOG_ARCHIVE} sent is not the BlogFeedback table: {error}") from error


def _read_blog(archive: Path) -> pa.Table:
    names = [*(f"f{i}" for i in range(1, 281)), "y"]
    with ZipFile(archive) as zipped:
        members = sorted(member for member in zipped.namelist() if member.endswith(".csv"))
        parts = [
            csv.read_csv(zipped.open(member), read_options=csv.ReadOptions(column_names=names)) for member in members
        ]
    table = pa.concat_tables([part.cast(pa.schema([(name, pa.float64()) for name in names])) for part in parts])
    found = fingerprint(table, [*BLOG_INPUTS, "y"])
    if found != BLOG_FINGERPRINT:
        raise ValueError(f"its numbers have the fingerprint {found}, expected {BLOG_FINGERPRINT}")
    return table


def fingerprint(table: pa.Table, names: Sequence[str]) -> str:
    """SHA-256 of some columns in single precision, whatever the order of the rows."""
    numbers = np.column_stack([table[name].to_numpy() for name in names]).astype("<f4")
    return hashlib.sha256(numbers[np.lexsort(numbers.T[::-1])].tobytes()).hexdigest()


def _download_flights(pooch: Any, cache: Path) -> pa.Table:  # noqa: ANN401  a module
    repository = pooch.create(path=cache, base_url=FLIGHTS_REPOSITORY)
    repository.load_registry_from_doi()
    flights = read_flights(Path(repository.fetch(FLIGHTS_FILE)), Path(repository.fetch(PLANES_FILE)))
    return flights.take(np.random.default_rng(0).permutation(len(flights)))


def read_flights(flights: Path, planes: Path) -> pa.Table:
    """Flights of the Data Expo whose delay, times and aircraft's year are known, with the benchmark's inputs."""
    wanted = ["Year", "Month", "DayofMonth", "DayOfWeek", "AirTime", "Distance", "ArrTime", "DepTime", "ArrDelay"]
    empty = csv.ConvertOptions(
        include_columns=[*wanted, "TailNum"], null_values=["NA", "", "None"], strings_can_be_null=True
    )
    table = csv.read_csv(flights, convert_options=empty)
    registry = csv.read_csv(
        planes,
        # Some planes have a tail number and nothing else, not even commas.
        parse_options=csv.ParseOptions(invalid_row_handler=lambda row: "skip"),
        convert_options=csv.ConvertOptions(include_columns=["tailnum", "year"]),
    )
    plane = pc.index_in(table["TailNum"], registry["tailnum"])  # pyright: ignore[reportAttributeAccessIssue]
    table = table.set_column(table.num_columns - 1, "built", _year(registry["year"]).take(plane)).drop_null()
    numbers = {name: table[name].cast(pa.float64()) for name in wanted}
    numbers["plane_age"] = pc.subtract(numbers.pop("Year"), table["built"])  # pyright: ignore[reportAttributeAccessIssue]
    for clock in ("ArrTime", "DepTime"):
        time = numbers[clock].to_numpy()
        numbers[clock] = pa.chunked_array([time // 100 * 60 + time % 100])
    return pa.table({name: numbers[name] for name in [*AIRLINE_INPUTS, "ArrDelay"]})


def _year(texts: pa.ChunkedArray) -> pa.Array:
    """Years as numbers; what is no plausible year is missing."""
    years = [int(text) if text is not None and str(text).isdigit() else 0 for text in texts.to_pylist()]
    return pa.array([float(year) if 1900 < year < 2100 else None for year in years], pa.float64())
