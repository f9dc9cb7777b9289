"""What a simulation leaves behind, read from its log."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_worlds import platforms, workloads
from small import jobs, platform, run

from hdeeprm_like.cluster.pstates import P0, P1
from hdeeprm_like.decision.names import CORE_POLICIES, JOB_POLICIES
from hdeeprm_like.engine.tables import COMPLETED, LOG_END
from hdeeprm_like.errors import ResultsError
from hdeeprm_like.results import core_intervals, job_lines
from hdeeprm_like.results.batsim_files import parse_interval_set
from hdeeprm_like.results.overutilization import spans
from hdeeprm_like.results.report import SHORT, figures_of_run
from hdeeprm_like.results.run_reader import Run

policy_pairs = st.tuples(st.sampled_from(sorted(JOB_POLICIES)), st.sampled_from(sorted(CORE_POLICIES)))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([], []),
        ([(1.0, True), (3.0, False)], [(1.0, 3.0)]),
        ([(1.0, True)], [(1.0, 10.0)]),  # closed at the end
        ([(1.0, True), (2.0, True), (3.0, False)], [(1.0, 3.0)]),
        ([(1.0, False), (2.0, False)], []),
        ([(1.0, True), (1.0, False)], []),  # nothing lasts no time
        ([(1.0, True), (2.0, False), (2.0, True), (4.0, False)], [(1.0, 4.0)]),  # touching
        ([(1.0, True), (2.0, False), (2.5, True)], [(1.0, 2.0), (2.5, 10.0)]),
        ([(10.0, True)], []),
    ],
)
def test_switches_become_closed_spans(changes, expected):
    assert spans(changes, 10.0) == expected


def test_the_selected_job_lacks_cores_until_it_starts():
    finished = run(
        platform((1e3, [(2, 1.0, 1.0, 1.0)])), jobs(submit=[0, 2, 3], seconds=[5.0, 1.0, 1.0], size=[1, 2, 1])
    )
    # the second lacks cores from 2 to 5, the third from 5 to 6
    assert finished.overutilizations["core"] == [(2.0, 6.0)]
    assert finished.overutilizations["mem"] == []


def test_lacking_cores_and_lacking_memory_are_told_apart():
    workload = jobs(submit=[0, 1, 2], seconds=[4.0, 2.0, 2.0], size=[1, 1, 2], memory=[60.0, 60.0, 0.0])
    finished = run(platform((100.0, [(2, 1.0, 1.0, 1.0)])), workload)
    assert finished.start_time.tolist() == [0.0, 4.0, 6.0]
    assert finished.overutilizations["mem"] == [(1.0, 4.0)]
    assert finished.overutilizations["core"] == [(4.0, 6.0)]


@settings(max_examples=40)
@given(platforms, workloads(), policy_pairs)
def test_the_files_of_a_run_agree_with_one_another_and_with_the_schedule(tmp_path_factory, cluster, workload, policy):
    folder = tmp_path_factory.mktemp("run")
    finished = run(cluster, workload, policy)
    record = finished.record
    schedule = record.schedule(scheduling_time=0.0, simulation_time=1.0)
    record.write(folder, schedule)
    read = Run(folder, folder / "out_schedule.csv")
    ran = finished.status == COMPLETED
    assert len(read.jobs) == len(workload)
    assert np.sum(read.jobs.ran) == np.sum(ran) == schedule["nb_jobs_finished"]
    assert schedule["nb_jobs_rejected"] == np.sum(~ran)
    with open(folder / "out_jobs.csv", newline="") as file:
        rows = {row["job_id"]: row for row in csv.DictReader(file)}
    for j in np.flatnonzero(ran):
        row = rows[workload.ids[j].partition("!")[2]]
        assert parse_interval_set(row["allocated_resources"]) == finished.cores[j]
        assert float(row["starting_time"]) == pytest.approx(finished.start_time[j], abs=2e-6)
        assert float(row["finish_time"]) == pytest.approx(
            max(finished.finish_time[j], finished.start_time[j]), abs=2e-5
        )
        assert float(row["consumed_energy"]) == pytest.approx(finished.energy[j], abs=1e-6)
        assert float(row["waiting_time"]) >= 0.0
    if ran.any():
        assert schedule["makespan"] == pytest.approx(np.nanmax(finished.finish_time), abs=2e-5)
    with open(folder / "out_machine_states.csv", newline="") as file:
        states = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    assert all(state["nb_idle"] + state["nb_computing"] == cluster.cores for state in states)
    assert not states or states[-1]["nb_computing"] == 0
    with open(folder / "out_consumed_energy.csv", newline="") as file:
        joules = [float(row["energy"]) for row in csv.DictReader(file)]
    assert joules == sorted(joules)
    busy = sum(workload.size[j] * (finished.finish_time[j] - finished.start_time[j]) for j in np.flatnonzero(ran))
    assert schedule["time_computing"] == pytest.approx(busy, abs=1e-3)


@settings(max_examples=40)
@given(platforms, workloads(), policy_pairs)
def test_the_figures_of_a_run_are_those_that_are_read_from_its_files(tmp_path_factory, cluster, workload, policy):
    folder = tmp_path_factory.mktemp("run")
    record = run(cluster, workload, policy).record
    schedule = record.schedule(scheduling_time=0.0, simulation_time=1.0)
    record.write(folder, schedule)
    read = figures_or_refusal(Run(folder, folder / "out_schedule.csv"))
    found = figures_or_refusal(record.as_run(folder, schedule))
    if isinstance(read, str):  # jobs of no run time, which Batsim writes longer than they were
        assert found == read
        return
    few_joules = found["energy"] < 1.0  # of which six decimals are few digits, or 0, which says that nobody measured
    told = [name for name in SHORT if not (few_joules and name.startswith("energy"))]
    assert {name: found[name] for name in told} == pytest.approx({name: read[name] for name in told}, nan_ok=True)


def figures_or_refusal(of):
    try:
        return figures_of_run(of)
    except ResultsError as error:
        return str(error)


@settings(max_examples=40)
@given(platforms, workloads(), policy_pairs, st.integers(1, 3))
def test_each_core_was_last_used_by_the_last_of_its_jobs_to_end(cluster, workload, policy, at_once):
    finished = run(cluster, workload, policy)
    ends = finished.record.entries(LOG_END)
    last = np.zeros(cluster.cores)
    for job, time in zip(ends["row"].tolist(), ends["time"].tolist(), strict=True):
        last[finished.cores[job]] = time
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core_intervals, "AT_ONCE", at_once)
        found = core_intervals.last_times(finished.record.intervals, ends["row"], ends["time"], cluster.cores)
    assert found.tolist() == last.tolist()


@given(platforms, workloads(), policy_pairs)
def test_all_spans_are_closed_in_order_and_within_the_run(cluster, workload, policy):
    finished = run(cluster, workload, policy)
    found = finished.overutilizations
    processors = [[(a, a + b) for a, b in own["values"]] for own in found["mem_bw"]["procs"].values()]
    for own in (found["core"], found["mem"], *processors):
        times = [time for span in own for time in span]
        assert times == sorted(times)
        assert all(end > begin for begin, end in own)
        assert all(0.0 <= time <= finished.state.now + 1e-6 for time in times)
    for a, b in found["core"]:
        assert all(b <= begin or end <= a for begin, end in found["mem"])


def test_batsim_counts_idle_seconds_only_until_the_last_change_of_a_core():
    finished = run(platform((1e3, [(2, 1.0, 1.0, 1.0)])), jobs(submit=[2, 9], seconds=[3.0, 1.0]))
    assert finished.cores == [[0], [0]]
    seconds = finished.record.machine_seconds()
    assert seconds["computing"] == pytest.approx(4.0, abs=1e-6)
    assert seconds["idle"] == pytest.approx(6.0, abs=1e-6)  # core 0 until 10; core 1 never changes


def test_a_run_of_rejected_jobs_alone_has_no_energy_and_no_makespan():
    record = run(platform(), jobs(size=[2, 3])).record
    schedule = record.schedule(0.0, 0.0)
    assert (schedule["consumed_joules"], schedule["makespan"], schedule["nb_jobs_rejected"]) == (0.0, 0.0, 2)
    assert [row.final_state for row in job_lines.rows_of(record.lines)] == ["REJECTED", "REJECTED"]


def test_jobs_that_share_too_little_bandwidth_draw_the_power_of_their_p_state():
    machine = platform((1000.0, [(2, 1.0, 4.0, 1.0)]))  # two cores of 1 GFLOP/s each, with 1 GB/s together
    machine = replace(machine, processor_watts=np.array([[4.0, 3.0, 1.0, 0.2]]))  # W in P0 to P3
    finished = run(machine, jobs(seconds=[10.0, 20.0], bandwidth=[0.8, 0.6]))
    full, slowed = machine.processor_flops[0, [P0, P1]]
    shared = 10.0 / (slowed / full)  # s until the first job ends
    alone = 20.0 - 10.0  # s that the second one computes afterwards
    found = [row.energy for row in job_lines.rows_of(finished.record.lines)]
    assert found == pytest.approx([3.0 * shared, 3.0 * shared + 4.0 * alone], rel=1e-6)
