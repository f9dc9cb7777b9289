"""The actors of a silent session but the server: what each does at its turn, as in ``batsim_server``."""

from hdeeprm_like.engine.actions import catch_up
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.silent_energy import look, look_after, look_before, rounds_to_look
from hdeeprm_like.engine.silent_layout import (
    ANSWERER,
    AWAKE_CALLER,
    CALLER,
    COMPUTES,
    COMPUTING,
    JOBS,
    KILLED,
    LEFT,
    SERVER,
    SUBMITTER,
    SUCCESS,
)
from hdeeprm_like.engine.silent_network import waits
from hdeeprm_like.engine.silent_server import run_server
from hdeeprm_like.engine.silent_session import (
    ANSWERS,
    BEGIN_JOB,
    BYE,
    CALL_OVER,
    CANCEL,
    COME,
    DECISION,
    END,
    END_JOB,
    FIND,
    GONE,
    GONE_JOB,
    GREET,
    GREETED,
    HANDED,
    HELLO,
    KILLING,
    LEAVE,
    LEAVE_JOB,
    NEXT,
    READS,
    READY,
    SENT,
    SKIP,
    SLEEP,
    SLEPT,
    START,
    START_JOB,
    STRIKE_DOWN,
    STRIKES,
    STRUCK,
    SUBMIT,
    WAIT,
    WAIT_FOR_WORK,
    Session,
    add_row,
    issue,
    send,
)

SHORTEST_RUN = 1e-5  # s, what Batsim reports of a job that takes no time
LOOKS_FIRST, LOOKED_FIRST = 1, 2  # the submitter's look at the energy before the first job


@inlined
def run_answerer(session: Session) -> None:
    """Send the next decision when its date has come, and then that the whole reply is carried out."""
    talk = session.talk[0]
    now = session.actions.pace[0].now
    if talk.answerer_stage == ANSWERS:
        talk.answerer_stage, talk.command = NEXT, 0
    elif talk.answerer_stage == SENT:
        if talk.command >= talk.commands:
            return  # READY has arrived
        talk.answerer_stage, talk.command = NEXT, talk.command + 1
    last = talk.command == talk.commands
    date = talk.reply_date if last else session.commands[talk.command].date
    if talk.answerer_stage == NEXT and date > now:
        talk.answerer_stage = COME
        issue(session, ANSWERER, SLEEP)
        return
    talk.answerer_stage = SENT
    if last:
        send(session, ANSWERER, READY, 0)
    else:
        send(session, ANSWERER, DECISION, talk.command)


@inlined
def looks_first(session: Session) -> bool:
    """Look at the energy before the first job; return False while that takes rounds."""
    talk, meter = session.talk[0], session.meter[0]
    if talk.first_look == 0:
        talk.first_look, talk.look_rounds = LOOKS_FIRST, rounds_to_look(session)
    if talk.look_rounds > 0:
        talk.look_rounds -= 1
        return False
    talk.first_look = LOOKED_FIRST
    if meter.measures:
        meter.first = look(session)
    return True


@inlined
def run_submitter(session: Session) -> None:
    """Submit the jobs of one date together, then sleep until the next date."""
    talk = session.talk[0]
    if talk.submitter_stage == GREET:
        talk.submitter_stage = GREETED
        send(session, SUBMITTER, HELLO, 0)
        return
    if talk.submitter_stage == GONE:
        return
    if talk.submitter_stage != LEAVE:
        if talk.submitter_stage != HANDED:  # as in Batsim, the clock is not read again after sending
            talk.reached = session.actions.pace[0].now
        comes = talk.submitter_stage == SLEPT or session.jobs[0].submit <= talk.reached
        if comes and talk.first_look < LOOKED_FIRST and not looks_first(session):
            issue(session, SUBMITTER, SKIP)
            return
        if talk.submitter_stage == SLEPT:
            talk.next_job, talk.batch = talk.next_job + 1, 1
        while talk.next_job < len(session.jobs) and session.jobs[talk.next_job].submit <= talk.reached:
            talk.next_job, talk.batch = talk.next_job + 1, 1
        more = talk.next_job < len(session.jobs)
        if talk.batch:
            talk.batch, talk.submitter_stage = 0, HANDED if more else LEAVE
            send(session, SUBMITTER, SUBMIT, talk.next_job)
            return
        if more:
            talk.submitter_stage = SLEPT
            issue(session, SUBMITTER, SLEEP)
            return
    talk.submitter_stage = GONE
    send(session, SUBMITTER, BYE, 0)


# --- jobs


