"""What a session with Batsim 5 does, on clusters whose answers fit on paper."""

import csv
import json
import struct

import pytest
from server5_inputs import Scheduler, call_at, call_every, execute, hello, options5
from server_inputs import CLUSTER, platform_xml, random_workload, storage_xml, workload

from hdeeprm_like.batsim_server.batsim5 import cli
from hdeeprm_like.batsim_server.engine import TIMEOUT, Engine, Mailbox
from hdeeprm_like.batsim_server.json_text import encode5
from hdeeprm_like.batsim_server.sharing import Constraint, Work
from hdeeprm_like.batsim_server.simgrid_options import SimgridOptions
from hdeeprm_like.errors import OptionsError, ProtocolError, WorkloadError

PROFILES = {
    "sleep5": {"type": "delay", "delay": 5},
    "work4": {"type": "parallel_homogeneous", "cpu": 4e9, "com": 0},
    "spread": {
        "type": "parallel_homogeneous",
        "cpu": 8e9,
        "com": 30e9,
        "generation_strategy": "DefinedAmountsSpreadUniformly",
    },
    "twice": {"type": "SequentialCompositionProfile", "repeat": 2, "seq": ["sleep5", "work4"]},
}
KILLED = "forward_profiles_on_jobs_killed"


def rows(folder, name="jobs.csv"):
    return list(csv.DictReader((folder / "out" / name).read_text().splitlines()))


def one_job(folder, profile, *more, size=1, xml=None):
    return options5(folder, [(0, size, profile, None)], PROFILES, *more, xml=xml)


def test_a_scheduler_that_writes_as_pybatsim_4_plays_800_jobs_to_the_end(tmp_path):
    content = random_workload(7, 800, 32)
    jobs = [(job["subtime"], job["res"], job["profile"], job["walltime"]) for job in content["jobs"]]
    scheduler = Scheduler()
    options = options5(tmp_path, jobs, content["profiles"], "--energy-host", xml=platform_xml(32))
    assert cli.play(options, scheduler.ask)
    assert len(rows(tmp_path)) == 800 == len(scheduler.heard_of("JobCompletedEvent"))
    assert {row["final_state"] for row in rows(tmp_path)} == {"COMPLETED_SUCCESSFULLY"}
    assert scheduler.free == set(range(32))


def test_hosts_are_numbered_by_the_numbers_in_their_names_and_storage_comes_last(tmp_path):
    scheduler = Scheduler()
    xml = platform_xml(12).replace(
        'id="h1" speed="1Gf,0.5Gf">', 'id="h1" speed="1Gf"><prop id="role" value="storage"/>'
    )
    cli.play(options5(tmp_path, [], {}, xml=xml.replace("30:40:100, 30:40:80", "30:40:100", 2)), scheduler.ask)
    told = scheduler.heard_of("SimulationBeginsEvent")[0][1]
    assert [host["name"] for host in told["computation_hosts"]] == [f"h{number}" for number in range(12) if number != 1]
    assert told["computation_hosts"][10]["computation_speed"] == [1e9, 0.5e9]
    assert [(host["id"], host["name"]) for host in told["storage_hosts"]] == [(11, "h1")]
    assert (told["host_number"], told["computation_host_number"], told["storage_host_number"]) == (12, 11, 1)


@pytest.mark.parametrize(("exact", "told"), [(True, ["late", 1.25]), (False, [TIMEOUT, 0.5])])
def test_an_exact_timeout_is_off_once_a_message_has_left(exact, told):
    simgrid, mailbox, heard = SimgridOptions(exact_timeouts=exact), Mailbox(), []
    engine = Engine(lambda *way: Work({Constraint(1.0): 1.0}, ()), simgrid=simgrid)

    def receive():
        heard.append((yield (engine.get_within, mailbox, 0.5)))
        heard.append(engine.now)

    def send():
        yield (engine.sleep, 0.25)
        yield (engine.put, "late", mailbox)

    engine.begin(receive(), "a")
    engine.begin(send(), "b")
    engine.run()
    assert heard == told


