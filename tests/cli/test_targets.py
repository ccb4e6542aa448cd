"""Columns that cannot be targets are refused with an example of what they hold."""

import pyarrow as pa
import pytest

from ssgp.cli.errors import CommandError
from ssgp.cli.targets import numeric_values

FAR = pa.array([None, 2**62], pa.int64()).cast(pa.timestamp("s"))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array(["7", None, "big", "-"]), "it holds text, such as 'big'"),
        (pa.array([None, 0]).cast(pa.timestamp("s")), "it holds times, such as '1970-01-01 00:00:00'"),
        (FAR, r"it holds times, such as 'timestamp\[s\] beyond the year 9999'"),
        (FAR.dictionary_encode(), "it holds times, such as 'dictionary<.*beyond the year 9999'"),
        (pa.array([None, "", "7"]), "it holds text, such as '7'"),
    ],
)
def test_an_example_is_given(column, message):
    with pytest.raises(CommandError, match=f"column 'y' cannot be the target: {message}, and it has to hold numbers"):
        numeric_values(pa.chunked_array([column]), "y")
