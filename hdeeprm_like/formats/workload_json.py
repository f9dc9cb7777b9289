"""Batsim workloads: the jobs and profiles of JSON files as columns (thesis 3.1.3, 4.1.2, appendix C.1)."""

import json
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from hdeeprm_like.cluster.partitions import NO_DEMAND, demands_of
from hdeeprm_like.cluster.workload import Workload, known_number
from hdeeprm_like.errors import WorkloadError, did_you_mean
from hdeeprm_like.formats.batsim5_json import as_batsim4
from hdeeprm_like.formats.batsim_numbers import read_number
from hdeeprm_like.formats.demands_json import KEYS, demand_in
from hdeeprm_like.inputs import read_json
from hdeeprm_like.limits import LONGEST
from hdeeprm_like.types import Floats
from hdeeprm_like.values import INT_MOST, Number, Whole, shown, wrong

log = logging.getLogger(__name__)

Where: TypeAlias = Callable[[int], str]  # where a row of the file is, for messages

FIGURE = Number(0.0, 1e30)  # operations, MB, GB/s: the product of two is still finite
SECONDS = Number(0.0, LONGEST, noun="number of seconds")
WALLTIME = Number(0.0, LONGEST, above=True, noun="number of seconds", otherwise=", or -1 for no limit,")
CORES = Whole(1, noun="whole number of cores")
GPUS = Number(0.0, INT_MOST)
MOST_NAMED = 10  # names in a message
MODELLED = ("delay", "parallel_homogeneous")
TOTAL = "parallel_homogeneous_total"  # with amounts for all cores, and for all messages of one core, together


def read_workload(
    paths: Path | Sequence[Path], *, reference_flops: float, capacity: int | None = None, network: bool = False
) -> Workload:
    """Read Batsim workloads; the files become ``w0``, ``w1``, ... in the order given.

    Profiles are ``delay`` and ``parallel_homogeneous``, under Batsim 4's or Batsim 5's names for them. A file made for
    plain Batsim lacks HDeepRM's additions, so

    - ``mem``, ``mem_bw``, ``gpus`` missing: 0. The first two are per core, ``gpus`` are those of the whole job.
    - ``req_time`` missing: ``req_ops`` over the reference speed, else the walltime (Batsim's requested time), else
    the delay, else ``cpu`` over the reference speed, that is, an exact estimate.
    - ``req_ops`` missing: ``req_time`` times the reference speed.
    - ``cpu`` missing: ``req_ops``, an exact estimate. One of the three must be there.
    - ``user`` and ``program`` of a job, which Batsim ignores, missing or no integer: unknown.
    - a partition and other node requests of a job, see `demands_json`: none.

    Numbers are read as Batsim reads them (`batsim_numbers`), so that both use the same jobs. Profiles without jobs are
    not checked, as in Batsim; unknown keys are ignored.

    Args:
        paths: plain or ``.gz``.
        reference_flops: flop/s, the mean core of the platform (`Platform.reference_flops`).
        capacity: cores of the machine; None for the largest ``nb_res`` of the files.
        network: whether the jobs will run with networks. Profiles may then be of any kind, and the requests of jobs of
        other kinds must be given by ``req_time``, ``req_ops``, walltime or ``cpu``. The bytes of those that only the
        server simulates are nan.

    Raises:
        WorkloadError: a file is invalid; the message names file, JSON path and remedy.

    Source: HDeepRM thesis 3.1.3 and appendix C.1; Batsim's documentation of input workloads.
    """
    files = [paths] if isinstance(paths, Path) else list(paths)
    if not files:
        raise WorkloadError("no workload file was given")
    if not (math.isfinite(reference_flops) and reference_flops > 0):
        raise WorkloadError(f"the reference speed is {reference_flops!r} flop/s; a positive number is needed")
    read = [_read_file(path, f"w{number}", reference_flops, network) for number, path in enumerate(files)]
    listed = {name: [value for _, part in read for value in part[name]] for name in ("ids", "profiles", "demands")}
    numbers: dict[str, Any] = {
        name: np.concatenate([part[name] for _, part in read]) for name in read[0][1] if name not in listed
    }
    by = list(zip(numbers["submit"].tolist(), listed["ids"], strict=True))  # texts compare as their bytes in UTF-8 do
    order = sorted(range(len(by)), key=by.__getitem__)
    ids, profiles, demands = ([column[row] for row in order] for column in listed.values())
    return Workload(
        ids=tuple(ids),
        profiles=tuple(profiles),
        capacity=max(size for size, _ in read) if capacity is None else capacity,
        demands=None if all(demand is NO_DEMAND for demand in demands) else demands_of(demands),
        **{name: column[order] for name, column in numbers.items()},
    )


