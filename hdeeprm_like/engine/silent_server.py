"""The server of a silent session: what it does with each message, as in ``batsim_server``."""

from hdeeprm_like.engine.actor_fields import BEGIN, CALLER, JOBS
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.rounds import CALLED, COMMAND, END, KILLS_DONE, KINDS, NO_MORE, READY, SUBMIT
from hdeeprm_like.engine.silent_energy import look, look_again, set_pstate, trace
from hdeeprm_like.engine.silent_layout import (
    ANSWER,
    CALL,
    COMPUTING,
    ENDED,
    ENDS,
    HAS_SWITCHED,
    IDLE,
    JOBS_KILLED,
    KILL,
    KILLED,
    MOST_KILLED,
    NO_MORE_JOBS,
    NOTE,
    QUERY,
    REJECT,
    REJECTED,
    RUNNING,
    SUBMITTED,
    SWITCH,
    SWITCHED,
    SWITCHES,
)
from hdeeprm_like.engine.silent_messages import report, report_arrival, report_call, report_end
from hdeeprm_like.engine.silent_network import end_work, load_links
from hdeeprm_like.engine.silent_session import (
    ANSWERS_QUERY,
    NOTHING,
    SWITCHES_EACH,
    SWITCHES_FIRST,
    Session,
    add_row,
    release,
)


@inlined
def begin_answer(tables: Session, simulation: Session, session: Session) -> None:
    """Begin to send the decisions of a reply, whose dates are in the commands."""


@inlined
def find_next(tables: Session, simulation: Session, session: Session) -> bool:
    """Note the date of the next decision; return False, and note that of the reply, if there is none."""
    talk = session.talk[0]
    if talk.command == talk.commands:
        talk.answer_date = talk.reply_date
        return False
    talk.answer_date = session.commands[talk.command].date
    return True


@inlined
def has_news(simulation: Session, session: Session) -> bool:
    """Return whether there is something to report, at last that all is over."""
    talk = session.talk[0]
    if talk.listed == 0 and finished(session):
        report(session, ENDS, 0)
        talk.ends_sent = 1
    return bool(talk.listed > 0)


@inlined
def finished(session: Session) -> bool:
    """Return whether nothing more is to be reported."""
    talk = session.talk[0]
    busy = talk.waiters > 0 or talk.killers > 0 or talk.running > 0
    return bool(talk.over and not busy and talk.completed == talk.submitted)


@compiled
def act_on(tables: Session, simulation: Session, session: Session, message: int) -> int:
    """Act on a message; return 1 if that starts another actor, -1 for a decision that this session does not know."""
    talk = session.talk[0]
    kind, row = message % KINDS, message // KINDS
    if kind == SUBMIT:
        for j in range(talk.submitted, session.sim[0].next_job):
            session.tasks[j].status = SUBMITTED
            report_arrival(session, j)
        talk.submitted = session.sim[0].next_job
    elif kind == NO_MORE:
        talk.over = 1
        report(session, NO_MORE_JOBS, 0)
    elif kind == END:
        end_job(session, row)
    elif kind == READY:
        talk.scheduler_ready, talk.ended = 1, talk.ends_sent
    elif kind == CALLED:
        talk.waiters -= 1
        report_call(session)
    elif kind == KILLS_DONE:
        end_killing(session, row)
    elif kind == COMMAND:
        return carry_out(session, row)
    return 0


@inlined
def end_job(session: Session, j: int) -> None:
    """Report the end of a job; if it ran to its walltime, its work has gone on until now."""
    report_end(session, j)
    end_work(session, session, j)
    release(session, j)
    session.talk[0].running -= 1
    close(session, j, ENDED)


@inlined
def end_killing(session: Session, row: int) -> None:
    """Report the end of the jobs that an actor has killed, and then that."""
    talk, killing = session.talk[0], session.killings[row]
    talk.killers -= 1
    for i in range(killing.first, killing.first + killing.count):
        j = session.kills[i]
        if session.tasks[j].outcome == KILLED:
            report_end(session, j)
            release(session, j)
            talk.running -= 1
            close(session, j, ENDED)
    report(session, JOBS_KILLED, row)


