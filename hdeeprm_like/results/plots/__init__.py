"""Pictures of finished runs (thesis 4.3, 5.2 to 5.4, E.2): `PICTURES` is the one table of them.

To add a picture, write the function that draws it and add an entry to `PICTURES`; the command ``visual`` then draws it
and lists it in its help. Functions are named as ``module:function`` and imported when they draw, so that the table
itself costs nothing to import.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.plugins import function_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hdeeprm_like.results.pictures import Look


@dataclass(frozen=True)
class Plot:
    """A kind of picture.

    Attributes:
        title: above the picture.
        draw: ``module:function``; it takes an empty matplotlib figure and the `Run`.
        needs: files of the run that it is drawn from.
        given: what the function takes besides.
        by: what jobs may be coloured or grouped by, the usual first; the function takes one of them, too.
    """

    title: str
    draw: str
    needs: tuple[str, ...]
    given: tuple[str, ...] = ()
    by: tuple[str, ...] = ()


FORMATS, STYLES = ("png", "svg", "pdf"), ("screen", "paper")  # what pictures are saved as, and how they may look
USUAL_SIZE = (10.0, 5.6)  # inches


class Part(NamedTuple):
    """A part of a run.

    Attributes:
        begin, end: s. user: whose jobs, as ``workload.json`` names them; None for those of all.
    """

    begin: float = 0.0
    end: float = float("inf")
    user: str | None = None


WHOLE = Part()
HERE = "hdeeprm_like.results.plots"
JOBS, SPANS = ("out_jobs.csv",), ("overutilizations.json",)
COLOURED_BY, CLASSES = ("wait", "size", "time", "user", "job"), ("size", "time", "user")
PICTURES: dict[str, Plot] = {
    "queue_size": Plot("Queue size", f"{HERE}.load:queue_size", JOBS),
    "job_load": Plot("Length and load of the queue", f"{HERE}.load:job_load", (*JOBS, "workload.json")),
    "utilization": Plot("Utilization", f"{HERE}.load:utilization", JOBS),
    "power": Plot("Power", f"{HERE}.load:power", (*JOBS, "out_consumed_energy.csv")),
    "lifecycle": Plot("Job life cycles", f"{HERE}.gantt:lifecycle", JOBS),
    "gantt": Plot("Gantt chart", f"{HERE}.gantt:gantt", JOBS, by=COLOURED_BY),
    "gantt_no_label": Plot("Gantt chart", f"{HERE}.gantt:gantt_no_label", JOBS, by=COLOURED_BY),
    "nodes": Plot("Busy share of each node", f"{HERE}.load:nodes", JOBS),
    "ecdf": Plot("Distribution of waits and slowdowns", f"{HERE}.classes:ecdf", JOBS, by=CLASSES),
    "boxes": Plot("Waits and slowdowns by class", f"{HERE}.classes:boxes", JOBS, by=CLASSES),
    "energy_by_job": Plot("Energy of each job", f"{HERE}.classes:energy_by_job", JOBS),
    "core_bubbles": Plot("Bubbles: when the next job waits for cores", f"{HERE}.shortages:bubbles", SPANS, ("cores",)),
    "mem_bubbles": Plot("Bubbles: when the next job waits for memory", f"{HERE}.shortages:bubbles", SPANS, ("memory",)),
    "mem_bw_overutilization": Plot(
        "Memory bandwidth overutilization", f"{HERE}.shortages:mem_bw_overutilization", SPANS
    ),
    "losses": Plot("Loss per episode", f"{HERE}.learning:episodes", ("losses.log",), ("loss",)),
    "rewards": Plot("Reward per episode", f"{HERE}.learning:episodes", ("rewards.log",), ("reward",)),
    "action_preferences": Plot("Action preferences", f"{HERE}.learning:action_preferences", ("probs.json",)),
}


SEVERAL = ("compare", "difference")  # kinds that show several runs, the second one two


def draw(
    kind: str,
    run: Path,
    save: Path | None = None,
    *,
    part: Part = WHOLE,
    by: str | None = None,
    look: "Look | None" = None,
) -> "Figure":
    """Draw one picture of a finished run into a file, or in a window without *save*; return it.

    Args:
        kind: a name in `PICTURES`.
        run: the run's directory.
        save: a .png, .svg or .pdf; it appears whole or not at all.
        part: what alone is shown.
        by: what jobs are coloured or grouped by; None for the kind's usual.
        look: title, size and style; None for the usual ones.

    Raises:
        OptionsError: the kind, what to colour by, or the file's suffix is not known.
        ResultsError: the run lacks the file that the picture needs, or there is no display for a window.
    """
    if kind not in PICTURES:
        raise OptionsError(f"there is no picture {kind!r}{did_you_mean(kind, PICTURES)}")
    shown = PICTURES[kind]
    if by is not None and by not in shown.by:
        raise OptionsError(
            f"--by: {kind} is not drawn by {by!r:.80}; it can be by {', '.join(shown.by) or 'nothing: it has one form'}"
        )
    from hdeeprm_like.results.pictures import check_format, shortened, show_span, titled
    from hdeeprm_like.results.run_parts import part_of
    from hdeeprm_like.results.run_reader import open_run

    check_format(save)
    opened = open_run(run)
    if part != WHOLE:
        opened = part_of(opened, *part)
    of = "" if part.user is None else f", user {part.user}"
    with titled(f"{shown.title}\n{shortened(opened.name)}{of}", save, look) as figure:
        function_at(shown.draw)(figure, opened, *shown.given, *((by or shown.by[0],) if shown.by else ()))
        show_span(figure, part.begin, part.end)
    return figure


def gantt_on(run: Path, axes: "Axes | None" = None) -> "Axes":
    """Draw a Gantt chart on *axes*, or on a new figure of pyplot, which a notebook shows, and return the axes.

    Raises:
        ResultsError: the run lacks the file that the picture needs.
    """
    import matplotlib

    from hdeeprm_like.results.pictures import STYLE
    from hdeeprm_like.results.plots.gantt import draw_named
    from hdeeprm_like.results.run_reader import open_run

    opened = open_run(run)
    with matplotlib.rc_context(STYLE):
        if axes is None:
            from matplotlib import pyplot

            figure = pyplot.figure(figsize=USUAL_SIZE)
            figure.suptitle(opened.name, fontsize="large")
            axes = figure.subplots()
        draw_named(axes, opened, COLOURED_BY[0])
    return axes


def compare(runs: Sequence[Path], save: Path | None = None, look: "Look | None" = None) -> None:
    """Draw utilization and queue size of several runs above one another, on common axes.

    Raises:
        OptionsError, ResultsError: as for `draw`.
    """
    from hdeeprm_like.results.pictures import check_format, titled
    from hdeeprm_like.results.plots.load import side_by_side
    from hdeeprm_like.results.run_parts import warn_of_other_jobs
    from hdeeprm_like.results.run_reader import open_runs

    check_format(save)
    opened = open_runs(runs)
    warn_of_other_jobs(opened)
    with titled("Utilization and queue size", save, look, width=13.0, height=1.6 + 1.9 * len(opened)) as figure:
        side_by_side(figure, opened)


def difference(runs: Sequence[Path], save: Path | None = None, look: "Look | None" = None) -> None:
    """Draw how the second of two runs differs from the first.

    Raises:
        OptionsError: there are not two. ResultsError: as for `draw`.
    """
    from hdeeprm_like.results.pictures import check_format, titled
    from hdeeprm_like.results.plots.differences import difference as draw_difference
    from hdeeprm_like.results.run_reader import open_runs

    check_format(save)
    if len(runs) != 2:
        raise OptionsError(f"--run: difference takes two runs, the one to compare with first, not {len(runs)}")
    opened = open_runs(runs)
    with titled("Difference of two schedules", save, look, height=6.4) as figure:
        draw_difference(figure, list(opened), list(opened.values()))
