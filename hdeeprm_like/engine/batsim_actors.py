"""What Batsim's actors share: the rounds in which they take turns, the mailbox, and looks at the energy.

In SimGrid all actors that have something to do run, each until it asks for something; then what they asked for is
done, in that order, which makes others ready: that is a round. The clock moves when nobody is ready. So whether a
job's end or another decision reaches the mailbox first follows from how many rounds each needed before.
"""

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.units import bytes_per_second, seconds
from hdeeprm_like.engine.actions import Actions, calls_at_once, new_actions, number
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import count_bits, inlined, shift_left
from hdeeprm_like.engine.cores import word_of
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.words import words_of
from hdeeprm_like.types import Floats, Ints, Records

LOOPBACK = 1e10  # 1/s, one byte at SimGrid's 10 GB/s from the master host to itself
TCP_GAMMA = 4194304.0  # bytes in flight at most, which limits what crosses a long route
MOST_ROUNDS = 3  # a look at the energy takes one round per machine; more than this changes no order

# Actors, and from JOBS on the actor of job 0, 1, ...
SERVER, ANSWERER, SUBMITTER, CALLER, AWAKE_CALLER, KILLER, JOBS = 0, 1, 2, 3, 4, 5, 6

# What an actor asks for at the end of its turn
NOTHING, SKIP, SLEEP, PUT, GET, SPAWN, START, WAIT, STOP = 0, 1, 2, 3, 4, 5, 6, 7, 8
REQUESTS = 16

# Messages; an END carries its job, a COMMAND which of the answer it is
HELLO, SUBMIT, NO_MORE, END, COMMAND, READY, CALLED, KILLS_DONE = 0, 1, 2, 3, 4, 5, 6, 7
KINDS = 8

TALK = np.dtype(
    [
        ("ready", "i8"),  # used entries of BatsimClock.ready: who runs in the next round
        ("asked", "i8"),  # used entries of BatsimClock.asked: who has run in this one
        ("requests", "i8"),  # 1 while what was asked is to be done
        ("asking", "i8"),  # where in asked the answerer is that waits for the decision system, counted from 1; else 0
        ("first_message", "i8"),
        ("messages", "i8"),  # in the mailbox
        ("server_waits", "i8"),  # 1 while the server waits for a message
        ("on_the_way", "i8"),  # the message that is
        ("sender_first", "i8"),  # 1 if its sender goes on before the server, once it has arrived
        ("received", "i8"),  # the message that the server has not looked at, -1 for none
        ("server_stage", "i8"),
        ("server_rounds", "i8"),  # that the server lets the others go first
        ("scheduler_ready", "i8"),  # 1 when the answer to the last message is applied
        ("acknowledged", "i8"),  # 1 when the next message will tell that P-states have changed
        ("spawned", "i8"),  # the actor that the server starts
        ("answerer_stage", "i8"),
        ("command", "i8"),  # how far the answer is
        ("answer_date", "f8"),  # s
        ("submitter_stage", "i8"),
        ("submitter_rounds", "i8"),
        ("reached", "f8"),  # s, when the submitter last looked at the clock
        ("batch", "i8"),  # jobs that it submits together
        ("killer_stage", "i8"),
        ("killer_rounds", "i8"),
        ("killer_at", "i8"),  # how far it is in Simulation.kills
        ("killed", "i8"),  # of these that it has killed
        ("changes", "i8", (4,)),  # cores that come into each P-state in the answer under way
        ("epoch", "i8"),  # number of moments at which somebody looked at the energy
        ("looked_at", "f8"),  # s, the last of them
        ("looked", "i8"),  # cores whose energy is up to date then
        ("cores", "i8"),  # that there are
    ],
    align=True,
)


class BatsimClock(Bundle, shared=("latency", "speed")):
    """What Batsim's clock adds to a ``Simulation``.

    Attributes:
        latency: (P,) s and speed: (P,) bytes/s of the way from a core of each processor to the server.
        actions: what takes time.
        talk: (1,) TALK.
        ready: who runs in the next round. asked: who has run in this one, and what it asks for.
        said: the messages of those who put one.
        messages: ring of messages to the server, as Batsim's mailbox.
        marked: (J,) scratch, jobs whose rate waits to be found again.
        looked: (W,) bits, the cores of each word whose energy was last brought up to date in the epoch of ...
        looked_in: (W,) ... that word.
    """

    latency: Floats
    speed: Floats
    actions: Actions
    talk: Records
    ready: Ints
    asked: Ints
    said: Ints
    messages: Ints
    marked: Ints
    looked: Ints
    looked_in: Ints


def new_batsim_clock(platform: Platform, jobs: int) -> BatsimClock:
    """Return what this clock adds to the simulation of some jobs before its first event."""
    latency, speed = way_to_master(platform)
    talk = np.zeros(1, TALK)
    talk["received"] = talk["looked_at"] = -1
    talk["cores"] = platform.cores
    words = int(words_of(platform.processor_cores).sum())
    room = jobs + calls_at_once(jobs) + 8  # all who may be ready at once, or have a message under way
    ready, asked, said, messages = (np.zeros(room, np.int64) for _ in range(4))
    return BatsimClock(
        latency=latency,
        speed=speed,
        actions=new_actions(jobs),
        talk=talk,
        ready=ready,
        asked=asked,
        said=said,
        messages=messages,
        marked=np.zeros(jobs, np.int32),
        looked=np.zeros(words, np.int64),
        looked_in=np.zeros(words, np.int64),
    )


