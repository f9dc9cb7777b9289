"""A Batsim that says nonsense gets an answer, or one clear error and the end; never a traceback, never silence."""

import json
import socket
import threading
import time

import pytest
import zmq
from batsim_talk import message, play_on_server, talk, write_inputs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from server_inputs import free_port
from small import jobs, platform

from hdeeprm_like.batsim.endpoint import Endpoint
from hdeeprm_like.batsim_server import cli as server
from hdeeprm_like.batsim_server.options import ServerOptions
from hdeeprm_like.engine.words import of_cores
from hdeeprm_like.errors import HDeepRMError, OptionsError, ProtocolError

FOUR = platform((1000.0, [(2, 1.0, 100.0, 10.0), (2, 2.0, 100.0, 5.0)]))
JOBS = jobs(submit=[0.0, 0.0, 1.0, 2.0, 2.0, 9.0], seconds=[3.0, 1.0, 2.0, 5.0, 1.0, 1.0], size=[2, 1, 4, 3, 1, 9])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("faults")
    write_inputs(FOUR, JOBS, made)
    return made


@pytest.fixture(scope="module")
def recorded(folder):
    """A conversation without faults: what Batsim says, and what it is answered."""
    ours = talk()
    answers = []

    def ask(text):
        said.append(text)
        answers.append(ours.answer(text))
        return answers[-1].encode()

    said = []
    files = {"platform": folder / "platform.xml", "workloads": (folder / "workload.json",)}
    assert server.play(ServerOptions(**files, export=str(folder / "out"), energy=True), ask)
    return [text.encode() for text in said], [text.encode() for text in answers]


# -- what goes wrong

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.sampled_from([1e308, -1e-300, 1e16, -1, 0, 2**31, 2**63, float("nan"), float("inf")]),
    st.text(max_size=8),
    st.sampled_from(
        ["w0!0", "w0!000000", "w9!1", "0-3", "3-1", "0-99999999999", "JOB_COMPLETED", "NOTIFY", "\ud800", "\0"]
    ),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KINDS = [
    "SIMULATION_BEGINS",
    "SIMULATION_ENDS",
    "JOB_SUBMITTED",
    "JOB_COMPLETED",
    "JOB_KILLED",
    "RESOURCE_STATE_CHANGED",
    "REQUESTED_CALL",
    "NOTIFY",
    "ADD_RESOURCES",
    "REMOVE_RESOURCES",
    "ANSWER",
    "FROM_JOB_MSG",
    "EXECUTE_JOB",
    "REJECT_JOB",
    "SET_RESOURCE_STATE",
    "KILL_JOB",
    "CALL_ME_LATER",
    "QUERY",
    "REGISTER_JOB",
    "REGISTER_PROFILE",
    "SET_JOB_METADATA",
    "CHANGE_JOB_STATE",
    "TO_JOB_MSG",
    "HELLO",
]
datas = st.fixed_dictionaries(
    {},
    optional={
        "job_id": st.sampled_from(["w0!000000", "w0!000001", "w0!000005", "w0!9", "", "!"]) | scalars,
        "job": st.dictionaries(st.sampled_from(["id", "subtime", "res", "profile", "walltime"]), scalars) | scalars,
        "profile": values,
        "job_state": st.sampled_from(["COMPLETED_SUCCESSFULLY", "COMPLETED_KILLED"]) | scalars,
        "resources": st.sampled_from(["0", "0-3", "1 3", "9"]) | scalars,
        "type": st.sampled_from(
            [
                "event_machine_available",
                "event_machine_unavailable",
                "no_more_static_job_to_submit",
                "registration_finished",
            ]
        )
        | scalars,
        "state": st.sampled_from(["0", "3", "9"]) | scalars,
        "alloc": st.sampled_from(["0", "0-3", "9"]) | scalars,
        "timestamp": scalars,
        "job_ids": values,
        "job_progress": values,
        "requests": values,
        "compute_resources": values,
        "profiles": values,
        "config": values,
    },
)
events = st.fixed_dictionaries(
    {"timestamp": st.floats(0, 20) | scalars, "type": st.sampled_from(KINDS) | scalars, "data": datas | values}
)


def places_of(content, path=()):
    """Yield the path of every value in a JSON document."""
    yield path
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in inner:
        yield from places_of(value, (*path, key))


def changed(content, path, new):
    """Return a JSON document with another value somewhere; `...` takes the value away."""
    if not path:
        return new
    copy = dict(content) if isinstance(content, dict) else list(content)
    if len(path) == 1 and new is ...:
        del copy[path[0]]
    else:
        copy[path[0]] = changed(content[path[0]], path[1:], None if new is ... else new)
    return copy


