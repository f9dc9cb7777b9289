"""The server of a silent session: what it does with each message, as in ``batsim_server``."""

from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.silent_energy import look, rounds_to_look, set_pstate, trace
from hdeeprm_like.engine.silent_layout import (
    ANSWER,
    ANSWERER,
    BEGINS,
    CALL,
    CALLER,
    COMPUTING,
    ENDED,
    ENDS,
    FORGOTTEN,
    HAS_SWITCHED,
    IDLE,
    JOBS,
    JOBS_KILLED,
    KILL,
    KILLED,
    MOST_STRUCK,
    NO_MORE_JOBS,
    NOTE,
    QUERY,
    REJECT,
    REJECTED,
    RUNNING,
    SERVER,
    SUBMITTED,
    SWITCH,
    SWITCHED,
    SWITCHES,
)
from hdeeprm_like.engine.silent_messages import report, report_arrival, report_call, report_end
from hdeeprm_like.engine.silent_network import end_work, load_links
from hdeeprm_like.engine.silent_session import (
    ANSWERS_QUERY,
    ASK,
    BEGIN,
    BYE,
    CALL_OVER,
    DECISION,
    END,
    GET,
    HEAR,
    KILLING,
    KINDS,
    LISTEN,
    LOOK,
    LOOKED,
    NOTHING,
    READY,
    SKIP,
    SPAWN,
    START_JOB,
    SUBMIT,
    SWITCHES_EACH,
    SWITCHES_FIRST,
    Session,
    add_row,
    issue,
    release,
)


@inlined
def run_server(session: Session) -> bool:
    """Run the server; return False where a decision is none that this session knows.

    To find its mailbox by name, before it reports, takes the server a round.
    """
    talk = session.talk[0]
    if talk.server_stage == HEAR:
        talk.server_stage = LOOK
        spawns = act_on(session, talk.received)
        if spawns < 0:
            return False
        if spawns > 0:
            issue(session, SERVER, SPAWN)
            return True
    if talk.server_stage == LOOK and (talk.rounds > 0 or talk.doing != NOTHING) and go_on(session):
        issue(session, SERVER, SKIP)
        return True
    if talk.server_stage == LOOK and talk.scheduler_ready and not talk.ends_sent:
        talk.server_stage, talk.was_empty = LOOKED, talk.messages == 0
        issue(session, SERVER, SKIP)
        return True
    if talk.server_stage == LOOKED and talk.was_empty and talk.listed == 0 and finished(session):
        report(session, ENDS, 0)
        talk.ends_sent = 1
    if talk.server_stage == BEGIN:
        report(session, BEGINS, 0)
        inform(session)
    elif talk.server_stage == LOOKED and talk.was_empty and talk.listed > 0:
        inform(session)
    elif not talk.ended:
        talk.server_stage = HEAR
        issue(session, SERVER, GET)
    return True


@inlined
def finished(session: Session) -> bool:
    """Return whether nothing more is to be reported."""
    talk = session.talk[0]
    busy = talk.waiters > 0 or talk.killers > 0 or talk.running > 0
    return bool(talk.over and not busy and talk.completed == talk.submitted)


@inlined
def inform(session: Session) -> None:
    """Start the actor that sends the message to the scheduler, who then knows which jobs are over."""
    talk = session.talk[0]
    while talk.forgotten < talk.closed:
        session.jobs[session.closed[talk.forgotten]].status = FORGOTTEN
        talk.forgotten += 1
    talk.scheduler_ready, talk.answerer_stage, talk.spawned, talk.server_stage = 0, ASK, ANSWERER, LISTEN
    issue(session, SERVER, SPAWN)


