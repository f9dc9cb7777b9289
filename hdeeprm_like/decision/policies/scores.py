"""Scores of learned policies in compiled code: what a job's features weigh together (see `decision.score_files`)."""

from collections.abc import Sequence

import numpy as np

from hdeeprm_like.decision.policies.estimates import bring_estimate, longest_elapsed
from hdeeprm_like.decision.policies.history import History
from hdeeprm_like.decision.score_files import FEATURES, NEVER, WHEN, Score, ScoredPolicy
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats, Records

FEATURE = {name: number for number, name in enumerate(FEATURES)}
COUNT = len(FEATURES)
QUEUE, BACKFILL, GATE, KINDS = 0, 1, 2, 3  # kinds of scores
HOUR, DAY = 3600.0, 86400.0  # s
TO_HEAD = FEATURE["log_time_to_head"]  # the first of those that compare with the head of the queue

SCORE = np.dtype(
    [
        ("own_backfill", "i8"),  # 1 where jobs behind the head are sorted by a score of their own
        ("gate", "i8"),  # 1 where these must pass a gate
        ("units", "i8"),  # hidden units of each kind of score
        ("lookahead", "i8"),  # NEVER, WHILE_EXACT or ALWAYS
        ("arrivals", "i8"),  # past submissions that are played again
        ("most", "i8"),  # waiting jobs that are played
        ("first", "i8"),  # candidates: Scores.candidates[first : last]
        ("last", "i8"),
        ("wait", "f8"),  # what a second of waiting costs beside 1 / run time
        ("queue", "f8"),  # ln(1 + waiting jobs) / 3 now,
        ("work", "f8"),  # and how long these keep the machine busy
    ],
    align=True,
)

CANDIDATE = np.dtype([("time", "f8"), ("cores", "f8"), ("wait", "f8"), ("backfill", "i8")], align=True)


class Scores(Bundle, shared=("weights", "hidden", "out", "candidates")):
    """The scores of the policies of an action space; K policies, F features, H hidden units at most, J jobs.

    Attributes:
        params: (K,) SCORE. weights: (K * KINDS, F). hidden: (K * KINDS * H, F), out: (K * KINDS, H) of the units.
        candidates: CANDIDATE of all policies.
        features: (F,) scratch. keys: (J,) scratch: scores of the jobs behind the head.
    """

    params: Records
    weights: Floats
    hidden: Floats
    out: Floats
    candidates: Records
    features: Floats
    keys: Floats


def new_scores(policies: Sequence[ScoredPolicy | None], jobs: int) -> Scores:
    """Return the scores of some policies, None for one that has none."""
    kinds = [
        [one or Score() for one in (policy.queue, policy.backfill, policy.gate)] if policy else [Score()] * KINDS
        for policy in policies
    ]
    units = max((len(score.hidden) for scores in kinds for score in scores), default=0)
    count = len(policies)
    params = np.zeros(count, SCORE)
    weights, hidden = np.zeros((count * KINDS, COUNT)), np.zeros((count * KINDS * units, COUNT))
    out = np.zeros((count * KINDS, units))
    candidates: list[tuple[float, float, float, bool]] = []
    for k, policy in enumerate(policies):
        params[k]["units"], params[k]["first"] = units, len(candidates)
        if policy is None:
            continue
        params[k]["own_backfill"], params[k]["gate"] = policy.backfill is not None, policy.gate is not None
        ahead = policy.lookahead
        params[k]["lookahead"] = WHEN[ahead.when] if ahead else NEVER
        if ahead:
            params[k]["arrivals"], params[k]["most"], params[k]["wait"] = ahead.arrivals, ahead.queue, ahead.wait
            candidates += [(one.time, one.cores, one.wait, one.backfill) for one in ahead.candidates]
        params[k]["last"] = len(candidates)
        for kind, score in enumerate(kinds[k]):
            row = k * KINDS + kind
            for name, weight in score.weights:
                weights[row, FEATURE[name]] = weight
            for h, unit in enumerate(score.hidden):
                out[row, h] = unit.out
                for name, weight in unit.weights:
                    hidden[row * units + h, FEATURE[name]] = weight
    return Scores(params, weights, hidden, out, np.array(candidates, CANDIDATE), np.zeros(COUNT), np.zeros(jobs))


