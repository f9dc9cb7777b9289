"""Look-ahead: simulate several policies on waiting and expected jobs, and take the first step of the best one.

The simulation, a *play*, has the waiting jobs as requested, and the last submitted jobs as if they arrived again from
now on at the same intervals. It is light, since it runs at each decision: it counts cores and leaves out all else.
Its cost is the waiting time of the jobs, each second weighing 1 / max(run time, 10 s), the summand of the mean bounded
slowdown. A play stops when it costs more than the best one so far; all plays of a decision stop when their budget is
used up. The budget is counted in steps, about `STEPS` per microsecond of a processor, so that slow and
fast machines make the same decision.

If requests say little about run times, several futures are played for each candidate, with run times drawn from the
distributions of `estimates`; all candidates play the same futures. Jobs that start now are still planned by their
requests; within a future all run times are known.
"""

import numpy as np

from hdeeprm_like.decision.policies.estimates import draw_time, spread
from hdeeprm_like.decision.policies.history import LEAST, LOG, WEIGHT, History, wider
from hdeeprm_like.decision.policies.scores import Scores
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.tables import REJECTED, Tables, longer
from hdeeprm_like.types import Floats, Ints, Records

LEAST_TIME = 1.0  # s
OVERDUE = 1.0  # s, expected remaining time of a job that has outrun its request
FEW_SEEN = 5  # with fewer submissions none is played again
STEPS = 100  # measured: entries of queue and ends read or moved per µs
GOLDEN = 0.6180339887498949  # spreads the quantiles of different jobs
MARGIN = 1e-9  # share by which a candidate must be better than those before it

PLAYED = np.dtype(
    [
        ("job", "i8"),
        ("time", "f8"),  # s
        ("arrival", "f8"),  # s
        ("wait", "f8"),  # cost of a second of waiting, added to 1 / max(run time, 10 s)
        ("log_time", "f8"),
        ("log_cores", "f8"),  # ln(share of the machine)
        ("key", "f8"),  # sort key of the candidate
        ("cores", "i8"),
        ("again", "i8"),  # 1 if it arrives again
        ("starts", "i8"),  # 1 if the candidate has started it in the play,
        ("now", "i8"),  # 1 if the candidate starts it now,
        ("chosen", "i8"),  # 1 if the best candidate starts it now
    ],
    align=True,
)

END = np.dtype([("time", "f8"), ("cores", "i8")], align=True)

PLAY = np.dtype(
    [
        ("now", "f8"),
        ("cost", "f8"),
        ("free", "i8"),  # cores
        ("waiting", "i8"),  # used entries of Ahead.queue
        ("running", "i8"),  # used entries of Ahead.ends
        ("backfill", "i8"),
        ("first", "i8"),  # first entry of Ahead.ends whose job has not ended
        ("steps", "i8"),  # steps used in this decision
    ],
    align=True,
)


class Ahead(Bundle):
    """Data of plays; M jobs at most, J jobs of the cluster, F futures: as requested, then the drawn ones.

    Attributes:
        play: (1,) PLAY. played: (M,) PLAYED, the waiting jobs, then those that arrive again.
        queue: (M,) waiting jobs of the play in the candidate's order. times: (F, M) run times of the jobs in s.
        running: (F, J) END, the running jobs now, sorted. ends: (J + M,) END, ends within the play, sorted.
    """

    play: Records
    played: Records
    queue: Ints
    times: Floats
    running: Records
    ends: Records


def new_ahead(jobs: int, most: int, futures: int) -> Ahead:
    """Allocate plays of *most* of *jobs* jobs, with *futures* drawn futures."""
    return Ahead(
        np.zeros(1, PLAY),
        np.zeros(most, PLAYED),
        np.zeros(most, np.int64),
        np.zeros((1 + futures, most)),
        np.zeros((1 + futures, jobs), END),
        np.zeros(jobs + most, END),
    )


def let_run(ahead: Ahead, jobs: int) -> None:
    """Grow the arrays to *jobs* running jobs; with Batsim jobs become known during the run."""
    ahead.running, ahead.ends = wider(ahead.running, jobs), longer(ahead.ends, jobs + len(ahead.played))