@pytest.mark.parametrize(("imitate", "told_at"), [("rc2", 0.0), ("documented", 2.0)])
def test_only_the_release_candidate_reports_p_states_with_a_stale_time(imitate, told_at, tmp_path):
    change = ("ChangeHostsPStateEvent", {"host_ids": "1", "pstate": 1})
    late = json.dumps({"timestamp": 2.0, "type": "generic", "data": "x"})
    (tmp_path / "e.txt").write_text(late)
    scheduler = Scheduler(("ExternalEventOccurredEvent", [change]))
    options = one_job(tmp_path, "sleep5", "--ee", str(tmp_path / "e.txt"), "--imitate", imitate)
    assert cli.play(options, scheduler.ask)
    ((time, event),) = scheduler.heard_of("ExternalEventOccurredEvent")
    assert time == pytest.approx(told_at, abs=1e-8)
    assert event == {"id": "ee0!0", "external_event_type": "GenericExternalEvent", "external_event": {"data": "x"}}
    ((time, event),) = scheduler.heard_of("HostsPStateChangedEvent")
    assert time == pytest.approx(2.0, abs=1e-8)
    assert event == {"host_ids": "1", "pstate": 1}


SPREAD_FIRST, FILL_FIRST = (
    ("PredefinedExecutorPlacementStrategyWrapper", {"strategy": f"{how}First"})
    for how in ("SpreadOverHosts", "FillOneHostCores")
)
TWO_CORES = platform_xml(2).replace('speed="1Gf,0.5Gf"', 'core="2" speed="1Gf,0.5Gf"')
TWO_CORES = TWO_CORES.replace('id="h1" core="2" speed="1Gf,0.5Gf"', 'id="h1" core="2" speed="0.5Gf,0.25Gf"')


@pytest.mark.parametrize(
    ("profile", "ranks", "xml", "placement", "end"),
    [
        # 3 of 4 hosts: 10e9 bytes out of and into each in two flows of 5e9, over 1.25e9 bytes/s; 2.67e9 flops take less
        ("spread", 3, CLUSTER, SPREAD_FIRST, 8.0),
        # a placement may put two ranks on one machine
        ("work4", 2, None, FILL_FIRST, 4.0),
        ("work4", 2, None, ("CustomExecutorToHostMapping", {"mapping": [1, 1]}), 8.0),
        # the cores of one host are filled, or the hosts, one of half the speed, take turns
        ("work4", 2, TWO_CORES, SPREAD_FIRST, 8.0),
        ("work4", 2, TWO_CORES, FILL_FIRST, 4.0),
    ],
)
def test_a_job_takes_as_long_as_where_it_is_placed(profile, ranks, xml, placement, end, tmp_path):
    scheduler = Scheduler(("JobSubmittedEvent", [execute("w0!0", f"0-{ranks - 1}", placement)]), start=False)
    assert cli.play(one_job(tmp_path, profile, size=ranks, xml=xml), scheduler.ask)
    assert float(rows(tmp_path)[0]["finish_time"]) == pytest.approx(end, abs=1e-6)
    if xml == TWO_CORES:
        hosts = scheduler.heard_of("SimulationBeginsEvent")[0][1]["computation_hosts"]
        assert [host["core_count"] for host in hosts] == [2, 2]


def test_calls_come_at_the_multiples_of_their_periods_until_they_are_over_or_stopped(tmp_path):
    stop = ("StopCallMeLaterEvent", {"call_me_later_id": "ever"})
    begin = [call_every("three", 4, times=3), call_every("ever", 2), call_at("later", 11)]
    calls = [("RequestedCallEvent", [])] * 7 + [("RequestedCallEvent", [stop])]
    scheduler = Scheduler(("SimulationBeginsEvent", begin), *calls)
    assert cli.play(one_job(tmp_path, "sleep5"), scheduler.ask)
    told = [
        (round(time, 6), call["call_me_later_id"], call["last_periodic_call"])
        for time, call in scheduler.heard_of("RequestedCallEvent")
    ]
    assert told == [
        (2.0, "ever", False),
        (4.0, "ever", False),
        (4.0, "three", False),
        (6.0, "ever", False),
        (8.0, "ever", False),
        (8.0, "three", False),
        (10.0, "ever", False),
        (11.0, "later", False),
        (12.0, "three", True),
    ]


