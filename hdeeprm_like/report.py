"""The figures of finished runs side by side: as a table, as text, as bars (thesis 5.2.3, 5.3, E.3)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from hdeeprm_like.cluster import metrics
from hdeeprm_like.errors import ResultsError, WorkloadError
from hdeeprm_like.formats.pictures import COLOURS, GREY, check_format, note, picture, shortened, unit_of_time
from hdeeprm_like.formats.run import JOBS, Run, open_runs

RUNS_PER_BLOCK = 4  # columns of a text table before it continues below
PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
HATCHES = ("", "//", "..")  # the second and third time round the colours


@dataclass(frozen=True)
class Metric:
    """A figure of a run: its key in the table, its name for people, its unit, and Batsim's name for it if it has one.

    Attributes:
        unit: ``J``, ``s``, ``J s``, ``1`` for ratios, ``%`` for shares of 1, ``jobs``.
    """

    key: str
    name: str
    unit: str
    batsim: str | None = None

    @property
    def label(self) -> str:
        """Row of the table: the key, and the unit where there is one."""
        unit = {"1": "", "%": "", "jobs": ""}.get(self.unit, f" ({self.unit})")
        return f"{self.key}{unit}"


# In the order of three rows of four panels; the first eight that thesis figure 5.6 has, plus ours.
METRICS = (
    Metric("energy", "Energy", "J", "consumed_joules"),
    Metric("makespan", "Makespan", "s", "makespan"),
    Metric("energy_delay_product", "Energy-delay product", "J s"),
    Metric("utilization", "Utilization", "%"),
    Metric("max_slowdown", "Max slowdown", "1", "max_slowdown"),
    Metric("mean_slowdown", "Mean slowdown", "1", "mean_slowdown"),
    Metric("mean_bounded_slowdown", "Mean bounded slowdown", "1"),
    Metric("jobs_run", "Jobs that ran", "jobs", "nb_jobs_finished"),
    Metric("max_turnaround", "Max turnaround", "s", "max_turnaround_time"),
    Metric("mean_turnaround", "Mean turnaround", "s", "mean_turnaround_time"),
    Metric("max_waiting", "Max waiting", "s", "max_waiting_time"),
    Metric("mean_waiting", "Mean waiting", "s", "mean_waiting_time"),
)


def metrics_table(runs: Sequence[Path]) -> pd.DataFrame:
    """Return the figures of finished runs: one row per metric, one column per run.

    Means are over the jobs that ran, while Batsim divides by the rejected ones too. A figure that a run does not tell
    is NaN: all that Batsim does not print if only an ``out_schedule.csv`` is given, the energy if it was not measured.

    Args:
        runs: directories, or ``out_schedule.csv`` files.

    Raises:
        ResultsError: a run is missing or cannot be read.
    """
    opened = open_runs(runs)
    columns = {name: _figures(run) for name, run in opened.items()}
    labels = [metric.label for metric in METRICS]
    rows = [[figures.get(metric.key, math.nan) for figures in columns.values()] for metric in METRICS]
    return pd.DataFrame(rows, index=pd.Index(labels, name="metric"), columns=list(columns), dtype=np.float64)


def format_table(table: pd.DataFrame) -> str:
    """Return a table of `metrics_table` as aligned text: a unit per row, the difference to the first run per cell."""
    runs = list(table.columns)
    lines = [f"{number:>3}  {name}" for number, name in enumerate(runs, start=1)]
    titles = [_name_and_scale(metric, table.loc[metric.label].to_numpy()) for metric in METRICS]
    for first in range(0, len(runs), RUNS_PER_BLOCK):
        block = range(first, min(first + RUNS_PER_BLOCK, len(runs)))
        cells = [["", *(f"[{place + 1}]" for place in block)]]
        for metric, (title, scale) in zip(METRICS, titles, strict=True):
            row = table.loc[metric.label].to_numpy()
            cells.append([title, *(_cell(row, place, scale, metric) for place in block)])
        widths = [max(len(row[place]) for row in cells) for place in range(len(cells[0]))]
        lines.append("")
        for name, *texts in cells:
            aligned = [text.rjust(width) for text, width in zip(texts, widths[1:], strict=True)]
            lines.append("  ".join([name.ljust(widths[0]), *aligned]).rstrip())
    return "\n".join(lines) + "\n"


def metrics_grid(runs: Sequence[Path], save: Path | None = None) -> None:
    """Draw one panel per metric with one bar per run (thesis figures 5.6 and 5.8), to a file or in a window.

    Raises:
        OptionsError: the file's suffix is none of .png, .svg, .pdf.
        ResultsError: a run cannot be read, or there is no display for a window.
    """
    check_format(save)
    table = metrics_table(runs)
    names = list(table.columns)
    legend_columns = max(1, min(len(names), 130 // (8 + max(len(shortened(name)) for name in names))))
    with picture(save, width=13.0, height=7.6 + 0.22 * math.ceil(len(names) / legend_columns)) as figure:
        grid = figure.subplots(3, 4)
        for metric, axes in zip(METRICS, grid.flat, strict=True):
            _panel(axes, metric, table.loc[metric.label].to_numpy())
        figure.legend(
            list(grid[0, 0].containers[0]),
            [f"{number}  {shortened(name)}" for number, name in enumerate(names, start=1)],
            loc="outside lower center",
            ncols=legend_columns,
            fontsize=10,
        )


def _panel(axes: Axes, metric: Metric, values: np.ndarray) -> None:
    name, scale = _name_and_scale(metric, values)
    axes.set_title(name, fontsize=11)
    axes.grid(axis="x", visible=False)
    places = np.arange(1, len(values) + 1)
    heights = np.nan_to_num(values / scale)
    bars = axes.bar(places, heights, color=[COLOURS[place % len(COLOURS)] for place in range(len(values))])
    for place, bar in enumerate(bars):
        bar.set_hatch(HATCHES[place // len(COLOURS) % len(HATCHES)])
        bar.set_edgecolor("white")
    axes.set_xticks(places)
    axes.set_xlim(0.3, len(values) + 0.7)
    axes.set_ylim(0.0, 1.15 * heights.max() if heights.max() > 0.0 else 1.0)
    axes.tick_params(labelsize=9)
    if np.isnan(values).all():
        note(axes, "not known")
    elif len(values) <= RUNS_PER_BLOCK:
        texts = ["not known" if math.isnan(value) else _digits(value / scale, metric) for value in values]
        axes.bar_label(bars, texts, fontsize=9, padding=1)
    else:
        for place in places[np.isnan(values)]:
            axes.text(place, 0.0, "?", ha="center", va="bottom", color=GREY)


def _figures(run: Run) -> dict[str, float]:
    """Return the figures of a run by key: from its jobs where it has them, else from Batsim's summary."""
    summary = run.schedule if run.schedule_path.exists() or not run.has(JOBS) else {}
    figures = {metric.key: summary.get(metric.batsim, math.nan) for metric in METRICS if metric.batsim}
    if figures["energy"] == 0.0:  # Batsim's way of saying that nobody measured
        figures["energy"] = math.nan
    if run.has(JOBS):
        try:
            figures.update(_from_jobs(run))
        except WorkloadError as cause:
            raise ResultsError(f"{run.path(JOBS)}: {cause}") from cause
    if not math.isnan(figures["energy"]) and not math.isnan(figures["makespan"]):
        figures["energy_delay_product"] = metrics.energy_delay_product(figures["energy"], figures["makespan"])
    return figures


