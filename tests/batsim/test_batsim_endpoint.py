"""Over Batsim's messages the decisions are those of the original, and the schedule is the one in process."""

import json
from pathlib import Path

import numpy as np
import pytest
from batsim_replay import messages_of
from batsim_talk import (
    FOUR,
    assert_same_schedule,
    events_of,
    jobs_of,
    message,
    play_on_server,
    server_options,
    talk,
    write_inputs,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from random_worlds import workloads
from small import jobs, platform, run

from hdeeprm_like.batsim_server import cli
from hdeeprm_like.errors import PlatformError, ProtocolError
from hdeeprm_like.formats.platform_hosts import read_platform_xml
from hdeeprm_like.formats.platform_json import read_platform
from hdeeprm_like.formats.platform_properties import figures_of, properties_of
from hdeeprm_like.formats.platform_xml import write_platform_xml
from hdeeprm_like.formats.workload_json import read_workload
from hdeeprm_like.results.batsim_files import interval_set, parse_interval_set

ROOT = Path(__file__).parent.parent.parent
GOLDEN = ROOT / "tests" / "golden"
RECORDED = sorted(path.name for path in (GOLDEN / "batsim4").glob("hdeeprm_*"))
LEARNING = read_platform(ROOT / "platforms" / "learning.json")
ONE = platform()
FOUR_CORES = platform((1000.0, [(4, 1.0, 100.0, 10.0)]))
SUBMIT = {"job_id": "w0!1", "job": {"id": "w0!1", "subtime": 0, "res": 1, "profile": "p"}}


def begins(platform, profiles=None, names=None, order=None, **config):
    """The first message of a Batsim with the hosts of a platform, in some *order* and under other *names*."""
    names = names or platform.core_names
    properties = [properties_of(figures) for figures in figures_of(platform)]
    hosts = [(names[core], properties[platform.core_processor[core]]) for core in range(platform.cores)]
    hosts = [hosts[core] for core in order or range(len(hosts))]
    resources = [{"id": i, "name": name, "state": "idle", "properties": props} for i, (name, props) in enumerate(hosts)]
    profiles = {"w0": {"p": {"type": "delay", "delay": 10}}} if profiles is None else profiles
    return message(0.0, ("SIMULATION_BEGINS", {"compute_resources": resources, "profiles": profiles, "config": config}))


def submitted(number, size=1, profile="p", workload="w0", **more):
    job = {"id": f"{workload}!{number}", "subtime": 0, "res": size, "profile": profile}
    return "JOB_SUBMITTED", {"job_id": job["id"], "job": job, **more}


def completed(number, state="COMPLETED_SUCCESSFULLY", workload="w0"):
    return "JOB_COMPLETED", {"job_id": f"{workload}!{number}", "job_state": state, "return_code": 0, "alloc": "0"}


def notify(kind, **more):
    return "NOTIFY", {"type": kind, **more}


def started(answer):
    return {data["job_id"]: data["alloc"] for kind, data in events_of(answer) if kind == "EXECUTE_JOB"}


# -- what was recorded


def in_effect(pstates, events):
    """The P-state of each machine after some events; the original also requests P-states that machines already have."""
    changed = {
        machine: int(data["state"])
        for kind, data in events
        if kind == "SET_RESOURCE_STATE"
        for machine in parse_interval_set(data["resources"])
    }
    return pstates | changed


@pytest.mark.parametrize("case", RECORDED)
def test_decisions_are_those_of_the_original_in_recorded_conversations(case):
    messages = [one["raw"] for one in messages_of(GOLDEN / "batsim4" / case)]
    ours = talk(LEARNING, tuple(case.rpartition("jobs_" if "jobs" in case else "learning_")[2].split("-", 1)))
    mine, its = {}, {}
    for said, theirs in zip(messages[::2], messages[1::2], strict=True):
        answer = ours.answer(said)
        assert started(answer) == started(theirs)
        mine, its = in_effect(mine, events_of(answer)), in_effect(its, events_of(theirs))
        assert {machine: state for machine, state in its.items() if mine.get(machine, 3) != state} == {}
    assert ours.ended


# another pair
@pytest.mark.lane(more=r".*high_mem_bw")
@pytest.mark.parametrize("case", ["gaia100_shortest-high_gflops", "gaia100_shortest-high_mem_bw"])
def test_gaia_over_messages_is_as_the_original_ran_it_on_batsim(case, tmp_path):
    folder = GOLDEN / "hdeeprm" / f"fixedids_{case}"
    (tmp_path / "workload.json").write_bytes((folder / "workload.json").read_bytes())
    platform = read_platform(ROOT / "platforms" / "gaia.json")
    write_platform_xml(platform, tmp_path / "platform.xml")
    ours = talk(platform, tuple(case.partition("_")[2].split("-")))
    assert play_on_server(ours, tmp_path)[1]
    theirs, mine = jobs_of(folder / "out_jobs.csv"), jobs_of(tmp_path / "out_jobs.csv")
    assert theirs.keys() == mine.keys()
    for identifier, row in theirs.items():
        assert mine[identifier]["allocated_resources"] == row["allocated_resources"]
        for column in ("starting_time", "finish_time"):
            assert float(mine[identifier][column]) == pytest.approx(float(row[column]), abs=3e-6)


# -- one truth


def both(platform, workload, pair, folder, seed=3):
    """Run in process and over messages, on the platform as the XML has it."""
    exact = write_inputs(platform, workload, folder)
    platform = read_platform_xml(folder / "platform.xml")
    workload = read_workload(folder / "workload.json", reference_flops=platform.reference_flops)
    finished = run(platform, workload, pair, seed)
    ours = talk(platform, pair, seed, exact)
    _, ended = play_on_server(ours, folder)
    return finished, ours, ended


MANY = jobs(submit=np.arange(300) // 7, seconds=3.0, size=1 + np.arange(300) % 4)  # tables grow with them
LIMITED = jobs(submit=[0.0, 0.0], seconds=[9.0, 1.0], walltime=[4.0, np.inf])


@pytest.mark.parametrize(
    ("machine", "workload", "pair"),
    [(FOUR_CORES, MANY, ("smallest", "high_cores")), (platform(), LIMITED, ("first", "high_gflops"))],
)
def test_many_jobs_and_those_past_their_walltime_run_as_in_process(machine, workload, pair, tmp_path):
    finished, ours, ended = both(machine, workload, pair, tmp_path)
    assert ended
    assert ours.system.state.known == len(workload)
    assert_same_schedule(finished, tmp_path / "out_jobs.csv")


def test_the_platform_is_rebuilt_from_the_hosts(tmp_path):
    cluster = platform((1000.0, [(2, 1.0, 100.0, 10.0)]), (500.0, [(1, 2.0, 50.0, 5.0), (3, 2.5, 80.0, 24.0)]))
    write_inputs(cluster, jobs(submit=[0.0, 0.0], seconds=2.0, size=[1, 3]), tmp_path)
    ours = talk(policy=("first", "low_power"))
    assert play_on_server(ours, tmp_path)[1]
    rebuilt = ours.system.state.platform
    processors = ("processor_node", "processor_bandwidth", "processor_flops", "processor_watts")
    for column in ("node_memory", *processors, "core_processor"):
        assert (getattr(rebuilt, column) == getattr(cluster, column)).all()
    assert rebuilt.core_names == cluster.core_names


# -- machines by name

TWO = platform((1000.0, [(6, 1.0, 100.0, 10.0)]), (1000.0, [(6, 2.0, 100.0, 10.0)]))
UNPADDED = [f"cor_{core}" for core in range(12)]
BYTES = sorted(range(12), key=lambda core: UNPADDED[core])  # cor_0, cor_1, cor_10, cor_11, cor_2 ...


@pytest.mark.parametrize("known", [None, TWO])
def test_machines_are_mapped_by_the_names_of_their_hosts(known):
    ours = talk(known)
    ours.answer(begins(TWO, names=UNPADDED, order=BYTES) if known is None else begins(TWO, order=BYTES))
    alloc = started(ours.answer(message(0.0, submitted(1, size=6), submitted(2, size=6))))
    place = {core: machine for machine, core in enumerate(BYTES)}
    fast, slow = ({place[core] for core in cores} for cores in (range(6, 12), range(6)))
    # high_gflops: the processor of 2 GFLOP/s first
    assert alloc == {"w0!1": interval_set(fast), "w0!2": interval_set(slow)}


def test_a_platform_that_is_not_batsims_is_refused_with_the_first_host_that_differs():
    other = platform((1000.0, [(6, 1.0, 100.0, 10.0)]), (1000.0, [(6, 2.0, 101.0, 10.0)]))
    with pytest.raises(PlatformError, match=r"host 'cor_0006', machine 6: wattage_per_state is '101.*' and '100"):
        talk(TWO).answer(begins(other))
    with pytest.raises(PlatformError, match="12 hosts and platform 'small' has 1 cores"):
        talk(platform()).answer(begins(TWO))


# -- Batsim's messages


def begun(platform=ONE, profiles=None, **how):
    """Our side of a simulation that has begun on a platform."""
    ours = talk(platform, **how)
    ours.answer(begins(platform, profiles))
    return ours


def test_jobs_wait_for_cores_that_are_unavailable_and_start_when_they_are_back():
    ours = begun(FOUR_CORES)
    for time, event, starts in [
        (0.0, submitted(1, size=2), {"w0!1": "0-1"}),
        (1.0, notify("event_machine_unavailable", resources="1-2"), {}),
        (2.0, submitted(2, size=2), {}),  # only core 3 is left
        (3.0, completed(1), {"w0!2": "0 3"}),
        (4.0, submitted(3), {}),
        (5.0, notify("event_machine_available", resources="2"), {"w0!3": "2"}),
    ]:
        assert started(ours.answer(message(time, event))) == starts


def test_machine_changes_alone_need_no_decision_while_no_job_waits():
    ours = begun(agent=type("Never", (), {"act": lambda *_: pytest.fail("nothing is to be decided")})())
    for kind in ("event_machine_unavailable", "event_machine_available"):
        assert events_of(ours.answer(message(1.0, notify(kind, resources="0")))) == []


@st.composite
def outages(draw):
    """External events as Batsim's files have them: machines go, and come only where they are gone."""
    events, gone = [], set()
    for timestamp in sorted(draw(st.sets(st.integers(0, 25), max_size=8))):
        chosen = draw(st.sets(st.integers(0, 3), min_size=1))
        for kind, some in (("machine_available", chosen & gone), ("machine_unavailable", chosen - gone)):
            if some:
                events.append({"type": kind, "resources": " ".join(map(str, sorted(some))), "timestamp": timestamp})
        gone ^= chosen
    if gone:
        resources = " ".join(map(str, sorted(gone)))
        events.append({"type": "machine_available", "resources": resources, "timestamp": 30})
    return events


@settings(max_examples=40)
@given(events=outages(), workload=workloads(most=15))
def test_no_job_ever_starts_on_machines_that_are_unavailable(events, workload, tmp_path_factory):
    folder = tmp_path_factory.mktemp("events")  # the server refuses such a start
    exact = write_inputs(FOUR, workload, folder)
    (folder / "events.txt").write_text("".join(json.dumps(event) + "\n" for event in events))
    ours = talk(FOUR, ("first", "high_cores"), exact=exact)
    assert play_on_server(ours, folder, "--events", str(folder / "events.txt"))[1]
    assert len(jobs_of(folder / "out_jobs.csv")) == len(workload)


def test_several_workloads_keep_their_own_profiles():
    profiles = {
        "w0": {"p": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0, "mem": 600, "mem_bw": 2, "req_time": 5}},
        "w1": {"p": {"type": "delay", "delay": 7}},
    }
    ours = begun(FOUR_CORES, profiles)
    ours.answer(message(0.0, submitted(1), submitted(1, workload="w1")))
    assert ours.identifiers == ["w0!1", "w1!1"]
    rows = ours.system.state.tables.jobs[:2]
    assert rows["requested_time"].tolist() == [5.0, 7.0]
    assert rows["memory"].tolist() == [600.0, 0.0]


def test_two_files_of_jobs_run_to_the_end(tmp_path):
    write_inputs(FOUR_CORES, jobs(submit=[0.0, 3.0], seconds=2.0, size=3), tmp_path)
    ours = talk()
    assert play_on_server(ours, tmp_path, "-w", str(tmp_path / "workload.json"))[1]
    assert ours.outcomes == {"COMPLETED_SUCCESSFULLY": 4}


def test_profiles_may_come_with_the_jobs(tmp_path):
    write_inputs(FOUR_CORES, jobs(submit=[0.0, 3.0], seconds=[2.0, 4.0], memory=[10.0, 20.0]), tmp_path)
    ours = talk(FOUR_CORES)
    assert play_on_server(ours, tmp_path, "--forward-profiles-on-submission")[1]
    assert ours.system.state.tables.jobs["requested_time"][:2].tolist() == [2.0, 4.0]
    assert ours.system.state.tables.jobs["memory"][:2].tolist() == [10.0, 20.0]


def test_requests_missing_from_a_profile_are_filled_in():
    reference = ONE.reference_flops
    profiles = {
        "delay": {"type": "delay", "delay": 3},
        "ops": {"type": "parallel_homogeneous", "cpu": 4 * reference, "com": 0, "req_ops": 2 * reference},
        "cpu": {"type": "parallel_homogeneous", "cpu": 4 * reference, "com": 0},
        "total": {"type": "parallel_homogeneous_total", "cpu": 4 * reference, "com": 0},
        "each": {"type": "parallel", "cpu": [reference, 3 * reference], "com": [0, 0, 0, 0]},
        "many": {"type": "composed", "repeat": 2, "seq": ["delay", "cpu"]},
    }
    ours = begun(profiles={"w0": profiles})
    kind, data = submitted("w", profile="many")
    limited = kind, data | {"job": data["job"] | {"walltime": 8.5}}
    ours.answer(message(0.0, *(submitted(name, profile=name) for name in profiles), limited))
    requested = ours.system.state.tables.jobs["requested_time"][: len(profiles) + 1]
    assert requested.tolist() == [3.0, 2.0, 4.0, 4.0, 3.0, 0.0, 8.5]


def test_what_was_not_requested_is_survived(caplog):
    ours = begun()
    ours.answer(message(0.0, submitted(1), submitted(2)))
    stray = message(
        1.0,
        completed(1, "COMPLETED_KILLED"),
        ("JOB_KILLED", {"job_ids": ["w0!1"], "job_progress": {}}),
        ("ANSWER", {"consumed_energy": 3.0}),
        ("FROM_JOB_MSG", {"job_id": "w0!2", "msg": "hello"}),
        notify("some_generic_event", timestamp=1.0),
    )
    assert started(ours.answer(stray)) == {"w0!2": "0"}
    assert "was not requested" in caplog.text


def test_a_batsim_that_waits_for_dynamic_jobs_learns_that_there_are_none(tmp_path):
    write_inputs(platform(), jobs(submit=[0.0], seconds=2.0), tmp_path)
    ours = talk()
    said, ended = play_on_server(ours, tmp_path, "--enable-dynamic-jobs")
    assert ended
    assert "SIMULATION_ENDS" in said[-1]


def test_acknowledged_pstates_need_no_decision_and_the_last_submission_does_when_nothing_else_can(tmp_path):
    agent = type("Void", (), {"asked": 0})()
    agent.act = lambda observation, mask: setattr(agent, "asked", agent.asked + 1) or 0
    ours = begun(agent=agent)
    ours.answer(message(0.0, submitted(1), submitted(2)))
    assert agent.asked == 1
    ours.answer(message(0.0, ("RESOURCE_STATE_CHANGED", {"resources": "0", "state": "0"})))
    ours.answer(message(0.0, notify("no_more_static_job_to_submit")))
    assert agent.asked == 1  # a job runs
    ours.answer(message(1.0, completed(1)))
    assert agent.asked == 2


def test_the_end_with_jobs_left_is_refused():
    ours = begun()
    ours.answer(message(0.0, submitted(1), submitted(2)))
    with pytest.raises(ProtocolError, match="1 jobs run and 1 wait"):
        ours.answer(message(1.0, ("SIMULATION_ENDS", {})))


def test_a_wish_to_be_called_and_kills_are_passed_on():
    ours = begun(platform((1000.0, [(2, 1.0, 100.0, 10.0)])))

    class Wishes:
        """Wants to be called, and ends what runs."""

        def act(self, observation, mask):
            ours.system.state.wake_at = ours.now + 5.0
            ours.system.state.kills = sorted(ours._running)
            return 0

    ours._agent = Wishes()
    assert ("CALL_ME_LATER", {"timestamp": 5.0}) in events_of(ours.answer(message(0.0, submitted(1))))
    events = events_of(ours.answer(message(1.0, submitted(2))))
    assert [kind for kind, _ in events] == ["EXECUTE_JOB", "SET_RESOURCE_STATE", "KILL_JOB", "CALL_ME_LATER"]
    assert events_of(ours.answer(message(5.0, ("REQUESTED_CALL", {})))) == []
    assert not cli.read_command_line(["-p", "x", "-w", "y"])[0].energy
    assert server_options(Path()).energy


def test_a_submission_at_the_end_of_delays_comes_in_the_same_messages_in_process(tmp_path):
    delay = {"type": "delay", "delay": 1, "req_time": 1, "mem": 100, "mem_bw": 0}
    short = {"type": "parallel_homogeneous", "cpu": 4e9, "com": 0, "req_time": 1, "req_ops": 4e9, "mem": 9, "mem_bw": 0}
    long = short | {"cpu": 8e9, "req_time": 2, "req_ops": 8e9}
    asked = [(1, 2, "delay"), (3, 2, "short"), (3, 3, "long"), (2, 1, "delay"), (1, 1, "delay")]
    listed = [{"id": i, "subtime": time, "res": size, "profile": name} for i, (time, size, name) in enumerate(asked)]
    content = {"nb_res": 4, "jobs": listed, "profiles": {"delay": delay, "short": short, "long": long}}
    (tmp_path / "ties.json").write_text(json.dumps(content))
    workload = read_workload(tmp_path / "ties.json", reference_flops=LEARNING.reference_flops, capacity=4)
    finished, ours, ended = both(LEARNING, workload, ("shortest", "high_gflops"), tmp_path)
    assert ended
    assert ours.ended
    assert_same_schedule(finished, tmp_path / "out_jobs.csv")
