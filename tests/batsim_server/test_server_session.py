"""What a session does, on clusters whose answers fit on paper, and where Batsim and SimGrid surprise."""

import json
import logging

import pytest
from calls import calls_of
from server_inputs import (
    CLUSTER,
    HEAD,
    MASTER,
    Filler,
    Script,
    platform_xml,
    random_workload,
    rows,
    start,
    storage_xml,
    workload,
    write_inputs,
)

from hdeeprm_like.batsim_server.cli import play
from hdeeprm_like.batsim_server.machines import Machines
from hdeeprm_like.batsim_server.network import Network
from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.formats.simgrid_xml import read_simgrid_xml

PFS = {"type": "parallel_homogeneous_pfs"}
PROFILES = {
    "sleep5": {"type": "delay", "delay": 5},
    "work4": {"type": "parallel_homogeneous", "cpu": 4e9, "com": 0},
    "talk": {"type": "parallel_homogeneous", "cpu": 0, "com": 1.25e9},
    "short talk": {"type": "parallel_homogeneous", "cpu": 0, "com": 1e6},
    "total": {"type": "parallel_homogeneous_total", "cpu": 8e9, "com": 0},
    "twice": {"type": "composed", "seq": ["sleep5", "work4"], "repeat": 2},
    "fails": {"type": "composed", "seq": ["bad", "sleep5"]},
    "bad": {"type": "delay", "delay": 1, "ret": 7},
    "to itself": {"type": "parallel", "cpu": [0], "com": [1e9]},
    "to itself at work": {"type": "parallel", "cpu": [1e9], "com": [1e9]},
    "one way": {"type": "parallel", "cpu": [0, 0], "com": [0, 1e9, 0, 0]},
    "read": PFS | {"bytes_to_read": 1e8},
    "read and write": PFS | {"bytes_to_read": 1e8, "bytes_to_write": 5e7},
    "write to big": PFS | {"bytes_to_write": 1e8, "storage": "big"},
    "stage": {"type": "data_staging", "nb_bytes": 1e8, "from": "x", "to": "y"},
    "usage": {"type": "usage_trace", "trace": "t.txt"},
    "mpi": {"type": "smpi", "trace": "t.txt"},
}


def played(folder, jobs, scheduler, xml=None, profiles=None, **options):
    """Play jobs to the end; return the rows of what became of them."""
    used = {"sleep5", "work4", "bad"}.union(profile for _, _, profile, _ in jobs)  # the first three are parts of others
    profiles = profiles or {name: PROFILES[name] for name in PROFILES if name in used}
    assert play(write_inputs(folder, workload(jobs, profiles), xml).replaced(**options), scheduler.ask)
    return rows(folder)


# -- how long a job takes


def fat(policy):
    """A cluster of four hosts, each with a link of 125 MB/s that is shared in some way."""
    return (
        f'{HEAD}<zone id="main" routing="Full">{MASTER}<cluster id="c" prefix="h" suffix="" radical="0-3" speed="1Gf" '
        f'bw="125MBps" lat="0us" sharing_policy="{policy}" router_id="r"/><link id="b" bandwidth="10Gbps" '
        'latency="0us"/><zoneRoute src="c" dst="master" gw_src="r" gw_dst="master_host"><link_ctn id="b"/></zoneRoute>'
        "</zone></platform>"
    )


def cores_xml(cores):
    """Two hosts of some cores of 1 GFLOP/s."""
    hosts = platform_xml(2).replace('speed="1Gf,0.5Gf"', f'speed="1Gf" core="{cores}"')
    return hosts.replace("30:40:100, 30:40:80", "30:40:100")


def on_first_host(ranks):
    """The decision to put all ranks of a job on the first of its hosts."""
    return start(mapping={str(rank): "0" for rank in range(ranks)})


def write_trace(folder, *ranks):
    (folder / "t.txt").write_text("".join(f"rank{rank}.txt\n" for rank in range(len(ranks))))
    for rank, lines in enumerate(ranks):
        (folder / f"rank{rank}.txt").write_text("".join(f"{line}\n" for line in lines))


