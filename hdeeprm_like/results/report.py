"""The figures of finished runs side by side: as a table, as text, as bars (thesis 5.2.3, 5.3, E.3)."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hdeeprm_like.cluster import metrics
from hdeeprm_like.cluster.schedule import FIGURES, Figure, Schedule, figures
from hdeeprm_like.decision.rates import read_rates
from hdeeprm_like.errors import ResultsError, WorkloadError
from hdeeprm_like.formats.files import replacing
from hdeeprm_like.results.power import at_rates
from hdeeprm_like.results.run_parts import warn_of_other_jobs
from hdeeprm_like.results.run_reader import JOBS, Run, open_runs
from hdeeprm_like.results.units import unit_of_energy, unit_of_time

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

RUNS_PER_BLOCK = 4  # columns of a text table before it continues below
SCALES = {"%": (0.01, "%"), "core s": (3600.0, "core hours"), "1/h": (1.0, "jobs per hour")}
HATCHES = ("", "//", "..")  # the second and third time round the colours

# Three rows of four panels; the first eight that thesis figure 5.6 has, plus ours.
PANELS = (
    *("energy", "makespan", "energy_delay_product", "utilization"),
    *("slowdown_max", "slowdown", "bounded_slowdown", "jobs_run"),
    *("turnaround_max", "turnaround", "wait_max", "wait"),
)
SHORT = (*PANELS, "wait_p95", "bounded_slowdown_p95")


def label(name: str) -> str:
    """Return the row of a figure in the table: its key, and its unit where it has one."""
    unit = FIGURES[name].unit
    return name if unit in ("1", "%", "jobs") else f"{name} ({unit})"


def rates_table(runs: Sequence[Path], rates: Mapping[str, Path]) -> "pd.DataFrame":
    """Return what the energy of runs costs or emits: one row for each file of rates, one column per run.

    Args:
        rates: file by name of its row.

    Raises:
        ResultsError: a run or a file cannot be read, or the energy of a run is not known over time.
    """
    import pandas as pd

    known = {name: read_rates(path, ResultsError) for name, path in rates.items()}
    columns = {name: [at_rates(run, rate) for rate in known.values()] for name, run in open_runs(runs).items()}
    return pd.DataFrame(columns, index=pd.Index(list(known), name="metric"), dtype=np.float64)


def metrics_table(runs: Sequence[Path]) -> "pd.DataFrame":
    """Return the figures of finished runs: one row per figure of `FIGURES`, one column per run.

    Means are over the jobs that ran, while Batsim divides by the rejected ones too. A figure is NaN where
    the files of a run do not hold it: all that Batsim does not print if there is only an ``out_schedule.csv``, the
    energy if it was not measured.

    Args:
        runs: directories, or ``out_schedule.csv`` files.

    Raises:
        ResultsError: a run is missing or cannot be read.
    """
    import pandas as pd

    opened = open_runs(runs)
    warn_of_other_jobs(opened)
    columns = {name: figures_of_run(run) for name, run in opened.items()}
    return labelled(pd.DataFrame(columns, index=list(FIGURES)))


def meanings(names: Sequence[str] | None = None) -> str:
    """Return a line for each figure that says what it means.

    Args:
        names: keys of the figures; all of `FIGURES` if None.
    """
    chosen = [FIGURES[name] for name in names or FIGURES]
    return "".join(f"{figure.title}: {figure.meaning}.\n" for figure in chosen)


def labelled(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return a table with a row per figure, whose index are keys of `FIGURES`, as `metrics_table` does."""
    import pandas as pd

    return table.set_axis(pd.Index(map(label, table.index), name="metric")).astype(np.float64)


def write_table(table: "pd.DataFrame", path: Path) -> None:
    """Write a table of `metrics_table` as CSV, all digits of all figures.

    Raises:
        ResultsError: the file cannot be written.
    """
    with replacing(path) as file:
        table.to_csv(file, lineterminator="\n")


def as_record(table: "pd.DataFrame", wanted: Sequence[str] | None = None) -> dict[str, Any]:
    """Return a table of `metrics_table` as figures by run and name, for JSON; *wanted* is that of `format_table`."""
    return {run: {name: table.at[label(name), run] for name in wanted or FIGURES} for run in table.columns}


