"""Formatting of many lines from columns, with one call of Python's formatting for thousands of lines."""

from collections.abc import Iterator, Sequence
from typing import Any

AT_ONCE = 20_000  # lines


def lines_of(form: str, *columns: Sequence[Any]) -> Iterator[str]:
    """Yield the text of many lines, some thousands at a time.

    Args:
        form: of one line, for ``%``, with its line end. columns: the values of each ``%`` in it, equally many.
    """
    width, count = len(columns), len(columns[0])
    for first in range(0, count, AT_ONCE):
        many = min(AT_ONCE, count - first)
        values: list[Any] = [None] * (many * width)
        for place, column in enumerate(columns):
            values[place::width] = column[first : first + many]
        yield (form * many) % tuple(values)
