"""Batsim's clock, to the nanosecond: which events reach the decision system in one message.

Batsim is one server with one mailbox. Submissions, ends of jobs and each single decision are letters of one byte that
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

SUBMIT, NO_MORE, END, COMMAND, READY, CALL = 0, 1, 2, 3, 4, 5  # letters; an END carries its job
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
def post(s: Simulation, kind: int, row: int) -> None:
    """Put a letter into the mailbox."""
    sim = s.sim[0]
    at = sim.mail_first + sim.mail
    s.mail[at if at < len(s.mail) else at - len(s.mail)] = row * KINDS + kind
    sim.mail += 1


@inlined
def next_event(s: Simulation) -> float:
    """Return the time of the next event, infinite if nothing can happen."""
    sim = s.sim[0]
    date = min(sim.submission, sim.reply, sim.call)
    if sim.heap > 0:
        date = min(date, s.heap[0].end)
    return float(date)


@compiled
def fire_timers(t: Tables, s: Simulation) -> None:
    """Post the letters of those who sleep until this moment of the clock."""
    sim = s.sim[0]
    if sim.submission - sim.clock < TIMER_PRECISION:
        sim.submission = np.inf
        sim.reached = sim.clock
        post(s, SUBMIT, 0)
    if sim.call - sim.clock < TIMER_PRECISION:
        sim.call = np.inf
        post(s, CALL, 0)
    if sim.reply - sim.clock < TIMER_PRECISION:
        sim.reply = np.inf
        post_next_command(t, s)


@compiled
def fire_ends(t: Tables, s: Simulation) -> None:
    """Post the letters of the jobs that end at this moment of the clock.

    They come after all others: Batsim reads a job's energy before it tells that the job has ended.
    """
    sim = s.sim[0]
    while sim.heap > 0 and has_fired(s, s.heap[0].job):
        j = s.heap[0].job
        finish(t, s, j, outcome_of(s, j))
        write_log(t, sim.clock, LOG_END, j, 0)
        post(s, END, j)


@compiled
def advance(t: Tables, s: Simulation, until: float) -> None:
    """Move the clock to a time, with all events on the way and all there but the ends of jobs."""
    sim = s.sim[0]
    while True:
        date = next_event(s)
        if date >= until:
            break
        sim.clock = max(sim.clock, date)
        fire_timers(t, s)
        fire_ends(t, s)
    sim.clock = until
    fire_timers(t, s)


@compiled
def post_next_command(t: Tables, s: Simulation) -> None:
    """Post the next decision of the answer under way, or that all of it is applied.

    The stages of an answer: each rejection, each start, the four P-states, the kills, the call.
    """
    sim, clock = s.sim[0], t.clock[0]
    simple = clock.rejected_now + clock.started_now
    if sim.stage == simple:
        find_changes(t, s)
    while sim.stage >= simple and sim.stage < simple + 4 and sim.changes[sim.stage - simple] == 0:
        sim.stage += 1
    if sim.stage == simple + 4 and sim.kills == 0:
        sim.stage += 1
    if sim.stage == simple + 5 and sim.call_asked == np.inf:
        sim.stage += 1
    post(s, COMMAND if sim.stage < simple + 6 else READY, 0)


@compiled
def find_changes(t: Tables, s: Simulation) -> None:
    """List the cores that have come into another P-state in this instant, and count those that come into each."""
    sim, clock, found = s.sim[0], t.clock[0], 0
    for pstate in range(4):
        sim.changes[pstate] = 0
    for i in range(clock.touched):
        processor, load = t.processors[t.touched[i]], t.loads[t.touched[i]]
        serving, idle = P1 if load.oversubscribed else P0, P2 if load.busy > 0 else P3
        before, served = found, 0
        for core in range(processor.first_core, processor.first_core + processor.cores):
            serves = t.core_job[core] != IDLE_CORE
            changed = t.core_pstate[core] != (serving if serves else idle)
            s.changed[found] = core  # kept only if counted: branches would cost more
            found += changed
            served += changed & serves
        sim.changes[serving] += served
        sim.changes[idle] += found - before - served


@compiled
def apply_pstate(t: Tables, s: Simulation, pstate: int) -> None:
    """Put the cores that have come into a P-state there, and find the rates of their jobs again."""
    sim, cores, marked = s.sim[0], 0, 0
    write_log(t, sim.clock, LOG_REQUEST, sim.changes[pstate], pstate)
    i = 0
    while cores < sim.changes[pstate]:
        core = s.changed[i]
        i += 1
        if pstate_of(t, core) != pstate:
            continue
        cores += 1
        t.core_pstate[core] = pstate
        write_log(t, sim.clock, LOG_PSTATE, core, pstate)
        j = t.core_job[core]
        if j != IDLE_CORE and not s.tasks[j].marked and is_running(s, j):
            s.tasks[j].marked = 1
            s.marked[marked] = j
            marked += 1
    settled = pstate == P1 or sim.changes[P1] == 0
    for i in range(marked):
        j = s.marked[i]
        s.tasks[j].marked = 0
        progress(t, s, j, settled)
        sift(s, s.seats[j], j)
    sim.grouped_switches += 1
    sim.machine_switches += cores
    sim.acknowledged = 1


@compiled
def apply_command(t: Tables, s: Simulation) -> None:
    """Carry out one decision of the answer under way: rejections, starts, P-states in order, kills, a call."""
    sim, clock = s.sim[0], t.clock[0]
    stage = sim.stage - clock.rejected_now
    if stage >= 0 and stage < clock.started_now:
        j = started_job(t, stage)
        launch(t, s, j)
        write_log(t, sim.clock, LOG_START, j, 0)
    stage -= clock.started_now
    if stage >= 0 and stage < 4:
        apply_pstate(t, s, stage)
    elif stage == 4:
        for i in range(sim.kills):
            j = s.kills[i]
            if is_running(s, j):
                finish(t, s, j, KILLED)
                write_log(t, sim.clock, LOG_END, j, 0)
                s.completed[sim.completed] = j
                sim.completed += 1
        sim.kills = 0
    elif stage == 5:
        sim.call = max(sim.call_asked, sim.clock + SHORTEST_CALL)
        sim.call_asked = np.inf
    sim.stage += 1


@compiled
def submit_all_due(s: Simulation) -> None:
    """Take in the job that the submitter woke up for, and all others until then."""
    sim = s.sim[0]
    sim.next_job += 1
    sim.submitted += 1
    while sim.next_job < sim.jobs and s.submit[sim.next_job] <= sim.reached:
        sim.next_job += 1
        sim.submitted += 1


@compiled
def resume_submitter(s: Simulation) -> None:
    """Let the submitter wait for its next date, or tell that it has none.

    It does not look at the clock again after sending, which delays the next date by the time of the letter.
    """
    sim = s.sim[0]
    if sim.next_job == sim.jobs:
        post(s, NO_MORE, 0)
    else:
        sim.submission = sim.clock + (s.submit[sim.next_job] - sim.reached)


@compiled
def take_message(t: Tables, s: Simulation, c: BatsimClock) -> None:
    """Receive the first letter of the mailbox, which takes its time, and act on it."""
    sim = s.sim[0]
    letter = s.mail[sim.mail_first]
    sim.mail_first = sim.mail_first + 1 if sim.mail_first + 1 < len(s.mail) else 0
    sim.mail -= 1
    kind, j = letter % KINDS, letter // KINDS
    advance(t, s, sim.clock + (c.delay[t.core_processor[s.tasks[j].lowest]] if kind == END else LOOPBACK))
    if kind == SUBMIT:
        submit_all_due(s)
        sim.submitting = 1
    elif kind == NO_MORE:
        sim.over = 1
    elif kind == END:
        s.completed[sim.completed] = j
        sim.completed += 1
    elif kind == COMMAND:
        apply_command(t, s)
        post_next_command(t, s)
    elif kind == READY:
        sim.ready = 1
    else:
        sim.called = 1


@compiled
def begin_answer(t: Tables, s: Simulation) -> None:
    """Begin to apply what was decided; it is dated as the message was, which rounding may put a little ahead."""
    sim = s.sim[0]
    date = wire_time(sim.clock)
    sim.stage = 0
    if date > sim.clock:
        sim.reply = date
    else:
        post_next_command(t, s)


@compiled
def forget_decisions(t: Tables) -> None:
    """Clear what was decided in the last instant, once the simulator has applied it."""
    clock = t.clock[0]
    for i in range(clock.touched):
        t.loads[t.touched[i]].touched = 0
    clock.touched = clock.rejected_now = 0
    forget_starts(t)


@compiled
def deliver(t: Tables, s: Simulation) -> bool:
    """Send the message; False when it holds nothing to decide on.

    Acknowledged P-states are nothing to decide on, nor is the end of submissions unless jobs wait and none runs: then
    nothing but a decision can go on.
    """
    sim, clock = s.sim[0], t.clock[0]
    sim.ready = sim.acknowledged = 0
    forget_decisions(t)
    last_chance = False
    if sim.over == 1:
        sim.over = 2
        clock.arrivals_over = 1
        last_chance = clock.running == 0 and clock.waiting > 0
    return bool(last_chance or sim.completed + sim.submitted + sim.called > 0)


@compiled
def next_instant(t: Tables, s: Simulation, c: BatsimClock) -> bool:
    """Run until the server tells the decision system something to decide on; False when nothing can happen any more."""
    sim = s.sim[0]
    while True:
        news = sim.completed + sim.submitted + sim.acknowledged + sim.called + (sim.over == 1)
        sends = sim.ready and sim.mail == 0 and news > 0
        if sim.submitting:  # the submitter goes on only after the server has looked into its mailbox
            sim.submitting = 0
            resume_submitter(s)
        fire_ends(t, s)  # of the moment in which the last letter was received
        if sends:
            if deliver(t, s):
                sim.now, sim.no_more = wire_time(sim.clock), sim.over == 2
                return True
            begin_answer(t, s)
        elif sim.mail > 0:
            take_message(t, s, c)
        else:
            date = next_event(s)
            if date == np.inf:
                return False
            sim.clock = max(sim.clock, date)
            fire_timers(t, s)


@compiled
def open_simulation(t: Tables, s: Simulation) -> None:
    """Greet the server, which tells that the simulation begins and is answered with nothing."""
    sim = s.sim[0]
    sim.clock = sim.reached = LOOPBACK
    begin_answer(t, s)  # before the jobs of time 0, as recorded: they are told of before the end of submissions is
    if sim.jobs > 0 and s.submit[0] <= sim.reached:
        post(s, SUBMIT, 0)
    elif sim.jobs > 0:
        resume_submitter(s)


@inlined
def apply_decisions(t: Tables, s: Simulation, c: BatsimClock) -> None:
    """Begin to apply what was decided."""
    begin_answer(t, s)


@inlined
def open_clock(t: Tables, s: Simulation, c: BatsimClock) -> None:
    """Begin a simulation."""
    open_simulation(t, s)
