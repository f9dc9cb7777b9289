"""Figures that look alike, become a file whole or not at all, and leave nothing behind in matplotlib."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hdeeprm_like.errors import OptionsError, ResultsError, did_you_mean
from hdeeprm_like.formats.files import replacing_bytes
from hdeeprm_like.results.plots import FORMATS, USUAL_SIZE
from hdeeprm_like.results.units import UNITS_OF_TIME
from hdeeprm_like.results.units import unit_of_time as unit_of_time

# Okabe and Ito, "Color Universal Design", 2008: colour-blind readers see the differences, too. Black is the text's.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
BLUE, ORANGE, GREEN = COLOURS[:3]
RED = COLOURS[5]
GREY = "#7F7F7F"
LIGHT_BOXES: dict[str, Any] = {  # of a picture with one box beside another
    **{"widths": 0.6, "patch_artist": True, "boxprops": {"facecolor": "#CFE3F1"}, "medianprops": {"color": BLUE}}
}

STYLE: dict[Any, Any] = {
    "font.size": 11,
    "axes.titlesize": 13,
    "axes.labelsize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E5E5E5",
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 150,
    "text.parse_math": False,  # a $ in the name of a run is a $
    "svg.hashsalt": "hdeeprm_like",  # the same picture gives the same file
}

# A column of a two-column paper: letters of 7 and 8 points in a face that goes with Times, and type that can be edited.
PAPER: dict[Any, Any] = STYLE | {
    "font.family": "STIXGeneral",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.linewidth": 0.5,
    "grid.linewidth": 0.4,
    "lines.linewidth": 0.8,
    "xtick.major.width": 0.5,
    "ytick.major.width": 0.5,
    "legend.handlelength": 1.2,
    "legend.columnspacing": 1.0,
    "savefig.dpi": 300,
    "pdf.fonttype": 42,
    "boxplot.flierprops.markersize": 3,
    **{f"boxplot.{part}props.linewidth": 0.5 for part in ("box", "whisker", "cap", "median")},
    "boxplot.flierprops.markeredgewidth": 0.5,
}
STYLES = {"screen": STYLE, "paper": PAPER}
COLUMN, PAGE = (3.5, 2.3), (7.2, 3.4)  # inches: a column, and both columns, of a two-column paper

UNDATED: dict[str, dict[str, Any]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


@dataclass(frozen=True)
class Look:
    """How a picture looks.

    Attributes:
        title: above it; None for the usual one, which ``paper`` leaves out, because a caption has it.
        size: width and height in inches; None for the usual one.
        style: a name in `STYLES`.
    """

    title: str | None = None
    size: tuple[float, float] | None = None
    style: str = "screen"

    def __post_init__(self) -> None:
        if self.style not in STYLES:
            raise OptionsError(f"style: {self.style!r:.60} is not known{did_you_mean(self.style, STYLES)}")

    def title_or(self, usual: str) -> str:
        """Return the title, which is empty where there is none."""
        return self.title if self.title is not None else "" if self.style == "paper" else usual

    def size_or(self, width: float, height: float) -> tuple[float, float]:
        """Return width and height in inches."""
        if self.size is None and self.style == "paper":
            return COLUMN if width <= 11.0 else PAGE
        return self.size or (width, height)


USUAL = Look()


def check_format(save: Path | None) -> None:
    """Raise an OptionsError unless a picture can be saved under that name."""
    if save is not None and save.suffix.lower().lstrip(".") not in FORMATS:
        raise OptionsError(f"{save}: a picture is saved as .png, .svg or .pdf, not {save.suffix or 'without suffix'}")


@contextmanager
def picture(
    save: Path | None, width: float = USUAL_SIZE[0], height: float = USUAL_SIZE[1], look: Look = USUAL
) -> Iterator[Figure]:
    """Give an empty figure of that many inches; save it when the block ends well, or show it in a window.

    Args:
        width, height: inches, unless the *look* has a size of its own.

    Raises:
        OptionsError: the suffix of *save* is none of png, svg and pdf.
        ResultsError: the file cannot be written; or there is neither a file to save to nor a display.
    """
    check_format(save)
    width, height = look.size_or(width, height)
    with matplotlib.rc_context(STYLES[look.style]):
        if save is None:
            with _window(width, height) as figure:
                yield figure
        else:
            figure = Figure(figsize=(width, height))
            yield figure
            _write(figure, save)


@contextmanager
def titled(usual: str, save: Path | None, look: Look | None, **size: float) -> Iterator[Figure]:
    """Give a `picture` with the title of a look, or the usual one."""
    look = look or USUAL
    with picture(save, look=look, **size) as figure:
        if title := look.title_or(usual):
            figure.suptitle(title, fontsize="large")
        yield figure


def figure_on_display(width: float, height: float, remedy: str) -> Any:
    """Return an empty figure of that many inches that can be shown in a window.

    Raises:
        ResultsError: there is no display; the message names the *remedy*.
    """
    from matplotlib import pyplot

    absent = f"there is no display to show a picture on; use {remedy}"
    try:
        figure = pyplot.figure(figsize=(width, height))
    except (ImportError, RuntimeError) as cause:  # a window system is asked for that is not there
        raise ResultsError(absent) from cause
    if getattr(figure.canvas, "required_interactive_framework", None) is None:
        pyplot.close(figure)
        raise ResultsError(absent)
    return figure


@contextmanager
def _window(width: float, height: float) -> Iterator[Figure]:
    """Give a figure that is shown, until its window is closed, when the block ends well."""
    from matplotlib import pyplot

    figure = figure_on_display(width, height, "--save FILE.png (or .svg, .pdf)")
    try:
        yield figure
        pyplot.show()
    finally:
        pyplot.close(figure)


def _write(figure: Figure, save: Path) -> None:
    kind = save.suffix.lower().lstrip(".")
    with replacing_bytes(save) as file:
        figure.savefig(file, format=kind, metadata=UNDATED[kind])


def note(axes: Axes, text: str) -> None:
    """Write in the middle of an empty chart why it is empty."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=GREY, fontsize="large")


