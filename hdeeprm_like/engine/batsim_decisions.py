"""Decisions on Batsim's clock: the answerer sends those of an answer, one after the other, and the server acts on each.

Each decision is a message of 1e-10 s, and so is the last one, which says that the whole answer is applied.
"""

import numpy as np

from hdeeprm_like.engine.actor_fields import AWAKE, BEGIN, CALLER, FIND, JOBS
from hdeeprm_like.engine.batsim_actors import BatsimClock
from hdeeprm_like.engine.batsim_jobs import apply_pstate, find_changes
from hdeeprm_like.engine.batsim_work import end_work
from hdeeprm_like.engine.compiled import compiled, inlined, lowest_bit, shift_left
from hdeeprm_like.engine.cores import forget_touched
from hdeeprm_like.engine.dates import wire_time
from hdeeprm_like.engine.lifecycle import forget_starts, started_job
from hdeeprm_like.engine.rounds import CALLED, COMMAND, END, KILLS_DONE, KINDS, NO_MORE, READY, SUBMIT
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.tasks import KILLED, Simulation

ALL_APPLIED = 1 << 4  # the bit after those of the four P-states
KILLER = -1  # the only actor that kills jobs


# --- the answerer


@inlined
def find_next(tables: Tables, simulation: Simulation, timing: BatsimClock) -> bool:
    """Skip decisions that the answer does not hold; return False if the whole answer is applied.

    Order of the decisions: each rejection, each start, the four P-states, the kills, the call.
    """
    talk, sim, clock = timing.talk[0], simulation.sim[0], tables.clock[0]
    simple = clock.rejected_now + clock.started_now
    if talk.command >= simple and talk.command < simple + 4:
        talk.command += lowest_bit(talk.changing >> (talk.command - simple))
    if talk.command == simple + 4 and sim.kills == 0:
        talk.command += 1
    if talk.command == simple + 5 and sim.call_requested == np.inf:
        talk.command += 1
    return bool(talk.command < simple + 6)


@compiled
def deliver(tables: Tables, simulation: Simulation, timing: BatsimClock) -> bool:
    """Send the message to the decision system; return False if it holds nothing to decide on.

    Acknowledged P-states need no decision, nor does the end of submissions unless jobs wait and none runs: then only a
    decision can make progress.
    """
    sim, clock = simulation.sim[0], tables.clock[0]
    timing.talk[0].acknowledged = 0
    forget_decisions(tables)
    last_chance = False
    if sim.over == 1:
        sim.over = 2
        clock.arrivals_over = 1
        last_chance = clock.running == 0 and clock.waiting > 0
    return bool(last_chance or sim.completed + sim.submitted + sim.called > 0)


@compiled
def forget_decisions(tables: Tables) -> None:
    """Clear the decisions of the last instant, once the simulator has applied them."""
    clock = tables.clock[0]
    forget_touched(tables)
    clock.rejected_now = 0
    forget_starts(tables)


@compiled
def begin_answer(tables: Tables, simulation: Simulation, timing: BatsimClock) -> None:
    """Begin an answer; its date is that of the message, which rounding may put slightly ahead."""
    talk = timing.talk[0]
    talk.changing = ALL_APPLIED
    if tables.clock[0].touched > 0:
        find_changes(tables, timing)
        for pstate in range(4):
            talk.changing |= shift_left(1 if talk.changes[pstate] > 0 else 0, pstate)
    sim, now = simulation.sim[0], timing.actions.pace[0].now
    talk.answer_date = sim.now if sim.clock == now else wire_time(now)


@inlined
def has_room(timing: BatsimClock) -> bool:
    """Return True: what actors write always has room."""
    return True


# --- the server


@inlined
def act_on(tables: Tables, simulation: Simulation, timing: BatsimClock, message: int) -> bool:
    """Act on a message; return whether that starts another actor."""
    talk, sim = timing.talk[0], simulation.sim[0]
    kind, row = message % KINDS, message // KINDS
    if kind == SUBMIT:
        sim.submitted += talk.batch
    elif kind == NO_MORE:
        sim.over = 1
    elif kind == END:
        end_work(tables, timing, row)
        simulation.completed[sim.completed] = row
        sim.completed += 1
    elif kind == READY:
        talk.scheduler_ready = 1
    elif kind == CALLED:
        sim.called = 1
    elif kind == KILLS_DONE:
        for i in range(timing.killings[0].count):
            if simulation.tasks[simulation.kills[i]].outcome == KILLED:
                simulation.completed[sim.completed] = simulation.kills[i]
                sim.completed += 1
        talk.acknowledged = 1
        sim.kills = 0
    elif kind == COMMAND:
        return carry_out(tables, simulation, timing, row)
    return False


@inlined
def carry_out(tables: Tables, simulation: Simulation, timing: BatsimClock, command: int) -> bool:
    """Carry out one decision (rejections, starts, P-states, kills or a call); return whether it starts an actor."""
    talk, clock = timing.talk[0], tables.clock[0]
    command -= clock.rejected_now
    if command < 0:
        return False
    if command < clock.started_now:
        j = started_job(tables, command)
        simulation.tasks[j].stage = BEGIN
        talk.spawned = JOBS + j
        return True
    command -= clock.started_now
    if command < 4:
        apply_pstate(tables, simulation, timing, command)
        return False
    if command == 4:
        killing = timing.killings[0]
        killing.stage, killing.at, killing.count = FIND, 0, 0
        for i in range(simulation.sim[0].kills):
            j = simulation.kills[i]
            if simulation.tasks[j].stage == AWAKE:  # neither over nor killed before
                simulation.kills[killing.count] = j
                killing.count += 1
        talk.spawned = KILLER
    else:
        talk.call_date, simulation.sim[0].call_requested = simulation.sim[0].call_requested, np.inf
        talk.spawned = CALLER
    return True


@inlined
def has_news(simulation: Simulation, timing: BatsimClock) -> bool:
    """Return whether there is something to report."""
    sim = simulation.sim[0]
    return bool(sim.completed + sim.submitted + timing.talk[0].acknowledged + sim.called + (sim.over == 1) > 0)


@inlined
def goes_on(timing: BatsimClock) -> bool:
    """Return False: each decision is carried out in one turn of the server."""
    return False
