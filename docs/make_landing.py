"""The player of the first page and the sentence below it: simulated and compared when the site is built.

The schedules are those of the first jobs of a trace under three policies, so that a reader sees the queue that each
leaves; the sentence is of windows from all over the trace, with their interval. It takes some seconds of CPU.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

import hdeeprm_like as hl
from hdeeprm_like.results.html import PACKAGE
from hdeeprm_like.results.html.schedules import player_of
from hdeeprm_like.results.run_reader import open_run

TRACE, CORES, JOBS = "lublin-1", 256, 256
POLICIES = {
    "fcfs": "First come, first served",
    "fcfs+easy": "EASY backfilling",
    "zoo:steady": "Predicted run times, guaranteed starts",
}
REFERENCE, RECOMMENDED = "fcfs+easy", "zoo:steady"
WINDOWS, OF_JOBS = 12, 512
KEY_STYLE = """
.key { font-size: .85rem; }
.key i.bar { display: inline-block; width: 7em; height: .8em; margin: 0 .2em; vertical-align: -.05em; }
"""


def write_landing(folder: Path) -> None:
    """Write what the first page includes into a folder; a file that would not change is left as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {"player.html": player(), "gain.md": gain(compared())}.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def player() -> str:
    """Return the three schedules of the first jobs, with style and script."""
    jobs = hl.load_workload(TRACE, CORES, jobs=JOBS)
    with tempfile.TemporaryDirectory() as place:
        runs = {}
        for number, (policy, title) in enumerate(POLICIES.items()):
            schedule = hl.simulate(CORES, jobs, policy, clock="textbook")
            runs[title] = open_run(schedule.save(Path(place) / str(number)))
        shown = player_of(runs, begin=0.45, plays=True)
    style, shared, script = (
        (PACKAGE / "results/html" / name).read_text(encoding="utf-8")
        for name in ("player.css", "viewer.js", "player.js")
    )
    return f'<div class="landing"><style>{style}{KEY_STYLE}</style>{shown}<script>{{{shared}{script}}}</script></div>'


def compared() -> pd.DataFrame:
    """Return the comparison on windows of the whole trace, a row for each policy."""
    table = hl.compare(TRACE, list(POLICIES), windows=f"disjoint:{WINDOWS}x{OF_JOBS}", reference=REFERENCE)
    return table.set_index("policy")


def gain(table: pd.DataFrame) -> str:
    """Return the sentence of what the recommended policy gains, with its interval, and what that costs."""
    own, easy = table.loc[RECOMMENDED], table.loc[REFERENCE]
    names: Sequence[str] = ("bounded_slowdown_ratio", "bounded_slowdown_ratio_low", "bounded_slowdown_ratio_high")
    ratio, low, high = (f"{own[name]:.2f}" for name in names)
    longest = own["wait_max"] / easy["wait_max"]
    return (
        f"On {WINDOWS} windows of {OF_JOBS} jobs from all over this trace, `{RECOMMENDED}` has **{ratio} ({low} to "
        f"{high}) of EASY's bounded slowdown**, by paired windows with a 95 % interval, "
        f"and {longest:.2f} of its longest wait.\n"
    )
