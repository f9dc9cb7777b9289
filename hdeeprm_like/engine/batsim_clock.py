"""Batsim's clock, exact to the last bit: which events reach the decision system in one message.

Batsim is one server with one mailbox. Submissions, ends of jobs and single decisions are messages of one byte that take
time (1e-10 s on the master's loopback). The server sends its message to the decision system when the last answer is
applied, its mailbox is empty and it has something to report. Simulating that makes nominal ties, e.g. a job that ends
when another is submitted, come out as in Batsim: in the same messages, hence with the same decisions.

The actors are those of ``batsim_server``: the server, the answerer that sends it the decisions of an answer one by
one, the submitter, one for each requested call, the killer, and one for each running job.
"""

import numpy as np

from hdeeprm_like.engine.actions import ANSWER, CALL, MESSAGE, SUBMISSION, add, number
from hdeeprm_like.engine.batsim_actors import (
    ANSWERER,
    AWAKE_CALLER,
    CALLED,
    CALLER,
    COMMAND,
    END,
    GET,
    HELLO,
    JOBS,
    KILLER,
    KILLS_DONE,
    KINDS,
    NO_MORE,
    PUT,
    READY,
    REQUESTS,
    SERVER,
    SKIP,
    SLEEP,
    SPAWN,
    START,
    STOP,
    SUBMIT,
    SUBMITTER,
    WAIT,
    BatsimClock,
    first_message,
    issue,
    look_at_lowest,
    put,
    sender_of,
    transfer,
    wake,
)
from hdeeprm_like.engine.batsim_answers import ASK, begin_answer, bring_next, run_answerer
from hdeeprm_like.engine.batsim_at_once import only_jobs_end, run_at_once, send_first
from hdeeprm_like.engine.batsim_helpers import CHOOSE, run_caller, run_killer, run_submitter, stop
from hdeeprm_like.engine.batsim_jobs import (
    BEGIN,
    apply_pstate,
    end_action,
    run_job,
    set_timer,
)
from hdeeprm_like.engine.batsim_network import arrive, end_latency, goes_by_rounds, open_network, take_next_step
from hdeeprm_like.engine.batsim_work import end_work, start_work
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.dates import SAME_DATE, request_call, wire_time
from hdeeprm_like.engine.lifecycle import started_job
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.tasks import Simulation

# Stages of the actors: what each does at its next turn
HEAR, LOOK, LISTEN, INFORM = 0, 1, 2, 3  # the server


# --- the server


@inlined
def run_server(tables: Tables, simulation: Simulation, timing: BatsimClock, alone: bool) -> None:
    """Run the server: act on a message, report to the decision system if due, wait for the next message.

    Before it reports it looks whether its mailbox is empty; to find that by its name takes it a round.
    """
    talk, sim = timing.talk[0], simulation.sim[0]
    if talk.server_stage == HEAR:
        talk.server_stage = LOOK
        if act_on(tables, simulation, timing, talk.received):
            issue(timing, SERVER, SPAWN)
            return
    if talk.server_stage == LOOK:
        if talk.server_rounds > 0:
            talk.server_rounds -= 1
            issue(timing, SERVER, SKIP)
            return
        talk.server_stage = LISTEN
        if talk.scheduler_ready:
            news = sim.completed + sim.submitted + talk.acknowledged + sim.called + (sim.over == 1)
            if talk.messages == 0 and news > 0:
                talk.server_stage = INFORM
            if not alone:
                issue(timing, SERVER, SKIP)
                return
    if talk.server_stage == INFORM:
        talk.server_stage = LISTEN
        talk.scheduler_ready, talk.spawned, talk.answerer_stage = 0, ANSWERER, ASK
        issue(timing, SERVER, SPAWN)
        return
    talk.server_stage = HEAR
    issue(timing, SERVER, GET)


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
        for i in range(talk.killed):
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
        talk.killer_stage, talk.killer_at, talk.killed = CHOOSE, 0, 0
        talk.spawned = KILLER
    else:
        talk.spawned = CALLER
    return True


# --- rounds


@inlined
def run_actor(tables: Tables, simulation: Simulation, timing: BatsimClock, actor: int, alone: bool) -> None:
    """Run an actor until it issues a request; an actor that runs alone need not yield."""
    talk = timing.talk[0]
    if actor >= JOBS:
        if alone:
            simulation.tasks[actor - JOBS].rounds = 0
        run_job(tables, simulation, timing, actor - JOBS)
    elif actor == SERVER:
        if alone:
            talk.server_rounds = 0
        run_server(tables, simulation, timing, alone)
    elif actor == ANSWERER:
        run_answerer(tables, simulation, timing)
    elif actor == SUBMITTER:
        run_submitter(tables, simulation, timing)
    elif actor == KILLER:
        run_killer(tables, simulation, timing)
    else:
        run_caller(timing, actor)


