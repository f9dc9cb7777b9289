"""A Gantt chart that one can zoom into: the jobs of a run, packed into the page, and the script that draws them.

The arrays are those that ``gantt.js`` takes, one after the other, each from a multiple of 8 bytes on: per job submit,
start and finish (float64, s), cores and user (int32), then per stretch of cores the place of its job, its first and its
last core (int32). They are packed by zlib and written in base64: 50,000 jobs take some 2 MB.
"""

import base64
import json
import zlib
from typing import TYPE_CHECKING

import numpy as np

from hdeeprm_like.results.html.templates import rendered
from hdeeprm_like.results.run_reader import Run

if TYPE_CHECKING:
    from markupsafe import Markup


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
    data = base64.b64encode(zlib.compress(b"".join(padded(column) for column in columns), 9)).decode()
    ways = ("wait", "size", "run time", *(["user"] if about["users"] else []), "job")
    return rendered("results/html/gantt.html", about=packed(about), data=data, ways=ways)


def packed(about: object) -> str:
    """Return what a script needs to know as JSON."""
    return json.dumps(about, separators=(",", ":"))


def padded(column: np.ndarray) -> bytes:
    """Return the bytes of a column, up to a multiple of 8."""
    data = column.tobytes()
    return data + b"\0" * (-len(data) % 8)
