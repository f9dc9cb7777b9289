"""Knowledge about users: what their past jobs requested and how long these really ran.

All policies of an action space share one record, updated from the list of changes when one of them decides.
It holds nothing of the future: a run time enters when its job has ended.

A *group* is all jobs of one user, or those with one requested time, which are often runs of one program, or those of
one program, where its number is known. Jobs of unknown users are counted as those of one user, but are not used to
predict each other.
"""

import math
from collections.abc import Sequence

import numpy as np

from hdeeprm_like.decision.policies.history_rows import GROUP, KNOWN, OUTLOOK, PAST
from hdeeprm_like.decision.policies.trees import Trees, new_trees
from hdeeprm_like.decision.tree_files import Predictor
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled, entry, inlined
from hdeeprm_like.engine.job_lists import jobs_of
from hdeeprm_like.engine.numbers import EXPECTED, FIRST_PREDICTED, LEARNED, SURVIVAL
from hdeeprm_like.engine.tables import ENDED, KIND_BITS, KIND_MASK, STARTED, SUBMITTED, WITHDRAWN, Tables
from hdeeprm_like.types import Floats, Ints, Records

BUILT_IN = LEARNED - FIRST_PREDICTED  # predictors
RANGES, BINS = 4, 40  # ranges of requested times, and bins of the share of them that jobs run
RANGE_ENDS = (1800.0, 14400.0, 50000.0)  # s
BIN = 0.3  # width of a bin in ln(requested / run time)
FADING = 0.998  # fading factor of the distribution of all users, per ended job
PRIOR = 10.0  # weight in jobs of the prior: all shares of the request are equally likely
DEMANDS = 40  # length classes of jobs: class k ran from e^(k / 2) to e^((k + 1) / 2) s
RECENT = 0.99  # weight of a job relative to the next one, in the demand of each length class
MISSED = 1.0  # s by which a job may miss its request and still count as exact
EXACT_ENOUGH = 0.05  # mean |ln(run time / requested)| of recent jobs up to which requests count as exact
USUAL_ERROR = 0.5  # |ln(run time / requested)| at which a request counts as much as the estimate
OTHERS = 5.0  # weight in jobs of the user of the error of all requests
REMEMBERED = 32  # last ended jobs of a user that an estimate uses
LEAST = 10.0  # s, shorter jobs count as this long, as in the bounded slowdown
LOG_LEAST = math.log(LEAST)
LADDERS = 61  # number of requested times whose shares are cached; prime, since users request whole minutes
BINS_OF_TIME, COLUMNS = 64, 5  # of History.bins
STEPS = 3  # points of an estimate for the remaining run time of a running job of the group
TIME, WEIGHT, LOG = 0, 1, 2  # columns of History.points; the last is ln(max(s, LEAST))
ANY = -1.0  # instead of a requested time: the group of all jobs of a user
PROGRAMS = -2.0  # instead of a requested time, less the program: the group of a user's jobs of one program
NONE = -1  # no job or no group
OUTLOOKS = EXPECTED, SURVIVAL  # run times whose outlooks are the first rows of History.outlooks
OF_EXPECTED, OF_SURVIVAL = range(len(OUTLOOKS))


class History(Bundle):
    """Knowledge about past jobs; J jobs, P predictors: the built-in ones, then the learned ones.

    Attributes:
        past: (1,) PAST. groups: (3J,) GROUP. places: (2^n,) hash table of groups, NONE if empty.
        demand: (2, DEMANDS) core seconds, and cores squared times s, of ended jobs of each length class, fading.
        shares: (RANGES, BINS) fading number of jobs of all users by share of their request.
        shared_times: (LADDERS, 2 BINS) s that a job runs at each share of its request, and their LOG, for the
        requested times in *requests*, (LADDERS,) s.
        jobs: (J,) KNOWN of each submitted job.
        points: (BINS + REMEMBERED + STEPS, 2) scratch: run times in s and their weights, the distribution of one job.
        planned: (P, J) s, last predicted run time of each job, 0 if there was none.
        outlooks: (V, J) OUTLOOK, by the run times numbered in *viewed*, (V,): OUTLOOKS, then others that scores use.
        bins: (BINS_OF_TIME, COLUMNS) scratch: the survival model of one job, see `survival`.
        trees: of the learned predictors.
    """

    past: Records
    groups: Records
    places: Ints
    demand: Floats
    shares: Floats
    shared_times: Floats
    requests: Floats
    points: Floats
    jobs: Records
    planned: Floats
    viewed: Ints
    outlooks: Records
    bins: Floats
    trees: Trees


