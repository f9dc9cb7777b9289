"""Batsim workloads: the jobs and profiles of JSON files as columns (thesis 3.1.3, 4.1.2, appendix C.1)."""

import json
import logging
import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hdeeprm_like.cluster.partitions import NO_DEMAND, Demand, demands_of
from hdeeprm_like.cluster.workload import Workload, user_number
from hdeeprm_like.errors import WorkloadError, did_you_mean
from hdeeprm_like.formats.batsim5_json import as_batsim4
from hdeeprm_like.formats.batsim_numbers import read_number
from hdeeprm_like.formats.demands_json import demand_in
from hdeeprm_like.inputs import read_json
from hdeeprm_like.limits import LONGEST

log = logging.getLogger(__name__)

LARGEST_NUMBER = 1e30  # operations, MB, GB/s: the product of two is still finite
LARGEST_SIZE = 2**31 - 1  # cores of one job; Batsim counts them in an int
FEW = 10  # most names in a message
FLOAT_COLUMNS = (
    "submit", "requested_time", "requested_ops", "ops", "delay", "memory", "bandwidth", "walltime", "gpus", "bytes",
)  # fmt: skip
MODELLED = ("delay", "parallel_homogeneous")
TOTAL = "parallel_homogeneous_total"  # with amounts for all cores, and for all messages of one core, together


class _Profile(NamedTuple):
    """Content of a profile in the file; None for missing values."""

    delay: float | None
    ops: float | None
    requested_time: float | None
    requested_ops: float | None
    memory: float
    bandwidth: float
    gpus: float  # of the whole job
    bytes: float = 0.0  # that each core sends to each other one; nan for what only the server simulates
    shared: bool = False  # whether the amounts are for all cores together


class _Source(NamedTuple):
    """Data shared by the jobs of one file."""

    path: Path
    name: str  # w0, w1, ...
    profiles: Mapping[str, Any]
    reference_flops: float
    network: bool  # whether jobs may send messages, and have all kinds of profiles
    known: dict[str, _Profile]  # the profiles read so far


class _Job(NamedTuple):
    """One row of a `Workload`, before it is sorted into place."""

    submit: float
    order: bytes
    id: str
    profile: str
    size: int
    requested_time: float
    requested_ops: float
    ops: float
    delay: float
    memory: float
    bandwidth: float
    walltime: float
    gpus: float
    bytes: float
    user: int
    demand: Demand


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
    - ``user`` of a job, which Batsim ignores, missing or no integer: unknown.
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
    jobs: list[_Job] = []
    sizes: list[int] = []
    for number, path in enumerate(files):
        size, rows = _read_file(path, f"w{number}", reference_flops, network)
        sizes.append(size)
        jobs.extend(rows)
    jobs.sort(key=lambda job: (job.submit, job.order))
    return _columns(jobs, max(sizes) if capacity is None else capacity)


def _columns(jobs: Sequence[_Job], capacity: int) -> Workload:
    column: dict[str, tuple[Any, ...]] = dict(zip(_Job._fields, zip(*jobs, strict=True), strict=True))
    numbers: dict[str, Any] = {name: np.array(column[name], dtype=np.float64) for name in FLOAT_COLUMNS}
    size, user = np.array(column["size"], dtype=np.int64), np.array(column["user"], dtype=np.int64)
    demands = None if all(demand is NO_DEMAND for demand in column["demand"]) else demands_of(column["demand"])
    numbers |= {"size": size, "user": user}
    return Workload(ids=column["id"], profiles=column["profile"], capacity=capacity, demands=demands, **numbers)


