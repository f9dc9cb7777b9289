"""The turns of Batsim's actors, round by round: they run, their requests are granted, and what ends wakes them."""

from typing import Any

import numpy as np

from hdeeprm_like.engine.actions import (
    ANSWER,
    ARRIVING,
    CALL,
    LATENCY,
    MESSAGE,
    SUBMISSION,
    add,
    next_step,
    note_arrival,
    note_end,
    number,
    pass_step,
    remove_numbered,
)
from hdeeprm_like.engine.actor_fields import (
    ANSWERER,
    ANSWERS,
    ASK,
    ASKS,
    AWAKE,
    AWAKE_CALLER,
    FULL,
    JOBS,
    OVER,
    SERVER,
    SUBMITTER,
    UNUSUAL,
)
from hdeeprm_like.engine.actor_parts import (
    begin_sending,
    change_rates,
    follow_changes,
    give_rate,
    has_room,
    is_session,
    look_at_lowest,
    note_changes,
    send_end,
    send_inside,
    sends,
    start_work,
)
from hdeeprm_like.engine.actors import (
    end_action,
    run_answerer,
    run_caller,
    run_job,
    run_killer,
    run_server,
    run_submitter,
    set_timer,
    stop,
)
from hdeeprm_like.engine.batsim_actors import rates_change
from hdeeprm_like.engine.batsim_network import no_links, take_step_alone
from hdeeprm_like.engine.compiled import compiled, inlined, of_two
from hdeeprm_like.engine.dates import SAME_DATE
from hdeeprm_like.engine.flows import MESSAGE_FLOW, begin_flow, end_flow, next_solved
from hdeeprm_like.engine.rounds import (
    END,
    GET,
    KINDS,
    NOTHING,
    PUT,
    REQUESTS,
    SKIP,
    SPAWN,
    START,
    STOP,
    UNKNOWN,
    Rounds,
    first_message,
    sender_of,
    wake,
)
from hdeeprm_like.engine.speeds import change_due

# --- the mailbox


@inlined
def put(tables: Any, simulation: Any, timing: Rounds, message: int) -> None:
    """Put a message into the mailbox, or send it to the server if that waits."""
    talk = timing.talk[0]
    if talk.server_waits:
        transfer(tables, simulation, timing, message, False)
        return
    at = talk.first_message + talk.messages
    timing.messages[at if at < len(timing.messages) else at - len(timing.messages)] = message
    talk.messages += 1


@inlined
def get(tables: Any, simulation: Any, timing: Rounds) -> None:
    """Make the server receive the first message of the mailbox, or wait for one."""
    if timing.talk[0].messages == 0:
        timing.talk[0].server_waits = 1
    else:
        transfer(tables, simulation, timing, first_message(timing), True)