def test_a_killed_job_reports_its_progress_and_repetition(tmp_path):
    begin = ("SimulationBeginsEvent", [call_at("now", 16)])
    kill = ("RequestedCallEvent", [("KillJobsEvent", {"job_ids": ["w0!0", "w0!0"]})])
    scheduler = Scheduler(begin, kill, wishes=[KILLED])
    assert cli.play(one_job(tmp_path, "twice"), scheduler.ask)
    ((_, completed),) = scheduler.heard_of("JobCompletedEvent")
    assert completed == {"job_id": "w0!0", "state": "COMPLETED_KILLED", "return_code": (1 << 32) - 2}
    ((_, killed),) = scheduler.heard_of("JobsKilledEvent")
    assert killed["job_ids"] == ["w0!0"]
    told = killed["progresses"][0]["wrapper"]["kill_progress"]
    assert (told["profile_id"], told["current_repetition"], told["current_task_index"]) == ("w0!twice", 1, 1)
    inside = told["current_task_progress"]["kill_progress"]
    assert inside == {"profile_id": "w0!work4", "progress": pytest.approx(0.5, abs=1e-9)}
    assert [profile["id"] for profile in killed["profiles"]] == ["w0!twice"]


def test_a_forced_stop_ends_the_simulation_with_one_last_message(tmp_path):
    rules = [("SimulationBeginsEvent", [call_at("now", 1)]), ("RequestedCallEvent", [("ForceSimulationStopEvent", {})])]
    scheduler = Scheduler(*rules)
    assert cli.play(one_job(tmp_path, "sleep5"), scheduler.ask)
    assert [kind for _, kind, _ in scheduler.heard][-2:] == ["RequestedCallEvent", "SimulationEndsEvent"]
    assert rows(tmp_path) == []
    assert cli.play(one_job(tmp_path, "work4", "--imitate", "documented"), (again := Scheduler(*rules)).ask)
    assert again.heard[-1][1] == "SimulationEndsEvent"
    with pytest.raises(ProtocolError, match="parallel tasks run"):
        cli.play(one_job(tmp_path, "work4"), Scheduler(*rules).ask)


def test_machines_are_turned_off_and_on_again(tmp_path):
    xml = platform_xml(4, speeds="1Gf,0.5f,0.25f,0.2f", watts="30:40:100,1:1:1,60:60:60,70:70:70")
    xml = xml.replace('<prop id="wattage', '<prop id="sleep_pstates" value="1:2:3"/><prop id="wattage')
    off, on = (("TurnOnOffHostsEvent", {"host_ids": "3", "state": state}) for state in (1, 0))
    begin, rule = ("SimulationBeginsEvent", [off]), ("HostsTurnedOnOffEvent", [on])
    scheduler = Scheduler(begin, rule)
    assert cli.play(options5(tmp_path, [], {}, "--imitate", "documented", "--energy-host", xml=xml), scheduler.ask)
    told = [(round(time, 6), event["state"]) for time, event in scheduler.heard_of("HostsTurnedOnOffEvent")]
    assert told == [(4.0, 1), (9.0, 0)]  # 1 flop at 0.25 flop/s, then 1 at 0.2
    refused = ("TurnOnOffHostsEvent", {"host_ids": "3", "state": 0})
    with pytest.raises(ProtocolError, match="use ChangeHostsPStateEvent"):
        cli.play(options5(tmp_path, [], {}, xml=xml), Scheduler(("SimulationBeginsEvent", [refused])).ask)


