"""What a scheduler knows of those who submit jobs: what their past jobs asked for and how long these really ran.

One record for all policies of an action space, brought up to date from the list of changes when one of them decides.
Nothing of the future is in it: a run time comes in when its job has ended.
"""

import numpy as np

from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.job_lists import BLOCK
from hdeeprm_like.engine.numbers import FIRST_PREDICTED, RUN_TIMES
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import ENDED, KIND_BITS, KIND_MASK, STARTED, SUBMITTED, Tables, longer
from hdeeprm_like.types import Floats, Ints, Records

PREDICTORS = len(RUN_TIMES) - FIRST_PREDICTED
REMEMBERED = 32  # ended jobs of each user
RANGES, BINS = 4, 40  # of the requested time, and of how small a share of it jobs run
RANGE_ENDS = (1800.0, 14400.0, 50000.0)  # s
BIN = 0.3  # width of a bin in ln(requested / run time)
FADING = 0.998  # of what is known of all users, with each job that ends
PRIOR = 10.0  # jobs that the distribution before the first one is worth: any share of the request is as likely
EXACT = 1.0  # s that a job may miss its request by and still have run exactly as long as requested

PAST = np.dtype(
    [
        ("cursor", "i8"),  # changes of the cluster that have been read
        ("inexact", "i8"),  # ended jobs that did not run as long as requested
        ("ended", "i8"),
        ("classes", "i8"),  # used entries of History.classes
        ("siblings_at", "f8"),  # s, when the longest running job of each class was last found
    ],
    align=True,
)

USER = np.dtype(
    [
        ("ended", "i8"),  # jobs
        ("last", "f8"),  # s that the last job to end ran,
        ("before", "f8"),  # and the one before it
        ("log_ratio", "f8"),  # ln(run time / requested) of ended jobs, those of late weighing more
        ("running", "i8"),  # jobs
        ("waiting", "i8"),  # jobs
        ("cores", "i8"),  # that the running jobs have
    ],
    align=True,
)

ENDED_JOB = np.dtype(
    [
        ("run_time", "f8"),  # s
        ("log_request", "f8"),  # of the requested time in s
        ("log_cores", "f8"),
        ("submit", "f8"),  # s
    ],
    align=True,
)

CLASS = np.dtype(
    [
        ("user", "i8"),
        ("request", "f8"),  # s
        ("last", "f8"),  # s that the last job of the class to end ran, 0 before
        ("oldest", "f8"),  # s, start of the job that has run longest
        ("oldest_at", "f8"),  # s, when that was found; at other times nothing is known of running ones
    ],
    align=True,
)

ESTIMATE = np.dtype(
    [
        ("seen", "i8"),  # ended jobs of the user that it was made of, -1 for none made
        ("made", "f8"),  # s
        ("time", "f8"),  # s, the mean of the run time
        ("rate", "f8"),  # 1/s, the mean of 1 / max(run time, 10 s)
        ("log_time", "f8"),  # the mean of ln(max(run time, 10 s))
        ("short", "f8"),  # chance to run less than 10 minutes
    ],
    align=True,
)


class History(Bundle):
    """What is known of past jobs; U users, J jobs, C = J classes at most.

    A *class* is all jobs of one user with one requested time, which are often runs of one program.

    Attributes:
        past: (1,) PAST. users: (U,) USER.
        ended: (U * REMEMBERED,) ENDED_JOB, a ring for each user.
        shares: (RANGES, BINS) how many jobs of all users ran which share of their request, fading.
        classes: (C,) CLASS. class_of: (J,) of each job. places: (2^n,) hash table: the class, -1 for none.
        estimates: (J,) ESTIMATE of the run time of waiting jobs.
        planned: (PREDICTORS, J) s that each job was last predicted to run, 0 if it never was.
    """

    past: Records
    users: Records
    ended: Records
    shares: Floats
    classes: Records
    class_of: Ints
    places: Ints
    estimates: Records
    planned: Floats


def new_history(state: State) -> History:
    """Return a history in which nothing has happened."""
    jobs = len(state.tables.jobs)
    shares = np.exp(-BIN * np.arange(BINS)) * (np.exp(BIN / 2) - np.exp(-BIN / 2))
    shares[0] = 1.0 - np.exp(-BIN / 2)
    past, estimates = np.zeros(1, PAST), np.zeros(jobs, ESTIMATE)
    past["siblings_at"], estimates["seen"] = -1.0, -1
    return History(
        past=past,
        users=np.zeros(state.users, USER),
        ended=np.zeros(state.users * REMEMBERED, ENDED_JOB),
        shares=np.tile(PRIOR * shares, (RANGES, 1)),
        classes=np.zeros(jobs, CLASS),
        class_of=np.zeros(jobs, np.int32),
        places=empty_places(jobs),
        estimates=estimates,
        planned=np.zeros((PREDICTORS, jobs)),
    )


