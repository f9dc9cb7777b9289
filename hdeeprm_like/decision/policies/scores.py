"""Scores of learned policies in compiled code: weighted features of jobs (see `decision.score_files`).

A policy has two *stages*, each with scores of its own: `USUAL`, and `EXACT` as long as every ended job ran
for exactly its requested time. Stage *s* of policy *k* is row ``2 k + s``.
"""

from collections.abc import Sequence

import numpy as np

from hdeeprm_like.decision.policies.history import (
    DEMANDS,
    NONE,
    History,
    length_of,
    mean_slowdown,
    requests_hold,
    trust_in,
    trusted_log_time,
)
from hdeeprm_like.decision.policies.job_features import (
    F_LOG_CORES,
    F_LOG_TIME,
    HOUR,
    describe_job,
)
from hdeeprm_like.decision.policies.run_times import bring_outlook
from hdeeprm_like.decision.score_files import FEATURES, OF_JOB, Keep, Score, ScoredPolicy
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled, entry, inlined
from hdeeprm_like.engine.dispatch import check_names, numbered
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats, Records

FEATURE = {name: number for number, name in enumerate(FEATURES)}
COUNT = len(FEATURES)
OF_QUEUE = range(OF_JOB, 30)  # behind those of `job_features`
(
    F_TRUST,
    F_TRUSTED_LOG_TIME,
    F_LOG_WAIT,
    F_LOG_WAIT_REQUEST,
    F_LOG_WAIT_HOURS,
    F_WAIT_DAYS,
    F_LOG_TIME_QUEUE,
    F_LOG_CORES_QUEUE,
    F_FREE,
    F_QUEUE,
    F_WORK,
    F_OF_FREE,
    F_PLACEMENT,
    F_LOG_TIME_TO_HEAD,
    F_LOG_CORES_TO_HEAD,
    F_IN_TIME,
) = OF_QUEUE
OF_QUEUE_NAMED = (*tuple(FEATURES)[:OF_JOB], *numbered(globals(), "F_", OF_QUEUE))
check_names("features of scores", FEATURES, OF_QUEUE_NAMED, __name__)
QUEUE, BACKFILL, KINDS = 0, 1, 2  # kinds of scores
USUAL, EXACT, STAGES = 0, 1, 2
ESTIMATES, REQUESTS, BOTH = 0, 1, 2
DAY = 86400.0  # s
LEAST_ENDED = 20.0  # jobs; fewer cores are kept until this many have ended
LEAST_SPARE = 0.05  # least assumed share of the machine left idle by the load
FROM_ESTIMATES = (
    "log_expected_time",
    "log_expected_rate",
    "expected_log_time",
    "short",
    "log_wait",
    "trusted_log_time",
)
OF_PLACEMENT = 1 << F_PLACEMENT
OF_TRUST = 1 << F_TRUST | 1 << F_TRUSTED_LOG_TIME
LOG_WAIT, LOG_WAIT_REQUEST, LOG_WAIT_HOURS = 1 << F_LOG_WAIT, 1 << F_LOG_WAIT_REQUEST, 1 << F_LOG_WAIT_HOURS

SCORE = np.dtype(
    [
        ("own_backfill", "i8"),  # 1 if jobs behind the head are sorted by a score of their own
        ("estimates", "i8"),  # 1 if it uses predicted run times,
        ("outlook", "i8"),  # and the row of their outlooks in History.outlooks
        ("looks", "i8"),  # bit n is 1 if it uses feature n; the others are not computed
        ("keeps", "i8"),  # 1 if cores are kept free,
        *((name, "i8" if name == "bins" else "f8") for name in Keep.names()),  # and how many
        ("believes", "i8"),  # what is kept is compared with: ESTIMATES, REQUESTS or BOTH
        ("queue", "f8"),  # ln(1 + waiting jobs) / 3 now,
        ("work", "f8"),  # and ln(1 + h that these keep the machine busy) / 3
    ],
    align=True,
)


class Scores(Bundle, shared=("weights",)):
    """The scores of the policies of an action space; R rows for stages, F features.

    Attributes:
        params: (R,) SCORE. weights: (R * KINDS, F). features: (F,) scratch.
        kept: (DEMANDS,) scratch: cores kept free before jobs of each length.
    """

    params: Records
    weights: Floats
    features: Floats
    kept: Floats


