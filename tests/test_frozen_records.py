"""Records behave as frozen dataclasses do."""

from typing import ClassVar

import pytest

from hdeeprm_like.records import Record


class Point(Record):
    axes: ClassVar[int] = 2

    x: float
    y: float = 0.0


class Named(Point):
    y: float = 1.0
    name: str = ""


def test_fields_are_set_in_their_order_or_by_name_and_have_the_defaults_of_the_class():
    assert (Point(3.0).x, Point(3.0).y, Point(y=2.0, x=1.0).y) == (3.0, 0.0, 2.0)
    assert (Named(3.0).y, Named(3.0, 4.0, "a").name) == (1.0, "a")


@pytest.mark.parametrize(
    ("values", "named"), [((), {}), ((1.0, 2.0, 3.0), {}), ((1.0,), {"x": 2.0}), ((1.0,), {"z": 2.0})]
)
def test_missing_superfluous_doubled_and_unknown_values_are_refused(values, named):
    with pytest.raises(TypeError, match="Point: fields x, y"):
        Point(*values, **named)


def test_equal_records_have_one_class_and_equal_fields():
    assert Point(1.0) == Point(1.0, 0.0)
    assert hash(Point(1.0)) == hash(Point(1.0, 0.0))
    assert Point(1.0) != Point(2.0)
    assert Point(1.0, 1.0) != Named(1.0)
    assert repr(Named(1.0)) == "Named(x=1.0, y=1.0, name='')"


def test_a_record_does_not_change_but_can_be_replaced():
    point = Named(1.0, name="a")
    with pytest.raises(AttributeError, match="Named: x cannot be changed"):
        point.x = 2.0
    assert point.replaced(x=2.0) == Named(2.0, name="a")
    assert point == Named(1.0, name="a")


def test_the_names_of_the_fields_begin_with_those_of_the_base_class():
    assert (Point.names(), Named.names()) == (("x", "y"), ("x", "y", "name"))
