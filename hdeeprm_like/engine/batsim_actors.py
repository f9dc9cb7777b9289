"""The bundle of Batsim's clock; the ways of messages to the server, and reads of the energy, which take rounds."""

from typing import Any, cast

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.units import bytes_per_second, seconds
from hdeeprm_like.engine import actor_fields
from hdeeprm_like.engine.actions import calls_at_once, new_actions
from hdeeprm_like.engine.compiled import compiled, count_bits, inlined, of_two, shift_left
from hdeeprm_like.engine.cores import begin_words, word_of
from hdeeprm_like.engine.flows import MESSAGE_FLOW, add_load, begin_flow
from hdeeprm_like.engine.rounds import MOST_ROUNDS, Rounds, send_along
from hdeeprm_like.engine.speeds import NoSpeeds, Speeds, new_speeds
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.tasks import Simulation
from hdeeprm_like.engine.traffic import NoTraffic, Traffic, has_routes, new_traffic
from hdeeprm_like.engine.words import bits, words_of
from hdeeprm_like.types import Floats, Ints

LOOPBACK = 1e10  # 1/s, one byte at SimGrid's 10 GB/s from the master host to itself
TCP_GAMMA = 4194304.0  # most bytes in flight, which limits the rate on a long route

TALK = np.dtype(
    [
        *actor_fields.TALK,
        ("acknowledged", "i8"),  # 1 if the next message reports changed P-states
        ("changes", "i8", (4,)),  # cores that change to each P-state in the current answer
        ("changing", "i8"),  # bits of the P-states that some core changes to, and ALL_APPLIED
        ("epoch", "i8"),  # number of times at which the energy was read
        ("looked_at", "f8"),  # s, the last of them
        ("looked", "i8"),  # cores whose energy is up to date at that time
        ("later", "i8"),  # used entries of BatsimClock.later
        ("cores", "i8"),  # number of cores
        ("marked", "i8"),  # used entries of BatsimClock.marked
    ],
    align=True,
)
KILLING = np.dtype(list(actor_fields.KILLING), align=True)


class BatsimClock(Rounds, shared=("latency", "speed", "seconds")):
    """What Batsim's clock adds to a ``Simulation``.

    Attributes:
        latency: (P + 1,) s, speed: (P + 1,) bytes/s and seconds: (P + 1,) s for a byte of the route from a core of each
            processor to the server, and of that from the master host to itself.
        talk: (1,) TALK. killings: (1,) KILLING, the jobs that the current answer kills.
        marked: (J,) scratch, jobs whose rate must be recomputed.
        looked: (W,) bits, the cores of each word whose energy was last updated in epoch ...
        looked_in: (W,) ... of that word.
        later: (3 J,) whose cores are still to be counted among those: of jobs, or of core -1 - an entry.
        traffic: the network. speeds: of nodes that follow a file. A clock has both, see `rates_change`, or neither.
    """

    latency: Floats
    speed: Floats
    seconds: Floats
    marked: Ints
    looked: Ints
    looked_in: Ints
    later: Ints
    traffic: Traffic


def new_batsim_clock(platform: Platform, jobs: int) -> BatsimClock:
    """Return the clock's arrays for a simulation of some jobs before its first event."""
    latency, speed = way_to_master(platform)
    talk = np.zeros(1, TALK)
    talk["received"] = talk["looked_at"] = -1
    talk["cores"] = platform.cores
    words = int(words_of(platform.processor_cores).sum())
    change = platform.routes is not None or platform.speeds is not None
    room = jobs + calls_at_once(jobs) + 8  # all actors that may be ready at once or have a message under way
    ready, ran, requests, messages = (np.empty(room, np.int64) for _ in range(4))
    return BatsimClock(
        latency=latency,
        speed=speed,
        seconds=1.0 / speed,
        actions=new_actions(jobs),
        talk=talk,
        ready=ready,
        ran=ran,
        requests=requests,
        messages=messages,
        killings=np.zeros(1, KILLING),
        marked=np.empty(jobs, np.int32),
        looked=np.zeros(words, np.int64),
        looked_in=np.zeros(words, np.int64),
        later=np.empty(3 * jobs, np.int32),
        traffic=new_traffic(platform.routes, jobs) if change else cast(Traffic, NoTraffic(np.zeros(0))),
        speeds=new_speeds(platform) if change else cast(Speeds, NoSpeeds(np.zeros(0))),
    )


def rates_change(kind: Any) -> bool:
    """Return from the type of an argument whether it is a clock on which rates of what is under way change.

    So it is in a network, and where speeds follow files.
    """
    return getattr(kind, "kind", "") == "BatsimClock" and kind.fields["traffic"][0].kind == "Traffic"


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


# --- the ways of messages


@inlined
def send_alone(tables: Tables, simulation: Simulation, timing: BatsimClock, j: int) -> None:
    """Start the transfer of the message of a job's end over links that nothing else uses."""
    way = tables.core_processor[simulation.tasks[j].lowest]
    send_along(timing, timing.latency[way], 1.0, timing.speed[way], timing.seconds[way])


@inlined
def send_inside(timing: BatsimClock) -> None:
    """Start the transfer of a message from the master host to itself."""
    way = len(timing.latency) - 1
    send_along(timing, timing.latency[way], 1.0, timing.speed[way], timing.seconds[way])


@compiled
def send_over_links(tables: Tables, simulation: Simulation, timing: BatsimClock, j: int) -> None:
    """Start the transfer of the message of a job's end over links that it shares with what jobs send, if any do."""
    if not has_routes(timing.traffic):
        send_alone(tables, simulation, timing, j)
        return
    traffic = timing.traffic
    place, flow = traffic.routes.place[simulation.tasks[j].lowest], traffic.flows[MESSAGE_FLOW]
    for at in range(traffic.routes.gate_first[place], traffic.routes.gate_first[place + 1]):
        add_load(traffic, MESSAGE_FLOW, traffic.routes.gate_links[at], 1.0)
    delay = traffic.routes.gate_delay[place]
    flow.bound = TCP_GAMMA / (2.0 * delay) if delay > 0.0 else -1.0
    send_along(timing, delay, 1.0, 0.0, np.inf)  # until `solve`
    if delay <= 0.0:
        begin_flow(traffic, MESSAGE_FLOW)


send_end = of_two(rates_change, send_over_links, send_alone)


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
def look_at_cores(timing: BatsimClock, whose: int) -> None:
    """Update the energy of the cores of a job, or of core -1 - *whose*; they are counted only where that matters."""
    talk = timing.talk[0]
    begin_look(timing)
    if talk.looked != talk.cores:
        timing.later[talk.later] = whose
        talk.later += 1


@compiled
def count_looks(tables: Tables, timing: BatsimClock) -> None:
    """Count the cores whose energy is up to date, each core once."""
    talk = timing.talk[0]
    for i in range(talk.later):
        j = timing.later[i]
        if j < 0:
            w = word_of(tables, -1 - j)
            look_at(timing, w, shift_left(1, -1 - j - tables.words[w].first))
            continue
        job = tables.jobs[j]
        for at in range(job.first, job.first + job.stretches):
            w, bit, left = begin_words(tables, tables.allocation[at])
            while left > 0:
                count = min(left, count_bits(tables.words[w].cores) - bit)
                look_at(timing, w, bits(bit, count))
                w, bit, left = w + 1, 0, left - count
    talk.later = 0


@inlined
def look_at_lowest(tables: Tables, simulation: Simulation, timing: BatsimClock, j: int) -> None:
    """Update the energy of the core that sends the message of a job's end."""
    look_at_cores(timing, -1 - simulation.tasks[j].lowest)


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