@inlined
def run_job(session: Session, j: int) -> None:
    """Run a job: it computes or sleeps, at most up to its walltime, then reports to the server."""
    job = session.jobs[j]
    if job.stage == START_JOB:
        job.start, job.outcome = session.actions.pace[0].now, SUCCESS
        job.stage, job.rounds = BEGIN_JOB, rounds_to_look(session)
    elif job.stage == END_JOB:
        leave(session, j)
        job.stage = LEAVE_JOB
    if job.rounds > 0:
        job.rounds -= 1
        issue(session, JOBS + j, SKIP)
    elif job.stage == BEGIN_JOB:
        look_before(session, j)
        take_machines(session, j, COMPUTES)
        job.stage = END_JOB if job.delay >= 0.0 else WAIT_FOR_WORK
        issue(session, JOBS + j, SLEEP if job.delay >= 0.0 else START)
    elif job.stage == WAIT_FOR_WORK:
        job.stage = END_JOB
        issue(session, JOBS + j, WAIT)
    else:
        go(session, j)
        if job.outcome != KILLED:  # then the actor that killed it reports
            send(session, JOBS + j, END, j)


@inlined
def leave(session: Session, j: int) -> None:
    """Make the machines of a job idle, and note how long it ran and how many rounds it takes to look at its energy."""
    job = session.jobs[j]
    take_machines(session, j, LEFT)
    run = session.actions.pace[0].now - job.start
    job.run = run if run != 0.0 else SHORTEST_RUN
    job.rounds = rounds_to_look(session)


@inlined
def go(session: Session, j: int) -> None:
    """Note the energy of a job, whose actor ends."""
    look_after(session, j)
    session.jobs[j].stage = GONE_JOB


@compiled
def take_machines(session: Session, j: int, busy: int) -> None:
    """Make the machines of a job compute, or idle again, and note how many compute now."""
    talk, job, now = session.talk[0], session.jobs[j], session.actions.pace[0].now
    m = job.first
    for _ in range(job.size):
        machine = session.machines[m]
        if busy == COMPUTES:
            talk.idle_seconds += now - machine.since
        else:
            talk.computing_seconds += now - machine.since
        machine.since, machine.busy = now, busy
        m = machine.next
    talk.computing += job.size if busy == COMPUTES else -job.size
    add_row(session, COMPUTING, talk.computing)


# --- actors that kill jobs


@compiled
def run_killer(session: Session, number: int) -> bool:
    """Kill jobs one after the other, then report to the server; return False where one is not in the middle of its run.

    The progress of work is read in a round of its own; the actor of such a job then ends it. That of one that sleeps is
    ended here.
    """
    strike, actor = session.strikes[number], JOBS + len(session.jobs) + number
    while True:
        if strike.stage == FIND and strike.at == strike.count:
            send(session, actor, KILLING, number)
            return True
        j = session.struck[strike.first + strike.at]
        job = session.jobs[j]
        if strike.stage == FIND and job.stage in (LEAVE_JOB, GONE_JOB):
            strike.at += 1  # it is over
        elif strike.stage == FIND:
            if not kills(session, j):
                return False
            strike.stage = STRIKES if job.delay < 0.0 else STRUCK
            issue(session, actor, SKIP if job.delay < 0.0 else STRIKE_DOWN)
            return True
        elif strike.stage == STRIKES:
            strike.stage, strike.at = FIND, strike.at + 1
            issue(session, actor, CANCEL)
            return True
        elif strike.stage == STRUCK:
            leave(session, j)
            strike.stage = READS
        elif job.rounds > 0:
            job.rounds -= 1
            issue(session, actor, SKIP)
            return True
        else:
            go(session, j)
            strike.stage, strike.at = FIND, strike.at + 1


@inlined
def kills(session: Session, j: int) -> bool:
    """Note that a job is killed, and its progress; return False if it has just begun or ended."""
    job, now = session.jobs[j], session.actions.pace[0].now
    place = session.actions.places[2 * j if job.delay < 0.0 else 2 * j + 1]
    if job.stage != END_JOB or (job.delay < 0.0 and job.outcome != SUCCESS):
        return False
    if place < 0:
        if job.delay >= 0.0 or waits(session, j) == 0:
            return False
        job.progress = 0.0
    elif job.delay < 0.0:
        catch_up(session.actions, place)
        job.progress = 1.0 - session.actions.left[place]
    else:
        job.progress = (now - job.start) / job.delay
    job.outcome = KILLED
    return True


@inlined
def run_actor(session: Session, actor: int) -> bool:
    """Run an actor until it issues a request; return False where a decision is none that this session knows."""
    talk = session.talk[0]
    if actor >= JOBS + len(session.jobs):
        return run_killer(session, actor - JOBS - len(session.jobs))
    if actor >= JOBS:
        run_job(session, actor - JOBS)
    elif actor == SERVER:
        return run_server(session)
    elif actor == ANSWERER:
        run_answerer(session)
    elif actor == SUBMITTER:
        run_submitter(session)
    elif actor == CALLER:
        issue(session, CALLER, SLEEP)
    elif talk.ends_sent:
        talk.waiters -= 1
    else:
        send(session, AWAKE_CALLER, CALL_OVER, 0)
    return True
