"""Corners where Batsim 4.2.1 and SimGrid 3.32 do what one would not expect."""

import json

import pytest
from server_inputs import HEAD, MASTER, Filler, Script, platform_xml, reply, rows, workload, write_inputs

from hdeeprm_like.batsim_server.cli import play
from hdeeprm_like.batsim_server.machines import Machines
from hdeeprm_like.batsim_server.network import Network
from hdeeprm_like.errors import ProtocolError, WorkloadError
from hdeeprm_like.formats.simgrid_xml import read_simgrid_xml

WORK = {"work4": {"type": "parallel_homogeneous", "cpu": 4e9, "com": 0}}
SLEEPS = platform_xml(2, speeds="1Gf,0.1f,0.5f,0.5f", watts="30:40:100, 5:5:5, 20:20:20, 20:20:20").replace(
    '<prop id="wattage', '<prop id="sleep_pstates" value="1:2:3"/><prop id="wattage'
)


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


@pytest.mark.parametrize(("sent", "stretch"), [([1e7, 0, 0, 0], 1502.2), ([0, 1e7, 0, 0], 4.0)])
def test_messages_to_the_server_share_the_loopback_with_what_a_rank_sends_to_itself(sent, stretch, tmp_path):
    """SimGrid gives a message beside such a task 5e12 bytes/s instead of 1e10, so the killed job ran 2e-13 s."""
    profile = {"pair": {"type": "parallel", "cpu": [1e9, 1e9], "com": sent}}
    both = reply(1.0, start(0, "0-1"), ("KILL_JOB", {"job_ids": ["w0!0"]}))
    options = write_inputs(tmp_path, workload([(1, 2, "pair", None)], profile), platform_xml(2, latency="10us"))
    assert play(options, Script(reply(0.0), both).ask)
    assert float(rows(tmp_path)[0]["stretch"]) == pytest.approx(stretch, rel=1e-6)


@pytest.mark.parametrize(("policy", "bytes_on_it"), [("SHARED", 2e6), ("FATPIPE", 1e6)])
def test_a_message_that_crosses_a_link_twice_needs_twice_its_capacity(policy, bytes_on_it, tmp_path):
    xml = (
        f'{HEAD}<zone id="z" routing="Full"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>'
        f'<link id="l" bandwidth="1MBps" latency="0us" sharing_policy="{policy}"/>'
        '<route src="a" dst="b"><link_ctn id="l"/><link_ctn id="l"/></route></zone></platform>'
    )
    (tmp_path / "p.xml").write_text(xml)
    platform = read_simgrid_xml(tmp_path / "p.xml")
    network = Network(platform, Machines(platform, {"a": "", "b": ""}, 0, energy=False))
    assert list(network.message_work("a", "b", 1e6).weights.values()) == [0.0, 0.0, bytes_on_it]


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


def test_a_machine_that_leaves_and_comes_back_in_its_sleep_can_be_woken_up(tmp_path):
    options = write_inputs(tmp_path, workload([(0, 1, "work4", None)], WORK), SLEEPS)
    comes_and_goes = events(tmp_path, (12, "machine_unavailable", "1"), (13, "machine_available", "1"))
    options = options.replaced(energy=True, events=comes_and_goes)

    def decide(message):
        types = [event["data"].get("type", event["type"]) for event in message["events"]]
        states = [event["data"]["state"] for event in message["events"] if event["type"] == "RESOURCE_STATE_CHANGED"]
        if "SIMULATION_BEGINS" in types:
            return reply(0.0, ("SET_RESOURCE_STATE", {"resources": "1", "state": "1"}))
        if "event_machine_available" in types:
            return reply(message["now"], ("SET_RESOURCE_STATE", {"resources": "1", "state": "0"}))
        return reply(message["now"], *([start(0, "1")] if states == ["0"] else []))

    assert play(options, Script(*[decide] * 20).ask)
    assert float(rows(tmp_path)[0]["starting_time"]) == pytest.approx(15.0, abs=1e-6)  # 1 flop at .5 flop/s to wake


@pytest.mark.parametrize("reuse", [False, True])
@pytest.mark.parametrize("again", ["REGISTER_JOB", "REGISTER_PROFILE"])
def test_the_first_job_that_is_over_takes_its_profile_along(again, reuse, tmp_path):
    options = write_inputs(tmp_path, workload([(0, 1, "work4", None)], WORK))
    options = options.replaced(dynamic_jobs=True, profile_reuse=reuse)
    profile = {"workload_name": "d", "profile_name": "p", "profile": {"type": "delay", "delay": 1}}

    def job(number):
        return {"job_id": f"d!{number}", "job": {"id": f"d!{number}", "res": 1, "subtime": 0, "profile": "p"}}

    reject = {number: ("REJECT_JOB", {"job_id": number}) for number in ("w0!0", "d!1", "d!2", "d!3")}
    made = ("REGISTER_PROFILE", profile), ("REGISTER_JOB", job(1)), ("REGISTER_JOB", job(2)), reject["d!1"]
    more = (again, job(3) if again == "REGISTER_JOB" else profile), ("NOTIFY", {"type": "registration_finished"})
    script = Script(reply(0.0, *made), reply(0.0, *more, reject["w0!0"], reject["d!2"], reject["d!3"]))
    if again == "REGISTER_JOB" and reuse:
        assert play(options, script.ask)
    else:
        hint = "exists already, or has existed" if again == "REGISTER_PROFILE" else "a job with it is over"
        with pytest.raises(ProtocolError, match=hint):
            play(options, script.ask)
