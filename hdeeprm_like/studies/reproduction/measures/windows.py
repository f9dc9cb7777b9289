"""What R08, R14 and R15 share: windows of traces that heuristics, and agents of the semi-MDP, schedule."""

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
MACHINES = {  # traces of the archive, and their cores (C, table 5.8)
    "sdsc_sp2": ("SDSC-SP2-1998-4.2-cln", 128),
    "ctc": ("CTC-SP2-1996-3.1-cln", 338),
    "hpc2n": ("HPC2N-2002-2.2-cln", 240),
    "blue": ("SDSC-BLUE-2000-4.2-cln", 1152),
    "intrepid": ("ANL-Intrepid-2009-1", 163840),
}
RANDOM = Windows(COUNT, JOBS)


def windows_of(path: Path, cores: int, how: Windows = RANDOM) -> list[Window]:
    """Return some windows of a trace."""
    trace = read_jobs(path, Reading(cores, rules=RLSCHEDULER, memory=False))
    if how.sampling == "random":  # without the warning that they may share jobs
        begins = window_begins(trace, JOBS, how.count or COUNT, np.random.default_rng(1))
    else:
        begins, _ = places_of(how, trace, seed=1)
    return [window(take(trace, np.arange(begin, begin + JOBS)), cores) for begin in begins]


def by_heuristic(windows: list[Window], cores: int, policy: str) -> dict[str, list[float]]:
    """Return the figures of a heuristic, one value for each window."""
    return told([schedule(pool(cores), one, compared_policy(policy)) for one in windows])


def by_agent(windows: list[Window], cores: int, agent: Trained) -> dict[str, list[float]]:
    """Return the same of an agent."""
    return told([played(agent, pool(cores), one.workload) for one in windows])


def told(schedules: list[Schedule]) -> dict[str, list[float]]:
    """Return bounded slowdown, utilization, and utilization as RLScheduler has it, of each schedule."""
    own = [figures(one) for one in schedules]
    names = {"bsld": "bounded_slowdown", "util": "utilization", "util_rls": "utilization_to_last_start"}
    return {short: [one[name] for one in own] for short, name in names.items()}
