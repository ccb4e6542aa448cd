"""Text that reads as numbers or dates, and categories with an order."""

import io
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pytest

import ssgp
from ssgp.tables.text_reading import read_text

N_ROWS = 300
LATE = datetime(2024, 9, 30, 15, 4, 5, 250_000)


def reading(values, dates="auto") -> Any:
    return read_text(pa.chunked_array([pa.array(values, pa.string())]), dates)


@pytest.mark.parametrize(
    ("texts", "how", "values"),
    [
        (["1", "-2.5", " 3e2 ", ".5", "", None], "numbers", [1.0, -2.5, 300.0, 0.5, None, None]),
        (["2024-02-01", "2024-12-31 10:20:30"], "times", [datetime(2024, 2, 1), datetime(2024, 12, 31, 10, 20, 30)]),
        (["1.2.2024", "3.4.2024 05:06"], "dayfirst", [datetime(2024, 2, 1), datetime(2024, 4, 3, 5, 6)]),
        (["1/2/2024", "13/4/2024"], "dayfirst", [datetime(2024, 2, 1), datetime(2024, 4, 13)]),
        (["1/2/2024", "4/13/2024"], "monthfirst", [datetime(2024, 1, 2), datetime(2024, 4, 13)]),
        (
            ["1/2/2024 1:05 PM", "4/13/2024 12:30 a.m."],
            "monthfirst",
            [datetime(2024, 1, 2, 13, 5), datetime(2024, 4, 13, 0, 30)],
        ),
        (["2024/1/5", "2024.12.31 9:05"], "times", [datetime(2024, 1, 5), datetime(2024, 12, 31, 9, 5)]),
        (["31 Jan 2024", "1-FEB-2024"], "times", [datetime(2024, 1, 31), datetime(2024, 2, 1)]),
        (["May 1, 2024", "Sept. 30, 2024, 3:04:05.25 pm"], "times", [datetime(2024, 5, 1), LATE]),
        (["$1,200.50", "-$3", "$ 4", "$-5", "$ +6.5"], "numbers", [1200.5, -3.0, 4.0, -5.0, 6.5]),
        (["12%", "3.5 %"], "numbers", [0.12, 0.035]),
        (["1,234", "12,345,678", "7"], "numbers", [1234.0, 12_345_678.0, 7.0]),
        (["True", "FALSE ", "true", "", None], "truth values", [True, False, True, None, None]),
    ],
)
def test_text_is_what_it_says(texts, how, values):
    found = reading(texts)
    assert (found.how, found.n_unreadable) == (how, 0)
    assert found.values.to_pylist() == values


def test_numbers_may_have_decimal_commas():
    numbers = [1.5, -2.0, 0.125, 1250.5, 12345678.25, *np.arange(20, 60) / 4]
    texts = [f"{number:,.3f}".translate(str.maketrans(",.", ".,")) for number in numbers]
    found = reading([*texts, "?"])
    assert (found.how, found.n_unreadable, found.example) == ("numbers with decimal commas", 1, "?")
    assert found.values.to_pylist() == [*numbers, None]
    with_euros = reading([f"{text} \N{EURO SIGN}" for text in texts])
    assert with_euros.values.to_pylist() == numbers


def test_commas_between_thousands_stay_what_they_are():
    texts = [f"{number:,}" for number in range(1000, 90_000, 1000)]
    assert reading(texts).how == "numbers"
    assert reading(texts).values.to_pylist() == [*map(float, range(1000, 90_000, 1000))]
    # Points in groups of three are no thousands without a comma among the values, and versions are none at all.
    assert reading([f"1.{number}.000" for number in range(100, 150)]) is None


def test_times_of_day_are_those_that_arrow_finds_in_a_file():
    minutes = range(0, 24 * 60, 7)
    texts = [f"{minute // 60:02d}:{minute % 60:02d}" for minute in minutes]
    found = reading([*texts, "closed"])
    assert (found.how, found.n_unreadable, found.example) == ("times of day", 1, "closed")
    from_file = csv.read_csv(io.BytesIO("\n".join(["t", *texts]).encode())).column("t")
    assert found.values.drop_null().cast(from_file.type).to_pylist() == from_file.to_pylist()
    assert reading(["13:45:10.250", "00:00:00"]).how == "times of day"
    assert reading(["25:00", "12:61"]) is None