def way_to_master(platform: Platform) -> tuple[Floats, Floats]:
    """Return (P,) s of latency and (P,) bytes/s of the way from each processor to the server on the master host."""
    network = platform.links
    wide, far = bytes_per_second(network.global_bandwidth), seconds(network.global_latency)
    latency = np.array([seconds(text) + far for text in network.cluster_latency])
    speed = np.array([min(wide, bytes_per_second(text)) for text in network.cluster_bandwidth])
    most = np.full(len(latency), np.inf)
    np.divide(TCP_GAMMA, 2.0 * latency, out=most, where=latency > 0.0)
    cluster = platform.node_cluster[platform.processor_node]
    return latency[cluster], np.minimum(speed, most)[cluster]


# --- rounds


@inlined
def wake(timing: BatsimClock, actor: int) -> None:
    """Let an actor run in the next round."""
    talk = timing.talk[0]
    timing.ready[talk.ready] = actor
    talk.ready += 1


@inlined
def ask(timing: BatsimClock, actor: int, request: int) -> None:
    """Note what an actor that has run asks for."""
    talk = timing.talk[0]
    timing.asked[talk.asked] = actor * REQUESTS + request
    talk.asked += 1


@inlined
def say(timing: BatsimClock, actor: int, kind: int, row: int) -> None:
    """Note that an actor that has run puts a message."""
    timing.said[timing.talk[0].asked] = row * KINDS + kind
    ask(timing, actor, PUT)


# --- the mailbox


@inlined
def sender_of(message: int) -> int:
    """Return the actor who goes on when its message has arrived, -1 where none does anything any more."""
    kind = message % KINDS
    if kind == COMMAND:
        return ANSWERER
    if kind in (HELLO, SUBMIT):
        return SUBMITTER
    return -1


@inlined
def put(tables: Tables, timing: BatsimClock, message: int, lowest: int) -> None:
    """Put a message into the mailbox; *lowest* is the core that sends it, if it tells of a job's end."""
    talk = timing.talk[0]
    if talk.server_waits:
        transfer(tables, timing, message, lowest, False)
        return
    at = talk.first_message + talk.messages
    timing.messages[at if at < len(timing.messages) else at - len(timing.messages)] = message
    talk.messages += 1


@inlined
def first_message(timing: BatsimClock) -> int:
    """Take the first message out of the mailbox."""
    talk = timing.talk[0]
    message = timing.messages[talk.first_message]
    talk.first_message = talk.first_message + 1 if talk.first_message + 1 < len(timing.messages) else 0
    talk.messages -= 1
    return int(message)


@inlined
def transfer(tables: Tables, timing: BatsimClock, message: int, lowest: int, sender_first: bool) -> None:
    """Let a message begin its way to the server."""
    talk, pace = timing.talk[0], timing.actions.pace[0]
    talk.server_waits, talk.on_the_way, talk.sender_first = 0, message, sender_first
    pace.message, pace.message_made = 1.0, number(timing.actions)
    if message % KINDS != END:
        pace.speed = LOOPBACK
        return
    p = tables.core_processor[lowest]
    if timing.latency[p] > 0.0:
        pace.latency, pace.speed, pace.speed_then = timing.latency[p], 0.0, timing.speed[p]
    else:
        pace.speed = timing.speed[p]


# --- the energy


@inlined
def begin_look(timing: BatsimClock) -> None:
    """Forget who was up to date if the clock has moved on."""
    talk, now = timing.talk[0], timing.actions.pace[0].now
    if talk.looked_at != now:
        talk.looked_at, talk.looked = now, 0
        talk.epoch += 1


@inlined
def look_at(timing: BatsimClock, w: int, cores: int) -> None:
    """Bring the energy of some cores of a word, given as bits, up to date."""
    talk = timing.talk[0]
    if talk.looked == talk.cores:
        return
    if timing.looked_in[w] != talk.epoch:
        timing.looked_in[w], timing.looked[w] = talk.epoch, 0
    talk.looked += count_bits(cores & ~timing.looked[w])
    timing.looked[w] |= cores


@inlined
def look_at_lowest(tables: Tables, timing: BatsimClock, core: int) -> None:
    """Bring the energy of the core that sends the message of a job's end up to date."""
    begin_look(timing)
    w = word_of(tables, core)
    look_at(timing, w, shift_left(1, core - tables.words[w].first))


@inlined
def look_at_all(timing: BatsimClock) -> None:
    """Bring the energy of all cores up to date."""
    begin_look(timing)
    timing.talk[0].looked = timing.talk[0].cores


@inlined
def rounds_to_look(timing: BatsimClock) -> int:
    """Return how many rounds an actor lets the others go first who asks for the energy of all cores."""
    talk, now = timing.talk[0], timing.actions.pace[0].now
    looked = talk.looked if talk.looked_at == now else 0
    return int(min(talk.cores - looked, MOST_ROUNDS))
