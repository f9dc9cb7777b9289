"""Reader of the usual replies of a scheduler in a silent session; Python reads all others, and refuses faulty ones.

Usual is JSON without escapes, exponents, signs and unknown keys, whose decisions are EXECUTE_JOB with machines in
ascending order, REJECT_JOB and CALL_ME_LATER. Numbers are read as in `formats.batsim_numbers`.
"""

from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.silent_layout import (
    ALLOC_KEY,
    CALL,
    CALL_WORD,
    DATA_KEY,
    DATE_KEY,
    EVENTS_KEY,
    EXECUTE,
    EXECUTE_WORD,
    JOB_KEY,
    KNOWN_WORDS,
    NOW_KEY,
    REJECT,
    REJECT_WORD,
    TYPE_KEY,
)
from hdeeprm_like.engine.silent_session import Session

QUOTE, COLON, COMMA, OPEN, CLOSE, LIST, LIST_END = (ord(sign) for sign in '":,{}[]')
SPACE, DASH, DOT, ZERO, NINE, BACKSLASH, LAST_SIGN = (ord(sign) for sign in " -.09\\~")
TAB, LINE_END, RETURN = (ord(sign) for sign in "\t\n\r")
NAME = tuple(ord(sign) for sign in "w0!")  # before the number of a job
MOST_WHOLE, MOST_DIGITS, MOST_PLACES = 17, 17, 22  # digits; a power of ten up to 1e22 is exact
EXACT_INTEGER = (1 << 53) - 1
WORDS = len(KNOWN_WORDS)


# --- parts of JSON: each function takes the place where a part begins, and returns the place behind it, -1 if it is odd


@inlined
def skip(session: Session, at: int) -> int:
    """Return the place behind any spaces."""
    while session.reply[at] in (SPACE, LINE_END, TAB, RETURN):
        at += 1
    return at


@inlined
def behind(session: Session, at: int, sign: int) -> int:
    """Return the place of the next part after a sign, with spaces around it."""
    at = skip(session, at)
    return skip(session, at + 1) if session.reply[at] == sign else -1


@compiled
def read_text(session: Session, at: int) -> int:
    """Read a text without escapes."""
    if session.reply[at] != QUOTE:
        return -1
    at += 1
    while session.reply[at] != QUOTE:
        if not SPACE <= session.reply[at] <= LAST_SIGN or session.reply[at] == BACKSLASH:
            return -1
        at += 1
    return at + 1


@inlined
def is_digit(session: Session, at: int) -> bool:
    """Return whether there is a digit."""
    return bool(ZERO <= session.reply[at] <= NINE)


@compiled
def read_figure(session: Session, at: int) -> int:
    """Read a number into talk.figure."""
    first, number = at, 0
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


@compiled
def known_word(session: Session, at: int, end: int) -> int:
    """Return which known word a text is, -1 for none; *at* is the place of its first quote, *end* behind the last."""
    length = end - at - 2
    for word in range(WORDS):
        first = session.word_ends[word]
        if session.word_ends[word + 1] - first != length:
            continue
        same = 0
        while same < length and session.words[first + same] == session.reply[at + 1 + same]:
            same += 1
        if same == length:
            return word
    return -1


@compiled
def read_key(session: Session, at: int) -> tuple[int, int]:
    """Read a key and its colon; return which known word it is, -1 for none, and the place of its value, -1 for none."""
    end = read_text(session, at)
    if end < 0:
        return -1, -1
    return known_word(session, at, end), behind(session, end, COLON)


# --- the reply


@compiled
def read_reply(session: Session) -> bool:
    """Read a reply; return False if it is not usual."""
    talk, now, events = session.talk[0], -1.0, -1
    at = behind(session, 0, OPEN)
    latest = -1.0
    while at >= 0:
        word, at = read_key(session, at)
        if at < 0:
            return False
        if word == NOW_KEY and now < 0.0:
            at = read_figure(session, at)
            now = talk.figure
        elif word == EVENTS_KEY and events < 0:
            talk.commands = 0
            at = read_events(session, at)
            events, latest = talk.commands, session_latest(session)
        else:
            return False
        if at < 0:
            return False
        at = skip(session, at)
        if session.reply[at] == CLOSE:
            talk.reply_date = now
            return bool(now >= 0.0 and events >= 0 and latest <= now and skip(session, at + 1) == talk.reply)
        at = behind(session, at, COMMA)
    return False


@inlined
def session_latest(session: Session) -> float:
    """Return the latest date of a decision."""
    latest = -1.0
    for place in range(session.talk[0].commands):
        latest = max(latest, session.commands[place].date)
    return latest


