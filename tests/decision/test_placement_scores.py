"""Placement scores: cores on paper, against a reference that looks at every processor, and files that make no sense."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from on_paper import cores_of as cores_on
from on_paper import starts
from reference_placement import LookAtAll
from small import Stepper, jobs, platform, step_baseline

from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.decision.policy_words import beside
from hdeeprm_like.decision.score_files import CORE_FEATURES, JOB_FEATURES, formula, placement_of, policy_of
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import OptionsError

SLOW, FAST = (2, 1.0, 10.0, 8.0), (2, 2.0, 40.0, 8.0)  # cores, GFLOP/s, W, GB/s of a processor
TWO_KINDS = ((1000.0, [SLOW]), (1000.0, [FAST]))  # cores 0 and 1 are slow, 2 and 3 fast


@pytest.fixture
def policy(tmp_path):
    """Writes a policy that serves jobs as they come, with a placement, and returns its name."""

    def write(placement, queue=None, **content):
        path = tmp_path / f"p{len(list(tmp_path.iterdir()))}.json"
        path.write_text(json.dumps({"queue": queue or {"one": 1.0}, "placement": placement, **content}))
        return f"scored:{path}"

    return write


def cores_of(workload, name, nodes=TWO_KINDS, gpus=(), **state):
    """The cores of each job under a policy."""
    return cores_on(platform(*nodes, gpus=gpus), workload, name, **state)


def test_weights_of_speed_and_of_power_alone_are_well_known_placements(policy):
    for seed in range(3):
        cluster, workload = drawn(seed)
        for weights, name in (({"speed": -1.0}, "high_gflops"), ({"power": 1.0}, "low_power")):
            mine, known = (step_baseline(cluster, workload, f"sjf+easy-{one}") for one in (policy(weights), name))
            assert mine.simulation.tasks["start"].tolist() == known.simulation.tasks["start"].tolist()
            assert all(np.array_equal(mine.state.cores_of(j), known.state.cores_of(j)) for j in range(len(workload)))


def test_a_score_is_a_placement_of_any_rule(policy):
    name = policy({"power": 1.0})
    for rule in ("fcfs", "sjf+easy", "saf@ewma+conservative", "fcfs+bounded", "zoo:balanced"):
        assert cores_of(jobs(seconds=4), f"{rule}-{name}") == [[0]]
        assert cores_of(jobs(seconds=4), f"{rule}-high_gflops") == [[2]]
    assert cores_of(jobs(seconds=4), name) == [[0]]
    assert cores_of(jobs(seconds=4), f"{name}-high_gflops") == [[2]]


def test_long_jobs_go_to_fast_cores_and_short_ones_to_frugal_ones(policy):
    name = policy({"speed*trusted_log_time": -1.0})  # ln(h): below 1 h the slower core has the smaller product
    assert cores_of(jobs(seconds=[600, 36_000], submit=[0, 1]), name) == [[0], [2]]


def test_a_job_that_would_slow_another_goes_elsewhere(policy):
    # 0 and 1 request 5 of the 8 GB/s of a fast processor each; together they run at 75 %
    workload = jobs(seconds=[10, 10], submit=[0, 1], bandwidth=5.0)
    assert cores_of(workload, policy({"speed": -1.0})) == [[2], [3]]
    assert cores_of(workload, policy({"speed": -1.0, "slowed": 2.0})) == [[2], [0]]  # ln 2 < 2 * 1/2
    assert cores_of(workload, policy({"speed": -1.0, "slowed": 1.0})) == [[2], [3]]  # ln 2 - ln .5 > 1 * 1/2
    assert cores_of(workload, policy({"speed": -1.0, "contended*bandwidth_share": 1.0})) == [[2], [0]]


def test_a_job_may_take_fewer_cores_of_a_processor_than_it_could_so_that_bandwidth_suffices(policy):
    workload = jobs(seconds=10, size=2, bandwidth=5.0)
    alike = ((1000.0, [FAST]), (1000.0, [FAST]))
    assert cores_of(workload, policy({"elsewhere": 1.0}), alike) == [[0, 1]]
    assert cores_of(workload, policy({"elsewhere": 1.0, "contended": 1.0}), alike) == [[0, 2]]


def test_waking_a_processor_costs_the_power_of_its_idle_cores(policy):
    # a core beside a busy one draws 25 % of its peak, one of an idle processor 5 %
    workload = jobs(seconds=[10, 10], submit=[0, 1])
    alike = ((1000.0, [SLOW]), (1000.0, [SLOW]))
    assert cores_of(workload, policy({"asleep": -1.0}), alike) == [[0], [2]]
    assert cores_of(workload, policy({"asleep": 1.0}), alike) == [[0], [1]]
    assert cores_of(workload, policy({"added_power": 1.0}), alike) == [[0], [1]]
    assert cores_of(workload, policy({"added_power": -1.0}), alike) == [[0], [2]]


def test_nodes_with_gpus_are_left_to_jobs_that_request_them(policy):
    workload = jobs(seconds=10, size=2, submit=[0, 1], gpus=[0.0, 2.0])
    nodes, gpus = ((1000.0, [FAST]), (1000.0, [SLOW])), [2, 0]
    assert cores_of(workload, policy({"speed": -1.0, "gpus": 1.0}), nodes, gpus) == [[2, 3], [0, 1]]
    machine = platform(*nodes, gpus=gpus)
    assert starts(machine, workload, policy({"speed": -1.0})) == [0.0, 5.0]  # else it waits for the first


def test_memory_that_few_jobs_need_is_left_to_them(policy):
    nodes = ((1000.0, [SLOW]), (100.0, [SLOW]))
    workload = jobs(seconds=10, size=2, submit=[0, 1], memory=[10.0, 400.0])
    assert cores_of(workload, policy({"memory": 1.0}), nodes) == [[2, 3], [0, 1]]
    assert cores_of(workload, policy({"memory_left*memory_share": 1.0}), nodes) == [[2, 3], [0, 1]]


def test_the_slowest_core_sets_the_speed_so_cores_alike_may_be_taken_together(policy):
    # a core is free on the fast processor; a job of two cores computes no faster for it
    workload = jobs(seconds=10, size=[1, 2], submit=[0, 1])
    nodes = ((1000.0, [SLOW]), (1000.0, [SLOW]), (1000.0, [FAST]))
    assert cores_of(workload, policy({"speed": -1.0}), nodes) == [[4], [0, 5]]
    assert cores_of(workload, policy({"speed": -1.0, "elsewhere": 2.0}), nodes) == [[4], [0, 1]]
    three = ((1000.0, [SLOW]), (1000.0, [(1, 1.5, 20.0, 8.0)]), (1000.0, [FAST]))
    assert cores_of(jobs(seconds=10, size=3), policy({"speed": 1.0}), three) == [[0, 1, 2]]
    assert cores_of(jobs(seconds=10, size=3), policy({"power": -1.0, "lag": -2.5}), three) == [[0, 3, 4]]


def test_fragments_of_nodes_are_filled_or_left(policy):
    nodes = ((1000.0, [SLOW, SLOW]), (1000.0, [SLOW]))
    workload = jobs(seconds=10, size=[1, 1], submit=[0, 1])
    assert cores_of(workload, policy({"node_left": 1.0}), nodes) == [[4], [5]]
    assert cores_of(workload, policy({"node_left": -1.0}), nodes) == [[0], [1]]
    assert cores_of(workload, policy({"cores_left": -1.0}), nodes) == [[0], [2]]


def test_where_nodes_take_jobs_whole_the_score_chooses_among_nodes_that_can(policy):
    nodes = ((1000.0, [FAST]), (1000.0, [SLOW, SLOW]))
    assert cores_of(jobs(seconds=10, size=3), policy({"speed": -1.0}), nodes) == [[0, 1, 2]]
    assert cores_of(jobs(seconds=10, size=3), policy({"speed": -1.0}), nodes, whole=True) == [[2, 3, 4]]


def test_the_order_may_read_the_score_of_the_best_cores(policy):
    # 0 has the only fast cores until 10; then 1, which asks for much bandwidth, would be contended there
    workload = jobs(seconds=[10, 10, 10], submit=[0, 1, 2], size=2, bandwidth=[1.0, 9.0, 1.0])
    for queue, expected in (({"one": 1.0}, [0.0, 5.0, 5.0 + 20 / 3]), ({"placement": 1.0}, [0.0, 10.0, 5.0])):
        name = policy({"contended": 1.0}, queue)
        assert starts(platform((1000.0, [FAST])), workload, name) == pytest.approx(expected)


def drawn(seed, alike=False):
    """A machine of some kinds of nodes and jobs that crowd it."""
    rng = np.random.default_rng(seed)

    def one_of(*values):
        return values[rng.integers(len(values))]

    kinds = [
        (
            float(one_of(40, 100, 300)),
            [(int(rng.integers(1, 5)), one_of(1.0, 1.5, 2.0), one_of(10.0, 40.0), one_of(4.0, 9.0))] * one_of(1, 2, 3),
            one_of(0, 0, 2),
        )
        for _ in range(1 if alike else 3)
    ]
    nodes = [kind for kind in kinds for _ in range(rng.integers(1, 8))]
    cluster = platform(*((memory, own) for memory, own, _ in nodes), gpus=[gpus for *_, gpus in nodes])
    count, has_gpus = 40, any(gpus for *_, gpus in nodes)
    workload = jobs(
        submit=np.sort(rng.integers(0, 120, count)),
        seconds=rng.integers(1, 60, count),
        estimate=rng.integers(60, 120, count),
        size=rng.integers(1, max(2, cluster.cores // 2), count),
        memory=0.0 if alike else rng.choice([0.0, 5.0, 20.0], count),
        bandwidth=0.0 if alike else rng.choice([0.0, 1.0, 3.0], count),
        gpus=rng.choice([0.0, 0.0, 1.0], count) if has_gpus and not alike else 0.0,
    )
    return cluster, replace(workload, user=rng.integers(0, 4, count))


def weights_of(rng):
    """A random placement without what only the history knows."""
    known = [name for name in JOB_FEATURES if name != "trusted_log_time"]
    return {f"{rng.choice(list(CORE_FEATURES))}*{rng.choice(known)}": round(float(rng.normal()), 3) for _ in range(8)}


@pytest.mark.parametrize("seed", range(8))
def test_the_search_finds_what_a_look_at_every_processor_finds(policy, seed):
    cluster, workload = drawn(seed)
    weights = weights_of(np.random.default_rng(seed))
    actions = PolicyActions([baseline(f"fcfs+greedy-{policy(weights)}")])
    state = State(cluster, workload, needs=actions.needs, log=False)
    simulator, reference = Stepper(state, workload, "textbook"), LookAtAll(cluster, workload, weights)
    while (instant := simulator.next_instant()) is not None:
        state.receive(instant)
        for j in instant.completed:
            reference.running.pop(j)
        waiting = len(state.waiting)
        actions.apply(0, state)
        commands = state.drain()
        for j, cores in sorted(commands.starts):
            wanted, margin = reference.choose(j, instant.now, waiting)
            if margin > 1e-6:
                assert sorted(wanted) == sorted(map(int, cores)), (seed, j)
            reference.running[j] = list(map(int, cores))
            waiting -= 1
        simulator.apply(commands)
    assert not reference.running


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_where_all_processors_are_equal_any_score_gives_the_schedule_of_any_placement(seed, tmp_path_factory):
    cluster, workload = drawn(seed, alike=True)
    path = tmp_path_factory.mktemp("p") / "p.json"
    placement = weights_of(np.random.default_rng(seed))
    path.write_text(json.dumps({"queue": {"log_time": 1.0}, "placement": placement}))
    mine, known = (starts(cluster, workload, f"sjf+easy-{one}") for one in (f"scored:{path}", "first_fit"))
    assert mine == known


@pytest.mark.parametrize(
    ("placement", "message"),
    [
        ([], "an object with the weights of features of cores is needed, not []"),
        ({}, "an object with the weights of features of cores is needed, not {}"),
        ({"sped": 1.0}, "'sped' is no feature of cores; did you mean 'speed'?"),
        ({"log_cores": 1.0}, "'log_cores' is no feature of cores"),
        ({"speed*cores": 1.0}, "'speed*cores': 'cores' is no feature of jobs; did you mean"),
        ({"speed*": 1.0}, "'speed*': '' is no feature of jobs"),
        ({"speed": "1"}, "speed: is '1'; a number"),
        ({"speed": float("nan")}, "speed: is nan; a number"),
        ({"speed": 1.0, "speed*one": 2.0}, "speed*one: is given twice, as 'speed' and as 'speed*one'"),
    ],
)
def test_placements_that_make_no_sense_are_refused(placement, message):
    with pytest.raises(OptionsError) as caught:
        placement_of(placement, "p.json: placement")
    assert str(caught.value).startswith(f"p.json: placement: {message}")


def test_a_placement_stands_at_the_top_of_a_file_that_weighs_it():
    queue, placement = {"one": 1.0}, {"speed": -1.0}
    with pytest.raises(OptionsError, match="exact: has a 'placement' of its own; write it at the top of the file"):
        policy_of({"queue": queue, "exact": {"queue": queue, "placement": placement}}, "p.json")
    with pytest.raises(OptionsError, match="a score weighs 'placement', but the file has no such part"):
        policy_of({"queue": {"placement": 1.0}}, "p.json")
    with pytest.raises(OptionsError, match="zoo:balanced has no 'placement', a score of cores"):
        baseline("sjf+easy-zoo:balanced")


def test_names_with_a_placement_score_are_read_and_written_back(policy, tmp_path):
    file = policy({"speed": -1.0})
    for name in (f"sjf+easy-{file}", file, f"{file}-low_power", f"zoo:balanced-{file}", f"{file}+bounded"):
        assert baseline(name).name == name
    assert baseline(f"{file}+slurm").placement == "high_gflops"
    assert beside("sjf+easy-scored:a-b.json", tmp_path) == f"sjf+easy-scored:{tmp_path / 'a-b.json'}"
    assert (
        beside("scored:a.json-scored:b.json", tmp_path) == f"scored:{tmp_path / 'a.json'}-scored:{tmp_path / 'b.json'}"
    )


def test_a_formula_has_the_heaviest_terms_first():
    assert formula(placement_of({"speed": -1.0, "gpus*on_gpus": 2.0, "power": 0.0}, "")) == "+2 gpus*on_gpus -1 speed"
