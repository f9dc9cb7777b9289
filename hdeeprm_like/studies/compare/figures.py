"""The figures that a comparison shows: one list decides its table, its tests, its page and its pictures.

The first figure of the list ranks the policies. Each is shown with its 95th percentile and its maximum where it has
them, so that starvation is visible.
"""

import math
from collections.abc import Sequence

from hdeeprm_like.cluster.schedule import FIGURES
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.results.units import unit_of_energy

USUAL = ("bounded_slowdown", "wait", "area_weighted_response_time", "utilization")
ON_A_MACHINE = (*USUAL, "energy")  # on a pool of cores energy follows from the utilization
BOXES, RANKING = "boxplot", "ranking"  # names of the pictures, without the endings
TAILS = ("p95", "max")
UNITS = {  # how many of a figure's unit are one that is shown, its name, and decimals
    "s": (3600.0, " h", 2),
    "%": (0.01, " %", 1),
    "core s": (3600.0, " core h", 1),
    "1/h": (1.0, " /h", 2),
}


def figures_named(text: str | None) -> tuple[str, ...]:
    """Return the figures of ``"bounded_slowdown,energy"``; empty for None, which stands for the usual ones.

    Raises:
        OptionsError: one is not known or listed twice.
    """
    found = [] if text is None else [part.strip() for part in text.split(",")]
    for place, name in enumerate(found):
        if name not in FIGURES:
            raise OptionsError(f"figures: {name!r:.60} is not known{did_you_mean(name, FIGURES)}")
        if name in found[:place]:
            raise OptionsError(f"figures: {name} is listed twice")
    return tuple(found)


def tails_of(name: str, shown: Sequence[str]) -> list[str]:
    """Return the names of the 95th percentile and the maximum of a figure, but those that are shown by themselves."""
    return [tail for end in TAILS if (tail := f"{name}_{end}") in FIGURES and tail not in shown]


def with_tails(shown: Sequence[str]) -> list[str]:
    """Return figures, each followed by its tails."""
    return [one for name in shown for one in (name, *tails_of(name, shown))]


def title_of(name: str) -> str:
    """Return the title of a figure, without ``mean``, which all are."""
    return FIGURES[name].title.lower().removeprefix("mean ")


def scale_of(name: str, largest: float) -> tuple[float, str, int]:
    """Return how many of its own unit are one of the shown unit, the name of that, and decimals.

    Args:
        largest: value that is shown, by which energies choose their unit.
    """
    unit = FIGURES[name].unit
    if unit.startswith("J"):
        scale, shown = unit_of_energy(largest, unit)
        return scale, f" {shown}", 2
    return UNITS.get(unit, (1.0, "", 1 if name.endswith(TAILS) else 2))


def largest_of(values: Sequence[float]) -> float:
    """Return the largest known value; NaN for none."""
    return max((value for value in values if not math.isnan(value)), default=math.nan)
