"""What recordings of the real Batsim 4.2.1 show, on small inputs: roles, storage, traces, kills, options."""

import json

import pytest
from server_inputs import (
    CLUSTER,
    HEAD,
    Filler,
    Script,
    at,
    platform_xml,
    reply,
    rows,
    start,
    storage_xml,
    workload,
    write_inputs,
)
from test_server_session import write_trace

from hdeeprm_like.batsim_server import cli
from hdeeprm_like.batsim_server.cli import play, read_command_line
from hdeeprm_like.batsim_server.energy import GRID, MANY, EnergyMeter, long_sum
from hdeeprm_like.batsim_server.sharing import Constraint
from hdeeprm_like.errors import HDeepRMError, OptionsError, ProtocolError, WorkloadError
from hdeeprm_like.formats.batsim_numbers import read_number

PFS, STAGING = "parallel_homogeneous_pfs", "data_staging"
PROFILES = {
    "sleep5": {"type": "delay", "delay": 5},
    "work4": {"type": "parallel_homogeneous", "cpu": 4e9, "com": 0},
    "usage": {"type": "usage_trace", "trace": "t.txt"},
    "mpi": {"type": "smpi", "trace": "t.txt"},
    "read": {"type": PFS, "bytes_to_read": 1},
    "stage": {"type": STAGING, "nb_bytes": 1, "from": "x", "to": "y"},
    "say": {"type": "send", "msg": {}, "sleeptime": 5},
    "hear": {"type": "recv", "polltime": 1},
    "first": {"type": "composed", "seq": ["usage", "sleep5"]},
    "answer": {"type": "recv", "timeout": "sleep5"},
    "far": {"type": "parallel_homogeneous", "cpu": 0, "com": 1e6},
}
KILL = ("KILL_JOB", {"job_ids": ["w0!0"]})


def call_at(now):
    return "CALL_ME_LATER", {"timestamp": now}


def options_of(folder, *jobs, xml=None, traces=(["0 m_usage 1 9e9"],), **options):
    """Options for jobs, each a tuple of submission time, machines and profile; *traces* are the lines of each rank."""
    write_trace(folder, *traces)
    used = {name for _, _, name in jobs} | {"sleep5", "usage"}  # the last two are parts of others
    profiles = {name: PROFILES[name] for name in PROFILES if name in used}
    return write_inputs(folder, workload([(*job, None) for job in jobs], profiles), xml).replaced(**options)


# -- roles


def roles_xml(**roles):
    hosts = "".join(
        f'<host id="{name}" speed="1Gf">' + (f'<prop id="role" value="{role}"/>' if role else "") + "</host>"
        for name, role in roles.items()
    )
    return f'{HEAD}<zone id="z" routing="Full">{hosts}</zone></platform>\n'


def resources(folder, xml, *words):
    """The compute and storage machines in SIMULATION_BEGINS."""
    write_inputs(folder, workload([], {}), xml)
    options, _ = read_command_line(["-p", str(folder / "p.xml"), "-e", str(folder / "out"), *words])
    script = Script()
    play(options, script.ask)
    (begins,) = script.heard_of("SIMULATION_BEGINS")
    return [
        [(r["id"], r["name"], r["properties"]["role"]) for r in begins[f"{k}_resources"]]
        for k in ("compute", "storage")
    ]


def test_the_platform_or_the_command_line_names_master_and_storage(tmp_path):
    xml = roles_xml(boss="master", a="storage", b="", c="compute_node")
    assert resources(tmp_path, xml) == [[(0, "b", ""), (1, "c", "compute_node")], [(2, "a", "storage")]]
    xml = roles_xml(boss="", a="", b="")
    found = resources(tmp_path, xml, "-m", "boss", "-r", "b,nobody:storage")
    assert found == [[(0, "a", "")], [(1, "b", "storage")]]


@pytest.mark.parametrize(
    ("roles", "words", "hint"),
    [
        ({"boss": "master", "a": ""}, ["-m", "a"], "two master hosts"),
        ({"boss": "master", "a": ""}, ["-m", "boss"], "'master,master'"),
        ({"boss": "", "a": ""}, [], "no host with the role master, nor a host 'master_host'"),
        ({"boss": "master", "a": "judge"}, [], "'judge'"),
        ({"boss": "master", "a": "storage"}, ["-r", "a:compute_node"], "'storage,compute_node'"),
        ({"boss": "master", "a": ""}, ["-r", "a"], "one colon"),
    ],
)
def test_roles_that_batsim_aborts_on_are_refused(roles, words, hint, tmp_path):
    with pytest.raises(OptionsError, match=hint) as error:
        resources(tmp_path, roles_xml(**roles), *words)
    assert "\n" not in str(error.value)