def test_a_table_of_text_is_that_of_a_csv_file_in_german():
    rng = np.random.default_rng(0)
    price, minute = rng.uniform(0, 5000, N_ROWS).round(2), rng.integers(0, 24 * 60, N_ROWS)
    parsed = pa.table({"price": price, "at": pa.array(minute * 60, pa.int32()).cast(pa.time32("s"))})
    text = pd.DataFrame(
        {
            "price": [f"{p:,.2f}".translate(str.maketrans(",.", ".,")) for p in price],
            "at": [f"{m // 60:02d}:{m % 60:02d}" for m in minute],
        }
    )
    encoder, other = ssgp.TableEncoder(), ssgp.TableEncoder()
    with pytest.warns(UserWarning, match="'price' is text that reads as numbers with decimal commas, but for 1 of 300"):
        encoder.fit(text.assign(price=["?", *text["price"][1:]]))
    np.testing.assert_array_equal(encoder.fit_transform(text), other.fit_transform(parsed))
    assert encoder.describe() == other.describe()
    for new in (text[:3], parsed.slice(0, 3), pa.table(parsed).slice(0, 3)):
        np.testing.assert_array_equal(encoder.transform(new), other.transform(parsed.slice(0, 3)))


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (
            [f"{1 + i % 12}/{1 + i // 12 % 12}/2024" for i in range(60)],
            "'1/1/2024', and nothing tells days from months",
        ),
        ([f"{1 + i % 28}/{1 + i % 12}/24" for i in range(60)], "'1/1/24', and years of two digits are not read"),
    ],
)
def test_dates_that_are_taken_for_text_are_told(texts, told):
    day_and_size = pd.DataFrame({"day": texts, "size": np.arange(60.0)})
    with pytest.warns(UserWarning, match=told):
        ssgp.TableEncoder().fit(day_and_size, day_and_size["size"])
    # Said by the user, there is nothing to tell.
    ssgp.TableEncoder(kinds={"day": "category"}).fit(day_and_size, day_and_size["size"])


def test_times_in_a_zone_are_the_same_instants():
    found = reading(["2024-01-01T00:30:00Z", "2024-01-01T02:30:00+02:00"])
    assert found.how == "times with a time zone"
    assert len(set(found.values.to_pylist())) == 1


@pytest.mark.parametrize(
    "texts",
    [
        ["007", "12"],
        ["a", "1"],
        ["1/2/2024", "3/4/2024"],
        ["13/13/2024"],
        ["31/02/2024"],
        ["2024-02-31"],
        ["2024-01-01", "soon"],
        ["nan", "inf"],
        [".", "e5", "+"],
        ["", None],
        ["1", "2", "?"] * 20,
        ["12%", "3"],
        ["0,125", "1,250"],
        ["1,23", "4,56"],
        ["$", "%"],
        ["$3", "-$-3"],
        ["true", "false", "maybe"],
        ["yes", "no"],
        ["2024-01-01 25:00"],
        ["31 Foo 2024"],
        ["1/2/2024 13:05 PM", "13/1/2024"],
    ],
    ids=str,
)
def test_other_text_stays_text(texts):
    assert reading(texts) is None


def test_the_order_is_the_user_s_where_nothing_tells():
    for order, expected in {"dayfirst": datetime(2024, 2, 1), "monthfirst": datetime(2024, 1, 2)}.items():
        assert reading(["1/2/2024"], order).values[0].as_py() == expected


def test_a_few_values_may_be_no_numbers():
    found = reading([*map(str, range(99)), "?"])
    assert (found.n_unreadable, found.n_present, found.example) == (1, 100, "?")
    assert found.values.to_pylist() == [*map(float, range(99)), None]
    assert reading([*map(str, range(90)), *["?"] * 10]) is None


