"""From what we found and what is claimed of a published number to a verdict.

| kind of claim | it holds if |
|---|---|
| ``equal`` | ours is the published value, up to ``tolerance`` |
| ``holds`` | the 95 % interval of ours holds the published value |
| ``direction`` | ours lies on the same side of ``neutral`` as published, and within ``size`` times it, or within ``between`` |
| ``range`` | ours lies between ``low`` and ``high`` |
| ``prediction`` | the published mean is one that as many windows as there drawn from ours would give |
| ``none`` | nothing is claimed: the document leaves it open, or the number is ours alone |

A claim that is ``repeated`` needs several values: a single one, of one training, shows nothing. Without ``size``,
``between`` or a spread in the document (``spread``) ours may be half to twice the published value. What was measured
with less than the document's budget never contradicts it: that is not shown.

Intervals are Student's over seeds or windows, which are pairs of differences or ratios where the same jobs were played.
"""  # noqa: E501

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hdeeprm_like.formats.files import null_for_nan
from hdeeprm_like.studies.reproduction.experiment import Number

EQUAL, CONFIRMED, DIRECTION = "equal", "confirmed", "direction confirmed"
NOT_SHOWN, CONTRADICTED, DIFFERS = "not shown", "contradicted", "differs"
QUOTED, UNDEFINED, PRINTED = "quoted", "undefined", "printed"
VERDICTS = {
    EQUAL: "ours is exactly what was published, up to the digits printed",
    CONFIRMED: "our interval holds the published value, or direction and size are as published",
    DIRECTION: "the sign is as published, with an interval that excludes no difference; the size is another",
    NOT_SHOWN: "our interval also holds that there is no difference; or it came out otherwise, but with less than the "
    "published budget",
    CONTRADICTED: "significantly otherwise",
    DIFFERS: "a figure that is no matter of chance is another one; the reason stands beside it",
    QUOTED: "not run: an input is missing, or the competitor is not implemented; the published number stands alone",
    UNDEFINED: "the document leaves the definition open; the reading that was taken stands beside it",
    PRINTED: "nothing is claimed; ours stands beside it for comparison",
}
RESAMPLES = 10_000
SIZE = (0.5, 2.0)  # of the published value, within which ours is of its size


@dataclass(frozen=True)
class Judged:
    """What is found of one published number.

    Attributes:
        verdict: one of `VERDICTS`. ours: the mean, or a text. low, high: its 95 % interval; NaN for a single value.
        std: over the sample. n: its size. ratio: ours over published.
        note: what the measurement has to say of it. allowed: what ours may be to agree, see `allowance`.
    """

    verdict: str
    ours: Any = None
    low: float = math.nan
    high: float = math.nan
    std: float = math.nan
    n: int = 0
    ratio: float = math.nan
    note: str = ""
    allowed: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return what a file takes; NaN becomes null."""
        found: dict[str, Any] = null_for_nan(asdict(self))
        return found


def allowance(number: Number) -> str:
    """Return what ours may be to agree with a published number, in words; nothing where nothing is claimed."""
    claim = number.claim
    if claim["kind"] == "equal":
        tolerance = claim.get("tolerance", 0.0)
        return f"± {tolerance:g}" if tolerance else "exactly"
    if claim["kind"] == "holds":
        return "what our interval holds"
    if claim["kind"] == "prediction":
        return f"what {claim['windows']} of our windows may give"
    if claim["kind"] == "range":
        low, high = claim.get("low"), claim.get("high")
        if low is None or high is None:
            return f"at most {high:g}" if low is None else f"at least {low:g}"
        return f"{low:g} to {high:g}"
    if claim["kind"] == "direction":
        least, most = sizes_of(number)
        if math.isfinite(least):
            return f"{least:.4g} to {most:.4g}"
        side = claim.get("side", number.value)
        rises = side == "above" if isinstance(side, str) else side > claim["neutral"]
        return f"{'above' if rises else 'below'} {claim['neutral']:g}"
    return ""


def sizes_of(number: Number) -> tuple[float, float]:
    """Return between what ours must lie for the published size of a difference; infinite where none was published."""
    if "between" in number.claim:
        least, most = number.claim["between"]
        return float(least), float(most)
    if isinstance(number.value, int | float):
        least, most = sorted(number.value * factor for factor in number.claim.get("size", SIZE))
        return least, most
    return -math.inf, math.inf


def judged(number: Number, found: Any, note: str = "", reduced: bool = False) -> Judged:
    """Return the verdict on a number.

    Args:
        found: a value or a text; a sequence of values over seeds or windows; None where nothing could be measured.
        reduced: whether it was measured with less than the published budget.
    """
    if found is None:
        return Judged(QUOTED, note=note or number.reason)
    claim, allowed = number.claim, allowance(number)
    if isinstance(found, str | bool):
        same = found == number.value
        verdict = (EQUAL if same else DIFFERS) if claim["kind"] == "equal" else unclaimed(number)
        return Judged(verdict, found, n=1, note=note, allowed=allowed)
    values = np.atleast_1d(np.asarray(found, np.float64))
    mean, low, high, std = student(values)
    if claim["kind"] == "prediction":
        low, high = prediction(values, int(claim["windows"]))
    ratio = mean / number.value if isinstance(number.value, int | float) and number.value else math.nan
    verdict = VERDICT_OF[claim["kind"]](claim, number, mean, low, high)
    if (claim.get("repeated") and len(values) == 1) or (reduced and verdict == CONTRADICTED):
        verdict = NOT_SHOWN
    return Judged(verdict, mean, low, high, std, len(values), ratio, note, allowed)


def student(values: Sequence[float] | np.ndarray) -> tuple[float, float, float, float]:
    """Return mean, both ends of Student's 95 % interval and standard deviation; NaN for those of a single value."""
    values = np.asarray(values, np.float64)
    mean = float(values.mean())
    if len(values) < 2:
        return mean, math.nan, math.nan, math.nan
    from scipy.special import stdtrit  # a tenth of the time that scipy.stats takes to load

    std = float(values.std(ddof=1))
    half = float(stdtrit(len(values) - 1, 0.975)) * std / math.sqrt(len(values))
    return mean, mean - half, mean + half, std


