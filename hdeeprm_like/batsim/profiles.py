"""Requests of the jobs of a running Batsim, from the profiles in its messages."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hdeeprm_like.batsim.codec import AMOUNT, Submission, shown
from hdeeprm_like.cluster.workload import JobLimits
from hdeeprm_like.engine.job_rows import Request
from hdeeprm_like.errors import ProtocolError


class ProfileFigures(NamedTuple):
    """Content of a profile per core, and for all GPUs of the job; None for missing values.

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
    """The profiles of one simulation by workload and name, parsed at first use."""

    def __init__(self, announced: Any, exact: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """Take the profiles of the first message.

        Args:
            announced: profiles by workload and name.
            exact: the same profiles from their files; Batsim rounds numbers to six decimals.
        """
        if not isinstance(announced, dict) or not all(isinstance(profiles, dict) for profiles in announced.values()):
            raise ProtocolError("profiles must be objects by workload")
        self._announced: dict[str, dict[str, Any]] = announced
        self._exact = exact or {}
        self._read: dict[tuple[str, str], ProfileFigures] = {}

    def request(self, submission: Submission, reference_flops: float) -> Request:
        """Return the request of a submitted job; missing values are filled in as by ``read_workload``.

        Raises:
            ProtocolError: its profile is unknown or invalid.
        """
        try:
            figures = self._figures(submission)
        except ProtocolError as cause:
            raise ProtocolError(f"job {shown(submission.identifier)}: {cause}") from None
        size = submission.size
        time, ops = filled(figures, size, submission.walltime, reference_flops)
        gpus = figures.gpus / size
        others = figures.memory, figures.bandwidth, gpus, submission.user, submission.demand, submission.program
        return Request(submission.submit, size, time, ops, *others)

    def _figures(self, submission: Submission) -> ProfileFigures:
        workload, name = submission.identifier.partition("!")[0], submission.profile
        if submission.forwarded is not None:
            self._announced.setdefault(workload, {})[name] = submission.forwarded
            self._read.pop((workload, name), None)
        figures = self._read.get((workload, name))
        if figures is None:
            figures = self._read[workload, name] = self._look_up(workload, name)
        return figures

    def _look_up(self, workload: str, name: str) -> ProfileFigures:
        exact, announced = self._exact.get(workload, {}), self._announced.get(workload, {})
        if name not in announced and name not in exact:
            raise ProtocolError(f"profile {shown(name)} of workload {shown(workload)} is not known")
        return read_profile(exact[name] if name in exact else announced[name], name)

    def limits(self, cores: int) -> JobLimits:
        """Return the largest request of each kind among all profiles, for jobs of at most *cores* cores.

        Observations are scaled by it if the jobs are unknown; values missing from all profiles count as 1.
        """
        figures = [
            read_profile(profile, name) for profiles in self._announced.values() for name, profile in profiles.items()
        ]
        return JobLimits(
            time=max([one.time or one.delay or 0.0 for one in figures], default=0.0) or 1.0,
            cores=float(cores),
            memory=max([one.memory for one in figures], default=0.0) or 1.0,
            bandwidth=max([one.bandwidth for one in figures], default=0.0) or 1.0,
        )


def read_profile(profile: Any, name: str) -> ProfileFigures:
    """Return the content of a profile of any type: Batsim runs it, the decision system only reads the requests."""
    try:
        return _read_profile(profile)
    except ProtocolError as cause:
        raise ProtocolError(f"profile {shown(name)}: {cause}") from None


def _read_profile(profile: Any) -> ProfileFigures:
    if not isinstance(profile, dict):
        raise ProtocolError("must be an object")

    def figure(key: str) -> float | None:
        return AMOUNT.of(profile[key], ProtocolError, key) if key in profile else None

    cpu = profile.get("cpu")
    if isinstance(cpu, list):  # the cores of a "parallel" job differ; the slowest counts
        ops: float | None = max(AMOUNT.all_of(cpu, ProtocolError, "cpu"), default=0.0)
    else:
        ops = figure("cpu")
    shared = profile.get("type") == "parallel_homogeneous_total"
    return ProfileFigures(
        time=figure("req_time"),
        delay=figure("delay"),
        requested_ops=figure("req_ops"),
        ops=None if shared else ops,
        shared_ops=ops if shared else None,
        memory=figure("mem") or 0.0,
        bandwidth=figure("mem_bw") or 0.0,
        gpus=figure("gpus") or 0.0,
    )


def filled(figures: ProfileFigures, size: int, walltime: float | None, reference_flops: float) -> tuple[float, float]:
    """Return the requested time in s and operations in flop per core, each from the other if one is missing."""
    time, ops = figures.time, figures.requested_ops
    if time is None and ops is not None:
        time = ops / reference_flops
    elif time is None and walltime is not None:
        time = walltime
    elif time is None and figures.delay is not None:
        time = figures.delay
    elif time is None:
        time = (figures.ops or (figures.shared_ops or 0.0) / size) / reference_flops
    return time, time * reference_flops if ops is None else ops
