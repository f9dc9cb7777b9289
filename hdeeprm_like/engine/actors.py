"""Batsim's actors: the server, the answerer, the submitter, callers, killers, and one for each running job.

Batsim is one server with one mailbox. Submissions, ends of jobs and single decisions are messages of one byte that take
time. The server sends its message to the decision system when the last answer is applied, its mailbox is empty and it
has something to report; the answerer then sends it the decisions of the answer one by one.

The same actors play on the embedded clock and in a session of Batsim's server. Their functions take the bundles
``tables``, ``simulation`` and ``timing`` of the embedded simulator; a session is all three at once. What differs is
chosen by their types: machines and energy, work and links, what a decision is, and what is reported to whom. The
functions that run an actor return its request, see `rounds`.
"""

from typing import Any

import numpy as np

from hdeeprm_like.engine.actions import add, remove_at
from hdeeprm_like.engine.actor_fields import (
    ANSWERER,
    ANSWERS,
    ARRIVED,
    ASK,
    AWAKE,
    BEGIN,
    CALLER,
    COME,
    FIND,
    GATHER,
    GONE,
    GREET,
    GREETED,
    HEAR,
    INFORM,
    JOBS,
    LISTEN,
    LOOK,
    LOOK_FIRST,
    LOOK_LAST,
    NEXT,
    READ,
    READS,
    SENT,
    SET_TIMER,
    STOPPED,
    SUBMITTED,
)
from hdeeprm_like.engine.actor_parts import (
    act_on,
    begin,
    begin_answer,
    deliver,
    end_work,
    find_next,
    finish,
    goes_on,
    has_news,
    kills,
    look_after,
    look_at_lowest,
    look_before,
    look_first,
    rounds_to_look,
)
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.rounds import (
    CALLED,
    COMMAND,
    END,
    GET,
    HELLO,
    KILLS_DONE,
    NO_MORE,
    NOTHING,
    READY,
    SKIP,
    SLEEP,
    SPAWN,
    START,
    STOP,
    SUBMIT,
    UNKNOWN,
    WAIT,
    Rounds,
    putting,
    wake,
)
from hdeeprm_like.engine.tasks import KILLED, SUCCESS, WALLTIME_REACHED

# --- the server and the answerer


@inlined
def run_server(tables: Any, simulation: Any, timing: Rounds, alone: bool) -> int:
    """Run the server: act on a message, report to the decision system if due, wait for the next message.

    Before it reports it looks whether its mailbox is empty; to find that by its name takes it a round. Where the
    decision system has nothing to decide on, and nobody else has anything to say, the message that its empty answer is
    applied comes next.
    """
    talk = timing.talk[0]
    if talk.server_stage == HEAR:
        talk.server_stage = LOOK
        spawns = act_on(tables, simulation, timing, talk.received)
        if spawns != 0:
            return SPAWN if spawns > 0 else UNKNOWN
    if talk.server_stage == LOOK:
        if talk.server_rounds > 0 and not alone:
            talk.server_rounds -= 1
            return SKIP
        talk.server_rounds = 0
        if goes_on(timing):
            return SKIP
        talk.server_stage = LISTEN
        if talk.scheduler_ready and not talk.ends_sent:
            if talk.messages == 0:
                talk.server_stage = INFORM
            if not alone:
                return SKIP
    if talk.server_stage == INFORM and has_news(simulation, timing):
        talk.server_stage = LISTEN
        talk.scheduler_ready, talk.spawned, talk.answerer_stage = 0, ANSWERER, ASK
        if deliver(tables, simulation, timing):
            return SPAWN
        talk.answerer_stage, talk.command = ANSWERS, 0
        begin_answer(tables, simulation, timing)
        more = find_next(tables, simulation, timing)
        if more or not alone or talk.messages > 0 or talk.answer_date > timing.actions.pace[0].now:
            return SPAWN
        talk.server_stage, talk.server_waits = HEAR, 1
        return putting(READY, 0)
    talk.server_stage = HEAR
    return NOTHING if talk.ended else GET


