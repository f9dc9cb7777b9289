"""The embedded simulator: exact against a slow reference, the same in compiled code and step by step."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_worlds import platforms, workloads
from slow import CORE_KEYS, JOB_KEYS, slow_run
from small import begun, jobs, platform, run

from hdeeprm_like.cluster.platform import Network
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import CORE_POLICIES, JOB_POLICIES
from hdeeprm_like.decision.policies.pairs import apply_pair
from hdeeprm_like.engine.batsim_actors import way_to_master
from hdeeprm_like.engine.lifecycle import log_blocked
from hdeeprm_like.engine.state import Commands, State
from hdeeprm_like.engine.tables import COMPLETED, LOG_END, LOG_PSTATE, PSTATE_BITS, PSTATE_MASK, REJECTED
from hdeeprm_like.engine.tasks import KILLED, SUCCESS, TASK, WALLTIME_REACHED
from hdeeprm_like.results.job_lines import rows_of
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.run.to_end import run_policy

policy_pairs = st.tuples(st.sampled_from(sorted(JOB_POLICIES)), st.sampled_from(sorted(CORE_POLICIES)))
ranked_pairs = st.tuples(st.sampled_from(sorted(JOB_KEYS)), st.sampled_from(sorted(CORE_KEYS)))


@settings(max_examples=60)
@given(platforms, workloads(ties=False, most=15), ranked_pairs)
def test_jobs_start_and_end_when_a_slow_obvious_simulator_says_so(cluster, workload, policy):
    start, finish, cores, joules = slow_run(cluster, workload, policy)
    finished = run(cluster, workload, policy)
    tasks = finished.simulator.simulation.tasks
    for j in range(len(workload)):
        assert finished.cores[j] == cores.get(j)
        assert tasks["start"][j] == pytest.approx(start.get(j, np.nan), abs=1e-4, nan_ok=True)
        assert tasks["finish"][j] == pytest.approx(finish.get(j, np.nan), abs=1e-4, nan_ok=True)
    assert finished.state.joules == pytest.approx(joules, rel=1e-5)


def step_by_step(cluster, workload, policy, seed):
    """Run with one Python call for each step, every decision across as commands."""
    simulator, pair = begun(cluster, workload, policy, seed)
    state = simulator.state
    while (instant := simulator.next_instant()) is not None:
        state.receive(instant)
        apply_pair(state.tables, *pair)
        simulator.apply(state.drain())
    log_blocked(state.tables)
    return simulator


@given(platforms, workloads(), policy_pairs, st.integers(0, 2**63 - 1))
def test_the_compiled_loop_does_what_the_loop_in_python_does(cluster, workload, policy, seed):
    compiled = run(cluster, workload, policy, seed).simulator
    python = step_by_step(cluster, workload, policy, seed)
    for name in ("sim", "tasks"):
        ours, theirs = getattr(compiled.simulation, name), getattr(python.simulation, name)
        assert ours.tobytes() == theirs.tobytes()
    ours, theirs = compiled.state.tables, python.state.tables
    clock = ours.clock[0]
    used = {"allocation": clock["placed"], "changes": clock["changes"], "log": clock["logged"]}
    for name in ("clock", "jobs", "processors", "nodes", "words", *used):
        assert getattr(ours, name)[: used.get(name)].tobytes() == getattr(theirs, name)[: used.get(name)].tobytes()


def lives(finished):
    """For each core its changes of P-state, as (from, to, P-state)."""
    changes = {core: [(0.0, 3)] for core in range(finished.state.platform.cores)}
    for time, _, first, value, cores in finished.record.entries(LOG_PSTATE).tolist():
        for core in range(first, first + cores):
            assert changes[core][-1][1] == value >> PSTATE_BITS
            changes[core].append((time, value & PSTATE_MASK))
    return {
        core: [(a, b, p) for (a, p), (b, _) in zip(own, [*own[1:], (np.inf, 0)], strict=True)]
        for core, own in changes.items()
    }


@given(platforms, workloads(), policy_pairs)
def test_every_job_ends_once_and_the_integral_of_power_is_the_energy_and_that_of_speed_the_work(
    cluster, workload, policy
):
    finished = run(cluster, workload, policy)
    assert finished.simulator.unfinished == 0
    assert set(finished.status.tolist()) <= {COMPLETED, REJECTED}
    ended = finished.record.entries(LOG_END)["row"].tolist()
    assert sorted(ended) == np.flatnonzero(finished.status == COMPLETED).tolist()
    tasks, life = finished.simulator.simulation.tasks, lives(finished)
    flops, watts = cluster.processor_flops, cluster.processor_watts

    def integral(core, figure, begin, end):
        p = cluster.core_processor[core]
        return sum(figure[p, s] * max(0.0, min(b, end) - max(a, begin)) for a, b, s in life[core])

    total = sum(integral(core, watts, 0.0, finished.state.now) for core in life)
    assert finished.state.joules == pytest.approx(total, rel=1e-6, abs=1e-3)
    # Batsim reports the energy from the first submission to the last end
    last = np.nanmax(tasks["finish"]) if ended else -np.inf
    reported = sum(integral(core, watts, workload.submit.min(), last) for core in life)
    assert finished.record.consumed_joules == pytest.approx(reported, rel=1e-9, abs=1e-9)
    for j in np.flatnonzero(finished.status == COMPLETED):
        begin, end, cores = tasks["start"][j], tasks["finish"][j], finished.cores[j]
        energy = sum(integral(core, watts, begin, end) for core in cores)
        assert finished.energy[j] == pytest.approx(energy, rel=1e-9, abs=1e-9)
        if workload.delay[j] >= 0 or tasks["outcome"][j] != SUCCESS:
            continue
        cuts = sorted({begin, end, *(a for core in cores for a, _, _ in life[core] if begin < a < end)})
        done = sum(min(integral(core, flops, a, b) for core in cores) for a, b in pairwise(cuts))
        assert done == pytest.approx(workload.ops[j], rel=1e-9, abs=10.0)  # 1e-9 s at 3.7 GFLOP/s are 4 flop


def test_each_of_several_jobs_of_64_neighbouring_cores_slows_down_where_their_processor_lacks_bandwidth():
    cluster = platform((1000.0, [(256, 1.0, 100.0, 400.0)]))  # at three quarters of the speed where it is short
    workload = jobs(submit=[0.0, 1.0, 2.0], seconds=10.0, estimate=10.0, size=64, bandwidth=[2.0, 2.0, 5.0])
    finished = run(cluster, workload, ("first", "low_power")).simulator.simulation.tasks["finish"]
    # short from 2 s, when the third job starts, until the second ends
    assert finished == pytest.approx([2 + 8 / 0.75, 2 + 9 / 0.75, 14 + 1.0], abs=1e-4)


@settings(max_examples=20)
@given(st.lists(st.sampled_from([64, 256, 448]), min_size=1, max_size=2), st.integers(0, 2**32))
def test_cores_of_large_processors_have_the_states_and_speeds_that_follow_from_the_jobs(processors, seed):
    cluster = platform((1000.0, [(cores, 1.0, 100.0, 400.0) for cores in processors]))
    rng, count, owner = np.random.default_rng(seed), 8, cluster.core_processor
    times = {name: rng.uniform(0.01, 20.0, count) for name in ("submit", "seconds", "estimate")}
    times["submit"].sort()
    size, bandwidth = rng.choice([1, 64, 64, 65, 128], count), rng.choice([0.0, 2.0, 5.0], count)
    size[0] = 64  # one job runs at least
    workload = jobs(**times, size=size, bandwidth=bandwidth)
    finished = run(cluster, workload, ("first", "low_power"))
    tasks, life, done = finished.simulator.simulation.tasks, lives(finished), np.zeros(count)
    events = np.unique(np.concatenate([tasks["start"], tasks["finish"]]))
    for begin, end in pairwise(events[np.isfinite(events)]):
        moment = (begin + end) / 2
        used, serving = np.zeros(len(processors)), np.zeros(cluster.cores, np.bool_)
        running = np.flatnonzero((tasks["start"] < moment) & (moment < tasks["finish"]))
        for j in running:
            serving[list(finished.cores[j])] = True
            np.add.at(used, owner[list(finished.cores[j])], bandwidth[j])
        busy = np.bincount(owner, serving, len(processors)) > 0
        states = np.where(serving, np.where(used > 400.0, 1, 0)[owner], np.where(busy, 2, 3)[owner])
        for j in running:
            own = list(finished.cores[j])
            done[j] += (end - begin) * cluster.processor_flops[owner[own], states[own]].min()
        if end - begin > 1e-3:  # longer than the messages about it
            assert states.tolist() == [next(p for a, b, p in life[core] if a <= moment < b) for core in life]
    ended = np.flatnonzero(tasks["outcome"] == SUCCESS)
    assert done[ended] == pytest.approx(workload.ops[ended], rel=1e-4)


@pytest.mark.parametrize(
    ("job", "ends", "outcome"),
    [
        ({"seconds": 4.0, "walltime": 4.00000001}, 4.0, SUCCESS),
        ({"seconds": 4.0, "walltime": 3.5}, 3.5, WALLTIME_REACHED),
        ({"seconds": 4.0, "walltime": 5.0}, 4.0, SUCCESS),
        ({"delay": 4.0, "walltime": 4.0}, 4.0, WALLTIME_REACHED),  # a delay may not
        ({"delay": 4.0, "walltime": 4.1}, 4.0, SUCCESS),
        ({"delay": 4.0, "walltime": 2.0}, 2.0, WALLTIME_REACHED),
        ({"delay": 4.0}, 4.0, SUCCESS),
        ({"delay": 0.0}, 0.0, SUCCESS),
        ({"seconds": 0.0}, 0.0, SUCCESS),
        ({"seconds": 0.0, "walltime": 1.0}, 0.0, SUCCESS),
    ],
)
def test_a_job_ends_by_its_work_or_its_walltime(job, ends, outcome):
    finished = run(platform(), jobs(**job))
    assert finished.finish_time.tolist() == [ends]
    assert finished.simulator.simulation.tasks["outcome"].tolist() == [outcome]


def test_slow_cores_can_drive_a_job_into_its_walltime_but_not_a_delay():
    workload = jobs(seconds=[4.0, 0.0], delay=[-1.0, 4.0], walltime=[5.0, 4.5], bandwidth=6.0)
    finished = run(platform((1e3, [(2, 1.0, 1.0, 10.0)])), workload)
    assert finished.finish_time.tolist() == [5.0, 4.0]  # 3 of 4 s done at 4 s, the last one takes 1 s
    slower = run(platform((1e3, [(2, 1.0, 1.0, 10.0)])), jobs(seconds=4.0, walltime=[5.3, 5.4], bandwidth=6.0))
    assert slower.simulator.simulation.tasks["outcome"].tolist() == [WALLTIME_REACHED, SUCCESS]


def test_a_job_without_work_is_reported_to_have_run_for_ten_microseconds():
    (row,) = rows_of(run(platform(), jobs(seconds=0.0)).record.lines)
    assert (row.starting_time, row.execution_time) == (pytest.approx(0.0, abs=1e-6), 1e-5)


class Scripted:
    """Plays a scripted decision at each instant and keeps the instants."""

    def __init__(self, cluster, workload):
        self.simulator, self.pair = begun(cluster, workload)
        self.instants = []

    def play(self, decide):
        state = self.simulator.state
        while (instant := self.simulator.next_instant()) is not None:
            self.instants.append(instant)
            state.receive(instant)
            apply_pair(state.tables, *self.pair)
            decide(state, instant)
            self.simulator.apply(state.drain())
        return self


def test_a_killed_job_ends_at_once_and_frees_its_cores():
    def kill_at_five(state, instant):
        state.wake_at = 5.0 if instant.now == 0.0 else np.inf
        state.kills = [0] if instant.now == 5.0 else []

    played = Scripted(platform(), jobs(seconds=[10.0, 2.0])).play(kill_at_five)
    tasks = played.simulator.simulation.tasks
    assert np.round(tasks["finish"], 6).tolist() == [5.0, 7.0]
    assert tasks["outcome"].tolist() == [KILLED, SUCCESS]
    assert played.simulator.unfinished == 0


def test_killing_what_does_not_run_does_nothing():
    def kill_all(state, instant):
        state.kills = [1, 0, 0] if instant.completed else []

    played = Scripted(platform(), jobs(seconds=[3.0, 2.0])).play(kill_all)
    tasks = played.simulator.simulation.tasks
    assert tasks["outcome"].tolist() == [SUCCESS, KILLED]  # the second had just begun
    assert np.round(tasks["finish"], 6).tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("submit", "calls", "others", "called"),
    [
        ([0], [4.0, 4.000002, 4.5], [0.0, 10.0], [4.0, 4.00001, 4.5]),  # not within ten microseconds
        ([0, 6], [np.inf, 1.0], [0.0, 6.0, 10.0, 20.0], [6.00001]),  # at once where it is in the past
    ],
)
def test_the_decision_system_is_called_when_it_requests_a_call(submit, calls, others, called):
    asked = iter(calls)

    def call(state, instant):
        state.wake_at = next(asked, np.inf)

    played = Scripted(platform(), jobs(submit=submit, seconds=10.0)).play(call)
    assert [instant.now for instant in played.instants] == sorted(others + called)
    assert [now for now, *happened in played.instants if happened == [[], 0, True]] == called


def test_the_jobs_of_time_zero_are_reported_before_the_end_of_submissions_is():
    # as in golden/batsim4/hdeeprm_learning_*: JOB_SUBMITTED twice, and NOTIFY in the next message
    workload = jobs(submit=0.0, seconds=[2.0, 2.0])
    played = Scripted(platform(), workload).play(lambda state, instant: None)
    assert [(instant.now, instant.submitted, instant.arrivals_over) for instant in played.instants[:2]] == [
        (0.0, 2, False),
        (2.0, 0, True),
    ]


def test_an_instant_reports_simultaneous_arrivals_in_the_byte_order_of_their_ids():
    workload = jobs(submit=[3.0, 3.0, 3.0, 1.0], ids=["w0!2", "w0!10", "w0!1", "w0!9"], seconds=5.0)
    assert workload.ids == ("w0!9", "w0!1", "w0!10", "w0!2")
    played = Scripted(platform((1e3, [(9, 1.0, 1.0, 1.0)])), workload).play(lambda state, instant: None)
    assert [(instant.now, instant.submitted) for instant in played.instants[:2]] == [(1.0, 1), (3.0, 3)]


def test_waiting_jobs_are_offered_once_more_when_no_more_jobs_come_and_nothing_runs():
    simulator, pair = begun(platform(), jobs(seconds=1.0))
    instants = []
    while (instant := simulator.next_instant()) is not None:
        instants.append(instant)
        simulator.state.receive(instant)
        if instant.arrivals_over:
            apply_pair(simulator.state.tables, *pair)
        simulator.apply(simulator.state.drain())
    assert [instant.arrivals_over for instant in instants] == [False, True, True]
    assert simulator.unfinished == 0


def test_a_decision_system_that_never_decides_leaves_its_jobs_unfinished():
    simulator, _ = begun(platform(), jobs(seconds=[1.0, 1.0]))
    while (instant := simulator.next_instant()) is not None:
        simulator.state.receive(instant)
        simulator.apply(Commands())
    assert simulator.unfinished == 2


def test_a_simulation_without_a_log_gives_the_same_times():
    workload = jobs(submit=np.arange(20.0), seconds=7.0, size=2, bandwidth=6.0)
    cluster = platform((1e3, [(5, 1.0, 10.0, 10.0)]))
    finished = run(cluster, workload)
    state = State(cluster, workload, log=False)
    simulator = Simulator(state, workload)
    list(run_policy(simulator, PolicyActions([("first", "high_gflops")])))
    ours, theirs = simulator.simulation.tasks, finished.simulator.simulation.tasks
    for column in set(TASK.names) - {"watts", "joules"}:  # the energy of each job goes with the log
        assert ours[column].tobytes() == theirs[column].tobytes()
    assert theirs["joules"].all()
    assert not ours["joules"].any()
    assert len(state.tables.log) == 0


def test_a_job_policy_that_the_state_keeps_no_queue_for_is_an_error():
    cluster, workload = platform(), jobs(seconds=[1.0])
    actions = PolicyActions([("first", "high_gflops")])
    simulator = Simulator(State(cluster, workload, needs=actions.needs), workload)
    with pytest.raises(ValueError, match="keeps no list of jobs"):
        list(run_policy(simulator, PolicyActions([("smallest", "high_gflops")])))
    list(run_policy(simulator, actions))
    assert simulator.unfinished == 0


def test_the_message_of_an_ended_job_takes_the_latencies_and_the_narrowest_link():
    network = Network(("8Gbps",), ("10us",), "4Gbps", "5us")
    (latency, *_), (speed, *_) = way_to_master(platform(network=network))
    assert (latency, speed) == (pytest.approx(15e-6), 0.5e9)
    (latency, *own), (speed, *loopback) = way_to_master(platform())  # as the XML of a platform without a network says
    assert (latency, speed) == (0.0, 1.25e9)
    assert (own, loopback) == ([0.0], [1e10])  # SimGrid's, of the master host to itself


def test_a_slow_network_delays_what_the_decision_system_hears_but_not_the_end():
    network = Network(("8Gbps",), ("0.25s",), "8Gbps", "0.25s")
    finished = run(platform(network=network), jobs(seconds=[4.0, 4.0]))
    assert finished.start_time.tolist() == [0.0, 4.5]
    assert finished.finish_time.tolist() == [4.0, 8.5]