USE = [["0 m_usage 1 4e9"], ["1 m_usage 0.5 2e9", "1 m_usage 0.1 1e9"]]
SEND = [["0 send 1 0 125e7", "0 compute 1e9"], ["1 sleep 2", "1 recv 0 0 125e7"]]
REACHED, FAILED = "COMPLETED_WALLTIME_REACHED", "COMPLETED_FAILED"
TIMES = [  # profile, ranks, walltime, platform, how it is started (else on free machines), traces, s, how it ends
    ("sleep5", 2, None, CLUSTER, None, [], 5.0, ""),
    ("sleep5", 2, 5, CLUSTER, None, [], 5.0, REACHED),
    ("work4", 2, 4, CLUSTER, None, [], 4.0, ""),
    ("work4", 2, 3, CLUSTER, None, [], 3.0, REACHED),
    ("total", 2, None, CLUSTER, None, [], 4.0, ""),
    ("twice", 2, None, CLUSTER, None, [], 18.0, ""),
    ("twice", 2, 12, CLUSTER, None, [], 12.0, REACHED),
    ("fails", 2, None, CLUSTER, None, [], 1.0, FAILED),
    # 1.25e9 bytes out of and into each host, 10 Gbps each way; 3 MB out of and into each
    ("talk", 2, None, CLUSTER, None, [], 1.0, ""),
    ("short talk", 4, None, fat("SHARED"), None, [], 0.048, ""),
    ("short talk", 4, None, fat("FATPIPE"), None, [], 0.048, ""),
    ("short talk", 4, None, fat("SPLITDUPLEX"), None, [], 0.024, ""),
    # what a single rank sends to itself takes no time; two ranks of a machine send over its loopback
    ("to itself", 1, None, None, None, [], 1e-5, ""),
    ("to itself at work", 1, None, None, None, [], 1.0, ""),
    ("one way", 2, None, None, on_first_host(2), [], 0.1, ""),
    # each rank takes a core: what SimGrid 3.32 needs for 4e9 flops per rank on cores of 1e9 flop/s
    ("work4", 2, None, cores_xml(1), start("0-1", mapping={"0": "0", "1": "1"}), [], 4.0, ""),
    ("work4", 2, None, cores_xml(1), on_first_host(2), [], 8.0, ""),
    ("work4", 2, None, cores_xml(4), on_first_host(2), [], 4.0, ""),
    ("work4", 5, None, cores_xml(4), on_first_host(5), [], 5.0, ""),
    # bytes go to and from storage hosts
    ("read", 2, None, storage_xml(1), start("0-1"), [], 10.0, ""),
    ("read and write", 2, None, storage_xml(1), start("0-1"), [], 15.0, ""),
    ("write to big", 2, None, storage_xml(2), start("0-1", storage_mapping={"big": 3}), [], 10.0, ""),
    ("stage", 2, None, storage_xml(2), start("0-1", storage_mapping={"x": 2, "y": 3}), [], 20.0, ""),
    # a trace lasts as long as its slowest rank
    ("usage", 2, None, cores_xml(4), start("0-1"), USE, 4.0, ""),
    ("usage", 2, 3, cores_xml(4), start("0-1"), USE[:1], 3.0, REACHED),
    ("mpi", 2, None, CLUSTER, None, [["0 init", "0 compute 1e9", "0 finalize"], ["1 init", "1 compute 3e9"]], 3.0, ""),
    ("mpi", 2, None, CLUSTER, None, SEND, 4.0, ""),
    ("mpi", 2, 2.5, CLUSTER, None, SEND, 2.5, REACHED),
    ("mpi", 2, None, CLUSTER, None, [[f"{r} bcast 125e6 0 0", f"{r} barrier"] for r in range(2)], 0.8, ""),
]


@pytest.mark.parametrize(("profile", "ranks", "walltime", "xml", "started", "traces", "seconds", "state"), TIMES)
def test_a_job_takes_as_long_as_on_paper(profile, ranks, walltime, xml, started, traces, seconds, state, tmp_path):
    write_trace(tmp_path, *traces)
    scheduler = Script([], [started]) if started else Filler()
    (row,) = played(tmp_path, [(0, ranks, profile, walltime)], scheduler, xml)
    assert float(row["execution_time"]) == pytest.approx(seconds, abs=1e-6)
    assert row["final_state"] == (state or "COMPLETED_SUCCESSFULLY")


