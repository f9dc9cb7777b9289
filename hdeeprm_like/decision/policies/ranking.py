"""The order in which a baseline serves the waiting jobs, for other schedulers that start jobs by it.

It is the order in which the baseline itself sorts the queue before it starts jobs. Other parts of a learned policy
(kept cores, a score for backfilling) are no order, and are left to the scheduler that starts the jobs.
"""

from typing import NamedTuple

import numpy as np

from hdeeprm_like.decision.modes import SCORED
from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.decision.policies.baselines import open_decision
from hdeeprm_like.decision.policies.history import requests_hold
from hdeeprm_like.decision.policies.knowledge import Knowledge
from hdeeprm_like.decision.policies.plans import Plans, learn
from hdeeprm_like.decision.policies.scored import describe, sort_by_score
from hdeeprm_like.decision.policies.scores import (
    COUNT,
    QUEUE,
    STAGES,
    find_kept,
    look_at_queue,
    needed_cores,
    stage_of,
    weigh,
)
from hdeeprm_like.decision.score_files import FEATURES
from hdeeprm_like.engine.compiled import entry
from hdeeprm_like.engine.job_lists import copy_jobs
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Float64Grid, Floats, Int64s, Ints

SCORE, NEEDED = COUNT, COUNT + 1  # columns behind the features


class Ranked(NamedTuple):
    """The waiting jobs in the order of a policy; the smallest key is first.

    Attributes:
        jobs: (W,) rows. keys: (W,) keys of the policy.
        because: for each feature with a weight in a learned score, (W,) its contribution to a job's key, relative to
        the mean of these jobs; empty for other policies.
    """

    jobs: Ints
    keys: Floats
    because: dict[str, Floats]


def ranked_by(baseline: Baseline, tables: Tables, plans: Plans, k: int) -> Ranked:
    """Return the waiting jobs in the order of baseline *k* now."""
    if begin(tables, plans, k) and baseline.mode.name == SCORED:
        v, s = int(plans.plans["list"][k]), stage_of(plans.knowledge.history, k)
        sort_by_score(tables, plans, plans.knowledge, v, s)
    count = write_order(tables, plans, k)
    rows = plans.queue[:count].astype(np.int64)
    keys: Floats = tables.waiting.key_of[plans.plans["list"][k], rows]
    because = score_terms(baseline, tables, plans, k, rows)[2] if baseline.learned and count else {}
    return Ranked(rows, keys, because)


@entry
def begin(tables: Tables, plans: Plans, k: int) -> bool:
    """Bring baseline *k* to the present instant, its queue in order; return False if no job waits."""
    return open_decision(tables, plans, k)


@entry
def write_order(tables: Tables, plans: Plans, k: int) -> int:
    """Write the jobs in the order of baseline *k* to ``Plans.queue``; return their number."""
    return int(copy_jobs(tables.waiting, plans.plans[k].list, plans.queue))


def score_terms(
    baseline: Baseline, tables: Tables, plans: Plans, k: int, rows: Ints
) -> tuple[Floats, Ints, dict[str, Floats]]:
    """Return of some jobs under learned policy *k* how it sees them.

    Returns:
        (R,) scores, (R,) cores kept free before each beside its own, and each feature's contribution to the scores
        relative to their mean.
    """
    learned = baseline.learned
    assert learned is not None
    exact = requests_hold(plans.knowledge.history)
    found = np.zeros((len(rows), COUNT + 2))
    write_scores(tables, plans, plans.knowledge, k * STAGES + int(exact), rows, found)
    weights = dict((learned.exact or learned if exact else learned).queue.weights)
    kept = found[:, NEEDED].astype(np.int64) - tables.jobs["size"][rows]
    return (
        found[:, SCORE],
        kept,
        {
            name: weights[name] * (found[:, i] - found[:, i].mean())
            for i, name in enumerate(FEATURES)
            if weights.get(name)
        },
    )


@entry
def write_scores(tables: Tables, plans: Plans, knowledge: Knowledge, s: int, rows: Int64s, found: Float64Grid) -> None:
    """Write (R, F + 2) the features of some jobs in stage *s*, their queue scores, and the cores that must be free."""
    look_at_queue(tables, knowledge.scores, s)
    if knowledge.scores.params[s].keeps == 1:
        find_kept(tables, knowledge.history, knowledge.scores, s)
    for i in range(len(rows)):
        describe(tables, plans, knowledge, s, rows[i])
        for n in range(COUNT):
            found[i, n] = knowledge.scores.features[n]
        found[i, SCORE] = weigh(knowledge.scores, s, QUEUE)
        found[i, NEEDED] = needed_cores(tables, knowledge.history, knowledge.scores, s, rows[i])


@entry
def notice(tables: Tables, plans: Plans, k: int) -> None:
    """Update baseline *k* with what has happened until now, as at each decision, without deciding anything."""
    learn(tables, plans, k)
