"""From rewards to the weights of decisions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hdeeprm_like.learning.returns import (
    discounted_returns,
    generalized_advantages,
    mean_at_each_step,
    mean_at_each_time,
    standardized,
)

LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=5)


def test_returns_are_discounted_within_each_episode():
    returns = discounted_returns(np.array([1.0, 2.0, 3.0, 10.0]), np.array([3, 1]), 0.5)
    assert returns.tolist() == [1 + 0.5 * (2 + 0.5 * 3), 2 + 0.5 * 3, 3.0, 10.0]


def test_advantages_by_hand():
    rewards, values = np.array([1.0, 2.0]), np.array([0.5, 3.0])
    errors = [1.0 + 0.9 * 3.0 - 0.5, 2.0 - 3.0]
    advantages = generalized_advantages(rewards, values, np.zeros(1), np.array([2]), 0.9, 0.8)
    assert advantages == pytest.approx([errors[0] + 0.9 * 0.8 * errors[1], errors[1]])


def test_what_is_expected_after_an_episode_that_was_cut_short_belongs_to_its_last_advantage():
    # both end with a reward of 1 where 2 were expected; after the first 4 more are expected, after the second none
    ones, twos = np.ones(2), np.full(2, 2.0)
    found = generalized_advantages(ones, twos, np.array([4.0, 0.0]), np.array([1, 1]), 0.5, 0.8)
    assert found.tolist() == [1.0 + 0.5 * 4.0 - 2.0, 1.0 - 2.0]


@given(LENGTHS, st.floats(0.0, 1.0), st.integers(0, 2**32 - 1))
def test_advantages_with_a_full_trace_are_returns_less_values(lengths, gamma, seed):
    rng = np.random.default_rng(seed)
    rewards, values = rng.normal(size=(2, sum(lengths)))
    advantages = generalized_advantages(rewards, values, np.zeros(len(lengths)), np.array(lengths), gamma, 1.0)
    assert advantages == pytest.approx(discounted_returns(rewards, np.array(lengths), gamma) - values, abs=1e-9)


def test_standardized_values_have_mean_zero_and_deviation_one():
    values = standardized(np.array([1.0, 2.0, 6.0]))
    assert values.mean() == pytest.approx(0.0)
    assert values.std() == pytest.approx(1.0)


def test_a_single_return_stays_as_it_is_and_equal_ones_become_zero():
    assert standardized(np.array([8.4])).tolist() == [8.4]
    assert standardized(np.array([8.4, 8.4, 8.4])).tolist() == [0.0, 0.0, 0.0]


def test_the_baseline_is_the_mean_return_at_each_step_of_the_episodes_that_reach_it():
    returns = np.array([5.0, 1.0, 7.0, 3.0, 2.0])  # an episode of two steps and one of three
    assert mean_at_each_step(returns, np.array([2, 3])).tolist() == [6.0, 2.0, 6.0, 2.0, 2.0]


def test_the_baseline_of_one_workload_compares_decisions_by_their_time():
    # the first episode decides at 0, 4, 8; the second at 0 and 6: from 4 s on its next decision is that at 6 s
    returns, times = np.array([5.0, 3.0, 1.0, 9.0, 7.0]), np.array([0.0, 4.0, 8.0, 0.0, 6.0])
    baseline = mean_at_each_time(returns, times, np.array([3, 2]), 2)
    assert baseline.tolist() == [(5 + 9) / 2, (3 + 7) / 2, (1 + 0) / 2, (5 + 9) / 2, (1 + 7) / 2]


def test_episodes_with_other_jobs_have_no_part_in_a_baseline():
    returns, times = np.array([1.0, 3.0, 20.0, 40.0, 7.0]), np.zeros(5)
    assert mean_at_each_time(returns, times, np.ones(5, np.int64), 2).tolist() == [2.0, 2.0, 30.0, 30.0, 7.0]