# -- kills, and time


@pytest.mark.parametrize(
    ("profile", "kills"), [("sleep5", [("KILL_JOB", {"job_ids": ["w0!0", "w0!0"]})] * 2), ("usage", [KILL])]
)
def test_a_job_is_killed_once_whatever_it_does(profile, kills, tmp_path):
    """The second kill of a job is not even answered."""
    options = options_of(tmp_path, (0, 2, profile), traces=(["0 m_usage 1 4e9"], ["1 m_usage 1 9e9"]))
    script = Script([], [start("0-1"), call_at(2.0)], *[at(2.0, *kills)] * 4)
    assert play(options, script.ask)
    assert [killed["job_ids"] for killed in script.heard_of("JOB_KILLED")] == [["w0!0"]]
    assert [(row["final_state"], row["execution_time"]) for row in rows(tmp_path)] == [("COMPLETED_KILLED", "2.000000")]


def test_a_job_that_has_ended_unheard_can_be_killed(tmp_path):
    # what comes at 5 s waits until this reply is over, which lasts from 1 s to 6 s
    script = Script([], [start(), call_at(1.0)], *[at(1.0, KILL, until=6.0)] * 3)
    assert play(options_of(tmp_path, (0, 1, "sleep5")), script.ask)
    assert [job["job_state"] for job in script.heard_of("JOB_COMPLETED")] == ["COMPLETED_SUCCESSFULLY"]
    assert script.heard_of("JOB_KILLED") == [{"job_ids": ["w0!0"], "job_progress": {}}]


def killed(folder, profile, xml=None, when=0.0):
    """Return the progress of a job on two machines that is killed some s after its start, or in the same reply."""
    later = [call_at(when)] if when else [KILL]
    script = Script([], [start("0-1"), *later], *[at(when, KILL)] * 2 * bool(when))
    play(options_of(folder, (0, 2, profile), (99, 1, "sleep5"), xml=xml), script.ask)
    return script.heard_of("JOB_KILLED")[0]["job_progress"]["w0!0"]


@pytest.mark.parametrize("when", [0.0, 1.5])
def test_a_killed_job_that_is_neither_a_task_nor_a_delay_has_no_progress(when, tmp_path):
    for profile in ("usage", "say", "hear"):
        nothing = {"profile_name": profile, "current_task_index": -1}
        assert killed(tmp_path, profile, when=when) == nothing
    inside = {"current_task_index": 0, "current_task": {"profile_name": "usage", "current_task_index": -1}}
    assert killed(tmp_path, "first", when=when) == {"profile_name": "first", **inside}


def test_a_task_that_only_waits_for_a_latency_has_done_all_its_work(tmp_path):
    hosts = "".join(f'<host id="h{i}" speed="1Gf" coordinates="{9 * i} 0 0"/>' for i in range(2))
    master = '<host id="master_host" speed="1Gf" coordinates="0 0 0"/>'
    xml = f'{HEAD}<zone id="z" routing="Vivaldi">{master}{hosts}</zone></platform>'
    assert killed(tmp_path, "far", xml)["progress"] == 1.0
    assert killed(tmp_path, "far", CLUSTER)["progress"] == pytest.approx(0.0, abs=1e-3)


def test_a_job_can_be_killed_while_its_ranks_talk(tmp_path):
    lines = ["0 irecv 1 7 125e7", "0 send 1 0 125e7"], ["1 isend 0 7 125e7", "1 recv 0 0 125e7"]
    options = options_of(tmp_path, (0, 2, "mpi"), (2, 2, "mpi"), xml=CLUSTER, traces=lines)
    script = Script([], [start("0-1"), call_at(0.5)], at(0.5, KILL), *[at(2.0, start("0-1", 1))] * 9)
    assert play(options, script.ask)
    first, second = rows(tmp_path)
    assert (first["final_state"], first["execution_time"]) == ("COMPLETED_KILLED", "0.500000")
    assert second["final_state"] == "COMPLETED_SUCCESSFULLY"
    assert float(second["execution_time"]) == pytest.approx(1.0, abs=1e-6)  # the links are free again


