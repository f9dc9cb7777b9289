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
from hdeeprm_like.cluster.workload import Workload, known_number
from hdeeprm_like.errors import WorkloadError, did_you_mean
from hdeeprm_like.formats.batsim5_json import as_batsim4
from hdeeprm_like.formats.batsim_numbers import read_number
from hdeeprm_like.formats.demands_json import demand_in
from hdeeprm_like.inputs import read_json
from hdeeprm_like.limits import LONGEST
from hdeeprm_like.values import INT_MOST, Number, Whole, shown, wrong

log = logging.getLogger(__name__)

FIGURE = Number(0.0, 1e30)  # operations, MB, GB/s: the product of two is still finite
SECONDS = Number(0.0, LONGEST, noun="number of seconds")
WALLTIME = Number(0.0, LONGEST, above=True, noun="number of seconds", otherwise=", or -1 for no limit,")
CORES = Whole(1, noun="whole number of cores")
GPUS = Number(0.0, INT_MOST)
MOST_NAMED = 10  # names in a message
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
    program: int
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
    demands = None if all(demand is NO_DEMAND for demand in column["demand"]) else demands_of(column["demand"])
    numbers |= {name: np.array(column[name], dtype=np.int64) for name in ("size", "user", "program")}
    return Workload(ids=column["id"], profiles=column["profile"], capacity=capacity, demands=demands, **numbers)


def _read_file(path: Path, name: str, reference_flops: float, network: bool) -> tuple[int, list[_Job]]:
    """Return ``nb_res`` and the jobs of one file."""
    content = as_batsim4(_object(read_json(path, WorkloadError, read_number), str(path)))
    capacity = CORES.of(_need(content, "nb_res", str(path)), WorkloadError, path, "nb_res")
    jobs = _need(content, "jobs", str(path))
    profiles = _object(_need(content, "profiles", str(path)), f"{path}: profiles")
    if not isinstance(jobs, list):
        raise wrong(jobs, "a list", WorkloadError, path, "jobs")
    if not jobs:
        raise WorkloadError(f"{path}: jobs: is empty; at least one job is needed")
    source = _Source(path, name, profiles, reference_flops, network, known={})
    first: dict[str, int] = {}  # place of each id
    rows: list[_Job] = []
    for i, job in enumerate(jobs):
        row = _job(job, f"{path}: jobs[{i}]", source)
        if first.setdefault(row.id, i) != i:
            raise WorkloadError(f"{path}: jobs[{i}].id: {shown(job['id'])} is also the id of jobs[{first[row.id]}]")
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
        raise wrong(job, "an object", WorkloadError, where)
    identifier = _identifier(_need(job, "id", where), f"{where}.id", source.name)
    submit = SECONDS.of(_need(job, "subtime", where), WorkloadError, f"{where}.subtime")
    size = CORES.of(_need(job, "res", where), WorkloadError, f"{where}.res")
    profile_name = _need(job, "profile", where)
    if not isinstance(profile_name, str):
        raise wrong(profile_name, "the name of a profile", WorkloadError, f"{where}.profile")
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
        user=known_number(job.get("user")),
        program=known_number(job.get("program")),
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
        few = len(source.profiles) <= MOST_NAMED or get_close_matches(name, source.profiles, n=1)
        near = did_you_mean(name, source.profiles) if few else ""  # thousands of names are no help
        raise WorkloadError(f"{job}.profile: {name[:40]!r} is not known{near}")
    where = f"{source.path}: profiles[{json.dumps(name)}]"
    profile = _object(source.profiles[name], where)
    kind = _need(profile, "type", where)
    if not isinstance(kind, str):
        raise wrong(kind, f"one of {', '.join(MODELLED)}", WorkloadError, f"{where}.type")
    if kind not in MODELLED and not source.network:
        raise WorkloadError(
            f"{job}: profile {name!r} is of type {kind[:40]!r}; the embedded simulator knows {' and '.join(MODELLED)}; "
            "launch with 'network': true in the options file plays all others"
        )

    def optional(key: str, number: Number = FIGURE) -> float | None:
        return number.of(profile[key], WorkloadError, f"{where}.{key}") if key in profile else None

    def operations() -> float | None:
        """Return the operations per core, the most of any core if they differ; None for other kinds."""
        if kind == "parallel" and isinstance(profile.get("cpu"), list):
            return max(FIGURE.all_of(profile["cpu"], WorkloadError, f"{where}.cpu"), default=None)
        return optional("cpu") if kind.startswith("parallel_homogeneous") else None

    simple = kind in MODELLED or kind == TOTAL
    sent = optional("com") or 0.0 if simple else 0.0
    if source.network and (not simple or profile.get("ret")):
        sent = math.nan
    found = _Profile(
        delay=SECONDS.of(_need(profile, "delay", where), WorkloadError, f"{where}.delay") if kind == "delay" else None,
        ops=operations(),
        requested_time=optional("req_time", SECONDS),
        requested_ops=optional("req_ops"),
        memory=optional("mem") or 0.0,
        bandwidth=optional("mem_bw") or 0.0,
        gpus=optional("gpus", GPUS) or 0.0,
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
        raise wrong(value, "an object", WorkloadError, where)
    return value


def _identifier(value: Any, where: str, name: str) -> str:
    """Return ``<workload>!<id>``; an id that already includes the workload's name keeps it."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise wrong(value, "an integer or a string", WorkloadError, where)
    text = str(value).removeprefix(f"{name}!")
    if not text or "!" in text:
        raise WorkloadError(f"{where}: {text[:40]!r} is no id; it may not be empty nor hold '!'")
    return f"{name}!{text}"


def _walltime(value: Any, where: str) -> float:
    """Return the limit in s; Batsim writes -1 for none."""
    if value is None or (value == -1 and not isinstance(value, bool)):
        return math.inf
    return WALLTIME.of(value, WorkloadError, where)