def test_a_few_values_may_be_no_times():
    days = [f"2024-03-{day:02d}" for day in range(1, 31)]
    for texts in (days, [day.replace("-", "/") for day in days]):
        for gap in ("unknown", "0000-00-00", "2024-02-30"):
            found = reading([*texts, gap])
            assert (found.how, found.n_unreadable, found.example) == ("times", 1, gap)
            assert found.values.to_pylist() == [*(datetime(2024, 3, day) for day in range(1, 31)), None]


@pytest.mark.parametrize("order", ["%d/%m/%Y %H:%M:%S", "%Y/%m/%d %I:%M:%S %p", "%d %b %Y %H:%M", "%B %d, %Y %I:%M %p"])
def test_times_are_those_of_pandas(order):
    drawn = np.random.default_rng(0).integers(-(10**9), 3 * 10**9, 500)
    texts = pd.Series(pd.to_datetime(drawn, unit="s")).dt.strftime(order)
    found = reading(texts.tolist())
    assert found.values.to_pylist() == [time.to_pydatetime() for time in pd.to_datetime(texts, format=order)]


def table(order="%Y-%m-%d", seed=0):
    """Dates that are all different, as text in any order, and numbers."""
    rng = np.random.default_rng(seed)
    days: Any = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.permutation(N_ROWS), "D")
    return pd.DataFrame({"day": days.strftime(order), "size": rng.normal(size=N_ROWS).round(3)})


@pytest.mark.parametrize("order", ["%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y"])
def test_a_table_gives_the_same_rows_whichever_way_it_is_read(order):
    text = table(order)
    expected = ssgp.TableEncoder().fit_transform(text.assign(day=pd.to_datetime(text["day"], format=order)))
    encoder = ssgp.TableEncoder()
    np.testing.assert_allclose(encoder.fit_transform(text), expected)
    assert "day: times as day of week on a circle, day of year on a circle, days since" in encoder.describe()
    # Few dates would not tell the order by themselves.
    np.testing.assert_allclose(encoder.transform(text[:3]), expected[:3])


def test_pandas_and_arrow_read_a_csv_alike():
    text = table().to_csv(index=False)
    by_pandas, by_arrow = pd.read_csv(io.StringIO(text)), csv.read_csv(io.BytesIO(text.encode()))
    encoder = ssgp.TableEncoder().fit(by_arrow)
    np.testing.assert_array_equal(encoder.transform(by_arrow), ssgp.TableEncoder().fit_transform(by_pandas))
    np.testing.assert_array_equal(encoder.transform(by_pandas), encoder.transform(by_arrow))


def test_truth_values_are_those_that_readers_of_files_find():
    text = "size,new\n" + "".join(f"{i % 7},{['True', 'false', ''][i % 3]}\n" for i in range(60))
    as_text, by_arrow = pd.read_csv(io.StringIO(text), dtype={"new": str}), csv.read_csv(io.BytesIO(text.encode()))
    encoder = ssgp.TableEncoder().fit(by_arrow)
    np.testing.assert_array_equal(ssgp.TableEncoder().fit_transform(as_text), encoder.transform(by_arrow))
    np.testing.assert_array_equal(encoder.transform(as_text), encoder.transform(by_arrow))


def test_few_values_that_are_no_numbers_are_told_and_missing(tmp_path):
    X = table()
    X["size"] = X["size"].astype(str)
    X.loc[7, "size"] = "?"
    encoder = ssgp.TableEncoder()
    with pytest.warns(UserWarning, match=r"column 'size' is text that reads as numbers, but for 1 of 300.*'\?'"):
        encoded = encoder.fit_transform(X)
    assert encoder.families_["size"] == "numbers"
    assert "1 of 300 missing" in encoder.describe()
    assert encoded[7, -1] == 1.0
    encoder.save(tmp_path / "encoder")
    again = ssgp.load(tmp_path / "encoder")
    assert again.text_columns == encoder.text_columns == ["day", "size"]
    np.testing.assert_array_equal(again.transform(X[:7]), encoded[:7])
    with pytest.raises(ValueError, match=r"column 'size' held numbers in fit and holds text .*, such as"):
        again.transform(X.assign(size="large"))