@pytest.mark.parametrize(("submit", "reply_at", "begins"), [(3, 1.0, 3.0), (1e17, 1e17, 1e17)])
def test_a_reply_from_the_past_is_taken_at_once_and_a_far_future_is_reached(submit, reply_at, begins, tmp_path):
    assert play(options_of(tmp_path, (submit, 1, "sleep5")), Script([], reply(reply_at, start())).ask)
    assert float(rows(tmp_path)[0]["starting_time"]) == pytest.approx(begins, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("0.5", 0.5), ("-12.25", -12.25), ("1e3", 1000.0), ("1.5E-3", 0.0015), ("853.95008", 853.95008)),
        *(("1e-400", 0.0), ("1e999", float("inf")), ("9" * 400 + ".5", float("inf"))),
        ("1234567890123456789.5", 1234567890123456789.5),
        # long ones are read as Batsim does and not exactly: 16 digits make an integer above 2^53, the 17th is added in
        # floating point, then the places are divided
        ("1440.4900000000123", 14404900000000123.0 / 1e13),
        ("0.12345678901234567", (1234567890123456.0 * 10.0 + 7) * 1.0 / 1e17),
    ],
)
def test_numbers_are_read_as_batsim_reads_them(text, value):
    assert read_number(text) == value
    assert value == pytest.approx(float(text), rel=1e-15)


# -- what is refused

RUNNING = {"job_id": "w0!0", "job_state": "RUNNING"}


def states(*data):
    """The decisions to change the state of jobs."""
    return [("CHANGE_JOB_STATE", RUNNING | one) for one in data]


def machines_at(*listed):
    """Lines of a file of events of machines, each a time, a kind and machines."""
    return "".join(json.dumps({"timestamp": t, "type": f"machine_{k}", "resources": r}) + "\n" for t, k, r in listed)


STORES = storage_xml(2)


@pytest.mark.parametrize(
    ("xml", "profile", "decided", "hint"),
    [
        (
            None,
            "work4",
            states({"job_state": "REJECTED"}),
            "Batsim aborts where job w0!0, which is SUBMITTED, is made REJE",
        ),
        (
            None,
            "work4",
            states({}, {"job_state": "COMPLETED_SUCCESSFULLY"}),
            "Batsim aborts where .* COMPLETED_SUCCESSFULLY",
        ),
        (None, "work4", states({"job_state": "COMPLETED_KILLED"}), "which is SUBMITTED, is made COMPLETED_KILLED"),
        (None, "work4", states({}, {}), "which is RUNNING, is made RUNNING"),
        (None, "work4", states({"job_state": "DANCING"}), "'DANCING' is none of NOT_SUBMITTED, "),
        (None, "work4", states({"job_id": "w0!9"}), "does not exist"),
        # a job that only counts as running never ends
        (None, "work4", [*states({}), KILL], "nothing to kill"),
        (None, "work4", [*states({}), start("0-1")], "is RUNNING, not SUBMITTED"),
        (None, "work4", [start("0-1"), start("0-1")], "RUNNING"),
        (None, "work4", [start("0-1"), start("1", 1)], "machine 1 is COMPUTING"),
        (None, "answer", [start("0-1"), KILL], "is killed in 'sleep5' after 'answer'; Batsim aborts there"),
        (STORES, "read", [start("0-1")], "which of 2 storage hosts"),
        (STORES, "read", [start("0-1", storage_mapping={"pfs": 0})], "a storage host"),
        (STORES, "stage", [start("0-1")], "'x': must be a storage host"),
        (STORES, "work4", [start("1-2")], "cannot compute"),
    ],
)
def test_a_decision_that_batsim_does_not_survive_is_refused(xml, profile, decided, hint, tmp_path):
    options = options_of(tmp_path, (0, 2, profile), (0, 1, "sleep5"), xml=xml)
    with pytest.raises(ProtocolError, match=hint):
        play(options, Script([], decided).ask)


def test_a_job_that_was_heard_of_cannot_be_killed(tmp_path):
    script = Script([], [start()], *[at(5.0, KILL)] * 4)
    with pytest.raises(ProtocolError, match="does not exist"):
        play(options_of(tmp_path, (0, 1, "sleep5")), script.ask)