@inlined
def grant(tables: Tables, simulation: Simulation, timing: BatsimClock, place: int) -> None:
    """Grant the request of an actor."""
    talk, pace = timing.talk[0], timing.actions.pace[0]
    actor, request = timing.ran[place] // REQUESTS, timing.ran[place] % REQUESTS
    j = actor - JOBS
    if request == PUT:
        message = timing.outgoing[place]
        put(tables, timing, message, simulation.tasks[message // KINDS].lowest if message % KINDS == END else 0)
    elif request == GET:
        if talk.messages > 0:
            message = first_message(timing)
            lowest = simulation.tasks[message // KINDS].lowest if message % KINDS == END else 0
            transfer(tables, timing, message, lowest, True)
        else:
            talk.server_waits = 1
    elif request == SPAWN:
        wake(timing, talk.spawned)
        wake(timing, actor)
    elif request == SKIP:
        wake(timing, actor)
    elif request == START:
        start_work(tables, simulation, timing, j)
        wake(timing, actor)
    elif request == STOP:
        stop(tables, simulation, timing)
    elif request == WAIT or (request == SLEEP and actor >= JOBS):
        set_timer(simulation, timing, j)
    elif request == SLEEP and actor == ANSWERER:
        pace.answer, pace.answer_made = talk.answer_date - pace.now, number(timing.actions)
    elif request == SLEEP and actor == SUBMITTER:
        left = simulation.submit[simulation.sim[0].next_job] - talk.reached
        pace.submission, pace.submission_made = left, number(timing.actions)
    elif request == SLEEP:
        add(timing.actions, CALL, max(simulation.sim[0].call_requested - pace.now, SAME_DATE), 1.0)
        simulation.sim[0].call_requested = np.inf


@compiled
def take_turns(tables: Tables, simulation: Simulation, timing: BatsimClock) -> bool:
    """Run rounds until no actor is ready; return True as soon as a decision is due."""
    talk = timing.talk[0]
    while True:
        if not talk.requests:
            count = talk.ready
            if count == 0:
                return False
            talk.ran = 0
            for i in range(count):
                run_actor(tables, simulation, timing, timing.ready[i], count == 1)
            talk.ready, talk.requests = 0, 1
            if talk.answerer_place > 0:
                return True
        for place in range(talk.ran):
            grant(tables, simulation, timing, place)
        talk.requests = 0


@compiled
def end_actions(tables: Tables, simulation: Simulation, timing: BatsimClock) -> None:
    """Wake the actors whose actions have ended, in the order of creation of the actions."""
    talk, actions = timing.talk[0], timing.actions
    for i in range(actions.pace[0].ended):
        owner = actions.ended[i]
        if owner == MESSAGE:
            sender = sender_of(talk.on_the_way)
            if talk.on_the_way % KINDS == END:
                arrive(timing)
                look_at_lowest(tables, timing, simulation.tasks[talk.on_the_way // KINDS].lowest)
            talk.received = talk.on_the_way
            if sender >= 0 and talk.sender_first:
                wake(timing, sender)
            wake(timing, SERVER)
            if sender >= 0 and not talk.sender_first:
                wake(timing, sender)
        elif owner == SUBMISSION:
            wake(timing, SUBMITTER)
        elif owner == ANSWER:
            wake(timing, ANSWERER)
        elif owner == CALL:
            wake(timing, AWAKE_CALLER)
        elif end_latency(tables, timing, owner, actions.made_ended[i]):
            continue
        elif end_action(tables, simulation, timing, owner):
            wake(timing, JOBS + (owner >> 1))


@inlined
def next_instant(tables: Tables, simulation: Simulation, timing: BatsimClock) -> bool:
    """Run until the server reports something to decide on; return False when nothing can happen any more."""
    sim = simulation.sim[0]
    while True:
        wanted = False
        if goes_by_rounds(timing) or not only_jobs_end(simulation, timing):
            wanted = take_turns(tables, simulation, timing)
        if not wanted and not goes_by_rounds(timing):
            wanted = run_at_once(tables, simulation, timing)
        if wanted:
            sim.clock = timing.actions.pace[0].now
            sim.now, sim.no_more = wire_time(sim.clock), sim.over == 2
            return True
        if not take_next_step(tables, simulation, timing):
            return False
        end_actions(tables, simulation, timing)


@inlined
def apply_decisions(tables: Tables, simulation: Simulation, timing: BatsimClock) -> None:
    """Begin to apply the decisions."""
    talk, sim = timing.talk[0], simulation.sim[0]
    sim.call_requested = request_call(tables, sim.call_requested)
    if talk.ran == 2 and talk.answerer_place == 1 and timing.ran[1] == SERVER * REQUESTS + GET:
        talk.ran = talk.answerer_place = talk.requests = 0
        send_first(tables, simulation, timing)
        return
    begin_answer(tables, simulation, timing)
    others, talk.ran = talk.ran, talk.answerer_place - 1
    bring_next(tables, simulation, timing)
    talk.ran, talk.answerer_place = others, 0


@inlined
def open_clock(tables: Tables, simulation: Simulation, timing: BatsimClock) -> None:
    """Begin a simulation: the submitter greets the server, whose first message gets an empty answer.

    So the jobs of time 0 are reported in the second message, before the end of submissions.
    """
    open_network(timing)
    put(tables, timing, HELLO, 0)
    put(tables, timing, READY, 0)
    transfer(tables, timing, first_message(timing), 0, True)