def test_a_job_that_the_scheduler_makes_may_use_a_profile_of_the_workload(tmp_path):
    profile = {
        "computation_amount": 2e9,
        "communication_amount": 0.0,
        "generation_strategy": "DefinedAmountsUsedForEachValue",
    }
    named = {"id": "dyn!own", "profile_type": "ParallelTaskHomogeneousProfile", "profile": profile}
    jobs = [("dyn!a", "w0!sleep5"), ("dyn!b", "dyn!own"), ("dyn!c", "own")]
    made = [
        ("RegisterProfileEvent", {"profile": named}),
        *[("RegisterJobEvent", {"job_id": j, "job": {"resource_request": 1, "profile_id": p}}) for j, p in jobs],
        ("FinishRegistrationEvent", {}),
    ]
    wishes = ["dynamic_registration", "profile_reuse", "acknowledge_dynamic_jobs", "forward_profiles_on_job_submission"]
    scheduler = Scheduler(("JobSubmittedEvent", made), wishes=wishes)
    assert cli.play(one_job(tmp_path, "sleep5"), scheduler.ask)
    times = {row["job_id"]: round(float(row["execution_time"])) for row in rows(tmp_path)}
    assert times == {"0": 5, "a": 5, "b": 2, "c": 2}
    told = [event["profile"] for _, event in scheduler.heard_of("JobSubmittedEvent") if event["job_id"] == "dyn!c"]
    assert told == [named]


def test_extra_data_of_jobs_and_profiles_is_handed_over_as_text(tmp_path):
    options = one_job(tmp_path, "sleep5")
    content = json.loads((tmp_path / "w.json").read_text())
    content["jobs"][0]["extra_data"] = {"user": 3, "tags": [1.5]}
    content["profiles"]["sleep5"]["extra_data"] = "é"
    (tmp_path / "w.json").write_text(json.dumps(content))
    scheduler = Scheduler(wishes=["forward_profiles_on_job_submission"])
    assert cli.play(options, scheduler.ask)
    ((_, event),) = scheduler.heard_of("JobSubmittedEvent")
    assert json.loads(event["job"]["extra_data"]) == {"user": 3, "tags": [1.5]}
    assert event["profile"]["extra_data"] == "é"


def test_numbers_are_printed_as_flatbuffers_does():
    values = {"a": 1e10, "b": 3e-10, "c": 1 / 3, "d": 0.0, "e": None, "f": [1, 2.5]}
    assert (
        encode5(values) == '{"a": 10000000000.0,"b": 0.0000000003,"c": 0.333333333333,"d": 0.0,"e": null,"f": [1,2.5]}'
    )


# -- what is refused


def test_the_release_candidate_crashes_on_a_profile_that_no_job_uses(tmp_path):
    wishes = ["forward_profiles_on_simulation_begins"]
    with pytest.raises(ProtocolError, match="forward_profiles_on_simulation_begins"):
        cli.play(one_job(tmp_path, "sleep5"), Scheduler(wishes=wishes).ask)
    scheduler = Scheduler(wishes=wishes)
    assert cli.play(one_job(tmp_path, "sleep5", "--imitate", "documented"), scheduler.ask)
    assert [profile["id"] for profile in scheduler.heard_of("SimulationBeginsEvent")[0][1]["profiles"]] == ["w0!sleep5"]


ON_STORAGE = "ParallelTaskOnStorageHomogeneousProfile"
STAGING = "ParallelTaskDataStagingBetweenStoragesProfile"
EACH, SPREAD = "DefinedAmountsUsedForEachValue", "DefinedAmountsSpreadUniformly"


def stores(folder, jobs, profiles, *rules, placed=(), wishes=(), number=2):
    """Run jobs on the two computing hosts beside some storage hosts; return the scheduler."""
    scheduler = Scheduler(*rules, wishes=wishes)
    began = scheduler.started
    placement = [{"storage_name": name, "host_id": host} for name, host in placed]
    scheduler.started = lambda: [
        (kind, content | {"storage_placement": placement} if placed else content) for kind, content in began()
    ]
    assert cli.play(options5(folder, jobs, profiles, xml=storage_xml(number)), scheduler.ask)
    return scheduler


