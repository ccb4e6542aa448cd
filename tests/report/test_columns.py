"""What the columns of a table hold, in words."""

import numpy as np
import pytest

from ssgp.report.columns import _describe_numbers


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([80.0, 937.0, 4983.0], "80 to 4,983, half of them up to 937"),
        ([1999.0, 2013.0, 2024.0, np.nan], "1999 to 2024, half of them up to 2013; 1 missing"),
        ([1999.5, 2013.0, 2024.0], "2,000 to 2,024, half of them up to 2,013"),
        ([2013.0, 2013.0], "always 2013"),
        ([np.nan], "no values"),
    ],
)
def test_numbers_have_commas_unless_they_may_be_years(values, text):
    assert _describe_numbers(np.array(values)) == text
