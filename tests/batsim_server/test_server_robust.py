"""A scheduler that says nonsense, says nothing or is gone gets one clear line and a clean end."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import zmq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from server_inputs import Script, free_port, reply, workload, write_inputs

from hdeeprm_like.batsim_server import cli
from hdeeprm_like.batsim_server.replies import read_reply
from hdeeprm_like.batsim_server.scheduler_events import SCHEDULER_EVENTS
from hdeeprm_like.errors import ProtocolError, WorkloadError

JOBS = [(0, 2, "d", 10), (0, 1, "d", None)]
PROFILES = {"d": {"type": "delay", "delay": 5}}
START = {"job_id": "w0!0", "alloc": "0-1"}


def event(kind, data, timestamp=0.0):
    return json.dumps({"now": 0.0, "events": [{"timestamp": timestamp, "type": kind, "data": data}]}).encode()


NONSENSE = {
    "no UTF-8": b"\xff\xfe\x00binary",
    "nothing": b"",
    "no JSON": b"{",
    "no object": b"[]",
    "no now": b'{"events": []}',
    "a text as now": b'{"now": "0", "events": []}',
    "a long list as now": b'{"now": [' + b"1," * 1000 + b'1], "events": []}',
    "NaN": b'{"now": NaN, "events": []}',
    "infinity": b'{"now": 1e999, "events": []}',
    "a huge integer": b'{"now": 1' + b"0" * 400 + b', "events": []}',
    "a gigantic integer": b'{"now": 1' + b"0" * 5000 + b', "events": []}',
    "no events": b'{"now": 0}',
    "events that are no list": b'{"now": 0, "events": {}}',
    "an event that is no object": b'{"now": 0, "events": [1]}',
    "deep nesting": b'{"now": 0, "events": ' + b"[" * 100000 + b"]" * 100000 + b"}",
    "an event after now": event("CALL_ME_LATER", {"timestamp": 5}, timestamp=3.0),
    "an unknown event": event("EXECUTE_JOBS", START),
    "no data": b'{"now": 0, "events": [{"timestamp": 0, "type": "QUERY"}]}',
    "an unknown job": event("EXECUTE_JOB", START | {"job_id": "w0!9"}),
    "a job that is a number": event("EXECUTE_JOB", START | {"job_id": 3}),
    "an unknown machine": event("EXECUTE_JOB", START | {"alloc": "3-4"}),
    "no machine": event("EXECUTE_JOB", START | {"alloc": ""}),
    "machines without end": event("EXECUTE_JOB", START | {"alloc": "0-99999999999999999999"}),
    "machines backwards": event("EXECUTE_JOB", START | {"alloc": "3-1"}),
    "too few machines": event("EXECUTE_JOB", START | {"alloc": "0"}),
    "a mapping to nowhere": event("EXECUTE_JOB", START | {"mapping": {"0": "7", "1": "0"}}),
    "a mapping with a gap": event("EXECUTE_JOB", START | {"mapping": {"0": "0", "2": "0"}}),
    "storage that is no number": event("EXECUTE_JOB", START | {"storage_mapping": {"pfs": "0"}}),
    "a job beside": event("EXECUTE_JOB", START | {"additional_io_job": {}}),
    "a kill of a waiting job": event("KILL_JOB", {"job_ids": ["w0!0"]}),
    "a kill of nothing": event("KILL_JOB", {"job_ids": "w0!0"}),
    "a call in the past": event("CALL_ME_LATER", {"timestamp": 0}),
    "a call without time": event("CALL_ME_LATER", {}),
    "P-states without energy": event("SET_RESOURCE_STATE", {"resources": "0", "state": "1"}),
    "a P-state of another script": event("SET_RESOURCE_STATE", {"resources": "0", "state": "²"}),
    "energy without energy": event("QUERY", {"requests": {"consumed_energy": {}}}),
    "a job of its own": event("REGISTER_JOB", {"job_id": "d!1", "job": {}}),
    "an unknown notice": event("NOTIFY", {"type": "hello"}),
    "metadata with quotes": event("SET_JOB_METADATA", {"job_id": "w0!0", "metadata": 'a"b'}),
    "half a surrogate pair": event("SET_JOB_METADATA", {"job_id": "w0!0", "metadata": "\ud800"}),
    "another job state": event("CHANGE_JOB_STATE", {"job_id": "w0!0", "job_state": "COMPLETED_KILLED"}),
}


@pytest.mark.parametrize("fewest", [cli.FEWEST_JOBS, 0])  # by the actors, and in machine code
@pytest.mark.parametrize("what", NONSENSE)
def test_nonsense_is_refused_in_one_line(what, fewest, tmp_path, monkeypatch):
    monkeypatch.setattr(cli, "FEWEST_JOBS", fewest)
    options = write_inputs(tmp_path, workload(JOBS, PROFILES))
    with pytest.raises(ProtocolError) as error:
        cli.play(options, Script(reply(0.0), NONSENSE[what]).ask)
    line = str(error.value)
    assert "\n" not in line
    assert len(line) < 400
    assert (tmp_path / "out_INCOMPLETE").exists()
    assert (tmp_path / "out_jobs.csv").read_text().startswith("job_id,")


def refusal(call, *arguments):
    """Return the line of the `ProtocolError` that a call raises, or nothing; other errors are bugs."""
    try:
        call(*arguments)
    except ProtocolError as error:
        return str(error)
    return ""


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@given(st.binary(max_size=60) | json_values.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_a_reply_or_a_protocol_error(raw):
    assert "\n" not in refusal(read_reply, raw, SCHEDULER_EVENTS)


fields = st.fixed_dictionaries(
    {},
    optional={
        "job_id": st.sampled_from(["w0!0", "w0!1", "w1!0", "x", "d!1"]) | json_values,
        "alloc": st.sampled_from(["0", "0-1", "2", "9", "a"]) | json_values,
        "mapping": st.dictionaries(st.sampled_from(["0", "1", "x"]), st.sampled_from(["0", "1", "9"])) | json_values,
        "job_ids": st.lists(st.sampled_from(["w0!0", "w0!1", "z"]), max_size=3) | json_values,
        "timestamp": st.floats(0, 20) | json_values,
        "resources": st.sampled_from(["0", "0-3", "7"]) | json_values,
        "state": st.sampled_from(["0", "1", "9"]) | json_values,
        "requests": st.just({"consumed_energy": {}}) | json_values,
        "job": st.just({"id": "d!1", "res": 1, "subtime": 0, "profile": "d"}) | json_values,
        "profile": st.just({"type": "delay", "delay": 1}) | json_values,
        "workload_name": st.sampled_from(["d", "w0"]),
        "profile_name": st.sampled_from(["d", "e"]),
        "type": st.sampled_from(["registration_finished", "x"]),
        "metadata": st.text(max_size=5),
        "msg": st.text(max_size=5),
    },
)


# many tries, two seconds; any bytes stay
@pytest.mark.more
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(sorted(SCHEDULER_EVENTS)), fields), max_size=6), st.booleans(), st.booleans())
def test_any_decisions_end_well_or_in_a_protocol_error(tmp_path, decisions, energy, dynamic):
    options = write_inputs(tmp_path, workload(JOBS, PROFILES)).replaced(energy=energy, dynamic_jobs=dynamic)
    answers = [reply(0.0)] + [lambda message, e=e: reply(message["now"], e) for e in decisions]
    assert "\n" not in refusal(cli.play, options, Script(*answers).ask)


def arguments(folder, endpoint, *more):
    write_inputs(folder, workload(JOBS, PROFILES))
    files = ["-p", str(folder / "p.xml"), "-w", str(folder / "w.json"), "-e", str(folder / "out")]
    return [*files, "-s", endpoint, *more]


def test_a_silent_scheduler_does_not_hang_us_for_ever(tmp_path, capsys):
    assert cli.main(arguments(tmp_path, f"tcp://127.0.0.1:{free_port()}", "--timeout", "0.3")) == 1
    assert "has not answered for 0.3 s" in capsys.readouterr().err


def test_nonsense_over_the_socket_is_exit_status_1(tmp_path, capsys):
    with zmq.Context() as context, context.socket(zmq.REP) as socket:
        port = socket.bind_to_random_port("tcp://127.0.0.1")

        def answer():
            socket.recv()
            socket.send_multipart([b"{}", b"\xff"])

        peer = threading.Thread(target=answer, daemon=True)
        peer.start()
        assert cli.main(arguments(tmp_path, f"tcp://127.0.0.1:{port}", "-q", "--timeout", "300")) == 1
        peer.join(300)
    assert capsys.readouterr().err == "[ERROR] reply: has 2 parts; one is needed\n"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_leaves_whole_files_marked_incomplete(number, status, tmp_path):
    code = "import sys; from hdeeprm_like.batsim_server.cli import main; sys.exit(main(sys.argv[1:]))"
    with zmq.Context() as context, context.socket(zmq.REP) as scheduler:
        scheduler.setsockopt(zmq.LINGER, 0)
        words = arguments(tmp_path, f"tcp://127.0.0.1:{scheduler.bind_to_random_port('tcp://127.0.0.1')}")
        with subprocess.Popen([sys.executable, "-c", code, *words], stderr=subprocess.PIPE, text=True) as server:
            assert scheduler.poll(300_000)  # it asks
            while "State:\tS" not in Path(f"/proc/{server.pid}/status").read_text():  # and waits, for ever
                time.sleep(0.01)
            os.kill(server.pid, number)
            _, errors = server.communicate(timeout=300)
    assert server.returncode == status
    assert "Traceback" not in errors
    assert (tmp_path / "out_INCOMPLETE").read_text().startswith("stopped by SIG")
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ([], "required"),
        (["-p", "p.xml", "--wrkload", "x"], "unrecognized"),
        (["-p", "missing.xml"], "no such file"),
        (["-p", "p.xml", "-w", "missing.json"], "no such file"),
        (["-p", "p.xml", "-m", "nobody"], "nobody"),
        (["-p", "p.xml", "-m", "nobody" * 1000], "nobody"),
        (["-p", "p.xml", "-v", "loud"], "invalid choice"),
        (["-p", "p.xml", "--mmax", "many"], "invalid int"),
        (["-p", "p.xml", "--timeout", "-1"], "--timeout -1: must be above 0 s"),
        (["-p", "p.xml", "-s", "nonsense"], "socket endpoint"),
        (["-p", "p.xml", "-s", "tcp://localhost:65536"], "socket endpoint"),
        (["-p", "p.xml", "--events", "missing"], "no such file"),
        (["-p", "p.xml", "--sched-cfg-file", "missing"], "no such file"),
    ],
)
def test_bad_options_are_one_line_and_exit_status_2(words, hint, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_inputs(tmp_path, workload(JOBS, PROFILES))
    assert cli.main([*words, "-q"]) == 2
    errors = capsys.readouterr().err
    assert hint in errors
    assert errors.count("\n") == 1
    assert len(errors) < 300


def test_the_version_says_what_is_imitated(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith("v4.2.1 (imitated by hdeeprm_like ")


def test_a_workload_with_half_a_surrogate_pair_is_refused(tmp_path):
    content = workload(JOBS, PROFILES)
    content["jobs"][0]["user"] = "\ud800"
    with pytest.raises(WorkloadError, match="surrogate"):
        cli.play(write_inputs(tmp_path, content), Script().ask)


HUGE = {
    "400 digits": "1" + "0" * 400,
    "5000 digits": "1" + "0" * 5000,
    "1e999": "1e999",
    "deep": "[" * 5000 + "]" * 5000,
}


@pytest.mark.parametrize("what", HUGE)
@pytest.mark.parametrize("place", ["req_time", "user", "event"])
def test_what_no_double_holds_is_refused_wherever_it_stands(what, place, tmp_path):
    content = workload(JOBS, PROFILES | {"d": PROFILES["d"] | ({"req_time": "@"} if place == "req_time" else {})})
    content["jobs"][0] |= {"user": "@"} if place == "user" else {}
    options = write_inputs(tmp_path, content)
    path = tmp_path / "w.json"
    path.write_text(path.read_text().replace('"@"', HUGE[what]))
    if place == "event":
        (tmp_path / "events").write_text(f'{{"type": "mine", "timestamp": 1, "more": {HUGE[what]}}}\n')
        options = options.replaced(events=(tmp_path / "events",), forward_unknown_events=True)
    with pytest.raises(WorkloadError, match=r"too large|too deep|recursion|digits") as error:
        cli.play(options, Script(reply(0.0)).ask)
    assert "\n" not in str(error.value)


def test_importing_the_package_does_not_import_zmq():
    code = "import sys, hdeeprm_like; sys.exit('zmq' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
