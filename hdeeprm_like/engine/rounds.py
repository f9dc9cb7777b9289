"""The rounds of Batsim's actors, and the mailbox of its server.

SimGrid runs every ready actor until it issues a request, then grants these requests in that order, which makes other
actors ready: that is one round. The clock moves when no actor is ready. So whether a job's end or another decision
reaches the mailbox first depends on how many rounds each needed before.
"""

import numpy as np

from hdeeprm_like.engine.actions import Actions
from hdeeprm_like.engine.actor_fields import ANSWERER, SUBMITTER
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import inlined
from hdeeprm_like.engine.flows import Flows
from hdeeprm_like.engine.speeds import Speeds
from hdeeprm_like.types import Ints, Records

MOST_ROUNDS = 3  # reading the energy takes one round per machine; more rounds than this change no order

# Requests of an actor at the end of its turn; a PUT carries its message, UNKNOWN is a decision that no session knows
NOTHING, SKIP, SLEEP, PUT, GET, SPAWN, START, WAIT, STOP = 0, 1, 2, 3, 4, 5, 6, 7, 8
REQUESTS, UNKNOWN = 16, -1

# Messages; an END carries its job, a COMMAND its number in the answer, KILLS_DONE the number of who has killed
HELLO, SUBMIT, NO_MORE, END, COMMAND, READY, CALLED, KILLS_DONE = 0, 1, 2, 3, 4, 5, 6, 7
KINDS = 8


class Rounds(Bundle):
    """What the rounds need, which the embedded clock and a session of the server have.

    Attributes:
        actions: everything that takes time. traffic: the work of jobs that send, and the message of a job's end.
        speeds: of machines that follow a file.
        talk: (1,) with the fields of `actor_fields.TALK`.
        ready: actors of the round, or while requests are granted, of the next one. ran: those that have run in it.
        requests: what they have requested.
        messages: ring buffer of messages to the server, Batsim's mailbox.
        killings: with the fields of `actor_fields.KILLING`, the jobs that an actor kills.
    """

    actions: Actions
    traffic: Flows
    speeds: Speeds
    talk: Records
    ready: Ints
    ran: Ints
    requests: Ints
    messages: Ints
    killings: Records


@inlined
def wake(timing: Rounds, actor: int) -> None:
    """Schedule an actor for the next round."""
    talk = timing.talk[0]
    timing.ready[talk.ready] = actor
    talk.ready += 1


@inlined
def putting(kind: int, row: int) -> int:
    """Return the request of an actor that puts a message into the mailbox."""
    return (row * KINDS + kind) * REQUESTS + PUT


@inlined
def sender_of(message: int) -> int:
    """Return the actor that continues when its message has arrived, -1 if there is none."""
    kind = message % KINDS
    if kind == COMMAND:
        return ANSWERER
    if kind in (HELLO, SUBMIT):
        return SUBMITTER
    return -1


@inlined
def first_message(timing: Rounds) -> int:
    """Remove the first message from the mailbox and return it."""
    talk = timing.talk[0]
    message = timing.messages[talk.first_message]
    talk.messages -= 1
    last = talk.messages == 0 or talk.first_message + 1 == len(timing.messages)
    talk.first_message = 0 if last else talk.first_message + 1
    return int(message)


@inlined
def send_along(timing: Rounds, latency: float, share: float, speed: float, seconds: float) -> None:
    """Start the transfer of a share of a message, over links that nothing else uses, where it takes *seconds*."""
    pace = timing.actions.pace[0]
    pace.message = share
    if latency > 0.0:
        pace.latency, pace.speed, pace.speed_then, pace.arrival = latency, 0.0, speed, np.inf
    else:
        pace.speed, pace.arrival = speed, seconds
