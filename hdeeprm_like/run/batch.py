"""Batches of runs: their arrays stacked, advanced together in compiled calls, restarted in place.

Each run has its own arrays, side by side in one block of memory; constant data (layout of cores, processors and nodes,
meaning of actions) exists once. All functions are those of a single run.
"""

import numpy as np
from numpy.typing import NDArray

from hdeeprm_like.cluster.metrics import BOUNDED_SLOWDOWN_THRESHOLD
from hdeeprm_like.decision.observations.summary import requests_of
from hdeeprm_like.engine.bundles import Bundle, at_address, copy_entries
from hdeeprm_like.engine.compiled import compiled, inlined, released
from hdeeprm_like.engine.splitmix64 import SEEDS, draw_below
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.tasks import SHORTEST_RUN, Simulation
from hdeeprm_like.run.loop import BEGIN, Run, look, scale, take_step
from hdeeprm_like.types import Bools, Floats, Ints, Records

FIGURES = ("slowdown", "bounded_slowdown", "wait", "utilization", "makespan", "jobs", "time")  # of an ended episode
DRAWS = 100  # episodes without a decision are skipped, at most this many in a row
NO_DECISION = f"none of {DRAWS} episodes had a decision to make; use other jobs"

EPISODE = np.dtype(
    [
        ("first", "i8"),  # row of its first job in the job pool
        ("jobs", "i8"),
        ("origin", "f8"),  # s on the pool's clock at which its own clock starts
        ("seed", "u8"),  # of the random policies
        ("decisions", "i8"),
        ("reward", "f8"),  # sum of its rewards until now
        ("over", "i4"),
    ],
    align=True,
)

RULES = np.dtype(
    [
        ("ends", "i4"),  # what to do at the end of an episode: STAY, AT_ONCE or NEXT_STEP
        ("limited", "i4"),  # 1 if all runs are scaled by the same largest requests, 0 for the *limits* of each place
        ("starts", "i8"),  # number of jobs that windows of the pool can begin at, 0 if episodes are loaded one by one
        ("window", "i8"),  # jobs of a window
        ("cores", "i8"),  # of the platform
        ("max_steps", "i8"),  # limit at which an episode is truncated, 0 for never
    ],
    align=True,
)

STAY, AT_ONCE, NEXT_STEP = 0, 1, 2

REST = -2  # instead of an action: leave the run as it is
LOST = -1  # instead of a number of episodes: one could not begin


class JobPool(Bundle):
    """Jobs for episodes, as they are before a run; L jobs.

    Attributes:
        jobs: (L,) JOB. tasks: (L,) TASK. demands: (L,) DEMAND, (0,) without partitions.
    """

    jobs: Records
    tasks: Records
    demands: Records


class Batch(Bundle):
    """B runs in compiled code.

    Attributes:
        first: the first run. runs: (B,) the addresses of all runs.
        blocks: (B, bytes) all arrays of a run. fresh: their content before a run; it ends before the arrays that
        are written before they are read.
        rules: (1,) RULES. episodes: (B,) EPISODE. draws: (B,) states of ``splitmix64`` that episodes come from.
        limits: (B, 4) the largest requests, which scale observations, in the order of ``summary.REQUESTS``.
        actions: (B,) the next actions. masks: (B, A). rewards: (B,). times: (B,) s.
        terminated, truncated: (B,) which episodes the last step ended or truncated, ended: (B,) either of these.
        final: (B, F) their last observations, returns: (B,) and lengths: (B,) the sum of their rewards and their
        decisions, 0 for the others. figures: (B, len(FIGURES)) of the jobs that had ended then.
    """

    first: Run
    runs: Ints
    blocks: NDArray[np.uint8]
    fresh: NDArray[np.uint8]
    rules: Records
    episodes: Records
    draws: NDArray[np.uint64]
    limits: Floats
    actions: Ints
    masks: Bools
    rewards: Floats
    times: Floats
    terminated: Bools
    truncated: Bools
    ended: Bools
    final: Floats
    returns: Floats
    lengths: Ints
    figures: Floats


@inlined
def restore(block: NDArray[np.uint8], fresh: NDArray[np.uint8]) -> None:
    """Reset the arrays of a run to their content before it, except those over jobs."""
    copy_entries(block, 0, fresh, 0, len(fresh))


@inlined
def take_jobs(tables: Tables, simulation: Simulation, pool: JobPool, first: int, origin: float) -> None:
    """Copy the jobs of an episode from the pool, with *origin* (s) as time 0."""
    jobs = simulation.sim[0].jobs
    copy_entries(tables.jobs, 0, pool.jobs, first, jobs)
    copy_entries(simulation.tasks, 0, pool.tasks, first, jobs)
    if tables.clock[0].partitioned:
        copy_entries(tables.node_sets.demands, 0, pool.demands, first, jobs)
    for j in range(jobs):
        tables.jobs[j].submit -= origin
        simulation.submit[j] = tables.jobs[j].submit


@compiled
def draw_window(batch: Batch, pool: JobPool, i: int) -> None:
    """Draw the next episode of a place, a window of the pool."""
    e, rules = batch.episodes[i], batch.rules[0]
    e.first, e.jobs = draw_below(batch.draws, i, rules.starts), rules.window
    e.origin = pool.jobs[e.first].submit
    e.seed = draw_below(batch.draws, i, SEEDS)
    if rules.limited:
        return
    for kind in range(4):
        batch.limits[i, kind] = 0.0
    for j in range(e.first, e.first + e.jobs):
        requests = requests_of(pool.jobs, j)
        for kind in range(len(requests)):
            batch.limits[i, kind] = max(batch.limits[i, kind], requests[kind])