def _read_file(path: Path, name: str, reference_flops: float, network: bool) -> tuple[int, list[_Job]]:
    """Return ``nb_res`` and the jobs of one file."""
    content = as_batsim4(_object(read_json(path, WorkloadError, read_number), str(path)))
    capacity = _whole(_need(content, "nb_res", str(path)), f"{path}: nb_res")
    jobs = _need(content, "jobs", str(path))
    profiles = _object(_need(content, "profiles", str(path)), f"{path}: profiles")
    if not isinstance(jobs, list):
        raise WorkloadError(f"{path}: jobs: is {_kind(jobs)}; a list is needed")
    if not jobs:
        raise WorkloadError(f"{path}: jobs: is empty; at least one job is needed")
    source = _Source(path, name, profiles, reference_flops, network, known={})
    first: dict[str, int] = {}  # place of each id
    rows: list[_Job] = []
    for i, job in enumerate(jobs):
        row = _job(job, f"{path}: jobs[{i}]", source)
        if first.setdefault(row.id, i) != i:
            raise WorkloadError(f"{path}: jobs[{i}].id: {_kind(job['id'])} is also the id of jobs[{first[row.id]}]")
        rows.append(row)
    silent = network or not any(
        source.known[row.profile].delay is None and profiles[row.profile].get("com") for row in rows
    )
    if not silent:
        log.warning(
            "%s: some jobs send data (com > 0), which takes no time in the embedded simulator without 'network': true",
            path,
        )
    return capacity, rows


def _job(job: Any, where: str, source: _Source) -> _Job:
    if not isinstance(job, dict):
        raise WorkloadError(f"{where}: is {_kind(job)}; an object is needed")
    identifier = _identifier(_need(job, "id", where), f"{where}.id", source.name)
    submit = _number(_need(job, "subtime", where), f"{where}.subtime", LONGEST)
    size = _whole(_need(job, "res", where), f"{where}.res")
    profile_name = _need(job, "profile", where)
    if not isinstance(profile_name, str):
        raise WorkloadError(f"{where}.profile: is {_kind(profile_name)}; the name of a profile is needed")
    profile = source.known.get(profile_name)
    if profile is None:
        profile = source.known[profile_name] = _profile(profile_name, where, source)
    walltime = _walltime(job.get("walltime"), f"{where}.walltime")
    if profile.shared and profile.ops is not None:
        profile = profile._replace(ops=profile.ops / size, bytes=profile.bytes / size)
    figures = profile.requested_time, profile.requested_ops, profile.delay, profile.ops
    if walltime == math.inf and all(figure is None for figure in figures):
        raise WorkloadError(
            f"{where}: neither it nor its profile {profile_name[:40]!r} says how long it may run; a walltime is needed"
        )
    time, requested_ops, ops = _fill(profile, walltime, source.reference_flops)
    if not (math.isfinite(time) and math.isfinite(requested_ops)):
        raise WorkloadError(f"{where}.profile: {profile_name!r} requests more operations than a float can hold")
    return _Job(
        submit=submit,
        order=identifier.encode("utf-8", "surrogatepass"),
        id=identifier,
        profile=profile_name,
        size=size,
        requested_time=time,
        requested_ops=requested_ops,
        ops=ops,
        delay=-1.0 if profile.delay is None else profile.delay,
        memory=profile.memory,
        bandwidth=profile.bandwidth,
        walltime=walltime,
        gpus=profile.gpus / size,
        bytes=profile.bytes,
        user=user_number(job.get("user")),
        demand=demand_in(job, where, WorkloadError),
    )


def _fill(profile: _Profile, walltime: float, reference_flops: float) -> tuple[float, float, float]:
    """Return requested time, requested operations and operations; see `read_workload` for defaults."""
    time, requested_ops, ops = profile.requested_time, profile.requested_ops, profile.ops
    if time is None:
        if requested_ops is not None:
            time = requested_ops / reference_flops
        elif walltime < math.inf:
            time = walltime
        elif profile.delay is not None:
            time = profile.delay
        else:
            time = (ops or 0.0) / reference_flops
    if requested_ops is None:
        requested_ops = time * reference_flops
    if profile.delay is not None:
        return time, requested_ops, 0.0
    return time, requested_ops, requested_ops if ops is None else ops


