"""What Batsim's actors share: the scheduling rounds, the mailbox, and reads of the energy.

SimGrid runs every ready actor until it issues a request, then grants these requests in that order, which makes other
actors ready: that is one round. The clock moves when no actor is ready. So whether a job's end or another decision
reaches the mailbox first depends on how many rounds each needed before.
"""

from typing import cast

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.units import bytes_per_second, seconds
from hdeeprm_like.engine.actions import Actions, calls_at_once, new_actions, number
from hdeeprm_like.engine.bundles import Bundle, BundleType
from hdeeprm_like.engine.compiled import by_type, compiled, count_bits, inlined, shift_left
from hdeeprm_like.engine.cores import begin_words, word_of
from hdeeprm_like.engine.flows import MESSAGE_FLOW, add_load, begin_flow
from hdeeprm_like.engine.speeds import NoSpeeds, Speeds, new_speeds
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.traffic import NoTraffic, Traffic, has_routes, new_traffic
from hdeeprm_like.engine.words import bits, words_of
from hdeeprm_like.types import Floats, Ints, Records

LOOPBACK = 1e10  # 1/s, one byte at SimGrid's 10 GB/s from the master host to itself
TCP_GAMMA = 4194304.0  # most bytes in flight, which limits the rate on a long route
MOST_ROUNDS = 3  # reading the energy takes one round per machine; more rounds than this change no order

# Actors: those below, and from JOBS on the actor of job 0, 1, ...
SERVER, ANSWERER, SUBMITTER, CALLER, AWAKE_CALLER, KILLER, JOBS = 0, 1, 2, 3, 4, 5, 6

# Requests of an actor at the end of its turn
NOTHING, SKIP, SLEEP, PUT, GET, SPAWN, START, WAIT, STOP = 0, 1, 2, 3, 4, 5, 6, 7, 8
REQUESTS = 16

# Messages; an END carries its job, a COMMAND its number in the answer
HELLO, SUBMIT, NO_MORE, END, COMMAND, READY, CALLED, KILLS_DONE = 0, 1, 2, 3, 4, 5, 6, 7
KINDS = 8

TALK = np.dtype(
    [
        ("ready", "i8"),  # used entries of BatsimClock.ready: the actors of the next round
        ("ran", "i8"),  # used entries of BatsimClock.ran: the actors that have run in this round
        ("requests", "i8"),  # 1 while requests are still to be granted
        ("answerer_place", "i8"),  # 1 + place in ran of the answerer while it waits for the decision system, else 0
        ("first_message", "i8"),
        ("messages", "i8"),  # in the mailbox
        ("server_waits", "i8"),  # 1 while the server waits for a message
        ("on_the_way", "i8"),  # the message under way
        ("sender_first", "i8"),  # 1 if the sender runs before the server after the arrival
        ("received", "i8"),  # the message that the server has not handled yet, -1 for none
        ("server_stage", "i8"),
        ("server_rounds", "i8"),  # rounds that the server still yields
        ("scheduler_ready", "i8"),  # 1 if the answer to the last message is applied
        ("acknowledged", "i8"),  # 1 if the next message reports changed P-states
        ("spawned", "i8"),  # the actor that the server starts
        ("answerer_stage", "i8"),
        ("command", "i8"),  # the current decision of the answer
        ("answer_date", "f8"),  # s
        ("submitter_stage", "i8"),
        ("submitter_rounds", "i8"),
        ("reached", "f8"),  # s, when the submitter last looked at the clock
        ("batch", "i8"),  # jobs that the submitter submits together
        ("killer_stage", "i8"),
        ("killer_rounds", "i8"),
        ("killer_at", "i8"),  # the killer's place in Simulation.kills
        ("killed", "i8"),  # jobs of these that it has killed
        ("changes", "i8", (4,)),  # cores that change to each P-state in the current answer
        ("changing", "i8"),  # bits of the P-states that some core changes to, and ALL_APPLIED
        ("epoch", "i8"),  # number of times at which the energy was read
        ("looked_at", "f8"),  # s, the last of them
        ("looked", "i8"),  # cores whose energy is up to date at that time
        ("later", "i8"),  # jobs whose cores are up to date, too, but not counted yet
        ("cores", "i8"),  # number of cores
    ],
    align=True,
)


class BatsimClock(Bundle, shared=("latency", "speed")):
    """What Batsim's clock adds to a ``Simulation``.

    Attributes:
        latency: (P + 1,) s and speed: (P + 1,) bytes/s of the route from a core of each processor to the server, and
            of that from the master host to itself.
        actions: everything that takes time.
        talk: (1,) TALK.
        ready: actors of the next round. ran: actors that have run in this round, with their requests.
        outgoing: the messages of the actors that put one.
        messages: ring buffer of messages to the server, Batsim's mailbox.
        marked: (J,) scratch, jobs whose rate must be recomputed.
        looked: (W,) bits, the cores of each word whose energy was last updated in epoch ...
        looked_in: (W,) ... of that word.
        later: (J,) jobs whose cores are still to be counted among those.
        traffic: the network. speeds: of nodes that follow a file. A clock has both, see `rates_change`, or neither.
    """

    latency: Floats
    speed: Floats
    actions: Actions
    talk: Records
    ready: Ints
    ran: Ints
    outgoing: Ints
    messages: Ints
    marked: Ints
    looked: Ints
    looked_in: Ints
    later: Ints
    traffic: Traffic
    speeds: Speeds


