"""Batsim's clock, to the nanosecond: which events reach the decision system in one message.

Batsim is one server with one mailbox. Submissions, ends of jobs and each single decision are messages of one byte that
take their time (1e-10 s on the master's loopback); the server talks to the decision system when the last answer is
applied, its mailbox is empty and it has something to tell. Simulating that is what makes nominal ties, a job that ends
when another is submitted, come out as in Batsim: in the same messages, hence with the same decisions.
"""

import numpy as np

from hdeeprm_like.cluster.pstates import P0, P1, P2, P3
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.lifecycle import forget_starts, pstate_of, started_job, write_log
from hdeeprm_like.engine.tables import IDLE_CORE, LOG_END, LOG_PSTATE, LOG_REQUEST, LOG_START, Tables
from hdeeprm_like.engine.tasks import (
    KILLED,
    LOOPBACK,
    TIMER_PRECISION,
    Simulation,
    finish,
    has_fired,
    is_running,
    launch,
    outcome_of,
    progress,
    sift,
)
from hdeeprm_like.types import Floats

SHORTEST_CALL = 1e-5  # s, Batsim lengthens shorter waits

SUBMIT, NO_MORE, END, COMMAND, READY, CALL = 0, 1, 2, 3, 4, 5  # messages; an END carries its job
KINDS = 8


class BatsimClock(Bundle, shared=("delay",)):
    """What this clock adds to a ``Simulation``.

    Attributes:
        delay: (P,) s that the message of an ended job takes from a core of each processor to the server.
    """

    delay: Floats


@inlined
def wire_time(time: float) -> float:
    """Return a time as the wire carries it, rounded to the microsecond exactly as printf and a parser would."""
    scaled = time * 1e6
    big = time * 134217729.0  # Dekker's product: error is what the multiplication rounded away
    high = big - (big - time)
    low = time - high
    error = (high * 1e6 - scaled) + low * 1e6
    whole = np.floor(scaled)
    rest = (scaled - whole) + error
    if rest > 0.5 or (rest == 0.5 and whole % 2.0 == 1.0):
        whole += 1.0
    return float(whole / 1e6)


@inlined
def post(simulation: Simulation, kind: int, row: int) -> None:
    """Put a message into the mailbox."""
    sim = simulation.sim[0]
    at = sim.first_message + sim.messages
    simulation.messages[at if at < len(simulation.messages) else at - len(simulation.messages)] = row * KINDS + kind
    sim.messages += 1


@inlined
def next_event(simulation: Simulation) -> float:
    """Return the time of the next event, infinite if nothing can happen."""
    sim = simulation.sim[0]
    date = min(sim.submission, sim.reply, sim.call)
    if sim.heap > 0:
        date = min(date, simulation.heap[0].end)
    return float(date)


@compiled
def fire_timers(tables: Tables, simulation: Simulation) -> None:
    """Post the messages of those who sleep until this moment of the clock."""
    sim = simulation.sim[0]
    if sim.submission - sim.clock < TIMER_PRECISION:
        sim.submission = np.inf
        sim.reached = sim.clock
        post(simulation, SUBMIT, 0)
    if sim.call - sim.clock < TIMER_PRECISION:
        sim.call = np.inf
        post(simulation, CALL, 0)
    if sim.reply - sim.clock < TIMER_PRECISION:
        sim.reply = np.inf
        post_next_command(tables, simulation)


@compiled
def fire_ends(tables: Tables, simulation: Simulation) -> None:
    """Post the messages of the jobs that end at this moment of the clock.

    They come after all others: Batsim reads a job's energy before it tells that the job has ended.
    """
    sim = simulation.sim[0]
    while sim.heap > 0 and has_fired(simulation, simulation.heap[0].job):
        j = simulation.heap[0].job
        finish(tables, simulation, j, outcome_of(simulation, j))
        write_log(tables, sim.clock, LOG_END, j, 0)
        post(simulation, END, j)


@compiled
def advance(tables: Tables, simulation: Simulation, until: float) -> None:
    """Move the clock to a time, with all events on the way and all there but the ends of jobs."""
    sim = simulation.sim[0]
    while True:
        date = next_event(simulation)
        if date >= until:
            break
        sim.clock = max(sim.clock, date)
        fire_timers(tables, simulation)
        fire_ends(tables, simulation)
    sim.clock = until
    fire_timers(tables, simulation)


