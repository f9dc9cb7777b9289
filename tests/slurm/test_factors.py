"""An order becomes bounded factors, most of which stay as they are when it changes a little."""

import itertools
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hdeeprm_like.errors import OptionsError
from hdeeprm_like.slurm.factors import FactorFile, wanted_factors

ORDERS = st.lists(st.integers(1, 60), unique=True)
CURRENT = st.dictionaries(st.integers(1, 60), st.integers(-5, 120))


@given(order=ORDERS, current=CURRENT, most=st.integers(60, 100), depth=st.integers(1, 70))
def test_the_factors_of_the_first_jobs_descend_and_stay_within_their_bound(order, current, most, depth):
    wanted = wanted_factors(order, current, most, depth)
    assert list(wanted) == order
    first = [wanted[job] for job in order[:depth]]
    assert all(1 <= factor <= most for factor in first)
    assert all(earlier > later for earlier, later in itertools.pairwise(first))
    assert not any(wanted[job] for job in order[depth:])


@given(order=ORDERS, most=st.integers(60, 10_000))
def test_what_is_in_order_stays_as_it_is(order, most):
    once = wanted_factors(order, {}, most, 1000)
    assert wanted_factors(order, once, most, 1000) == once


def test_a_job_that_comes_between_two_others_changes_no_other():
    before = wanted_factors([1, 2, 3], {}, 10_000, 1000)
    after = wanted_factors([1, 9, 2, 3], before, 10_000, 1000)
    assert {job: factor for job, factor in after.items() if job != 9} == before
    assert before[1] > after[9] > before[2]


def test_no_more_jobs_have_a_factor_than_there_are_factors():
    wanted = wanted_factors(list(range(1, 100)), {}, 10, 1000)
    assert sum(factor > 0 for factor in wanted.values()) == 10


def test_a_factor_above_the_largest_is_lowered_and_no_other_changes():
    """As after a restart of the watch with a smaller --max-factor."""
    assert wanted_factors([1, 2, 3], {1: 500, 2: 60, 3: 30}, 100, 1000) == {1: 81, 2: 60, 3: 30}


def test_a_queue_of_ten_thousand_that_goes_on_changes_few_factors():
    draw, order, current, changed = random.Random(1), list(range(1, 10_001)), {}, 0
    for job in range(10_001, 10_101):
        current = {job: factor for job, factor in current.items() if factor}
        wanted = wanted_factors(order, current, 100_000, 1000)
        changed += sum(current.get(job, 0) != factor for job, factor in wanted.items())
        current = wanted
        order.insert(draw.randrange(1000), job)
        current.pop(order.pop(0))
    assert changed < 1000 + 100 * 10


@given(values=st.lists(st.integers(-3, 8), max_size=9))
def test_no_more_factors_change_than_must(values):
    current = {job: 1000 * value for job, value in enumerate(values)}
    wanted = wanted_factors(list(current), current, 100_000, 1000)
    best = [0] * 10  # length of the longest descent to each value
    for value in values:
        if value > 0:
            best[value] = max(best[value], 1 + max(best[value + 1 :], default=0))
    assert sum(wanted[job] == current[job] for job in current) == max(best)


def test_the_file_keeps_what_is_not_0(tmp_path):
    file = FactorFile(tmp_path / "new" / "factors.json")
    assert file.factors == {}
    file.write({3: 50, 4: 0})
    assert FactorFile(file.path).factors == {3: 50}
    assert json.loads(file.path.read_text()) == {"version": 1, "factors": {"3": 50}}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"factors": 3}', '{"factors": {"a": 1}}', '{"factors": {"1": null}}'])
def test_a_file_that_is_none_is_refused(tmp_path, text):
    path = tmp_path / "factors.json"
    path.write_text(text)
    with pytest.raises(OptionsError, match=r"factors\.json"):
        FactorFile(path)


def test_only_one_at_a_time_sets_factors(tmp_path):
    file = FactorFile(tmp_path / "factors.json")
    assert file.holder() == ""
    with file.locked():
        assert file.holder().isdigit()
        with pytest.raises(OptionsError, match=r"process \d+ sets or restores factors; stop it first"), file.locked():
            pass
    assert file.holder() == ""
    with file.locked():
        pass
