"""Many runs side by side: their rows stacked, advanced together in compiled calls, begun again in place.

Each array of a run gets one more axis in front; a run is a slice, which the functions of a single run take as it is.
What no run changes (where cores, processors and nodes are, what actions mean) is there once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hdeeprm_like.decision.observations.rows import ViewRows, scale_times
from hdeeprm_like.decision.observations.summary import requests_of
from hdeeprm_like.decision.rewards import RewardRows, settle
from hdeeprm_like.decision.window.rows import Window
from hdeeprm_like.engine.batsim_clock import open_simulation
from hdeeprm_like.engine.bundles import bundle, first_row, moved
from hdeeprm_like.engine.compiled import compiled, released
from hdeeprm_like.engine.event_clock import Clockwork
from hdeeprm_like.engine.splitmix64 import SEEDS, draw_below
from hdeeprm_like.engine.tables import Rows, Tables
from hdeeprm_like.engine.tasks import Simulation
from hdeeprm_like.run.play import BATSIM, WANTED, to_next_decision
from hdeeprm_like.run.steps import DRAWS, Choices, go_on, look
from hdeeprm_like.types import Bools, Floats, Ints

EPISODE = np.dtype(
    [
        ("first", "i8"),  # row of its first job in the stock
        ("jobs", "i8"),
        ("origin", "f8"),  # s on the stock's clock at which its own begins
        ("seed", "u8"),  # of the random policies
        ("decisions", "i8"),
        ("reward", "f8"),  # sum of its rewards until now
        ("over", "i4"),
    ],
    align=True,
)

RULES = np.dtype(
    [
        ("clock", "i4"),  # BATSIM or TEXTBOOK
        ("ends", "i4"),  # what follows the end of an episode: STAY, AT_ONCE or NEXT_STEP
        ("limited", "i4"),  # 1 where all rows are scaled by the same largest requests, 0 by the *limits* of each place
        ("starts", "i8"),  # jobs that windows of the stock can begin at, 0 where episodes are loaded one by one
        ("window", "i8"),  # jobs of a window
        ("max_steps", "i8"),  # after which an episode is cut off, 0 for never
    ],
    align=True,
)

STAY, AT_ONCE, NEXT_STEP = 0, 1, 2

BEGIN, REST = -1, -2  # instead of actions
LOST = -1  # instead of a number of episodes


@bundle()
class Stock(NamedTuple):
    """Jobs that episodes are made of, as they are before a run; L jobs.

    Attributes:
        jobs: (L,) JOB. tasks: (L,) TASK.
    """

    jobs: Rows
    tasks: Rows


@bundle()
class RunRows(NamedTuple):
    """All rows of one run: the cluster, what moves it, and how an agent is asked, rewarded, shown things and acts."""

    tables: Tables
    simulation: Simulation
    clockwork: Clockwork
    window: Window
    reward: RewardRows
    sight: ViewRows
    choices: Choices


@bundle()
class Batch(NamedTuple):
    """B runs in compiled code.

    Attributes:
        runs: their rows, each array with one more axis in front but those that are shared.
        blocks: (B, bytes) all rows of a run. fresh: what these begin with before a run; behind it are the rows by job,
            which are written before they are read.
        rules: (1,) RULES. episodes: (B,) EPISODE. draws: (B,) states of ``chance`` that windows and seeds come from.
        limits: (B, 4) the largest requests, which scale what is seen, in the order of ``summary.REQUESTS``.
        observations: (B, F) float32. masks: (B, A). rewards: (B,). times: (B,) s.
        terminated, truncated: (B,) which episodes the last step ended or cut off, ended: (B,) did either.
        final: (B, F) what was seen last in them, returns: (B,) and lengths: (B,) the sum of their rewards and their
            decisions, 0 for the others.
    """

    runs: RunRows
    blocks: NDArray[np.uint8]
    fresh: NDArray[np.uint8]
    rules: Rows
    episodes: Rows
    draws: NDArray[np.uint64]
    limits: Floats
    observations: Floats
    masks: Bools
    rewards: Floats
    times: Floats
    terminated: Bools
    truncated: Bools
    ended: Bools
    final: Floats
    returns: Floats
    lengths: Ints


@compiled
def restore(block: NDArray[np.uint8], fresh: NDArray[np.uint8]) -> None:
    """Give the rows of a run the content that they have before one, but for those by job."""
    for byte in range(len(fresh)):
        block[byte] = fresh[byte]


@compiled
def take_jobs(t: Tables, s: Simulation, stock: Stock, first: int, origin: float) -> None:
    """Take the jobs of an episode from the stock, and let the clock begin with *origin* (s)."""
    for j in range(s.sim[0].jobs):
        t.jobs[j] = stock.jobs[first + j]
        s.tasks[j] = stock.tasks[first + j]
        t.jobs[j].submit -= origin
        s.submit[j] = t.jobs[j].submit


@compiled
def draw_window(b: Batch, stock: Stock, i: int) -> None:
    """Draw the next episode of a place, a window of the stock."""
    e, rules = b.episodes[i], b.rules[0]
    e.first, e.jobs = draw_below(b.draws, i, rules.starts), rules.window
    e.origin = stock.jobs[e.first].submit
    e.seed = draw_below(b.draws, i, SEEDS)
    if rules.limited:
        return
    b.limits[i] = 0.0
    for j in range(e.first, e.first + e.jobs):
        requests = requests_of(stock.jobs, j)
        for kind in range(len(requests)):
            b.limits[i, kind] = max(b.limits[i, kind], requests[kind])


@compiled
def begin(b: Batch, stock: Stock, i: int, run: RunRows) -> bool:
    """Run the drawn or loaded episode of a place to its first decision; False if none is wanted."""
    restore(b.blocks[i], b.fresh)
    e, t, s, k, w, r, v = b.episodes[i], run.tables, run.simulation, run.clockwork, run.window, run.reward, run.sight
    clock = b.rules[0].clock
    s.sim[0].jobs = e.jobs
    take_jobs(t, s, stock, e.first, e.origin)
    t.clock[0].random = e.seed
    if not b.rules[0].limited:
        scale_times(v.rule, b.limits[i, 0])
        for kind in range(len(v.queue.limits)):
            v.queue.limits[kind] = b.limits[i, kind]
    e.decisions, e.reward = 0, 0.0
    if clock == BATSIM:
        open_simulation(t, s)
    e.over = to_next_decision(t, s, k, w, r, clock, False) != WANTED
    settle(t, w, r)
    look(t, w, v, run.choices, b.observations[i], b.masks[i])
    b.times[i] = t.clock[0].now
    return not e.over


@compiled
def begin_next(b: Batch, stock: Stock, i: int, run: RunRows) -> bool:
    """Begin the next episode of a place; False if no decision is wanted in it, or in any of many windows."""
    if b.rules[0].starts == 0:
        return begin(b, stock, i, run)
    for _ in range(DRAWS):
        draw_window(b, stock, i)
        if begin(b, stock, i, run):
            return True
    return False


@compiled
def carry_on(b: Batch, i: int, run: RunRows, action: int) -> None:
    """Take a step in a run."""
    e, t, w, c = b.episodes[i], run.tables, run.window, run.choices
    goes_on = go_on(t, run.simulation, run.clockwork, w, run.reward, c, action)
    reward = c.told[0]
    b.rewards[i], b.times[i] = reward, c.told[1]
    e.decisions += 1
    e.reward += reward
    cut = goes_on and e.decisions == b.rules[0].max_steps
    over = cut or not goes_on
    b.terminated[i], b.truncated[i], b.ended[i], e.over = not goes_on, cut, over, over
    at_once = over and b.rules[0].ends == AT_ONCE
    look(t, w, run.sight, c, b.final[i] if at_once else b.observations[i], b.masks[i])
    if not over:
        return
    b.returns[i], b.lengths[i] = e.reward, e.decisions
    if not at_once:
        for feature in range(b.final.shape[1]):
            b.final[i, feature] = b.observations[i, feature]


@released
def advance_some(b: Batch, stock: Stock, actions: Ints, low: int, high: int) -> int:
    """Advance the runs of the places from *low* to *high* to their next decisions, and write what is to be seen there.

    Args:
        actions: (B,) what to do; BEGIN for a new episode, REST to leave a run as it is, as one that is over always is
            unless ``ends`` of RULES says that the next one follows.

    Returns:
        How many episodes have ended, or LOST if one could not be begun because no decision is wanted in it.
    """
    ends, ended, lost, run = b.rules[0].ends, 0, False, first_row(b.runs)
    for i in range(low, high):
        e, action = b.episodes[i], actions[i]
        if action == REST:
            continue
        run = moved(run, b.runs, i)
        if action == BEGIN:
            lost |= not begin_next(b, stock, i, run)
            continue
        b.terminated[i] = b.truncated[i] = b.ended[i] = False
        b.returns[i], b.lengths[i] = 0.0, 0
        if e.over:
            if ends == NEXT_STEP:
                b.rewards[i] = 0.0
                lost |= not begin_next(b, stock, i, run)
            continue
        carry_on(b, i, run, action)
        if e.over:
            ended += 1
            if ends == AT_ONCE:
                lost |= not begin_next(b, stock, i, run)
    return LOST if lost else ended


@released
def first_illegal(masks: Bools, episodes: Rows, forgiving: bool, actions: Ints) -> int:
    """Return the first place whose action is not known, or not legal in a space that does not forgive that; else -1."""
    for i in range(len(actions)):
        action = actions[i]
        known = action >= 0 and action < masks.shape[1]
        if not (known and (forgiving or masks[i, action])) and not episodes[i].over:
            return i
    return -1


@released
def draw_legal(masks: Bools, states: NDArray[np.uint64], actions: Ints) -> None:
    """Draw an action of each row of (B, A) masks, all legal ones equally likely; *states* as of ``chance``."""
    for i in range(len(masks)):
        legal = 0
        for action in range(masks.shape[1]):
            legal += masks[i, action]
        left = draw_below(states, i, legal)
        if legal == masks.shape[1]:
            actions[i] = left
            continue
        for action in range(masks.shape[1]):
            left -= masks[i, action]
            if left < 0:
                actions[i] = action
                break