@pytest.mark.parametrize(
    ("jobs", "ends"),
    [  # what SimGrid 3.32 answered; each job: when it comes, its flops per rank, its machines, the machine of each rank
        ([(0, [4e9, 4e9], "0", "00"), (1, [4e9], "0", "0")], [11.5, 12.0]),
        ([(0, [3e9, 3e9, 6e9], "0-1", "001"), (0, [6e9], "0", "0")], [9.0, 12.0]),
        ([(0, [1e9, 3e9], "0", "00")], [4.0]),
    ],
)
def test_ranks_on_one_host_share_it_with_all_others_as_in_simgrid(jobs, ends, tmp_path):
    profiles = {str(n): {"type": "parallel", "cpu": f, "com": [0] * len(f) ** 2} for n, (_, f, _, _) in enumerate(jobs)}
    listed = [(submit, len(flops), str(number), None) for number, (submit, flops, _, _) in enumerate(jobs)]

    def answer(message):
        came = [event["data"]["job_id"] for event in message["events"] if event["type"] == "JOB_SUBMITTED"]
        numbers = [int(identifier.removeprefix("w0!")) for identifier in came]
        return [start(jobs[n][2], n, mapping={str(r): place for r, place in enumerate(jobs[n][3])}) for n in numbers]

    found = played(tmp_path, listed, Script(*[answer] * 9), profiles=profiles, compute_sharing=True)
    times = {row["job_id"]: float(row["finish_time"]) for row in found}
    assert [times[str(number)] for number in range(len(jobs))] == pytest.approx(ends, abs=1e-6)


@pytest.mark.parametrize(("sent", "stretch"), [([1e7, 0, 0, 0], 1502.2), ([0, 1e7, 0, 0], 4.0)])
def test_messages_to_the_server_share_the_loopback_with_what_a_rank_sends_to_itself(sent, stretch, tmp_path):
    """SimGrid gives a message beside such a task 5e12 bytes/s instead of 1e10, so the killed job ran 2e-13 s."""
    pair = {"pair": {"type": "parallel", "cpu": [1e9, 1e9], "com": sent}}
    script = Script([], [start("0-1"), ("KILL_JOB", {"job_ids": ["w0!0"]})])
    (row,) = played(tmp_path, [(1, 2, "pair", None)], script, platform_xml(2, latency="10us"), pair)
    assert float(row["stretch"]) == pytest.approx(stretch, rel=1e-6)


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
    found = played(tmp_path, jobs, Filler(), profiles=profiles)
    ended = {(row["final_state"], round(float(row["execution_time"]), 6)) for row in found}
    assert ended == {(REACHED, 1.0), ("COMPLETED_SUCCESSFULLY", 2.0)}


# -- machines


def test_the_host_with_the_highest_number_is_not_the_last_in_byte_order(tmp_path):
    filler = Filler()
    played(tmp_path, [], filler, platform_xml(12))
    names = [machine["name"] for machine in filler.heard_of("SIMULATION_BEGINS")[0][1]["compute_resources"]]
    assert names[:4] == ["h0", "h1", "h10", "h11"]


def test_machines_that_compute_are_shared_where_that_is_allowed(tmp_path):
    script = Script([], [start("2", 0), start("2", 1)])
    found = played(tmp_path, [(0, 1, "work4", None)] * 2, script, compute_sharing=True)
    assert [float(row["execution_time"]) for row in found] == pytest.approx([8.0, 8.0], abs=1e-6)


SLEEPS = platform_xml(2, speeds="1Gf,0.1f,0.5f,0.5f", watts="30:40:100, 5:5:5, 20:20:20, 20:20:20").replace(
    '<prop id="wattage', '<prop id="sleep_pstates" value="1:2:3"/><prop id="wattage'
)
SLEEP, WAKE = (("SET_RESOURCE_STATE", {"resources": "1", "state": state}) for state in "10")


@pytest.mark.parametrize(
    ("submit", "events", "rules", "begins"),
    [  # what is heard, and what is decided then; 1 flop at .1 flop/s to sleep, 1 at .5 flop/s to wake
        (
            9,
            [(1, "machine_unavailable")],
            {"event_machine_unavailable": SLEEP, "state 1": WAKE, "JOB_SUBMITTED": start("1")},
            9.0,  # idle, once it has been awake
        ),
        (
            0,
            [(12, "machine_unavailable"), (13, "machine_available")],
            {"SIMULATION_BEGINS": SLEEP, "event_machine_available": WAKE, "state 0": start("1")},
            15.0,
        ),
    ],
)
def test_a_machine_that_is_unavailable_goes_to_sleep_and_wakes_up(submit, events, rules, begins, tmp_path):
    path = tmp_path / "events.txt"
    path.write_text("".join(json.dumps({"timestamp": t, "type": kind, "resources": "1"}) + "\n" for t, kind in events))

    def decide(message):
        heard = [event["data"].get("type", event["type"]) for event in message["events"]]
        heard += [f"state {event['data'].get('state')}" for event in message["events"]]
        return [rules[what] for what in heard if what in rules]

    job = [(submit, 1, "work4", None)]
    (row,) = played(tmp_path, job, Script(*[decide] * 20), SLEEPS, energy=True, events=(path,))
    assert row["allocated_resources"] == "1"
    assert float(row["starting_time"]) == pytest.approx(begins, abs=1e-6)