def test_a_row_alone_has_the_gap_that_it_has_among_others():
    X = table()
    X["size"] = X["size"].astype(str)
    X.loc[7, "size"] = "?"
    encoder = ssgp.TableEncoder()
    with pytest.warns(UserWarning, match="1 of 300"):
        encoder.fit(X)
    with pytest.warns(UserWarning, match="1 of 300"):
        among_others = encoder.transform(X)
    with pytest.warns(UserWarning, match=r"1 of 1.*'\?'"):
        np.testing.assert_array_equal(encoder.transform(X[7:8]), among_others[7:8])
    # Where fit has seen numbers alone, text is refused.
    of_numbers = ssgp.TableEncoder().fit(table())
    with pytest.raises(ValueError, match=r"column 'size' held numbers in fit and holds text .*, such as"):
        of_numbers.transform(X[7:8])


def test_a_row_alone_has_the_gap_of_times_that_it_has_among_others():
    X = table().assign(day=lambda X: X["day"].astype(str))
    X.loc[7, "day"] = "-9"
    encoder = ssgp.TableEncoder()
    with pytest.warns(UserWarning, match="1 of 300"):
        encoder.fit(X)
    with pytest.warns(UserWarning, match="1 of 300"):
        among_others = encoder.transform(X)
    with pytest.warns(UserWarning, match="1 of 1.*'-9'"):
        np.testing.assert_array_equal(encoder.transform(X[7:8]), among_others[7:8])
    # Other ways to write dates are still read.
    np.testing.assert_array_equal(
        encoder.transform(X[8:9].assign(day=pd.Timestamp(str(X["day"][8])))), among_others[8:9]
    )
    with pytest.raises(ValueError, match="column 'day' held times in fit and holds text"):
        encoder.transform(X.assign(day="never"))


def test_a_choice_of_kind_comes_first():
    X = pd.DataFrame({"code": [str(i % 4) for i in range(40)]})
    assert ssgp.TableEncoder().fit(X).families_ == {"code": "numbers"}
    encoder = ssgp.TableEncoder(kinds={"code": "category"}).fit(X)
    assert encoder.describe() == "code: 4 categories, one feature each"


class TestOrder:
    @pytest.fixture
    def grades(self):
        return pd.DataFrame({"grade": pd.Categorical(list("bacb") * 10, ["c", "b", "a", "z"], ordered=True)})

    def test_is_kept(self, grades, tmp_path):
        encoder = ssgp.TableEncoder().fit(grades)
        assert encoder.describe() == "grade: 4 categories as their places in the order"
        assert encoder.transform(grades)[:4, 0].tolist() == [1.0, 2.0, 0.0, 1.0]
        new = pd.DataFrame({"grade": ["z", "a", None, "new"]})
        assert encoder.encoded(new)[:, 0].tolist() == [3.0, 2.0, 1.0, 1.0]
        encoder.save(tmp_path / "encoder")
        np.testing.assert_array_equal(ssgp.load(tmp_path / "encoder").transform(grades), encoder.transform(grades))

    def test_has_gaps(self, grades):
        grades.loc[:3, "grade"] = None
        encoder = ssgp.TableEncoder().fit(grades)
        assert encoder.get_feature_names_out().tolist() == ["grade", "grade_missing"]
        assert encoder.transform(grades)[3:5].tolist() == [[1.0, 1.0], [1.0, 0.0]]

    def test_may_be_left_aside(self, grades):
        encoder = ssgp.TableEncoder(kinds={"grade": "category"}).fit(grades)
        assert encoder.describe() == "grade: 3 categories, one feature each"

    def test_that_says_nothing_is_dropped(self, grades):
        both = grades.assign(size=np.arange(40.0))
        both["grade"] = pd.Categorical(["b"] * 40, ["c", "b"], ordered=True)
        assert "grade: dropped: always 'b'" in ssgp.TableEncoder().fit(both).describe()