def prediction(values: np.ndarray, windows: int) -> tuple[float, float]:
    """Return the interval that holds 95 % of the means of resampled windows."""
    drawn = np.random.default_rng(1).choice(values, (RESAMPLES, windows)).mean(axis=1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(low), float(high)


def unclaimed(number: Number) -> str:
    """Return the verdict where nothing is claimed."""
    return UNDEFINED if number.claim.get("undefined") else PRINTED


def is_equal(claim: Mapping[str, Any], number: Number, mean: float, low: float, high: float) -> str:
    """Compare a value that is no matter of chance."""
    return EQUAL if abs(mean - number.value) <= claim.get("tolerance", 0.0) else DIFFERS


def holds(claim: Mapping[str, Any], number: Number, mean: float, low: float, high: float) -> str:
    """Ask whether the interval, or the prediction, holds the published value."""
    return CONFIRMED if low <= number.value <= high else CONTRADICTED


def is_in_range(claim: Mapping[str, Any], number: Number, mean: float, low: float, high: float) -> str:
    """Ask whether ours lies in a range."""
    least, most = claim.get("low", -math.inf), claim.get("high", math.inf)
    low, high = (mean if math.isnan(end) else end for end in (low, high))
    if least <= low and high <= most:
        return CONFIRMED
    return CONTRADICTED if high < least or low > most else NOT_SHOWN


def has_direction(claim: Mapping[str, Any], number: Number, mean: float, low: float, high: float) -> str:
    """Ask whether ours lies on the published side of what would be no difference, and how far from it."""
    neutral = float(claim["neutral"])
    value = claim.get("side", number.value)
    rises = value == "above" if isinstance(value, str) else value > neutral
    low, high = (mean if math.isnan(end) else end for end in (low, high))
    if low <= neutral <= high:
        return NOT_SHOWN
    if (mean > neutral) != rises:
        return CONTRADICTED
    least, most = sizes_of(number)
    published_inside = isinstance(number.value, int | float) and low <= number.value <= high
    return CONFIRMED if published_inside or least <= mean <= most else DIRECTION


def claims_nothing(claim: Mapping[str, Any], number: Number, mean: float, low: float, high: float) -> str:
    """Say so."""
    return unclaimed(number)


VERDICT_OF: dict[str, Callable[[Mapping[str, Any], Number, float, float, float], str]] = {
    "equal": is_equal,
    "holds": holds,
    "prediction": holds,
    "range": is_in_range,
    "direction": has_direction,
    "none": claims_nothing,
}