def _from_jobs(run: Run) -> dict[str, float]:
    jobs, ran = run.jobs, run.jobs.ran
    submit, start, finish, runs = jobs.submit[ran], jobs.start[ran], jobs.finish[ran], jobs.run[ran]
    wait = metrics.wait(submit, start)
    turnaround = metrics.turnaround(submit, finish)
    slowdown = metrics.slowdown(wait, runs)
    return {
        "makespan": metrics.makespan(finish),
        "utilization": metrics.utilization(submit, start, finish, jobs.held[ran], run.cores),
        "max_slowdown": metrics.largest(slowdown),
        "mean_slowdown": metrics.mean(slowdown),
        "mean_bounded_slowdown": metrics.mean(metrics.bounded_slowdown(wait, runs)),
        "jobs_run": float(np.sum(ran)),
        "max_turnaround": metrics.largest(turnaround),
        "mean_turnaround": metrics.mean(turnaround),
        "max_waiting": metrics.largest(wait),
        "mean_waiting": metrics.mean(wait),
    }


def _name_and_scale(metric: Metric, values: np.ndarray) -> tuple[str, float]:
    """Return a metric's name with the unit that suits its largest value, and how much of its own unit that unit is."""
    largest = float(np.nanmax(np.abs(values), initial=0.0, where=~np.isnan(values)))
    if metric.unit == "s":
        scale, unit = unit_of_time(largest)
    elif metric.unit.startswith("J"):
        scale, prefix = next(((scale, prefix) for scale, prefix in PREFIXES if largest >= scale), (1.0, ""))
        unit = prefix + metric.unit
    elif metric.unit == "%":
        scale, unit = 0.01, "%"
    else:
        return metric.name, 1.0
    return f"{metric.name} ({unit})", scale


def _cell(row: np.ndarray, place: int, scale: float, metric: Metric) -> str:
    """Return a figure and how it differs from the first run's, so wide that the figures of a column stand in line."""
    if math.isnan(row[place]):
        return "not known" if place == 0 else "not known" + " " * 11
    text = _digits(row[place] / scale, metric)
    return text if place == 0 else f"{text} {_difference(row[place], row[0]):>10}"


def _digits(value: float, metric: Metric) -> str:
    """Return a number with about four digits, and never in exponents."""
    if metric.unit == "jobs":
        return f"{value:,.0f}"
    if value == 0.0:
        return "0"
    decimals = 0 if abs(value) >= 1000.0 else 1 if abs(value) >= 100.0 else 2 if abs(value) >= 10.0 else 3
    return f"{value:,.{decimals}f}"


def _difference(value: float, first: float) -> str:
    """Return the difference of a figure to the first run's: in percent, or as a multiple when it is tenfold."""
    if math.isnan(first) or first == value:
        return "(=)" if first == value else ""
    if first == 0.0:
        return "(from 0)"
    ratio = value / first
    return f"(x {ratio:,.1f})" if ratio >= 10.0 else f"({ratio - 1.0:+.1%})"
