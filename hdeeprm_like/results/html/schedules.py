"""Schedules in a page: a Gantt chart that one can zoom into, and runs of the same jobs that play side by side.

Both are arrays and the script that draws them. The arrays are packed by zlib and written in base64, one after the
other, each from a multiple of 8 bytes on: 50,000 jobs take some 2 MB. Those of ``gantt.js`` are per job submit, start
and finish (float64, s), cores and user (int32), then per stretch of cores the place of its job, its first and its last
core (int32). Those of ``player.js`` are per job, in the order of submission, submit (float64, s) and cores (int32);
then per run of each job start and finish (float64, s), and the same per stretch of cores.
"""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hdeeprm_like.results.html import rendered
from hdeeprm_like.results.run_reader import Run

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_RUNS, MOST_JOBS = 4, 20_000  # that are played: the others would be too small, or too slow, to see


def gantt_of(run: Run) -> "Markup":
    """Return the chart of a run; ``viewer.js``, ``gantt.js`` and ``gantt.css`` must be in the page that it is put into.

    Raises:
        ResultsError: the run's jobs cannot be read.
    """
    jobs, ran = run.jobs, run.jobs.ran
    rows = np.flatnonzero(ran)
    place = np.full(len(jobs), -1)
    place[rows] = np.arange(len(rows))
    blocks = jobs.blocks[ran[jobs.blocks[:, 0]]]
    user = run.requests.user
    columns = [
        *(column[rows].astype("<f8") for column in (jobs.submit, jobs.start, jobs.finish)),
        jobs.held[rows].astype("<i4"),
        (np.full(len(rows), -1) if user is None else user[rows]).astype("<i4"),
        place[blocks[:, 0]].astype("<i4"),
        *(blocks[:, column].astype("<i4") for column in (1, 2)),
    ]
    about = {
        "jobs": len(rows),
        "blocks": len(blocks),
        "cores": run.cores,
        "end": run.end,
        "users": user is not None and bool((user >= 0).any()),
        "ids": " ".join(jobs.ids[row].rpartition("!")[2] for row in rows),
    }
    ways = ("wait", "size", "run time", *(["user"] if about["users"] else []), "job")
    return rendered("results/html/gantt.html", about=told(about), data=packed(columns), ways=ways)


def told(about: object) -> str:
    """Return what a script needs to know as JSON."""
    return json.dumps(about, separators=(",", ":"))


def packed(columns: Sequence[np.ndarray]) -> str:
    """Return the bytes of columns, each up to a multiple of 8, as text."""
    parts = [column.tobytes() for column in columns]
    data = b"".join(part + b"\0" * (-len(part) % 8) for part in parts)
    return base64.b64encode(zlib.compress(data, 9)).decode()


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
    return rendered("results/html/player.html", about=told(about), data=packed(columns), names=list(runs))
