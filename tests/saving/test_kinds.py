"""How classes say what files hold of them."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from ssgp.saving.contents import Contents, ContentsError, integer, list_of, text
from ssgp.saving.kinds import Kind, Kinds, kind_of, stored, stored_by


@stored({"width": integer(), "tags": list_of(text())})
@dataclass
class Plain:
    width: int
    tags: list = field(default_factory=lambda: ["none"])


@stored(
    {"length": integer(), "lanes": integer(1, 8)},
    name="Road",
    relations=lambda parts: [(parts.lanes is None or parts.lanes <= parts.length, "streets are longer than wide")],
    renamed={"length": "long"},
    removed={"colour": "grey"},
    caches={"twice": integer()},
)
@dataclass
class Street:
    length: int
    lanes: int = 2

    @cached_property
    def twice(self):
        return 2 * self.length


class Box:
    """No dataclass, and its constructor is not to be called."""

    def __init__(self):
        raise AssertionError("not like this")


def make_box(parts):
    box = object.__new__(Box)
    vars(box).update(parts)
    return box


stored_by(lambda box: {"inside": box.inside}, make_box, Contents({"inside": integer()}))(Box)


class Stranger(Plain):
    """Does not say itself how it is stored."""


def kind(cls) -> Kind:
    found = kind_of(cls)
    assert found is not None
    return found


class TestDataclass:
    def test_has_its_fields_as_parts_and_its_own_name(self):
        assert kind(Plain).name == "Plain"
        assert kind(Plain).parts(Plain(3, ["a"])) == {"width": 3, "tags": ["a"]}
        assert kind(Plain).build({"width": 3, "tags": ["a"]}) == Plain(3, ["a"])

    def test_has_other_names_in_files_where_it_says_so(self):
        assert kind(Street).name == "Road"
        assert kind(Street).parts(Street(5)) == {"long": 5, "lanes": 2, "colour": "grey"}
        assert kind(Street).build({"long": 5, "lanes": 3, "colour": "grey"}) == Street(5, 3)

    def test_has_its_defaults_for_parts_that_a_file_does_not_have(self):
        assert kind(Street).build({"long": 5}) == Street(5, 2)
        assert kind(Plain).build({"width": 1}) == Plain(1, ["none"])

    def test_refuses_what_it_can_no_longer_be(self):
        with pytest.raises(ContentsError, match=r"Road: colour: 'red' has no effect any more"):
            kind(Street).build({"long": 5, "colour": "red"})

    @pytest.mark.parametrize(
        ("parts", "said"),
        [
            ({}, "Plain: there is no 'width'"),
            ({"width": 1, "height": 2}, "Plain: 'height' is unknown"),
            ({"width": "1"}, "Plain: width: must be a whole number from 0 .* found str '1'"),
        ],
        ids=["too few", "too many", "another type"],
    )
    def test_refuses_other_parts_than_it_has(self, parts, said):
        with pytest.raises(ContentsError, match=said):
            kind(Plain).build(parts)

    def test_refuses_parts_that_do_not_go_together(self):
        with pytest.raises(ContentsError, match="Road: streets are longer than wide"):
            kind(Street).build({"long": 1, "lanes": 2})

    def test_takes_its_caches_along_where_they_were_computed(self):
        street = Street(5)
        assert "twice" not in kind(Street).parts(street)
        assert street.twice == 10
        assert kind(Street).parts(street)["twice"] == 10
        # Not what would be computed, to see that it is not.
        assert kind(Street).build({"long": 5, "twice": 11}).twice == 11


def test_any_class_may_say_how_it_is_taken_apart_and_built():
    box = make_box({"inside": 7})
    assert kind(Box).name == "Box"
    assert kind(Box).build(dict(kind(Box).parts(box))).inside == 7


def test_a_subclass_of_a_stored_class_is_not_stored():
    assert kind_of(Stranger) is None
    assert kind_of(int) is None


class TestKinds:
    def test_are_found_by_their_names_in_files(self):
        kinds = Kinds([Plain, Street]).by_name
        assert kinds["Plain"] is kind(Plain)
        assert kinds["Road"] is kind(Street)
        assert "Street" not in kinds
        assert "Box" not in kinds

    def test_have_those_of_other_libraries_that_models_need_and_no_more(self):
        assert set(Kinds([]).by_name) == {
            "Pipeline",
            "cKDTree",
            "Generator",
            "RandomState",
            "GaussianProcessRegressor",
        }

    def test_of_classes_that_do_not_say_how_they_are_stored_are_refused_by_name(self):
        with pytest.raises(TypeError, match=r"do not say how they are stored: Stranger, int$"):
            Kinds([Plain, Stranger, int])


@pytest.mark.parametrize("cls", [np.random.default_rng, np.random.RandomState], ids=["Generator", "RandomState"])
def test_random_numbers_go_on_where_they_were(cls):
    source = cls(5)
    source.normal(size=3)
    again = kind(type(source)).build(dict(kind(type(source)).parts(source)))
    np.testing.assert_array_equal(again.normal(size=4), source.normal(size=4))


def test_a_pipeline_has_its_own_steps_again_and_no_memory():
    step = BaseEstimator()
    pipeline = Pipeline([("nothing", step)], verbose=True, memory="some/folder")
    parts = dict(kind(Pipeline).parts(pipeline))
    assert kind(Pipeline).build(parts).get_params() == {**pipeline.get_params(), "memory": None}
    assert kind(Pipeline).build({**parts, "memory": "some/folder"}).memory is None
