"""Reader of the usual replies of a scheduler in a silent session; Python reads all others, and refuses faulty ones.

Usual is JSON as schedulers write it, with its keys in this order, without escapes, exponents and signs, whose decisions
are EXECUTE_JOB with machines in ascending order, REJECT_JOB and CALL_ME_LATER:

    {"now":10.5,"events":[{"timestamp":10,"type":"EXECUTE_JOB","data":{"job_id":"w0!3","alloc":"0-3 6"}}]}

Numbers are read as in `formats.batsim_numbers`. Each function takes the place where a part begins, which is -1 if what
precedes it is odd, and returns the place behind it, -1 if it is odd.
"""

from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.silent_layout import (
    ALLOC_WORD,
    CALL,
    CALL_END,
    CALL_WORD,
    DATA_END,
    EVENT_WORD,
    EVENTS_WORD,
    EXECUTE,
    EXECUTE_WORD,
    NEXT_EVENT,
    NOW_WORD,
    REJECT,
    REJECT_WORD,
    REPLY_END,
    TYPE_WORD,
)
from hdeeprm_like.engine.silent_session import Session

SIGNS = tuple(ord(sign) for sign in ",:{}[]")  # that may have spaces around them
SPACES = tuple(ord(sign) for sign in " \t\n\r")
QUOTE, COMMA, LIST_END, SPACE, DASH, DOT, ZERO, NINE = (ord(sign) for sign in '",] -.09')
MOST_WHOLE, MOST_DIGITS, MOST_PLACES = 17, 17, 22  # digits; a power of ten up to 1e22 is exact
EXACT_INTEGER = (1 << 53) - 1


@compiled
def match(session: Session, at: int, word: int) -> int:
    """Read a known word."""
    for place in range(session.word_ends[word], session.word_ends[word + 1]):
        sign = session.words[place]
        at = skip(session, at) if sign in SIGNS and at >= 0 else at
        if at < 0 or session.reply[at] != sign:
            return -1
        at = skip(session, at + 1) if sign in SIGNS else at + 1
    return at


@inlined
def skip(session: Session, at: int) -> int:
    """Return the place behind any spaces."""
    while session.reply[at] in SPACES:
        at += 1
    return at


@inlined
def is_digit(session: Session, at: int) -> bool:
    """Return whether there is a digit."""
    return bool(ZERO <= session.reply[at] <= NINE)


@compiled
def read_figure(session: Session, at: int) -> int:
    """Read a number into talk.figure."""
    first, number = at, 0
    if at < 0:
        return -1
    while is_digit(session, at):
        number = number * 10 + session.reply[at] - ZERO
        at += 1
        if at - first > MOST_WHOLE:
            return -1
    if at == first or (session.reply[first] == ZERO and at > first + 1):
        return -1
    if session.reply[at] != DOT:
        session.talk[0].figure = float(number)
        return at
    digits, places, at = at - first - 1, 0, at + 1
    if not is_digit(session, at):
        return -1
    while is_digit(session, at) and number <= EXACT_INTEGER:
        number = number * 10 + session.reply[at] - ZERO
        digits += 1 if number != 0 else 0
        places, at = places + 1, at + 1
    value = float(number)
    while is_digit(session, at):
        if digits < MOST_DIGITS:
            value = value * 10.0 + (session.reply[at] - ZERO)
            digits, places = digits + 1, places + 1
        at += 1
    if places > MOST_PLACES:
        return -1
    power = 1.0
    for _ in range(places):
        power *= 10.0
    session.talk[0].figure = value / power
    return at


@inlined
def read_number(session: Session, at: int, below: int) -> int:
    """Read a nonnegative integer without further zeros, into command.number."""
    command, first, number = session.commands[session.talk[0].commands], at, 0
    if at < 0:
        return -1
    while is_digit(session, at) and number < below:
        number = number * 10 + session.reply[at] - ZERO
        at += 1
    command.number = number
    return at if at > first and number < below and (session.reply[first] != ZERO or at == first + 1) else -1


@compiled
def read_job(session: Session, at: int) -> int:
    """Read the number in the name of a job."""
    command = session.commands[session.talk[0].commands]
    at = read_number(session, at, len(session.numbers))
    command.job = session.numbers[command.number] if at >= 0 else -1
    return at if command.job >= 0 else -1


@compiled
def read_machines(session: Session, at: int) -> int:
    """Read machines such as 0-3 6, in ascending order, up to the quote behind them."""
    command, latest = session.commands[session.talk[0].commands], -1
    used = command.first
    while True:
        at = read_number(session, at, len(session.machines))
        if at < 0 or command.number <= latest:
            return -1
        first = latest = command.number
        if session.reply[at] == DASH:
            at = read_number(session, at + 1, len(session.machines))
            if at < 0 or command.number < first:
                return -1
            latest = command.number
        if used + latest - first >= len(session.chosen):
            return -1
        for m in range(first, latest + 1):
            session.chosen[used] = m
            used += 1
        if session.reply[at] == QUOTE:
            command.count = used - command.first
            return at
        if session.reply[at] != SPACE:
            return -1
        at += 1


# --- the reply


@compiled
def read_reply(session: Session) -> bool:
    """Read a reply; return False if it is not usual."""
    talk, used = session.talk[0], 0
    at = read_figure(session, match(session, 0, NOW_WORD))
    talk.reply_date, talk.commands = talk.figure, 0
    at = match(session, at, EVENTS_WORD)
    more = at >= 0 and session.reply[at] != LIST_END
    while more:
        command = session.commands[talk.commands]
        command.first = used
        at = read_event(session, at)
        if at < 0 or command.date > talk.reply_date or talk.commands + 1 == len(session.commands):
            return False
        used += command.count
        talk.commands += 1
        more = session.reply[at] == COMMA
        at = match(session, at, NEXT_EVENT) if more else at
    return bool(match(session, at, REPLY_END) == talk.reply)


@compiled
def read_event(session: Session, at: int) -> int:
    """Read a decision; its command has the place of its machines."""
    talk, command = session.talk[0], session.commands[session.talk[0].commands]
    at = match(session, read_figure(session, match(session, at, EVENT_WORD)), TYPE_WORD)
    command.date, command.count, command.uses = talk.figure, 0, 0
    place = match(session, at, EXECUTE_WORD)
    if place >= 0:
        command.kind = EXECUTE
        place = read_machines(session, match(session, read_job(session, place), ALLOC_WORD))
        return match(session, place, DATA_END) if place >= 0 and can_start(session) else -1
    place = match(session, at, REJECT_WORD)
    if place >= 0:
        command.kind = REJECT
        return match(session, read_job(session, place), DATA_END)
    command.kind = CALL
    at = read_figure(session, match(session, at, CALL_WORD))
    command.wanted = talk.figure
    return match(session, at, CALL_END)


@inlined
def can_start(session: Session) -> bool:
    """Return whether all that a start needs is known, which Python finds where it is not."""
    command = session.commands[session.talk[0].commands]
    job, way = session.tasks[command.job], session.machines[session.chosen[command.first]].way
    return bool(way == 1 and not job.listed and not job.sends and job.wanted in (0, command.count))
