"""A Gantt chart that one can zoom into: the jobs of a run, packed into the page, and the script that draws them.

The arrays are those that ``gantt.js`` takes, one after the other, each from a multiple of 8 bytes on: per job submit,
start and finish (float64, s), cores and user (int32), then per stretch of cores the place of its job, its first and its
last core (int32). They are packed by zlib and written in base64: 50,000 jobs take some 2 MB.
"""

import base64
import json
import zlib
from pathlib import Path

import numpy as np

from hdeeprm_like.results.html.parts import Html, element, joined
from hdeeprm_like.results.run_reader import Run


def script(name: str) -> str:
    """Return one of the package's own scripts."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


SHARED = script("viewer.js")
SCRIPT = script("gantt.js")  # after `SHARED`
STYLE = """
.gantt canvas { width: 100%; height: min(70vh, 42rem); border: 1px solid var(--line); cursor: crosshair;
  touch-action: none; display: block; }
.gantt form { display: flex; flex-wrap: wrap; gap: .8rem; align-items: center; margin: .4rem 0; font-size: .9rem; }
.gantt output { display: block; min-height: 1.5em; font-size: .9rem; }
.key { font-size: .85rem; }
.key i { display: inline-block; width: .8em; height: .8em; margin-left: .5em; vertical-align: -.05em; }
.key i.bar { width: 9em; margin: 0 .2em; }
.gantt input { width: 9rem; }
@media print { .gantt form, .gantt output { display: none; } .gantt canvas { height: 12cm; } }
"""
HELP = "Drag a box to zoom in, turn the wheel, double-click to see all; hover for a job, click to mark it."


def gantt_of(run: Run) -> Html:
    """Return the chart of a run; `SHARED`, `SCRIPT` and `STYLE` must be in the page that it is put into.

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
    options = joined((element("option", way, value=way) for way in ways), "")
    form = element(
        "form",
        element("label", "colour by ", element("select", options)),
        element("span", class_="key"),
        element("label", "job ", Html('<input type="search" placeholder="number">')),
        element("button", "show all", type="button"),
        onsubmit="return false",
    )
    return element(
        "div",
        Html(f'<script type="application/octet-stream">{data}</script>'),
        form,
        element("canvas", role="img", aria_label="Gantt chart"),
        Html("<output></output>"),
        element("p", HELP, class_="screen-only"),
        Html("<noscript><p>The chart is drawn by a script; all else on this page needs none.</p></noscript>"),
        class_="gantt",
        data_about=json.dumps(about, separators=(",", ":")),
    )


def padded(column: np.ndarray) -> bytes:
    """Return the bytes of a column, up to a multiple of 8."""
    data = column.tobytes()
    return data + b"\0" * (-len(data) % 8)
