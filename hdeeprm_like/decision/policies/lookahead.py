"""Look-ahead: simulate several policies on waiting and expected jobs, and take the first step of the best one.

The simulation, a *play*, has the waiting jobs as requested, and the last submitted jobs as if they arrived again from
now on at the same intervals. It is light, since it runs at each decision: it counts cores and leaves out all else.
Its cost is the waiting time of the jobs, each second weighing 1 / max(run time, 10 s), the summand of the mean bounded
slowdown. A play stops when it costs more than the best one so far; all plays of a decision stop when their budget is
used up. The budget is counted in steps, about `STEPS` per microsecond of a processor, so that slow and
fast machines make the same decision.

If requests say little about run times, several futures are played for each candidate, with run times drawn from the
distributions of `estimates`, or of `survival` where the policy's scores look at it; all candidates play the same
futures. Jobs that start now are still planned by their requests; within a future all run times are known.

A candidate is a simple formula, or the scores of a policy with the cores that it keeps: these are computed once, as of
now, for the jobs that wait and those that arrive again.
"""

import numpy as np

from hdeeprm_like.decision.policies.estimates import draw_time, spread
from hdeeprm_like.decision.policies.history import LEAST, LOG, OF_SURVIVAL, WEIGHT, History
from hdeeprm_like.decision.policies.keeping import find_kept, needed_cores
from hdeeprm_like.decision.policies.knowledge import Knowledge
from hdeeprm_like.decision.policies.plays import Ahead, add_end, play_on, sort_in, start_by_candidate, start_marked
from hdeeprm_like.decision.policies.run_times import bring_outlook
from hdeeprm_like.decision.policies.scores import NO_SCORE, QUEUE, Scores, look_at_queue, weigh, write_features
from hdeeprm_like.decision.policies.survival import bring_survival, build, quantile
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.job_lists import jobs_of
from hdeeprm_like.engine.tables import REJECTED, Tables

LEAST_TIME = 1.0  # s
OVERDUE = 1.0  # s, expected remaining time of a job that has outrun its request
FEW_SEEN = 5  # with fewer submissions none is played again
STEPS = 100  # measured: entries of queue and ends read or moved per µs
GOLDEN = 0.6180339887498949  # spreads the quantiles of different jobs
MARGIN = 1e-9  # share by which a candidate must be better than those before it


@compiled
def put_played(tables: Tables, ahead: Ahead, i: int, j: int, arrival: float, again: bool) -> None:
    """Write a job to be played; jobs that arrive again come after all others with the same key."""
    job, row = tables.jobs[j], ahead.played[i]
    time = max(job.requested_time, LEAST_TIME)
    row.job, row.arrival, row.cores, row.need, row.again = j, arrival, job.size, job.size, again
    ahead.times[0, i] = time
    row.log_time, row.log_cores = np.log(time), np.log(job.size / float(tables.clock[0].most_cores))


@compiled
def put_jobs(tables: Tables, scores: Scores, ahead: Ahead, s: int, v: int) -> None:
    """Write the first waiting jobs of a list to be played, then the last submitted jobs, to arrive again."""
    count = 0
    for j in jobs_of(tables.waiting, v):
        if count == scores.params[s].played:
            break
        put_played(tables, ahead, count, j, tables.jobs[j].submit, False)
        count += 1
    clock, play, params = tables.clock[0], ahead.play[0], scores.params[s]
    play.queued, play.coming = count, 0
    again = min(params.arrivals, clock.submitted)
    if clock.submitted >= FEW_SEEN and again > 0:
        first = clock.submitted - again
        begin, end = tables.jobs[first].submit, tables.jobs[clock.submitted - 1].submit
        gap = (end - begin) / again
        for j in range(first, clock.submitted):
            if tables.jobs[j].status != REJECTED:
                arrival = clock.now + (tables.jobs[j].submit - begin) + gap
                put_played(tables, ahead, play.queued + play.coming, j, arrival, True)
                play.coming += 1
    for i in range(play.queued + play.coming):
        ahead.played[i].wait = params.wait


@compiled
def put_running(tables: Tables, ahead: Ahead, v: int) -> None:
    """Write when the running jobs end as requested, in order."""
    count, now = 0, tables.clock[0].now
    for j in jobs_of(tables.running, v):
        job = tables.jobs[j]
        end = job.start + job.requested_time
        add_end(ahead.running[0], count, end if end > now else now + OVERDUE, job.size, 0)
        count += 1
    ahead.play[0].ending = count


@compiled
def open_play(tables: Tables, scores: Scores, ahead: Ahead, candidate: int, future: int) -> None:
    """Set up the play of a future for a candidate, from the cluster's present state."""
    play, by, now = ahead.play[0], scores.candidates[candidate], tables.clock[0].now
    play.now, play.cost, play.free = now, 0.0, tables.clock[0].free_cores
    play.waiting, play.running, play.first, play.backfill = 0, play.ending, 0, by.backfill
    play.steps, play.plays = play.steps + play.ending, play.plays + 1
    for i in range(play.ending):
        ahead.ends[i].time, ahead.ends[i].cores = ahead.running[future, i].time, ahead.running[future, i].cores
    for i in range(play.queued + play.coming):
        job = ahead.played[i]
        job.time, job.starts = ahead.times[future, i], 0
        job.key = by.time * job.log_time + by.cores * job.log_cores if by.row == NO_SCORE else job.score
        if i < play.queued:
            if by.row == NO_SCORE and by.wait != 0.0:
                job.key -= by.wait * np.log1p((now - job.arrival) / max(ahead.times[0, i], LEAST))
            sort_in(ahead, i)


