"""Pictures of finished runs (thesis 4.3, 5.2 to 5.4, E.2): `KINDS` is the one table of them.

To add a picture, write the function that draws it and add an entry to `KINDS`; the command ``visual`` then draws it and
lists it in its help. Functions are named as ``module:function`` and imported when they draw, so that the table itself
costs nothing to import.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.plugins import function_at


@dataclass(frozen=True)
class Plot:
    """A kind of picture.

    Attributes:
        title: above the picture.
        draw: ``module:function``; it takes an empty matplotlib figure and the `Run`.
        needs: files of the run that it is drawn from.
    """

    title: str
    draw: str
    needs: tuple[str, ...]


ALWAYS = (0.0, float("inf"))
HERE = "hdeeprm_like.results.plots"
JOBS, SPANS = ("out_jobs.csv",), ("overutilizations.json",)
KINDS: dict[str, Plot] = {
    "queue_size": Plot("Queue size", f"{HERE}.load:queue_size", JOBS),
    "job_load": Plot("Length and load of the queue", f"{HERE}.load:job_load", (*JOBS, "workload.json")),
    "utilization": Plot("Utilization", f"{HERE}.load:utilization", JOBS),
    "power": Plot("Power", f"{HERE}.load:power", (*JOBS, "out_consumed_energy.csv")),
    "lifecycle": Plot("Job life cycles", f"{HERE}.jobs:lifecycle", JOBS),
    "gantt": Plot("Gantt chart", f"{HERE}.jobs:gantt", JOBS),
    "gantt_no_label": Plot("Gantt chart", f"{HERE}.jobs:gantt_no_label", JOBS),
    "core_bubbles": Plot("Bubbles: when the next job waits for cores", f"{HERE}.shortages:core_bubbles", SPANS),
    "mem_bubbles": Plot("Bubbles: when the next job waits for memory", f"{HERE}.shortages:mem_bubbles", SPANS),
    "mem_bw_overutilization": Plot(
        "Memory bandwidth overutilization", f"{HERE}.shortages:mem_bw_overutilization", SPANS
    ),
    "losses": Plot("Loss per episode", f"{HERE}.learning:losses", ("losses.log",)),
    "rewards": Plot("Reward per episode", f"{HERE}.learning:rewards", ("rewards.log",)),
    "action_preferences": Plot("Action preferences", f"{HERE}.learning:action_preferences", ("probs.json",)),
}


def draw(
    kind: str, run: Path, save: Path | None = None, *, span: tuple[float, float] = ALWAYS, user: str | None = None
) -> None:
    """Draw one picture of a finished run into a file, or in a window without *save*.

    Args:
        kind: a name in `KINDS`.
        run: the run's directory.
        save: a .png, .svg or .pdf; it appears whole or not at all.
        span: s from and to; nothing else is shown. user: whose jobs are shown; None for those of all.

    Raises:
        OptionsError: the kind or the file's suffix is not known.
        ResultsError: the run lacks the file that the picture needs, or there is no display for a window.
    """
    if kind not in KINDS:
        raise OptionsError(f"there is no picture {kind!r}{did_you_mean(kind, KINDS)}")
    from hdeeprm_like.results.pictures import check_format, picture, shortened, show_span
    from hdeeprm_like.results.run_parts import part_of
    from hdeeprm_like.results.run_reader import open_run

    check_format(save)
    opened = open_run(run)
    if span != ALWAYS or user is not None:
        opened = part_of(opened, *span, user)
    of = "" if user is None else f", user {user}"
    with picture(save) as figure:
        figure.suptitle(f"{KINDS[kind].title}\n{shortened(opened.name)}{of}", fontsize=13)
        function_at(KINDS[kind].draw)(figure, opened)
        show_span(figure, *span)


def compare(runs: Sequence[Path], save: Path | None = None) -> None:
    """Draw utilization and queue size of several runs above one another, on common axes.

    Raises:
        OptionsError, ResultsError: as for `draw`.
    """
    from hdeeprm_like.results.pictures import check_format, picture
    from hdeeprm_like.results.plots.load import side_by_side
    from hdeeprm_like.results.run_parts import warn_of_other_jobs
    from hdeeprm_like.results.run_reader import open_runs

    check_format(save)
    opened = open_runs(runs)
    warn_of_other_jobs(opened)
    with picture(save, width=13.0, height=1.6 + 1.9 * len(opened)) as figure:
        side_by_side(figure, opened)
