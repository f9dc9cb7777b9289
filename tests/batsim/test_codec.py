"""The session knows no version of Batsim: a codec beside ``codec4``, as ``codec5``, speaks another one."""

import inspect

import pytest
from batsim_talk import message, talk

from hdeeprm_like.batsim import codec4, session
from hdeeprm_like.batsim.codec4 import Codec4
from hdeeprm_like.errors import ProtocolError


def test_an_event_added_to_the_table_is_heard(monkeypatch):
    monkeypatch.setitem(codec4.EVENTS, "WAKE_UP", lambda codec, data, listener: listener.called())
    ours = talk()
    with pytest.raises(ProtocolError, match="WAKE_UP: comes before the simulation begins"):
        ours.answer(message(0.0, ("WAKE_UP", {})))
    with pytest.raises(ProtocolError, match="of type 'WAKE_DOWN' are not known"):
        ours.answer(message(0.0, ("WAKE_DOWN", {})))


def test_the_session_names_no_event_of_batsim_4():
    source = inspect.getsource(session)
    assert [kind for kind in (*codec4.EVENTS, *codec4.NOTIFICATIONS) if kind in source] == []


def test_what_is_wrong_with_an_event_is_said_with_its_type():
    with pytest.raises(ProtocolError, match=r"^SIMULATION_BEGINS: compute_resources must list machines$"):
        talk().answer(message(0.0, ("SIMULATION_BEGINS", {})))


def test_what_codec4_writes_it_can_read_back():
    codec = Codec4()
    events = [("EXECUTE_JOB", {"job_id": 'w0!"1"', "alloc": "0-3"}), ("KILL_JOB", {"job_ids": ["w0!2"]})]
    content = codec.parse(codec.format(1.5, events))
    assert content["now"] == 1.5
    assert [(event["type"], event["data"]) for event in content["events"]] == events
    assert {event["timestamp"] for event in content["events"]} == {1.5}
