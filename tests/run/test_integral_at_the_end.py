"""The reward mode ``integral`` counts the stretch from the last decision to the end of the episode.

It does so where episodes are played one by one and in a batch.
"""

import pytest
from paper_clusters import cluster, jobs
from roll_outs import batched, one_by_one

from hdeeprm_like.decision.presets import Space
from hdeeprm_like.decision.rewards import OBJECTIVES
from hdeeprm_like.run.episodes import Plays

ONE_PAIR = (("first", "high_gflops"),)


def rewards(roll_out, clock, objective, workload):
    """Return the rewards of the only pair of policies on a node of four cores of 4 GFLOP/s."""
    objectives = {OBJECTIVES.get(objective, objective): 1.0}
    space = Space(pairs=ONE_PAIR, objectives=objectives, reward="integral")
    four_cores = cluster(processors=((0, 4, 4.0, 80.0),))
    episode = roll_out(Plays(four_cores, lambda number: workload, space, clock=clock))
    return episode.rewards


@pytest.mark.parametrize("clock", ["batsim", "textbook"])
@pytest.mark.parametrize("roll_out", [one_by_one, batched])
def test_the_only_decision_is_paid_until_the_last_job_ends(roll_out, clock):
    # both start at 0 on one core each and run 5 and 8 s: 2 cores are busy for 5 s, then 1 for 3 s
    both_at_once = jobs([0.0, 0.0], [5.0, 8.0])
    assert rewards(roll_out, clock, "avg_utilization", both_at_once) == pytest.approx([13.0], abs=1e-3)
    assert rewards(roll_out, clock, "avg_job_completion", both_at_once) == pytest.approx([-13.0], abs=1e-3)


@pytest.mark.parametrize("clock", ["batsim", "textbook"])
@pytest.mark.parametrize("roll_out", [one_by_one, batched])
def test_each_decision_is_paid_until_the_next_and_the_last_one_until_the_end(roll_out, clock):
    # decisions at 0 and at 6; the first job ends at 5, the second runs from 6 to 13 on three cores
    one_after_the_other = jobs([0.0, 6.0], [5.0, 7.0], size=[2, 3])
    assert rewards(roll_out, clock, "avg_utilization", one_after_the_other) == pytest.approx([10.0, 21.0], abs=1e-3)


@pytest.mark.parametrize("clock", ["batsim", "textbook"])
def test_an_objective_that_is_a_python_function_is_integrated_to_the_end_too(clock):
    def busy_cores(state):
        return float(state.platform.cores - state.free_cores)

    both_at_once = jobs([0.0, 0.0], [5.0, 8.0])
    assert rewards(one_by_one, clock, busy_cores, both_at_once) == pytest.approx([13.0], abs=1e-3)