@pytest.mark.parametrize(
    ("number", "profile", "placed", "seconds"),
    [
        (1, {"type": ON_STORAGE, "bytes_to_read": 1e8}, (), 10.0),  # to both hosts at once, each by 10 MB/s
        (1, {"type": ON_STORAGE, "bytes_to_read": 1e8, "generation_strategy": SPREAD}, (), 5.0),
        (2, {"type": ON_STORAGE, "bytes_to_write": 1e8, "storage": "big"}, [("big", 3)], 10.0),
        (2, {"type": STAGING, "nb_bytes": 1e8, "from": "x", "to": "y"}, [("x", 2), ("y", 3)], 20.0),
    ],
)
def test_bytes_go_to_and_from_storage_hosts(number, profile, placed, seconds, tmp_path):
    stores(tmp_path, [(0, 2, "p", None)], {"p": profile}, placed=placed, number=number)
    assert float(rows(tmp_path)[0]["execution_time"]) == pytest.approx(seconds, abs=1e-6)


def test_a_profile_of_storage_is_registered_and_sent_back_under_the_protocols_names(tmp_path):
    profile = {"storage_name": "s", "bytes_to_read": 1e7, "bytes_to_write": 0.0, "generation_strategy": EACH}
    registered = ("RegisterProfileEvent", {"profile": {"id": "dyn!p", "profile_type": ON_STORAGE, "profile": profile}})
    job = ("RegisterJobEvent", {"job_id": "dyn!j", "job": {"resource_request": 1, "profile_id": "dyn!p"}})
    wishes = ("dynamic_registration", "acknowledge_dynamic_jobs", "forward_profiles_on_job_submission")
    rule = ("SimulationBeginsEvent", [registered, job, ("FinishRegistrationEvent", {})])
    scheduler = stores(tmp_path, [], {}, rule, placed=[("s", 3)], wishes=wishes)
    assert scheduler.heard_of("JobSubmittedEvent")[0][1]["profile"]["profile"] == profile
    assert float(rows(tmp_path)[0]["execution_time"]) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("placed", "hint"),
    [([("x", 2)], "'y': must be a storage host"), ([("x", 2), ("y", 0)], "'y'"), ([(3, 2)], "storage_name")],
)
def test_a_placement_of_storage_that_is_none_is_refused(placed, hint, tmp_path):
    profile = {"type": STAGING, "nb_bytes": 1, "from": "x", "to": "y"}
    with pytest.raises(ProtocolError, match=hint):
        stores(tmp_path, [(0, 1, "p", None)], {"p": profile}, placed=placed)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (b"", "0 bytes"),
        (struct.pack("=I", 1) + b"\0\1", "binary messages"),
        (struct.pack("=I", 3) + b"{}", "flags are 3"),
        (hello()[:4] + b'{"now": 0, "events": []}', "0 events"),
        (hello()[:4] + b"hello", "not valid JSON"),
        (hello().replace(b"EDCHelloEvent", b"EDCHalloEvent"), "EDCHelloEvent"),
        (hello().replace(b'"decision_component_commit": ""', b'"x": ""'), "decision_component_commit"),
        (hello().replace(b"false", b"1", 1), "true or false"),
    ],
)
def test_a_hello_that_is_none_is_refused_in_one_line(answer, hint, tmp_path):
    with pytest.raises(ProtocolError, match=hint) as error:
        cli.play(one_job(tmp_path, "sleep5"), lambda _: answer)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("decision", "hint"),
    [
        (("TriggerProbeEvent", {}), "not imitated"),
        (("NoEvent", {}), "not known"),
        (("ExecuteJobEvent", {"job_id": "w0!0"}), "allocation: is null; an object is needed"),
        (execute("w0!9", "0"), "does not exist"),
        (execute("w0!0", "0-9"), "below 4"),
        (execute("w0!0", "0", ("PredefinedExecutorPlacementStrategyWrapper", {"strategy": "X"})), "strategy"),
        (execute("w0!0", "0", ("CustomExecutorToHostMapping", {"mapping": [1]})), "below 1"),
        (execute("w0!0", "0", ("X", {})), "executor_placement_type"),
        (call_every("a", 2, offset=1), "offset must be 0"),
        (call_every("a", 2, times=0), "nb_periods"),
        (call_every("a", 0), "period"),
        (call_every("running", 10), "running already"),
        (call_every("b", 3), "multiples of each other"),
        (call_at("a", 1.5), "whole number"),
        (call_at("a", 1, "Hour"), "time_unit"),
        (("ChangeHostsPStateEvent", {"host_ids": "0", "pstate": 7}), "cannot go from P-state 0 to 7"),
        (("RegisterJobEvent", {"job_id": "d!1", "job": {}}), "dynamic_registration"),
        (("KillJobsEvent", {"job_ids": ["w0!0"]}), "is SUBMITTED"),
    ],
)
def test_a_decision_that_batsim_aborts_on_is_refused_in_one_line(decision, hint, tmp_path):
    rules = [("SimulationBeginsEvent", [call_every("running", 5)]), ("JobSubmittedEvent", [decision])]
    with pytest.raises(ProtocolError, match=hint) as error:
        cli.play(one_job(tmp_path, "sleep5"), Scheduler(*rules, start=False).ask)
    assert "\n" not in str(error.value)
    assert (tmp_path / "out" / "INCOMPLETE").exists()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["-l", "lib.so", "1", ""], "unrecognized arguments"),
        (["-L", "lib.so", "no-such-file"], "no-such-file"),
        (["-E", "-s", "tcp://127.0.0.1:1", ""], "use --energy-host"),
        ([], "-s ENDPOINT INIT"),
        (["-s", "tcp://127.0.0.1:1"], "expected 2 arguments"),
        (["-s", "tcp://127.0.0.1:1", "", "--imitate", "rc3"], "documented"),
        (["-S", "tcp://127.0.0.1:1", "no-such-file"], "no-such-file"),
    ],
)
def test_a_command_line_that_cannot_be_played_is_refused_in_one_line(words, hint, capsys):
    assert cli.main(["-p", "p.xml", *words]) == 2
    told = capsys.readouterr().err
    assert hint in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "profile", "hint"),
    [
        # a profile that no job has must be right if its type is imitated
        ("unused", {"type": "DelayProfile"}, "'w0!unused': delay is missing"),
        ("unused", {"type": "TraceReplayProfile"}, None),
        ("sleep5", {"type": "TraceReplayProfile"}, "not imitated"),
    ],
)
def test_profiles_that_are_wrong_or_not_imitated_are_refused(name, profile, hint, tmp_path):
    options = options5(tmp_path, [(0, 1, "sleep5", None)], {**PROFILES, name: profile})
    if hint is None:
        assert cli.play(options, Scheduler().ask)
        return
    with pytest.raises(WorkloadError, match=hint):
        cli.play(options, Scheduler().ask)


