import numpy as np
import pytest
from agents_for_tests import ClassicAgent
from hypothesis import given, settings
from hypothesis import strategies as st
from small import jobs, platform, run_baseline

from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import (
    CORE_POLICIES,
    CORE_POLICY_NAMES,
    MODES,
    PLACEMENT_NAMES,
    PLACEMENTS,
    baseline,
    policy_in,
)
from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.options import ALL_PAIRS
from hdeeprm_like.run.python_loop import play
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.run.to_end import run_policy


def node(cores, memory=100.0, processors=1):
    return (memory, [(cores // processors, 1.0, 100.0, 1e6)] * processors)


def run(workload, name, *nodes, gpus=()):
    """Starting times, and the cores of each job."""
    state = State(platform(*nodes, gpus=gpus), workload, log=False, needs=PolicyActions([baseline(name)]).needs)
    simulator = Simulator(state, workload, "textbook")
    list(run_policy(simulator, PolicyActions([baseline(name)])))
    assert simulator.unfinished == 0
    cores = [state.cores_of(j).tolist() for j in range(len(workload))]
    return simulator.simulation.tasks["start"].tolist(), cores


def cores(*given, gpus=(), name="fcfs"):
    workload, *nodes = given
    return run(workload, name, *nodes, gpus=gpus)[1]


def test_the_placements_are_the_core_policies_of_the_thesis_and_three_more():
    assert tuple(PLACEMENTS) == PLACEMENT_NAMES
    assert tuple(CORE_POLICIES) == CORE_POLICY_NAMES
    assert len(ALL_PAIRS) == 36


def test_first_fit_takes_the_lowest_processors_with_room_whatever_their_speed():
    nodes = (50.0, [(2, 1.0, 100.0, 1e6)]), (100.0, [(2, 9.0, 100.0, 1e6)])
    workload = jobs(seconds=5, size=[1, 2], memory=[0.0, 40.0])
    assert cores(workload, *nodes, name="fcfs-first_fit") == [[0], [1, 2]]  # 50 MB hold one core of 40
    assert cores(workload, *nodes) == [[2], [0, 3]]  # the fast one


def test_best_fit_takes_the_node_on_which_least_is_left():
    # 4, 2 and 3 cores: a job of 2 fills the second, then one of 3 the third, then one of 4 the first
    assert cores(jobs(seconds=5, size=[2, 3, 4]), node(4), node(2), node(3), name="fcfs-best_fit") == [
        [4, 5],
        [6, 7, 8],
        [0, 1, 2, 3],
    ]


def test_best_fit_counts_memory_and_gpus_as_shares_of_the_node():
    # one core and 80 MB: of 100 MB 0.2 are left with 0.5 of the cores, of 400 MB 0.8 with 0.5
    memory = jobs(seconds=5, size=1, memory=80.0)
    assert cores(memory, node(2, 400.0), node(2, 100.0), name="fcfs-best_fit") == [[2]]
    # one GPU of 4, or of 1; a job without one stays off the node whose GPUs it would leave
    workload = jobs(seconds=5, size=1, gpus=[1.0, 0.0])
    assert cores(workload, node(2), node(2), node(2), gpus=(4, 1, 0), name="fcfs-best_fit") == [[2], [3]]


def test_a_job_goes_to_a_node_that_holds_all_of_it_though_a_fuller_one_would_leave_less():
    # two cores of three are free on the first node; three of four on the second hold the job
    workload = jobs(submit=[0, 1], seconds=50, size=[1, 3])
    assert cores(workload, node(3), node(4), name="fcfs-best_fit") == [[0], [3, 4, 5]]


def test_a_job_too_wide_for_any_node_fills_one_after_the_other():
    # 5 cores on nodes of 2, 3 and 2: of those that it can fill the first goes first; two are left for a node of two
    assert cores(jobs(seconds=5, size=5), node(2), node(3), node(2), name="fcfs-best_fit") == [[0, 1, 2, 3, 4]]
    assert cores(jobs(seconds=5, size=4), node(2), node(3), node(2), name="fcfs-best_fit") == [[0, 1, 5, 6]]


def test_a_job_stays_on_its_node_across_processors():
    # the first node has room for all 4; the second, of 2, would fit the second half as well
    assert cores(jobs(seconds=5, size=4), node(2), node(4, processors=2), name="fcfs-best_fit") == [[2, 3, 4, 5]]


def test_tetris_takes_the_node_whose_free_resources_are_most_like_the_request():
    # beside a job that holds half of the first node's memory: 0.5 x 1 + 0.5 x 0.5 against 0.5 x 1 + 0.5 x 1
    workload = jobs(submit=[0, 1, 2], seconds=50, size=1, memory=[50.0, 50.0, 0.0])
    both = (node(2), node(2))
    assert cores(workload, *both, name="fcfs-tetris") == [[0], [2], [1]]
    assert cores(workload, *both, name="fcfs-best_fit") == [[0], [1], [2]]
    # GPUs count too: 0.25 x 1 + 0.5 x 1 against 0.25 x 1 + 0.25 x 1
    assert cores(jobs(seconds=5, size=1, gpus=1.0), node(4), node(4), gpus=(4, 2), name="fcfs-tetris") == [[4]]


def test_bfbp_starts_the_job_that_leaves_least_on_some_node_first():
    # 4 and 3 cores; 1 core comes first in the queue, but 3 cores leave nothing on the second node and 4 on the first
    workload = jobs(seconds=10, size=[1, 3, 4, 2])
    starts, own = run(workload, "bfbp", node(4), node(3))
    assert starts == [10, 0, 0, 10]
    assert own[1:3] == [[4, 5, 6], [0, 1, 2, 3]]
    assert run(workload, "fcfs+greedy-best_fit", node(4), node(3))[0] == [0, 0, 10, 0]


def test_packing_does_not_let_a_head_that_does_not_fit_hold_up_the_others():
    workload = jobs(submit=[0, 1, 2], seconds=[10, 5, 1], size=[2, 3, 1])
    assert run(workload, "bfbp", node(3))[0] == [0, 10, 2]
    assert run(workload, "fcfs-best_fit", node(3))[0] == [0, 10, 15]


def test_equal_pairs_go_by_the_order():
    workload = jobs(seconds=[10, 5], size=2)
    assert run(workload, "fcfs+packing-tetris", node(2))[0] == [0, 10]
    assert run(workload, "sjf+packing-tetris", node(2))[0] == [5, 0]


@pytest.mark.parametrize("name", ["fcfs", "sjf+greedy", "bfbp"])
def test_a_job_waits_for_one_node_where_nodes_take_jobs_whole(name):
    machine, workload = platform(node(3), node(3)), jobs(seconds=10, size=[2, 2, 2])
    spread, whole = (run_baseline(machine, workload, name, whole=whole) for whole in (False, True))
    assert spread.simulation.tasks["start"].tolist() == [0, 0, 0]  # the last one on a core of each node
    assert whole.simulation.tasks["start"].tolist() == [0, 0, 10]


def test_tetris_with_the_remaining_work_starts_what_is_soon_over_before_what_fills_the_node():
    workload = jobs(seconds=[10, 1], size=[3, 2])  # 3/4 and 2/4 of the node, 30 and 2 core seconds
    assert run(workload, "tetris", node(4))[0] == [0, 10]
    # work counts (0.75 + 0.5) / (30 + 2) each: 0.75 - 1.17 < 0.5 - 0.08
    assert run(workload, "tetris_srtf", node(4))[0] == [1, 0]


def test_names_give_the_placement_unless_it_is_the_usual_one():
    assert baseline("sjf+easy-high_gflops") == baseline("sjf+easy")
    assert baseline("sjf+easyP-best_fit").name == "sjf+easyP-best_fit"
    assert baseline("fcfs-tetris").name == "fcfs+strict-tetris"
    assert baseline("bfbp").name == "fcfs+packing"
    assert baseline("tetris").name == "fcfs+packing-tetris"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sjf-bestfit", r"placement 'bestfit' is not known; did you mean 'best_fit'\?"),
        ("sjf-", "placement '' is not known"),
        ("fcfs+packing-low_power", "packing goes with best_fit, tetris, tetris_srtf"),
    ],
)
def test_wrong_placements_are_one_line(name, message):
    with pytest.raises(OptionsError, match=message):
        baseline(name)


def test_pairs_of_the_thesis_know_the_core_policies_of_the_thesis_only():
    with pytest.raises(OptionsError, match="'best_fit' is no core policy"):
        policy_in("shortest-best_fit")


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