@compiled
def read_events(session: Session, at: int) -> int:
    """Read the list of decisions."""
    talk, used = session.talk[0], 0
    at = behind(session, at, LIST)
    if at < 0 or session.reply[at] == LIST_END:
        return at + 1 if at >= 0 else -1
    while talk.commands < len(session.commands):
        session.commands[talk.commands].first = used
        at = read_event(session, at)
        if at < 0:
            return -1
        if session.commands[talk.commands].kind == EXECUTE:
            used += session.commands[talk.commands].count
        talk.commands += 1
        at = skip(session, at)
        if session.reply[at] == LIST_END:
            return at + 1
        at = behind(session, at, COMMA)
        if at < 0:
            return -1
    return -1


@compiled
def read_event(session: Session, at: int) -> int:
    """Read a decision; its command has the place of its machines."""
    command = session.commands[session.talk[0].commands]
    kind, date, has_data = -1, -1.0, False
    at = behind(session, at, OPEN)
    command.job, command.count, command.wanted, command.uses = -1, 0, -1.0, 0
    while at >= 0:
        word, at = read_key(session, at)
        if at < 0:
            return -1
        if word == DATE_KEY and date < 0.0:
            at = read_figure(session, at)
            date = session.talk[0].figure
        elif word == TYPE_KEY and kind < 0:
            end = read_text(session, at)
            kind, at = known_word(session, at, end) if end >= 0 else -1, end
        elif word == DATA_KEY and not has_data:
            at, has_data = read_data(session, at), True
        else:
            return -1
        if at < 0:
            return -1
        at = skip(session, at)
        if session.reply[at] == CLOSE:
            command.date = date
            return at + 1 if date >= 0.0 and has_data and takes(session, kind) else -1
        at = behind(session, at, COMMA)
    return -1


@inlined
def takes(session: Session, kind: int) -> bool:
    """Give a command its kind; return whether it has what it needs, and no more."""
    command = session.commands[session.talk[0].commands]
    if kind == EXECUTE_WORD and command.job >= 0 and command.count > 0 and command.wanted < 0.0:
        job = session.tasks[command.job]
        command.kind = EXECUTE
        known = session.machines[session.chosen[command.first]].way == 1 and not job.listed
        return bool(known and not job.sends and job.wanted in (0, command.count))
    if kind == REJECT_WORD and command.job >= 0 and command.count == 0 and command.wanted < 0.0:
        command.kind = REJECT
        return True
    command.kind = CALL
    return bool(kind == CALL_WORD and command.job < 0 and command.count == 0 and command.wanted >= 0.0)


@compiled
def read_data(session: Session, at: int) -> int:
    """Read the data of a decision: a job, its machines, or the date of a call."""
    command = session.commands[session.talk[0].commands]
    at = behind(session, at, OPEN)
    while at >= 0:
        word, at = read_key(session, at)
        if at < 0:
            return -1
        if word == JOB_KEY and command.job < 0:
            at = read_job(session, at)
        elif word == ALLOC_KEY and command.count == 0:
            at = read_machines(session, at)
        elif word == DATE_KEY and command.wanted < 0.0:
            at = read_figure(session, at)
            command.wanted = session.talk[0].figure
        else:
            return -1
        if at < 0:
            return -1
        at = skip(session, at)
        if session.reply[at] == CLOSE:
            return at + 1
        at = behind(session, at, COMMA)
    return -1


@inlined
def read_number(session: Session, at: int, below: int) -> int:
    """Read a nonnegative integer without further zeros, into command.number."""
    command, first, number = session.commands[session.talk[0].commands], at, 0
    while is_digit(session, at) and number < below:
        number = number * 10 + session.reply[at] - ZERO
        at += 1
    command.number = number
    return at if at > first and number < below and (session.reply[first] != ZERO or at == first + 1) else -1


@compiled
def read_job(session: Session, at: int) -> int:
    """Read the name of a job, such as "w0!12"."""
    command = session.commands[session.talk[0].commands]
    if session.reply[at] != QUOTE:
        return -1
    for place in range(len(NAME)):
        if session.reply[at + 1 + place] != NAME[place]:
            return -1
    at = read_number(session, at + 1 + len(NAME), len(session.numbers))
    if at < 0 or session.reply[at] != QUOTE:
        return -1
    command.job = session.numbers[command.number]
    return at + 1 if command.job >= 0 else -1


@compiled
def read_machines(session: Session, at: int) -> int:
    """Read machines such as "0-3 6", in ascending order."""
    command, latest = session.commands[session.talk[0].commands], -1
    used = command.first
    if session.reply[at] != QUOTE:
        return -1
    at += 1
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
            return at + 1
        if session.reply[at] != SPACE:
            return -1
        at += 1