def _profile(name: str, job: str, source: _Source) -> _Profile:
    """Return the content of the profile that *job* uses."""
    if name not in source.profiles:
        few = len(source.profiles) <= FEW or get_close_matches(name, source.profiles, n=1)
        near = did_you_mean(name, source.profiles) if few else ""  # thousands of names are no help
        raise WorkloadError(f"{job}.profile: {name[:40]!r} is not known{near}")
    where = f"{source.path}: profiles[{json.dumps(name)}]"
    profile = _object(source.profiles[name], where)
    kind = _need(profile, "type", where)
    if not isinstance(kind, str):
        raise WorkloadError(f"{where}.type: is {_kind(kind)}; one of {', '.join(MODELLED)} is needed")
    if kind not in MODELLED and not source.network:
        raise WorkloadError(
            f"{job}: profile {name!r} is of type {kind[:40]!r}; the embedded simulator knows {' and '.join(MODELLED)} "
            "and, if the options file says 'network': true, all others"
        )

    def optional(key: str, most: float = LARGEST_NUMBER) -> float | None:
        return _number(profile[key], f"{where}.{key}", most) if key in profile else None

    def operations() -> float | None:
        """Return the operations per core, the most of any core if they differ; None for other kinds."""
        if kind == "parallel" and isinstance(profile.get("cpu"), list):
            each = enumerate(profile["cpu"])
            return max((_number(one, f"{where}.cpu[{i}]", LARGEST_NUMBER) for i, one in each), default=None)
        return optional("cpu") if kind.startswith("parallel_homogeneous") else None

    simple = kind in MODELLED or kind == TOTAL
    sent = optional("com") or 0.0 if simple else 0.0
    if source.network and (not simple or profile.get("ret")):
        sent = math.nan
    found = _Profile(
        delay=_number(_need(profile, "delay", where), f"{where}.delay", LONGEST) if kind == "delay" else None,
        ops=operations(),
        requested_time=optional("req_time", LONGEST),
        requested_ops=optional("req_ops"),
        memory=optional("mem") or 0.0,
        bandwidth=optional("mem_bw") or 0.0,
        gpus=optional("gpus", LARGEST_SIZE) or 0.0,
        bytes=sent,
        shared=kind == TOTAL,
    )
    none_told = found.ops is None and found.requested_time is None and found.requested_ops is None
    if kind == "parallel_homogeneous" and none_told:
        raise WorkloadError(f"{where}: has no 'cpu', the operations of each core")
    return found


def _need(content: Mapping[str, Any], key: str, where: str) -> Any:
    try:
        return content[key]
    except KeyError:
        raise WorkloadError(f"{where}: has no {key!r}") from None


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise WorkloadError(f"{where}: is {_kind(value)}; an object is needed")
    return value


def _identifier(value: Any, where: str, name: str) -> str:
    """Return ``<workload>!<id>``; an id that already includes the workload's name keeps it."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise WorkloadError(f"{where}: is {_kind(value)}; an integer or a string is needed")
    text = str(value).removeprefix(f"{name}!")
    if not text or "!" in text:
        raise WorkloadError(f"{where}: {text[:40]!r} is no id; it may not be empty nor hold '!'")
    return f"{name}!{text}"


def _number(value: Any, where: str, most: float = LARGEST_NUMBER) -> float:
    """Return a number from 0 to *most*."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WorkloadError(f"{where}: is {_kind(value)}; a number is needed")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not number <= most:
        raise WorkloadError(f"{where}: is {_kind(value)}; at most {most:g} is possible")
    if number < 0:
        raise WorkloadError(f"{where}: is {_kind(value)}; it may not be negative")
    return number


def _whole(value: Any, where: str) -> int:
    """Return a number of cores."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise WorkloadError(f"{where}: is {_kind(value)}; a whole number of cores is needed")
    if not 1 <= value <= LARGEST_SIZE:
        raise WorkloadError(f"{where}: is {_kind(value)}; 1 to {LARGEST_SIZE} cores are possible")
    return value


def _walltime(value: Any, where: str) -> float:
    """Return the limit in s; Batsim writes -1 for none."""
    if value is None or (value == -1 and not isinstance(value, bool)):
        return math.inf
    if (walltime := _number(value, where, LONGEST)) == 0:
        raise WorkloadError(f"{where}: is 0; a positive number of seconds is needed, or -1 for no limit")
    return walltime


def _kind(value: Any) -> str:
    """Return the JSON type of a value for messages, with the value itself if it is short."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return f"the string {value[:40]!r}"
    return json.dumps(value)[:40]