def new_scores(policies: Sequence[ScoredPolicy | None], views: Sequence[int]) -> Scores:
    """Return the scores of some policies, None for one that has none.

    Args:
        views: (K,) row of the outlooks that each uses.
    """
    params, weights = np.zeros(len(policies) * STAGES, SCORE), np.zeros((len(policies) * STAGES * KINDS, COUNT))
    params["outlook"] = np.repeat(views, STAGES)
    for k, policy in enumerate(policies):
        if policy is None:
            continue
        believes = (BOTH, BOTH) if policy.exact is None else (ESTIMATES, REQUESTS)
        for s, stage in ((USUAL, policy), (EXACT, policy.exact or policy)):
            row = k * STAGES + s
            write_params(params[row], stage, believes[s])
            for kind, score in ((QUEUE, stage.queue), (BACKFILL, stage.backfill or Score())):
                for name, weight in score.weights:
                    weights[row * KINDS + kind, FEATURE[name]] = weight
    return Scores(params, weights, np.zeros(COUNT), np.zeros(DEMANDS))


def write_params(row: np.void, stage: ScoredPolicy, believes: int) -> None:
    """Write what a stage does beside its scores.

    Args:
        believes: ESTIMATES, REQUESTS, or BOTH where the policy has no stage of its own for exact requests.
    """
    row["own_backfill"], row["keeps"] = stage.backfill is not None, stage.keep is not None
    scores = [score for score in (stage.queue, stage.backfill) if score]
    looked_at: frozenset[str] = frozenset().union(*(score.features for score in scores))
    row["looks"] = sum(1 << FEATURE[name] for name in looked_at)
    row["estimates"] = not looked_at.isdisjoint(FROM_ESTIMATES) or (stage.keep is not None and believes != REQUESTS)
    row["believes"] = believes
    keep = stage.keep or Keep()
    for name in Keep.names():
        row[name] = getattr(keep, name)


@entry
@inlined
def stage_of(history: History, k: int) -> int:
    """Return the row of the stage that policy *k* is in."""
    return k * STAGES + (EXACT if requests_hold(history) else USUAL)


@compiled
def look_at_queue(tables: Tables, scores: Scores, s: int) -> None:
    """Update the length and work of the queue."""
    clock, work = tables.clock[0], 0.0
    for i in range(clock.waiting):
        job = tables.jobs[tables.members[i]]
        work += job.requested_time * job.size
    scores.params[s].queue = np.log1p(float(clock.waiting)) / 3.0
    scores.params[s].work = np.log1p(work / (tables.clock[0].most_cores * HOUR)) / 3.0


@compiled
def write_features(tables: Tables, history: History, scores: Scores, s: int, j: int) -> None:
    """Write all features of a waiting job except the comparison with the head of the queue."""
    f, job, clock, now = scores.features, tables.jobs[j], tables.clock[0], scores.params[s]
    if now.estimates == 1:
        bring_outlook(tables, history, now.outlook, j)
    describe_job(tables, history, f, j, now.outlook if now.estimates == 1 else NONE, now.looks)
    cores, request, wait = float(tables.clock[0].most_cores), max(job.requested_time, 1.0), clock.now - job.submit
    f[F_LOG_WAIT] = f[F_LOG_WAIT_REQUEST] = f[F_LOG_WAIT_HOURS] = 0.0
    if now.looks & OF_TRUST:
        f[F_TRUST] = trust_in(history, history.jobs[j].user)
        f[F_TRUSTED_LOG_TIME] = trusted_log_time(history, now.outlook, j) - np.log(HOUR)
    if now.looks & LOG_WAIT and now.estimates == 1:
        f[F_LOG_WAIT] = np.log1p(wait / max(1.0 / history.outlooks[now.outlook, j].rate, 60.0))
    if now.looks & LOG_WAIT_REQUEST:
        f[F_LOG_WAIT_REQUEST] = np.log1p(wait / max(request, 10.0))
    if now.looks & LOG_WAIT_HOURS:
        f[F_LOG_WAIT_HOURS] = np.log1p(wait / HOUR)
    f[F_WAIT_DAYS] = min(wait / DAY, 10.0)
    f[F_LOG_TIME_QUEUE], f[F_LOG_CORES_QUEUE] = f[F_LOG_TIME] * now.queue, f[F_LOG_CORES] * now.queue
    f[F_FREE], f[F_QUEUE], f[F_WORK] = clock.free_cores / cores, now.queue, now.work
    f[F_OF_FREE] = job.size / max(float(clock.free_cores), 1.0)
    for i in range(F_PLACEMENT, COUNT):
        f[i] = 0.0