def new_history(jobs: int, predictors: Sequence[Predictor] = (), viewed: Sequence[int] = OUTLOOKS) -> History:
    """Return an empty history.

    Args:
        jobs: capacity. predictors: the learned ones in use, in the order of their numbers.
        viewed: numbers of the run times whose outlooks are used, those of `OUTLOOKS` first.
    """
    shares = np.exp(-BIN * np.arange(BINS)) * (np.exp(BIN / 2) - np.exp(-BIN / 2))
    shares[0] = 1.0 - np.exp(-BIN / 2)
    past = np.zeros(1, PAST)
    past["siblings_at"] = -1.0
    return History(
        past=past,
        groups=np.zeros(3 * jobs, GROUP),
        places=empty_places(jobs),
        demand=np.zeros((2, DEMANDS)),
        shares=np.tile(PRIOR * shares, (RANGES, 1)),
        shared_times=np.zeros((LADDERS, 2 * BINS)),
        requests=np.zeros(LADDERS),
        points=np.zeros((BINS + REMEMBERED + STEPS, 3)),
        jobs=np.zeros(jobs, KNOWN),
        planned=np.zeros((BUILT_IN + len(predictors), jobs)),
        viewed=np.array(viewed, np.int64),
        outlooks=np.zeros((len(viewed), jobs), OUTLOOK),
        bins=np.zeros((BINS_OF_TIME, COLUMNS)),
        trees=new_trees(predictors, jobs),
    )


def empty_places(jobs: int) -> Ints:
    """Return a hash table at most half full with the groups of *jobs* jobs."""
    places: Ints = np.full(1 << (6 * jobs).bit_length(), NONE, np.int32)
    return places


def find_again(history: History) -> None:
    """Make the hash table anew, after the arrays have grown."""
    history.places[:] = NONE
    for number in range(int(history.past["groups"][0])):
        put_group(history, number)


@compiled
def place_of(history: History, user: int, request: float) -> int:
    """Return the place of a group in the hash table, or where it belongs."""
    last = len(history.places) - 1
    place = ((int(request) + 2) * 2654435761 + (user + 2) * 40503) & last
    while history.places[place] != NONE:
        found = history.groups[history.places[place]]
        if found.user == user and found.request == request:
            break
        place = (place + 1) & last
    return int(place)


@entry
def put_group(history: History, number: int) -> None:
    """Insert a group into the hash table."""
    found = history.groups[number]
    history.places[place_of(history, found.user, found.request)] = number


@compiled
def group_of(history: History, user: int, request: float) -> int:
    """Return the group of a user's jobs with a requested time, or ANY; create it for the first such job."""
    place, past = place_of(history, user, request), history.past[0]
    if history.places[place] == NONE:
        new = history.groups[past.groups]
        new.user, new.request = user, request
        new.ended, new.running, new.waiting, new.cores, new.latest = 0, 0, 0, 0, NONE
        new.last, new.before, new.log_ratio, new.oldest, new.oldest_at, new.used = 0.0, 0.0, 0.0, 0.0, -1.0, 0.0
        new.error = 0.0
        history.places[place] = past.groups
        past.groups += 1
        if request == ANY:
            past.users += 1
    return int(history.places[place])


@compiled
def range_of(request: float) -> int:
    """Return the range of a requested time in s."""
    if request <= RANGE_ENDS[0]:
        return 0
    if request <= RANGE_ENDS[1]:
        return 1
    return 2 if request <= RANGE_ENDS[2] else 3


@entry
def read_history(tables: Tables, history: History) -> None:
    """Read what has happened to jobs since the last call."""
    begin_reading(history)
    while history.past[0].cursor < tables.clock[0].changes:
        read_change(tables, history)


@compiled
def begin_reading(history: History) -> None:
    """Prepare for what has happened since the last call."""
    past = history.past[0]
    past.refreshed = 0
    if past.cursor == 0:  # in a batch the table still holds the groups of the previous run
        for place in range(len(history.places)):
            history.places[place] = NONE


@compiled
def read_change(tables: Tables, history: History) -> None:
    """Read the next change of a job."""
    past = history.past[0]
    change = tables.changes[past.cursor]
    kind, j = change & KIND_MASK, change >> KIND_BITS
    past.cursor += 1
    if kind == SUBMITTED:
        open_record(tables, history, j)
    known = history.jobs[j]
    count_job(history, known.user, kind, tables.jobs[j].size)
    count_job(history, known.group, kind, tables.jobs[j].size)
    if kind == ENDED:
        remember(tables, history, j)


@compiled
def open_record(tables: Tables, history: History, j: int) -> None:
    """Begin the record of a submitted job."""
    known, job = history.jobs[j], tables.jobs[j]
    known.user, known.group = group_of(history, job.user, ANY), group_of(history, job.user, job.requested_time)
    known.program = group_of(history, job.user, PROGRAMS - job.program) if job.program >= 0 else NONE
    known.before, known.same_before = NONE, NONE
    for view in range(len(history.outlooks)):
        history.outlooks[view, j].seen = NONE
    known.log_request, known.log_cores = np.log(max(job.requested_time, 1.0)), np.log(float(job.size))
    known.work = np.exp(known.log_request) * job.size
    for predictor in range(len(history.planned)):
        history.planned[predictor, j] = 0.0
    past = history.past[0]
    if past.arrivals == 0.0:
        past.last_submit = job.submit
    past.arrivals = past.arrivals * RECENT + 1.0
    past.gaps = past.gaps * RECENT + (job.submit - past.last_submit)
    past.last_submit = job.submit