@compiled
def act_on(session: Session, message: int) -> int:
    """Act on a message; return 1 if that starts another actor, -1 for a decision that this session does not know."""
    talk = session.talk[0]
    kind, row = message % KINDS, message // KINDS
    if kind == SUBMIT:
        for j in range(talk.announced, row):
            session.jobs[j].status = SUBMITTED
            report_arrival(session, j)
        talk.submitted += row - talk.announced
        talk.announced = row
    elif kind == BYE:
        talk.over = 1
        report(session, NO_MORE_JOBS, 0)
    elif kind == END:
        end_job(session, row)
    elif kind == READY:
        talk.scheduler_ready, talk.ended = 1, talk.ends_sent
    elif kind == CALL_OVER:
        talk.waiters -= 1
        report_call(session)
    elif kind == KILLING:
        end_killing(session, row)
    elif kind == DECISION:
        return carry_out(session, row)
    return 0


@inlined
def end_job(session: Session, j: int) -> None:
    """Report the end of a job; if it ran to its walltime, its work has gone on until now."""
    report_end(session, j)
    end_work(session, j)
    release(session, j)
    session.talk[0].running -= 1
    close(session, j, ENDED)


@inlined
def end_killing(session: Session, number: int) -> None:
    """Report the end of the jobs that an actor has killed, and then that."""
    talk, strike = session.talk[0], session.strikes[number]
    talk.killers -= 1
    for i in range(strike.first, strike.first + strike.count):
        if session.jobs[session.struck[i]].outcome == KILLED:
            report_end(session, session.struck[i])
            release(session, session.struck[i])
            talk.running -= 1
            close(session, session.struck[i], ENDED)
    report(session, JOBS_KILLED, number)


@inlined
def close(session: Session, j: int, status: int) -> None:
    """Record that a job is over."""
    talk = session.talk[0]
    session.jobs[j].status = status
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
        most = len(session.ran) - 2 * len(session.jobs) - 8
        if command.wanted <= session.actions.pace[0].now or talk.waiters >= most:
            return -1
        talk.waiters += 1
        talk.call_date, talk.spawned = command.wanted, CALLER
        return 1
    if command.kind == KILL:
        return kill(session, command.first, command.count)
    if command.kind in (QUERY, SWITCH):
        talk.doing = ANSWERS_QUERY if command.kind == QUERY else SWITCHES_FIRST
        talk.rounds = rounds_to_look(session)
        return 0
    job = session.jobs[command.job]
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
    talk, job = session.talk[0], session.jobs[j]
    for i in range(first, first + count):
        machine = session.machines[session.chosen[i]]
        if machine.busy != IDLE:
            return False
        machine.next = session.chosen[i + 1] if i + 1 < first + count else -1
        machine.flops = session.loads[i] if job.listed else job.flops / count if job.divided else job.flops
    job.uses, job.limit = session.commands[talk.decision].uses, session.commands[talk.decision].limit
    job.first, job.size, job.status, job.stage = session.chosen[first], count, RUNNING, START_JOB
    talk.running += 1
    talk.spawned = JOBS + j
    return True


@inlined
def kill(session: Session, first: int, count: int) -> int:
    """Start the actor that kills jobs, those not yet being killed; return 1, 0 if there are none, -1 for unknown ones.

    To find its mailbox by name then takes the server a round.
    """
    talk, strike = session.talk[0], session.strikes[session.talk[0].strikes]
    strike.first = talk.struck
    for i in range(first, first + count):
        job = session.jobs[session.chosen[i]]
        if job.status not in (RUNNING, ENDED):
            return -1
        if not job.killed:
            job.killed = 1
            session.struck[talk.struck] = session.chosen[i]
            talk.struck += 1
    strike.count = talk.struck - strike.first
    if strike.count == 0:
        return 0
    if strike.count > MOST_STRUCK:
        return -1
    talk.spawned, talk.rounds = JOBS + len(session.jobs) + talk.strikes, 1
    talk.strikes += 1
    talk.killers += 1
    return 1


@compiled
def go_on(session: Session) -> bool:
    """Go on with a decision; return whether that takes one more round."""
    talk = session.talk[0]
    if talk.rounds > 0:
        talk.rounds -= 1
        return True
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