@inlined
def run_answerer(tables: Any, simulation: Any, timing: Rounds) -> int:
    """Run the answerer: send the next decision when its date has come, or that the whole answer is applied."""
    talk = timing.talk[0]
    if talk.answerer_stage == SENT:
        talk.command += 1
        talk.answerer_stage = NEXT
    elif talk.answerer_stage != COME:
        begin_answer(tables, simulation, timing)
        talk.answerer_stage, talk.command = NEXT, 0
    more = find_next(tables, simulation, timing)
    if talk.answerer_stage == NEXT and talk.answer_date > timing.actions.pace[0].now:
        talk.answerer_stage = COME
        return SLEEP
    talk.answerer_stage = SENT
    return putting(COMMAND, talk.command) if more else putting(READY, 0)


# --- the submitter and the callers


@inlined
def run_submitter(tables: Any, simulation: Any, timing: Rounds, alone: bool) -> int:
    """Run the submitter: submit the jobs of one time, or wait for the next time.

    It does not read the clock again after submitting, which delays the next date by the time of the message.
    """
    talk, sim = timing.talk[0], simulation.sim[0]
    if talk.submitter_stage == GREET:
        talk.submitter_stage = GREETED
        return putting(HELLO, 0)
    if talk.submitter_stage in (GREETED, ARRIVED):
        talk.reached = timing.actions.pace[0].now
    if talk.submitter_stage in (GREETED, SUBMITTED):
        if sim.next_job == sim.jobs:
            return putting(NO_MORE, 0)
        if simulation.submit[sim.next_job] > talk.reached:
            talk.submitter_stage = ARRIVED
            return SLEEP
    first = sim.next_job == 0  # Batsim reads the energy before
    if talk.submitter_stage != GATHER:
        talk.submitter_stage = GATHER
        talk.submitter_rounds = rounds_to_look(tables, timing) if first and not alone else 0
    if talk.submitter_rounds > 0 and not alone:
        talk.submitter_rounds -= 1
        return SKIP
    if first:
        look_first(timing)
    gather(simulation, timing)
    return putting(SUBMIT, 0)


@inlined
def gather(simulation: Any, timing: Rounds) -> None:
    """Collect the jobs of the time that the submitter has reached, to submit them together."""
    talk, sim = timing.talk[0], simulation.sim[0]
    talk.batch = 1
    while sim.next_job + talk.batch < sim.jobs and simulation.submit[sim.next_job + talk.batch] <= talk.reached:
        talk.batch += 1
    sim.next_job += talk.batch
    talk.submitter_stage = SUBMITTED


@inlined
def run_caller(timing: Rounds, actor: int) -> int:
    """Run a caller: begin its wait, or report to the server that its time has come, unless all has ended."""
    if actor == CALLER:
        return SLEEP
    if timing.talk[0].ends_sent:
        timing.talk[0].waiters -= 1
        return NOTHING
    return putting(CALLED, 0)


# --- jobs


@inlined
def run_job(tables: Any, simulation: Any, timing: Rounds, j: int, alone: bool) -> int:
    """Run the actor of a job: it computes or sleeps, at most up to its walltime, then reports to the server.

    If another actor has killed it that one reports.
    """
    task = simulation.tasks[j]
    if task.stage == BEGIN:
        begin(tables, simulation, timing, j)
        task.stage, task.rounds = LOOK_FIRST, 0 if alone else rounds_to_look(tables, timing)
    elif task.stage == AWAKE:
        finish(tables, simulation, timing, j)
        task.stage, task.rounds = LOOK_LAST, 0 if alone else rounds_to_look(tables, timing)
    if task.stage in (LOOK_FIRST, LOOK_LAST) and task.rounds > 0 and not alone:
        task.rounds -= 1
        return SKIP
    if task.stage == LOOK_FIRST:
        look_before(tables, simulation, timing, j)
        task.stage = SET_TIMER if task.delay < 0.0 and not alone else AWAKE
        return START if task.delay < 0.0 else SLEEP
    if task.stage == SET_TIMER:
        task.stage = AWAKE
        return WAIT
    if task.stage == LOOK_LAST:
        look_after(tables, simulation, timing, j)
        task.stage = GONE
        return NOTHING if task.outcome == KILLED else putting(END, j)
    return NOTHING


