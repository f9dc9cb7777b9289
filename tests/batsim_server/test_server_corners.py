"""Corners where Batsim 4.2.1 and SimGrid 3.32 do what one would not expect."""

import csv
import json

import pytest
from server_inputs import HEAD, MASTER, Filler, Script, platform_xml, reply, workload, write_inputs

from hdeeprm_like.batsim_server.cli import play
from hdeeprm_like.errors import ProtocolError, WorkloadError

WORK = {"work4": {"type": "parallel_homogeneous", "cpu": 4e9, "com": 0}}
SLEEPS = platform_xml(2, speeds="1Gf,0.1f,0.5f,0.5f", watts="30:40:100, 5:5:5, 20:20:20, 20:20:20").replace(
    '<prop id="wattage', '<prop id="sleep_pstates" value="1:2:3"/><prop id="wattage'
)


def rows(folder):
    with (folder / "out_jobs.csv").open() as file:
        return list(csv.DictReader(file))


def start(number, alloc):
    return ("EXECUTE_JOB", {"job_id": f"w0!{number}", "alloc": alloc})


def events(folder, *listed):
    path = folder / "events.txt"
    path.write_text("".join(json.dumps({"timestamp": t, "type": k, "resources": r}) + "\n" for t, k, r in listed))
    return (path,)


@pytest.mark.parametrize(("policy", "seconds"), [("SHARED", 0.048), ("FATPIPE", 0.048), ("SPLITDUPLEX", 0.024)])
def test_the_hosts_of_a_fat_cluster_share_their_own_links(policy, seconds, tmp_path):
    cluster = (
        f'{HEAD}<zone id="main" routing="Full">{MASTER}<cluster id="c" prefix="h" suffix="" radical="0-3" speed="1Gf" '
        f'bw="125MBps" lat="0us" sharing_policy="{policy}" router_id="r"/><link id="b" bandwidth="10Gbps" '
        'latency="0us"/><zoneRoute src="c" dst="master" gw_src="r" gw_dst="master_host"><link_ctn id="b"/></zoneRoute>'
        "</zone></platform>"
    )
    talk = {"talk": {"type": "parallel_homogeneous", "cpu": 0, "com": 1e6}}  # 3 MB out of and into each host
    play(write_inputs(tmp_path, workload([(0, 4, "talk", None)], talk), cluster), Filler().ask)
    assert float(rows(tmp_path)[0]["execution_time"]) == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize(("cpu", "seconds"), [(0, 1e-5), (1e9, 1.0)])
def test_what_a_single_rank_sends_to_itself_takes_no_time(cpu, seconds, tmp_path):
    alone = {"alone": {"type": "parallel", "cpu": [cpu], "com": [1e9]}}
    play(write_inputs(tmp_path, workload([(0, 1, "alone", None)], alone)), Filler().ask)
    assert float(rows(tmp_path)[0]["execution_time"]) == pytest.approx(seconds, abs=1e-6)


def test_two_ranks_of_one_machine_send_over_its_loopback(tmp_path):
    pair = {"pair": {"type": "parallel", "cpu": [0, 0], "com": [0, 1e9, 0, 0]}}
    both = ("EXECUTE_JOB", {"job_id": "w0!0", "alloc": "0", "mapping": {"0": "0", "1": "0"}})
    play(write_inputs(tmp_path, workload([(0, 2, "pair", None)], pair)), Script(reply(0.0), reply(0.0, both)).ask)
    assert float(rows(tmp_path)[0]["execution_time"]) == pytest.approx(0.1, abs=1e-6)


def test_a_part_that_ends_at_the_walltime_leaves_none_or_no_limit_by_rounding(tmp_path):
    """A start + 1 s - the start can be a little more than 1 s: less than nothing is left of that walltime then."""
    profiles = {"second": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0}}
    profiles["two"] = {"type": "composed", "seq": ["second", "second"]}
    jobs = [(time, 1, "two", 1.0) for time in (0.0, 1.1, 3.3, 3.7, 7.1, 7.7, 15.3, 31.1)]
    play(write_inputs(tmp_path, workload(jobs, profiles)), Filler().ask)
    ended = {(row["final_state"], round(float(row["execution_time"]), 6)) for row in rows(tmp_path)}
    assert ended == {("COMPLETED_WALLTIME_REACHED", 1.0), ("COMPLETED_SUCCESSFULLY", 2.0)}


@pytest.mark.parametrize(("storage", "works"), [(True, True), (False, False)])
def test_machines_that_compute_are_shared_only_where_storage_is(storage, works, tmp_path):
    options = write_inputs(tmp_path, workload([(0, 1, "work4", None)] * 2, WORK)).replaced(
        compute_sharing=True,
        storage_sharing=storage,
    )
    script = Script(reply(0.0), reply(0.0, start(0, "1"), start(1, "1")))
    if works:
        play(options, script.ask)
        assert [float(row["execution_time"]) for row in rows(tmp_path)] == pytest.approx([8.0, 8.0], abs=1e-6)
    else:
        with pytest.raises(ProtocolError, match="machine 1 is COMPUTING, not IDLE"):
            play(options, script.ask)


@pytest.mark.parametrize(
    "listed",
    [
        [(1, "machine_unavailable", "0"), (2, "machine_unavailable", "0-1")],
        [(1, "machine_unavailable", "0"), (2, "machine_available", "0"), (3, "machine_available", "0")],
        [(1, "machine_available", "2")],
    ],
)
def test_machines_that_become_what_they_are_end_the_run(listed, tmp_path):
    options = write_inputs(tmp_path, workload([(0, 1, "work4", None)], WORK))
    with pytest.raises(WorkloadError, match=r"but it is [A-Z]+; Batsim aborts there"):
        play(options.replaced(events=events(tmp_path, *listed)), Filler().ask)


def test_a_machine_that_is_unavailable_can_be_sent_to_sleep_and_woken_up(tmp_path):
    options = write_inputs(tmp_path, workload([(9, 1, "work4", None)], WORK), SLEEPS)
    options = options.replaced(energy=True, events=events(tmp_path, (1, "machine_unavailable", "1")))

    def decide(message):
        told = {event["type"] for event in message["events"]}
        states = [event["data"]["state"] for event in message["events"] if event["type"] == "RESOURCE_STATE_CHANGED"]
        if any(event["data"].get("type") == "event_machine_unavailable" for event in message["events"]):
            return reply(1.0, ("SET_RESOURCE_STATE", {"resources": "1", "state": "1"}))
        if states == ["1"]:
            return reply(message["now"], ("SET_RESOURCE_STATE", {"resources": "1", "state": "0"}))
        if "JOB_SUBMITTED" in told:
            return reply(message["now"], start(0, "1"))
        return reply(message["now"])

    script = Script(*[decide] * 20)
    assert play(options, script.ask)
    assert rows(tmp_path)[0]["allocated_resources"] == "1"  # idle, once it has been awake