def new_batsim_clock(platform: Platform, jobs: int) -> BatsimClock:
    """Return the clock's arrays for a simulation of some jobs before its first event."""
    latency, speed = way_to_master(platform)
    talk = np.zeros(1, TALK)
    talk["received"] = talk["looked_at"] = -1
    talk["cores"] = platform.cores
    words = int(words_of(platform.processor_cores).sum())
    change = platform.routes is not None or platform.speeds is not None
    room = jobs + calls_at_once(jobs) + 8  # all actors that may be ready at once or have a message under way
    ready, ran, outgoing, messages = (np.zeros(room, np.int64) for _ in range(4))
    return BatsimClock(
        latency=latency,
        speed=speed,
        actions=new_actions(jobs),
        talk=talk,
        ready=ready,
        ran=ran,
        outgoing=outgoing,
        messages=messages,
        marked=np.zeros(jobs, np.int32),
        looked=np.zeros(words, np.int64),
        looked_in=np.zeros(words, np.int64),
        later=np.zeros(jobs, np.int32),
        traffic=new_traffic(platform.routes, jobs) if change else cast(Traffic, NoTraffic(np.zeros(0))),
        speeds=new_speeds(platform) if change else cast(Speeds, NoSpeeds(np.zeros(0))),
    )


def rates_change(timing: BundleType) -> bool:
    """Return from the type of a clock whether rates of what is under way change.

    So it is in a network, and where speeds follow files.
    """
    return bool(timing.fields["traffic"][0].kind == "Traffic")


def way_to_master(platform: Platform) -> tuple[Floats, Floats]:
    """Return s of latency and bytes/s of the route to the server on the master host.

    Returns:
        (P + 1,) and (P + 1,): from each processor, and from the master host itself.
    """
    network = platform.links
    wide, far = bytes_per_second(network.global_bandwidth), seconds(network.global_latency)
    latency = np.array([seconds(text) + far for text in network.cluster_latency])
    speed = np.array([min(wide, bytes_per_second(text)) for text in network.cluster_bandwidth])
    if platform.limiters:
        speed = np.minimum(speed, [bytes_per_second(text) if text else np.inf for text in platform.limiters])
    own = (str(LOOPBACK), "0s") if platform.master_link is None else platform.master_link
    latency, speed = np.append(latency, seconds(own[1])), np.append(speed, bytes_per_second(own[0]))
    most = np.full(len(latency), np.inf)
    np.divide(TCP_GAMMA, 2.0 * latency, out=most, where=latency > 0.0)
    place = np.append(platform.node_cluster[platform.processor_node], len(latency) - 1)
    return latency[place], np.minimum(speed, most)[place]


# --- rounds


@inlined
def wake(timing: BatsimClock, actor: int) -> None:
    """Schedule an actor for the next round."""
    talk = timing.talk[0]
    timing.ready[talk.ready] = actor
    talk.ready += 1


@inlined
def issue(timing: BatsimClock, actor: int, request: int) -> None:
    """Record the request of an actor that has run."""
    talk = timing.talk[0]
    timing.ran[talk.ran] = actor * REQUESTS + request
    talk.ran += 1


@inlined
def send(timing: BatsimClock, actor: int, kind: int, row: int) -> None:
    """Record that an actor that has run puts a message."""
    timing.outgoing[timing.talk[0].ran] = row * KINDS + kind
    issue(timing, actor, PUT)


# --- the mailbox


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
def put(tables: Tables, timing: BatsimClock, message: int, lowest: int) -> None:
    """Put a message into the mailbox; *lowest* is the core that sends it, if it reports a job's end."""
    talk = timing.talk[0]
    if talk.server_waits:
        transfer(tables, timing, message, lowest, False)
        return
    at = talk.first_message + talk.messages
    timing.messages[at if at < len(timing.messages) else at - len(timing.messages)] = message
    talk.messages += 1


@inlined
def first_message(timing: BatsimClock) -> int:
    """Remove the first message from the mailbox and return it."""
    talk = timing.talk[0]
    message = timing.messages[talk.first_message]
    talk.first_message = talk.first_message + 1 if talk.first_message + 1 < len(timing.messages) else 0
    talk.messages -= 1
    return int(message)


