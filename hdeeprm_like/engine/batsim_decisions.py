"""What the server does with a message on Batsim's clock, and with each decision of an answer."""

import numpy as np

from hdeeprm_like.engine.actor_fields import AWAKE, BEGIN, CALLER, FIND, JOBS
from hdeeprm_like.engine.batsim_actors import BatsimClock
from hdeeprm_like.engine.batsim_jobs import apply_pstate
from hdeeprm_like.engine.batsim_work import end_work
from hdeeprm_like.engine.compiled import inlined
from hdeeprm_like.engine.lifecycle import started_job
from hdeeprm_like.engine.rounds import CALLED, COMMAND, END, KILLS_DONE, KINDS, NO_MORE, READY, SUBMIT
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.tasks import KILLED, Simulation

KILLER = -1  # the only actor that kills jobs


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