def _read_file(path: Path, name: str, reference_flops: float, network: bool) -> tuple[int, dict[str, Any]]:
    """Return ``nb_res`` and the columns of a `Workload` with the jobs of one file, in its order."""
    content = as_batsim4(_object(read_json(path, WorkloadError, read_number), str(path)))
    capacity = CORES.of(_need(content, "nb_res", str(path)), WorkloadError, path, "nb_res")
    jobs = _need(content, "jobs", str(path))
    profiles = _object(_need(content, "profiles", str(path)), f"{path}: profiles")
    if not isinstance(jobs, list):
        raise wrong(jobs, "a list", WorkloadError, path, "jobs")
    if not jobs:
        raise WorkloadError(f"{path}: jobs: is empty; at least one job is needed")
    columns = _columns_of_jobs(jobs, path, name)
    row_of = {name: row for row, name in enumerate(dict.fromkeys(columns["profiles"]))}
    row = np.array([row_of[name] for name in columns["profiles"]])
    used = _Used(path, list(row_of), np.unique(row, return_index=True)[1].tolist(), profiles)
    found = _columns_of_profiles(used, network)
    computes = np.isnan(found["delay"]).tolist()
    if not network and any(computes[i] and one.get("com") for i, one in enumerate(used.contents)):
        log.warning(
            "%s: some jobs send data (com > 0), which takes no time in the embedded simulator without 'network': true",
            path,
        )
    of_profiles = {name: column[row] for name, column in found.items()}
    return capacity, columns | _filled(columns, of_profiles, path, reference_flops)


def _columns_of_jobs(jobs: list[Any], path: Path, name: str) -> dict[str, Any]:
    """Return what the jobs of a file say themselves; *name* is that of the workload."""

    def where(key: str = "") -> Where:
        return lambda row: f"{path}: jobs[{row}]{key}"

    def needed(key: str) -> list[Any]:
        try:
            return [job[key] for job in jobs]
        except KeyError:
            lacks = next(row for row, job in enumerate(jobs) if key not in job)
            raise WorkloadError(f"{where()(lacks)}: has no {key!r}") from None

    _check(jobs, dict, "an object", where())
    keys = set().union(*jobs)
    ids = _identifiers(needed("id"), where(".id"), name)
    submit = _numbers(needed("subtime"), SECONDS, where(".subtime"))
    size = _numbers(needed("res"), CORES, where(".res")).astype(np.int64)
    profiles = needed("profile")
    _check(profiles, str, "the name of a profile", where(".profile"))
    limits = [job.get("walltime") for job in jobs] if "walltime" in keys else [None] * len(jobs)
    none = [limit is None or limit == -1 for limit in limits]  # Batsim writes -1
    walltime = np.full(len(jobs), np.inf)
    at = [row for row, without in enumerate(none) if not without]
    walltime[at] = _numbers([limits[row] for row in at], WALLTIME, lambda one: where(".walltime")(at[one]))
    place, own = where(), not KEYS.keys().isdisjoint(keys)
    return {
        "ids": ids,
        "profiles": profiles,
        "demands": [demand_in(job, place(row), WorkloadError) if own else NO_DEMAND for row, job in enumerate(jobs)],
        "submit": submit,
        "size": size,
        "walltime": walltime,
        **{
            key: np.array([known_number(job.get(key)) for job in jobs]) if key in keys else np.full(len(jobs), -1)
            for key in ("user", "program")
        },
    }


