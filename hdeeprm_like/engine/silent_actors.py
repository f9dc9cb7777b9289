"""The actors of a silent session: what each does at its turn, as in ``batsim_server``."""

from hdeeprm_like.engine.actions import remove_at
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.silent_layout import (
    ANSWERER,
    AWAKE_CALLER,
    BEGINS,
    CALL,
    CALLED,
    CALLER,
    ENDED,
    ENDS,
    FORGOTTEN,
    JOB_COMPLETED,
    JOB_SUBMITTED,
    JOBS,
    NO_MORE_JOBS,
    REJECT,
    REJECTED,
    RUNNING,
    SERVER,
    SUBMITTED,
    SUBMITTER,
    SUCCESS,
)
from hdeeprm_like.engine.silent_session import (
    ANSWERS,
    ASK,
    BEGIN,
    BYE,
    CALL_OVER,
    COME,
    DECISION,
    END,
    END_JOB,
    GET,
    GONE,
    GREET,
    GREETED,
    HANDED,
    HEAR,
    HELLO,
    KINDS,
    LEAVE,
    LISTEN,
    LOOK,
    LOOKED,
    NEXT,
    READY,
    SENT,
    SKIP,
    SLEEP,
    SLEPT,
    SPAWN,
    START,
    START_JOB,
    SUBMIT,
    WAIT,
    WAIT_FOR_WORK,
    Session,
    issue,
    report,
    send,
)

SHORTEST_RUN = 1e-5  # s, what Batsim reports of a job that takes no time


# --- the server


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
    if talk.server_stage == LOOK and talk.scheduler_ready and not talk.ends_sent:
        talk.server_stage, talk.was_empty = LOOKED, talk.messages == 0
        issue(session, SERVER, SKIP)
        return True
    if talk.server_stage == LOOKED and talk.was_empty and talk.events == 0 and finished(session):
        report(session, ENDS, 0)
        talk.ends_sent = 1
    if talk.server_stage == BEGIN:
        report(session, BEGINS, 0)
        inform(session)
    elif talk.server_stage == LOOKED and talk.was_empty and talk.events > 0:
        inform(session)
    elif not talk.ended:
        talk.server_stage = HEAR
        issue(session, SERVER, GET)
    return True


@inlined
def finished(session: Session) -> bool:
    """Return whether nothing more is to be reported."""
    talk = session.talk[0]
    return bool(talk.over and talk.waiters == 0 and talk.running == 0 and talk.completed == talk.submitted)


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
            report(session, JOB_SUBMITTED, j)
        talk.submitted += row - talk.announced
        talk.announced = row
    elif kind == BYE:
        talk.over = 1
        report(session, NO_MORE_JOBS, 0)
    elif kind == END:
        report(session, JOB_COMPLETED, row)
        place = session.actions.places[2 * row]
        if place >= 0:  # it ran to its walltime, and its work goes on until now
            remove_at(session.actions, place)
        talk.running -= 1
        close(session, row, ENDED)
    elif kind == READY:
        talk.scheduler_ready, talk.ended = 1, talk.ends_sent
    elif kind == CALL_OVER:
        talk.waiters -= 1
        report(session, CALLED, 0)
    elif kind == DECISION:
        return carry_out(session, row)
    return 0


@inlined
def close(session: Session, j: int, status: int) -> None:
    """Record that a job is over."""
    talk = session.talk[0]
    session.jobs[j].status = status
    session.closed[talk.closed] = j
    talk.closed += 1
    talk.completed += 1


@inlined
def carry_out(session: Session, place: int) -> int:
    """Carry out a decision; return 1 if that starts another actor, -1 for one that Batsim would not survive."""
    talk, command = session.talk[0], session.commands[place]
    if command.kind == CALL:
        if command.wanted <= session.actions.pace[0].now or talk.waiters >= len(session.ran) - len(session.jobs) - 8:
            return -1
        talk.waiters += 1
        talk.call_date, talk.spawned = command.wanted, CALLER
        return 1
    status = session.jobs[command.job].status
    if status != SUBMITTED:
        return -1
    if command.kind == REJECT:
        close(session, command.job, REJECTED)
        return 0
    return 1 if begin(session, command.job, command.first, command.count) else -1


@inlined
def begin(session: Session, j: int, first: int, count: int) -> bool:
    """Give a job machines, in their order; return False if one is busy."""
    talk, job = session.talk[0], session.jobs[j]
    for i in range(first, first + count):
        machine = session.machines[session.chosen[i]]
        if machine.busy:
            return False
        machine.next = session.chosen[i + 1] if i + 1 < first + count else -1
    job.first, job.size, job.status, job.stage = session.chosen[first], count, RUNNING, START_JOB
    talk.running += 1
    talk.spawned = JOBS + j
    return True


# --- the other actors


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


@inlined
def run_job(session: Session, j: int) -> None:
    """Run a job: it computes or sleeps, at most up to its walltime, then reports to the server."""
    job = session.jobs[j]
    if job.stage == START_JOB:
        job.start, job.outcome = session.actions.pace[0].now, SUCCESS
        take_machines(session, j, 1)
        job.stage = END_JOB if job.delay >= 0.0 else WAIT_FOR_WORK
        issue(session, JOBS + j, SLEEP if job.delay >= 0.0 else START)
    elif job.stage == WAIT_FOR_WORK:
        job.stage = END_JOB
        issue(session, JOBS + j, WAIT)
    else:
        take_machines(session, j, 0)
        run = session.actions.pace[0].now - job.start
        job.run = run if run != 0.0 else SHORTEST_RUN
        send(session, JOBS + j, END, j)


@compiled
def take_machines(session: Session, j: int, busy: int) -> None:
    """Make the machines of a job compute, or idle again, and note how many compute now."""
    talk, job, now = session.talk[0], session.jobs[j], session.actions.pace[0].now
    m = job.first
    for _ in range(job.size):
        machine = session.machines[m]
        if busy:
            talk.idle_seconds += now - machine.since
        else:
            talk.computing_seconds += now - machine.since
        machine.since, machine.busy = now, busy
        m = machine.next
    talk.computing += job.size if busy else -job.size
    session.states[talk.states].time, session.states[talk.states].computing = now, talk.computing
    talk.states += 1


@inlined
def run_actor(session: Session, actor: int) -> bool:
    """Run an actor until it issues a request; return False where a decision is none that this session knows."""
    talk = session.talk[0]
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