@compiled
def put_played(tables: Tables, ahead: Ahead, i: int, j: int, arrival: float, wait: float, again: bool) -> None:
    """Write a job to be played; jobs that arrive again come after all others with the same key."""
    job, row = tables.jobs[j], ahead.played[i]
    time = max(job.requested_time, LEAST_TIME)
    row.job, row.arrival, row.cores, row.again = j, arrival, job.size, again
    ahead.times[0, i], row.wait = time, wait
    row.log_time, row.log_cores = np.log(time), np.log(job.size / float(tables.clock[0].most_cores))


@compiled
def put_waiting(tables: Tables, scores: Scores, ahead: Ahead, s: int, v: int) -> int:
    """Write the first waiting jobs of a list to be played; return their number."""
    count = 0
    for place in range(tables.waiting.lists[v].blocks):
        b = tables.waiting.directory[v, place]
        begin = tables.waiting.begins[v, b]
        for i in range(begin, begin + tables.waiting.sizes[v, b]):
            if count == scores.params[s].played:
                return count
            j = tables.waiting.jobs[v, i]
            put_played(tables, ahead, count, j, tables.jobs[j].submit, scores.params[s].wait, False)
            count += 1
    return count


@compiled
def put_arrivals(tables: Tables, scores: Scores, ahead: Ahead, s: int, waiting: int) -> int:
    """Write the last submitted jobs after the waiting ones, to arrive again; return their number."""
    clock = tables.clock[0]
    count = min(scores.params[s].arrivals, clock.submitted)
    if clock.submitted < FEW_SEEN or count == 0:
        return 0
    first = clock.submitted - count
    begin, end = tables.jobs[first].submit, tables.jobs[clock.submitted - 1].submit
    gap, i = (end - begin) / count, waiting
    for j in range(first, clock.submitted):
        if tables.jobs[j].status == REJECTED:
            continue
        arrival = clock.now + (tables.jobs[j].submit - begin) + gap
        put_played(tables, ahead, i, j, arrival, scores.params[s].wait, True)
        i += 1
    return i - waiting


@compiled
def put_running(tables: Tables, ahead: Ahead, v: int) -> int:
    """Write when the running jobs end as requested, in order; return their number."""
    count, now = 0, tables.clock[0].now
    for place in range(tables.running.lists[v].blocks):
        b = tables.running.directory[v, place]
        begin = tables.running.begins[v, b]
        for i in range(begin, begin + tables.running.sizes[v, b]):
            job = tables.jobs[tables.running.jobs[v, i]]
            end = job.start + job.requested_time
            add_end(ahead.running[0], count, end if end > now else now + OVERDUE, job.size, 0)
            count += 1
    return count


@compiled
def add_end(ends: Records, count: int, time: float, cores: int, first: int) -> int:
    """Insert an end into *count* sorted ones from *first* on; return how many moved."""
    at = count
    while at > first and ends[at - 1].time > time:
        ends[at].time, ends[at].cores = ends[at - 1].time, ends[at - 1].cores
        at -= 1
    ends[at].time, ends[at].cores = time, cores
    return int(count - at)


@compiled
def sort_in(ahead: Ahead, i: int) -> None:
    """Add a job to the queue of the play."""
    play = ahead.play[0]
    at, job = play.waiting, ahead.played[i]
    while at > 0:
        other = ahead.played[ahead.queue[at - 1]]
        if not (job.key < other.key or (job.key == other.key and job.again == other.again and job.job < other.job)):
            break
        ahead.queue[at] = ahead.queue[at - 1]
        at -= 1
    ahead.queue[at] = i
    play.steps += play.waiting - at + 1
    play.waiting += 1


@compiled
def start_played(ahead: Ahead, i: int) -> None:
    """Start a job of the play; the caller removes it from the queue."""
    play, job = ahead.play[0], ahead.played[i]
    play.free -= job.cores
    play.cost += (play.now - job.arrival) * (1.0 / max(job.time, LEAST) + job.wait)
    play.steps += 1 + add_end(ahead.ends, play.running, play.now + job.time, job.cores, play.first)
    play.running += 1