def test_machines_that_compute_are_not_shared_where_storage_is_not(tmp_path):
    options = options_of(tmp_path, *[(0, 1, "work4")] * 2, compute_sharing=True, storage_sharing=False)
    with pytest.raises(ProtocolError, match="machine 1 is COMPUTING, not IDLE"):
        play(options, Script([], [start("1", 0), start("1", 1)]).ask)


def test_a_job_that_only_counts_as_running_never_ends(tmp_path):
    patient = Script([], states({}), [], [])
    assert not play(options_of(tmp_path, (0, 2, "work4")), patient.ask)  # as Batsim: nothing more can happen


@pytest.mark.parametrize(
    "text",
    [
        machines_at((1, "unavailable", "0"), (2, "unavailable", "0-1")),
        machines_at((1, "unavailable", "0"), (2, "available", "0"), (3, "available", "0")),
        machines_at((1, "available", "2")),
    ],
)
def test_machines_that_become_what_they_are_end_the_run(text, tmp_path):
    (tmp_path / "events.txt").write_text(text)
    options = options_of(tmp_path, (0, 1, "work4"), events=(tmp_path / "events.txt",))
    with pytest.raises(WorkloadError, match=r"but it is [A-Z]+; Batsim aborts there"):
        play(options, Filler().ask)


@pytest.mark.parametrize(
    ("profile", "ranks", "hint"),
    [
        ("usage", [["0 m_usage 2 1e9"]], r"rank0\.txt:1"),
        ("mpi", [["0 compute 1", "0 test 0 1 0"]], r"rank0\.txt:2.*test is not replayed: how often"),
        ("mpi", [["0 fly 1"]], r"rank0\.txt:1.*fly is not replayed: the operations are init, .*barrier"),
        ("mpi", [["0 send 1 0"]], r"rank0\.txt:1.*needs a rank, a tag and a number of elements"),
        ("mpi", [["0 send 0 0 1e9 77"]], r"rank0\.txt:1.*type: is '77'; a whole number from 0 to 29 is needed"),
        ("mpi", [["0 send 0 0 3e9"]], r"rank0\.txt:1.*word 3: is '3e9'; a number of elements from 0 to"),
        ("mpi", [["0 send 5 0 8"]], r"rank0\.txt:1.*rank: is '5'; a whole number from 0 to 0 is needed"),
        ("mpi", [["0 recv 1 0 -1"], ["1 send 0 0 1"]], r"rank0\.txt:1"),
        ("mpi", [["0 recv 1 0 8"], ["1 send 0 0 9"]], "rank 0 takes 8 bytes from rank 1, which sends it 9"),
        ("usage", [["0 m_usage 1 1"]] * 3, "3 different hosts, the job has 2"),
    ],
)
def test_traces_that_cannot_be_replayed_are_one_line(profile, ranks, hint, tmp_path):
    with pytest.raises(WorkloadError, match=hint) as error:
        play(options_of(tmp_path, (0, 2, profile), traces=ranks), Script([], [start("0-1")]).ask)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("unused", "hint"),
    [
        ({"type": "smpi", "trace": "missing.txt"}, "missing"),
        ({"type": "delay", "delay": 0}, "delay"),
        ({"type": "composed", "seq": []}, "seq"),
        ({"type": "composed", "seq": ["nothing"]}, None),
    ],
)
def test_profiles_that_no_job_has_are_checked_too_but_for_their_parts(unused, hint, tmp_path):
    options = write_inputs(tmp_path, workload([(0, 1, "d", None)], {"d": PROFILES["sleep5"], "unused": unused}))
    if hint is None:
        assert play(options, Filler().ask)
        return
    with pytest.raises(WorkloadError, match=f"profile 'unused': .*{hint}"):
        play(options, Filler().ask)


# -- options


def test_without_a_scheduler_all_jobs_run_at_once_and_none_is_listed(tmp_path):
    used = {name: PROFILES[name] for name in ("work4", "sleep5")}
    write_inputs(tmp_path, workload([(0, 2, "work4", None), (7, 2, "work4", 6), (0, 1, "sleep5", None)], used))
    files = ["-p", tmp_path / "p.xml", "-w", tmp_path / "w.json", "-e", tmp_path / "out"]
    assert cli.main([*map(str, files), "--no-sched", "-q"]) == 0
    assert rows(tmp_path) == []
    # the two tasks share 2 machines until the walltime ends one at 6 s; the other has done 3 s of its 4 s
    assert [row["time"] for row in rows(tmp_path, "out_machine_states.csv")] == ["0", "0", "0", "5", "6", "7"]
    (figures,) = rows(tmp_path, "out_schedule.csv")
    assert (figures["nb_jobs"], figures["time_computing"]) == ("0", "14.000000")


