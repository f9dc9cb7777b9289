"""Batsim's clock, exact to the last bit: which events reach the decision system in one message.

Simulating the actors of Batsim's server (`actors`) makes nominal ties, e.g. a job that ends when another is submitted,
come out as in Batsim: in the same messages, hence with the same decisions.
"""

from hdeeprm_like.engine.actor_fields import ASKS
from hdeeprm_like.engine.batsim_actors import BatsimClock
from hdeeprm_like.engine.batsim_network import open_network
from hdeeprm_like.engine.compiled import inlined
from hdeeprm_like.engine.dates import request_call, wire_time
from hdeeprm_like.engine.rounds import HELLO, READY, first_message
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.tasks import Simulation
from hdeeprm_like.engine.turns import play, put, transfer


@inlined
def next_instant(tables: Tables, simulation: Simulation, timing: BatsimClock) -> bool:
    """Run until the server reports something to decide on; return False when nothing can happen any more."""
    sim = simulation.sim[0]
    if play(tables, simulation, timing) != ASKS:
        return False
    sim.clock = timing.actions.pace[0].now
    sim.now, sim.no_more = wire_time(sim.clock), sim.over == 2
    return True


@inlined
def apply_decisions(tables: Tables, simulation: Simulation, timing: BatsimClock) -> None:
    """Begin to apply the decisions: the answerer sends them one by one."""
    sim = simulation.sim[0]
    sim.call_requested = request_call(tables, sim.call_requested)


@inlined
def open_clock(tables: Tables, simulation: Simulation, timing: BatsimClock) -> None:
    """Begin a simulation: the submitter greets the server, whose first message gets an empty answer.

    So the jobs of time 0 are reported in the second message, before the end of submissions.
    """
    open_network(timing)
    put(tables, simulation, timing, HELLO)
    put(tables, simulation, timing, READY)
    transfer(tables, simulation, timing, first_message(timing), True)
