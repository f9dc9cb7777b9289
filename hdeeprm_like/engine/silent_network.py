"""The work of jobs in a session: alone on its machines, or on links that it shares with what others send.

The work of a job that sends is a flow, and so is the message of a job's end where jobs send, see `flows`. Python finds
the links of each, as they depend on the platform; a capacity is a machine, or behind these a link.
"""

import numpy as np

from hdeeprm_like.engine.actions import (
    LATENCY,
    add,
    add_numbered,
    number,
    remove_at,
    remove_numbered,
    set_rate,
)
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.flows import MESSAGE_FLOW, NONE, add_load, begin_flow, end_flow, note_changed
from hdeeprm_like.engine.rounds import send_along
from hdeeprm_like.engine.silent_energy import begin_use, compute_rate, core_speed, end_use, refresh_all
from hdeeprm_like.engine.silent_session import Session


@inlined
def waits(session: Session, j: int) -> int:
    """Return the number of the latency for which the work of a job waits, 0 if it does not."""
    return int(session.traffic.flows[j + 1].waits) if session.tasks[j].uses > 0 else 0


# --- uses of links


@compiled
def load_links(session: Session, j: int, first: int, count: int, delay: float) -> bool:
    """Give the work of a job its machines and links, *count* named from *first* on; return False if there are too many.

    Args:
        delay: s, latency.
    """
    traffic, job, talk = session.traffic, session.tasks[j], session.talk[0]
    if not talk.sends:
        return True
    if traffic.roads[0].made + count + job.size + talk.gates >= len(traffic.loads):
        return False  # nor would there be room for the message of its end
    if count == 0:
        return True
    flow = traffic.flows[j + 1]
    flow.first, flow.delay = NONE, delay
    use_links(session, j + 1, first, count)
    m = job.first
    for _ in range(job.size):
        if session.machines[m].flops > 0.0:
            add_load(traffic, j + 1, m, session.machines[m].flops)
        m = session.machines[m].next
    return True


@inlined
def use_links(session: Session, f: int, first: int, count: int) -> None:
    """Give a flow its uses of links, *count* named from *first* on."""
    for place in range(first, first + count):
        use = session.uses[place]
        c = len(session.machines) + use.link
        capacity = session.traffic.capacities[c]
        capacity.bound, capacity.fatpipe = use.bandwidth, use.fatpipe
        add_load(session.traffic, f, c, use.weight)


@compiled
def set_limits(session: Session, j: int) -> None:
    """Give the work of a job the speed of its machines, and its limits: of one core, and of its route."""
    job, flow = session.tasks[j], session.traffic.flows[j + 1]
    flow.bound, m = job.limit, job.first
    for _ in range(job.size):
        machine = session.machines[m]
        if machine.flops > 0.0:
            cores, speed = session.powers[machine.power + machine.pstate].cores, core_speed(session, m)
            session.traffic.capacities[m].bound = speed * cores
            if cores > 1.0:
                one = speed / machine.flops
                flow.bound = min(flow.bound, one) if flow.bound > 0.0 else one
        m = machine.next


# --- the work of a job


@compiled
def start_work(tables: Session, simulation: Session, session: Session, j: int) -> None:
    """Begin the work of a job on its machines; one that sends does after the latency of its longest route."""
    actions, job = session.actions, session.tasks[j]
    if job.uses == 0:
        add(actions, 2 * j, begin_use(session, j), job.rate)
        return
    flow = session.traffic.flows[j + 1]
    flow.waits, job.rate = number(actions), 0.0
    if flow.delay > 0.0:
        add_numbered(actions, LATENCY - j, flow.delay, 1.0, flow.waits)
    else:
        begin_sending(tables, session, j)


@compiled
def begin_sending(tables: Session, session: Session, j: int) -> None:
    """Begin the work of a job that sends when its latency is over."""
    flow, m = session.traffic.flows[j + 1], session.tasks[j].first
    for _ in range(session.tasks[j].size):
        session.machines[m].worker = j + 1
        m = session.machines[m].next
    set_limits(session, j)
    begin_flow(session.traffic, j + 1)
    add_numbered(session.actions, 2 * j, 1.0, 0.0, flow.waits)
    flow.waits = 0


@compiled
def end_work(tables: Session, session: Session, j: int) -> None:
    """End the work of a job, if it is going on."""
    place, waiting = session.actions.places[2 * j], waits(session, j)
    if place < 0 and waiting == 0:
        return
    if session.meter[0].measures:
        end_use(session, j)
    if place >= 0:
        remove_at(session.actions, place)
    else:
        remove_numbered(session.actions, waiting)
    if session.tasks[j].uses > 0:
        end_flow(session.traffic, j + 1)


@compiled
def change_rates(session: Session) -> None:
    """Compute the speeds of the jobs on machines whose P-state has changed."""
    talk = session.talk[0]
    for i in range(talk.changed):
        j = session.changed[i]
        session.tasks[j].changed = 0
        place = session.actions.places[2 * j]
        if place >= 0 and session.tasks[j].uses > 0:
            set_limits(session, j)
            note_changed(session.traffic, j + 1)
        elif place >= 0:
            compute_rate(session, j)
            set_rate(session.actions, place, session.tasks[j].rate)
    talk.changed = 0


# --- messages to the server


@inlined
def send_inside(session: Session) -> None:
    """Start the transfer of a message from the server's host to itself."""
    talk = session.talk[0]
    send_along(session, talk.latency, talk.share, talk.speed, talk.share / talk.speed)


@compiled
def send_end(tables: Session, simulation: Session, session: Session, j: int) -> None:
    """Start the transfer of the message of a job's end, from its first machine, over links that it may share."""
    machine, traffic = session.machines[session.tasks[j].first], session.traffic
    if not session.talk[0].sends or machine.gates == 0:
        send_along(session, machine.latency, machine.share, machine.rate, machine.share / machine.rate)
        return
    use_links(session, MESSAGE_FLOW, machine.gate, machine.gates)
    traffic.flows[MESSAGE_FLOW].bound = machine.limit
    send_along(session, machine.latency, 1.0, 0.0, np.inf)  # until `solve`
    if machine.latency <= 0.0:
        begin_flow(traffic, MESSAGE_FLOW)


# --- steps


@inlined
def sends(session: Session) -> bool:
    """Return whether jobs send."""
    return bool(session.talk[0].sends)


@inlined
def follow_changes(tables: Session, simulation: Session, session: Session) -> None:
    """Do nothing: before the next step `change_rates` computes what follows from new speeds."""


@inlined
def give_rate(session: Session, j: int, rate: float) -> None:
    """Give the work of a job its rate, and its machines the power of that."""
    session.tasks[j].rate = rate
    set_rate(session.actions, session.actions.places[2 * j], rate)
    refresh_all(session, j)
