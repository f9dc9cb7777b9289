"""Reader of Batsim's workloads: jobs and profiles from their JSON."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from hdeeprm_like.batsim_server.fields import Fields
from hdeeprm_like.batsim_server.jobs import Job, Profile, Profiles, ProfileType
from hdeeprm_like.batsim_server.profile_types import PROFILE_TYPES
from hdeeprm_like.errors import HDeepRMError, WorkloadError, did_you_mean
from hdeeprm_like.formats.batsim_numbers import read_number
from hdeeprm_like.inputs import read_json
from hdeeprm_like.records import Record
from hdeeprm_like.values import COUNT, INT_MOST, Whole, wrong

DEEPEST_NESTING = 50  # depth of profiles inside profiles
RETURNED = Whole(-INT_MOST, INT_MOST)
UNUSED = Profile("", PROFILE_TYPES["delay"], 1.0, "")  # in place of the parts of a profile without a job


class WorkloadReader(Record):
    """Reads the jobs of one workload, and each profile when the first job needs it.

    Attributes:
        profiles: those parsed so far.
        described: the JSON of the others by name.
        error: class of the errors to raise.
        folder: of the file; None for jobs registered by the scheduler.
        types, not_imitated: supported and unsupported types of profiles.
    """

    types: ClassVar[Mapping[str, ProfileType[Any]]] = PROFILE_TYPES
    not_imitated: ClassVar[tuple[str, ...]] = ()

    profiles: Profiles
    described: dict[str, Any]
    error: type[HDeepRMError]
    folder: Path | None = None

    def job(self, description: Any, where: str, number: str | None = None) -> Job:
        """Return one job from its JSON; *number* is its name in the workload, None to use ``id``."""
        workload = self.profiles.workload
        if not isinstance(description, dict):
            raise self.error(f"{where}: a job is an object")
        if number is None:
            identity = description.get("id")
            if isinstance(identity, bool) or not isinstance(identity, int | str):
                raise wrong(identity, "a whole number or a text", self.error, where, "id")
            number = str(identity).removeprefix(f"{workload}!")
        odd = not number.isalnum() and ("!" in number or '"' in number or any(ord(c) < 32 for c in number))
        if odd or not number:
            raise self.error(f"{where}: id {number[:40]!r} is not a job's name")
        fields = Fields(description, f"{where} (id {number[:40]})", self.error)
        size = COUNT.of(description.get("res"), self.error, fields.where, "res")
        walltime = fields.number("walltime", default=-1.0)
        if walltime != -1.0 and walltime <= 0.0:
            raise fields.refusal(f"walltime must be above 0 (or -1: no limit), not {walltime:g}")
        submit = fields.amount("subtime")
        profile = self.find(description.get("profile"), fields.where, 0)
        if profile.hosts not in (None, size):
            raise fields.refusal(f"profile {profile.name!r} is for {profile.hosts} hosts, the job requests {size}")
        named = {**description, "id": f"{workload}!{number}"} if "id" in description else description
        return Job(workload, number, profile, submit, size, walltime, fields.encoded(named))

    def profile(self, name: str, description: Any, where: str, depth: int = 0, unused: bool = False) -> Profile:
        """Return one profile from its JSON.

        Args:
            depth: number of profiles that contain it.
            unused: leave the profiles that it consists of unread.
        """
        where = f"{where}: profile {name[:60]!r}"
        if not isinstance(description, dict):
            raise self.error(f"{where}: a profile is an object")
        fields = Fields(description, where, self.error, self.folder)
        kind = description.get("type")
        if isinstance(kind, str) and kind in self.not_imitated:
            raise fields.refusal(f"profiles of type {kind} are not imitated; known: {', '.join(sorted(self.types))}")
        if not isinstance(kind, str) or kind not in self.types:
            hint = did_you_mean(str(kind), self.types) or f"; known: {', '.join(sorted(self.types))}"
            raise fields.refusal(f"type {str(kind)[:40]!r} is not known{hint}")
        if depth > DEEPEST_NESTING:
            raise fields.refusal("profiles are nested too deeply, or hold themselves")
        ret = RETURNED.of(description.get("ret", 0), self.error, where, "ret")
        text = fields.encoded(description)
        find = (lambda _: UNUSED) if unused else (lambda part: self.find(part, where, depth + 1))
        return Profile(name, self.types[kind], self.types[kind].read(fields, find), text, ret)

    def check_unused(self, where: str) -> None:
        """Raise for invalid profiles without jobs, as Batsim does; their parts may be missing."""
        for name in self.described.keys() - self.profiles.keys():
            self.profile(name, self.described[name], where, unused=True)

    def find(self, name: Any, where: str, depth: int) -> Profile:
        """Return a profile by its name, parsed now if necessary."""
        if not isinstance(name, str):
            raise wrong(name, "the name of a profile", self.error, where, "profile")
        if name not in self.profiles:
            if name not in self.described:
                near = did_you_mean(name, {*self.described, *self.profiles})
                hint = " any more: a job with it is over" if name in self.profiles.gone else near
                raise self.error(f"{where}: no profile {name[:60]!r}{hint}")
            self.profiles[name] = self.profile(name, self.described[name], where, depth)
        return self.profiles[name]


def read_workload(
    path: Path, name: str, make_reader: Callable[..., WorkloadReader] = WorkloadReader, prefix: str = ""
) -> tuple[int, dict[str, Job], Profiles]:
    """Return the number of machines of a Batsim workload, its jobs, and the profiles that they use.

    Args:
        make_reader: takes the arguments of a `WorkloadReader`.
        prefix: comes before the names of profiles.

    Raises:
        WorkloadError: the file is no supported workload; the message says where.
    """
    content = read_json(path, WorkloadError, read_number)
    where = str(path)
    if not isinstance(content, dict):
        raise WorkloadError(f"{where}: a workload is an object with nb_res, jobs and profiles")
    machines = COUNT.of(content.get("nb_res"), WorkloadError, where, "nb_res")
    described = Fields(content, where, WorkloadError).object("profiles")
    listed = content.get("jobs")
    if not isinstance(listed, list):
        raise WorkloadError(f"{where}: jobs must be a list")
    profiles = Profiles(name)
    named = {f"{prefix}{profile}": description for profile, description in described.items()}
    reader = make_reader(profiles, named, WorkloadError, path.parent)
    jobs: dict[str, Job] = {}
    for index, description in enumerate(listed):
        job = reader.job(description, f"{where}: jobs[{index}]")
        if job.number in jobs:
            raise WorkloadError(f"{where}: jobs[{index}]: a job {job.number!r} exists already")
        jobs[job.number] = job
    reader.check_unused(where)
    profiles.gone = named.keys() - profiles.keys()
    return machines, jobs, profiles