@compiled
def transfer(tables: Tables, timing: BatsimClock, message: int, lowest: int, sender_first: bool) -> None:
    """Start the transfer of a message to the server."""
    talk, pace = timing.talk[0], timing.actions.pace[0]
    talk.server_waits, talk.on_the_way, talk.sender_first = 0, message, sender_first
    pace.message, pace.message_made = 1.0, number(timing.actions)
    if message % KINDS == END:
        send_end(tables, timing, lowest)
    else:
        send_along(timing, len(timing.latency) - 1)


@by_type
def send_end(tables: BundleType, timing: BundleType, lowest: object) -> object:
    """Start the transfer of the message of a job's end from a core to the server."""
    return send_over_links if rates_change(timing) else send_alone


@inlined
def send_alone(tables: Tables, timing: BatsimClock, lowest: int) -> None:
    """Start the transfer of the message of a job's end over links that nothing else uses."""
    send_along(timing, tables.core_processor[lowest])


@inlined
def send_along(timing: BatsimClock, way: int) -> None:
    """Start a transfer over the links of one of the routes to the server, which nothing else uses."""
    pace = timing.actions.pace[0]
    if timing.latency[way] > 0.0:
        pace.latency, pace.speed, pace.speed_then = timing.latency[way], 0.0, timing.speed[way]
    else:
        pace.speed = timing.speed[way]


@compiled
def send_over_links(tables: Tables, timing: BatsimClock, lowest: int) -> None:
    """Start the transfer of the message of a job's end over links that it shares with what jobs send, if any do."""
    if not has_routes(timing.traffic):
        send_alone(tables, timing, lowest)
        return
    traffic, pace = timing.traffic, timing.actions.pace[0]
    place, flow = traffic.routes.place[lowest], traffic.flows[MESSAGE_FLOW]
    for at in range(traffic.routes.gate_first[place], traffic.routes.gate_first[place + 1]):
        add_load(traffic, MESSAGE_FLOW, traffic.routes.gate_links[at], 1.0)
    pace.speed = pace.speed_then = 0.0  # until `solve`
    delay = traffic.routes.gate_delay[place]
    flow.bound = TCP_GAMMA / (2.0 * delay) if delay > 0.0 else -1.0
    if delay > 0.0:
        pace.latency = delay
    else:
        begin_flow(traffic, MESSAGE_FLOW)


# --- the energy


@inlined
def begin_look(timing: BatsimClock) -> None:
    """Forget which cores are up to date if the clock has moved."""
    talk, now = timing.talk[0], timing.actions.pace[0].now
    if talk.looked_at != now:
        talk.looked_at, talk.looked, talk.later = now, 0, 0
        talk.epoch += 1


@inlined
def look_at(timing: BatsimClock, w: int, cores: int) -> None:
    """Update the energy of some cores of a word, given as bits."""
    talk = timing.talk[0]
    if talk.looked == talk.cores:
        return
    if timing.looked_in[w] != talk.epoch:
        timing.looked_in[w], timing.looked[w] = talk.epoch, 0
    talk.looked += count_bits(cores & ~timing.looked[w])
    timing.looked[w] |= cores


@inlined
def look_at_cores(timing: BatsimClock, j: int) -> None:
    """Update the energy of the cores of a job; they are counted only where their number matters."""
    talk = timing.talk[0]
    begin_look(timing)
    if talk.looked != talk.cores:
        timing.later[talk.later] = j
        talk.later += 1


@compiled
def count_looks(tables: Tables, timing: BatsimClock) -> None:
    """Count the cores of jobs whose energy is up to date, each core once."""
    talk = timing.talk[0]
    for i in range(talk.later):
        job = tables.jobs[timing.later[i]]
        for at in range(job.first, job.first + job.stretches):
            w, bit, left = begin_words(tables, tables.allocation[at])
            while left > 0:
                count = min(left, count_bits(tables.words[w].cores) - bit)
                look_at(timing, w, bits(bit, count))
                w, bit, left = w + 1, 0, left - count
    talk.later = 0


@inlined
def look_at_lowest(tables: Tables, timing: BatsimClock, core: int) -> None:
    """Update the energy of the core that sends the message of a job's end."""
    begin_look(timing)
    w = word_of(tables, core)
    look_at(timing, w, shift_left(1, core - tables.words[w].first))


@compiled
def look_at_all(timing: BatsimClock) -> None:
    """Update the energy of all cores."""
    begin_look(timing)
    timing.talk[0].looked, timing.talk[0].later = timing.talk[0].cores, 0


@inlined
def rounds_to_look(tables: Tables, timing: BatsimClock) -> int:
    """Return how many rounds an actor yields when it reads the energy of all cores."""
    talk, now = timing.talk[0], timing.actions.pace[0].now
    if talk.looked_at != now:
        return int(min(talk.cores, MOST_ROUNDS))
    if talk.later > 0:
        count_looks(tables, timing)
    return int(min(talk.cores - talk.looked, MOST_ROUNDS))
