"""Batsim's clock, exact to the last bit: which events reach the decision system in one message.

Simulating the actors of Batsim's server (`actors`) makes nominal ties, e.g. a job that ends when another is submitted,
come out as in Batsim: in the same messages, hence with the same decisions.
"""

from hdeeprm_like.engine.actor_fields import ASKS, HEAR, LISTEN, OVER, SERVER
from hdeeprm_like.engine.batsim_actors import BatsimClock
from hdeeprm_like.engine.batsim_at_once import only_jobs_end, run_at_once, send_first
from hdeeprm_like.engine.batsim_network import goes_by_rounds, open_network
from hdeeprm_like.engine.compiled import inlined
from hdeeprm_like.engine.dates import request_call, wire_time
from hdeeprm_like.engine.rounds import HELLO, READY, first_message
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.tasks import Simulation
from hdeeprm_like.engine.turns import end_actions, put, take_next_step, take_turns, transfer


@inlined
def next_instant(tables: Tables, simulation: Simulation, timing: BatsimClock) -> bool:
    """Run until the server reports something to decide on; return False when nothing can happen any more."""
    sim = simulation.sim[0]
    while True:
        result = OVER
        if goes_by_rounds(timing) or not only_jobs_end(simulation, timing):
            result = take_turns(tables, simulation, timing)
        if result == OVER and not goes_by_rounds(timing) and run_at_once(tables, simulation, timing):
            result = ASKS
        if result == ASKS:
            sim.clock = timing.actions.pace[0].now
            sim.now, sim.no_more = wire_time(sim.clock), sim.over == 2
            return True
        if not take_next_step(tables, simulation, timing):
            return False
        end_actions(tables, simulation, timing)


@inlined
def apply_decisions(tables: Tables, simulation: Simulation, timing: BatsimClock) -> None:
    """Begin to apply the decisions, at once if only the answerer and the server are to run."""
    talk, sim = timing.talk[0], simulation.sim[0]
    sim.call_requested = request_call(tables, sim.call_requested)
    if talk.ready == 2 and talk.at == 0 and talk.server_stage == LISTEN and timing.ready[1] == SERVER:
        talk.ready, talk.server_stage = 0, HEAR
        send_first(tables, simulation, timing)


@inlined
def open_clock(tables: Tables, simulation: Simulation, timing: BatsimClock) -> None:
    """Begin a simulation: the submitter greets the server, whose first message gets an empty answer.

    So the jobs of time 0 are reported in the second message, before the end of submissions.
    """
    open_network(timing)
    put(tables, simulation, timing, HELLO)
    put(tables, simulation, timing, READY)
    transfer(tables, simulation, timing, first_message(timing), True)
