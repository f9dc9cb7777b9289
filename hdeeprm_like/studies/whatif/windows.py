"""Nodes that are out between two dates: ``maint:all=2026-03-02T08:00/2026-03-02T20:00``, ``drain:4=1-00/2-00``."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.decision.policies.limit_rows import MOST_WINDOWS, Window
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.studies.whatif.inputs import Log
from hdeeprm_like.studies.whatif.nodes import kinds_of, shared_out
from hdeeprm_like.studies.whatif.slurm_keys import seconds
from hdeeprm_like.types import Bools

FIRST_DATE = 1e8  # s since 1970; what is before is on a clock of the log's own


@dataclass(frozen=True)
class Closing:
    """Nodes that are closed between two dates.

    Attributes:
        known: whether the schedulers know of it beforehand, as of a maintenance. nodes: a number of them, the name of a
            partition, or ``all``.
        begin, end: s since 1970, or since the first job where they are not *dated*. where: for messages.
    """

    known: bool
    nodes: str
    begin: float
    end: float
    dated: bool
    where: str

    def of(self, machine: Platform, log: Log) -> Window:
        """Return it on the clock of a log and the nodes of a machine.

        Raises:
            OptionsError: the machine has no such nodes, or the log no such dates.
            WorkloadError: it has no such partition.
        """
        if self.dated and log.epoch < FIRST_DATE:
            raise OptionsError(f"{self.where}: the log has no dates; write times since its first job, as 1-00:00:00")
        origin = log.epoch if self.dated else float(log.jobs.submit[0])
        begin, end = (time - log.epoch if self.dated else time + origin for time in (self.begin, self.end))
        last = float((log.jobs.submit + log.jobs.requested_time).max())
        if end <= float(log.jobs.submit[0]) or begin > last:
            raise OptionsError(f"{self.where}: lies outside the log, {_span(log, last)}")
        nodes = self._rows(machine)
        if self.known:
            return Window(known=-math.inf, begin=begin, end=end, gone=end, nodes=nodes)
        return Window(known=begin, begin=-math.inf, end=math.inf, gone=end, nodes=nodes)

    def _rows(self, machine: Platform) -> Bools:
        """Return (N,) the nodes that are closed; a number of them is shared out among the kinds that there are."""
        chosen = np.zeros(machine.nodes, np.bool_)
        if self.nodes.lower() == "all":
            return ~chosen
        if not self.nodes.isdigit():
            assert machine.partitions is not None
            return np.array(machine.partitions.nodes[machine.partitions.number_of(self.nodes)])
        count = int(self.nodes)
        if not 0 < count <= machine.nodes:
            raise OptionsError(f"{self.where}: the machine has {machine.nodes:,} nodes, not {count:,}")
        kinds = kinds_of(machine)
        shares = shared_out(np.array([len(rows) for rows in kinds]) * count / machine.nodes, count)
        for rows, share in zip(kinds, shares.tolist(), strict=True):
            chosen[rows[:share]] = True
        return chosen


def _span(log: Log, last: float) -> str:
    """Return from when until when the jobs of a log may run."""
    if log.epoch < FIRST_DATE:
        return (
            f"whose last job may end {(last - float(log.jobs.submit[0])) / 86400.0:.1f} days after its first one came"
        )
    dates = (datetime.fromtimestamp(log.epoch + time, UTC) for time in (float(log.jobs.submit[0]), last))
    return "whose jobs may run from {:%Y-%m-%dT%H:%M} to {:%Y-%m-%dT%H:%M}".format(*dates)


def closing_meant(kind: str, nodes: str, dates: str, where: str) -> Closing:
    """Return the closing of ``maint`` (known beforehand) or ``drain`` (not) of nodes between ``FROM/TO``.

    Raises:
        OptionsError: the nodes or the dates make no sense.
    """
    first, slash, last = (part.strip() for part in dates.partition("/"))
    if not nodes or (nodes.isdigit() and not nodes.isascii()) or len(nodes) > 200:
        raise OptionsError(f"{where}: nodes are needed, as {kind}:all, {kind}:16 or {kind}:PARTITION")
    if not slash:
        raise OptionsError(f"{where}: two dates as 2026-03-02T08:00/2026-03-02T20:00, or 1-00:00/1-12:00, are needed")
    (begin, dated), (end, also) = _moment(first, where), _moment(last, where)
    if dated != also or not begin < end:
        raise OptionsError(f"{where}: two dates, or two times since the first job, the earlier one first, are needed")
    return Closing(kind == "maint", nodes, begin, end, dated, where)


def _moment(text: str, where: str) -> tuple[float, bool]:
    """Return a date in s since 1970 (UTC where it has no offset) or s since the first job, and whether it is a date."""
    try:
        return seconds(text), False
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp(), True
    except (ValueError, OverflowError):
        raise OptionsError(f"{where}: {text[:40]!r} is no date as 2026-03-02T08:00 and no time as 1-12:00") from None


def check_count(windows: int) -> None:
    """Refuse more windows than the model has room for.

    Raises:
        OptionsError: there are too many.
    """
    if windows > MOST_WINDOWS:
        raise OptionsError(f"--change: {windows} windows that close nodes; at most {MOST_WINDOWS} are possible")