@compiled
def rank_played(tables: Tables, history: History, scores: Scores, ahead: Ahead, candidate: int) -> None:
    """Write the scores of the played jobs by a candidate, and the cores that must be free for each to start."""
    row, jobs = scores.candidates[candidate].row, ahead.play[0].queued + ahead.play[0].coming
    if row != NO_SCORE:
        look_at_queue(tables, scores, row)
        for i in range(jobs):
            write_features(tables, history, scores, row, ahead.played[i].job)
            ahead.played[i].score = weigh(scores, row, QUEUE)
        if scores.params[row].keeps == 1:
            for i in range(tables.clock[0].waiting):  # find_kept reads the outlooks of all, also of those not played
                if scores.params[row].estimates == 1:
                    bring_outlook(tables, history, scores.params[row].outlook, tables.members[i])
            find_kept(tables, history, scores, row)
    for i in range(jobs):
        job = ahead.played[i]
        job.need = job.cores if row == NO_SCORE else needed_cores(tables, history, scores, row, job.job)


@compiled
def draw_futures(tables: Tables, history: History, ahead: Ahead, futures: int, survives: bool, v: int) -> None:
    """Draw run times of the played and running jobs, evenly spread over the futures.

    Args:
        futures: number to draw. survives: whether from the survival model. v: list of the running jobs.
    """
    now = tables.clock[0].now
    for i in range(ahead.play[0].queued + ahead.play[0].coming):
        job = ahead.played[i]
        if survives:
            bring_survival(tables, history, job.job)
            job.log_time = history.outlooks[OF_SURVIVAL, job.job].log_time
        weight = distribute(tables, history, survives, job.job)
        if not survives:
            job.log_time = mean_log(history, weight)
        for future in range(futures):
            ahead.times[1 + future, i] = drawn(history, survives, part_of(job.job, future, futures), 0.0)
    for count, j in enumerate(jobs_of(tables.running, v)):
        start = tables.jobs[j].start
        distribute(tables, history, survives, j)
        for future in range(futures):
            time = drawn(history, survives, part_of(j, future, futures), max(now - start, LEAST_TIME))
            end = start + time
            add_end(ahead.running[1 + future], count, end if end > now else now + OVERDUE, tables.jobs[j].size, 0)


@compiled
def distribute(tables: Tables, history: History, survives: bool, j: int) -> float:
    """Write the distribution of a job's run time; return the sum of its weights."""
    if survives:
        build(tables, history, j)
        return 1.0
    return float(spread(tables, history, j))


@compiled
def drawn(history: History, survives: bool, share: float, least: float) -> float:
    """Return a quantile of the written distribution among run times above *least* s."""
    return float(quantile(history, share, least) if survives else draw_time(history, share, least))


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
def cost_of(tables: Tables, scores: Scores, ahead: Ahead, s: int, candidate: int, limit: float) -> float:
    """Mark the jobs that a candidate starts now, and return the cost of its futures; infinite if the budget ran out."""
    futures, budget = scores.params[s].scenarios, scores.params[s].budget * STEPS
    open_play(tables, scores, ahead, candidate, 0)
    start_by_candidate(ahead)
    for i in range(ahead.play[0].queued):
        ahead.played[i].now = ahead.played[i].starts
    if futures == 0:
        return play_on(ahead, limit, budget)
    cost = 0.0
    for future in range(futures):
        open_play(tables, scores, ahead, candidate, 1 + future)
        start_marked(ahead)
        cost += play_on(ahead, limit - cost, budget)
        if cost > limit:
            break
    return cost


@compiled
def choose_ahead(tables: Tables, knowledge: Knowledge, ahead: Ahead, s: int, v: int, ends: int) -> int:
    """Mark the waiting jobs that the best candidate starts now; return the number of played jobs.

    Args:
        v: list of the waiting jobs. ends: list of the running jobs by requested ends.
    """
    history, scores, play = knowledge.history, knowledge.scores, ahead.play[0]
    params = scores.params[s]
    put_jobs(tables, scores, ahead, s, v)
    put_running(tables, ahead, ends)
    if params.scenarios > 0:
        draw_futures(tables, history, ahead, params.scenarios, params.outlook == OF_SURVIVAL, ends)
    best = np.inf
    play.steps = play.plays = 0
    for candidate in range(params.first, params.last):
        rank_played(tables, history, scores, ahead, candidate)
        cost = cost_of(tables, scores, ahead, s, candidate, best)
        if candidate == params.first or cost < best * (1.0 - MARGIN):
            best = cost
            for i in range(play.queued):
                ahead.played[i].chosen = ahead.played[i].now
        if play.steps > params.budget * STEPS or 0 < params.plays <= play.plays:
            break
    return int(play.queued)
