"""The messages of a silent session to its scheduler, written as Batsim does.

Frequent events are written here; of the others, the place in the message is noted, where Python inserts them.
"""

from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.digits import LARGEST, Bytes, put_next, put_whole
from hdeeprm_like.engine.silent_layout import (
    ALLOC_PART,
    CALLED_PART,
    CODE_PART,
    COMPLETED_PART,
    EVENT_BYTES,
    EVENT_END,
    EVENT_PART,
    EVENTS_PART,
    FAILED_PART,
    FORGOTTEN,
    HEAD,
    KILLED,
    KILLED_PART,
    MESSAGE_END,
    MESSAGE_PART,
    MOST_KILLED,
    PLACE_BYTES,
    STATE_PART,
    SUBMITTED_PART,
    SUCCESS_PART,
    WALLTIME,
    WALLTIME_PART,
)
from hdeeprm_like.engine.silent_session import Session

MOST_ROWS = 8  # that an actor adds in a turn, and some
COMMA, DASH, SPACE, BRACE = ord(","), ord("-"), ord(" "), ord("}")


@inlined
def put_piece(out: Bytes, at: int, text: Bytes, first: int, end: int) -> int:
    """Write the bytes of a text from *first* up to, not including, *end*; return the place of the next byte."""
    for place in range(first, end):
        out[at] = text[place]
        at += 1
    return at


@inlined
def put_part(session: Session, at: int, part: int) -> int:
    """Write a part of a message; return the place of the next byte."""
    return put_piece(session.out, at, session.words, session.word_ends[part], session.word_ends[part + 1])


@inlined
def put_date(session: Session, at: int, date: float) -> int:
    """Write a date in s; return the place of the next byte, which overwrites the comma behind the number."""
    return put_next(session.out, at, date) - 1


@inlined
def begin_event(session: Session, part: int) -> int:
    """Write the beginning of an event, up to its data; return the place of the next byte."""
    talk, now = session.talk[0], session.actions.pace[0].now
    at = talk.written
    if talk.listed > 0:
        session.out[at] = COMMA
        at += 1
    talk.listed += 1
    if now >= LARGEST:
        talk.unusual = 1
        return int(at)
    return put_part(session, put_date(session, put_part(session, at, EVENT_PART), now), part)


@compiled
def report_arrival(session: Session, j: int) -> None:
    """Report the arrival of a job."""
    job, at = session.tasks[j], begin_event(session, SUBMITTED_PART)
    at = put_piece(session.out, at, session.texts, job.text, job.text_end)
    session.out[at] = BRACE
    session.talk[0].written = at + 1


@compiled
def report_end(session: Session, j: int) -> None:
    """Report the end of a job, and keep its machines as text, for the output files."""
    job, talk = session.tasks[j], session.talk[0]
    write_machines(session, j)
    at = put_piece(session.out, begin_event(session, COMPLETED_PART), session.texts, job.text, job.text_key)
    part, code = SUCCESS_PART if job.code == 0 else FAILED_PART, job.code
    if job.outcome == WALLTIME:
        part, code = WALLTIME_PART, -1
    elif job.outcome == KILLED:
        part, code = KILLED_PART, -2 if job.delay < 0.0 else -1
    at = put_part(session, put_part(session, put_part(session, at, STATE_PART), part), CODE_PART)
    if code < 0:
        session.out[at] = DASH
        at += 1
    at = put_part(session, put_whole(session.out, at, abs(code)), ALLOC_PART)
    first = job.alloc - talk.fetched
    at = put_piece(session.out, at, session.allocs, first, first + job.alloc_length)
    talk.written = put_part(session, at, EVENT_END)


@inlined
def write_machines(session: Session, j: int) -> None:
    """Write the machines of a job as intervals: ``0-3 6``."""
    job, talk = session.tasks[j], session.talk[0]
    at, m = talk.allocs, job.first
    first, left = m, job.size
    while left > 0:
        following = session.machines[m].next
        left -= 1
        if left == 0 or following != m + 1:
            at = put_whole(session.allocs, at, first)
            if m > first:
                session.allocs[at] = DASH
                at = put_whole(session.allocs, at + 1, m)
            if left > 0:
                session.allocs[at] = SPACE
                at += 1
            first = following
        m = following
    job.alloc, job.alloc_length = talk.fetched + talk.allocs, at - talk.allocs
    talk.allocs = at


@inlined
def report_call(session: Session) -> None:
    """Report that the time of a call has come."""
    session.talk[0].written = begin_event(session, CALLED_PART)


@inlined
def report(session: Session, kind: int, row: int) -> None:
    """Note the place of an event that Python writes."""
    talk, event = session.talk[0], session.events[session.talk[0].events]
    if talk.listed > 0:
        session.out[talk.written] = COMMA
        talk.written += 1
    event.kind, event.job, event.time, event.place = kind, row, session.actions.pace[0].now, talk.written
    talk.listed += 1
    talk.events += 1


@compiled
def deliver(tables: Session, simulation: Session, session: Session) -> bool:
    """Write the end of the message, and before its events what precedes them; return True: it is to be answered.

    The scheduler then knows which jobs are over.
    """
    talk = session.talk[0]
    while talk.forgotten < talk.closed:
        session.tasks[session.closed[talk.forgotten]].status = FORGOTTEN
        talk.forgotten += 1
    at, now = put_part(session, talk.written, MESSAGE_END), session.actions.pace[0].now
    end = put_part(session, put_date(session, put_part(session, at, MESSAGE_PART), now), EVENTS_PART)
    talk.head = HEAD - (end - at)
    for place in range(end - at):
        session.out[talk.head + place] = session.out[at + place]
    talk.written = at
    return True


@inlined
def has_room(session: Session) -> bool:
    """Return whether there is room for what any actor may write in a turn."""
    talk, most = session.talk[0], PLACE_BYTES * len(session.machines)
    margin = MOST_KILLED * (EVENT_BYTES + talk.longest) + most  # the rest of `out` is for jobs that arrive together
    few = talk.rows <= len(session.rows) - MOST_ROWS
    return bool(few and talk.allocs <= len(session.allocs) - most and talk.written <= HEAD + margin)