@st.composite
def faults(draw, texts):
    """One of the messages and something done to it."""
    at = draw(st.integers(0, len(texts) - 1))
    how = draw(
        st.sampled_from(["cut", "noise", "bytes", "value", "values", "gone", "events", "repeat", "other", "time"])
    )
    text = texts[at]
    if how == "cut":
        return at, text[: draw(st.integers(0, len(text)))]
    if how == "noise":
        return at, draw(st.binary(max_size=200))
    if how == "bytes":
        broken = bytearray(text)
        for _ in range(draw(st.integers(1, 5))):
            broken[draw(st.integers(0, len(broken) - 1))] = draw(st.integers(0, 255))
        return at, bytes(broken)
    if how == "other":
        return at, texts[draw(st.integers(0, len(texts) - 1))]
    content = json.loads(text)
    if how == "time":
        content["now"] = draw(st.floats() | st.sampled_from([-1.0, 0.0, 1e300]))
    elif how == "events":
        content["events"] = draw(st.lists(events, max_size=4))
    elif how == "repeat":
        content["events"] = draw(st.permutations(content["events"] * draw(st.integers(1, 3))))
    else:
        for _ in range(draw(st.integers(1, 4)) if how == "values" else 1):
            path = draw(st.sampled_from([path for path in places_of(content) if path] or [()]))
            content = changed(content, path, ... if how == "gone" else draw(values))
    return at, json.dumps(content).encode("utf-8", "surrogatepass")


def assert_survives(conversation, texts, at, fault):
    """Say what comes before a fault, the fault, and what comes after; each gets an answer or one clear error."""
    for text in [*texts[:at], fault, *texts[at + 1 :]]:
        try:
            answer = json.loads(conversation.answer(text))
        except HDeepRMError as error:
            line = str(error)
            assert line
            assert line.isprintable()
            assert len(line) < 400
            return
        assert set(answer) == {"now", "events"}
    check_books(conversation)


def check_books(conversation):
    """Nothing is lost: each core serves one job or none, and the counts agree."""
    state = conversation.system.state
    tables = state.tables
    clock, known = tables.clock[0], tables.jobs[: state.known]
    assert clock["submitted"] == len(known) == len(conversation.identifiers)
    assert clock["waiting"] + clock["running"] + clock["completed"] + clock["rejected"] == len(known)
    assert len({row for row in state.core_job.tolist() if row >= 0}) == clock["running"]
    assert clock["free_cores"] == ((state.core_job < 0) & of_cores(tables.words, "available")).sum()


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), given_platform=st.sampled_from([None, FOUR]))
def test_any_fault_gets_an_answer_or_one_clear_error(data, given_platform, recorded):
    texts, _ = recorded
    at, fault = data.draw(faults(texts))
    assert_survives(talk(given_platform), texts, at, fault)


@pytest.mark.slow
@settings(max_examples=6000, suppress_health_check=list(HealthCheck))
@given(data=st.data(), given_platform=st.sampled_from([None, FOUR]))
def test_thousands_of_faults_get_an_answer_or_one_clear_error(data, given_platform, recorded):
    texts, _ = recorded
    at, fault = data.draw(faults(texts))
    assert_survives(talk(given_platform), texts, at, fault)


def assert_server_survives(folder, answers, at, fault):
    """Play our server with a scheduler whose answers have a fault: the simulation ends, or is refused in one line."""
    replies = [*answers[:at], fault, *answers[at + 1 :]]
    said = []

    def ask(text):
        said.append(text)
        if len(said) > 60:
            raise ProtocolError("the test has nothing more to say")
        return replies[len(said) - 1] if len(said) <= len(replies) else message(1e6).encode()

    files = {"platform": folder / "platform.xml", "workloads": (folder / "workload.json",)}
    try:
        server.play(ServerOptions(**files, export=str(folder / "fuzz"), energy=True), ask)
    except HDeepRMError as error:
        line = str(error)
        assert line
        assert "\n" not in line
        assert len(line) < 400
        assert (folder / "fuzz_INCOMPLETE").exists()


# many tries; those of Batsim stay
@pytest.mark.more
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_fault_of_the_scheduler_ends_the_server_in_good_order(data, recorded, folder):
    at, fault = data.draw(faults(recorded[1]))
    assert_server_survives(folder, recorded[1], at, fault)


