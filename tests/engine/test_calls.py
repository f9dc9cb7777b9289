"""Compiled functions that are called by address."""

import os
import subprocess
import sys

import numpy as np
import pytest

from hdeeprm_like.engine.bundles import Bundle, bundle_in, several
from hdeeprm_like.engine.calls import NOWHERE, address_of, call_at, number_at
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.types import Floats, Ints


class Numbers(Bundle):
    values: Ints


class Halves(Bundle):
    values: Floats


class Holder(Bundle, opaque=("held", "all")):
    held: Bundle
    all: Bundle
    calls: Ints


@compiled
def put_double(numbers: Numbers, factor: int) -> None:
    for i in range(len(numbers.values)):
        numbers.values[i] *= 2 * factor


@compiled
def sum_of(numbers: Numbers, factor: int) -> int:
    total = 0
    for i in range(len(numbers.values)):
        total += numbers.values[i] * factor
    return total


@compiled
def sum_of_halves(halves: Halves, factor: int) -> int:
    return int(2.0 * halves.values[0]) * factor


@compiled
def call_both(holder: Holder, factor: int) -> int:
    call_at(holder.calls[0], holder.held, factor)
    return number_at(holder.calls[1], holder.held, factor)


@compiled
def call_each(holder: Holder, count: int) -> int:
    total = 0
    for number in range(count):
        total += number_at(holder.calls[number], bundle_in(holder.all, number), 1)
    return total


@compiled
def entry_at(numbers: Numbers, place: int) -> int:
    return numbers.values[place]


@compiled
def through(holder: Holder, place: int) -> int:
    return number_at(holder.calls[0], holder.held, place)


def numbers(*values):
    return Numbers(np.array(values))


def test_a_function_at_an_address_does_and_returns_what_it_does_when_called():
    held = numbers(1, 2, 3)
    calls = np.array([address_of(put_double, held, 0), address_of(sum_of, held, 0)])
    assert call_both(Holder(held, several([]), calls), 5) == (10 + 20 + 30) * 5
    assert held.values.tolist() == [10, 20, 30]


def test_one_caller_calls_functions_on_bundles_of_different_types():
    parts = [numbers(3, 4), Halves(np.array([1.5])), numbers(8)]
    functions = [sum_of, sum_of_halves, sum_of]
    calls = np.array([address_of(function, part, 0) for function, part in zip(functions, parts, strict=True)])
    assert call_each(Holder(numbers(), several(parts), calls), 3) == 3 + 4 + 3 + 8


def test_a_bundle_has_the_same_type_whatever_it_holds_opaquely():
    calls = np.array([NOWHERE])
    one, other = (Holder(held, several([held]), calls) for held in (numbers(1), Halves(np.ones(1))))
    assert one.layout is other.layout
    one.held = Halves(np.ones(2))
    with pytest.raises(TypeError, match="another kind"):
        one.calls = np.ones(1)


OUT_OF_BOUNDS = """
import sys
sys.path.insert(0, "tests")
from engine.test_calls import *
held = numbers(1, 2)
holder = Holder(held, several([]), np.array([address_of(entry_at, held, 0)]))
print(through(holder, 1))
for read in (lambda: entry_at(held, 2), lambda: entry_at(held, -1), lambda: through(holder, 2)):
    try:
        read()
    except IndexError as error:
        print(error)
"""


# a process that compiles; CI runs all of tests/engine with checked indices
@pytest.mark.more
def test_an_index_out_of_bounds_is_an_error_where_indices_are_checked_behind_an_address_too(tmp_path):
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "HDEEPRM_LIKE_CACHE": str(tmp_path)}
    command = [sys.executable, "-W", "ignore", "-c", OUT_OF_BOUNDS]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.splitlines()[0::3] == ["2", "an index of compiled code is out of bounds"]
    assert len(done.stdout.splitlines()) == 4
