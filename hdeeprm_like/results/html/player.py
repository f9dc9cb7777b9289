"""Schedules of the same jobs, played side by side in the page: what each machine runs, and who waits.

The arrays are those that ``player.js`` takes, packed as those of `gantt`: per job submit (float64, s) and cores
(int32); then per run of each job start and finish (float64, s), and per stretch of cores the place of its job, its
first and its last core (int32). Jobs are in the order of their submission.
"""

import base64
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from hdeeprm_like.results.html.gantt import packed, padded
from hdeeprm_like.results.html.templates import rendered
from hdeeprm_like.results.run_reader import Run

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_RUNS, MOST_JOBS = 4, 20_000  # that are played: the others would be too small, or too slow, to see


def can_be_played(runs: Mapping[str, Run]) -> bool:
    """Say whether runs can be played side by side: a few, of the same jobs, all of which ran."""
    if not 1 < len(runs) <= MOST_RUNS:
        return False
    jobs = [run.jobs for run in runs.values()]
    first = dict(zip(jobs[0].ids, jobs[0].submit.tolist(), strict=True))
    same = all(dict(zip(one.ids, one.submit.tolist(), strict=True)) == first for one in jobs)
    return same and all(one.ran.all() for one in jobs) and 0 < len(first) <= MOST_JOBS


def player_of(runs: Mapping[str, Run], begin: float = 0.3, plays: bool = False) -> "Markup":
    """Return the player of runs for which `can_be_played`; it needs ``viewer.js``, ``player.js`` and ``player.css``.

    Args:
        runs: by the name that stands above each.
        begin: share of the time at which it stands first. plays: whether it begins to play once it is seen.
    """
    first = next(iter(runs.values()))
    order = np.lexsort((np.arange(len(first.jobs)), first.jobs.submit))
    place = {first.jobs.ids[row]: number for number, row in enumerate(order.tolist())}
    columns = [first.jobs.submit[order].astype("<f8"), first.jobs.size[order].astype("<i4")]
    lanes = []
    for run in runs.values():
        jobs = run.jobs
        own = np.array([place[job] for job in jobs.ids])
        back = np.argsort(own)
        columns += [
            jobs.start[back].astype("<f8"),
            jobs.finish[back].astype("<f8"),
            own[jobs.blocks[:, 0]].astype("<i4"),
        ]
        columns += [jobs.blocks[:, column].astype("<i4") for column in (1, 2)]
        lanes.append({"blocks": len(jobs.blocks)})
    about = {
        "jobs": len(order),
        "cores": max(run.cores for run in runs.values()),
        "end": max(run.end for run in runs.values()),
        "begin": begin,
        "plays": plays,
        "runs": lanes,
    }
    data = base64.b64encode(zlib.compress(b"".join(map(padded, columns)), 9)).decode()
    return rendered("results/html/player.html", about=packed(about), data=data, names=list(runs))