@compiled
def set_timer(simulation: Any, timing: Rounds, j: int) -> None:
    """Start the timer of a job: its walltime, or its delay."""
    task = simulation.tasks[j]
    left = task.walltime if task.delay < 0.0 else min(task.delay, task.walltime)
    if left < np.inf:
        add(timing.actions, 2 * j + 1, left, 1.0)


@inlined
def end_timer(timing: Rounds, j: int) -> None:
    """Remove the timer of a job, if it exists."""
    place = timing.actions.places[2 * j + 1]
    if place >= 0:
        remove_at(timing.actions, place)


@inlined
def end_action(tables: Any, simulation: Any, timing: Rounds, owner: int) -> bool:
    """End the action of a job; return whether that wakes its actor.

    A task cut by its walltime continues until the server learns of the job's end; its own end wakes no actor.
    """
    j, task = owner >> 1, simulation.tasks[owner >> 1]
    if timing.actions.places[owner] < 0:
        return False  # another action that ended now has removed it
    if owner & 1 == 0:
        end_work(tables, timing, j)
        end_timer(timing, j)
        if task.outcome != 0:
            return False
        task.outcome = SUCCESS
        return True
    look_at_lowest(tables, simulation, timing, j)
    end_timer(timing, j)
    task.outcome = SUCCESS if task.delay >= 0.0 and task.delay < task.walltime else WALLTIME_REACHED
    return True


# --- actors that kill jobs


@inlined
def run_killer(tables: Any, simulation: Any, timing: Any, row: int) -> int:
    """Kill jobs one after the other, then report to the server; a job not in the middle of its run is UNKNOWN.

    To read the progress of a job that computes takes a round; its own actor reads the energy then. One that sleeps is
    ended here.
    """
    killing = timing.killings[row]
    while True:
        if killing.stage == FIND and killing.at == killing.count:
            return putting(KILLS_DONE, row)
        j = simulation.kills[killing.first + killing.at]
        task = simulation.tasks[j]
        if killing.stage == FIND and task.stage > AWAKE:
            killing.at += 1  # it is over
        elif killing.stage == FIND:
            if not kills(simulation, timing, j):
                return UNKNOWN
            killing.stage = READ if task.delay < 0.0 else STOPPED
            return SKIP if task.delay < 0.0 else STOP
        elif killing.stage == READ:
            killing.stage = STOPPED
            return STOP
        elif killing.stage == STOPPED and task.delay < 0.0:
            killing.stage, killing.at = FIND, killing.at + 1
        elif killing.stage == STOPPED:
            finish(tables, simulation, timing, j)
            killing.stage, task.stage, task.rounds = READS, LOOK_LAST, rounds_to_look(tables, timing)
        elif task.rounds > 0:
            task.rounds -= 1
            return SKIP
        else:
            look_after(tables, simulation, timing, j)
            killing.stage, killing.at, task.stage = FIND, killing.at + 1, GONE


@inlined
def stop(tables: Any, simulation: Any, timing: Any, actor: int) -> None:
    """End the work of a job that is killed, whose actor then ends it, or its sleep; wake the actor that kills it."""
    killing = timing.killings[-1 - actor]
    j = simulation.kills[killing.first + killing.at]
    simulation.tasks[j].outcome = KILLED
    end_work(tables, timing, j)
    end_timer(timing, j)
    if simulation.tasks[j].delay < 0.0:
        wake(timing, JOBS + j)
    wake(timing, actor)
