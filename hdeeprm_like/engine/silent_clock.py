"""The clock of a silent session of Batsim's server, exact to the last bit.

It does what ``batsim_server`` does there, actor by actor and round by round: in each round every ready actor runs up to
its next request, then the requests are granted in that order. The clock moves when no actor is ready. What it does not
know it leaves: `advance` returns UNUSUAL, and the server plays the session again by itself.
"""

from hdeeprm_like.engine.actions import ANSWER, ARRIVING, CALL, MESSAGE, SUBMISSION, add, number, remove_at
from hdeeprm_like.engine.compiled import compiled, entry, inlined
from hdeeprm_like.engine.dates import SAME_DATE
from hdeeprm_like.engine.silent_actors import run_actor
from hdeeprm_like.engine.silent_energy import update
from hdeeprm_like.engine.silent_layout import (
    ANSWERER,
    ASKS,
    AWAKE_CALLER,
    EVENT_BYTES,
    FULL,
    JOBS,
    MOST_STRUCK,
    OVER,
    PLACE_BYTES,
    SERVER,
    SUBMITTER,
    UNREAD,
    UNUSUAL,
    WALLTIME,
)
from hdeeprm_like.engine.silent_messages import complete
from hdeeprm_like.engine.silent_network import (
    begin_work,
    change_rates,
    end_latency,
    end_message,
    end_work,
    get,
    put,
    take_next_step,
    works,
)
from hdeeprm_like.engine.silent_replies import read_reply
from hdeeprm_like.engine.silent_session import (
    ANSWERS,
    ASK,
    CANCEL,
    END,
    FIND,
    GET,
    KINDS,
    PUT,
    REQUESTS,
    SKIP,
    SPAWN,
    START,
    STRIKE_DOWN,
    WAIT,
    Session,
    sender_of,
    wake,
)

MOST_ROWS = 8  # that an actor adds in a turn, and some


@inlined
def grant(session: Session, place: int) -> None:
    """Grant the request of an actor."""
    talk, actions = session.talk[0], session.actions
    actor, request = session.ran[place] // REQUESTS, session.ran[place] % REQUESTS
    if request == PUT:
        put(session, session.outgoing[place])
    elif request == GET:
        get(session)
    elif request == SKIP:
        wake(session, actor)
    elif request == SPAWN:
        wake(session, talk.spawned)
        wake(session, actor)
    elif request in (CANCEL, STRIKE_DOWN):
        strike_down(session, actor)
    elif actor >= JOBS:
        add_action(session, actor - JOBS, request)
    elif actor == ANSWERER:
        last = talk.command == talk.commands
        date = talk.reply_date if last else session.commands[talk.command].date
        actions.pace[0].answer, actions.pace[0].answer_made = date - actions.pace[0].now, number(actions)
    elif actor == SUBMITTER:
        actions.pace[0].submission = session.jobs[talk.next_job].submit - talk.reached
        actions.pace[0].submission_made = number(actions)
    else:
        add(actions, CALL, max(talk.call_date - actions.pace[0].now, SAME_DATE), 1.0)


@compiled
def add_action(session: Session, j: int, request: int) -> None:
    """Start the work of a job, the limit of its work, or its sleep."""
    job = session.jobs[j]
    if request == START:
        begin_work(session, j)
        wake(session, JOBS + j)
    elif request == WAIT:
        if job.walltime >= 0.0:
            add(session.actions, 2 * j + 1, job.walltime, 1.0)
    elif job.walltime < 0.0 or job.delay < job.walltime:
        add(session.actions, 2 * j + 1, job.delay, 1.0)
    else:
        job.outcome = WALLTIME
        add(session.actions, 2 * j + 1, job.walltime, 1.0)


@compiled
def strike_down(session: Session, actor: int) -> None:
    """End the work of a job, whose actor then ends it, or its sleep; and wake the actor that kills it."""
    actions, strike = session.actions, session.strikes[actor - JOBS - len(session.jobs)]
    works = strike.stage == FIND  # it goes on with the job after that
    j = session.struck[strike.first + strike.at - (1 if works else 0)]
    if works:
        end_work(session, j)
    if actions.places[2 * j + 1] >= 0:
        remove_at(actions, actions.places[2 * j + 1])
    if works:
        wake(session, JOBS + j)
    wake(session, actor)


