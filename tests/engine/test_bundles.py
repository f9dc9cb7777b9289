"""Bundles of arrays by address: what compiled functions read and write through them is what Python sees."""

from dataclasses import dataclass

import numpy as np
import pytest

from hdeeprm_like.engine.bundles import Bundle, at_address, bundled, part
from hdeeprm_like.engine.compiled import compiled, inlined

POINT = np.dtype([("x", "f8"), ("n", "i4")], align=True)


class Inner(Bundle, shared=("names",)):
    points: np.ndarray
    names: np.ndarray


class Outer(Bundle):
    inner: Inner
    sums: np.ndarray
    table: np.ndarray


def outer(points=4):
    return Outer(Inner(np.zeros(points, POINT), np.arange(3.0)), np.zeros(2), np.zeros((2, 3), np.int32))


@dataclass(frozen=True, eq=False)
class Roads:
    lengths: np.ndarray
    closed: np.ndarray


def test_what_is_written_under_one_name_is_read_under_another():
    points, sums = np.zeros(2, POINT), np.ones(1)
    points["x"] = 2.0, 1000.0
    assert read_again(Twice(points, points, sums, sums)) == (2.0 + 1.0) + (10.0 + 100.0) + 1000.0


def test_a_dataclass_of_arrays_becomes_a_bundle_that_all_rows_share():
    roads = Roads(np.arange(6.0)[::2], np.array([True, False, True]))
    found = bundled(roads)
    assert isinstance(found, Bundle)
    assert dict(found.fields()).keys() == {"lengths", "closed"} == set(found.shared)
    assert list(found.lengths) == [0.0, 2.0, 4.0]
    assert list(found.closed) == [True, False, True]
    assert type(bundled(roads)) is type(found)


@inlined
def fill(inner: Inner, value: float) -> None:
    for i in range(len(inner.points)):
        inner.points[i].x = value + i
        inner.points[i].n = i


@compiled
def add_up(o: Outer) -> float:
    fill(o.inner, 10.0)
    fill(o.inner, 20.0)  # what was read before is read again
    for i in range(len(o.inner.points)):
        o.sums[0] += o.inner.points[i].x
        o.sums[1] += o.inner.points[i].n
    o.inner.points[0] = o.inner.points[3]
    o.table[1, 2] = 7
    row = o.table[1]
    row[0] = len(row)
    return o.sums[0] + o.inner.names[2]


@compiled
def sum_of_part(o: Outer, first: int, end: int) -> float:
    total, piece = 0.0, part(o.sums, first, end)
    for i in range(len(piece)):
        total += piece[i]
    return total


class Twice(Bundle):
    points: np.ndarray
    same_points: np.ndarray
    sums: np.ndarray
    same_sums: np.ndarray


@compiled
def read_again(t: Twice) -> float:
    before = t.points[0].x + t.sums[0]
    t.same_points[0].x = 10.0
    t.same_sums[0] = 100.0
    found = before + t.points[0].x + t.sums[0]
    t.same_points[0] = t.points[1]
    return found + t.points[0].x


@compiled
def sum_of_each(like: Outer, addresses: np.ndarray) -> float:
    total = 0.0
    for i in range(len(addresses)):
        total += at_address(like, addresses[i]).sums[0]
    return total


def test_functions_hand_on_what_python_gave_them():
    o = outer()
    assert add_up(o) == 20.0 + 21.0 + 22.0 + 23.0 + 2.0
    assert o.sums.tolist() == [86.0, 6.0]
    assert o.inner.points.tolist() == [(23.0, 3), (21.0, 1), (22.0, 2), (23.0, 3)]
    assert o.table.tolist() == [[0, 0, 0], [3, 0, 7]]
    assert sum_of_part(o, 1, 2) == 6.0
    assert sum_of_part(o, 0, 2) == 92.0


def test_an_array_may_be_replaced_by_a_longer_one_of_its_kind():
    o = outer()
    o.inner.points = np.zeros(5, POINT)
    add_up(o)
    assert o.sums.tolist() == [110.0, 10.0]
    with pytest.raises(TypeError, match="another kind"):
        o.sums = np.zeros(2, np.float32)
    with pytest.raises(AttributeError, match="no array 'sum'"):
        o.sum = np.zeros(2)


def test_bundles_are_found_by_their_addresses():
    some = [outer() for _ in range(3)]
    for number, one in enumerate(some):
        one.sums[0] = 10.0**number
    assert sum_of_each(some[0], np.array([one.address for one in some])) == 111.0


def test_all_arrays_are_needed_and_must_have_no_gaps():
    with pytest.raises(TypeError, match="takes points, names"):
        Inner(np.zeros(4, POINT))
    with pytest.raises(TypeError, match="without gaps"):
        Inner(np.zeros(4, POINT)[::2], np.zeros(3))


def test_an_unknown_field_is_refused():
    @compiled
    def wrong(o: Outer) -> float:
        return o.nothing

    with pytest.raises(Exception, match="attribute 'nothing'"):
        wrong(outer())
