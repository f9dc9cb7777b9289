"""A Batsim that says nonsense gets an answer, or one clear error and the end; never a traceback, never silence."""

import json
import os
import random
import socket
import threading
import time
from contextlib import contextmanager

import pytest
import zmq
from batsim_talk import FOUR, message, talk
from hostile import mutated

from hdeeprm_like.batsim.endpoint import Endpoint
from hdeeprm_like.batsim_server import cli as server
from hdeeprm_like.engine.words import of_cores
from hdeeprm_like.errors import HDeepRMError, OptionsError

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
    dice = random.Random(f"{os.environ['HDEEPRM_LIKE_SEED']} {count}")
    said = [recorded[0][0], ODD.encode(), *recorded[0][1:]]
    assert_survives(talk(FOUR), said, 1, ODD.encode())
    for _ in range(count):
        at, parts = mutated(dice, said)
        assert_survives(talk(dice.choice([None, FOUR])), said, at, b"".join(parts))


# -- sockets


@contextmanager
def served(conversation, **how):
    """An endpoint that plays in a thread; yields it, and what waits for the end and returns the errors until then."""
    endpoint, errors = Endpoint("tcp://127.0.0.1:*"), []

    def play():
        try:
            endpoint.play(conversation, **how)
        except HDeepRMError as error:
            errors.append(str(error))

    thread = threading.Thread(target=play, daemon=True)
    thread.start()
    yield endpoint, lambda: thread.join(300) or errors
    endpoint.close(0)


@contextmanager
def connected(endpoint):
    """A socket that talks to an endpoint as Batsim does."""
    with zmq.Context() as context, context.socket(zmq.REQ) as batsim:
        batsim.setsockopt(zmq.LINGER, 0)
        batsim.setsockopt(zmq.RCVTIMEO, 300_000)
        batsim.connect(endpoint.address)
        yield batsim


def raw(endpoint):
    """A connection to its port that need not speak ZeroMQ."""
    return socket.create_connection(("127.0.0.1", int(endpoint.address.rpartition(":")[2])), timeout=60)


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


GREETING = b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL" + b"\0" * 48
READY = b"\x04\x19\x05READY\x0bSocket-Type\0\0\0\x03REQ"


def is_silent(endpoint):
    pass


def vanishes_in_the_middle_of_a_message(endpoint):
    with raw(endpoint) as peer:
        peer.sendall(GREETING)
        time.sleep(0.1)
        peer.sendall(READY + b"\x01\0" + b"\x02" + (5000).to_bytes(8, "big") + b'{"now":0.0,"ev')
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("peer", "how", "said"),
    [
        (is_silent, {"first_patience": 0.3}, "Batsim has said nothing for 0.3 s"),
        (vanishes_in_the_middle_of_a_message, {"first_patience": 1.0}, "Batsim has said nothing for 1 s"),
        # how it has ended is said rather than that it is silent
        (is_silent, {"first_patience": 0.0, "gone": lambda: "Batsim has ended"}, "Batsim has ended"),
    ],
)
def test_a_batsim_that_says_nothing_is_given_up(peer, how, said):
    with served(talk(), **how) as (endpoint, errors):
        peer(endpoint)
        assert errors() == [said]


def test_a_message_of_several_parts_is_refused():
    with served(talk(), first_patience=300.0) as (endpoint, errors), connected(endpoint) as batsim:
        batsim.send_multipart([message(0.0).encode(), b"}"])
        assert errors() == ["a message has several parts; one is needed"]


def test_a_message_larger_than_any_of_batsim_is_not_held(monkeypatch):
    monkeypatch.setattr("hdeeprm_like.batsim.endpoint.LARGEST_MESSAGE", 1000)
    ours = talk()
    with served(ours, first_patience=0.5) as (endpoint, errors), connected(endpoint) as batsim:
        batsim.send(b" " * 1001)
        assert errors() == ["Batsim has said nothing for 0.5 s"]
    assert not ours.begun


def test_what_is_no_zeromq_on_the_port_disturbs_no_simulation(recorded):
    with served(talk(), patience=300.0, first_patience=300.0) as (endpoint, errors):
        for noise in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" + b"\0" * 8 + b"\x01\x7f", bytes(range(256)) * 40):
            with raw(endpoint) as peer:
                peer.sendall(noise)
        with connected(endpoint) as batsim:
            for text in recorded[0]:
                batsim.send(text)
                batsim.recv()
        assert errors() == []


def test_one_endpoint_plays_one_simulation_after_the_other(folder):
    files = ["-p", folder / "platform.xml", "-w", folder / "workload.json", "-e", folder / "out"]
    endpoint = Endpoint("tcp://127.0.0.1:*")
    words = [*map(str, files), "-E", "-q", "-s", endpoint.address, "--timeout", "300"]
    for _ in range(2):
        thread = threading.Thread(target=server.main, args=[words])
        thread.start()
        endpoint.play(ours := talk(), patience=300.0, first_patience=300.0)
        assert ours.ended
        thread.join(300)
    endpoint.close()
