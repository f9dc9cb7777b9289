"""Options of modes in the names of baselines: ``saf+reserve:64:600``, ``sjf+slurm:60:5000``, ``saf+bounded:2``."""

import re
from collections.abc import Callable
from typing import Any

from hdeeprm_like.decision.score_files import LEAST_BOUND, MOST_BOUND
from hdeeprm_like.engine.numbers import WATCH_FACTOR
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.limits import SITE_FACTOR

RESERVED = "reserve"  # the mode with options: number of cores kept, and the longest request, in s, that may use them
GUARANTEED = "bounded"  # the mode whose option is the guarantee, see `Baseline.bound`
USUAL_BOUND = 1.0
KEPT_SHARE, SHORT = 1.0 / 8.0, 1000.0  # defaults: share of the cores, and s
WATCHED = "slurm"  # the mode with a watch's options: s between two looks, and the largest site factor
OWN = "multifactor"  # Slurm's order without a watch

DECIMAL = r"([0-9]{1,9}(?:\.[0-9]{1,6})?|\.[0-9]{1,6})"
BOUND = re.compile(DECIMAL)
OPTIONS = re.compile(rf"([0-9]{{1,9}})(?::{DECIMAL})?")
LOOKS = re.compile(rf"{DECIMAL}(?::([0-9]{{1,10}}))?")


def looks_of(name: str, text: str) -> dict[str, Any]:
    """Return the s between two looks of a watch, and its largest factor, from ``"60"`` or ``"60:5000"``.

    Raises:
        OptionsError: the text is neither.
    """
    match = LOOKS.fullmatch(text)
    factor = WATCH_FACTOR if match is None or match[2] is None else int(match[2])
    if match is None or not 1 <= factor <= SITE_FACTOR.most:
        raise OptionsError(
            f"baseline {name!r:.80}: {WATCHED}:{text:.40} is not known; write the s between two looks, and the largest "
            f"site factor from 1 to {SITE_FACTOR.most:,}, as sjf+{WATCHED}:60:5000"
        )
    return {"interval": float(match[1]), "factor": factor}


def bound_of(name: str, text: str) -> dict[str, Any]:
    """Return the guarantee, a multiple of all work, from ``"2"`` or ``".5"`` in a name.

    Raises:
        OptionsError: the text is neither, or out of range.
    """
    match = BOUND.fullmatch(text)
    if match is None or not LEAST_BOUND <= float(match[1]) <= MOST_BOUND:
        raise OptionsError(
            f"baseline {name!r:.80}: {GUARANTEED}:{text:.40} is not known; write how many times all work, "
            f"from {LEAST_BOUND:g} to {MOST_BOUND:g}, as saf+{GUARANTEED}:1.5"
        )
    return {"bound": float(match[1])}


def kept_of(name: str, text: str) -> dict[str, Any]:
    """Return how many cores are kept and for jobs of up to how many s, from ``"64"`` or ``"64:600"`` in a name.

    Raises:
        OptionsError: the text is neither.
    """
    match = OPTIONS.fullmatch(text)
    if match is None:
        raise OptionsError(
            f"baseline {name!r:.80}: {RESERVED}:{text:.40} is not known; write how many cores are kept, and for jobs "
            f"of how many s, as saf+{RESERVED}:64:600"
        )
    return {"kept": int(match[1]), "short": float(match[2] or SHORT)}


READERS: dict[str, Callable[[str, str], dict[str, Any]]] = {
    RESERVED: kept_of,
    WATCHED: looks_of,
    GUARANTEED: bound_of,
}


def options_of(name: str, mode: str, text: str | None) -> dict[str, Any]:
    """Return the fields of a `Baseline` that the options of its mode set, behind a colon; None for no colon.

    Raises:
        OptionsError: the mode has no options, or other ones.
    """
    if text is None:
        return {"bound": USUAL_BOUND} if mode == GUARANTEED else {}
    if mode not in READERS:
        raise OptionsError(
            f"baseline {name!r:.80}: {mode!r:.80} has no options; only {RESERVED}, {WATCHED} and {GUARANTEED} have, as "
            f"saf+{RESERVED}:64, saf+{WATCHED}:60 and saf+{GUARANTEED}:2"
        )
    return READERS[mode](name, text)