@compiled
def post_next_command(tables: Tables, simulation: Simulation) -> None:
    """Post the next decision of the answer under way, or that all of it is applied.

    The stages of an answer: each rejection, each start, the four P-states, the kills, the call.
    """
    sim, clock = simulation.sim[0], tables.clock[0]
    simple = clock.rejected_now + clock.started_now
    if sim.stage == simple:
        find_changes(tables, simulation)
    while sim.stage >= simple and sim.stage < simple + 4 and sim.changes[sim.stage - simple] == 0:
        sim.stage += 1
    if sim.stage == simple + 4 and sim.kills == 0:
        sim.stage += 1
    if sim.stage == simple + 5 and sim.call_asked == np.inf:
        sim.stage += 1
    post(simulation, COMMAND if sim.stage < simple + 6 else READY, 0)


@compiled
def find_changes(tables: Tables, simulation: Simulation) -> None:
    """List the cores that have come into another P-state in this instant, and count those that come into each."""
    sim, clock, found = simulation.sim[0], tables.clock[0], 0
    for pstate in range(4):
        sim.changes[pstate] = 0
    for i in range(clock.touched):
        processor, load = tables.processors[tables.touched[i]], tables.loads[tables.touched[i]]
        serving, idle = P1 if load.oversubscribed else P0, P2 if load.busy > 0 else P3
        before, served = found, 0
        for core in range(processor.first_core, processor.first_core + processor.cores):
            serves = tables.core_job[core] != IDLE_CORE
            changed = tables.core_pstate[core] != (serving if serves else idle)
            simulation.changed[found] = core  # kept only if counted: branches would cost more
            found += changed
            served += changed & serves
        sim.changes[serving] += served
        sim.changes[idle] += found - before - served


@compiled
def apply_pstate(tables: Tables, simulation: Simulation, pstate: int) -> None:
    """Put the cores that have come into a P-state there, and find the rates of their jobs again."""
    sim, cores, marked = simulation.sim[0], 0, 0
    write_log(tables, sim.clock, LOG_REQUEST, sim.changes[pstate], pstate)
    i = 0
    while cores < sim.changes[pstate]:
        core = simulation.changed[i]
        i += 1
        if pstate_of(tables, core) != pstate:
            continue
        cores += 1
        tables.core_pstate[core] = pstate
        write_log(tables, sim.clock, LOG_PSTATE, core, pstate)
        j = tables.core_job[core]
        if j != IDLE_CORE and not simulation.tasks[j].marked and is_running(simulation, j):
            simulation.tasks[j].marked = 1
            simulation.marked[marked] = j
            marked += 1
    settled = pstate == P1 or sim.changes[P1] == 0
    for i in range(marked):
        j = simulation.marked[i]
        simulation.tasks[j].marked = 0
        progress(tables, simulation, j, settled)
        sift(simulation, simulation.heap_places[j], j)
    sim.grouped_switches += 1
    sim.machine_switches += cores
    sim.acknowledged = 1


@compiled
def apply_command(tables: Tables, simulation: Simulation) -> None:
    """Carry out one decision of the answer under way: rejections, starts, P-states in order, kills, a call."""
    sim, clock = simulation.sim[0], tables.clock[0]
    stage = sim.stage - clock.rejected_now
    if stage >= 0 and stage < clock.started_now:
        j = started_job(tables, stage)
        launch(tables, simulation, j)
        write_log(tables, sim.clock, LOG_START, j, 0)
    stage -= clock.started_now
    if stage >= 0 and stage < 4:
        apply_pstate(tables, simulation, stage)
    elif stage == 4:
        for i in range(sim.kills):
            j = simulation.kills[i]
            if is_running(simulation, j):
                finish(tables, simulation, j, KILLED)
                write_log(tables, sim.clock, LOG_END, j, 0)
                simulation.completed[sim.completed] = j
                sim.completed += 1
        sim.kills = 0
    elif stage == 5:
        sim.call = max(sim.call_asked, sim.clock + SHORTEST_CALL)
        sim.call_asked = np.inf
    sim.stage += 1


@compiled
def submit_all_due(simulation: Simulation) -> None:
    """Take in the job that the submitter woke up for, and all others until then."""
    sim = simulation.sim[0]
    sim.next_job += 1
    sim.submitted += 1
    while sim.next_job < sim.jobs and simulation.submit[sim.next_job] <= sim.reached:
        sim.next_job += 1
        sim.submitted += 1


@compiled
def resume_submitter(simulation: Simulation) -> None:
    """Let the submitter wait for its next date, or tell that it has none.

    It does not look at the clock again after sending, which delays the next date by the time of the message.
    """
    sim = simulation.sim[0]
    if sim.next_job == sim.jobs:
        post(simulation, NO_MORE, 0)
    else:
        sim.submission = sim.clock + (simulation.submit[sim.next_job] - sim.reached)


