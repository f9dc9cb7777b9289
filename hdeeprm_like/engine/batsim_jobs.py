"""The jobs on Batsim's clock: the actor that each one is, how fast it goes, and P-states.

A job's progress follows the slowest of its cores and is kept through P-state changes, as SimGrid's parallel tasks do.
"""

import numpy as np

from hdeeprm_like.cluster.pstates import P0, P1, P2, P3
from hdeeprm_like.engine.actions import add, remove_at, set_rate
from hdeeprm_like.engine.batsim_actors import (
    END,
    JOBS,
    SKIP,
    SLEEP,
    START,
    WAIT,
    BatsimClock,
    ask,
    begin_look,
    look_at,
    look_at_all,
    rounds_to_look,
    say,
)
from hdeeprm_like.engine.compiled import inlined
from hdeeprm_like.engine.lifecycle import pstate_of, write_log
from hdeeprm_like.engine.tables import IDLE_CORE, LOG_END, LOG_PSTATE, LOG_REQUEST, LOG_START, Tables
from hdeeprm_like.engine.tasks import KILLED, SUCCESS, WALLTIME_REACHED, Simulation

# Stages of a job's actor: what it does when it runs next
BEGIN, LOOK_FIRST, SET_TIMER, AWAKE, LOOK_LAST, GONE = 0, 1, 2, 3, 4, 5


@inlined
def works(timing: BatsimClock, j: int) -> bool:
    """Tell whether the parallel task of a job that has begun is there."""
    return bool(timing.actions.places[2 * j] >= 0)


@inlined
def has_begun(simulation: Simulation, timing: BatsimClock, j: int) -> bool:
    """Tell whether a job runs, or its task goes on past its walltime until the server hears of the job's end."""
    stage = simulation.tasks[j].stage
    return bool(stage == AWAKE or (stage > AWAKE and works(timing, j)))


@inlined
def slowest(tables: Tables, j: int) -> float:
    """Return the flop/s of the slowest core of a job in the P-states that its cores are in."""
    job, speed = tables.jobs[j], 1e300
    for i in range(job.first, job.first + job.size):
        core = tables.allocation[i]
        speed = min(speed, tables.processors[tables.core_processor[core]].flops[tables.core_pstate[core]])
    return speed


@inlined
def power(tables: Tables, j: int) -> float:
    """Return the W of the cores of a job in the P-states that they are in."""
    job, watts = tables.jobs[j], 0.0
    for i in range(job.first, job.first + job.size):
        core = tables.allocation[i]
        watts += tables.processors[tables.core_processor[core]].watts[tables.core_pstate[core]]
    return watts


@inlined
def book_energy(tables: Tables, simulation: Simulation, j: int, now: float) -> None:
    """Count the energy of a job's cores until now, where a log is kept, and find their power again."""
    task = simulation.tasks[j]
    if len(tables.log) > 0:
        task.joules += task.watts * (now - task.as_of)
        task.watts = power(tables, j)
    task.as_of = now


# --- the actor


@inlined
def run_job(tables: Tables, simulation: Simulation, timing: BatsimClock, j: int) -> None:
    """Let the actor of a job run until it asks for something."""
    task, now = simulation.tasks[j], timing.actions.pace[0].now
    if task.stage == BEGIN:
        begin(tables, simulation, timing, j)
    elif task.stage == AWAKE and task.outcome != KILLED:
        finish(tables, simulation, timing, j)
        task.stage, task.rounds = LOOK_LAST, rounds_to_look(timing)
    if task.stage in (LOOK_FIRST, LOOK_LAST) and task.rounds > 0:
        task.rounds -= 1
        ask(timing, JOBS + j, SKIP)
    elif task.stage == LOOK_FIRST:
        look_at_all(timing)
        write_log(tables, now, LOG_START, j, 0)
        task.stage = SET_TIMER if task.delay < 0.0 else AWAKE
        ask(timing, JOBS + j, START if task.delay < 0.0 else SLEEP)
    elif task.stage == SET_TIMER:
        task.stage = AWAKE
        ask(timing, JOBS + j, WAIT)
    elif task.stage == LOOK_LAST:
        look_at_all(timing)
        task.stage = GONE
        say(timing, JOBS + j, END, j)


@inlined
def begin(tables: Tables, simulation: Simulation, timing: BatsimClock, j: int) -> None:
    """Let a job begin to run on its cores."""
    task, job, now = simulation.tasks[j], tables.jobs[j], timing.actions.pace[0].now
    task.start = task.as_of = now
    task.watts = task.joules = 0.0
    task.lowest = tables.allocation[job.first]
    for i in range(job.first + 1, job.first + job.size):
        task.lowest = min(task.lowest, tables.allocation[i])
    if len(tables.log) > 0:
        task.watts = power(tables, j)
    timing.actions.places[2 * j] = timing.actions.places[2 * j + 1] = -1
    task.stage, task.rounds = LOOK_FIRST, rounds_to_look(timing)


@inlined
def finish(tables: Tables, simulation: Simulation, timing: BatsimClock, j: int) -> None:
    """Take a job off its cores on the simulator's clock."""
    task, now = simulation.tasks[j], timing.actions.pace[0].now
    task.joules += task.watts * (now - task.as_of)
    task.as_of = task.finish = now
    write_log(tables, now, LOG_END, j, 0)