@compiled
def transfer(tables: Any, simulation: Any, timing: Rounds, message: int, sender_first: bool) -> None:
    """Start the transfer of a message to the server."""
    talk, pace = timing.talk[0], timing.actions.pace[0]
    talk.server_waits, talk.on_the_way, talk.sender_first = 0, message, sender_first
    pace.message_made = number(timing.actions)
    if message % KINDS == END:
        send_end(tables, simulation, timing, message // KINDS)
    else:
        send_inside(timing)


@inlined
def receive(tables: Any, simulation: Any, timing: Rounds) -> None:
    """Wake the server, whose message has arrived, and the sender of that."""
    talk = timing.talk[0]
    sender = sender_of(talk.on_the_way)
    if talk.on_the_way % KINDS == END:
        arrive(timing)
        look_at_lowest(tables, simulation, timing, talk.on_the_way // KINDS)
    talk.received = talk.on_the_way
    if sender >= 0 and talk.sender_first:
        wake(timing, sender)
    wake(timing, SERVER)
    if sender >= 0 and not talk.sender_first:
        wake(timing, sender)


# --- rounds


@inlined
def run_actor(tables: Any, simulation: Any, timing: Rounds, actor: int, alone: bool) -> int:
    """Run an actor until it has a request, which is returned; one that runs alone need not yield."""
    if actor == SERVER:
        return run_server(tables, simulation, timing, alone)
    if actor >= JOBS:
        return run_job(tables, simulation, timing, actor - JOBS, alone)
    if actor == ANSWERER:
        return run_answerer(tables, simulation, timing)
    if actor == SUBMITTER:
        return run_submitter(tables, simulation, timing, alone)
    if actor < 0:
        return run_killer(tables, simulation, timing, -1 - actor)
    return run_caller(timing, actor)


@inlined
def grant(tables: Any, simulation: Any, timing: Rounds, actor: int, request: int) -> None:
    """Grant the request of an actor."""
    talk, pace, kind = timing.talk[0], timing.actions.pace[0], request % REQUESTS
    if kind == PUT:
        put(tables, simulation, timing, request // REQUESTS)
    elif kind == GET:
        get(tables, simulation, timing)
    elif kind == SPAWN:
        wake(timing, talk.spawned)
        wake(timing, actor)
    elif kind == SKIP:
        wake(timing, actor)
    elif kind == START:
        start_work(tables, simulation, timing, actor - JOBS)
        if simulation.tasks[actor - JOBS].stage == AWAKE:  # it runs alone
            set_timer(simulation, timing, actor - JOBS)
        else:
            wake(timing, actor)
    elif kind == STOP:
        stop(tables, simulation, timing, actor)
    elif kind == NOTHING:
        return
    elif actor >= JOBS:  # a SLEEP, or a WAIT for what has been started
        set_timer(simulation, timing, actor - JOBS)
    elif actor == ANSWERER:
        pace.answer, pace.answer_made = talk.answer_date - pace.now, number(timing.actions)
    elif actor == SUBMITTER:
        left = simulation.submit[simulation.sim[0].next_job] - talk.reached
        pace.submission, pace.submission_made = left, number(timing.actions)
    else:
        add(timing.actions, CALL, max(talk.call_date - pace.now, SAME_DATE), 1.0)


@inlined
def take_turns(tables: Any, simulation: Any, timing: Rounds) -> int:
    """Run rounds until no actor is ready (OVER), or a decision is due (ASKS).

    A session also ends them where what it writes has no room (FULL), or where only the general server knows what a
    decision means (UNUSUAL).
    """
    talk, actor, request = timing.talk[0], SERVER, NOTHING
    while talk.ready > 0:
        ready, at = talk.ready, talk.at
        while at < ready:
            actor = timing.ready[at]
            if asks(timing, actor):
                talk.at = at
                return ASKS
            if not has_room(timing):
                talk.at = at
                return FULL
            request = run_actor(tables, simulation, timing, actor, ready == 1)
            if request == UNKNOWN:
                return UNUSUAL
            timing.ran[at], timing.requests[at] = actor, request
            at += 1
        talk.ready = talk.at = 0
        for place in range(ready):
            if ready > 1:  # else it is the one that has just run
                actor, request = timing.ran[place], timing.requests[place]
            grant(tables, simulation, timing, actor, request)
    return OVER


@inlined
def asks(timing: Rounds, actor: int) -> bool:
    """Return whether a decision is due before an actor runs: the answerer, which begins by asking for one."""
    talk = timing.talk[0]
    due = actor == ANSWERER and talk.answerer_stage == ASK
    if due:
        talk.answerer_stage = ANSWERS
    return due


@inlined
def end_actions(tables: Any, simulation: Any, timing: Rounds) -> None:
    """Wake the actors whose actions have ended, in the order of creation of the actions."""
    actions = timing.actions
    for i in range(actions.pace[0].ended):
        owner = actions.ended[i]
        if owner == MESSAGE:
            receive(tables, simulation, timing)
        elif owner == SUBMISSION:
            wake(timing, SUBMITTER)
        elif owner == ANSWER:
            wake(timing, ANSWERER)
        elif owner == CALL:
            wake(timing, AWAKE_CALLER)
        elif owner <= ARRIVING:
            end_latency(tables, timing, owner, actions.made_ended[i])
        elif end_action(tables, simulation, timing, owner):
            wake(timing, JOBS + (owner >> 1))


# --- links and steps


def has_links(kind: Any) -> bool:
    """Return whether an argument is a session, or a clock in a network."""
    return is_session(kind) or rates_change(kind)


@inlined
def arrive_over_links(timing: Any) -> None:
    """End the flow of the message of a job's end, if jobs send."""
    if sends(timing):
        end_flow(timing.traffic, MESSAGE_FLOW)


@compiled
def end_latency_of(tables: Any, timing: Any, owner: int, made: int) -> None:
    """End the latency of a job, or that of the message under way, which begin to use their links."""
    if owner == ARRIVING:
        begin_flow(timing.traffic, MESSAGE_FLOW)
    elif timing.traffic.flows[LATENCY - owner + 1].waits == made:  # else what ended before it has removed it
        remove_numbered(timing.actions, made)
        begin_sending(tables, timing, LATENCY - owner)


@inlined
def no_latency(tables: Any, timing: Any, owner: int, made: int) -> None:
    """Do nothing: without a network no job waits for a latency."""


@inlined
def move_clock(tables: Any, simulation: Any, timing: Any) -> bool:
    """Move the clock to the next change of a speed, or to the end of the action that ends next.

    Returns:
        Whether an action would end; if none would, nothing more happens whatever speeds come, as in SimGrid.
    """
    changes, now, step = timing.speeds.changes[0], timing.actions.pace[0].now, next_step(timing.actions)
    if step == np.inf:
        return False
    while changes.due <= now + step:
        change_due(timing.speeds)
        step = changes.latest - now
        note_changes(tables, simulation, timing)
    pass_step(timing.actions, step)
    follow_changes(tables, simulation, timing)
    return True


@compiled
def take_step_over_links(tables: Any, simulation: Any, timing: Any) -> bool:
    """Compute the rates that have changed, and move the clock; return False if nothing ends any more."""
    change_rates(timing)
    if not sends(timing):
        return move_clock(tables, simulation, timing)
    pace = timing.actions.pace[0]
    solve(timing)
    ends = pace.latency < np.inf and timing.talk[0].on_the_way % KINDS == END
    if not move_clock(tables, simulation, timing):
        return False
    if ends and pace.latency == np.inf and pace.speed == 0.0:  # it shares links then
        note_end(timing.actions, ARRIVING, pace.message_made)
    return True


@compiled
def solve(timing: Any) -> None:
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
                note_arrival(timing.actions)
            else:
                give_rate(timing, f - 1, rate)


arrive = of_two(has_links, arrive_over_links, no_links)
end_latency = of_two(has_links, end_latency_of, no_latency)
take_next_step = of_two(has_links, take_step_over_links, take_step_alone)


@compiled
def play(tables: Any, simulation: Any, timing: Rounds) -> int:
    """Run rounds and move the clock until a decision is due, or rounds end otherwise; OVER if nothing ends any more."""
    while True:
        result = take_turns(tables, simulation, timing)
        if result != OVER or not take_next_step(tables, simulation, timing):
            return int(result)
        end_actions(tables, simulation, timing)
