"""Equal words of large processors: joined or not, a run has the same log, cores and times."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small import jobs, platform, run, run_baseline

from hdeeprm_like.engine import tables
from hdeeprm_like.engine.plain import ENABLED

NEVER = 1 << 40  # words of a processor

machines = st.lists(st.sampled_from([1, 64, 65, 256, 320, 449, 1000]), min_size=1, max_size=3)
policies = st.sampled_from([("first", "high_gflops"), ("shortest", "low_power"), ("random", "random")])


def world(machine, seed):
    """A cluster with processors of so many cores, each on its node, and random jobs, most of them of whole words."""
    rng, count = np.random.default_rng(seed), 30
    nodes = [(1000.0, [(cores, 1.0 + i, 100.0 + i, 40.0)]) for i, cores in enumerate(machine)]
    times = {name: rng.uniform(0.01, 20.0, count).round(1) for name in ("submit", "seconds", "estimate")}
    size = np.minimum(rng.choice([1, 63, 64, 65, 128, 192, 320, 500], count), sum(machine))
    memory, bandwidth = rng.choice([0.0, 0.0, 2.0], count), rng.choice([0.0, 0.0, 0.2], count)
    return platform(*nodes), jobs(**times, size=size, memory=memory, bandwidth=bandwidth)


def record(simulator):
    """Everything that a run leaves, as bytes."""
    state, clock = simulator.state.tables, simulator.state.tables.clock[0]
    used = {"log": clock["logged"], "allocation": clock["placed"], "changes": clock["changes"]}
    found = {name: getattr(state, name)[: int(count)].tobytes() for name, count in used.items()}
    return found | {"jobs": state.jobs.tobytes(), "tasks": simulator.simulation.tasks.tobytes()}


def check_joined(play):
    """Check that a run leaves the same whether words are joined or not."""
    found = []
    for large in (NEVER, 1):
        with patch.object(tables, "LARGE", large):
            simulator = play()
        assert (len(simulator.state.tables.repeats) > 0) == (large == 1)
        found.append(record(simulator))
    assert found[0] == found[1]


@settings(max_examples=4 if ENABLED else 40)
@given(machines, st.integers(0, 2**32), policies)
def test_a_run_on_batsims_clock_is_the_same_where_equal_words_are_joined(machine, seed, policy):
    check_joined(lambda: run(*world(machine, seed), policy).simulator)


def test_cores_of_equal_words_that_leave_different_pstates_are_logged_core_by_core():
    # two jobs on each of four words; every second one ends at 5 s, and the others at 10, when all cores become idle
    halves = jobs(seconds=[5, 10] * 4, size=32)
    check_joined(lambda: run(platform((1000.0, [(256, 1.0, 100.0, 1.0)])), halves).simulator)


@settings(max_examples=20)
@given(machines, st.integers(0, 2**32))
def test_a_run_on_the_textbooks_clock_is_the_same_where_equal_words_are_joined(machine, seed):
    check_joined(lambda: run_baseline(*world(machine, seed), "fcfs+easy", named=True))


@pytest.mark.parametrize(("cores", "joins"), [(64 * 63, False), (64 * 63 + 1, True)])
def test_words_are_joined_on_processors_of_64_words_or_more(cores, joins):
    state = run(platform((1000.0, [(cores, 1.0, 100.0, 1.0)])), jobs()).state
    assert (len(state.tables.repeats) > 0) == joins
