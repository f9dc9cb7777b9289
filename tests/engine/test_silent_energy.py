"""Sums of the joules of machines in machine code are those of the server, to the last bit."""

import random
from math import fsum

import pytest

from hdeeprm_like.batsim_server.energy import GRID, long_sum
from hdeeprm_like.engine.plain import ENABLED
from hdeeprm_like.engine.silent_energy import exact_sum, long_difference
from hdeeprm_like.engine.silent_layout import Content, Memory
from hdeeprm_like.engine.silent_session import session_in


def rounding_numbers(seed):
    """Numbers of a few bits far from each other, so that sums often lie between two numbers, or near that."""
    dice = random.Random(seed)
    bits, least, most = dice.choice([1, 2, 53]), dice.choice([-100, -60]), dice.choice([0, 10, 40])
    return [float(dice.getrandbits(bits)) * 2.0 ** dice.randint(least, most) for _ in range(dice.choice([1, 2, 3, 20]))]


def test_a_sum_is_exact_and_rounded_once():
    for seed in range(300 if ENABLED else 2000):  # its sums are long in plain Python
        numbers = rounding_numbers(seed)
        memory = Memory(Content(1, len(numbers)))
        session = session_in(memory)
        for place, number in enumerate(numbers):
            session.gathered[place] = number
        assert exact_sum(session, len(numbers)) == fsum(numbers), seed


@pytest.mark.compiled
def test_a_small_difference_is_that_of_sums_rounded_to_64_bits():
    compared = 0
    for seed in range(3000):
        numbers, dice = rounding_numbers(seed), random.Random(seed)
        more = [number * (1.0 + dice.choice([0.0, 1e-9 * dice.random(), 2.0**-52])) for number in numbers]
        session = session_in(Memory(Content(1, len(numbers))))
        for column in (numbers, more):
            for place, number in enumerate(column):
                session.joules[place] = number
            difference = long_difference(session)
        if sum(numbers) > 0.0 and sum(more) - sum(numbers) <= 1e-8 * sum(more):
            compared += 1
            assert difference == (long_sum(more) - long_sum(numbers)) / GRID, seed
    assert compared > 2000


@pytest.mark.parametrize(("bit", "rounded"), [(-64, 0.0), (-63, 2.0**-63)])
def test_half_of_the_last_bit_is_rounded_to_the_even_one(bit, rounded):
    session = session_in(Memory(Content(1, 2)))
    session.joules[0] = 1.0
    long_difference(session)
    session.joules[1] = 2.0**bit
    assert long_difference(session) == rounded
