"""Jobs of logs of other origin, by a map of their columns, see `column_maps`."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.errors import WorkloadError, did_you_mean
from hdeeprm_like.importers import fields
from hdeeprm_like.importers.column_maps import COUNTS, DATES, KILOBYTES, SECONDS, SPANS, ColumnMap
from hdeeprm_like.importers.fields import STATE_NUMBER
from hdeeprm_like.importers.jobs import NAMES, JobStore, Rows
from hdeeprm_like.importers.line_forms import FORMS
from hdeeprm_like.importers.records import open_text, uncollected
from hdeeprm_like.importers.times import Moments, WallClock
from hdeeprm_like.types import Floats, Ints
from hdeeprm_like.values import EXACT_MOST

AT_ONCE = 20_000  # rows


def read_table(path: Path, columns: ColumnMap, report: Account, zone: str | None = None) -> JobStore:
    """Read a log by a map; it may be packed, of any length, and Parquet where pyarrow is installed.

    Args:
        zone: time zone in place of the map's.

    Raises:
        WorkloadError: the file is no such log, or no job of it ran.
        OptionsError: the time zone does not exist.
    """
    store = JobStore(report)
    table = _Table(columns, WallClock(zone or columns.timezone, None, report), store)
    with uncollected():
        if path.name.endswith((".parquet", ".pq")):
            _take_parquet(path, table)
        else:
            with open_text(path) as lines:
                if columns.form:
                    _take_records(path, lines, table)
                else:
                    _take_text(path, lines, table)
    store.settle("all", unique=False)
    return store


def _take_records(path: Path, lines: TextIO, table: "_Table") -> None:
    """Take the records of a log that is no table.

    Raises:
        WorkloadError: it has none.
    """
    columns, form = table.map.columns, FORMS[table.map.form]
    records = form.records(lines, table.report)
    table.place = {ours: place for place, ours in enumerate(columns)}
    seen: set[str] = set()
    while some := list(islice(records, AT_ONCE)):
        for _, found in some:
            seen |= found.keys()
        texts = [
            [next((found[name] for name in names if found.get(name)), "") for _, found in some]
            for names in columns.values()
        ]
        table.take(texts, np.array([number for number, _ in some]))
    if not seen:
        raise WorkloadError(f"{path}: holds no job that ended; {form.example} is needed")
    for names in columns.values():
        if not seen.intersection(names):
            table.report.note(f"column {names[0]!r} of the map is not in the file")


def _take_text(path: Path, lines: TextIO, table: "_Table") -> None:
    columns, report = table.map, table.report
    separator = columns.separator
    rows = _rows(lines, columns)
    try:
        names = columns.names or tuple(name.strip() for name in next(rows, (0, [""]))[1])
        table.begin(names, path)
        while some := list(islice(rows, AT_ONCE)):
            whole = [(line, row) for line, row in some if len(row) >= len(names)]
            if len(whole) < len(some):
                first = next(line for line, row in some if len(row) < len(names))
                report.leave_out(f"lines with fewer than {len(names)} values", len(some) - len(whole), first)
                report.jobs += len(some) - len(whole)
            if whole:
                numbers, values = zip(*whole, strict=True)
                table.take(list(zip(*(row[: len(names)] for row in values), strict=True)), np.array(numbers))
            report.lines = some[-1][0]
    except csv.Error as error:
        raise WorkloadError(f"{path}: is no table separated by {separator!r}: {error}") from None


def _rows(lines: TextIO, columns: ColumnMap) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each line that is no comment, and its values."""
    if columns.separator == "blanks":
        for number, line in enumerate(lines, 1):
            if (row := line.split()) and not (columns.comment and row[0].startswith(columns.comment)):
                yield number, row
        return
    reader = csv.reader(lines, delimiter=columns.separator)
    for row in reader:
        if row and not (columns.comment and row[0].startswith(columns.comment)):
            yield reader.line_num, row


def _take_parquet(path: Path, table: "_Table") -> None:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise WorkloadError(f"{path}: Parquet needs pyarrow: pip install pyarrow, or write the table as CSV") from None
    try:
        file = ParquetFile(path)
        names = tuple(file.schema_arrow.names)
        table.begin(names, path)
        used = [names[place] for place in table.place.values()]
        first = 1
        for batch in file.iter_batches(AT_ONCE, columns=used):
            found = {name: batch.column(name).to_pylist() for name in used}
            texts = [["" if value is None else str(value) for value in found.get(name, ())] for name in names]
            table.take(texts, np.arange(first, first + len(batch)))
            first += len(batch)
        table.report.lines = first - 1
    except (OSError, ArrowException) as error:
        raise WorkloadError(f"{path}: is no Parquet file: {str(error).splitlines()[0][:80]}") from None


