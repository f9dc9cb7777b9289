"""Batsim's workloads: what a job asks for and how its profile runs.

A profile is one of these; any may have ``ret``, the code with which the job then ends.

======================================  ===============================================================
delay                                   sleeps ``delay`` s
parallel_homogeneous                    ``cpu`` flops on each host, ``com`` bytes between each two hosts
parallel_homogeneous_total              the same, ``cpu`` and ``com`` divided by the number of hosts
parallel                                ``cpu`` flops per host, ``com`` bytes from row to column
composed                                the profiles of ``seq`` one after the other, ``repeat`` times
send                                    sends ``msg`` to the scheduler, then sleeps ``sleeptime`` s
recv                                    waits for a message: runs ``success``, ``failure`` or ``timeout``
======================================  ===============================================================
"""

import re
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

from hdeeprm_like.batsim_server.protocol import encode
from hdeeprm_like.errors import HDeepRMError, WorkloadError, did_you_mean
from hdeeprm_like.formats.files import read_json

PTASKS = ("parallel", "parallel_homogeneous", "parallel_homogeneous_total")
KINDS = ("delay", *PTASKS, "composed", "send", "recv")
LEFT_OUT = ("parallel_homogeneous_pfs", "data_staging", "smpi", "trace", "usage_trace", "replay_smpi", "replay_usage")


@dataclass(eq=False)
class Profile:
    """How a job runs."""

    name: str
    kind: str
    text: str  # as Batsim prints it
    ret: int = 0
    delay: float = 0.0  # s: delay, or sleep after a send, or between two looks for a message
    cpu: list[float] = field(default_factory=list)  # flops; one for all hosts, or one per host
    com: list[float] = field(default_factory=list)  # bytes; one for all pairs, or one per pair
    sequence: list["Profile"] = field(default_factory=list)
    repeat: int = 1
    message: str = ""  # JSON
    pattern: re.Pattern[str] | None = None
    success: str = ""
    failure: str = ""
    timeout: str = ""

    @property
    def any_size(self) -> bool:
        """Whether the job may get another number of machines than it asks for."""
        if self.kind == "composed":
            return all(part.any_size for part in self.sequence)
        return self.kind == "parallel_homogeneous_total"


@dataclass(eq=False)
class Job:
    """One job and what became of it."""

    workload: str
    number: str
    profile: Profile
    submit: float  # s
    size: int
    walltime: float  # s, -1 without limit
    text: str  # as Batsim prints it
    state: str = "NOT_SUBMITTED"
    metadata: str = ""
    messages: list[str] = field(default_factory=list)  # from the scheduler
    start: float = 0.0  # s
    run: float = 0.0  # s
    machines: list[int] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)  # the machine of each rank
    alloc: str = ""
    joules: float = -1.0
    return_code: int = 0

    @property
    def identifier(self) -> str:
        """Return the name on the wire."""
        return f"{self.workload}!{self.number}"


class Profiles(dict[str, Profile]):
    """The profiles of one workload; those that no job needs any more go."""

    def __init__(self, workload: str) -> None:
        """Start empty."""
        super().__init__()
        self.workload = workload
        self.users: dict[str, int] = {}  # jobs per profile

    def forget(self, profile: Profile) -> None:
        """Drop a profile that no job and no other profile uses."""
        self.users[profile.name] -= 1
        if self.users[profile.name] <= 0 and not any(profile in other.sequence for other in self.values()):
            self.pop(profile.name, None)


