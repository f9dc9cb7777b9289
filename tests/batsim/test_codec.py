"""The session knows no version of Batsim: a codec beside ``codec4`` speaks another one without any change to it."""

import inspect

import pytest
from batsim_talk import message, talk
from small import platform

from hdeeprm_like.batsim import codec4, session
from hdeeprm_like.batsim.codec import Submission
from hdeeprm_like.batsim.codec4 import Codec4
from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.formats.platform_properties import figures_of, properties_of


class LineCodec:
    """A protocol of one line per message: ``10 +a*2 -b`` submits a job of 2 cores and completes another at 10 s."""

    def __init__(self, hosts):
        self.hosts = hosts

    def greet(self, raw):
        return None

    def parse(self, raw):
        time, *words = (raw if isinstance(raw, str) else raw.decode()).split()
        return float(time), words

    def deliver(self, message, listener):
        time, words = message
        listener.time_is(time)
        for word in words:
            name, _, size = word[1:].partition("*")
            if word == "begin":
                listener.simulation_begins(self.hosts, {"w": {"p": {"req_time": 60}}}, False)
            elif word == "end":
                listener.simulation_ends()
            elif word == "over":
                listener.arrivals_over()
            elif word[0] == "+":
                listener.job_submitted(Submission(f"w!{name}", time, int(size), None, "p", None))
            else:
                listener.job_completed(f"w!{name}", "DONE")

    def awaits_ends(self):
        return False

    def events_of(self, commands, identifiers, machines, finish_registration):
        return [(identifiers[job], {"on": machines.named(cores.tolist())}) for job, cores in commands.starts]

    def format(self, now, events):
        return " ".join([f"{now:g}", *(f"{name}@{data['on']}" for name, data in events)])


def hosts_of(platform):
    """The hosts of a Batsim that simulates a platform."""
    figures = figures_of(platform)
    properties = [properties_of(figures[processor]) for processor in platform.core_processor.tolist()]
    return list(zip(platform.core_names, properties, strict=True))


def test_a_session_speaks_another_protocol_through_another_codec():
    cluster = platform((1000.0, [(4, 1.0, 100.0, 10.0)]))
    ours = talk(cluster, codec=LineCodec(hosts_of(cluster)))
    said = ["0 begin", "1 +a*3 +b*2 +c*1", "5 over -a", "6 -b", "7 -c", "8 end"]
    assert [ours.answer(line) for line in said] == ["0", "1 w!a@0-2", "5 w!b@0-1 w!c@2", "6", "7", "8"]
    assert ours.ended
    assert ours.outcomes == {"DONE": 3}


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