@pytest.mark.slow
@settings(max_examples=4000, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_thousands_of_faults_of_the_scheduler_end_the_server_in_good_order(data, recorded, folder):
    at, fault = data.draw(faults(recorded[1]))
    assert_server_survives(folder, recorded[1], at, fault)


# -- sockets


def played(endpoint, conversation, **how):
    """Play in a thread; return it and the list where its error will be."""
    errors = []

    def play():
        try:
            endpoint.play(conversation, **how)
        except HDeepRMError as error:
            errors.append(str(error))

    thread = threading.Thread(target=play, daemon=True)
    thread.start()
    return thread, errors


def test_a_port_in_use_is_one_clear_error():
    endpoint = Endpoint("tcp://127.0.0.1:*")
    try:
        with pytest.raises(OptionsError, match=r"cannot listen on 'tcp://127.0.0.1:\d+': Address already in use"):
            Endpoint(endpoint.address)
    finally:
        endpoint.close()
    with pytest.raises(OptionsError, match="cannot listen on 'nonsense'"):
        Endpoint("nonsense")


def test_a_silent_batsim_is_given_up():
    endpoint = Endpoint("tcp://127.0.0.1:*")
    thread, errors = played(endpoint, talk(), first_patience=0.3)
    thread.join(300)
    endpoint.close(0)
    assert errors == ["Batsim has said nothing for 0.3 s"]


def test_how_batsim_has_ended_is_said_rather_than_that_it_is_silent():
    endpoint = Endpoint("tcp://127.0.0.1:*")
    thread, errors = played(endpoint, talk(), gone=lambda: "Batsim has ended", first_patience=0.0)
    thread.join(300)
    endpoint.close(0)
    assert errors == ["Batsim has ended"]


def test_what_is_no_zeromq_on_the_port_disturbs_no_simulation(recorded):
    endpoint = Endpoint("tcp://127.0.0.1:*")
    thread, errors = played(endpoint, talk(), patience=300.0, first_patience=300.0)
    port = int(endpoint.address.rpartition(":")[2])
    for noise in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" + b"\0" * 8 + b"\x01\x7f", bytes(range(256)) * 40):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as peer:
            peer.sendall(noise)
    with zmq.Context() as context, context.socket(zmq.REQ) as batsim:
        batsim.setsockopt(zmq.RCVTIMEO, 300_000)
        batsim.connect(endpoint.address)
        for text in recorded[0]:
            batsim.send(text)
            batsim.recv()
    thread.join(300)
    endpoint.close(0)
    assert errors == []


GREETING = b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL" + b"\0" * 48
READY = b"\x04\x19\x05READY\x0bSocket-Type\0\0\0\x03REQ"


def test_a_peer_that_vanishes_in_the_middle_of_a_message_is_silence():
    endpoint = Endpoint("tcp://127.0.0.1:*")
    thread, errors = played(endpoint, talk(), first_patience=1.0)
    port = int(endpoint.address.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=60) as peer:
        peer.sendall(GREETING)
        time.sleep(0.1)
        peer.sendall(READY + b"\x01\0" + b"\x02" + (5000).to_bytes(8, "big") + b'{"now":0.0,"ev')
        time.sleep(0.1)
    thread.join(300)
    endpoint.close(0)
    assert errors == ["Batsim has said nothing for 1 s"]


def test_a_message_of_several_parts_is_refused():
    endpoint = Endpoint("tcp://127.0.0.1:*")
    thread, errors = played(endpoint, talk(), first_patience=300.0)
    with zmq.Context() as context, context.socket(zmq.REQ) as batsim:
        batsim.setsockopt(zmq.LINGER, 0)
        batsim.connect(endpoint.address)
        batsim.send_multipart([message(0.0).encode(), b"}"])
        thread.join(300)
    endpoint.close(0)
    assert errors == ["a message has several parts; one is needed"]


def test_one_endpoint_plays_one_simulation_after_the_other(folder):
    endpoint = Endpoint(f"tcp://127.0.0.1:{free_port()}")
    thread, errors = played(endpoint, talk(), patience=300.0)
    command = [
        "-p",
        str(folder / "platform.xml"),
        "-w",
        str(folder / "workload.json"),
        "-e",
        str(folder / "out"),
        "-E",
        "-q",
    ]
    assert server.main([*command, "-s", endpoint.address, "--timeout", "300"]) == 0
    thread.join(300)
    thread, errors = played(endpoint, talk(), patience=300.0)
    assert server.main([*command, "-s", endpoint.address, "--timeout", "300"]) == 0
    thread.join(300)
    endpoint.close()
    assert errors == []
    assert play_on_server(talk(), folder)[1]


def test_a_message_larger_than_any_of_batsim_is_not_held(monkeypatch):
    monkeypatch.setattr("hdeeprm_like.batsim.endpoint.LARGEST_MESSAGE", 1000)
    endpoint, ours, context = Endpoint(f"tcp://127.0.0.1:{free_port()}"), talk(), zmq.Context()
    peer = context.socket(zmq.REQ)
    try:
        peer.connect(endpoint.address)
        peer.send(b" " * 1001)
        with pytest.raises(ProtocolError, match="has said nothing"):
            endpoint.play(ours, first_patience=0.5)
        assert not ours.begun
    finally:
        peer.close(linger=0)
        context.term()
        endpoint.close(0)
