"""Branches of policy iteration, played to their ends in compiled code by a small network over the jobs in slots.

The network says for each job that can start, one after the other in the order of the slots, whether it starts now: its
score is above 0. The first such job starts; if there is none the agent waits. See ``learning.slot_networks``.
"""

import numpy as np

from hdeeprm_like.engine.bundles import Bundle, at_address
from hdeeprm_like.engine.compiled import compiled, inlined, released
from hdeeprm_like.run.batch import Batch, JobPool, carry_on
from hdeeprm_like.run.loop import Run
from hdeeprm_like.run.runs import Runs
from hdeeprm_like.types import Bools, Floats, Ints, Records

NO_JOB = NO_ACTION = -1
EMPTY = 1e-6  # share of the cores that are busy, below which the machine counts as empty

SLOTS = np.dtype(
    [
        ("shared", "i8"),  # first columns of the observation, which all jobs see
        ("own", "i8"),  # columns of each slot behind these
        ("slots", "i8"),
        ("free", "i8"),  # column of the free cores
        ("left", "i8"),  # of a slot's columns, that of the cores left free
        ("time", "i8"),  # and that of the requested time
        ("bias", "f8"),  # of the score
        ("rule", "f8"),  # added where the rule starts a job, subtracted where it holds it
        ("kept", "f8"),  # the rule: so many cores stay free, as the observation shows them,
        ("short", "f8"),  # but for jobs of at most this time
    ],
    align=True,
)


class SlotNetwork(Bundle):
    """A network with one hidden layer of rectified units; H units, K = shared + own inputs.

    Attributes:
        params: (1,) SLOTS. inner: (H, K), biases: (H,), outer: (H,).
    """

    params: Records
    inner: Floats
    biases: Floats
    outer: Floats


class Deviations(Bundle):
    """What branches do otherwise than the policy; B branches.

    Attributes:
        forced: (B,) the first action, NO_ACTION for the policy's. held: (B,) job that may not start, or NO_JOB,
        until: (B,) s, for how long.
    """

    forced: Ints
    held: Ints
    until: Floats


def no_deviations(count: int) -> Deviations:
    """Return that some runs are played as the policy says."""
    return Deviations(np.full(count, NO_ACTION), np.full(count, NO_JOB), np.zeros(count))


@inlined
def score(network: SlotNetwork, seen: Floats, slot: int) -> float:
    """Return the score of the job in a slot: it starts if that is above 0."""
    params = network.params[0]
    at = params.shared + slot * params.own
    if seen[params.free] >= 1.0 - EMPTY:
        return 1.0
    allowed = seen[at + params.left] >= params.kept or seen[at + params.time] <= params.short
    total = params.bias + (params.rule if allowed else -params.rule)
    for h in range(len(network.outer)):
        inner = network.biases[h]
        for k in range(params.shared):
            inner += network.inner[h, k] * seen[k]
        for k in range(params.own):
            inner += network.inner[h, params.shared + k] * seen[at + k]
        if inner > 0.0:
            total += network.outer[h] * inner
    return float(total)


@compiled
def choose(run: Run, network: SlotNetwork, mask: Bools, held: int) -> int:
    """Return the action of the policy in a run: the first job to start, other than *held*, or waiting."""
    slots, first = network.params[0].slots, -1
    for i in range(slots):
        if not mask[i] or (held != NO_JOB and run.core.window.slots[i] == held):
            continue
        if first < 0:
            first = i
        if score(network, run.observation, i) > 0.0:
            return i
    if mask[slots]:
        return int(slots)
    if first >= 0:
        return int(first)
    for i in range(slots):  # nothing but the job that is held can be done
        if mask[i]:
            return i
    return int(slots)


@released
def play_branches(
    batch: Batch, pool: JobPool, network: SlotNetwork, deviations: Deviations, low: int, high: int
) -> int:
    """Play the runs of the places from *low* to *high* to their ends; return how many decisions that took."""
    decisions = 0
    for i in range(low, high):
        e, run = batch.episodes[i], at_address(batch.first, batch.runs[i])
        while not e.over:
            action = deviations.forced[i]
            deviations.forced[i] = NO_ACTION
            if action == NO_ACTION:
                held = deviations.held[i] if batch.times[i] < deviations.until[i] else NO_JOB
                action = choose(run, network, batch.masks[i], held)
            carry_on(batch, i, run, action)
            decisions += 1
    return decisions


def play_to_end(
    runs: Runs, network: SlotNetwork, deviations: Deviations | None = None, count: int | None = None
) -> int:
    """Play the first *count* episodes, or all, to their ends by a network; return how many decisions that took.

    Args:
        deviations: what is done otherwise than the network says; None for nothing.
    """
    if deviations is None:
        deviations = no_deviations(runs.count)
    last = runs.count if count is None else count
    return int(play_branches(runs.rows, runs.job_pool, network, deviations, 0, last))
