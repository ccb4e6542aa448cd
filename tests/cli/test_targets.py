"""Columns that cannot be targets are refused with an example of what they hold."""

import numpy as np
import pyarrow as pa
import pytest

from ssgp.cli.errors import CommandError
from ssgp.cli.targets import numeric_values

UNKNOWN = ", or of a time zone that nobody knows'"
FAR = pa.array([None, 2**62], pa.int64()).cast(pa.timestamp("s"))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array(["7", None, "big", "-"]), "it holds text, such as 'big'"),
        (pa.array([None, 0]).cast(pa.timestamp("s")), "it holds times, such as '1970-01-01 00:00:00'"),
        (FAR, rf"it holds times, such as 'timestamp\[s\] beyond the year 9999{UNKNOWN}"),
        (FAR.dictionary_encode(), f"it holds times, such as 'dictionary<.*beyond the year 9999{UNKNOWN}"),
        (
            pa.array([0], pa.timestamp("s", "Europe/Berli~")),
            f"it holds times with a time zone, such as 'timestamp.*{UNKNOWN}",
        ),
        (
            pa.array([0], pa.timestamp("s", "Europe\x00")),
            f"it holds times with a time zone, such as 'timestamp.*{UNKNOWN}",
        ),
    ],
)
def test_an_example_is_given(column, message):
    with pytest.raises(CommandError, match=f"column 'y' cannot be the target: {message}, and it has to hold numbers"):
        numeric_values(pa.chunked_array([column]), "y")


def test_one_kind_of_text_among_numbers_may_stand_for_missing_values():
    column = pa.chunked_array([pa.array([*map(str, range(12)), "?", "?"])])
    with pytest.raises(CommandError, match=r"it has to hold numbers; in CSV files --na '\?' takes it for missing$"):
        numeric_values(column, "y")


def test_text_that_reads_as_numbers_is_these():
    column = pa.chunked_array([pa.array(["$1,200", "", None, "$7.5"])])
    np.testing.assert_array_equal(numeric_values(column, "y"), [1200.0, np.nan, np.nan, 7.5])
