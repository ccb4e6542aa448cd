"""How classes say what files hold of them."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from ssgp.saving.kinds import Kind, Kinds, kind_of, stored, stored_by


@stored()
@dataclass
class Plain:
    width: int
    tags: list = field(default_factory=lambda: ["none"])


@stored("Road", renamed={"length": "long"}, removed={"colour": "grey"}, caches=("twice",))
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


stored_by(lambda box: {"inside": box.inside}, make_box)(Box)


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
        assert kind(Plain).make({"width": 3, "tags": ["a"]}) == Plain(3, ["a"])

    def test_has_other_names_in_files_where_it_says_so(self):
        assert kind(Street).name == "Road"
        assert kind(Street).parts(Street(5)) == {"long": 5, "lanes": 2, "colour": "grey"}
        assert kind(Street).make({"long": 5, "lanes": 3, "colour": "grey"}) == Street(5, 3)

    def test_has_its_defaults_for_parts_that_a_file_does_not_have(self):
        assert kind(Street).make({"long": 5}) == Street(5, 2)
        assert kind(Plain).make({"width": 1}) == Plain(1, ["none"])

    def test_refuses_what_it_can_no_longer_be(self):
        with pytest.raises(ValueError, match="Street has no colour any more"):
            kind(Street).make({"long": 5, "colour": "red"})

    @pytest.mark.parametrize("parts", [{}, {"width": 1, "height": 2}], ids=["too few", "too many"])
    def test_refuses_other_parts_than_it_has(self, parts):
        with pytest.raises(TypeError):
            kind(Plain).make(parts)

    def test_takes_its_caches_along_where_they_were_computed(self):
        street = Street(5)
        assert "twice" not in kind(Street).parts(street)
        assert street.twice == 10
        assert kind(Street).parts(street)["twice"] == 10
        # Not what would be computed, to see that it is not.
        assert kind(Street).make({"long": 5, "twice": 11}).twice == 11


def test_any_class_may_say_how_it_is_taken_apart_and_built():
    box = make_box({"inside": 7})
    assert kind(Box).name == "Box"
    assert kind(Box).make(dict(kind(Box).parts(box))).inside == 7


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
    again = kind(type(source)).make(dict(kind(type(source)).parts(source)))
    np.testing.assert_array_equal(again.normal(size=4), source.normal(size=4))


def test_a_pipeline_has_its_own_steps_again():
    pipeline = Pipeline([("nothing", "passthrough")], verbose=True)
    again = kind(Pipeline).make(dict(kind(Pipeline).parts(pipeline)))
    assert again.get_params() == pipeline.get_params()