@compiled
def begin_episode(batch: Batch, pool: JobPool, i: int, run: Run) -> bool:
    """Run the drawn or loaded episode of a place to its first decision; return False if there is none."""
    restore(batch.blocks[i], batch.fresh)
    e, t, s = batch.episodes[i], run.core.tables, run.simulation
    s.sim[0].jobs = e.jobs
    take_jobs(t, s, pool, e.first, e.origin)
    t.clock[0].random = e.seed
    if not batch.rules[0].limited:
        scale(run, batch.limits[i])
    e.decisions, e.reward = 0, 0.0
    e.over = not take_step(run, BEGIN)
    look(run, run.observation, batch.masks[i])
    batch.times[i] = t.clock[0].now
    return not e.over


@compiled
def begin_next(batch: Batch, pool: JobPool, i: int, run: Run) -> bool:
    """Begin the next episode of a place; False if it has no decision, nor has any of many windows."""
    if batch.rules[0].starts == 0:
        return begin_episode(batch, pool, i, run)
    for _ in range(DRAWS):
        draw_window(batch, pool, i)
        if begin_episode(batch, pool, i, run):
            return True
    return False


@compiled
def write_figures(tables: Tables, simulation: Simulation, cores: int, out: Floats) -> None:
    """Write the FIGURES of the jobs that have ended until now; means over no jobs are nan."""
    slowdowns = bounded = waits = used = 0.0
    first, last, makespan, ended = np.inf, 0.0, 0.0, 0
    for j in range(simulation.sim[0].jobs):
        finish = simulation.tasks[j].finish
        if np.isnan(finish):
            continue
        submit = tables.jobs[j].submit
        wait = max(simulation.tasks[j].start - submit, 0.0)
        run = max(finish - simulation.tasks[j].start, SHORTEST_RUN)
        slowdown = 1.0 + wait / run
        slowdowns += slowdown
        short = run < BOUNDED_SLOWDOWN_THRESHOLD
        bounded += max((wait + run) * (1.0 / BOUNDED_SLOWDOWN_THRESHOLD), 1.0) if short else slowdown
        waits += wait
        used += run * tables.jobs[j].size
        first, last, makespan = min(first, submit), max(last, submit + wait + run), max(makespan, finish)
        ended += 1
    per_job = 1.0 / ended if ended > 0 else np.nan
    out[0], out[1], out[2] = slowdowns * per_job, bounded * per_job, waits * per_job
    available = (last - first) * cores
    out[3] = used / available if ended > 0 and available > 0.0 else np.nan
    out[4] = makespan if ended > 0 else np.nan
    out[5], out[6] = ended, tables.clock[0].now


@compiled
def carry_on(batch: Batch, i: int, run: Run, action: int) -> None:
    """Take a step in a run."""
    e, params = batch.episodes[i], run.core.reward.params[0]
    goes_on = take_step(run, action)
    batch.rewards[i], batch.times[i] = params.last, run.core.tables.clock[0].now
    e.decisions += 1
    e.reward += params.last
    cut = goes_on and e.decisions == batch.rules[0].max_steps
    over = cut or not goes_on
    batch.terminated[i], batch.truncated[i], batch.ended[i], e.over = not goes_on, cut, over, over
    at_once = over and batch.rules[0].ends == AT_ONCE
    look(run, batch.final[i] if at_once else run.observation, batch.masks[i])
    if not over:
        return
    batch.returns[i], batch.lengths[i] = e.reward, e.decisions
    write_figures(run.core.tables, run.simulation, batch.rules[0].cores, batch.figures[i])
    if not at_once:
        for feature in range(len(run.observation)):
            batch.final[i, feature] = run.observation[feature]


@released
def advance_some(batch: Batch, pool: JobPool, low: int, high: int) -> int:
    """Advance the runs of the places from *low* to *high* to their next decisions, and write the observations.

    The actions are those of the batch: BEGIN for a new episode, REST to leave a run unchanged; a finished run is always
    left unchanged unless ``ends`` of RULES says that the next one follows.

    Returns:
        Number of ended episodes, or LOST if one could not begin because it has no decision.
    """
    ends, ended, lost = batch.rules[0].ends, 0, False
    for i in range(low, high):
        e, action = batch.episodes[i], batch.actions[i]
        if action == REST:
            continue
        run = at_address(batch.first, batch.runs[i])
        if action == BEGIN:
            lost |= not begin_next(batch, pool, i, run)
            continue
        batch.terminated[i] = batch.truncated[i] = batch.ended[i] = False
        batch.returns[i], batch.lengths[i] = 0.0, 0
        if e.over:
            if ends == NEXT_STEP:
                batch.rewards[i] = 0.0
                lost |= not begin_next(batch, pool, i, run)
            continue
        carry_on(batch, i, run, action)
        ended += e.over
    if ends == AT_ONCE and ended > 0:  # afterwards: both parts are more machine code than a processor's first cache
        for i in range(low, high):
            if batch.actions[i] >= 0 and batch.ended[i]:
                lost |= not begin_next(batch, pool, i, at_address(batch.first, batch.runs[i]))
    return LOST if lost else ended


@released
def first_illegal(batch: Batch, forgiving: bool) -> int:
    """Return the first place with an unknown action, or an illegal one unless *forgiving*; else -1."""
    known_actions = len(batch.masks[0])
    for i in range(len(batch.actions)):
        action = batch.actions[i]
        known = action >= 0 and action < known_actions
        if not (known and (forgiving or batch.masks[i, action])) and not batch.episodes[i].over:
            return i
    return -1