@pytest.mark.parametrize("reuse", [False, True])
@pytest.mark.parametrize("again", ["REGISTER_JOB", "REGISTER_PROFILE"])
def test_the_first_job_that_is_over_takes_its_profile_along(again, reuse, tmp_path):
    profile = {"workload_name": "d", "profile_name": "p", "profile": {"type": "delay", "delay": 1}}

    def job(number):
        return {"job_id": f"d!{number}", "job": {"id": f"d!{number}", "res": 1, "subtime": 0, "profile": "p"}}

    reject = {number: ("REJECT_JOB", {"job_id": number}) for number in ("w0!0", "d!1", "d!2", "d!3")}
    made = ("REGISTER_PROFILE", profile), ("REGISTER_JOB", job(1)), ("REGISTER_JOB", job(2)), reject["d!1"]
    more = (again, job(3) if again == "REGISTER_JOB" else profile), ("NOTIFY", {"type": "registration_finished"})
    script = Script([*made], [*more, reject["w0!0"], reject["d!2"], reject["d!3"]])
    submitted, dynamic = [(0, 1, "work4", None)], {"dynamic_jobs": True, "profile_reuse": reuse}
    if again == "REGISTER_JOB" and reuse:
        assert len(played(tmp_path, submitted, script, **dynamic)) == 4
    else:
        hint = "exists already, or has existed" if again == "REGISTER_PROFILE" else "a job with it is over"
        with pytest.raises(ProtocolError, match=hint):
            played(tmp_path, submitted, script, **dynamic)


# -- many jobs


def test_250_jobs_on_128_machines_cost_the_server_little(tmp_path):
    """Calls of functions are counted, for a third of a second is not the same on every machine: 320,000 take 0.17 s."""
    options = write_inputs(tmp_path, random_workload(1, 250, 128), platform_xml(128)).replaced(energy=True)
    assert play(options, Filler().ask)
    assert calls_of(lambda: play(options, Filler().ask)) < 400_000


def test_a_job_that_is_never_started_is_a_deadlock_with_complete_files(tmp_path, caplog):
    script = Script()
    with caplog.at_level(logging.WARNING):
        assert not play(write_inputs(tmp_path, workload([(0, 1, "d", None)], {"d": PROFILES["sleep5"]})), script.ask)
    assert "deadlock" in caplog.text
    assert not script.heard_of("SIMULATION_ENDS")
    assert rows(tmp_path) == []
    assert rows(tmp_path, "out_schedule.csv")[0]["nb_jobs"] == "0"
    assert not (tmp_path / "out_INCOMPLETE").exists()


def test_nothing_is_lost_in_a_thousand_jobs(tmp_path):
    options = write_inputs(tmp_path, random_workload(3, 1000, 16), platform_xml(16))
    filler = Filler()
    assert play(options.replaced(energy=True), filler.ask)
    assert len(rows(tmp_path)) == 1000 == len(filler.heard_of("JOB_COMPLETED"))
    assert filler.free == set(range(16))
    joules = [float(row["energy"]) for row in rows(tmp_path, "out_consumed_energy.csv")]
    assert joules == sorted(joules)
    times = rows(tmp_path, "out_schedule.csv")[0]
    busy = sum(float(r["execution_time"]) * int(r["requested_number_of_resources"]) for r in rows(tmp_path))
    assert float(times["time_computing"]) == pytest.approx(busy, rel=1e-6)


def test_batsim_reports_a_job_as_in_the_workload(tmp_path):
    content = workload([(1.25, 1, "sleep5", None)], {"sleep5": PROFILES["sleep5"]})
    content["jobs"][0] |= {"user": "ada", "tags": [1, 2.5, None, True]}
    script = Script([], [("REJECT_JOB", {"job_id": "w0!0"})])
    assert play(write_inputs(tmp_path, content), script.ask)
    assert '"job":{"id":"w0!0","subtime":1.250000,"res":1,' in script.texts[1]
    assert '"tags":[1,2.500000,null,true]' in script.texts[1]
    assert script.heard_of("JOB_SUBMITTED")[0]["job"]["user"] == "ada"
    assert rows(tmp_path)[0]["final_state"] == "REJECTED"