@inlined
def close(session: Session, j: int, status: int) -> None:
    """Record that a job is over."""
    talk = session.talk[0]
    session.tasks[j].status = status
    session.closed[talk.closed] = j
    talk.closed += 1
    talk.completed += 1


# --- decisions


@compiled
def carry_out(session: Session, place: int) -> int:
    """Carry out a decision; return 1 if that starts another actor, -1 for one that Batsim would not survive."""
    talk, command = session.talk[0], session.commands[place]
    talk.decision = place
    if command.kind == CALL:
        most = len(session.ran) - 2 * len(session.tasks) - 8
        if command.wanted <= session.actions.pace[0].now or talk.waiters >= most:
            return -1
        talk.waiters += 1
        talk.call_date, talk.spawned = command.wanted, CALLER
        return 1
    if command.kind == KILL:
        return kill(session, command.first, command.count)
    if command.kind in (QUERY, SWITCH):
        talk.doing = ANSWERS_QUERY if command.kind == QUERY else SWITCHES_FIRST
        talk.server_rounds = look_again(session)
        return 0
    job = session.tasks[command.job]
    if command.kind == NOTE and job.status in (SUBMITTED, RUNNING):
        job.note = command.number + 1
        return 0
    if command.kind == NOTE and job.status in (REJECTED, ENDED):
        return 0  # its row is written
    if job.status != SUBMITTED:
        return -1
    if command.kind == REJECT:
        close(session, command.job, REJECTED)
        return 0
    if not begin(session, command.job, command.first, command.count):
        return -1
    return 1 if load_links(session, command.job, command.use, command.uses, command.delay) else -1


@inlined
def begin(session: Session, j: int, first: int, count: int) -> bool:
    """Give a job machines, in their order; return False if one is busy."""
    talk, job = session.talk[0], session.tasks[j]
    for i in range(first, first + count):
        machine = session.machines[session.chosen[i]]
        if machine.busy != IDLE:
            return False
        machine.next = session.chosen[i + 1] if i + 1 < first + count else -1
        machine.flops = session.loads[i] if job.listed else job.flops / count if job.divided else job.flops
    job.uses, job.limit = session.commands[talk.decision].uses, session.commands[talk.decision].limit
    job.first, job.size, job.status, job.stage = session.chosen[first], count, RUNNING, BEGIN
    talk.running += 1
    talk.spawned = JOBS + j
    return True


@inlined
def kill(session: Session, first: int, count: int) -> int:
    """Start the actor that kills jobs, those not yet being killed; return 1, 0 if there are none, -1 for unknown ones.

    To find its mailbox by name then takes the server a round.
    """
    talk, killing = session.talk[0], session.killings[session.talk[0].killings]
    killing.first = talk.kills
    for i in range(first, first + count):
        job = session.tasks[session.chosen[i]]
        if job.status not in (RUNNING, ENDED):
            return -1
        if not job.killed:
            job.killed = 1
            session.kills[talk.kills] = session.chosen[i]
            talk.kills += 1
    killing.count = talk.kills - killing.first
    if killing.count == 0:
        return 0
    if killing.count > MOST_KILLED:
        return -1
    talk.spawned, talk.server_rounds = -1 - talk.killings, 1
    talk.killings += 1
    talk.killers += 1
    return 1


@compiled
def goes_on(session: Session) -> bool:
    """Go on with a decision; return whether that takes one more round."""
    talk = session.talk[0]
    if talk.doing == NOTHING:
        return False
    command = session.commands[talk.decision]
    if talk.doing == ANSWERS_QUERY:
        session.events[talk.events].joules = look(session)
        report(session, ANSWER, 0)
    else:
        if talk.doing == SWITCHES_FIRST:
            trace(session, SWITCHES, command.number)
            talk.doing, talk.switched = SWITCHES_EACH, 0
        if talk.switched < command.count:
            set_pstate(session, session.chosen[command.first + talk.switched], command.job)
            talk.switched += 1
            return True
        trace(session, HAS_SWITCHED, command.number)
        report(session, SWITCHED, command.number)
        add_row(session, COMPUTING, talk.computing)
    talk.doing = NOTHING
    return False
