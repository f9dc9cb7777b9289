"""Jobs in a session of Batsim's server: their machines, their energy, and their progress where they are killed."""

from hdeeprm_like.engine.actions import catch_up
from hdeeprm_like.engine.actor_fields import AWAKE
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.silent_energy import joules_of, look, look_again, trace, update
from hdeeprm_like.engine.silent_layout import AT_END, AT_START, COMPUTES, COMPUTING, KILLED, LEFT
from hdeeprm_like.engine.silent_network import waits
from hdeeprm_like.engine.silent_session import Session, add_row
from hdeeprm_like.engine.tasks import SHORTEST_RUN


@inlined
def rounds_to_look(tables: Session, session: Session) -> int:
    """Return how many rounds it takes an actor to look at the energy."""
    return look_again(session)


@inlined
def look_first(session: Session) -> None:
    """Note the energy before the first job."""
    if session.meter[0].measures:
        session.meter[0].first = look(session)


@inlined
def look_at_lowest(tables: Session, simulation: Session, session: Session, j: int) -> None:
    """Count the joules of the first machine of a job until now."""
    if session.meter[0].measures:
        update(session, session.tasks[j].first)


@inlined
def begin(tables: Session, simulation: Session, session: Session, j: int) -> None:
    """Start a job."""
    session.tasks[j].start = session.actions.pace[0].now


@inlined
def look_before(tables: Session, simulation: Session, session: Session, j: int) -> None:
    """Note the joules of a job's machines before it, which then compute."""
    if session.meter[0].measures:
        look(session)
        session.tasks[j].joules = joules_of(session, j)
        trace(session, AT_START, j)
    take_machines(session, j, COMPUTES)


@inlined
def finish(tables: Session, simulation: Session, session: Session, j: int) -> None:
    """Make the machines of a job idle, and note how long it ran."""
    take_machines(session, j, LEFT)
    run = session.actions.pace[0].now - session.tasks[j].start
    session.tasks[j].run = run if run != 0.0 else SHORTEST_RUN


@inlined
def look_after(tables: Session, simulation: Session, session: Session, j: int) -> None:
    """Note the joules that a job has used."""
    if session.meter[0].measures:
        look(session)
        session.tasks[j].joules = joules_of(session, j) - session.tasks[j].joules
        trace(session, AT_END, j)


@compiled
def take_machines(session: Session, j: int, busy: int) -> None:
    """Make the machines of a job compute, or idle again, and note how many compute now."""
    talk, job, now = session.talk[0], session.tasks[j], session.actions.pace[0].now
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


@inlined
def kills(simulation: Session, session: Session, j: int) -> bool:
    """Note that a job is killed, and its progress; return False if it has just begun or ended."""
    job, now = session.tasks[j], session.actions.pace[0].now
    place = session.actions.places[2 * j if job.delay < 0.0 else 2 * j + 1]
    if job.stage != AWAKE or (job.delay < 0.0 and job.outcome != 0):
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
