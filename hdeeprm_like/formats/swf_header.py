"""The header of a trace: values of its lines in the spellings that published and converted logs have."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hdeeprm_like.values import whole_in

PROCESSORS = r"max[\s_-]*(?:proc(?:essor)?s?|cpus?|cores?)"
NODES = r"max[\s_-]*nodes?"
START = r"unix[\s_-]*start[\s_-]*time"
NUMBER = re.compile(r"(\d{1,3}(?:[,.'_]\d{3})+|\d{1,18})(?!\w|[,.']\d|\s*[x*]|\s+\d)", re.ASCII)
THOUSANDS = re.compile(r"[,.'_]")


class Cores(NamedTuple):
    """Processors of the machine of a trace.

    Attributes:
        number: of them. label: of the header's line, as it stands there. sure: whether that is the line for them.
    """

    number: int
    label: str
    sure: bool


def values_of(header: Sequence[str], key: str) -> Iterator[tuple[str, str]]:
    """Yield label and value of each line of a header that begins with a key, with a colon, an equals sign or none.

    Args:
        key: regular expression, small and capital letters alike.
    """
    form = re.compile(rf"[\s;#]*({key})(?![\w-])\s*[:=]*\s*(.*)", re.IGNORECASE | re.ASCII)
    for line in header:
        if match := form.fullmatch(line.strip()):
            yield match[1], match[2].strip()


def number_in(text: str) -> int | None:
    """Return the whole number that a value begins with, also ``1,024``; None for ``UNKNOWN``, ``-1`` or ``8x16``."""
    match = NUMBER.match(text)
    return int(THOUSANDS.sub("", match[1])) if match else None


def cores_of(header: Sequence[str]) -> Cores | None:
    """Return the processors of the machine by a header; where it has none, its nodes count as one each."""
    for key in (PROCESSORS, NODES):
        for label, value in values_of(header, key):
            number = number_in(value)
            if number:
                return Cores(number, f"{label}: {value:.40}", sure=key is PROCESSORS)
    return None


def start_of(header: Sequence[str]) -> float:
    """Return s since 1970 at the trace's time 0; 0 if the header has no date."""
    return float(next((number for _, value in values_of(header, START) if (number := number_in(value))), 0))


def names_in(header: Sequence[str], label: str) -> dict[int, str]:
    """Return the names for the numbers of a column: ``Partition: 1 batch``."""
    found = {}
    for _, value in values_of(header, label):
        number, _, name = value.partition(" ")
        if whole_in(number) >= 0 and name.strip():
            found[whole_in(number)] = name.strip()
    return found