# --- what it asks for


@inlined
def start_work(tables: Tables, simulation: Simulation, timing: BatsimClock, j: int) -> None:
    """Begin the parallel task of a job; one without work ends with the next step, which takes no time."""
    ops = simulation.tasks[j].ops
    if ops > 0.0:
        add(timing.actions, 2 * j, 1.0, slowest(tables, j) / ops)
    else:
        add(timing.actions, 2 * j, 0.0, 1.0)


@inlined
def set_timer(simulation: Simulation, timing: BatsimClock, j: int) -> None:
    """Begin to wait for the walltime of a job, or for the end of its delay."""
    task = simulation.tasks[j]
    left = task.walltime if task.delay < 0.0 else min(task.delay, task.walltime)
    if left < np.inf:
        add(timing.actions, 2 * j + 1, left, 1.0)


# --- what ends


@inlined
def look_at_cores(tables: Tables, timing: BatsimClock, j: int) -> None:
    """Bring the energy of the cores of a job up to date."""
    job = tables.jobs[j]
    begin_look(timing)
    for i in range(job.first, job.first + job.size):
        look_at(timing, tables.allocation[i])


@inlined
def end_work(tables: Tables, timing: BatsimClock, j: int) -> None:
    """Take the parallel task of a job away, if it is there."""
    place = timing.actions.places[2 * j]
    if place >= 0:
        look_at_cores(tables, timing, j)
        remove_at(timing.actions, place)


@inlined
def end_timer(timing: BatsimClock, j: int) -> None:
    """Take the timer of a job away, if it is there."""
    place = timing.actions.places[2 * j + 1]
    if place >= 0:
        remove_at(timing.actions, place)


@inlined
def end_action(tables: Tables, simulation: Simulation, timing: BatsimClock, owner: int) -> bool:
    """End the action of a job; tell whether that wakes its actor.

    A task that its walltime has cut goes on until the server hears of the job's end, and its own end is nobody's.
    """
    j, task = owner >> 1, simulation.tasks[owner >> 1]
    if timing.actions.places[owner] < 0:
        return False  # what else ended now has taken it away
    if owner & 1 == 0:
        end_work(tables, timing, j)
        end_timer(timing, j)
        if task.outcome != 0:
            return False
        task.outcome = SUCCESS
        return True
    begin_look(timing)
    look_at(timing, task.lowest)
    end_timer(timing, j)
    task.outcome = SUCCESS if task.delay >= 0.0 and task.delay < task.walltime else WALLTIME_REACHED
    return True


# --- P-states


@inlined
def find_changes(tables: Tables, timing: BatsimClock) -> None:
    """List the cores that have come into another P-state in this instant, and count those that come into each."""
    talk, clock, found = timing.talk[0], tables.clock[0], 0
    for pstate in range(4):
        talk.changes[pstate] = 0
    for i in range(clock.touched):
        processor, load = tables.processors[tables.touched[i]], tables.loads[tables.touched[i]]
        serving, idle = P1 if load.oversubscribed else P0, P2 if load.busy > 0 else P3
        before, served = found, 0
        for core in range(processor.first_core, processor.first_core + processor.cores):
            serves = tables.core_job[core] != IDLE_CORE
            changed = tables.core_pstate[core] != (serving if serves else idle)
            timing.changed[found] = core  # kept only if counted: branches would cost more
            found += changed
            served += changed & serves
        talk.changes[serving] += served
        talk.changes[idle] += found - before - served


@inlined
def apply_pstate(tables: Tables, simulation: Simulation, timing: BatsimClock, pstate: int) -> None:
    """Put the cores that have come into a P-state there, and find the rates of their jobs again.

    Each core takes the server a round.
    """
    talk, now, cores, marked = timing.talk[0], timing.actions.pace[0].now, 0, 0
    sim = simulation.sim[0]
    write_log(tables, now, LOG_REQUEST, talk.changes[pstate], pstate)
    i = 0
    while cores < talk.changes[pstate]:
        core = timing.changed[i]
        i += 1
        if pstate_of(tables, core) != pstate:
            continue
        cores += 1
        tables.core_pstate[core] = pstate
        write_log(tables, now, LOG_PSTATE, core, pstate)
        j = tables.core_job[core]
        if j != IDLE_CORE and not simulation.tasks[j].marked and has_begun(simulation, timing, j):
            simulation.tasks[j].marked = 1
            timing.marked[marked] = j
            marked += 1
    settled = pstate == P1 or talk.changes[P1] == 0
    for i in range(marked):
        j = timing.marked[i]
        simulation.tasks[j].marked = 0
        if simulation.tasks[j].stage == AWAKE:
            book_energy(tables, simulation, j, now)
        if works(timing, j) and simulation.tasks[j].ops > 0.0:
            speed = tables.jobs[j].speed if settled else slowest(tables, j)
            set_rate(timing.actions, timing.actions.places[2 * j], speed / simulation.tasks[j].ops)
    sim.grouped_switches += 1
    sim.machine_switches += cores
    talk.acknowledged = 1
    talk.server_rounds = cores
    look_at_all(timing)
