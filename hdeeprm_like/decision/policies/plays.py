"""Plays of look-ahead: a light simulation of a candidate on waiting and expected jobs, from now to the end.

It counts cores and leaves out all else, since it runs at each decision; see `lookahead` for what is played and why. A
candidate serves its order, may backfill (EASY), and leaves before each job the cores free that it keeps.
"""

import numpy as np

from hdeeprm_like.decision.policies.history import LEAST
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.types import Floats, Ints, Records

PLAYED = np.dtype(
    [
        ("job", "i8"),
        ("time", "f8"),  # s
        ("arrival", "f8"),  # s
        ("wait", "f8"),  # cost of a second of waiting, added to 1 / max(run time, 10 s)
        ("log_time", "f8"),
        ("log_cores", "f8"),  # ln(share of the machine)
        ("score", "f8"),  # that of a candidate that is a scored policy,
        ("key", "f8"),  # and the sort key of any candidate
        ("cores", "i8"),
        ("need", "i8"),  # cores that must be free for it to start: its own, and those kept before it
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
        ("queued", "i8"),  # waiting jobs that are played: the first entries of Ahead.played,
        ("coming", "i8"),  # and jobs that arrive again, behind these
        ("ending", "i8"),  # running jobs: used entries of each row of Ahead.running
        ("now", "f8"),
        ("cost", "f8"),
        ("free", "i8"),  # cores
        ("waiting", "i8"),  # used entries of Ahead.queue
        ("running", "i8"),  # used entries of Ahead.ends
        ("backfill", "i8"),
        ("first", "i8"),  # first entry of Ahead.ends whose job has not ended
        ("steps", "i8"),  # steps used in this decision,
        ("plays", "i8"),  # and plays begun in it
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
    while i < play.waiting and ahead.played[ahead.queue[i]].need <= play.free:
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
    free, at, wanted = play.free, play.first, ahead.played[head].need
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
        if job.need <= play.free and (in_time or job.cores <= spare):
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
def play_on(ahead: Ahead, limit: float, budget: int) -> float:
    """Play to the end and return the cost; infinite if the budget was used up before.

    Args:
        limit: cost at which to stop early. budget: steps for all plays of this decision.
    """
    play, arrived = ahead.play[0], 0
    waiting, coming = play.queued, play.coming
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
