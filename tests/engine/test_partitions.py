"""Jobs of partitions: where they may run, what they get there, and what waits for what."""

import json
from dataclasses import replace

import numpy as np
import pytest
from slurm_recordings import RUNS, recording
from small import jobs, partitions_of, platform, run_baseline

from hdeeprm_like.cluster.partitions import Demand, demands_of, has_features, no_demands
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.engine.node_places import find_rooms
from hdeeprm_like.engine.node_sets import NumberedSets, most_cores
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import OptionsError, PlatformError, WorkloadError
from hdeeprm_like.formats.open import load_platform
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.run.to_end import run_policy
from hdeeprm_like.studies.whatif.changes import change_named

POLICIES = [baseline(f"fcfs+{mode}") for mode in ("strict", "greedy", "easy", "easysjf", "conservative")]
POLICIES += [baseline("multifactor+slurm")]


@pytest.fixture(scope="module")
def shapes(tmp_path_factory):
    """The recording with two partitions, features and jobs of whole nodes."""
    return recording("shapes", tmp_path_factory.mktemp("platform"))


def test_constraints_are_joined_by_and_or_or():
    features = frozenset({"milan", "ib"})
    assert has_features(features, "")
    assert has_features(features, "milan&ib")
    assert has_features(features, "[skylake|milan]")
    assert has_features(features, "skylake&ib|milan")
    assert not has_features(features, "skylake")
    assert not has_features(features, "milan&gpu")


def test_a_platform_lists_its_partitions(shapes):
    partitions = shapes.platform.partitions
    assert partitions.names == ("batch", "whole")
    assert partitions.nodes.tolist() == [[True] * 7, [False] * 4 + [True] * 3]
    assert partitions.exclusive.tolist() == [False, True]
    assert partitions.weights.tolist() == [10.0] * 4 + [20.0] * 3
    assert partitions.number_of("") == 0
    with pytest.raises(WorkloadError, match="did you mean 'whole'"):
        partitions.number_of("whol")


def test_sets_are_of_the_nodes_of_a_partition_with_the_features(shapes):
    demands = replace(no_demands(3), partition=("batch", "whole", "batch"), constraint=("milan", "", ""))
    numbered = NumberedSets(shapes.platform.partitions)
    rows = numbered.rows(demands, np.array([1, 1, 1]))
    assert rows["set"].tolist() == [1, 2, 3]
    assert rows["exclusive"].tolist() == [0, 1, 0]
    assert numbered.columns.sum(axis=1).tolist() == [7, 3, 3, 7]


def test_a_job_with_more_nodes_than_cores_is_refused_unless_it_gets_whole_nodes(shapes):
    demands = replace(no_demands(2), nodes=np.array([1, 2]))
    numbered = NumberedSets(shapes.platform.partitions)
    with pytest.raises(WorkloadError, match=r"^job 7: requests 2 nodes and 1 cores; each node needs one$"):
        numbered.rows(demands, np.array([1, 1]), ids=("w0!6", "w0!7"))
    assert numbered.rows(demands, np.array([1, 2]))["nodes"].tolist() == [1, 2]
    whole = replace(demands, exclusive=np.array([False, True]))
    assert numbered.rows(whole, np.array([1, 1]))["nodes"].tolist() == [1, 2]


def test_a_node_that_leaves_too_much_to_the_last_one_is_passed_over():
    # eight cores on two nodes: beside the two of the first the second would need six
    nodes = [(1000.0, [(cores, 1.0, 100.0, 10.0)]) for cores in (2, 5, 5)]
    machine = replace(platform(*nodes), partitions=partitions_of({"all": [True] * 3}))
    workload = replace(jobs(size=8), demands=demands_of([Demand("all", nodes=2)]))
    found = run_baseline(machine, workload, "fcfs").state.cores_of(0)
    assert np.bincount(machine.processor_node[machine.core_processor[found]]).tolist() == [0, 5, 3]


def test_jobs_of_whole_nodes_may_get_more_cores_than_they_request(shapes):
    assert most_cores(shapes.platform, np.array([0, 2]), np.array([1, 2])).tolist() == [13, 24]
    assert most_cores(replace(shapes.platform, partitions=None), 0, np.array([1, 2])).tolist() == [1, 2]


def test_jobs_that_request_no_partition_run_in_the_default_one(shapes):
    state = State(shapes.platform, replace(shapes.jobs, demands=None), log=False)
    assert (state.tables.node_sets.demands["partition"] == shapes.platform.partitions.default).all()


