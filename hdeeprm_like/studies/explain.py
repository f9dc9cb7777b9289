"""Explain a learned policy: its scores as formulas, and the effect of each feature on the jobs of one instant."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp

import numpy as np
import pandas as pd

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import Baseline, case_of
from hdeeprm_like.decision.policies.bounded import SLACK
from hdeeprm_like.decision.policies.guaranteed_nodes import Bounds
from hdeeprm_like.decision.policies.ranking import score_terms
from hdeeprm_like.decision.score_files import EXPECTED, FEATURES, Keep, Score, ScoredPolicy, formula
from hdeeprm_like.engine.bundles import bundle_in
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.refusals import EXPLAIN, refuse
from hdeeprm_like.run.loop import OVER, advance
from hdeeprm_like.run.simulator import Clock, Simulator
from hdeeprm_like.run.to_end import constant_run
from hdeeprm_like.studies.explain_placement import placement_explained

WORDS = {  # what the smallest score prefers, by the sign of what the feature weighs
    "log_time": ("short requests", "long requests"),
    "trusted_log_time": ("jobs that run briefly, by request or history, whichever is right more often", "long jobs"),
    "log_expected_time": ("jobs expected to be short", "jobs expected to be long"),
    "expected_log_time": ("jobs usually short", "jobs usually long"),
    "log_expected_rate": ("jobs that hardly can be very short", "jobs that may be very short"),
    "short": ("jobs unlikely to end within 10 minutes", "jobs likely to end within 10 minutes"),
    "log_cores": ("jobs of few cores", "jobs of many cores"),
    "log_wait": ("jobs that came late", "jobs that have waited long beside their run time"),
    "log_wait_request": ("jobs that came late", "jobs that have waited long beside their request"),
    "log_wait_hours": ("jobs that came late", "jobs that have waited long"),
    "wait_days": ("jobs that came late", "jobs that have waited long"),
    "user_share": ("users with few cores", "users with many cores"),
    "user_running": ("users with few running jobs", "users with many running jobs"),
    "user_waiting": ("users with few waiting jobs", "users with many waiting jobs"),
    "trust": ("users whose requests are wrong", "users whose requests are right"),
}


def explained(policy: ScoredPolicy, bound: float = 0.0) -> Iterator[str]:
    """Yield a learned policy in lines that an operator can read.

    Args:
        bound: K of the guaranteed starts that it wears, 0 for none.
    """
    if policy.exact is not None:
        yield "While the last jobs ran as long as requested (5 % in the mean):"
        yield from stage_explained(policy.exact)
        yield "Otherwise:"
    yield from stage_explained(policy)
    if policy.placement is not None:
        yield from placement_explained(policy.placement)
    if policy.times != EXPECTED:
        yield f"Run times that it expects are those of the predictor {policy.times}"
    yield from bound_explained(bound)
    used = {
        name
        for stage in (policy, policy.exact)
        if stage is not None
        for score in (stage.queue, stage.backfill)
        if score is not None
        for name, weight in score.weights
        if weight
    }
    yield "Of these,"
    for name in FEATURES:
        if name in used:
            yield f"  {name} = {FEATURES[name]}"


def bound_explained(bound: float) -> Iterator[str]:
    """Yield what is guaranteed to each job."""
    if not bound:
        yield "No job is guaranteed a start: one that comes last in the order may wait for ever (+bounded guarantees)"
        return
    times = "" if bound == 1.0 else f"{bound:g} times "
    yield (
        f"No job waits longer than {SLACK / 3600:g} h plus {times}the time that the machine needs for all waiting work"
    )
    yield (
        "  The busiest moment of late counts, divided by the share of their requests that jobs use; a job that finds "
        "no room by then starts at the first date with room"
    )
    yield (
        "  Where jobs use less than they request, a job goes before all others long before that, when its work is "
        "expected to be done"
    )


def in_words(score: Score) -> str:
    """Return what a score prefers, the heaviest first; empty where no feature has words."""
    ordered = sorted(((abs(weight), weight, name) for name, weight in score.weights if weight), reverse=True)
    found = [WORDS[name][int(weight < 0.0)] for _, weight, name in ordered if name in WORDS]
    return ", then ".join(dict.fromkeys(found))


def stage_explained(stage: ScoredPolicy) -> Iterator[str]:
    """Yield what is done in one stage."""
    words = in_words(stage.queue)
    if words:
        yield f"  First come {words}"
    yield f"  The job with the smallest score is first: {formula(stage.queue)}"
    if stage.backfill is not None:
        yield f"  Behind the head of the queue the smallest is first of: {formula(stage.backfill)}"
    if stage.keep is not None:
        yield from keep_explained(stage.keep)


def keep_explained(keep: Keep) -> Iterator[str]:
    """Yield which cores are kept free, and for which jobs."""
    yield (
        f"  Up to {100 * keep.most:.3g} % of the cores stay free for jobs at least {exp(keep.bins / 2):.2g} times "
        f"shorter than the one that would start: as many as these usually use, and {keep.deviations:.3g} standard "
        "deviations more"
    )
    if keep.backlog > 0.0:
        yield f"  The more work waits, the fewer: divided by (1 + h that it keeps the machine busy)^{keep.backlog:.3g}"
    if keep.backlog < 0.0:
        yield f"  The more work waits, the more: times (1 + h that it keeps the machine busy)^{-keep.backlog:.3g}"
    if keep.load:
        yield f"  The share is multiplied by (share of the machine that the load of late leaves idle)^{keep.load:.3g}"
    if keep.felt:
        yield f"  Only so far as jobs have waited of late: times (1 - 1 / their mean bounded slowdown)^{keep.felt:.3g}"
    if keep.widest < 1.0:
        yield f"  Jobs on more than {100 * keep.widest:.3g} % of the cores start without regard to that"


@dataclass(frozen=True)
class Moment:
    """The queue at one time.

    Attributes:
        now: s. started: how many jobs the policy started then. free: cores that are still free afterwards.
        jobs: one row for each of these and of those that go on waiting, by score: ``job``, ``starts``, ``cores``,
            ``kept`` (cores that must stay free beside its own), ``requested_time`` (s), ``wait`` (s), where starts are
            guaranteed ``guaranteed`` (s), ``why`` it does not start, ``score``, then for each feature that weighs
            something how much it moves the score beside the mean of these jobs.
    """

    now: float
    started: int
    free: int
    jobs: pd.DataFrame


def why_not(starts: bool, size: int, kept: int, free: int, bound: float, first: bool) -> str:
    """Return in a few words why a job does not start."""
    if starts:
        return "starts"
    if size > free:
        return f"{size} cores are not free"
    if size + kept > free:
        return f"{kept} cores are kept for shorter jobs"
    if bound:
        return "in the way of a guaranteed start"
    return "first, but not on nodes that have room" if first else "would delay the first"


def explain_moment(machine: Platform, jobs: Workload, policy: Baseline, at: float, clock: Clock = "textbook") -> Moment:
    """Simulate jobs under a learned policy to the first instant from *at* s on with two waiting jobs, and explain it.

    Raises:
        OptionsError: the policy is no learned one, or no two jobs wait from then on.
    """
    refuse(case_of(policy, EXPLAIN))
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
    bounds = bundle_in(plans.guarantees, 0)
    rows = np.concatenate([state.started_now, state.waiting]).astype(np.int64)
    scores, kept, moved = score_terms(policy, state.tables, plans, 0, rows)
    starts = np.arange(len(rows)) < len(state.started_now)
    free, first = int(state.tables.clock["free_cores"][0]), int(np.argmin(np.where(starts, np.inf, scores)))
    table = pd.DataFrame(
        {
            "job": [jobs.ids[row] for row in rows],
            "starts": starts,
            "cores": jobs.size[rows],
            "kept": kept,
            "requested_time": jobs.requested_time[rows],
            "wait": state.now - jobs.submit[rows],
            **({"guaranteed": bounds.jobs["promised"][rows]} if isinstance(bounds, Bounds) else {}),
            "why": [
                why_not(bool(starts[i]), int(jobs.size[row]), int(kept[i]), free, policy.mode.bound, i == first)
                for i, row in enumerate(rows)
            ],
            "score": scores,
            **moved,
        }
    )
    ordered = table.sort_values("score", kind="stable", ignore_index=True)
    return Moment(state.now, len(state.started_now), free, ordered)