@compiled
def take_message(tables: Tables, simulation: Simulation, timing: BatsimClock) -> None:
    """Receive the first message of the mailbox, which takes its time, and act on it."""
    sim = simulation.sim[0]
    message = simulation.messages[sim.first_message]
    sim.first_message = sim.first_message + 1 if sim.first_message + 1 < len(simulation.messages) else 0
    sim.messages -= 1
    kind, j = message % KINDS, message // KINDS
    advance(
        tables,
        simulation,
        sim.clock + (timing.delay[tables.core_processor[simulation.tasks[j].lowest]] if kind == END else LOOPBACK),
    )
    if kind == SUBMIT:
        submit_all_due(simulation)
        sim.submitting = 1
    elif kind == NO_MORE:
        sim.over = 1
    elif kind == END:
        simulation.completed[sim.completed] = j
        sim.completed += 1
    elif kind == COMMAND:
        apply_command(tables, simulation)
        post_next_command(tables, simulation)
    elif kind == READY:
        sim.ready = 1
    else:
        sim.called = 1


@compiled
def begin_answer(tables: Tables, simulation: Simulation) -> None:
    """Begin to apply what was decided; it is dated as the message was, which rounding may put a little ahead."""
    sim = simulation.sim[0]
    date = wire_time(sim.clock)
    sim.stage = 0
    if date > sim.clock:
        sim.reply = date
    else:
        post_next_command(tables, simulation)


@compiled
def forget_decisions(tables: Tables) -> None:
    """Clear what was decided in the last instant, once the simulator has applied it."""
    clock = tables.clock[0]
    for i in range(clock.touched):
        tables.loads[tables.touched[i]].touched = 0
    clock.touched = clock.rejected_now = 0
    forget_starts(tables)


@compiled
def deliver(tables: Tables, simulation: Simulation) -> bool:
    """Send the message; False when it holds nothing to decide on.

    Acknowledged P-states are nothing to decide on, nor is the end of submissions unless jobs wait and none runs: then
    nothing but a decision can go on.
    """
    sim, clock = simulation.sim[0], tables.clock[0]
    sim.ready = sim.acknowledged = 0
    forget_decisions(tables)
    last_chance = False
    if sim.over == 1:
        sim.over = 2
        clock.arrivals_over = 1
        last_chance = clock.running == 0 and clock.waiting > 0
    return bool(last_chance or sim.completed + sim.submitted + sim.called > 0)


@compiled
def next_instant(tables: Tables, simulation: Simulation, timing: BatsimClock) -> bool:
    """Run until the server tells the decision system something to decide on; False when nothing can happen any more."""
    sim = simulation.sim[0]
    while True:
        news = sim.completed + sim.submitted + sim.acknowledged + sim.called + (sim.over == 1)
        sends = sim.ready and sim.messages == 0 and news > 0
        if sim.submitting:  # the submitter goes on only after the server has looked into its mailbox
            sim.submitting = 0
            resume_submitter(simulation)
        fire_ends(tables, simulation)  # of the moment in which the last message was received
        if sends:
            if deliver(tables, simulation):
                sim.now, sim.no_more = wire_time(sim.clock), sim.over == 2
                return True
            begin_answer(tables, simulation)
        elif sim.messages > 0:
            take_message(tables, simulation, timing)
        else:
            date = next_event(simulation)
            if date == np.inf:
                return False
            sim.clock = max(sim.clock, date)
            fire_timers(tables, simulation)


@compiled
def open_simulation(tables: Tables, simulation: Simulation) -> None:
    """Greet the server, which tells that the simulation begins and is answered with nothing."""
    sim = simulation.sim[0]
    sim.clock = sim.reached = LOOPBACK
    begin_answer(
        tables, simulation
    )  # before the jobs of time 0, as recorded: they are told of before the end of submissions is
    if sim.jobs > 0 and simulation.submit[0] <= sim.reached:
        post(simulation, SUBMIT, 0)
    elif sim.jobs > 0:
        resume_submitter(simulation)


@inlined
def apply_decisions(tables: Tables, simulation: Simulation, timing: BatsimClock) -> None:
    """Begin to apply what was decided."""
    begin_answer(tables, simulation)


@inlined
def open_clock(tables: Tables, simulation: Simulation, timing: BatsimClock) -> None:
    """Begin a simulation."""
    open_simulation(tables, simulation)
