"""A Batsim that says nonsense gets an answer, or one clear error and the end; never a traceback, never silence."""

import json
import os
import random
import socket
import threading
import time

import pytest
import zmq
from batsim_talk import FOUR, message, play_on_server, talk
from hostile import mutated
from server_inputs import free_port

from hdeeprm_like.batsim.endpoint import Endpoint
from hdeeprm_like.batsim_server import cli as server
from hdeeprm_like.engine.words import of_cores
from hdeeprm_like.errors import HDeepRMError, OptionsError, ProtocolError

ODD = message(  # of the other events that Batsim can send
    0.0,
    ("REMOVE_RESOURCES", {"resources": "3"}),
    ("ADD_RESOURCES", {"resources": "3"}),
    ("NOTIFY", {"type": "event_machine_unavailable", "resources": "1 3"}),
    ("NOTIFY", {"type": "event_machine_available", "resources": "1 3"}),
    ("RESOURCE_STATE_CHANGED", {"resources": "0-3", "state": "0"}),
    ("REQUESTED_CALL", {}),
    ("JOB_KILLED", {"job_ids": ["w0!000000"], "job_progress": {"w0!000000": {"status": 0, "progress": 0.5}}}),
    ("ANSWER", {"consumed_energy": 3.0}),
    ("FROM_JOB_MSG", {"job_id": "w0!000000", "msg": "hello"}),
)


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


@pytest.mark.parametrize("count", [600, pytest.param(12_000, marks=pytest.mark.slow)])
def test_any_fault_gets_an_answer_or_one_clear_error(count, recorded):
    dice, said = (
        random.Random(f"{os.environ['HDEEPRM_LIKE_SEED']} {count}"),
        [recorded[0][0], ODD.encode(), *recorded[0][1:]],
    )
    assert_survives(talk(FOUR), said, 1, ODD.encode())
    for _ in range(count):
        at, parts = mutated(dice, said)
        assert_survives(talk(dice.choice([None, FOUR])), said, at, b"".join(parts))


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
    for address in ("nonsense", "tcp://127.0.0.1:99999", "tcp://127.0.0.1:-5", "tcp://127.0.0.1:1x", "tcp://127.0.0.1"):
        with pytest.raises(OptionsError, match=f"cannot listen on '{address}'"):
            Endpoint(address)


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