@compiled
def look_at_queue(tables: Tables, scores: Scores, k: int) -> None:
    """Note how full the queue is now."""
    clock, work = tables.clock[0], 0.0
    for i in range(clock.waiting):
        job = tables.jobs[tables.members[i]]
        work += job.requested_time * job.size
    scores.params[k].queue = np.log1p(float(clock.waiting)) / 3.0
    scores.params[k].work = np.log1p(work / (len(tables.core_job) * HOUR)) / 3.0


@compiled
def describe_job(tables: Tables, history: History, f: Floats, j: int) -> None:
    """Write the first features of a waiting job, those that tell of it and its user: ``score_files.OF_JOB``."""
    bring_estimate(tables, history, j)
    job, found = tables.jobs[j], history.jobs[j]
    user, cores, request = history.groups[found.user], float(len(tables.core_job)), max(job.requested_time, 1.0)
    f[0] = 1.0
    f[1], f[2] = np.log(request / HOUR), np.log(job.size / cores)
    f[3], f[4] = np.log(found.time / HOUR), np.log(found.rate * HOUR)
    f[5], f[6] = found.log_time - np.log(HOUR), found.short
    f[7] = min(np.log(max(0.5 * (user.last + user.before), 1.0) / request), 0.0) if user.ended >= 2 else 0.0
    f[8] = user.log_ratio
    last = history.groups[found.group].last
    f[9] = np.log(max(last, 1.0) / request) if last > 0.0 else 0.0
    f[10] = np.log1p(longest_elapsed(tables, history, j) / 60.0)
    f[11], f[12], f[13] = np.log1p(float(user.running)), np.log1p(float(user.waiting)), user.cores / cores


@compiled
def write_features(tables: Tables, history: History, scores: Scores, k: int, j: int) -> None:
    """Write the features of a waiting job that do not compare it with the head of the queue."""
    f, job, found, clock = scores.features, tables.jobs[j], history.jobs[j], tables.clock[0]
    describe_job(tables, history, f, j)
    cores, request, wait = float(len(tables.core_job)), max(job.requested_time, 1.0), clock.now - job.submit
    f[14] = np.log1p(wait / max(1.0 / found.rate, 60.0))
    f[15], f[16] = np.log1p(wait / max(request, 10.0)), min(wait / DAY, 10.0)
    now = scores.params[k]
    f[17], f[18] = f[1] * now.queue, f[2] * now.queue
    f[19], f[20], f[21] = clock.free_cores / cores, now.queue, now.work
    f[22] = job.size / max(float(clock.free_cores), 1.0)
    for i in range(TO_HEAD, COUNT):
        f[i] = 0.0


@compiled
def compare_with_head(tables: Tables, scores: Scores, j: int, head: int, shadow: float) -> None:
    """Write the remaining features: those that compare a job with the head of the queue, which starts at *shadow* s."""
    f, job, first = scores.features, tables.jobs[j], tables.jobs[head]
    f[TO_HEAD] = np.log(max(job.requested_time, 1.0) / max(first.requested_time, 1.0))
    f[TO_HEAD + 1] = np.log(job.size / float(first.size))
    f[TO_HEAD + 2] = 1.0 if tables.clock[0].now + job.requested_time <= shadow else 0.0


@compiled
def weigh(scores: Scores, k: int, kind: int) -> float:
    """Return a score of the job whose features are written."""
    row, units, total = k * KINDS + kind, scores.params[k].units, 0.0
    for i in range(COUNT):
        total += scores.weights[row, i] * scores.features[i]
    for h in range(units):
        inner = 0.0
        for i in range(COUNT):
            inner += scores.hidden[row * units + h, i] * scores.features[i]
        total += scores.out[row, h] * np.tanh(inner)
    return total
