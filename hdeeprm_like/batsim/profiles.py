"""What the jobs of a running Batsim ask for, from the profiles that it tells of."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from hdeeprm_like.cluster.workload import JobLimits
from hdeeprm_like.engine.state import Request
from hdeeprm_like.errors import ProtocolError

LARGEST_SIZE = 2**31 - 1  # cores of one job; Batsim counts them in an int


class Asked(NamedTuple):
    """What a profile says of each core, and of all GPUs of the job; None where it says nothing.

    Attributes:
        time, delay: s. requested_ops, ops: flop. shared_ops: flop of all cores together. memory: MB. bandwidth: GB/s.
    """

    time: float | None
    delay: float | None
    requested_ops: float | None
    ops: float | None
    shared_ops: float | None
    memory: float
    bandwidth: float
    gpus: float


class Profiles:
    """The profiles of one simulation by workload and name, read when first asked for."""

    def __init__(self, told: Any, exact: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """Take what the first message tells.

        Args:
            exact: the same profiles as their files have them; Batsim rounds numbers to six decimals.
        """
        if not isinstance(told, dict) or not all(isinstance(profiles, dict) for profiles in told.values()):
            raise ProtocolError("SIMULATION_BEGINS: profiles must be objects by workload")
        self._told: dict[str, dict[str, Any]] = told
        self._exact = exact or {}
        self._read: dict[tuple[str, str], Asked] = {}

    def request(self, identifier: str, job: Mapping[str, Any], forwarded: Any, reference_flops: float) -> Request:
        """Return what a submitted job asks for; what it does not say is filled in as ``read_workload`` does.

        Args:
            forwarded: its profile if that came with the job, else None.
        """
        try:
            return self._request(identifier.partition("!")[0], job, forwarded, reference_flops)
        except ProtocolError as cause:
            raise ProtocolError(f"job {shown(identifier)}: {cause}") from None

    def _request(self, workload: str, job: Mapping[str, Any], forwarded: Any, reference_flops: float) -> Request:
        size, name = job.get("res"), job.get("profile")
        if type(size) is not int or not 1 <= size <= LARGEST_SIZE:
            raise ProtocolError(f"res must be 1 to {LARGEST_SIZE} cores")
        if not isinstance(name, str):
            raise ProtocolError("profile must be a name")
        if forwarded is not None:
            self._told.setdefault(workload, {})[name] = forwarded
            self._read.pop((workload, name), None)
        asked = self._read.get((workload, name))
        if asked is None:
            asked = self._read[workload, name] = self._look_up(workload, name)
        walltime = job.get("walltime")
        walltime = None if walltime is None or walltime == -1 else number(walltime, "walltime")
        time, ops = filled(asked, size, walltime, reference_flops)
        submit, gpus = number(job.get("subtime"), "subtime"), asked.gpus / size
        return Request(submit, size, time, ops, asked.memory, asked.bandwidth, gpus)

    def _look_up(self, workload: str, name: str) -> Asked:
        exact, told = self._exact.get(workload, {}), self._told.get(workload, {})
        if name not in told and name not in exact:
            raise ProtocolError(f"profile {shown(name)} of workload {shown(workload)} is not known")
        return read_profile(exact[name] if name in exact else told[name], name)

    def limits(self, cores: int) -> JobLimits:
        """Return the largest request of each kind among all profiles, for jobs of so many cores at most.

        Observations are scaled by it where nobody has seen the jobs; what no profile tells counts as 1.
        """
        asked = [read_profile(profile, name) for profiles in self._told.values() for name, profile in profiles.items()]
        return JobLimits(
            time=max([one.time or one.delay or 0.0 for one in asked], default=0.0) or 1.0,
            cores=float(cores),
            memory=max([one.memory for one in asked], default=0.0) or 1.0,
            bandwidth=max([one.bandwidth for one in asked], default=0.0) or 1.0,
        )


def read_profile(profile: Any, name: str) -> Asked:
    """Return what a profile says, of whatever type it is: the simulator runs it, the decision system reads requests."""
    try:
        return _read_profile(profile)
    except ProtocolError as cause:
        raise ProtocolError(f"profile {shown(name)}: {cause}") from None


def _read_profile(profile: Any) -> Asked:
    if not isinstance(profile, dict):
        raise ProtocolError("must be an object")

    def told(key: str) -> float | None:
        return number(profile[key], key) if key in profile else None

    cpu = profile.get("cpu")
    if isinstance(cpu, list):  # the cores of a "parallel" job differ; the slowest counts
        ops: float | None = max([number(one, "cpu") for one in cpu], default=0.0)
    else:
        ops = told("cpu")
    shared = profile.get("type") == "parallel_homogeneous_total"
    return Asked(
        time=told("req_time"),
        delay=told("delay"),
        requested_ops=told("req_ops"),
        ops=None if shared else ops,
        shared_ops=ops if shared else None,
        memory=told("mem") or 0.0,
        bandwidth=told("mem_bw") or 0.0,
        gpus=told("gpus") or 0.0,
    )


def filled(asked: Asked, size: int, walltime: float | None, reference_flops: float) -> tuple[float, float]:
    """Return the requested time in s and operations in flop per core, each from the other if one is missing."""
    time, ops = asked.time, asked.requested_ops
    if time is None and ops is not None:
        time = ops / reference_flops
    elif time is None and walltime is not None:
        time = walltime
    elif time is None and asked.delay is not None:
        time = asked.delay
    elif time is None:
        time = (asked.ops or (asked.shared_ops or 0.0) / size) / reference_flops
    return time, time * reference_flops if ops is None else ops


def number(value: Any, what: str) -> float:
    """Return a finite number that is not negative; raise a `ProtocolError` for anything else."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ProtocolError(f"{what} must be a number")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not 0.0 <= result < math.inf:
        raise ProtocolError(f"{what} must be a finite number, not below 0")
    return result


def shown(value: object) -> str:
    """Return something that came over the wire as a message can show it: short, quoted, on one line, in ASCII."""
    return ascii(value if len(str(value)) <= LONGEST else str(value)[:LONGEST])


LONGEST = 60  # characters of a name in a message