def empty_places(jobs: int) -> Ints:
    """Return a hash table that at most half is filled of by so many classes."""
    places: Ints = np.full(1 << max(2 * jobs - 1, 1).bit_length(), -1, np.int32)
    return places


def make_room(history: History, jobs: int, users: int) -> None:
    """Let there be room for so many jobs and users; under Batsim they become known on the way."""
    if users > len(history.users):
        history.users = longer(history.users, users)
        history.ended = longer(history.ended, users * REMEMBERED)
    before = len(history.class_of)
    if jobs > before:
        for name in ("classes", "class_of", "estimates"):
            setattr(history, name, longer(getattr(history, name), jobs))
        history.estimates["seen"][before:] = -1
        planned = np.zeros((PREDICTORS, jobs))
        planned[:, :before] = history.planned
        history.planned = planned
        history.places = empty_places(jobs)
        for number in range(int(history.past["classes"][0])):
            put_class(history, number)


@compiled
def place_of(history: History, user: int, request: float) -> int:
    """Return where in the hash table a class stands, or belongs."""
    last = len(history.places) - 1
    place = (int(request) * 2654435761 + user * 40503) & last
    while history.places[place] >= 0:
        found = history.classes[history.places[place]]
        if found.user == user and found.request == request:
            break
        place = (place + 1) & last
    return int(place)


@compiled
def put_class(history: History, number: int) -> None:
    """Put a class into the hash table."""
    found = history.classes[number]
    history.places[place_of(history, found.user, found.request)] = number


@compiled
def class_of(history: History, user: int, request: float) -> int:
    """Return the class of the jobs of a user with a requested time; a new one if these are the first."""
    place = place_of(history, user, request)
    number = history.places[place]
    if number < 0:
        number = history.past[0].classes
        history.past[0].classes += 1
        history.places[place] = number
        new = history.classes[number]
        new.user, new.request, new.last, new.oldest_at = user, request, 0.0, -1.0
    return int(number)


@compiled
def range_of(request: float) -> int:
    """Return the range of a requested time in s."""
    if request <= RANGE_ENDS[0]:
        return 0
    if request <= RANGE_ENDS[1]:
        return 1
    return 2 if request <= RANGE_ENDS[2] else 3


@compiled
def read_history(tables: Tables, history: History) -> None:
    """Take in what has happened to jobs since the last look."""
    past, clock = history.past[0], tables.clock[0]
    while past.cursor < clock.changes:
        change = tables.changes[past.cursor]
        kind, j = change & KIND_MASK, change >> KIND_BITS
        past.cursor += 1
        job, user = tables.jobs[j], history.users[tables.jobs[j].user]
        if kind == SUBMITTED:
            user.waiting += 1
            history.class_of[j] = class_of(history, job.user, job.requested_time)
        elif kind == STARTED:
            user.waiting -= 1
            user.running += 1
            user.cores += job.size
        elif kind == ENDED:
            user.running -= 1
            user.cores -= job.size
            remember(tables, history, j)


@compiled
def remember(tables: Tables, history: History, j: int) -> None:
    """Take in how long a job ran that has ended."""
    past, job, user = history.past[0], tables.jobs[j], history.users[tables.jobs[j].user]
    run_time, request = job.finish - job.start, max(job.requested_time, 1.0)
    past.ended += 1
    if abs(run_time - request) >= EXACT:
        past.inexact += 1
    at = history.ended[job.user * REMEMBERED + user.ended % REMEMBERED]
    at.run_time, at.log_request, at.log_cores = run_time, np.log(request), np.log(float(job.size))
    at.submit = job.submit
    user.ended += 1
    log_ratio = min(max(np.log(max(run_time, 1.0) / request), -7.0), 0.5)
    user.log_ratio += max(0.3, 1.0 / user.ended) * (log_ratio - user.log_ratio)
    user.before, user.last = user.last, run_time
    history.classes[history.class_of[j]].last = run_time
    kind = range_of(request)
    b = int(np.log(request / max(run_time, 1.0)) / BIN + 0.5)
    for i in range(BINS):
        history.shares[kind, i] *= FADING
    history.shares[kind, max(0, min(BINS - 1, b))] += 1.0


@compiled
def find_siblings(tables: Tables, history: History) -> None:
    """Find the job of each class that has run longest, once in an instant."""
    past, now = history.past[0], tables.clock[0].now
    if past.siblings_at == now:
        return
    past.siblings_at = now
    for place in range(tables.running.lists[0].blocks):
        b = tables.running.directory[0, place]
        for i in range(b * BLOCK, b * BLOCK + tables.running.sizes[0, b]):
            j = tables.running.jobs[0, i]
            running = history.classes[history.class_of[j]]
            start = tables.jobs[j].start
            running.oldest = min(running.oldest, start) if running.oldest_at == past.siblings_at else start
            running.oldest_at = past.siblings_at