class _Used:
    """The profiles that jobs use, in the order of their first use.

    Attributes:
        names: of them. jobs: the first job that uses each. contents: of their objects.
    """

    def __init__(self, path: Path, names: list[str], jobs: list[int], profiles: Mapping[str, Any]) -> None:
        self.path, self.names, self.jobs = path, names, jobs
        for row, name in enumerate(names):
            if name not in profiles:
                few = len(profiles) <= MOST_NAMED or get_close_matches(name, profiles, n=1)
                near = did_you_mean(name, profiles) if few else ""  # thousands of names are no help
                raise WorkloadError(f"{self.job(row)}.profile: {name[:40]!r} is not known{near}")
        self.contents: list[dict[str, Any]] = [profiles[name] for name in names]
        _check(self.contents, dict, "an object", self.where)

    def where(self, row: int) -> str:
        """Return where one is, for messages."""
        return f"{self.path}: profiles[{json.dumps(self.names[row])}]"

    def job(self, row: int) -> str:
        """Return where the first job is that uses one."""
        return f"{self.path}: jobs[{self.jobs[row]}]"

    def numbers(self, key: str, among: list[int] | None = None, number: Number = FIGURE) -> Floats:
        """Return the numbers that some profiles have under a key, NaN for all others."""
        at = [row for row in (range(len(self.names)) if among is None else among) if key in self.contents[row]]
        found = np.full(len(self.names), np.nan)
        values = [self.contents[row][key] for row in at]
        found[at] = _numbers(values, number, lambda one: f"{self.where(at[one])}.{key}")
        return found


def _columns_of_profiles(used: _Used, network: bool) -> dict[str, Floats]:
    """Return what each profile says, NaN for what it does not; *network* is as for `read_workload`."""
    contents, where = used.contents, used.where
    for row, one in enumerate(contents):
        kind: Any = one.get("type")
        if isinstance(kind, str) and (network or kind in MODELLED):
            continue
        if not isinstance(_need(one, "type", where(row)), str):
            raise wrong(kind, f"one of {', '.join(MODELLED)}", WorkloadError, f"{where(row)}.type")
        raise WorkloadError(
            f"{used.job(row)}: profile {used.names[row]!r} is of type {kind[:40]!r}; the embedded simulator knows "
            f"{' and '.join(MODELLED)}; launch with 'network': true in the options file plays all others"
        )
    kinds = [one["type"] for one in contents]
    delays = [row for row, kind in enumerate(kinds) if kind == "delay"]
    for row in delays:
        _need(contents[row], "delay", where(row))
    simple = [kind in MODELLED or kind == TOTAL for kind in kinds]
    sent = np.nan_to_num(used.numbers("com", [row for row, plain in enumerate(simple) if plain]))
    if network:
        unknown = [not plain or bool(one.get("ret")) for plain, one in zip(simple, contents, strict=True)]
        sent[unknown] = np.nan
    ops = used.numbers("cpu", [row for row, kind in enumerate(kinds) if kind.startswith("parallel_homogeneous")])
    for row, kind in enumerate(kinds):
        if kind == "parallel" and isinstance(contents[row].get("cpu"), list):  # per core, the most of any
            ops[row] = max(FIGURE.all_of(contents[row]["cpu"], WorkloadError, f"{where(row)}.cpu"), default=np.nan)
    found = {
        "delay": used.numbers("delay", delays, SECONDS),
        "ops": ops,
        "requested_time": used.numbers("req_time", number=SECONDS),
        "requested_ops": used.numbers("req_ops"),
        "memory": np.nan_to_num(used.numbers("mem")),
        "bandwidth": np.nan_to_num(used.numbers("mem_bw")),
        "gpus": np.nan_to_num(used.numbers("gpus", number=GPUS)),
        "bytes": sent,
        "shared": np.array([kind == TOTAL for kind in kinds], np.float64),
    }
    untold = np.isnan(found["ops"]) & np.isnan(found["requested_time"]) & np.isnan(found["requested_ops"])
    for row in np.flatnonzero(untold).tolist():
        if kinds[row] == "parallel_homogeneous":
            raise WorkloadError(f"{where(row)}: has no 'cpu', the operations of each core")
    return found


