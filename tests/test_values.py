"""Kinds of numbers: what belongs to one, and the one form of message for what does not."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hdeeprm_like.errors import OptionsError
from hdeeprm_like.values import COUNT, FRACTION, POSITIVE, Number, Whole, shown

anything = st.one_of(
    st.floats(), st.integers(), st.booleans(), st.none(), st.text(max_size=3), st.lists(st.integers(), max_size=2)
)
bounds = st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)).map(sorted)


@given(anything | st.floats(-2.0, 2.0), bounds | st.just([0.0, 1.0]), st.booleans(), st.booleans())
def test_a_value_belongs_to_a_kind_if_it_is_a_finite_number_between_the_bounds(value, ends, above, below):
    least, most = ends
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    belongs = number and (least < value if above else least <= value) and (value < most if below else value <= most)
    assert Number(least, most, above, below).holds(value) == belongs


@given(anything | st.integers(-3, 3), st.integers(-3, 3), st.integers(-3, 3))
def test_a_whole_number_is_an_integer_between_the_bounds(value, least, most):
    assert Whole(least, most).holds(value) == (type(value) is int and least <= value <= most)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_read_from_its_text_to_the_last_bit(value):
    assert Number(-1e309, 1e309).in_text(repr(value), OptionsError) == value


@pytest.mark.parametrize("text", ["", "x", "nan", "inf", "-inf", "1e999", "1 2", "0x10", "٣"])
def test_other_texts_are_no_numbers(text):
    with pytest.raises(OptionsError):
        Number().in_text(text, OptionsError)
    assert Number().in_text_or(text, 7.0) == 7.0


def test_numbers_of_numpy_are_taken_and_become_those_of_python():
    found = COUNT.of(np.int64(3), OptionsError, "jobs"), POSITIVE.of(np.float32(0.5), OptionsError, "load")
    assert found == (3, 0.5)
    assert list(map(type, found)) == [int, float]


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: FRACTION.of(2, OptionsError, "w.json", "load"), "w.json: load: is 2; a number from 0 to 1 is needed"),
        (lambda: FRACTION.of(True, OptionsError, "load"), "load: is true; a number from 0 to 1 is needed"),
        (lambda: FRACTION.in_text("much", OptionsError), "is 'much'; a number from 0 to 1 is needed"),
        (lambda: COUNT.of(0, OptionsError, "jobs"), "jobs: is 0; a whole number from 1 to 2,147,483,647 is needed"),
        (
            lambda: Number(0.0, 60.0, above=True, noun="number of s", otherwise=", or -1,").of("", OptionsError, "end"),
            "end: is ''; a number of s above 0 and up to 60, or -1, is needed",
        ),
        (
            lambda: FRACTION.all_of([0, 1, None], OptionsError, "w.json", "shares"),
            "w.json: shares[2]: is null; a number from 0 to 1 is needed",
        ),
        (lambda: FRACTION.all_of(1, OptionsError, "shares"), "shares: is 1; a list of numbers is needed"),
    ],
)
def test_a_message_says_where_what_and_what_would_be_right(check, message):
    with pytest.raises(OptionsError) as error:
        check()
    assert str(error.value) == message


def test_large_values_are_shown_short():
    assert [shown(one) for one in ({"a": 1}, [1], "x" * 99, 10**400)] == [
        "an object",
        "a list",
        repr("x" * 40),
        "a number of more than 20 digits",
    ]
