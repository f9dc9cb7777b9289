"""Machine code reads the usual replies of a scheduler as Python does, and leaves all others to Python."""

import json
import random

import pytest
from server_inputs import platform_xml, workload, write_inputs
from test_server_silent import PROFILES, make_advance  # noqa: F401  # a fixture

from hdeeprm_like.batsim_server.replies import read_reply
from hdeeprm_like.batsim_server.scheduler_events import SCHEDULER_EVENTS
from hdeeprm_like.batsim_server.silent_decisions import TALK, Decisions, Unusual
from hdeeprm_like.batsim_server.silent_session import SilentSession
from hdeeprm_like.batsim_server.simulation import Simulation
from hdeeprm_like.engine import silent_layout as layout
from hdeeprm_like.engine.actor_fields import ASKS
from hdeeprm_like.errors import ProtocolError

HOSTS, JOBS = 12, 11
COMMAND = layout.places_of(layout.COMMAND)


@pytest.fixture(scope="module")
def simulation(tmp_path_factory):
    """Jobs on one machine, but job 1 on two, and job 2 on any number."""
    jobs = [(0, {1: 2}.get(number, 1), {2: "total"}.get(number, "second"), None) for number in range(JOBS)]
    return Simulation(write_inputs(tmp_path_factory.mktemp("in"), workload(jobs, PROFILES), platform_xml(HOSTS)))


def commands_of(memory, count):
    """What the decisions of a reply are, as far as their kind uses it."""
    words, times, chosen = memory.integers("commands"), memory.floats("commands"), memory.integers("chosen")
    found = []
    for at in range(0, count * len(COMMAND), len(COMMAND)):
        kind, job = words[at], words[at + COMMAND["job"]]
        first, size = words[at + COMMAND["first"]], words[at + COMMAND["count"]]
        rest = {
            layout.EXECUTE: (job, list(chosen[first : first + size])),
            layout.REJECT: (job,),
            layout.CALL: (times[at + COMMAND["wanted"]],),
        }
        found.append((kind, times[at + COMMAND["date"]], *rest[kind]))
    return found


def read_by_machine(simulation, make_advance, raw):  # noqa: F811
    """The date and the decisions of a reply, None if it is left to Python."""
    session = SilentSession(simulation, None, make_advance)
    for number in range(HOSTS):
        session._decisions._note_way(number)
    assert session._advance() == ASKS
    session._bytes["reply"][: len(raw) + 1] = raw + b"\0"
    session._talk[TALK["reply"]] = len(raw)
    if session._advance() == layout.UNREAD:
        return None
    return session._times[TALK["reply_date"]], commands_of(session._memory, session._talk[TALK["commands"]])


def read_by_python(simulation, make_advance, raw):  # noqa: F811
    session = SilentSession(simulation, None, make_advance)
    reply = read_reply(raw, SCHEDULER_EVENTS)
    decisions: Decisions = session._decisions
    decisions.take(reply)
    return reply.now, commands_of(session._memory, len(reply.events))


def machines(dice):
    """Machines in ascending order, as single ones and intervals."""
    number, parts = dice.randrange(3), []
    while number < HOSTS and (not parts or dice.random() < 0.5):
        last = min(number + dice.choice([0, 0, 1, 3]), HOSTS - 1)
        parts.append(str(number) if last == number else f"{number}-{last}")
        number = last + dice.choice([1, 2, 5])
    return " ".join(parts)


def figure(dice, most):
    """A number up to some other one, in one of the ways that schedulers write."""
    number = dice.choice([most, most * dice.random(), float(int(most)), round(most * dice.random(), 6)])
    return dice.choice([number, int(number) if number == int(number) else number])


def usual_reply(seed):
    dice = random.Random(seed)
    now = dice.choice([0.0, 1.5, 43.128, 1e5 * dice.random(), 123456789.123456, 1e9 * dice.random()])
    events = []
    for _ in range(dice.choice([0, 1, 1, 2, 5])):
        kind = dice.choice(["EXECUTE_JOB", "EXECUTE_JOB", "REJECT_JOB", "CALL_ME_LATER"])
        job, alloc = f"w0!{dice.randrange(JOBS)}", machines(dice)
        if kind == "EXECUTE_JOB":
            alloc = {"w0!1": "3 5", "w0!2": alloc}.get(job, str(dice.randrange(HOSTS)))
        data = {
            "EXECUTE_JOB": {"job_id": job, "alloc": alloc},
            "REJECT_JOB": {"job_id": job},
            "CALL_ME_LATER": {"timestamp": figure(dice, 2 * now)},
        }[kind]
        events.append({"timestamp": figure(dice, now), "type": kind, "data": data})
    spaces = dice.choice([{}, {"separators": (",", ":")}, {"indent": 1}])
    return json.dumps({"now": now, "events": events}, **spaces).encode()