@compiled
def compare_with_head(tables: Tables, scores: Scores, j: int, head: int, shadow: float) -> None:
    """Write the features that compare a job with the head of the queue, which starts at *shadow* s."""
    f, job, first = scores.features, tables.jobs[j], tables.jobs[head]
    f[F_LOG_TIME_TO_HEAD] = np.log(max(job.requested_time, 1.0) / max(first.requested_time, 1.0))
    f[F_LOG_CORES_TO_HEAD] = np.log(job.size / float(first.size))
    f[F_IN_TIME] = 1.0 if tables.clock[0].now + job.requested_time <= shadow else 0.0


@compiled
def weigh(scores: Scores, s: int, kind: int) -> float:
    """Return a score of the job whose features are written."""
    row, total = s * KINDS + kind, 0.0
    for i in range(COUNT):
        weight = scores.weights[row, i]
        if weight != 0.0:
            total += weight * scores.features[i]
    return total


@compiled
def believed_log_time(history: History, view: int, believes: int, j: int) -> float:
    """Return ln of the s that a waiting job is taken to run: as requested, the mean of its estimate, or between."""
    if believes == BOTH:
        return float(trusted_log_time(history, view, j))
    return float(history.jobs[j].log_request if believes == REQUESTS else history.outlooks[view, j].log_time)


@compiled
def find_kept(tables: Tables, history: History, scores: Scores, s: int) -> None:
    """Compute how many cores are kept free before jobs of each length class, see `score_files.Keep`.

    Their number follows from the demand of ended jobs of each length class and the arrival rate: if all shorter jobs
    started at once, c cores would be busy in the mean, with variance v; so c + z sqrt(v) suffice most of the time. The
    maximum may depend on the load: if jobs request nearly the whole machine, each core kept for one lengthens the
    queue of the others.

    Source: the square-root staffing of telephone exchanges (Erlang; Halfin and Whitt, "Heavy-traffic limits for queues
    with many exponential servers", 1981).
    """
    params, past, cores = scores.params[s], history.past[0], float(tables.clock[0].most_cores)
    work = 0.0
    for i in range(tables.clock[0].waiting):
        j = tables.members[i]
        if params.believes == BOTH:
            work += np.exp(trusted_log_time(history, params.outlook, j) + history.jobs[j].log_cores)
        else:
            work += history.jobs[j].work if params.believes == REQUESTS else history.outlooks[params.outlook, j].work
    share = (1.0 + work / (cores * HOUR)) ** (-params.backlog)
    if params.felt != 0.0:
        share *= (1.0 - 1.0 / mean_slowdown(history)) ** params.felt
    rate = past.arrivals / max(past.gaps, 1.0) / max(past.lengths, LEAST_ENDED)
    offered = 0.0
    for length in range(DEMANDS):
        offered += rate * history.demand[0, length] / cores
    most = params.most * cores * max(1.0 - offered, LEAST_SPARE) ** params.load
    mean, variance = 0.0, 0.0
    for length in range(DEMANDS):
        scores.kept[length] = 0.0
    for length in range(DEMANDS - 1 - params.bins):
        mean += rate * history.demand[0, length]
        variance += rate * history.demand[1, length]
        kept = (mean + params.deviations * np.sqrt(variance)) * share
        scores.kept[length + 1 + params.bins] = max(0.0, min(most, kept))


@compiled
def needed_cores(tables: Tables, history: History, scores: Scores, s: int, j: int) -> int:
    """Return how many free cores a waiting job needs to start: its own, and those kept before it."""
    size, cores, params = tables.jobs[j].size, tables.clock[0].most_cores, scores.params[s]
    if params.keeps == 0 or size > params.widest * cores:
        return int(size)
    return int(
        min(cores, size + int(scores.kept[length_of(believed_log_time(history, params.outlook, params.believes, j))]))
    )
