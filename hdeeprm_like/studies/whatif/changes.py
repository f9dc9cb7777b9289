"""Other machines, loads, requests and configurations by their texts, as ``nodes=+10%`` or ``bf_interval=60``.

A text may hold several parts with ``;`` between them, which are changed together.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from hdeeprm_like import limits
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.studies.whatif.inputs import Log, default_times
from hdeeprm_like.studies.whatif.slurm_keys import OF, PARAMETERS, SETTINGS, TIMES, meant, value_of
from hdeeprm_like.studies.whatif.windows import Closing, closing_meant, kinds_of, shared_out, with_nodes
from hdeeprm_like.types import Bools, Floats

REQUESTS = re.compile(r"(?:([+-])(\d+(?:\.\d+)?)%|x(\d+(?:\.\d+)?))", re.ASCII)
NODES = re.compile(r"nodes=([+-]?)(\d+(?:\.\d+)?)(%?)", re.ASCII)
LOAD = re.compile(r"load=(\d+(?:\.\d+)?)", re.ASCII)
POWER = re.compile(r"power=(?:(\d+(?:\.\d+)?)([kM]?)W|-(\d+(?:\.\d+)?)%)", re.ASCII)
LARGEST_FACTOR = 100.0  # times as many nodes or as much load
MOST_TIMES_ASKED = 1000.0  # times what users ask for
ROUNDING = 1e-9  # nodes, by which a share of them may be off: 40 * 1.1 > 44
WATTS = {"": 1.0, "k": 1e3, "M": 1e6}
PLAIN = ("nodes", "load", "requests", "power", "SchedulerParameters")
CLOSINGS = ("maint", "drain")


@dataclass(frozen=True)
class Requests:
    """How much time users ask for: *factor* times what they did, or times the run time where it is *of_run*."""

    factor: float
    of_run: bool

    def of(self, log: Log) -> Log:
        """Return a log whose jobs ask for so much, at least for their run times: they ran that long."""
        jobs = log.jobs
        base = jobs.delay if self.of_run else jobs.requested_time
        return with_requested(log, np.maximum(base * self.factor, jobs.delay))


def requests_meant(text: str, where: str) -> Requests:
    """Return what ``+50%``, ``-20%``, ``exact`` or ``x2`` means for the requested times.

    Raises:
        OptionsError: it is none of these.
    """
    if text == "exact":
        return Requests(1.0, of_run=True)
    match = REQUESTS.fullmatch(text)
    if match is not None:
        sign, percent, times = match.groups()
        factor = float(times) if times else 1.0 + float(percent) / (100.0 if sign == "+" else -100.0)
        if 0.0 < factor <= MOST_TIMES_ASKED and not (times and factor < 1.0):
            return Requests(factor, of_run=bool(times))
    raise OptionsError(f"{where}: is none of requests=+50%, requests=-20%, requests=exact and requests=x2 (run times)")


def with_requested(log: Log, requested: Floats) -> Log:
    """Return a log whose jobs ask for other times."""
    jobs = log.jobs
    ratio = np.divide(requested, jobs.requested_time, out=np.ones(len(jobs)), where=jobs.requested_time > 0.0)
    return replace(log, jobs=replace(jobs, requested_time=requested, requested_ops=jobs.requested_ops * ratio))


def cut_to_limits(log: Log, machine: Platform | None, name: str, key: str, limit: float, where: str) -> Log:
    """Return a log under another MaxTime or DefaultTime of a partition, or of all (``*``).

    Under a MaxTime jobs ask for that at most, and those that ran longer are killed then. Under a DefaultTime so do the
    jobs that asked for exactly the DefaultTime of now, which is what Slurm's accounting has of jobs without a limit.

    Raises:
        OptionsError: the machine has no partitions, or the DefaultTime of now is not known.
        WorkloadError: it has none of that name.
    """
    jobs = log.jobs
    chosen, present = _of_partition(log, machine, name, where)
    if key == "DefaultTime":
        if np.isnan(present[chosen]).any():
            raise OptionsError(f"{where}: the platform file has no DefaultTime now, so which jobs have it is not known")
        chosen &= np.abs(jobs.requested_time - present) < 0.5
        requested = np.where(chosen, limit, jobs.requested_time)
        if not np.isfinite(limit):
            raise OptionsError(f"{where}: a time is needed, for jobs without any limit cannot be planned")
    else:
        requested = np.where(chosen, np.minimum(jobs.requested_time, limit), jobs.requested_time)
    killed = jobs.delay > requested
    changed = int((requested != jobs.requested_time).sum())
    note = f"{where}: {changed:,} jobs ask for another time; {int(killed.sum()):,} of them are killed by their limit"
    log = with_requested(log, requested)
    return replace(log, jobs=replace(log.jobs, delay=np.minimum(jobs.delay, requested)), notes=(*log.notes, note))


def _of_partition(log: Log, machine: Platform | None, name: str, where: str) -> tuple[Bools, Floats]:
    """Return (J,) which jobs ask for a partition, and the DefaultTime of the partition of each, NaN where unknown."""
    partitions = None if machine is None else machine.partitions
    if partitions is None:
        raise OptionsError(f"{where}: the machine has no partitions; --machine FILE of an import has them")
    names = log.words["Partition"]
    numbers = {word: partitions.number_of(word) for word in set(names)}
    of_job = np.array([numbers[word] for word in names], np.int64)
    chosen = np.ones(len(of_job), np.bool_) if name == "*" else of_job == partitions.number_of(name)
    return chosen, default_times(partitions, names)


class Entry(NamedTuple):
    """A setting of a partition, an account, a user or a QOS: the kind, its name or ``*``, the key and the value."""

    kind: str
    name: str
    key: str
    value: Any


@dataclass(frozen=True)
class Change:
    """A change by its name.

    Attributes:
        nodes: times as many of each kind. more: nodes, shared out among the kinds. load: times as much.
        requests: how much time users ask for. power: W that all cores may draw, or the share of the most that they do.
        settings: of Slurm, by name. parameters: of its SchedulerParameters. entries: of partitions and associations.
        closings: of nodes, between two dates.
    """

    name: str
    nodes: float = 1.0
    more: int = 0
    load: float = 1.0
    requests: Requests | None = None
    power: tuple[float, bool] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    entries: tuple[Entry, ...] = ()
    closings: tuple[Closing, ...] = ()

    @property
    def needs_slurm(self) -> bool:
        """Whether only a model of Slurm can have it."""
        entries = any(entry.key not in TIMES for entry in self.entries)
        return bool(self.settings or self.parameters or entries or self.closings)

    def of_machine(self, machine: Platform) -> Platform:
        """Return the machine after the change.

        A share of the nodes, or of the cores where only these are known, is rounded to at least one more, or one less.

        Raises:
            OptionsError: nothing would be left.
        """
        if self.nodes == 1.0 and self.more == 0:
            return machine
        pooled = machine.nodes == 1  # a pool of cores
        present = machine.cores if pooled else machine.nodes
        exact = present * self.nodes + self.more
        total = int(np.ceil(exact - ROUNDING) if exact > present else np.floor(exact + ROUNDING))
        if machine.cores * total / present > limits.CORES.most:
            raise OptionsError(f"change {self.name!r}: of {machine.cores:,} cores: {limits.refusal(limits.CORES)}")
        if total < 1:
            raise OptionsError(f"change {self.name!r}: leaves no {'core' if pooled else 'node'} of {present}")
        if pooled:
            return pool(total)
        kinds = kinds_of(machine)
        counts = shared_out(np.array([len(rows) for rows in kinds]) * (exact / present), total)
        nodes = np.sort(np.concatenate([np.resize(rows, count) for rows, count in zip(kinds, counts, strict=True)]))
        return with_nodes(machine, nodes)

    def size_note(self, before: Platform, after: Platform) -> str:
        """Return how many nodes a change makes of how many, or cores where only these are known; else nothing."""
        if self.nodes == 1.0 and self.more == 0:
            return ""
        unit, one, other = ("nodes", before.nodes, after.nodes)
        if before.nodes == 1:
            unit, one, other = ("cores", before.cores, after.cores)
        return f"change {self.name[:80]!r}: {other:,} {unit} in place of {one:,}"

    def of_log(self, log: Log, machine: Platform | None = None) -> Log:
        """Return the log after the change: with more load the same jobs come in less time.

        Args:
            machine: whose partitions have time limits; None where there are none.

        Raises:
            OptionsError, WorkloadError: the change names a partition that there is not.
        """
        if self.load != 1.0:
            log = replace(log, jobs=replace(log.jobs, submit=log.jobs.submit / self.load))
        if self.requests is not None:
            log = self.requests.of(log)
        times = [entry for entry in self.entries if entry.key in TIMES]
        for entry in times:
            log = cut_to_limits(log, machine, entry.name, entry.key, entry.value, f"change {self.name[:80]!r}")
        return log


def change_named(text: str) -> Change:
    """Return the change of a text.

    Raises:
        OptionsError: it is none.
    """
    if not text.isprintable():
        raise OptionsError(f"change {text[:80]!r}: is none of nodes=+10%, bf_interval=60 and the like")
    change = Change(text.strip())
    for part in text.split(";") if text.strip() else [""]:
        change = _with_part(change, part.strip())
    return change


def _with_part(change: Change, part: str) -> Change:
    """Return a change with one more part."""
    where = f"change {part[:80]!r}"
    key, equals, value = (piece.strip() for piece in part.partition("="))
    if value.startswith("="):
        raise OptionsError(f"{where}: there is one = too many; write {key[:40]}={value.lstrip('=')[:40] or '...'}")
    kind, colon, rest = key.partition(":")
    if not equals or not key or not value:
        raise OptionsError(f"{where}: is none of nodes=+10%, bf_interval=60 and the like: KEY=VALUE is needed")
    if colon and kind.lower() in CLOSINGS:
        closing = closing_meant(kind.lower(), rest, value, where)
        return replace(change, closings=(*change.closings, closing))
    if colon:
        kind = meant(kind, (*OF, *CLOSINGS), where)
        name, dot, name_of_key = rest.rpartition(".")
        if not (dot and name and name_of_key):
            example = next(iter(OF[kind]))
            raise OptionsError(f"{where}: a name and a key as {kind}:{rest[:40] or 'NAME'}.{example}=... are needed")
        own = meant(name_of_key, OF[kind], where)
        entry = Entry(kind, name, own, value_of(OF[kind][own], value, where))
        return replace(change, entries=(*change.entries, entry))
    key = meant(key, (*PLAIN, *SETTINGS, *PARAMETERS), where)
    if key == "SchedulerParameters":
        return _with_parameters(change, value, where)
    if key in PARAMETERS:
        return replace(change, parameters={**change.parameters, key: value_of(PARAMETERS[key], value, where)})
    if key in SETTINGS:
        return replace(change, settings={**change.settings, key: value_of(SETTINGS[key], value, where)})
    return _with_plain(change, key, f"{key}={value}", where)


def _with_parameters(change: Change, text: str, where: str) -> Change:
    """Return a change with SchedulerParameters; those that are not named stay as they are."""
    found = dict(change.parameters)
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not name or not equals or not value:
            raise OptionsError(f"{where}: {part[:40]!r} is no parameter with a value; write bf_interval=60")
        key = meant(name, PARAMETERS, where)
        found[key] = value_of(PARAMETERS[key], value, where)
    return replace(change, parameters=found)


def _with_plain(change: Change, key: str, part: str, where: str) -> Change:
    """Return a change with other nodes, another load, other requests or less power."""
    if key == "requests":
        return replace(change, requests=requests_meant(part.partition("=")[2], where))
    if key == "nodes" and (match := NODES.fullmatch(part)):
        sign, amount, percent = match.groups()
        value = float(amount) * (-1.0 if sign == "-" else 1.0)
        if percent and 0.0 <= 1.0 + value / 100.0 <= LARGEST_FACTOR and sign:
            return replace(change, nodes=1.0 + value / 100.0)
        if not percent and sign and abs(value) < 1e6 and value == int(value):
            return replace(change, more=int(value))
    if key == "load" and (match := LOAD.fullmatch(part)) and 1.0 / LARGEST_FACTOR <= float(match[1]) <= LARGEST_FACTOR:
        return replace(change, load=float(match[1]))
    if key == "power" and (match := POWER.fullmatch(part)):
        watts, unit, percent = match.groups()
        if percent is not None and 0.0 < float(percent) < 100.0:
            return replace(change, power=(1.0 - float(percent) / 100.0, True))
        if percent is None and float(watts) > 0.0:
            return replace(change, power=(float(watts) * WATTS[unit], False))
    known = "nodes=+10%, nodes=-16 (nodes), load=1.2 (times as much), power=-10%, power=40kW"
    raise OptionsError(f"{where}: is none of {known}")