def _filled(
    jobs: dict[str, Any], of_profiles: dict[str, Floats], path: Path, reference_flops: float
) -> dict[str, Floats]:
    """Return the columns that follow from the profile of each job, with the defaults of `read_workload`.

    Args:
        jobs: what they say themselves. of_profiles: what their profiles say, and whether the amounts are for all cores.
    """
    size, walltime, delay = jobs["size"], jobs["walltime"], of_profiles["delay"]
    shared = (of_profiles["shared"] > 0) & ~np.isnan(of_profiles["ops"])
    ops, sent = (np.where(shared, of_profiles[name] / size, of_profiles[name]) for name in ("ops", "bytes"))
    time, requested_ops = of_profiles["requested_time"], of_profiles["requested_ops"]
    endless = np.isnan(time) & np.isnan(requested_ops) & np.isnan(delay) & np.isnan(ops) & np.isinf(walltime)
    for row in np.flatnonzero(endless).tolist()[:1]:
        raise WorkloadError(
            f"{path}: jobs[{row}]: neither it nor its profile {jobs['profiles'][row][:40]!r} says how long it may run; "
            "a walltime is needed"
        )
    with np.errstate(over="ignore"):
        for otherwise in (requested_ops / reference_flops, np.where(np.isinf(walltime), np.nan, walltime), delay):
            time = np.where(np.isnan(time), otherwise, time)
        time = np.where(np.isnan(time), np.nan_to_num(ops) / reference_flops, time)
        requested_ops = np.where(np.isnan(requested_ops), time * reference_flops, requested_ops)
    for row in np.flatnonzero(~(np.isfinite(time) & np.isfinite(requested_ops))).tolist()[:1]:
        profile = jobs["profiles"][row]
        raise WorkloadError(f"{path}: jobs[{row}].profile: {profile!r} requests more operations than a float can hold")
    ops = np.where(np.isnan(ops), requested_ops, ops)
    return {
        "requested_time": time,
        "requested_ops": requested_ops,
        "ops": np.where(np.isnan(delay), ops, 0.0),
        "delay": np.where(np.isnan(delay), -1.0, delay),
        "memory": of_profiles["memory"],
        "bandwidth": of_profiles["bandwidth"],
        "gpus": of_profiles["gpus"] / size,
        "bytes": sent,
    }


def _numbers(values: list[Any], number: Number, where: Where) -> Floats:
    """Return values that are all of a kind.

    Raises:
        WorkloadError: one is none.
    """
    if not all(map(number.holds, values)):
        row = next(row for row, value in enumerate(values) if not number.holds(value))
        raise number.wrong(values[row], WorkloadError, where(row))
    return np.array(values, np.float64)


def _check(values: Sequence[Any], kind: type, wanted: str, where: Where) -> None:
    """Raise for the first value that is of another type."""
    if not all(isinstance(value, kind) for value in values):
        row = next(row for row, value in enumerate(values) if not isinstance(value, kind))
        raise wrong(values[row], wanted, WorkloadError, where(row))


def _need(content: Mapping[str, Any], key: str, where: str) -> Any:
    try:
        return content[key]
    except KeyError:
        raise WorkloadError(f"{where}: has no {key!r}") from None


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise wrong(value, "an object", WorkloadError, where)
    return value


def _identifiers(values: list[Any], where: Where, name: str) -> list[str]:
    """Return ``<workload>!<id>`` of each job; an id that already includes the workload's name keeps it."""
    begin = f"{name}!"
    found: list[str] = []
    first: dict[str, int] = {}  # row of each
    for row, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise wrong(value, "an integer or a string", WorkloadError, where(row))
        text = str(value).removeprefix(begin)
        if not text or "!" in text:
            raise WorkloadError(f"{where(row)}: {text[:40]!r} is no id; it may not be empty nor hold '!'")
        if first.setdefault(text, row) != row:
            raise WorkloadError(f"{where(row)}: {shown(value)} is also the id of jobs[{first[text]}]")
        found.append(begin + text)
    return found