def test_the_execution_context_is_printed_and_nothing_is_simulated(tmp_path, capsys):
    words = ["-p", "missing.xml", "-s", "tcp://x:1", "-e", str(tmp_path / "out"), "--redis-port", "7"]
    assert cli.main([*words, "--dump-execution-context"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "socket_endpoint": "tcp://x:1",
        "redis_enabled": False,
        "redis_hostname": "127.0.0.1",
        "redis_port": 7,
        "redis_prefix": "default",
        "export_prefix": str(tmp_path / "out"),
        "external_scheduler": True,
    }
    assert list(tmp_path.iterdir()) == []


SLOW = '<config id="General"><prop id="network/loopback-lat" value="0.5"/></config><zone id="main"'


@pytest.mark.parametrize(
    ("xml", "setting", "submitted"),  # 1 s, and the way of one byte to the server
    [
        (platform_xml(4), ("network/model:CM02",), 1.0),
        (platform_xml(4), ("network/loopback-lat:0.25",), 1.25),
        (platform_xml(4), ("network/loopback-bw:4",), 1.25),
        # a platform sets options too, and the command line has the last word
        (platform_xml(2).replace('<zone id="main"', SLOW), (), 1.5),
        (platform_xml(2).replace('<zone id="main"', SLOW), ("network/loopback-lat:0.25",), 1.25),
    ],
)
def test_an_option_of_simgrid_changes_what_it_changes_there(xml, setting, submitted, tmp_path):
    script = Script([], [start()])
    assert play(options_of(tmp_path, (1, 1, "sleep5"), xml=xml, simgrid=setting), script.ask)
    (time,) = [json.loads(text)["now"] for text in script.texts if "JOB_SUBMITTED" in text]
    assert time == pytest.approx(submitted, abs=2e-6)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--sg-cfg", "network/model"], "NAME:VALUE"),
        (["--sg-cfg", "host/solver:bmf"], "fairbottleneck"),
        (["--sg-cfg", "network/TCP-gama:1"], "did you mean"),
        (["--sg-cfg", "surf/precision:0"], "number"),
        (["--enable-redis"], "redis"),
    ],
)
def test_options_that_are_not_imitated_are_one_line(words, hint):
    with pytest.raises(HDeepRMError, match=hint) as error:
        read_command_line(["-p", "p.xml", *words])
    assert "\n" not in str(error.value)


OPTIONS = """platform workload workflow WS events master-host add-role-to-hosts energy socket-endpoint enable-redis
redis-hostname redis-port redis-prefix export disable-schedule-tracing disable-machine-state-tracing mmax mmax-workload
forward-profiles-on-submission enable-dynamic-jobs acknowledge-dynamic-jobs enable-profile-reuse verbosity quiet
workflow-jobs-limit ignore-beyond-last-workflow dump-execution-context enable-compute-sharing disable-storage-sharing
no-sched sched-cfg sched-cfg-file sg-cfg sg-log forward-unknown-events version simgrid-version"""


def test_all_options_of_batsim_are_in_the_help(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    shown = capsys.readouterr().out
    assert [name for name in OPTIONS.split() if f"--{name}" not in shown] == []


def test_a_sum_is_rounded_like_a_long_double_whoever_takes_it():
    values = [1.1e7 / (number + 1) for number in range(MANY)]
    one_by_one, by_numpy = long_sum(values), long_sum([*values, 0.0])
    assert one_by_one == by_numpy
    assert one_by_one / GRID == pytest.approx(sum(values), rel=1e-14)


def test_the_mean_power_of_a_microsecond_is_the_difference_of_long_sums():
    meter = EnergyMeter([Constraint(1e9)] * 3, [((100.0 + 7 * k, 120.0, 170.3),) for k in range(3)], [0, 0, 0])
    meter.mean_watts(40.612897)
    before = long_sum(meter.joules)
    assert meter.mean_watts(40.612898) == (long_sum(meter.joules) - before) / GRID / (40.612898 - 40.612897)
