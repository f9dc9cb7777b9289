"""A silent session of Batsim's server, see `silent_layout`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hdeeprm_like.engine.actions import ACTION, PACE, Actions
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.digits import Bytes
from hdeeprm_like.engine.flows import CAPACITY, FLOW, LOAD, ROADS, Flows
from hdeeprm_like.engine.rounds import Rounds
from hdeeprm_like.engine.sharing import CONSTRAINT, PROBLEM, VARIABLE, Problem
from hdeeprm_like.engine.sharing import USE as PROBLEM_USE
from hdeeprm_like.engine.silent_layout import IDLE, RECORDS, Memory
from hdeeprm_like.engine.speeds import CHANGES, PROFILE, Speeds
from hdeeprm_like.types import Floats, Ints, Records

NOTHING, ANSWERS_QUERY, SWITCHES_FIRST, SWITCHES_EACH = 0, 1, 2, 3  # what the server goes on with


FLOATS = (
    "left",
    "rates",
    "steps",
    "scratch",
    "submit",
    "joules",
    "gathered",
    "parts",
    "loads",
    "change_steps",
    "shares",
)
BYTES = ("words", "texts", "reply", "out", "allocs")
TRAFFIC = {"roads": ROADS, "capacities": CAPACITY, "flows": FLOW, "flow_loads": LOAD}
SPEEDS = {"changes": CHANGES, "profiles": PROFILE}
PROBLEMS = {"size": PROBLEM, "constraints": CONSTRAINT, "variables": VARIABLE, "problem_uses": PROBLEM_USE}


class Session(Rounds):
    """A silent session; J jobs in the order of their submission, M machines.

    Attributes:
        talk: (1,) TALK. killings: (J,) KILLING. sim: (1,) SIM. submit: (J,) s. tasks: (J,) JOB. machines: (M,) MACHINE.
        powers: of each P-state of each kind of machine, POWER. meter: (1,) METER.
        joules: (M,) of each machine. joule_bits: (M,) the same memory as words.
        sum: (1,) first 64 bits of the sum of the joules at the last row, where it is rounded to these at each addition.
        gathered: (M,) numbers to add up. parts: the partial sums of an exact sum.
        commands: the decisions of the reply, COMMAND. chosen: the machines or jobs that they name. loads: flop of the
        job on each of these machines, where they differ.
        uses: links that the decisions of the reply and the ways to the server use, USE.
        numbers: the job with each number in its name, -1 where there is none.
        events: of the message to the scheduler, those that Python writes, EVENT. rows: of the output files, ROW.
        kills: (J,) the jobs that killings name.
        changed: (J,) jobs whose speed is to be computed.
        closed: (J,) the jobs that are over, in that order.
        words: those of replies and parts of messages, concatenated. word_ends: where they end, beginning with 0.
        texts: the descriptions of all jobs, as JSON. reply: bytes of the last one. out: the message to the scheduler.
        allocs: the machines of jobs that have ended, as text.
    """

    sim: Records
    submit: Floats
    tasks: Records
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
    kills: Ints
    changed: Ints
    closed: Ints
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
    kinds: dict[str, Any] = dict.fromkeys(FLOATS, np.float64) | {"pace": PACE, "heap": ACTION, "sum": np.uint64}
    kinds |= dict.fromkeys(BYTES, np.uint8)
    kinds |= (
        {name: np.dtype(list(fields), align=True) for name, fields in RECORDS.items()} | TRAFFIC | PROBLEMS | SPEEDS
    )
    arrays = {name: np.frombuffer(content, kinds.get(name, np.int64)) for name, content in memory.arrays.items()}
    actions = Actions(**{name: arrays.pop(name) for name in Actions._names})
    of_problem = (*(arrays.pop(name) for name in PROBLEMS), arrays.pop("open"))
    of_traffic = [arrays.pop(name) for name in (*TRAFFIC, "changed_flows", "members", "met")]
    speeds = Speeds(*(arrays.pop(name) for name in (*SPEEDS, "speed_of", "change_steps", "shares")))
    return Session(actions=actions, traffic=Flows(Problem(*of_problem), *of_traffic), speeds=speeds, **arrays)


@compiled
def release(session: Session, j: int) -> None:
    """Make the machines that a job has left free for others."""
    m = session.tasks[j].first
    for _ in range(session.tasks[j].size):
        session.machines[m].busy = IDLE
        m = session.machines[m].next


@inlined
def add_row(session: Session, kind: int, number: int) -> None:
    """Add a row of an output file; those of energy are completed by `silent_energy.trace`."""
    row, talk = session.rows[session.talk[0].rows], session.talk[0]
    row.kind, row.number, row.time = kind, number, session.actions.pace[0].now
    talk.rows += 1
