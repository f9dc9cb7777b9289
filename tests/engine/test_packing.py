"""Placements and packing: which node a job gets, on paper, and nothing is lost whatever is asked."""

import numpy as np
import pytest
from agents_for_tests import ClassicAgent
from hypothesis import given, settings
from hypothesis import strategies as st
from on_paper import OnPaper, cores_of, node
from small import jobs, platform

from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import (
    CORE_POLICIES,
    CORE_POLICY_NAMES,
    MODES,
    PLACEMENT_NAMES,
    PLACEMENTS,
    baseline,
)
from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.engine.state import State
from hdeeprm_like.options import ALL_PAIRS
from hdeeprm_like.run.python_loop import play
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.run.to_end import run_policy


def test_the_placements_are_the_core_policies_of_the_thesis_and_three_more():
    assert tuple(PLACEMENTS) == PLACEMENT_NAMES
    assert tuple(CORE_POLICIES) == CORE_POLICY_NAMES
    assert len(ALL_PAIRS) == 36


def nodes(*sizes, memory=100.0, gpus=()):
    """Nodes of so many cores of 1 GFLOP/s."""
    return platform(*(node(cores, memory) for cores in sizes), gpus=gpus)


SLOW_AND_FAST = platform((50.0, [(2, 1.0, 100.0, 1e6)]), (100.0, [(2, 9.0, 100.0, 1e6)]))
MEMORY = jobs(seconds=5, size=[1, 2], memory=[0.0, 40.0])  # 50 MB hold one core of 40
BESIDE = jobs([0, 1, 2], seconds=50, memory=[50.0, 50.0, 0.0])

CORES = {  # machine, jobs, and the cores of each by policy
    "first_fit takes the lowest processors with room whatever their speed": (
        SLOW_AND_FAST, MEMORY, {"fcfs-first_fit": [[0], [1, 2]], "fcfs": [[2], [0, 3]]},
    ),
    # a job of 2 fills the second, then one of 3 the third, then one of 4 the first
    "best_fit takes the node on which least is left": (
        nodes(4, 2, 3), jobs(seconds=5, size=[2, 3, 4]), {"fcfs-best_fit": [[4, 5], [6, 7, 8], [0, 1, 2, 3]]},
    ),
    # one core and 80 MB: of 100 MB 0.2 are left with 0.5 of the cores, of 400 MB 0.8 with 0.5
    "best_fit counts memory as a share of the node": (
        platform(node(2, 400.0), node(2, 100.0)), jobs(seconds=5, memory=80.0), {"fcfs-best_fit": [[2]]},
    ),
    # one GPU of 4, or of 1; a job without one stays off the node whose GPUs it would leave
    "best_fit counts GPUs as a share of the node": (
        nodes(2, 2, 2, gpus=(4, 1, 0)), jobs(seconds=5, gpus=[1.0, 0.0]), {"fcfs-best_fit": [[2], [3]]},
    ),
    # two cores of three are free on the first node; three of four on the second hold the job
    "a job goes to a node that holds all of it though a fuller one would leave less": (
        nodes(3, 4), jobs([0, 1], seconds=50, size=[1, 3]), {"fcfs-best_fit": [[0], [3, 4, 5]]},
    ),
    # 5 cores on nodes of 2, 3 and 2: of those that it can fill the first goes first
    "a job too wide for any node fills one after the other": (
        nodes(2, 3, 2), jobs(seconds=5, size=5), {"fcfs-best_fit": [[0, 1, 2, 3, 4]]},
    ),
    "and two are left for a node of two": (
        nodes(2, 3, 2), jobs(seconds=5, size=4), {"fcfs-best_fit": [[0, 1, 5, 6]]},
    ),
    # the first node has room for all 4 on its two processors; the second, of 2, would fit the second half as well
    "a job stays on its node across processors": (
        platform(node(2, 100.0), node(4, 100.0, 2)), jobs(seconds=5, size=4), {"fcfs-best_fit": [[2, 3, 4, 5]]},
    ),
    # beside a job that holds half of the first node's memory: 0.5 x 1 + 0.5 x 0.5 against 0.5 x 1 + 0.5 x 1
    "tetris takes the node whose free resources are most like the request": (
        nodes(2, 2), BESIDE, {"fcfs-tetris": [[0], [2], [1]], "fcfs-best_fit": [[0], [1], [2]]},
    ),
    # 0.25 x 1 + 0.5 x 1 against 0.25 x 1 + 0.25 x 1
    "GPUs count for tetris too": (nodes(4, 4, gpus=(4, 2)), jobs(seconds=5, gpus=1.0), {"fcfs-tetris": [[4]]}),
    # 1 core comes first in the queue, but 3 cores leave nothing on the second node and 4 on the first
    "bfbp fills nodes": (
        nodes(4, 3), jobs(seconds=10, size=[1, 3, 4, 2]), {"bfbp": [[6], [4, 5, 6], [0, 1, 2, 3], [4, 5]]},
    ),
}  # fmt: skip
STARTS = {
    "bfbp starts the job that leaves least on some node first": OnPaper(
        nodes(4, 3),
        jobs(seconds=10, size=[1, 3, 4, 2]),
        {"bfbp": [10, 0, 0, 10], "fcfs+greedy-best_fit": [0, 0, 10, 0]},
    ),
    "packing does not let a head that does not fit hold up the others": OnPaper(
        nodes(3), jobs([0, 1, 2], [10, 5, 1], [2, 3, 1]), {"bfbp": [0, 10, 2], "fcfs-best_fit": [0, 10, 15]}
    ),
    "equal pairs go by the order": OnPaper(
        nodes(2), jobs(seconds=[10, 5], size=2), {"fcfs+packing-tetris": [0, 10], "sjf+packing-tetris": [5, 0]}
    ),
    # 3/4 and 2/4 of the node, 30 and 2 core seconds; work counts (0.75 + 0.5) / (30 + 2) each: 0.75 - 1.17 < 0.5 - 0.08
    "with the remaining work tetris starts what is soon over before what fills the node": OnPaper(
        nodes(4), jobs(seconds=[10, 1], size=[3, 2]), {"tetris": [0, 10], "tetris_srtf": [1, 0]}
    ),
    "the last job is spread over a core of each node": OnPaper(
        nodes(3, 3), jobs(seconds=10, size=[2, 2, 2]), {name: [0, 0, 0] for name in ("fcfs", "sjf+greedy", "bfbp")}
    ),
    "and waits for one where nodes take jobs whole": OnPaper(
        nodes(3, 3),
        jobs(seconds=10, size=[2, 2, 2]),
        {name: [0, 0, 10] for name in ("fcfs", "sjf+greedy", "bfbp")},
        {"whole": True},
    ),
}


