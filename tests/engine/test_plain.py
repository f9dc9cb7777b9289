"""Compiled functions as plain Python compute what machine code computes, also where Python itself would not."""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hdeeprm_like.engine import plain
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.plain_divisions import as_compiled

ROOT = Path(__file__).parents[2]
ENTRY = np.dtype([("few", "i1"), ("key", "f8", (2, 3)), ("on", "?"), ("n", "i4"), ("flops", "f8", (2,))], align=True)
NUMBERS = (0.0, -0.0, 1.0, -2.5, 1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan)
WHOLES = (0, 1, -1, 7, -7, 2**31, -(2**62))


def quotient(a: float, b: float) -> float:
    return a / b


def power(a: float, b: float) -> float:
    return a**b


def remainder(a: float, b: float) -> float:
    return a % b


def whole(a: int, b: int) -> int:
    return a // b


def shared(values: np.ndarray, by: float) -> None:
    values[1] /= by


def times(factor):
    def scaled(a: float, b: float) -> float:
        """Scale."""
        return factor * (a / b)

    return scaled


@pytest.fixture
def silent():
    """As where plain Python is on."""
    with np.errstate(all="ignore"):
        yield


def same(found, wanted):
    return (math.isnan(found) and math.isnan(wanted)) or (found, math.copysign(1.0, found)) == (
        wanted,
        math.copysign(1.0, wanted),
    )


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize(
    ("function", "numbers"),
    [(quotient, NUMBERS), (power, NUMBERS), (remainder, NUMBERS), (quotient, WHOLES), (whole, WHOLES)],
)
def test_quotients_powers_and_remainders_are_those_of_machine_code(function, numbers):
    in_python, machine = as_compiled(function), compiled(function)
    pairs = [(a, b) for a in numbers for b in numbers]
    assert [pair for pair in pairs if not same(in_python(*pair), machine(*pair))] == []


@pytest.mark.usefixtures("silent")
def test_a_division_in_place_and_one_in_an_inner_function_are_too():
    values = np.array([1.0, -3.0]).view(plain.Column)
    as_compiled(shared)(values, 0.0)
    assert values.tolist() == [1.0, -math.inf]
    assert as_compiled(times(2.0))(1.0, 0.0) == math.inf
    assert as_compiled(times(2.0)).__doc__ == "Scale."


def test_a_function_without_divisions_is_left_alone_and_lines_are_those_of_the_file():
    assert as_compiled(same) is same
    made = as_compiled(quotient).__code__
    assert (made.co_filename, {line for _, _, line in made.co_lines() if line}) == (
        __file__,
        {quotient.__code__.co_firstlineno, quotient.__code__.co_firstlineno + 1},
    )


@given(
    kind=st.sampled_from(["i1", "i4", "i8", "u1", "f4", "f8", "?"]),
    shape=st.sampled_from([(5,), (2, 3)]),
    data=st.data(),
)
def test_entries_of_a_column_are_those_of_the_array_as_numbers_of_python(kind, shape, data):
    array = np.zeros(shape, kind)
    column = plain.column(array)
    places = list(np.ndindex(shape))
    for place in data.draw(st.lists(st.sampled_from(places), max_size=4)):
        value = data.draw(st.integers(0, 1) if kind == "?" else st.integers(0, 100))
        column[place if len(shape) > 1 else place[0]] = value
    for place in places:
        entry = column[place if len(shape) > 1 else place[0]]
        assert entry == array[place]
        assert type(entry) is {"b": bool, "f": float}.get(array.dtype.kind, int)


def test_a_column_is_shown_as_any_array():
    array = np.array([0.1, 0.3], np.float32)
    assert (str(plain.column(array)), repr(plain.column(array))) == (str(array), repr(array))


@pytest.mark.parametrize("reduce", [np.max, np.sum, np.mean, np.any, np.argmin, np.median, np.ndarray.max])
def test_a_reduction_of_a_column_is_a_number_as_of_any_array(reduce):
    rows = plain.column(np.array([(1, 7.0), (2, 3.0)], [("n", "i8"), ("x", "f8")]))
    for values in (plain.column(np.array([3.0, 1.0, 2.0])), rows["n"], rows["x"], plain.column(np.eye(2))):
        found, expected = reduce(values), reduce(np.array(values))
        assert isinstance(found, np.generic)
        assert {found} == {expected}
    assert isinstance(rows["x"] + 1.0, plain.Column)


def test_words_without_a_sign_stay_words_that_wrap_around():
    column = plain.column(np.array([2**63 + 1], np.uint64))
    with np.errstate(all="ignore"):
        assert column[0] + column[0] == 2
        column[0] += column[0]
    assert column[0] == 2


@pytest.mark.parametrize("shape", [(4,), (2, 2)], ids=str)
def test_rows_are_the_memory_of_the_array(shape):
    array = np.zeros(shape, ENTRY)
    rows = plain.column(array)
    last = tuple(np.array(shape) - 1) if len(shape) > 1 else shape[0] - 1
    row = rows[last]
    row.few, row.on, row.n, row.key[1, 2], row.flops[1] = 3, True, -7, 2.5, 4.0
    assert array[last]["key"].tolist() == [[0.0, 0.0, 0.0], [0.0, 0.0, 2.5]]
    assert (row["n"], array[last]["few"], array[last]["on"], array[last]["flops"].tolist()) == (-7, 3, True, [0.0, 4.0])
    assert (type(row.n), type(row.on), type(row.key[1, 2])) == (int, bool, float)
    first = (0,) * len(shape) if len(shape) > 1 else 0
    rows[first] = row
    row.n = 8
    assert (array[first]["n"], array[last]["n"]) == (-7, 8)


def test_fields_slices_and_parts_of_rows_are_columns_again():
    rows = plain.column(np.zeros(4, ENTRY))
    rows[2].n = 5
    assert rows["n"][2] == 5
    assert type(rows["n"][2]) is int
    assert rows[1:][1].n == 5
    assert plain.column(np.zeros(0, ENTRY))[:0].size == 0
    assert plain.column(np.arange(6).reshape(2, 3))[1][2] == 5


@pytest.mark.parametrize(
    ("array", "index"),
    [(np.zeros(3), 3), (np.zeros((2, 3)), (1, 3)), (np.zeros(3, ENTRY), 3), (np.zeros((2, 2), ENTRY), (0, 2))],
    ids=["column", "table", "rows", "table of rows"],
)
def test_an_index_out_of_bounds_is_an_error(array, index):
    with pytest.raises(IndexError):
        plain.column(array)[index]


def test_so_is_one_in_a_field_and_a_field_that_is_not_there():
    row = plain.column(np.zeros(1, ENTRY))[0]
    for read in (lambda: row.key[0, 3], lambda: row.key[2, 0], lambda: row.flops[2]):
        with pytest.raises(IndexError):
            read()
    with pytest.raises(AttributeError):
        row.size = 1


IN_A_DEBUGGER = """
import sys
from hdeeprm_like.engine import splitmix64
import numpy as np
lines = []
def trace(frame, event, argument):
    if frame.f_code.co_filename == splitmix64.__file__:
        lines.append(frame.f_lineno)
    return trace
sys.settrace(trace)
splitmix64.draw_below(np.array([7], np.uint64), 0, 10)
sys.settrace(None)
print(len(set(lines)) >= 6)
"""


def test_a_debugger_stops_in_each_line():
    environment = {**os.environ, "HDEEPRM_LIKE_PYTHON": "1"}
    done = subprocess.run([sys.executable, "-c", IN_A_DEBUGGER], capture_output=True, text=True, env=environment)
    assert done.stdout == "True\n", done.stderr
