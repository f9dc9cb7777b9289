"""Steps of Batsim's clock in a network: rates follow from all that is sent, and messages of jobs' ends share links.

Here every instant is left to the rounds of the actors: the fast path of `batsim_at_once` knows no links, no speeds that
follow files, see `batsim_speeds`, and no other loopback of the master host than SimGrid's.
"""

import numpy as np

from hdeeprm_like.engine.actions import ARRIVING, LATENCY, note_end, remove_numbered, set_rate, take_step
from hdeeprm_like.engine.batsim_actors import LOOPBACK, BatsimClock, rates_change
from hdeeprm_like.engine.batsim_speeds import take_step_at_speeds
from hdeeprm_like.engine.batsim_work import begin_sending
from hdeeprm_like.engine.bundles import BundleType
from hdeeprm_like.engine.compiled import by_type, compiled, inlined
from hdeeprm_like.engine.flows import MESSAGE_FLOW, begin_flow, end_flow, next_solved
from hdeeprm_like.engine.rounds import END, KINDS
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.tasks import Simulation
from hdeeprm_like.engine.traffic import has_routes, open_traffic


@by_type
def goes_by_rounds(timing: BundleType) -> object:
    """Return whether only the rounds of the actors know what happens next."""
    return always if rates_change(timing) else has_own_loopback


@inlined
def always(timing: BatsimClock) -> bool:
    """Return True."""
    return True


@inlined
def has_own_loopback(timing: BatsimClock) -> bool:
    """Return whether the messages of the master host to itself take another time than SimGrid's default."""
    own = len(timing.latency) - 1
    return bool(timing.latency[own] > 0.0 or timing.speed[own] != LOOPBACK)


@by_type
def open_network(timing: BundleType) -> object:
    """Begin a simulation, if there is a network."""
    return open_links if rates_change(timing) else no_links


@by_type
def take_next_step(tables: BundleType, simulation: BundleType, timing: BundleType) -> object:
    """Move the clock to what ends or changes next, and record what ends there; False if nothing does."""
    return take_step_at_changing_rates if rates_change(timing) else take_step_alone


@by_type
def arrive(timing: BundleType) -> object:
    """End the flow of a message that has arrived, if there is a network."""
    return end_message if rates_change(timing) else no_links


@by_type
def end_latency(tables: BundleType, timing: BundleType, owner: object, made: object) -> object:
    """End a latency: the job or the message under way begins to use its links."""
    return end_latency_of if rates_change(timing) else no_latency


@inlined
def no_links(timing: BatsimClock) -> None:
    """Do nothing."""


@inlined
def no_latency(tables: Tables, timing: BatsimClock, owner: int, made: int) -> None:
    """Do nothing: without a network no job waits for a latency."""


@inlined
def take_step_alone(tables: Tables, simulation: Simulation, timing: BatsimClock) -> bool:
    """Move the clock without a network, at constant speeds."""
    return take_step(timing.actions)


@inlined
def open_links(timing: BatsimClock) -> None:
    """Begin a simulation with a network."""
    open_traffic(timing.traffic)


@inlined
def end_message(timing: BatsimClock) -> None:
    """End the flow of the message of a job's end, if it is one."""
    if has_routes(timing.traffic):
        end_flow(timing.traffic, MESSAGE_FLOW)


@compiled
def end_latency_of(tables: Tables, timing: BatsimClock, owner: int, made: int) -> None:
    """End the latency of a job, or that of the message under way."""
    if owner == ARRIVING:
        begin_flow(timing.traffic, MESSAGE_FLOW)
    elif timing.traffic.flows[LATENCY - owner + 1].waits == made:
        remove_numbered(timing.actions, made)
        begin_sending(tables, timing, LATENCY - owner)


@compiled
def take_step_at_changing_rates(tables: Tables, simulation: Simulation, timing: BatsimClock) -> bool:
    """Compute the rates that have changed, and move the clock."""
    pace = timing.actions.pace[0]
    if not has_routes(timing.traffic):
        return take_step_at_speeds(tables, simulation, timing)
    solve(timing)
    ends = pace.latency < np.inf and timing.talk[0].on_the_way % KINDS == END
    if not take_step_at_speeds(tables, simulation, timing):
        return False
    if ends and pace.latency == np.inf:
        note_end(timing.actions, ARRIVING, pace.message_made)
    return True


@compiled
def solve(timing: BatsimClock) -> None:
    """Compute the rates of all flows connected with one that has begun, ended or changed."""
    traffic = timing.traffic
    traffic.roads[0].epoch += 1
    while True:
        count = next_solved(traffic)
        if count == 0:
            return
        for at in range(count):
            f, rate = traffic.members[at], traffic.problem.variables[at].value
            if f == MESSAGE_FLOW:
                timing.actions.pace[0].speed = rate
            else:
                set_rate(timing.actions, timing.actions.places[2 * (f - 1)], rate)
