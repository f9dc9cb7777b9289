"""Schedules of the same jobs, played side by side in the page: what each machine runs, and who waits.

The arrays are those that ``player.js`` takes, packed as those of `gantt`: per job submit (float64, s) and cores
(int32); then per run of each job start and finish (float64, s), and per stretch of cores the place of its job, its
first and its last core (int32). Jobs are in the order of their submission.
"""

import base64
import json
import zlib
from collections.abc import Mapping

import numpy as np

from hdeeprm_like.results.html.gantt import padded, script
from hdeeprm_like.results.html.parts import Html, element, joined
from hdeeprm_like.results.run_reader import Run

SCRIPT = script("player.js")  # after `gantt.SHARED`
STYLE = """
.player { margin: 1rem 0; }
.player .lane { margin: 0 0 .7rem; }
.player .lane p { margin: 0; display: flex; flex-wrap: wrap; gap: 0 1rem; align-items: baseline; max-width: none; }
.player .lane output { font-size: .85rem; font-variant-numeric: tabular-nums; }
.player canvas { width: 100%; height: 8.2rem; display: block; background: #fff; }
.player form { display: flex; flex-wrap: wrap; gap: .3rem .8rem; align-items: center; font-size: .9rem; }
.player input { flex: 1 1 12rem; min-width: 8rem; }
.player button { min-width: 4.5rem; padding: .25rem .6rem; font: inherit; cursor: pointer; }
.player time { min-width: 7.5em; font-variant-numeric: tabular-nums; }
@media print { .player form { display: none; } }
"""
MOST_RUNS, MOST_JOBS = 4, 20_000  # that are played: the others would be too small, or too slow, to see


def can_be_played(runs: Mapping[str, Run]) -> bool:
    """Say whether runs can be played side by side: a few, of the same jobs, all of which ran."""
    if not 1 < len(runs) <= MOST_RUNS:
        return False
    jobs = [run.jobs for run in runs.values()]
    first = dict(zip(jobs[0].ids, jobs[0].submit.tolist(), strict=True))
    same = all(dict(zip(one.ids, one.submit.tolist(), strict=True)) == first for one in jobs)
    return same and all(one.ran.all() for one in jobs) and 0 < len(first) <= MOST_JOBS


def player_of(runs: Mapping[str, Run], begin: float = 0.3, plays: bool = False) -> Html:
    """Return the player of runs for which `can_be_played`; `gantt.SHARED`, `SCRIPT` and `STYLE` must be in the page.

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
    shown = (
        element(
            "div",
            element("p", element("strong", name), Html("<output></output>")),
            element("canvas", role="img", aria_label=f"Machine and queue under {name}"),
            class_="lane",
        )
        for name in runs
    )
    form = element(
        "form",
        element("button", "play", type="button"),
        Html('<input type="range" min="0" max="1000" step="1" value="0" aria-label="time">'),
        Html("<time></time>"),
        element("span", class_="key"),
        onsubmit="return false",
    )
    return element(
        "div",
        Html(f'<script type="application/octet-stream">{data}</script>'),
        joined(shown),
        form,
        Html("<noscript><p>A script plays the schedules; all else on this page needs none.</p></noscript>"),
        class_="player",
        data_about=json.dumps(about, separators=(",", ":")),
    )