def format_table(table: "pd.DataFrame", wanted: Sequence[str] | None = None) -> str:
    """Return a table of `metrics_table` as aligned text, see `format_rows`.

    Args:
        wanted: keys of the rows to show; all of `FIGURES` if None.
    """
    return format_rows(list(table.columns), told_rows(table, wanted))


def format_figures(name: str, found: Mapping[str, float], wanted: Sequence[str]) -> str:
    """Return some figures of one run, by key of `FIGURES`, as `format_table` does those of a table."""
    return format_rows([name], [_told_row(key, np.array([found[key]])) for key in wanted])


def format_rows(runs: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows of `told_rows` as aligned text: a unit per row, the difference to the first run per cell."""
    lines = [f"{number:>3}  {name}" for number, name in enumerate(runs, start=1)]
    for first in range(0, len(runs), RUNS_PER_BLOCK):
        block = range(first, min(first + RUNS_PER_BLOCK, len(runs)))
        cells = [["", *(f"[{place + 1}]" for place in block)]]
        cells += [[title, *texts[block.start : block.stop]] for title, *texts in rows]
        widths = [max(len(row[place]) for row in cells) for place in range(len(cells[0]))]
        lines.append("")
        for name, *texts in cells:
            aligned = [text.rjust(width) for text, width in zip(texts, widths[1:], strict=True)]
            lines.append("  ".join([name.ljust(widths[0]), *aligned]).rstrip())
    return "\n".join(lines) + "\n"


def told_rows(table: "pd.DataFrame", wanted: Sequence[str] | None = None) -> list[list[str]]:
    """Return a row for each figure of a table of `metrics_table`: its name and unit, and the text of each run's."""
    return [_told_row(key, table.loc[label(key)].to_numpy()) for key in wanted or FIGURES]


def _told_row(key: str, values: np.ndarray) -> list[str]:
    title, scale = _name_and_scale(FIGURES[key], values)
    return [title, *(_cell(values, place, scale, FIGURES[key].unit) for place in range(len(values)))]


def in_words(table: "pd.DataFrame") -> list[str]:
    """Return a sentence for each run of a table of `metrics_table`: who waited how long, beside the first run."""
    runs = [(str(run), dict(zip(FIGURES, table[run].tolist(), strict=True))) for run in table]
    name, first = runs[0]
    sentences = [
        f"{name}: the mean wait of {first['jobs_run']:,.0f} jobs is {in_time(first['wait'])}; half of them wait "
        f"{in_time(first['wait_median'])} or less, and the longest wait is {in_time(first['wait_max'])}. "
        f"The machine is busy for {100 * first['utilization']:.0f} % of the time."
    ]
    for other, one in runs[1:]:
        change = 100 * (one["wait"] / first["wait"] - 1) if first["wait"] > 0 else math.nan
        beside = (
            "" if math.isnan(change) else f", {abs(change):.0f} % {'more' if change > 0 else 'less'} than under {name}"
        )
        sentences.append(
            f"{other}: the mean wait is {in_time(one['wait'])}{beside}; the longest is {in_time(one['wait_max'])}."
        )
    return sentences


def in_time(seconds: float) -> str:
    """Return a time in the unit in which people read it."""
    unit, name = unit_of_time(seconds)
    return f"{seconds / unit:.3g} {name}"


def metrics_grid(runs: Sequence[Path], save: Path | None = None) -> None:
    """Draw a panel per figure of `PANELS` with a bar per run (thesis figures 5.6 and 5.8), to a file or in a window.

    Raises:
        OptionsError: the file's suffix is none of .png, .svg, .pdf.
        ResultsError: a run cannot be read, or there is no display for a window.
    """
    from hdeeprm_like.results.pictures import check_format, picture, shortened

    check_format(save)
    table = metrics_table(runs)
    names = list(table.columns)
    legend_columns = max(1, min(len(names), 130 // (8 + max(len(shortened(name)) for name in names))))
    with picture(save, width=13.0, height=7.6 + 0.22 * math.ceil(len(names) / legend_columns)) as figure:
        grid = figure.subplots(3, 4)
        for name, axes in zip(PANELS, grid.flat, strict=True):
            _panel(axes, FIGURES[name], table.loc[label(name)].to_numpy())
        figure.legend(
            list(grid[0, 0].containers[0]),
            [f"{number}  {shortened(name)}" for number, name in enumerate(names, start=1)],
            loc="outside lower center",
            ncols=legend_columns,
            fontsize=10,
        )


WIDE = 10.0  # times: slowdowns that differ by more have a logarithmic axis


def _panel(axes: "Axes", shown: Figure, values: np.ndarray) -> None:
    from hdeeprm_like.results.pictures import COLOURS, GREY, log_scale, note

    name, scale = _name_and_scale(shown, values)
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
    known = heights[heights > 0.0]
    if "slowdown" in shown.title and len(known) and known.max() > WIDE * known.min():
        log_scale(axes, "y")
        axes.set_ylim(min(1.0, float(known.min())) / 1.3, 2.0 * known.max())
    else:
        axes.set_ylim(0.0, 1.15 * heights.max() if heights.max() > 0.0 else 1.0)
    axes.tick_params(labelsize=9)
    if np.isnan(values).all():
        note(axes, "not known")
    elif len(values) <= RUNS_PER_BLOCK:
        texts = ["not known" if math.isnan(value) else _digits(value / scale, shown.unit) for value in values]
        axes.bar_label(bars, texts, fontsize=9, padding=1)
    else:
        for place in places[np.isnan(values)]:
            axes.text(place, 0.0, "?", ha="center", va="bottom", color=GREY)


def figures_of_run(run: Run) -> dict[str, float]:
    """Return the figures of a run by key of `FIGURES`: from its jobs where it has them, else from Batsim's summary."""
    summary = run.schedule if run.schedule_path.exists() or not run.has(JOBS) else {}
    energy = summary.get(FIGURES["energy"].batsim, math.nan) or math.nan  # Batsim writes 0 if energy was not measured
    if run.has(JOBS):
        try:
            found = figures(_schedule(run, energy))
        except WorkloadError as cause:
            raise ResultsError(f"{run.path(JOBS)}: {cause}") from cause
        return found
    found = {name: summary.get(figure.batsim, math.nan) for name, figure in FIGURES.items()} | {"energy": energy}
    if not math.isnan(energy) and not math.isnan(found["makespan"]):
        found["energy_delay_product"] = metrics.energy_delay_product(energy, found["makespan"])
    return found


def _schedule(run: Run, energy: float) -> Schedule:
    jobs, ran = run.jobs, run.jobs.ran
    requests = run.requests
    return Schedule(
        submit=jobs.submit[ran],
        start=jobs.start[ran],
        finish=jobs.finish[ran],
        size=jobs.held[ran],
        cores=run.cores,
        run=jobs.run[ran],
        requested_time=None if requests.time is None else requests.time[ran],
        user=None if requests.user is None else requests.user[ran],
        energy=energy,
    )


def _name_and_scale(shown: Figure, values: np.ndarray) -> tuple[str, float]:
    """Return a figure's name with the unit that suits its largest value, and how much of its own unit that unit is."""
    largest = float(np.nanmax(np.abs(values), initial=0.0, where=~np.isnan(values)))
    if shown.unit == "s":
        scale, unit = unit_of_time(largest)
    elif shown.unit.startswith("J"):
        scale, unit = unit_of_energy(largest, shown.unit)
    elif shown.unit in SCALES:
        scale, unit = SCALES[shown.unit]
    else:
        return shown.title, 1.0
    return f"{shown.title} ({unit})", scale


def _cell(row: np.ndarray, place: int, scale: float, unit: str) -> str:
    """Return a figure and how it differs from the first run's, so wide that the figures of a column stand in line."""
    if math.isnan(row[place]):
        return "not known" if place == 0 else "not known" + " " * 11
    text = _digits(row[place] / scale, unit)
    return text if place == 0 else f"{text} {_difference(row[place], row[0]):>10}"


def _digits(value: float, unit: str) -> str:
    """Return a number with about four digits, and never in exponents."""
    if unit == "jobs" and value == round(value):
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