@compiled
def start_by_candidate(ahead: Ahead) -> None:
    """Start the jobs that the candidate starts at the play's present time."""
    play = ahead.play[0]
    kept, i = 0, 0
    play.steps += play.waiting + 1
    while i < play.waiting and ahead.played[ahead.queue[i]].cores <= play.free:
        ahead.played[ahead.queue[i]].starts = 1
        start_played(ahead, ahead.queue[i])
        i += 1
    if i < play.waiting:
        head = ahead.queue[i]
        ahead.queue[kept] = head
        kept, i = kept + 1, i + 1
        if play.backfill == 1 and play.free > 0 and i < play.waiting:
            kept, i = backfill_played(ahead, head, kept, i)
    while i < play.waiting:
        ahead.queue[kept] = ahead.queue[i]
        kept, i = kept + 1, i + 1
    play.waiting = kept


@compiled
def backfill_played(ahead: Ahead, head: int, kept: int, i: int) -> tuple[int, int]:
    """Start backfilled jobs of the play; return how many jobs wait before the next candidate, and its place."""
    play = ahead.play[0]
    free, at, wanted = play.free, play.first, ahead.played[head].cores
    while at < play.running:
        free += ahead.ends[at].cores
        if free >= wanted:
            break
        at += 1
    play.steps += at - play.first
    shadow = ahead.ends[at].time if at < play.running else np.inf
    spare = free - wanted
    while i < play.waiting and play.free > 0:
        number = ahead.queue[i]
        job = ahead.played[number]
        in_time = play.now + job.time <= shadow
        if job.cores <= play.free and (in_time or job.cores <= spare):
            if not in_time:
                spare -= job.cores
            job.starts = 1
            start_played(ahead, number)
        else:
            ahead.queue[kept] = number
            kept += 1
        i += 1
    return kept, i


@compiled
def open_play(
    tables: Tables, scores: Scores, ahead: Ahead, candidate: int, future: int, waiting: int, coming: int, running: int
) -> None:
    """Set up the play of a future for a candidate, from the cluster's present state."""
    play, by, now = ahead.play[0], scores.candidates[candidate], tables.clock[0].now
    play.now, play.cost, play.free = now, 0.0, tables.clock[0].free_cores
    play.waiting, play.running, play.first, play.backfill = 0, running, 0, by.backfill
    play.steps += running
    for i in range(running):
        ahead.ends[i].time, ahead.ends[i].cores = ahead.running[future, i].time, ahead.running[future, i].cores
    for i in range(waiting + coming):
        job = ahead.played[i]
        job.time, job.starts = ahead.times[future, i], 0
        job.key = by.time * job.log_time + by.cores * job.log_cores
        if i < waiting:
            if by.wait != 0.0:
                job.key -= by.wait * np.log1p((now - job.arrival) / max(ahead.times[0, i], LEAST))
            sort_in(ahead, i)


@compiled
def start_marked(ahead: Ahead) -> None:
    """Start the jobs that the candidate starts now."""
    play, kept = ahead.play[0], 0
    for i in range(play.waiting):
        number = ahead.queue[i]
        if ahead.played[number].now == 1:
            start_played(ahead, number)
        else:
            ahead.queue[kept] = number
            kept += 1
    play.waiting = kept


@compiled
def play_on(ahead: Ahead, waiting: int, coming: int, limit: float, budget: int) -> float:
    """Play to the end and return the cost; infinite if the budget was used up before.

    Args:
        limit: cost at which to stop early. budget: steps for all plays of this decision.
    """
    play, arrived = ahead.play[0], 0
    while (play.waiting > 0 or arrived < coming) and play.cost <= limit:
        end = ahead.ends[play.first].time if play.first < play.running else np.inf
        arrival = ahead.played[waiting + arrived].arrival if arrived < coming else np.inf
        play.now = min(end, arrival)
        if play.now == np.inf:
            return np.inf
        while play.first < play.running and ahead.ends[play.first].time <= play.now:
            play.free += ahead.ends[play.first].cores
            play.first += 1
        while arrived < coming and ahead.played[waiting + arrived].arrival <= play.now:
            sort_in(ahead, waiting + arrived)
            arrived += 1
        start_by_candidate(ahead)
        if play.steps > budget:
            return np.inf
    return float(play.cost)