def test_usual_replies_are_read_as_python_reads_them(simulation, make_advance):  # noqa: F811
    for seed in range(400):
        raw = usual_reply(seed)
        if b"e-" in raw:  # an exponent
            assert read_by_machine(simulation, make_advance, raw) is None
            continue
        assert read_by_machine(simulation, make_advance, raw) == read_by_python(simulation, make_advance, raw), raw


def test_numbers_of_any_length_are_read_as_python_reads_them(simulation, make_advance):  # noqa: F811
    read = 0
    for seed in range(300):
        dice = random.Random(seed)
        whole, fraction = (
            dice.randrange(10 ** dice.choice([1, 5, 16])),
            dice.randrange(10 ** dice.choice([1, 6, 12, 21])),
        )
        raw = f'{{"now":{whole}.{"0" * dice.choice([0, 0, 3])}{fraction},"events":[]}}'.encode()
        by_machine = read_by_machine(simulation, make_advance, raw)
        assert by_machine in (None, read_by_python(simulation, make_advance, raw)), raw
        read += by_machine is not None
    assert read > 200


def test_what_machine_code_reads_python_reads_in_the_same_way(simulation, make_advance):  # noqa: F811
    read = 0
    for seed in range(1500):
        dice = random.Random(seed)
        raw = bytearray(usual_reply(seed))
        for _ in range(dice.choice([1, 1, 2])):
            at, other = dice.randrange(len(raw)), dice.choice(b'0019.-eE+{}[],:" \\w!\x00\xc3\xa9\n\t')
            if dice.random() < 0.3:
                del raw[at]
            elif dice.random() < 0.5:
                raw[at] = other
            else:
                raw.insert(at, other)
        by_machine = read_by_machine(simulation, make_advance, bytes(raw))
        if by_machine is not None:
            read += 1
            assert by_machine == read_by_python(simulation, make_advance, bytes(raw)), bytes(raw)
    assert read > 50


@pytest.mark.parametrize(
    ("raw", "is_valid"),
    [
        (b'{"now":1,"now":2,"events":[]}', True),
        (b'{"now":1e0,"events":[]}', True),
        (b'{"events":[],"now":1}', True),
        (b'{"now":1,"events":[{"type":"REJECT_JOB","timestamp":1,"data":{"job_id":"w0!0"}}]}', True),
        (b'{"now":1,"events":[{"timestamp":1,"type":"EXECUTE_JOB","data":{"alloc":"0","job_id":"w0!0"}}]}', True),
        (b'{"now":1,"events":[{"timestamp":1,"type":"REJECT_JOB","data":{"job_id":"w0!0","more":1}}]}', True),
        (b'{"now":1,"events":[]} x', False),
        (b'{"now":1,"events":[{"timestamp":2,"type":"REJECT_JOB","data":{"job_id":"w0!0"}}]}', False),
        (b'{"now":1,"events":[{"timestamp":1,"type":"REJECT_JOB","data":{"job_id":"w0!00"}}]}', False),
        (b'{"now":1,"events":[{"timestamp":1,"type":"EXECUTE_JOB","data":{"job_id":"w0!0","alloc":"0 1"}}]}', False),
        (b'{"now":1,"events":[{"timestamp":1,"type":"EXECUTE_JOB","data":{"job_id":"w0!1","alloc":"5 3"}}]}', True),
        (b'{"now":1,"events":[{"timestamp":1,"type":"EXECUTE_JOB","data":{"job_id":"w0!0","alloc":"12"}}]}', False),
        (b'{"now":1,"events":[{"timestamp":1,"type":"KILL_JOB","data":{"job_ids":["w0!0"]}}]}', True),
        (b'{"now":1,"events":[{"timestamp":1,"type":"CALL_ME_LATER","data":{}}]}', False),
        (b"", False),
        (b"{", False),
    ],
)
def test_other_replies_are_left_to_python(raw, is_valid, simulation, make_advance):  # noqa: F811
    if raw:
        assert read_by_machine(simulation, make_advance, raw) is None
    decisions = SilentSession(simulation, None, make_advance)._decisions
    if not is_valid:
        with pytest.raises((ProtocolError, Unusual)):
            decisions.take(read_reply(raw, SCHEDULER_EVENTS))
