"""The tables of the evaluation and the benchmarks, and their splits.

From a folder, or downloaded where their owners publish them.
"""

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

from experiments.parquet import read_columns, write_whole
from ssgp.datasets import Split, load_flights

__all__ = [
    "AUTHORS",
    "FOLDER_VARIABLE",
    "SMALL",
    "SPLITS",
    "TEST_SHARE",
    "Table",
    "chosen_rows",
    "load_aimpeak",
    "load_aimpeak_joint",
    "load_airline",
    "load_blog",
    "load_uci",
    "seed_of",
    "split_rows",
]

Array = NDArray[np.float64]

FOLDER_VARIABLE = "SSGP_DATA"
# The split that comes with a table; the others, random ones, have numbers.
AUTHORS = "authors"
TEST_SHARE = 0.05
SMALL = ("concrete", "energy", "wine", "airfoil", "parkinsons", "elevators", "bike")
AIMPEAK_INPUTS = ("t", "m1", "m2", "m3", "m4", "m5")
AIRLINE_INPUTS = ("Month", "DayofMonth", "DayOfWeek", "plane_age", "AirTime", "Distance", "ArrTime", "DepTime")
BLOG_INPUTS = tuple(f"f{i}" for i in range(1, 61))

BLOG_ARCHIVE = "https://archive.ics.uci.edu/static/public/304/blogfeedback.zip"
# UCI publishes no checksum: this one is of the numbers themselves, whatever their order (see `fingerprint`).
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
        Test rows, where the table comes with a split.
    blocks : int array of shape (n,) or None
        Blocks, where the table comes with them.
    """

    X: Array
    y: Array
    feature_names: tuple[str, ...]
    test: NDArray[np.bool_] | None = None
    blocks: NDArray[np.int64] | None = None

    def split(self, test: NDArray[np.bool_] | None = None) -> Split:
        """Rows to learn from and test rows, by default those that the table comes with."""
        test = self.test if test is None else test
        if test is None:
            raise ValueError("the table has no split of its own; say which rows are to test")
        return Split(self.X[~test], self.y[~test], self.X[test], self.y[test], self.feature_names)


def load_aimpeak(folder: Path | str | None = None) -> Table:
    """41,800 speeds (km/h) of roads in the morning peak of one day, in the split and the blocks of the paper's authors.

    Parameters
    ----------
    folder : path, optional
        Where ``aimpeak.parquet`` is; by default the folder that the environment variable SSGP_DATA names. It
        cannot be downloaded: it has no licence. An error says how to get it.
    """
    return _read_aimpeak("aimpeak.parquet", "partition_noleak.csv", folder)


def load_aimpeak_joint(folder: Path | str | None = None) -> Table:
    """AIMPEAK in the other split and blocks of the paper's authors, clustered by inputs and target of all rows.

    Parameters
    ----------
    folder : path, optional
        Where ``aimpeak_joint_blocks.parquet`` is, as for `load_aimpeak`.
    """
    return _read_aimpeak("aimpeak_joint_blocks.parquet", "partition.csv", folder)


def _read_aimpeak(name: str, source: str, folder: Path | str | None) -> Table:
    path = _local(name, folder)
    if path is None:
        raise FileNotFoundError(
            f"AIMPEAK has no licence to be handed on, so it is not downloaded. Get {source} from the "
            f"authors' repository (github.com/qminh93/AGP), write it as {name} with the columns "
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


def load_uci(name: str, folder: Path | str | None = None, fold: int = 0) -> Table:
    """One of the smaller UCI sets, in folds as prepared by treforevans/uci_datasets.

    Parameters
    ----------
    name : str
        Of the set.
    folder : path, optional
        Where ``uci/<name>.parquet`` is, with inputs ``x0``, ``x1``, ..., the target ``y`` and ``fold``; by default the
        folder that SSGP_DATA names.
    fold : int, default=0
        Of the test rows.
    """
    path = _local(f"uci/{name}.parquet", folder)
    if path is None:
        raise FileNotFoundError(
            f"uci/{name}.parquet is not downloaded: pass its folder, or set {FOLDER_VARIABLE} to it"
        )
    inputs = tuple(column for column in pq.read_schema(path).names if column.startswith("x"))
    table = read_columns(path, [*inputs, "y", "fold"])
    return Table(table[:, :-2], table[:, -2], inputs, table[:, -1] == fold)


def seed_of(split: str) -> int:
    """Seed of the estimators that learn from a split; it also picks the rows of those that take only a part."""
    return 0 if split == AUTHORS else int(split)


def split_rows(table: Table, name: str, n_rows: int | None = None) -> Split:
    """Rows to learn from and test rows of the paper's evaluation, see `chosen_rows`."""
    chosen, test = chosen_rows(table, name, n_rows)
    return chosen.split(test)


def chosen_rows(table: Table, name: str, n_rows: int | None = None) -> tuple[Table, NDArray[np.bool_]]:
    """The rows that a split of the paper's evaluation has, and which of them are test rows.

    Parameters
    ----------
    table : Table
        All rows.
    name : str
        ``"authors"`` for the split that the table comes with, otherwise the number s of a random one, drawn from
        ``default_rng([2017, s])``: not the numbers that the estimators draw from seed s.
    n_rows : int, optional
        Only so many rows, drawn at random.
    """
    seed = seed_of(name)
    test = table.test if name == AUTHORS else np.random.default_rng([2017, seed]).random(len(table.y)) < TEST_SHARE
    if test is None:
        raise ValueError(f"the table has no split of its own; name a seed instead of {name!r}")
    if n_rows is None or n_rows >= len(table.y):
        return table, test
    kept = np.sort(np.random.default_rng(seed).choice(len(table.y), n_rows, replace=False))
    blocks = None if table.blocks is None else table.blocks[kept]
    return Table(table.X[kept], table.y[kept], table.feature_names, blocks=blocks), test[kept]


def _split_flights(folder: Path | None, fold: int) -> Split:
    """As `load_flights` splits them."""
    return load_flights()


def _split_airline(folder: Path | None, fold: int) -> Split:
    """The first two million rows, of which the last twentieth is the test."""
    table = load_airline(folder)
    return table.split(np.arange(len(table.y)) >= (1 - TEST_SHARE) * len(table.y))


def _split_aimpeak(folder: Path | None, fold: int) -> Split:
    """As the authors split them."""
    return load_aimpeak(folder).split()


def _split_blog(folder: Path | None, fold: int) -> Split:
    """A random twentieth is the test."""
    table = load_blog(folder)
    return table.split(np.random.default_rng(fold).random(len(table.y)) < TEST_SHARE)


def _split_uci(name: str) -> Callable[[Path | None, int], Split]:
    return lambda folder, fold: load_uci(name, folder, fold).split()


# The splits of the benchmarks, from a folder (None for the one that the environment names) and the number of a fold.
SPLITS: dict[str, Callable[[Path | None, int], Split]] = {
    "flights": _split_flights,
    "airline": _split_airline,
    "kin40k": _split_uci("kin40k"),
    "aimpeak": _split_aimpeak,
    "blog": _split_blog,
    **{name: _split_uci(name) for name in SMALL},
}


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
        write_whole(download(pooch, cache), path)
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
    actual = fingerprint(table, [*BLOG_INPUTS, "y"])
    if actual != BLOG_FINGERPRINT:
        raise ValueError(f"its numbers have the fingerprint {actual}, expected {BLOG_FINGERPRINT}")
    return table


def fingerprint(table: pa.Table, names: Sequence[str]) -> str:
    """SHA-256 of columns in single precision, whatever the order of the rows."""
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