def read_workload(path: Path, name: str) -> tuple[int, dict[str, Job], Profiles]:
    """Return the machines a Batsim workload was made for, its jobs, and the profiles that they use.

    Raises:
        WorkloadError: the file is no workload that is imitated; the message says where.
    """
    content = read_json(path, WorkloadError)
    where = str(path)
    if not isinstance(content, dict):
        raise WorkloadError(f"{where}: a workload is an object with nb_res, jobs and profiles")
    machines = content.get("nb_res")
    if not isinstance(machines, int) or isinstance(machines, bool) or machines <= 0:
        raise WorkloadError(f"{where}: nb_res must be a number of machines above 0, not {machines!r}")
    described, listed = content.get("profiles"), content.get("jobs")
    if not isinstance(described, dict):
        raise WorkloadError(f"{where}: profiles must be an object")
    if not isinstance(listed, list):
        raise WorkloadError(f"{where}: jobs must be a list")
    profiles = Profiles(name)
    jobs: dict[str, Job] = {}
    for index, description in enumerate(listed):
        job = make_job(description, name, profiles, described, f"{where}: jobs[{index}]", WorkloadError)
        if job.number in jobs:
            raise WorkloadError(f"{where}: jobs[{index}]: a job {job.number!r} is there already")
        jobs[job.number] = job
    return machines, jobs, profiles


def make_job(
    description: Any,
    workload: str,
    profiles: Profiles,
    described: dict[str, Any],
    where: str,
    error: type[HDeepRMError],
    number: str | None = None,
) -> Job:
    """Return one job from its JSON.

    Args:
        described: JSON of profiles that are made when a job needs them.
        number: the job's name, if the caller knows it.
    """
    if not isinstance(description, dict):
        raise error(f"{where}: a job is an object")
    if number is None:
        identity = description.get("id")
        if isinstance(identity, bool) or not isinstance(identity, int | str):
            raise error(f"{where}: id must be a number or a text, not {str(identity)[:40]!r}")
        number = str(identity).removeprefix(f"{workload}!")
    if not number or "!" in number or '"' in number or any(ord(c) < 32 for c in number):
        raise error(f"{where}: id {number[:40]!r} is not a job's name")
    where = f"{where} (id {number[:40]})"
    size = description.get("res")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 < size < 1 << 31:
        raise error(f"{where}: res must be a number of machines above 0, not {str(size)[:40]}")
    walltime = _number(description, "walltime", where, error, default=-1.0)
    if walltime != -1.0 and walltime <= 0.0:
        raise error(f"{where}: walltime must be above 0 (or -1: no limit), not {walltime:g}")
    submit = _number(description, "subtime", where, error)
    if submit < 0.0:
        raise error(f"{where}: subtime must not be negative, but is {submit:g}")
    profile = _find_profile(description.get("profile"), profiles, described, where, error)
    if profile.kind == "parallel" and len(profile.cpu) != size:
        raise error(f"{where}: profile {profile.name!r} is for {len(profile.cpu)} hosts, the job asks for {size}")
    profiles.users[profile.name] = profiles.users.get(profile.name, 0) + 1
    text = _text({**description, "id": f"{workload}!{number}"} if "id" in description else description, where, error)
    return Job(workload, number, profile, submit, size, walltime, text)


def make_profile(
    name: str,
    description: Any,
    profiles: Profiles,
    described: dict[str, Any],
    where: str,
    error: type[HDeepRMError],
    depth: int = 0,
) -> Profile:
    """Return one profile from its JSON."""
    where = f"{where}: profile {name[:60]!r}"
    if not isinstance(description, dict):
        raise error(f"{where}: a profile is an object")
    kind = description.get("type")
    if kind in LEFT_OUT:
        raise error(f"{where}: profiles of type {kind} are not imitated")
    if kind not in KINDS:
        raise error(f"{where}: type {str(kind)[:40]!r} is not known{did_you_mean(str(kind), KINDS)}")
    if depth > 50:
        raise error(f"{where}: profiles are nested too deeply, or hold themselves")
    ret = description.get("ret", 0)
    if not isinstance(ret, int) or isinstance(ret, bool) or abs(ret) >= 1 << 31:
        raise error(f"{where}: ret must be an integer, not {str(ret)[:40]}")
    profile = Profile(name, kind, _text(description, where, error), ret)
    if kind == "delay":
        profile.delay = _number(description, "delay", where, error)
        if profile.delay <= 0.0:
            raise error(f"{where}: delay must be above 0, but is {profile.delay:g}")
    elif kind in PTASKS:
        _read_amounts(profile, description, where, error)
    elif kind == "composed":
        _read_sequence(profile, description, profiles, described, where, error, depth)
    else:
        _read_messages(profile, description, where, error)
    return profile