@compiled
def draw_futures(tables: Tables, history: History, ahead: Ahead, futures: int, jobs: int, v: int) -> None:
    """Draw run times of the played and running jobs, evenly spread over the futures.

    Args:
        futures: number to draw. jobs: number of played jobs. v: list of the running jobs.
    """
    now, count = tables.clock[0].now, 0
    for i in range(jobs):
        job = ahead.played[i]
        weight = spread(tables, history, job.job)
        job.log_time = mean_log(history, weight)
        for future in range(futures):
            ahead.times[1 + future, i] = draw_time(history, part_of(job.job, future, futures), 0.0)
    for place in range(tables.running.lists[v].blocks):
        b = tables.running.directory[v, place]
        begin = tables.running.begins[v, b]
        for i in range(begin, begin + tables.running.sizes[v, b]):
            j = tables.running.jobs[v, i]
            start = tables.jobs[j].start
            spread(tables, history, j)
            for future in range(futures):
                time = draw_time(history, part_of(j, future, futures), max(now - start, LEAST_TIME))
                end = start + time
                add_end(ahead.running[1 + future], count, end if end > now else now + OVERDUE, tables.jobs[j].size, 0)
            count += 1


@inlined
def part_of(j: int, future: int, futures: int) -> float:
    """Return the quantile of its distribution that a job takes in a future, from 0 to 1."""
    return float((j * GOLDEN + future / futures) % 1.0)


@compiled
def mean_log(history: History, weight: float) -> float:
    """Return the mean of ln(run time in s) of the last distribution, short jobs counted as 10 s."""
    total = 0.0
    for i in range(history.past[0].points):
        total += history.points[i, WEIGHT] * history.points[i, LOG]
    return total / weight


@compiled
def cost_of(
    tables: Tables,
    scores: Scores,
    ahead: Ahead,
    s: int,
    candidate: int,
    waiting: int,
    coming: int,
    running: int,
    limit: float,
) -> float:
    """Mark the jobs that a candidate starts now, and return the cost of its futures; infinite if the budget ran out."""
    futures, budget = scores.params[s].scenarios, scores.params[s].budget * STEPS
    open_play(tables, scores, ahead, candidate, 0, waiting, coming, running)
    start_by_candidate(ahead)
    for i in range(waiting):
        ahead.played[i].now = ahead.played[i].starts
    if futures == 0:
        return play_on(ahead, waiting, coming, limit, budget)
    cost = 0.0
    for future in range(futures):
        open_play(tables, scores, ahead, candidate, 1 + future, waiting, coming, running)
        start_marked(ahead)
        cost += play_on(ahead, waiting, coming, limit - cost, budget)
        if cost > limit:
            break
    return cost


@compiled
def choose_ahead(tables: Tables, history: History, scores: Scores, ahead: Ahead, s: int, v: int, ends: int) -> int:
    """Mark the waiting jobs that the best candidate starts now; return the number of played jobs.

    Args:
        v: list of the waiting jobs. ends: list of the running jobs by requested ends.
    """
    waiting = put_waiting(tables, scores, ahead, s, v)
    coming, running = put_arrivals(tables, scores, ahead, s, waiting), put_running(tables, ahead, ends)
    if scores.params[s].scenarios > 0:
        draw_futures(tables, history, ahead, scores.params[s].scenarios, waiting + coming, ends)
    best = np.inf
    ahead.play[0].steps = 0
    for candidate in range(scores.params[s].first, scores.params[s].last):
        cost = cost_of(tables, scores, ahead, s, candidate, waiting, coming, running, best)
        if candidate == scores.params[s].first or cost < best * (1.0 - MARGIN):
            best = cost
            for i in range(waiting):
                ahead.played[i].chosen = ahead.played[i].now
        if ahead.play[0].steps > scores.params[s].budget * STEPS:
            break
    return waiting