@pytest.mark.parametrize("world", CORES)
def test_jobs_get_cores_as_on_paper(world):
    machine, workload, expected = CORES[world]
    assert {name: cores_of(machine, workload, name) for name in expected} == expected


@pytest.mark.parametrize("world", STARTS)
def test_jobs_start_as_on_paper(world):
    STARTS[world].check()


clusters = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 2), st.integers(0, 3)), min_size=1, max_size=4)
requests = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 20), st.integers(1, 6), st.integers(0, 60), st.integers(0, 2)),
    min_size=1,
    max_size=25,
)


ANYWHERE = [mode for mode in MODES if mode not in ("scored", "slurm")]  # that every order has on every platform


@settings(deadline=None)
@given(clusters, requests, st.sampled_from(["first_fit", "best_fit", "tetris"]), st.sampled_from(ANYWHERE))
def test_nothing_is_lost_and_no_job_stays_behind(nodes, asked, placement, mode):
    placement = "tetris" if (placement, mode) == ("first_fit", "packing") else placement
    built = platform(*(node(c * p, 100.0, p) for c, p, _ in nodes), gpus=[g for _, _, g in nodes])
    submit, seconds, size, memory, gpus = (np.array(column, float) for column in zip(*sorted(asked), strict=True))
    workload = jobs(submit=submit, seconds=seconds, size=size, memory=memory, gpus=gpus)
    policy = PolicyActions([baseline(f"fcfs+{mode}-{placement}")])
    state = State(built, workload, log=False, needs=policy.needs)
    simulator = Simulator(state, workload)
    list(run_policy(simulator, policy))
    t = state.tables
    assert simulator.unfinished == 0
    assert t.clock["free_cores"][0] == built.cores
    assert np.array_equal(t.node_loads["free_memory"], built.node_memory)
    assert np.array_equal(t.node_loads["free_gpus"], built.node_gpus)
    again = State(built, workload, log=False, needs=policy.needs)
    stepped = Simulator(again, workload)
    play(stepped, DecisionSystem(again, PolicyActions([baseline(f"fcfs+{mode}-{placement}")])), ClassicAgent(0))
    assert np.array_equal(stepped.simulation.tasks["start"], simulator.simulation.tasks["start"], equal_nan=True)
