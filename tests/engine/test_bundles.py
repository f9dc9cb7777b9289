"""Bundles of arrays by address: what compiled functions read and write through them is what Python sees."""

import sys
from typing import NamedTuple

import numpy as np
import pytest

from hdeeprm_like.engine.bundles import bundle, first_row, moved
from hdeeprm_like.engine.compiled import compiled, compiled_with_memory

POINT = np.dtype([("x", "f8"), ("n", "i4")], align=True)


@bundle("names")
class Inner(NamedTuple):
    points: np.ndarray
    names: np.ndarray


@bundle()
class Outer(NamedTuple):
    inner: Inner
    sums: np.ndarray
    number: int


def outer(*rows):
    return Outer(Inner(np.zeros((*rows, 4), POINT), np.arange(3.0)), np.zeros((*rows, 2)), 5)


@compiled
def fill(inner: Inner, value: float) -> None:
    for i in range(len(inner.points)):
        inner.points[i].x = value + i
        inner.points[i].n = i


@compiled
def add_up(o: Outer) -> float:
    fill(o.inner, 10.0)
    fill(o.inner, 20.0)  # what was read before is read again
    for point in o.inner.points:
        o.sums[0] += point.x
        o.sums[1] += point.n
    return o.sums[0] + o.inner.names[2] + o.number


@compiled
def add_up_each(o: Outer, low: int, high: int) -> float:
    row, total = first_row(o), 0.0
    for i in range(low, high):
        row = moved(row, o, i)
        row.sums[1] = 100.0 * i
        total += row.sums[0] + row.inner.points[3].x + row.inner.names[1]
        fill(row.inner, float(i))
    return total


@compiled_with_memory
def largest(o: Outer) -> float:
    return float(np.sort(o.sums)[-1])


def test_functions_hand_on_what_python_gave_them():
    o = outer()
    assert add_up(o) == 20.0 + 21.0 + 22.0 + 23.0 + 2.0 + 5.0
    assert o.sums.tolist() == [86.0, 6.0]
    assert o.inner.points["x"].tolist() == [20.0, 21.0, 22.0, 23.0]
    assert add_up(o) == 2 * 86.0 + 7.0
    assert largest(o) == 172.0


def test_a_row_is_a_view_of_its_own_part_and_of_all_that_is_shared():
    many = outer(3)
    many.sums[:, 0] = 1.0, 2.0, 3.0
    assert add_up_each(many, 1, 3) == 2.0 + 3.0 + 2.0
    assert many.sums.tolist() == [[1.0, 0.0], [2.0, 100.0], [3.0, 200.0]]
    assert many.inner.points["x"].tolist() == [[0.0] * 4, [1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 5.0]]
    assert add_up_each(many, 1, 3) == 2.0 + 3.0 + 2.0 + 4.0 + 5.0


def test_rows_may_lie_apart():
    many = outer(6)
    apart = Outer(Inner(many.inner.points[::2], many.inner.names), many.sums[::2], 5)
    add_up_each(apart, 0, 3)
    assert many.sums[:, 1].tolist() == [0.0, 0.0, 100.0, 0.0, 200.0, 0.0]


def test_the_memory_of_arrays_is_let_go():
    sums = np.zeros(2)
    o = Outer(Inner(np.zeros(4, POINT), np.zeros(3)), sums, 5)
    before = sys.getrefcount(sums)
    for _ in range(10):
        add_up(o)
        largest(o)
    assert sys.getrefcount(sums) == before


def test_an_unknown_attribute_is_refused():
    @compiled
    def wrong(o: Outer) -> float:
        return o.nothing

    with pytest.raises(Exception, match="Unknown attribute 'nothing'"):
        wrong(outer())