class _Table(Rows):
    """Makes jobs of rows, some thousand at a time, column by column."""

    def __init__(self, columns: ColumnMap, clock: WallClock, store: JobStore) -> None:
        super().__init__(store, {ours: theirs[0] for ours, theirs in columns.columns.items()})
        self.map, self.clock = columns, clock
        self.place: dict[str, int] = {}

    def begin(self, names: Sequence[str], path: Path) -> None:
        """Find the columns of the map among those of the file.

        Raises:
            WorkloadError: one is missing that a job cannot do without.
        """
        for ours, theirs in self.map.columns.items():
            place = next((names.index(name) for name in theirs if name in names), None)
            if place is not None:
                self.place[ours] = place
            else:
                self.report.note(f"column {theirs[0]!r} of the map is not in the file")
        for one_of in (("submit", "eligible"), ("run", "end"), ("cpus", "requested_cpus")):
            if not any(name in self.place for name in one_of):
                wanted = next(self.map.columns[name][0] for name in one_of if name in self.map.columns)
                near = did_you_mean(wanted, names)[:80]
                raise WorkloadError(f"{path}: column {wanted!r}, which {self.map.path} names, is missing{near}")
        used = {names[place] for place in self.place.values()}
        left = [name for name in names if name not in used]
        if left:
            self.report.note(f"columns that are not read: {', '.join(left)[:200]}")

    def take(self, texts: Sequence[Sequence[str]], lines: Ints) -> None:
        """Take the texts of some rows, column by column."""
        self.report.jobs += len(lines)
        self.texts = {name: texts[place] for name, place in self.place.items()}
        self.count = len(lines)
        moments = self._moments()
        run = self._amounts("run")
        amounts = {name: self._amounts(name) for name in ("requested_time", "cpu_time", "used_memory", *COUNTS)}
        columns: dict[str, Any] = {name: np.where(np.isnan(found), -1, found) for name, found in amounts.items()}
        for name in ("cpus", "requested_cpus", "nodes"):
            columns[name] = np.minimum(columns[name], 2**31 - 1)
        columns["memory"] = self._memory(columns)
        if numbers := self.texts.get("job"):
            columns["job"] = [int(text) if text.isdecimal() and len(text) < 18 else -1 for text in numbers]
        columns["state"] = self.read("state", self._state, STATE_NUMBER["UNKNOWN"])
        columns |= self.names({name: (name,) for name in NAMES})
        self.store.admit(columns, moments, run, lines)

    def _amounts(self, name: str) -> Floats:
        """Return (n,) s, KB or counts, NaN where unknown."""
        meaning = _span if name in SPANS else _gpus if name == "gpus" else _amount
        values = np.array(self.read(name, meaning, np.nan), np.float64)
        unit = (self.map.units or {}).get(name)
        if unit is not None:
            values *= SECONDS[unit] if name in SPANS else KILOBYTES[unit]
        return values

    def _memory(self, columns: Mapping[str, Any]) -> Floats:
        """Return (n,) KB for each CPU, -1 where unknown: of the job, else of its nodes, else of its CPUs."""
        cpus = np.where(columns["requested_cpus"] > 0, columns["requested_cpus"], columns["cpus"])
        found = np.full(self.count, -1.0)
        for name, of in (("memory_of_cpu", "cpu"), ("memory_of_node", "node"), ("memory", self.map.memory_of)):
            if name not in self.texts:
                continue
            unit = KILOBYTES[(self.map.units or {}).get(name, "KB")]
            amount, flagged = np.array(self.read(name, partial(_memory, unit=unit), (np.nan, False))).T
            nodes = np.maximum(columns["nodes"], 1) if of == "node" else 1
            shared = np.where(cpus > 0, amount * nodes / np.maximum(cpus, 1), np.nan)
            each = amount if of == "cpu" else np.where(flagged > 0, amount, shared)
            found = np.where(each >= 0, each, found)
        return found

    def _moments(self) -> dict[str, Moments]:
        if self.map.clock == "seconds":
            told = {name: np.array(self.read(name, _amount, np.nan)) for name in DATES if name in self.texts}
            found = {name: Moments(times, times) for name, times in told.items()}
        else:
            found = {name: self.clock.read(self.texts[name], name) for name in DATES if name in self.texts}
        found.setdefault("submit", found.get("eligible", Moments(np.zeros(0), np.zeros(0))))
        if "start" not in found and "wait" in self.texts:
            start = found["submit"].first + self._amounts("wait")
            found["start"] = Moments(start, start)
        return found

    def _state(self, text: str) -> int:
        word = (self.map.states or {}).get(text)
        return fields.state(text) if word is None else STATE_NUMBER[word]


def _amount(text: str) -> float:
    """Return a number; what is negative or beyond all reason, as logs write "no limit", is unknown."""
    value = float(text)
    return value if 0 <= value < EXACT_MOST else np.nan


def _memory(text: str, unit: float) -> tuple[float, bool]:
    """Return KB, unknown for no limit, and whether Slurm marks them as those of each CPU; *unit* is in KB."""
    if unit != KILOBYTES["MB"] or not text.isdecimal():
        return _amount(text) * unit, False
    megabytes, flagged = fields.unflagged(int(text[:25]))
    return (megabytes * unit if megabytes >= 0 else np.nan), flagged


def _gpus(text: str) -> float:
    """Return a number of GPUs, also that in a list of gres or tres."""
    return max(fields.resources(text).gpus, 0.0) if re.search("[A-Za-z]", text) else _amount(text)


def _span(text: str) -> float:
    """Return a number, or the s of ``1-02:03:04``."""
    return fields.duration(text) if ":" in text else np.nan if text.lower() in fields.NO_LIMIT else _amount(text)