def test_profiles_of_batsim_4_are_refused_with_the_names_of_batsim_5(tmp_path):
    options = one_job(tmp_path, "sleep5")
    (tmp_path / "w.json").write_text(json.dumps(workload([(0, 1, "sleep5", None)], PROFILES)))
    with pytest.raises(WorkloadError, match="DelayProfile"):
        cli.play(options, Scheduler().ask)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("{", "not valid JSON"),
        ('{"timestamp": 1, "type": "machine_unavailable", "resources": "0"}', "'generic' events only"),
        ('{"timestamp": -1, "type": "generic", "data": "x"}', "timestamp: is -1; a number from 0"),
        ('{"timestamp": 1, "type": "generic", "data": 2}', "must be a text"),
    ],
)
def test_outside_events_that_batsim_5_does_not_know_are_refused(line, hint, tmp_path):
    (tmp_path / "e.txt").write_text(line)
    with pytest.raises(WorkloadError, match=hint):
        cli.play(one_job(tmp_path, "sleep5", "--ee", str(tmp_path / "e.txt")), Scheduler().ask)


def test_options_are_read_from_a_file_for_the_scheduler(tmp_path):
    (tmp_path / "init").write_text("{}")
    words = ["-p", "p.xml", "-S", "tcp://127.0.0.1:1", str(tmp_path / "init"), "--mmax", "3"]
    options, _ = cli.read_command_line(words)
    assert (options.init, options.mmax, options.arguments) == ("{}", 3, ("batsim", *words))
    with pytest.raises(OptionsError, match="--mmax -1: must not be negative"):
        cli.read_command_line([*words, "--mmax", "-1"])
