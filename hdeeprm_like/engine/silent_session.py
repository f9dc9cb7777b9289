"""A silent session of Batsim's server, see `silent_layout`: its actors, their requests, and the server's mailbox."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hdeeprm_like.engine.actions import PACE, Actions
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.digits import Bytes
from hdeeprm_like.engine.flows import CAPACITY, FLOW, LOAD, ROADS, Flows
from hdeeprm_like.engine.sharing import CONSTRAINT, PROBLEM, VARIABLE, Problem
from hdeeprm_like.engine.sharing import USE as PROBLEM_USE
from hdeeprm_like.engine.silent_layout import (
    ANSWERER,
    COMMAND,
    EVENT,
    IDLE,
    JOB,
    MACHINE,
    METER,
    POWER,
    ROW,
    STRIKE,
    SUBMITTER,
    TALK,
    USE,
    Memory,
)
from hdeeprm_like.types import Floats, Ints, Records

# Requests of an actor at the end of its turn
SKIP, SLEEP, PUT, GET, SPAWN, START, WAIT, CANCEL, STRIKE_DOWN = 0, 1, 2, 3, 4, 5, 6, 7, 8
REQUESTS = 16

# Messages to the server; SUBMIT carries the job after the last one, END its job, DECISION its place in the reply, and
# KILLING the number of the actor that has killed jobs
HELLO, SUBMIT, BYE, END, DECISION, READY, CALL_OVER, KILLING = 0, 1, 2, 3, 4, 5, 6, 7
KINDS = 8

# Stages of the actors: what each does at its next turn
BEGIN, HEAR, LOOK, LOOKED, LISTEN = 0, 1, 2, 3, 4  # the server
ASK, ANSWERS, NEXT, COME, SENT = 0, 1, 2, 3, 4  # the answerer
GREET, GREETED, SLEPT, HANDED, LEAVE, GONE = 0, 1, 2, 3, 4, 5  # the submitter
START_JOB, BEGIN_JOB, WAIT_FOR_WORK, END_JOB, LEAVE_JOB, GONE_JOB = 0, 1, 2, 3, 4, 5  # a job
FIND, STRIKES, STRUCK, READS = 0, 1, 2, 3  # an actor that kills jobs
NOTHING, ANSWERS_QUERY, SWITCHES_FIRST, SWITCHES_EACH = 0, 1, 2, 3  # the server, within a decision


FLOATS = ("dates", "left", "rates", "steps", "scratch", "joules", "gathered", "parts", "loads")
BYTES = ("words", "texts", "reply", "out", "allocs")
RECORDS = {
    "talk": TALK,
    "jobs": JOB,
    "machines": MACHINE,
    "powers": POWER,
    "meter": METER,
    "commands": COMMAND,
    "events": EVENT,
    "rows": ROW,
    "strikes": STRIKE,
    "uses": USE,
}
TRAFFIC = {"roads": ROADS, "capacities": CAPACITY, "flows": FLOW, "flow_loads": LOAD}
PROBLEMS = {"size": PROBLEM, "constraints": CONSTRAINT, "variables": VARIABLE, "problem_uses": PROBLEM_USE}


class Session(Bundle):
    """A silent session; J jobs in the order of their submission, M machines.

    Attributes:
        actions: everything that takes time. traffic: the work of jobs that send, and the message of a job's end.
        talk: (1,) TALK. jobs: (J,) JOB. machines: (M,) MACHINE.
        powers: of each P-state of each kind of machine, POWER. meter: (1,) METER.
        joules: (M,) of each machine. joule_bits: (M,) the same memory as words.
        sum: (1,) first 64 bits of the sum of the joules at the last row, where it is rounded to these at each addition.
        gathered: (M,) numbers to add up. parts: the partial sums of an exact sum.
        commands: the decisions of the reply, COMMAND. chosen: the machines or jobs that they name. loads: flop of the
        job on each of these machines, where they differ.
        uses: links that the decisions of the reply and the ways to the server use, USE.
        numbers: the job with each number in its name, -1 where there is none.
        events: of the message to the scheduler, those that Python writes, EVENT. rows: of the output files, ROW.
        strikes: (J,) killings of jobs, STRIKE. struck: (J,) the jobs that they name.
        changed: (J,) jobs whose speed is to be computed.
        closed: (J,) the jobs that are over, in that order.
        ready_now, ready_next: actors of this round and of the next one.
        ran: requests of this round. outgoing: the messages of those that put one.
        messages: ring buffer of messages to the server.
        words: those of replies and parts of messages, concatenated. word_ends: where they end, beginning with 0.
        texts: the descriptions of all jobs, as JSON. reply: bytes of the last one. out: the message to the scheduler.
        allocs: the machines of jobs that have ended, as text.
    """

    actions: Actions
    traffic: Flows
    talk: Records
    jobs: Records
    machines: Records
    powers: Records
    meter: Records
    joules: Floats
    joule_bits: Ints
    sum: NDArray[np.uint64]
    gathered: Floats
    parts: Floats
    commands: Records
    chosen: Ints
    loads: Floats
    events: Records
    rows: Records
    strikes: Records
    struck: Ints
    changed: Ints
    closed: Ints
    ready_now: Ints
    ready_next: Ints
    ran: Ints
    outgoing: Ints
    messages: Ints
    uses: Records
    numbers: Ints
    word_ends: Ints
    words: Bytes
    texts: Bytes
    reply: Bytes
    out: Bytes
    allocs: Bytes


def session_in(memory: Memory) -> Session:
    """Return a session in some memory."""
    kinds: dict[str, Any] = dict.fromkeys(FLOATS, np.float64) | {"pace": PACE, "sum": np.uint64}
    kinds |= dict.fromkeys(BYTES, np.uint8)
    kinds |= {name: np.dtype(list(fields), align=True) for name, fields in RECORDS.items()} | TRAFFIC | PROBLEMS
    arrays = {name: np.frombuffer(content, kinds.get(name, np.int64)) for name, content in memory.arrays.items()}
    actions = Actions(**{name: arrays.pop(name) for name in Actions._names})
    of_problem = (*(arrays.pop(name) for name in PROBLEMS), arrays.pop("open"))
    of_traffic = [arrays.pop(name) for name in (*TRAFFIC, "changed_flows", "members", "met")]
    return Session(actions=actions, traffic=Flows(Problem(*of_problem), *of_traffic), **arrays)


@compiled
def release(session: Session, j: int) -> None:
    """Make the machines that a job has left free for others."""
    m = session.jobs[j].first
    for _ in range(session.jobs[j].size):
        session.machines[m].busy = IDLE
        m = session.machines[m].next


# --- rounds and the mailbox


@inlined
def wake(session: Session, actor: int) -> None:
    """Schedule an actor for the next round."""
    talk = session.talk[0]
    session.ready_next[talk.next_ready] = actor
    talk.next_ready += 1


@inlined
def issue(session: Session, actor: int, request: int) -> None:
    """Record the request of an actor that has run."""
    talk = session.talk[0]
    session.ran[talk.ran] = actor * REQUESTS + request
    talk.ran += 1


@inlined
def send(session: Session, actor: int, kind: int, row: int) -> None:
    """Record that an actor that has run puts a message."""
    session.outgoing[session.talk[0].ran] = row * KINDS + kind
    issue(session, actor, PUT)


@inlined
def sender_of(message: int) -> int:
    """Return the actor that continues when its message has arrived, -1 if there is none."""
    kind = message % KINDS
    if kind in (DECISION, READY):
        return ANSWERER
    return SUBMITTER if kind < END else -1


@inlined
def add_row(session: Session, kind: int, number: int) -> None:
    """Add a row of an output file; those of energy are completed by `silent_energy.trace`."""
    row, talk = session.rows[session.talk[0].rows], session.talk[0]
    row.kind, row.number, row.time = kind, number, session.actions.pace[0].now
    talk.rows += 1
