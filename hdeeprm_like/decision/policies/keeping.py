"""Cores kept free for shorter jobs still to arrive, before longer jobs may start (see `decision.score_parts.Keep`).

Their number follows from the demand of ended jobs of each length class and the arrival rate: if all shorter jobs
started at once, c cores would be busy in the mean, with variance v; so c + z sqrt(v) suffice most of the time. This is
the square-root staffing of telephone exchanges (Erlang; Halfin and Whitt, "Heavy-traffic limits for queues with many
exponential servers", 1981). The maximum may depend on the load: if jobs request nearly the whole machine, each core
kept for one lengthens the queue of the others.
"""

import numpy as np

from hdeeprm_like.decision.policies.history import DEMANDS, History, length_of, mean_slowdown, trusted_log_time
from hdeeprm_like.decision.policies.scores import BOTH, REQUESTS, Scores
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.tables import Tables

LEAST_ENDED = 20.0  # jobs; fewer cores are kept until this many have ended
HOUR = 3600.0  # s
LEAST_SPARE = 0.05  # least assumed share of the machine left idle by the load


@compiled
def believed_log_time(history: History, view: int, believes: int, j: int) -> float:
    """Return ln of the s that a waiting job is taken to run: as requested, the mean of its estimate, or between."""
    if believes == BOTH:
        return float(trusted_log_time(history, view, j))
    return float(history.jobs[j].log_request if believes == REQUESTS else history.outlooks[view, j].log_time)


@compiled
def find_kept(tables: Tables, history: History, scores: Scores, s: int) -> None:
    """Compute how many cores are kept free before jobs of each length class."""
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
