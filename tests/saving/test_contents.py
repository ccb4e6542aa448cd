"""Rules of what stored objects may hold."""

import numpy as np
import pytest

from ssgp.saving.contents import (
    Contents,
    ContentsError,
    array,
    either,
    fixed_tuple,
    flag,
    integer,
    json_value,
    labels,
    list_of,
    made_of,
    mapping_of,
    number,
    optional,
    plain,
    record,
    strings,
    text,
    tuple_of,
)

FLOATS = np.arange(6.0).reshape(2, 3)


class Box:
    """Something that is built before by rules of its own."""

    def __init__(self, n_sides):
        self.n_sides = n_sides


ALLOWED = [
    (array("float64", "n", "d"), FLOATS),
    (array(("float32", "float64"), 2, "d", least=0.0, most=5.0), FLOATS),
    (array("float64", "n", finite=False), np.array([np.nan, np.inf])),
    (array("float64", "n"), np.empty(0)),
    (array("bool", "n"), np.array([True])),
    (strings("n"), np.array(["a", ""])),
    (strings("n"), np.array(["a", "bc"], object)),
    (labels("n"), np.array(["2020-01-01"], "M8[D]")),
    (labels("n"), np.array([1, "a", None], object)),
    (integer(), 3),
    (integer(-1, 1), np.int64(-1)),
    (number(0.0), 0.5),
    (number(or_whole=True), 3),
    (number(0.0, finite=False), float("inf")),
    (number(), np.float32(1.0)),
    (flag, True),
    (text(), "anything"),
    (text("a", "b"), "b"),
    (optional(integer()), None),
    (optional(integer()), 1),
    (either(text(), integer()), 4),
    (list_of(integer(), least=1), [1, 2]),
    (tuple_of(text()), ()),
    (fixed_tuple(integer(), text()), (1, "a")),
    (mapping_of(number()), {"a": 1.0}),
    (record(a=integer(), b=text()), {"b": "", "a": 1}),
    (plain, [1, "a", (None, 2.5)]),
    (plain, np.arange(3)),
    (json_value(2), [{"a": 1}]),
]
REFUSED = [
    (array("float64", "n"), FLOATS),
    (array("float64", "n", "d"), FLOATS.astype(int)),
    (array("float64", "n", "n"), FLOATS),
    (array("float64", 3, "d"), FLOATS),
    (array("float64", "n", "d", least=0.5), FLOATS),
    (array("float64", "n", "d", most=4.5), FLOATS),
    (array("float64", "n"), np.array([1.0, np.nan])),
    (array("float64", "n"), np.array([1.0, -np.inf])),
    (array("float64", "n"), [1.0]),
    (array("float64"), 1.0),
    (strings("n"), np.array(["a", 1], object)),
    (strings("n"), np.array([["a"]])),
    (labels("n"), np.zeros((2, 2))),
    (strings("n"), np.array(["\ud800"], object)),
    (text(), "\ud800"),
    (number(or_whole=True), 10**400),
    (json_value(1), [[1]]),
    (integer(), -1),
    (integer(), True),
    (integer(), 1.0),
    (integer(0, 5), 6),
    (integer(), "3"),
    (number(), 1),
    (number(), float("nan")),
    (number(), float("inf")),
    (number(0.0, 1.0), 1.5),
    (number(or_whole=True), False),
    (number(0.0, finite=False), float("nan")),
    (flag, 1),
    (text("a", "b"), "c"),
    (text(), None),
    (optional(integer()), "a"),
    (either(text(), integer()), 4.0),
    (list_of(integer()), (1,)),
    (list_of(integer(), least=1), []),
    (list_of(integer(), most=1), [1, 2]),
    (tuple_of(text()), ("a", 1)),
    (fixed_tuple(integer(), text()), (1,)),
    (mapping_of(number()), {"a": "b"}),
    (mapping_of(number()), [1.0]),
    (record(a=integer()), {"a": 1, "b": 2}),
    (record(a=integer()), {}),
    (record(a=integer()), 5),
    (made_of(Box), object()),
    (plain, object()),
    (plain, [object()]),
    (plain, np.array([object()])),
]


@pytest.mark.parametrize(("rule", "value"), ALLOWED, ids=range(len(ALLOWED)))
def test_allowed(rule, value):
    rule(value, {})


@pytest.mark.parametrize(("rule", "value"), REFUSED, ids=range(len(REFUSED)))
def test_refused(rule, value):
    with pytest.raises(ContentsError):
        rule(value, {})


def test_sizes_of_one_name_are_one_size_in_all_parts():
    contents = Contents(
        {
            "X": array("float64", "n", "d"),
            "names": strings("d"),
            "n_inputs": integer(size="d"),
            "box": made_of(Box, n=lambda box: box.n_sides),
        }
    )
    parts = {"X": FLOATS, "names": np.array(["a", "b", "c"]), "n_inputs": 3, "box": Box(2)}
    contents.check(parts)
    for other in ({"names": np.array(["a"])}, {"n_inputs": 2}, {"box": Box(3)}, {"X": FLOATS.T}):
        with pytest.raises(ContentsError, match="as elsewhere"):
            contents.check({**parts, **other})


def test_a_rule_that_does_not_hold_leaves_no_size_behind():
    rule, sizes = either(fixed_tuple(array("float64", "n"), text()), array("float64", "n")), {}
    rule(np.zeros(4), sizes)
    assert sizes == {"n": 4}
    rule = either(fixed_tuple(array("float64", "n"), text()), fixed_tuple(array("float64", "k"), integer()))
    rule((np.zeros(5), 1), sizes)
    assert sizes == {"n": 4, "k": 5}


def test_errors_name_the_part_and_what_was_found():
    contents = Contents({"trees": tuple_of(record(depth=integer(1, 9)))})
    with pytest.raises(ContentsError, match=r"trees: 1: depth: must be a whole number from 1 to 9, found int 12"):
        contents.check({"trees": ({"depth": 3}, {"depth": 12})})


def test_relations_see_parts_that_agree_with_their_rules():
    seen = []

    def related(parts):
        seen.append(parts)
        yield parts.low < parts.high, "low must be below high"

    contents = Contents({"low": number()}, {"high": number()}, related)
    contents.check({"low": 1.0, "high": 2.0})
    with pytest.raises(ContentsError, match="low must be below high"):
        contents.check({"low": 3.0, "high": 2.0})
    with pytest.raises(ContentsError, match="low: must be a number"):
        contents.check({"low": "3", "high": 2.0})
    assert len(seen) == 2