def _find_profile(
    name: Any, profiles: Profiles, described: dict[str, Any], where: str, error: type[HDeepRMError], depth: int = 0
) -> Profile:
    if not isinstance(name, str):
        raise error(f"{where}: profile must be the name of a profile, not {str(name)[:40]!r}")
    if name not in profiles:
        if name not in described:
            raise error(f"{where}: no profile {name[:60]!r}{did_you_mean(name, {*described, *profiles})}")
        profiles[name] = make_profile(name, described[name], profiles, described, where, error, depth)
    return profiles[name]


def _read_amounts(profile: Profile, description: dict[str, Any], where: str, error: type[HDeepRMError]) -> None:
    if profile.kind != "parallel":
        profile.cpu = [_number(description, "cpu", where, error)]
        profile.com = [_number(description, "com", where, error)]
    else:
        for key in ("cpu", "com"):
            values = description.get(key)
            if not isinstance(values, list):
                raise error(f"{where}: {key} must be a list of numbers")
            setattr(profile, key, [_check(value, f"{where}: {key}[{i}]", error) for i, value in enumerate(values)])
        if len(profile.com) != len(profile.cpu) ** 2:
            raise error(f"{where}: com must have {len(profile.cpu) ** 2} entries, but has {len(profile.com)}")
    if any(amount < 0.0 for amount in (*profile.cpu, *profile.com)):
        raise error(f"{where}: amounts must not be negative")


def _read_sequence(
    profile: Profile,
    description: dict[str, Any],
    profiles: Profiles,
    described: dict[str, Any],
    where: str,
    error: type[HDeepRMError],
    depth: int,
) -> None:
    names = description.get("seq")
    if not isinstance(names, list) or not names:
        raise error(f"{where}: seq must be a list of profiles that is not empty")
    profile.sequence = [_find_profile(part, profiles, described, where, error, depth + 1) for part in names]
    repeat = description.get("repeat", description.get("nb", 1))
    if not isinstance(repeat, int) or isinstance(repeat, bool) or not 0 < repeat < 1 << 31:
        raise error(f"{where}: repeat must be an integer above 0, not {str(repeat)[:40]}")
    profile.repeat = repeat


def _read_messages(profile: Profile, description: dict[str, Any], where: str, error: type[HDeepRMError]) -> None:
    if profile.kind == "send":
        if not isinstance(description.get("msg"), dict):
            raise error(f"{where}: msg must be an object")
        profile.message = _text(description["msg"], where, error)
        profile.delay = _number(description, "sleeptime", where, error, default=1e-7)
    else:
        profile.delay = _number(description, "polltime", where, error, default=0.005)
        regex = description.get("regex", ".*")
        try:
            profile.pattern = re.compile(str(regex))
        except (re.error, RecursionError, OverflowError) as cause:
            raise error(f"{where}: regex {str(regex)[:60]!r} is not one: {cause}") from cause
        for key in ("success", "failure", "timeout"):
            setattr(profile, key, str(description.get(key, "")))
    if profile.delay <= 0.0:
        raise error(f"{where}: sleeptime and polltime must be above 0")


def _text(value: Any, where: str, error: type[HDeepRMError]) -> str:
    text = encode(value)
    try:
        text.encode()
    except UnicodeEncodeError as cause:
        raise error(f"{where}: holds half a surrogate pair, which is no text") from cause
    return text


def _number(
    description: dict[str, Any], key: str, where: str, error: type[HDeepRMError], default: float | None = None
) -> float:
    value = description.get(key, default)
    if value is None:
        raise error(f"{where}: {key} is missing")
    return _check(value, f"{where}: {key}", error)


def _check(value: Any, where: str, error: type[HDeepRMError]) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise error(f"{where} must be a number, not {str(value)[:40]!r}")
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if not isfinite(number) or abs(number) > 1e30:
        raise error(f"{where} is too large")
    return number
