"""Many runs side by side: their rows stacked, advanced together in compiled calls, begun again in place.

Each array of a run gets one more axis in front; a run is a slice, which the functions of a single run take as it is.
What no run changes (where cores, processors and nodes are, what actions mean) is there once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hdeeprm_like.bundles import bundle, row_of
from hdeeprm_like.cluster.tables import Rows, Tables
from hdeeprm_like.compiled import compiled, released
from hdeeprm_like.decision.observations.rows import ViewRows
from hdeeprm_like.decision.rewards import RewardRows, settle
from hdeeprm_like.decision.window import Window
from hdeeprm_like.drivers.play import BATSIM, WANTED, to_next_decision
from hdeeprm_like.drivers.server_clock import open_simulation
from hdeeprm_like.drivers.steps import Choices, look, step
from hdeeprm_like.drivers.tasks import Simulation
from hdeeprm_like.drivers.textbook import Clockwork
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

BEGIN, REST = -1, -2  # instead of actions


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
        bytes: all of these arrays one after the other. fresh: what they are before a run, for a single one.
        places: (columns, 3) where each array begins in *bytes* and in *fresh*, and bytes of a run.
        episodes: (B,) EPISODE. rules: (B,) VIEW and limits: (B, 4), how the present episodes are scaled.
        observations: (B, F) float32. rewards: (B,). The legal actions are ``runs.choices.mask``, (B, A).
    """

    runs: RunRows
    bytes: NDArray[np.uint8]
    fresh: NDArray[np.uint8]
    places: Ints
    episodes: Rows
    rules: Rows
    limits: Floats
    observations: Floats
    rewards: Floats


@compiled
def restore(b: Batch, i: int) -> None:
    """Give all rows of a run the content that they have before one, but for the jobs."""
    for k in range(len(b.places)):
        to, source, size = b.places[k, 0] + i * b.places[k, 2], b.places[k, 1], b.places[k, 2]
        row, fresh = b.bytes[to : to + size], b.fresh[source : source + size]
        for byte in range(size):
            row[byte] = fresh[byte]


@compiled
def take_jobs(t: Tables, s: Simulation, stock: Stock, first: int, origin: float) -> None:
    """Take the jobs of an episode from the stock, and let the clock begin with *origin* (s)."""
    for j in range(s.sim[0].jobs):
        t.jobs[j] = stock.jobs[first + j]
        s.tasks[j] = stock.tasks[first + j]
        t.jobs[j].submit -= origin
        s.submit[j] = t.jobs[j].submit


@compiled
def begin(b: Batch, stock: Stock, clock: int, i: int, run: RunRows) -> None:
    """Put a run to the beginning of its episode, before the first event."""
    restore(b, i)
    e, t, s, v = b.episodes[i], run.tables, run.simulation, run.sight
    s.sim[0].jobs = e.jobs
    take_jobs(t, s, stock, e.first, e.origin)
    t.clock[0].random = e.seed
    v.rule[0] = b.rules[i]
    for kind in range(len(v.queue.limits)):
        v.queue.limits[kind] = b.limits[i, kind]
    e.decisions, e.reward, e.over = 0, 0.0, 0
    if clock == BATSIM:
        open_simulation(t, s)


@released
def advance_some(b: Batch, stock: Stock, clock: int, actions: Ints, low: int, high: int) -> None:
    """Advance the runs of the places from *low* to *high* to their next decisions, and write what is to be seen there.

    Args:
        actions: (B,) what to do; BEGIN for a new episode, REST to leave a run as it is, as one that is over always is.
    """
    for i in range(low, high):
        e, action = b.episodes[i], actions[i]
        if action == REST or (e.over and action != BEGIN):
            continue
        run = row_of(b.runs, i)
        t, s, k, w, r, v, c = run.tables, run.simulation, run.clockwork, run.window, run.reward, run.sight, run.choices
        out = b.observations[i]
        if action == BEGIN:
            begin(b, stock, clock, i, run)
            e.over = to_next_decision(t, s, k, w, r, clock, False) != WANTED
            settle(t, w, r)
            look(t, w, v, c, out)
            b.rewards[i] = 0.0
            continue
        e.over = not step(t, s, k, w, r, v, c, out, action)
        b.rewards[i] = c.told[0]
        e.decisions += 1
        e.reward += c.told[0]


@released
def first_illegal(b: Batch, actions: Ints) -> int:
    """Return the first place whose action is not known, or not legal in a space that does not forgive that; else -1."""
    masks = b.runs.choices.mask
    for i in range(len(actions)):
        if b.episodes[i].over:
            continue
        action = actions[i]
        known = action >= 0 and action < masks.shape[1]
        if not known or (b.runs.choices.rule[i, 0].slots == 0 and not masks[i, action]):
            return i
    return -1


@released
def draw_legal(masks: Bools, states: NDArray[np.uint64], actions: Ints) -> None:
    """Draw an action of each row of (B, A) masks, all legal ones equally likely; *states* are of their generators."""
    for i in range(len(masks)):
        legal = 0
        for action in range(masks.shape[1]):
            legal += masks[i, action]
        states[i] += np.uint64(0x9E3779B97F4A7C15)  # splitmix64
        z = states[i]
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        left = int((z >> np.uint64(11)) * (1.0 / 9007199254740992.0) * legal)
        for action in range(masks.shape[1]):
            left -= masks[i, action]
            if left < 0:
                actions[i] = action
                break
