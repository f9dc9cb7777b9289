"""Records out of text whose columns a separator divides, although names in it may hold separators and line ends.

Slurm quotes nothing: a job called ``a|b`` has one field too many, and one whose submit line has several lines fills
several lines. The columns whose form is known (numbers, times, states) show where such a record begins and ends, and
which of its pieces belong together.
"""

import gc
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TextIO

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.inputs import encoding_of, opened_whatever_packed

AT_ONCE = 2**18  # characters
MOST_PIECES = 500  # more than there are columns, for which all ways to put them together are tried
LONGEST = 2**17  # characters of a name; a longer one is something else


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open a file as text, unpacked if it is gzip, bzip2 or xz whatever its name says; ``-`` is the standard input.

    Raises:
        WorkloadError: the file cannot be read, now or while the block reads on, or is no text.
    """
    with opened_whatever_packed(path, WorkloadError) as buffered:
        encoding = encoding_of(buffered, path, WorkloadError)
        yield io.TextIOWrapper(buffered, encoding=encoding, errors="replace", newline="\n")


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep Python from looking for garbage: among millions of short texts it takes a third of the time, in vain."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Columns(NamedTuple):
    """The columns of a file.

    Attributes:
        names: of them, in the order of the file.
        forms: what a value of each looks like; None where anything is possible but a separator.
        free: whether each may also hold separators and line ends.
        job: which of them has the number of the job.
    """

    names: tuple[str, ...]
    forms: tuple[re.Pattern[str] | None, ...]
    free: tuple[bool, ...]
    job: int


class Chunk(NamedTuple):
    """Some records: the line where each begins, and its values."""

    lines: list[int]
    values: list[list[str]]


class Records:
    """Reads records one after the other.

    Args:
        lines: behind the line of names. first: the number of the first of them.
        report: where lines are counted that are part of no record.
    """

    def __init__(
        self, lines: TextIO, columns: Columns, separator: str, report: Account, first: int, header: str
    ) -> None:
        self.lines, self.columns, self.separator, self.report = lines, columns, separator, report
        self.line = first - 1
        self.header = header
        self.repeated_headers = self.joined = 0
        self._pieces: list[str] | None = None  # of the record at hand, which may go on in the next line
        self._whole = True  # whether they are its values already
        self._begin = first

    def chunks(self) -> Iterator[Chunk]:
        """Yield some thousand records at a time."""
        while lines := self.lines.readlines(AT_ONCE):
            found = Chunk([], [])
            self._take(lines, found)
            yield found
        found = Chunk([], [])
        self._finish(found)
        yield found

    def _take(self, lines: list[str], found: Chunk) -> None:
        separator, wide, job = self.separator, len(self.columns.names), self.columns.job
        for number, line in enumerate(lines, self.line + 1):
            pieces = line.rstrip("\r\n").split(separator)
            if len(pieces) == wide and pieces[job][:1].isdecimal() and (self._whole or not self._is_name()):
                if self._whole and self._pieces is not None:  # as `_finish`, which would take a third of the time
                    found.lines.append(self._begin)
                    found.values.append(self._pieces)
                else:
                    self._finish(found)
                self._begin, self._pieces, self._whole = number, pieces, True
            elif line.rstrip("\r\n") == self.header:
                self.repeated_headers += 1
            elif not line.strip():
                continue
            elif {"JobID", "Submit"} < set(pieces):
                raise WorkloadError(f"{self.report.source}:{number}: names other columns; import these logs one by one")
            elif self._pieces is None or self._begins(pieces):
                self._finish(found)
                self._begin, self._pieces, self._whole = number, pieces, False
            else:
                self._pieces, self._whole = self._joined(pieces), False
                if len(self._pieces[-1]) > LONGEST:
                    self._finish(found)
        self.line += len(lines)

    def _joined(self, pieces: list[str]) -> list[str]:
        """Return the pieces at hand, and these as the next line of them."""
        assert self._pieces is not None
        return [*self._pieces[:-1], f"{self._pieces[-1]}\n{pieces[0]}", *pieces[1:]]

    def _is_name(self) -> bool:
        """Return whether what is at hand can only be the first line of a name in the first column."""
        return self._pieces is not None and len(self._pieces) == 1 and self.columns.free[0]

    def _begins(self, pieces: list[str]) -> bool:
        """Return whether a record begins with these pieces of a line, rather than that at hand goes on."""
        assert self._pieces is not None
        whole = self._whole or self.aligned(self._pieces) is not None
        if whole and not self.columns.free[-1]:
            return True
        form = self.columns.forms[0]
        if self._is_name() or (form is not None and (len(pieces) < 2 or form.fullmatch(pieces[0]) is None)):
            return False
        if len(pieces) >= len(self.columns.names):
            goes_on = form is None and not whole and self.aligned(self._joined(pieces)) is not None
            return not goes_on and self.aligned(pieces) is not None
        return form is not None and whole

    def _finish(self, found: Chunk) -> None:
        """Make a record of the pieces at hand, or count them as none."""
        if self._pieces is None:
            return
        values = self._pieces if self._whole else self.aligned(self._pieces)
        if values is None:
            self.report.jobs += 1
            self.report.leave_out("lines that are no whole record", 1, self._begin)
        else:
            self.joined += not self._whole
            found.lines.append(self._begin)
            found.values.append(values)
        self._pieces, self._whole = None, True

    def aligned(self, pieces: Sequence[str]) -> list[str] | None:
        """Return the values of the columns, some of them put together of several pieces; None if they do not fit."""
        columns = self.columns
        extra = len(pieces) - len(columns.names)
        if extra < 0:
            return None
        if extra == 0:
            pieces = list(pieces)
            if not columns.free[-1]:  # a name with a line end before the first column of the next record
                pieces[-1] = pieces[-1].partition("\n")[0]
            return pieces if self._fits(pieces) else None
        if extra > MOST_PIECES:
            return self._in_one(pieces, extra)
        failed: set[tuple[int, int]] = set()

        def rest(column: int, piece: int) -> list[str] | None:
            if column == len(columns.names):
                return [] if piece == len(pieces) else None
            if (column, piece) in failed:
                return None
            spare = len(pieces) - piece - (len(columns.names) - column)
            for more in range(spare + 1) if columns.free[column] else (0,):
                if more or self._fit(column, pieces[piece]):  # what may hold separators may hold anything
                    behind = rest(column + 1, piece + more + 1)
                    if behind is not None:
                        return [self.separator.join(pieces[piece : piece + more + 1]), *behind]
            failed.add((column, piece))
            return None

        return rest(0, 0)

    def _in_one(self, pieces: Sequence[str], extra: int) -> list[str] | None:
        """Return the values if all that is too much can be in one column."""
        for column in (place for place, free in enumerate(self.columns.free) if free):
            text = self.separator.join(pieces[column : column + extra + 1])
            values = [*pieces[:column], text, *pieces[column + extra + 1 :]]
            if self._fits(values):
                return values
        return None

    def _fits(self, values: Sequence[str]) -> bool:
        return all(self._fit(column, value) for column, value in enumerate(values))

    def _fit(self, column: int, value: str) -> bool:
        form = self.columns.forms[column]
        return form is None or form.fullmatch(value.strip()) is not None