@inlined
def end_actions(session: Session) -> None:
    """Wake the actors whose actions have ended, in the order in which these began."""
    talk, actions = session.talk[0], session.actions
    for i in range(actions.pace[0].ended):
        owner = actions.ended[i]
        if owner == MESSAGE:
            sender = sender_of(talk.on_the_way)
            if talk.on_the_way % KINDS == END:
                end_message(session)
                if session.meter[0].measures:
                    update(session, session.jobs[talk.on_the_way // KINDS].first)
            talk.received = talk.on_the_way
            if sender >= 0 and talk.sender_first:
                wake(session, sender)
            wake(session, SERVER)
            if sender >= 0 and not talk.sender_first:
                wake(session, sender)
        elif owner == SUBMISSION:
            wake(session, SUBMITTER)
        elif owner == ANSWER:
            wake(session, ANSWERER)
        elif owner == CALL:
            wake(session, AWAKE_CALLER)
        elif owner <= ARRIVING:
            end_latency(session, owner, actions.made_ended[i])
        elif actions.places[owner] >= 0:  # what ended before it in this step has not removed it
            end_of_job(session, owner)


@compiled
def end_of_job(session: Session, owner: int) -> None:
    """End the work of a job, the limit of its work, or its sleep; only work beyond the limit wakes nothing."""
    actions, j = session.actions, owner >> 1
    job = session.jobs[j]
    if owner & 1 == 1:
        if session.meter[0].measures:
            update(session, job.first)
        remove_at(actions, actions.places[owner])
        if works(session, j):
            job.outcome = WALLTIME
    else:
        end_work(session, j)
        if job.outcome == WALLTIME:
            return
        if actions.places[2 * j + 1] >= 0:
            remove_at(actions, actions.places[2 * j + 1])
    wake(session, JOBS + j)


# --- the loop


@inlined
def is_full(session: Session) -> bool:
    """Return whether the next actor may have no room for what it writes."""
    talk, most = session.talk[0], PLACE_BYTES * len(session.machines)
    margin = MOST_STRUCK * (EVENT_BYTES + talk.longest) + most
    too_many = talk.rows > len(session.rows) - MOST_ROWS
    return bool(too_many or talk.allocs > len(session.allocs) - most or talk.written > len(session.out) - margin)


@inlined
def take_turns(session: Session) -> int:
    """Run rounds until no actor is ready (OVER), the scheduler is to reply (ASKS), rows are FULL, or all is UNUSUAL."""
    talk = session.talk[0]
    while True:
        while talk.at < talk.ready:
            actor = session.ready_now[talk.at]
            if actor == ANSWERER and talk.answerer_stage == ASK:
                talk.answerer_stage, talk.now = ANSWERS, session.actions.pace[0].now
                complete(session)
                return ASKS
            if is_full(session):
                return FULL
            talk.at += 1
            if not run_actor(session, actor):
                return UNUSUAL
        for place in range(talk.ran):
            grant(session, place)
        talk.ran = 0
        if talk.next_ready == 0:
            return OVER
        for i in range(talk.next_ready):
            session.ready_now[i] = session.ready_next[i]
        talk.ready, talk.next_ready, talk.at = talk.next_ready, 0, 0


@entry
def advance(session: Session) -> int:
    """Play a session until the scheduler is to reply (ASKS), nothing more can happen (OVER), or it is UNUSUAL.

    FULL: rows and texts are to be fetched first. UNREAD: Python is to read the reply.
    """
    talk = session.talk[0]
    if talk.reply > 0 and not read_reply(session):
        talk.reply = 0
        return UNREAD
    talk.reply = 0
    while True:
        result = take_turns(session)
        talk.now = session.actions.pace[0].now
        if talk.changed > 0 and result == OVER:
            change_rates(session)
        if talk.unusual:
            return UNUSUAL
        if result != OVER or not take_next_step(session):
            return result
        end_actions(session)
