"""What R14 and R15 share: windows of traces that agents of the semi-MDP schedule."""

from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.cluster.schedule import Schedule, figures
from hdeeprm_like.decision.agent_names import Trained
from hdeeprm_like.decision.compared_policies import compared_policy
from hdeeprm_like.formats.job_reading import Reading, read_jobs
from hdeeprm_like.formats.job_rules import RLSCHEDULER
from hdeeprm_like.formats.swf_cuts import take, window_begins
from hdeeprm_like.formats.windows import Window, window
from hdeeprm_like.studies.compare.sampling import Windows, places_of
from hdeeprm_like.studies.compare.windows import schedule
from hdeeprm_like.studies.reproduction.measures.learning import played

JOBS, COUNT = 1024, 10


def windows_of(path: Path, cores: int, offsets: Path | None = None) -> list[Window]:
    """Return ten windows of a trace: where a list says, else at random places."""
    trace = read_jobs(path, Reading(cores, rules=RLSCHEDULER, memory=False))
    if offsets is None:
        begins = window_begins(trace, JOBS, COUNT, np.random.default_rng(1))
    else:
        begins, _ = places_of(Windows(COUNT, JOBS, "offsets", offsets), trace, seed=1)
    return [window(take(trace, np.arange(begin, begin + JOBS)), cores) for begin in begins]


def by_heuristic(windows: list[Window], cores: int, policy: str) -> dict[str, list[float]]:
    """Return the figures of a heuristic, one value for each window."""
    return both([schedule(pool(cores), one, compared_policy(policy)) for one in windows])


def by_agent(windows: list[Window], cores: int, agent: Trained) -> dict[str, list[float]]:
    """Return the same of an agent."""
    return both([played(agent, pool(cores), one.workload) for one in windows])


def both(schedules: list[Schedule]) -> dict[str, list[float]]:
    """Return bounded slowdown, and utilization as RLScheduler has it, of each schedule."""
    own = [figures(one) for one in schedules]
    return {
        "bsld": [one["bounded_slowdown"] for one in own],
        "util": [one["utilization_to_last_start"] for one in own],
    }