def shortened(name: str, most: int = 80) -> str:
    """Return a name with its middle left out if it is too long for a title."""
    return name if len(name) <= most else f"{name[: most // 2]}…{name[-most // 2 :]}"


def time_axis(axes: Axes, end: float) -> float:
    """Give the horizontal axis a unit that suits *end* s and return the seconds per unit."""
    seconds, unit = unit_of_time(end)
    axes.set_xlabel(f"time ({unit})")
    axes.set_xlim(0.0, 1.01 * end / seconds if end > 0.0 else 1.0)
    return seconds


def show_span(figure: Figure, begin: float, end: float) -> None:
    """Limit the axes of time, which `time_axis` has labelled, to two times in s.

    Words that stand before or after it vanish: matplotlib makes room for them however far away they are, and fails if
    that is far.
    """
    for axes in figure.axes:
        unit = axes.get_xlabel().removeprefix("time (").rstrip(")")
        seconds = {name: seconds for seconds, name in (*UNITS_OF_TIME, (1.0, "seconds"))}.get(unit)
        if seconds is not None:
            low, high = axes.get_xlim()
            low, high = max(low, begin / seconds), min(high, end / seconds)
            axes.set_xlim(low, high)
            for text in axes.texts:
                if text.get_transform() == axes.transData:
                    text.set_visible(low <= text.get_position()[0] <= high)


def from_zero(axes: Axes) -> None:
    """Extend the vertical axis to 0 and to at least 1, after everything is drawn."""
    axes.set_ylim(0.0, max(1.0, axes.get_ylim()[1]))


LARGE = 1e6  # from here on a power of ten is written as 1e6
SIDE_BY_SIDE = 6  # numbers of a logarithmic axis that have room beside one another


def log_scale(axes: Axes, which: Literal["x", "y"]) -> None:
    """Give an axis a logarithmic scale with plain numbers at the powers of ten, for `STYLE` parses no formulas."""
    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    if which == "x":
        from matplotlib.ticker import LogLocator

        axis.set_major_locator(LogLocator(numticks=SIDE_BY_SIDE))
    axis.set_major_formatter(lambda value, place: f"{value:,.10g}" if value < LARGE else f"1e{math.log10(value):.0f}")
    axis.set_minor_formatter(lambda value, place: "")


def legend_above(axes: Axes, reverse: bool = False, handles: Sequence[Any] | None = None) -> None:
    """Put the legend, of some *handles* or of all that has a label, above the right end of the chart."""
    figure: Any = axes.get_figure(root=True)
    columns = min(4, max(2, round(figure.get_figwidth() / 2.4)))
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=columns,
        borderaxespad=0.1,
        reverse=reverse,
        fontsize="small",
        **({} if handles is None else {"handles": handles}),
    )
