"""Read records of a CSV with a header; every error is one line that names file and line."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hdeeprm_like.errors import HDeepRMError, did_you_mean
from hdeeprm_like.inputs import read_document
from hdeeprm_like.values import AMOUNT, Number, Whole, wrong

MOST_ROWS = 1_000_000


@dataclass(frozen=True)
class CsvRow:
    """The texts of one line by column, its place, and the error to raise for a wrong value."""

    texts: Mapping[str, str]
    where: str  # file:line
    error: type[HDeepRMError]

    def wrong(self, column: str, text: str, wanted: str) -> HDeepRMError:
        """Return the error with the value of a column and what would be right."""
        return wrong(text, wanted, self.error, self.where, column)

    def name(self, column: str) -> str:
        """Return a text that can be printed in a line."""
        text = self.texts[column].strip()
        if not text or not text.isprintable():
            raise self.wrong(column, text, "a name")
        return text

    def number(self, column: str, kind: Number = AMOUNT) -> float:
        """Return a number of a kind: finite and not negative unless another is named."""
        return kind.in_text(self.texts[column], self.error, self.where, column)

    def count(self, column: str, least: int = 1) -> int:
        """Return a whole number that is not below *least*."""
        return Whole(least).in_text(self.texts[column], self.error, self.where, column)


def read_rows(path: Path, columns: Sequence[str], error: type[HDeepRMError]) -> list[CsvRow]:
    """Return the lines of a CSV (plain or ``.gz``) behind that of the names of its columns.

    Args:
        columns: that must be there, in any order; others are ignored. No two rows have the same value in the first.

    Raises:
        HDeepRMError: as *error* says; the file cannot be read, or a line of it has too few or too many values.
    """
    lines = csv.reader(io.StringIO(read_document(path, error), newline=""))
    names: list[str] = []
    rows: list[CsvRow] = []
    seen: dict[str, str] = {}  # where each row stands
    try:
        for values in lines:
            where = f"{path}:{lines.line_num}"
            if not values:
                continue
            if not names:
                names = [name.strip() for name in values]
                _check_names(names, columns, where, error)
                continue
            if len(values) != len(names):
                raise error(f"{where}: has {len(values)} values; the line of names has {len(names)}")
            row = CsvRow(dict(zip(names, values, strict=True)), where, error)
            own = row.name(columns[0])
            if own in seen:
                raise error(f"{where}: {columns[0]}: {own[:40]!r} is there already, at {seen[own]}")
            seen[own] = where
            rows.append(row)
            if len(rows) > MOST_ROWS:
                raise error(f"{path}: has more than {MOST_ROWS:,} rows")
    except csv.Error as cause:
        raise error(f"{path}:{lines.line_num}: is no CSV: {cause}") from cause
    if not rows:
        raise error(f"{path}: has no rows; a line of names ({','.join(columns)}) and one for each row are needed")
    return rows


def _check_names(names: Sequence[str], columns: Sequence[str], where: str, error: type[HDeepRMError]) -> None:
    for column in columns:
        if names.count(column) > 1:
            raise error(f"{where}: column {column!r} is there twice")
        if column not in names:
            raise error(f"{where}: column {column!r} is missing{did_you_mean(column, names)}")