def test_a_policy_like_slurm_needs_partitions(shapes):
    policies = PolicyActions([baseline("multifactor+slurm")])
    plain = State(replace(shapes.platform, partitions=None), replace(shapes.jobs, demands=None), needs=policies.needs)
    with pytest.raises(OptionsError, match="needs a platform with partitions"):
        policies.choices(plain, 0)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"partitions": [{"name": "x", "hosts": "z9"}]}, "is none of the nodes"),
        ({"nodes": [{"hosts": "n1"}]}, "names 1 hosts; the platform has 7 nodes"),
        ({"partitions": [{"hosts": "n1"}]}, "key 'name' is missing"),
        ({"partitions": [{"name": "x", "hosts": "n1"}, {"name": "x", "hosts": "n2"}]}, "a name occurs twice"),
    ],
)
def test_mistakes_in_partitions_name_their_place(tmp_path, change, told):
    recording("shapes", tmp_path)
    path = tmp_path / "shapes.json"
    content = json.loads(path.read_text())
    content["slurm"] |= change
    path.write_text(json.dumps(content))
    with pytest.raises(PlatformError, match=told):
        load_platform(path)


def test_more_nodes_are_of_the_kinds_and_partitions_that_there_are(shapes):
    machine = change_named("nodes=+2").of_machine(shapes.platform)
    assert machine.nodes == 9
    assert machine.partitions.nodes.sum(axis=1).tolist() == [9, 4]
    assert machine.cores == shapes.platform.cores + 8 + 12


@pytest.mark.lane(compiled=r"fcfs\+conservative")
@pytest.mark.parametrize("number", range(len(POLICIES)), ids=[policy.name for policy in POLICIES])
def test_no_job_runs_where_it_may_not_and_no_node_gives_more_than_it_has(shapes, number):
    policies = PolicyActions(POLICIES)
    state = State(shapes.platform, shapes.jobs, log=False, needs=policies.needs)
    simulator = Simulator(state, shapes.jobs, "textbook")
    for _ in run_policy(simulator, policies, number):
        pass
    tasks, sets, jobs = simulator.simulation.tasks, state.tables.node_sets, shapes.jobs
    assert np.isfinite(tasks["finish"]).all()
    nodes = [sets.hold_node[row["first_hold"] :][: row["held"]] for row in sets.demands]
    cores = [sets.hold_cores[row["first_hold"] :][: row["held"]] for row in sets.demands]
    node_cores = np.bincount(shapes.platform.processor_node, shapes.platform.processor_cores)
    for j in range(len(jobs)):
        assert sets.members[sets.demands["set"][j], nodes[j]].all()
        assert cores[j].sum() >= jobs.size[j]
        if sets.demands["exclusive"][j]:
            assert (cores[j] == node_cores[nodes[j]]).all()
        else:
            assert cores[j].sum() == jobs.size[j]
            assert sets.demands["nodes"][j] in (0, len(nodes[j]))
        running = (tasks["start"] <= tasks["start"][j]) & (tasks["finish"] > tasks["start"][j])
        used, memory = np.zeros(len(node_cores)), np.zeros(len(node_cores))
        for other in np.flatnonzero(running):
            used[nodes[other]] += cores[other]
            memory[nodes[other]] += cores[other] * jobs.memory[other]
        assert (used <= node_cores).all()
        assert (memory <= shapes.platform.node_memory * (1 + 1e-9)).all()


def test_all_recordings_are_of_60_to_200_jobs(tmp_path):
    for name in RUNS:
        found = recording(name, tmp_path)
        assert 60 <= len(found.jobs) <= 200
        assert (found.start >= found.jobs.submit).all()


@pytest.mark.parametrize(
    ("cores", "allowed", "left"), [((2, 2, 4), (1, 1, 1), [0, 0, 4]), ((4, 2, 4), (0, 1, 1), [0, 0, 4])]
)
def test_the_smallest_nodes_are_left_out_as_long_as_enough_others_are_left(cores, allowed, left):
    nodes = [(1000.0, [(count, 1.0, 4.0, 10.0)]) for count in cores]
    machine = replace(platform(*nodes), partitions=partitions_of({"all": [True] * 3}))
    tables = State(machine, jobs(size=4)).tables
    sets = tables.node_sets
    sets.allowed[:], sets.cores[:], sets.memory[:] = allowed, cores, 1000.0  # what is free there
    assert find_rooms(tables, 0, 0, 1) == 2
    assert sets.room.tolist() == left
