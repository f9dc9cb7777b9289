"""Explain a learned policy: its scores as formulas, and the effect of each feature on the jobs of one instant."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.decision.policies.ranking import score_terms
from hdeeprm_like.decision.score_files import FEATURES, ScoredPolicy, formula
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.run.loop import OVER, advance
from hdeeprm_like.run.simulator import Clock, Simulator
from hdeeprm_like.run.to_end import constant_run


def explained(policy: ScoredPolicy) -> Iterator[str]:
    """Yield a learned policy in lines that an operator can read."""
    if policy.exact is not None:
        yield "While every job that has ended ran as long as requested:"
        yield from stage_explained(policy.exact)
        yield "From the first one on that did not:"
    yield from stage_explained(policy)
    used = {
        name
        for stage in (policy, policy.exact)
        if stage is not None
        for score in (stage.queue, stage.backfill, stage.gate)
        if score is not None
        for weights in (score.weights, *(unit.weights for unit in score.hidden))
        for name, weight in weights
        if weight
    }
    yield "Of these,"
    for name in FEATURES:
        if name in used:
            yield f"  {name} = {FEATURES[name]}"


def stage_explained(stage: ScoredPolicy) -> Iterator[str]:
    """Yield the rules of one stage."""
    yield f"  The job with the smallest score is first: {formula(stage.queue)}"
    if stage.backfill is not None:
        yield f"  Behind the head of the queue the smallest is first of: {formula(stage.backfill)}"
    if stage.gate is not None:
        yield f"  Behind the head only those may start for which this is not negative: {formula(stage.gate)}"
    keep, ahead = stage.keep, stage.lookahead
    if stage.reservations > 1:
        yield f"  Cores are reserved for the first {stage.reservations} jobs that do not fit"
    if keep is not None:
        yield (
            f"  Cores are kept free before a job for those at least {keep.bins / 2:g} shorter in ln: what these "
            f"occupy, {keep.deviations:g} standard deviations more, times (1 + backlog in h)^{-keep.backlog:g}, "
            f"at most {100 * keep.most:g} % of the machine"
            + (f" times (share of it that the load of late leaves idle)^{keep.load:g}" if keep.load else "")
        )
        if keep.widest < 1.0:
            yield f"  Jobs on more than {100 * keep.widest:g} % of the cores start without regard to that"
    if ahead is not None:
        yield (
            f"  What waits and the last {ahead.arrivals} arrivals are played to the end, and the first step of the "
            f"cheapest of {len(ahead.candidates)} candidates is done:"
        )
        for one in ahead.candidates:
            how = "with backfilling" if one.backfill else "in strict order"
            wait = f" / (1 + wait / time)^{one.wait:g}" if one.wait else ""
            yield f"    time^{one.time:g} * cores^{one.cores:g}{wait}, {how}"


@dataclass(frozen=True)
class Moment:
    """The queue at one time.

    Attributes:
        now: s. started: number of jobs that the policy started then. jobs: one row for each of these and of the jobs
        that still wait, by score: ``job``, ``starts``, ``cores``, ``requested_time`` (s), ``wait`` (s), ``score``, then
        for each feature with a weight its effect on the score, relative to the mean of these jobs.
    """

    now: float
    started: int
    jobs: pd.DataFrame


def explain_moment(machine: Platform, jobs: Workload, policy: Baseline, at: float, clock: Clock = "textbook") -> Moment:
    """Simulate jobs under a learned policy to the first instant from *at* s on with two waiting jobs, and explain it.

    Raises:
        OptionsError: the policy is no learned one, or no two jobs wait from then on.
    """
    learned = policy.learned
    if learned is None:
        raise OptionsError(f"policy {policy.name!r}: is no learned one; only learned policies have scores")
    actions = PolicyActions([policy])
    state = State(machine, jobs, needs=actions.needs, log=False)
    simulator = Simulator(state, jobs, clock)
    run = constant_run(simulator, actions.choices(state, constant=0))
    while True:
        if advance(run, 1) == OVER:
            raise OptionsError(f"no two jobs wait at {at:g} s or later")
        if state.now >= at and len(state.waiting) + len(state.started_now) > 1:
            break
    plans = run.choices.plans  # type: ignore[union-attr]
    rows = np.concatenate([state.started_now, state.waiting]).astype(np.int64)
    scores, moved = score_terms(policy, state.tables, plans, 0, rows)
    table = pd.DataFrame(
        {
            "job": [jobs.ids[row] for row in rows],
            "starts": np.arange(len(rows)) < len(state.started_now),
            "cores": jobs.size[rows],
            "requested_time": jobs.requested_time[rows],
            "wait": state.now - jobs.submit[rows],
            "score": scores,
            **moved,
        }
    )
    return Moment(state.now, len(state.started_now), table.sort_values("score", kind="stable", ignore_index=True))