@compiled
def count_job(history: History, number: int, kind: int, cores: int) -> None:
    """Count a job of a group that has been submitted, withdrawn, started or ended."""
    group = history.groups[number]
    if kind == SUBMITTED:
        group.waiting += 1
    elif kind == STARTED:
        group.waiting -= 1
        group.running += 1
        group.cores += cores
    elif kind == ENDED:
        group.running -= 1
        group.cores -= cores
    elif kind == WITHDRAWN:
        group.waiting -= 1


@compiled
def remember(tables: Tables, history: History, j: int) -> None:
    """Record the run time of an ended job."""
    job, known = tables.jobs[j], history.jobs[j]
    run_time, request = job.finish - job.start, max(job.requested_time, 1.0)
    log_ratio = np.log(max(run_time, 1.0) / request)
    error = abs(log_ratio) if abs(run_time - request) >= MISSED else 0.0
    waited = max(1.0, (job.finish - job.submit) / max(run_time, LEAST))
    history.past[0].errors = history.past[0].errors * RECENT + error
    history.past[0].slowdowns = history.past[0].slowdowns * RECENT + waited
    known.log_ran = np.log(max(run_time, LEAST))
    if job.user >= 0:
        known.before = history.groups[known.user].latest
        note_end(history, known.user, j, run_time, log_ratio, error)
        note_end(history, known.group, j, run_time, log_ratio, error)
        if known.program != NONE:
            known.same_before = history.groups[known.program].latest
            note_end(history, known.program, j, run_time, log_ratio, error)
    note_length(history, float(job.size), run_time)
    kind = range_of(request)
    for i in range(BINS):
        history.shares[kind, i] *= FADING
    history.shares[kind, max(0, min(BINS - 1, int(0.5 - log_ratio / BIN)))] += 1.0


@inlined
def mean_error(history: History) -> float:
    """Return by how much the requests of the last jobs were wrong: the mean of |ln(run time / requested)|."""
    past = history.past[0]
    return float(past.errors / past.lengths if past.lengths > 0.0 else 0.0)


@inlined
def mean_slowdown(history: History) -> float:
    """Return the mean bounded slowdown of the last jobs that ended, 1 before there are any."""
    past = history.past[0]
    return float(past.slowdowns / past.lengths if past.lengths > 0.0 else 1.0)


@entry
@inlined
def requests_hold(history: History) -> bool:
    """Return whether the last jobs ran as long as requested."""
    return bool(mean_error(history) <= EXACT_ENOUGH)


@compiled
def trust_in(history: History, user: int) -> float:
    """Return the weight of a user's request against predictions from the past, from 0 to 1, by recent errors."""
    known = min(float(history.groups[user].ended), REMEMBERED)
    error = (known * history.groups[user].error + OTHERS * mean_error(history)) / (known + OTHERS)
    return float(1.0 / (1.0 + (error / USUAL_ERROR) ** 2))


@compiled
def trusted_log_time(history: History, view: int, j: int) -> float:
    """Return ln of the s that a job is taken to run: between its request and its outlook, as requests are trusted."""
    known = history.jobs[j]
    trust = trust_in(history, known.user)
    return float(trust * max(known.log_request, LOG_LEAST) + (1.0 - trust) * history.outlooks[view, j].log_time)


@compiled
def length_of(log_time: float) -> int:
    """Return the length class of a job from ln of its run time in s."""
    return max(0, min(DEMANDS - 1, int(2.0 * log_time)))


@compiled
def note_length(history: History, cores: float, run_time: float) -> None:
    """Record the demand of an ended job."""
    time = max(run_time, 1.0)
    for length in range(DEMANDS):
        history.demand[0, length] *= RECENT
        history.demand[1, length] *= RECENT
    history.past[0].lengths = history.past[0].lengths * RECENT + 1.0
    length = length_of(np.log(time))
    history.demand[0, length] += cores * time
    history.demand[1, length] += cores * cores * time


@compiled
def note_end(history: History, number: int, j: int, run_time: float, log_ratio: float, error: float) -> None:
    """Record in a group the run time of an ended job, and the error of its request."""
    group = history.groups[number]
    group.ended += 1
    group.log_ratio += max(0.3, 1.0 / group.ended) * (min(max(log_ratio, -7.0), 0.5) - group.log_ratio)
    group.error += max(0.1, 1.0 / group.ended) * (error - group.error)
    group.latest, group.before, group.last = j, group.last, run_time


@compiled
def find_siblings(tables: Tables, history: History) -> None:
    """Find the longest running job of each group, once per instant."""
    past, now = history.past[0], tables.clock[0].now
    if past.siblings_at == now:
        return
    past.siblings_at = now
    for j in jobs_of(tables.running, 0):
        if tables.jobs[j].user < 0:
            continue
        group, start = history.groups[history.jobs[j].group], tables.jobs[j].start
        group.oldest = min(group.oldest, start) if group.oldest_at == now else start
        group.oldest_at = now
