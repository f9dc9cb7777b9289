"""The jobs and profiles of Batsim 5, from workload files and from messages; profile names include their workload."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from hdeeprm_like.batsim_server.batsim5.profile_types import AS_JSON, NOT_IMITATED, PROFILE_TYPES
from hdeeprm_like.batsim_server.jobs import Job, Profile, Profiles, ProfileType
from hdeeprm_like.batsim_server.json_text import encode5
from hdeeprm_like.batsim_server.replies import SchedulerEvent
from hdeeprm_like.batsim_server.workload import WorkloadReader
from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.formats.batsim5_json import profile_of_message


class WorkloadReader5(WorkloadReader):
    """Reads the jobs of one workload, and each profile when the first job needs it.

    Attributes:
        others: the profiles of all workloads, which jobs registered by the scheduler may use.
    """

    others: Mapping[str, Profiles] = MappingProxyType({})
    types: ClassVar[Mapping[str, ProfileType[Any]]] = PROFILE_TYPES
    not_imitated: ClassVar[tuple[str, ...]] = NOT_IMITATED

    def job(self, description: Any, where: str, number: str | None = None) -> Job:
        """Return one job from its JSON; its text is its form in messages."""
        job = super().job(description, where, number)
        content = {
            "resource_request": job.size,
            "walltime": job.walltime if job.walltime > 0.0 else None,
            "extra_data": self._extra_data(description, f"{where} (id {job.number[:40]})"),
            "rigid": True,
            "profile_id": job.profile.name,
        }
        job.text = encode5(content)
        return job

    def profile(self, name: str, description: Any, where: str, depth: int = 0, unused: bool = False) -> Profile:
        """Return one profile from its JSON; its text is its form in messages."""
        profile = super().profile(name, description, where, depth, unused)
        kind = description["type"]
        content = {"id": name, "profile_type": kind, "profile": AS_JSON[kind](profile.parameters)}
        if extra := self._extra_data(description, f"{where}: profile {name[:60]!r}"):
            content["extra_data"] = extra
        profile.text = encode5(content)
        return profile

    def check_unused(self, where: str) -> None:
        """Raise for invalid profiles without jobs, except those of types that only we do not support."""
        for name, description in self.described.items():
            if name in self.profiles:
                continue
            self.profiles.unused = self.profiles.unused or name
            if not isinstance(description, dict) or description.get("type") not in self.not_imitated:
                self.profile(name, description, where, unused=True)

    def find(self, name: Any, where: str, depth: int) -> Profile:
        """Return a profile by its name, with or without its workload's; parse it if necessary."""
        if isinstance(name, str):
            name = name if "!" in name else f"{self.profiles.workload}!{name}"
            known = self.others.get(name.partition("!")[0])
            if known and name in known and name not in self.profiles:
                self.profiles[name] = known[name]
        return super().find(name, where, depth)

    def _extra_data(self, description: Mapping[str, Any], where: str) -> str:
        """Return the text that users may add to jobs and profiles; objects and lists are written as JSON."""
        extra = description.get("extra_data", "")
        if isinstance(extra, dict | list):
            return json.dumps(extra, separators=(",", ":"), ensure_ascii=False)
        if not isinstance(extra, str):
            raise self.error(f"{where}: extra_data must be a text, an object or a list")
        return extra


def job_from_message(event: SchedulerEvent, reader: WorkloadReader5, number: str, now: float) -> Job:
    """Return the job of a RegisterJobEvent, submitted *now*."""
    content = event.object("job")
    described = {
        "subtime": now,
        "res": content.get("resource_request"),
        "profile": content.get("profile_id"),
        **{key: content[key] for key in ("walltime", "extra_data") if content.get(key) is not None},
    }
    return reader.job(described, event.where, number)


def profile_from_message(event: SchedulerEvent, reader: WorkloadReader5) -> Profile:
    """Return the profile of a RegisterProfileEvent."""
    content = event.object("profile")
    name = content.get("id")
    if not isinstance(name, str) or not isinstance(content.get("profile"), dict):
        raise ProtocolError(f"{event.where}: profile must have an id, a profile_type and a profile")
    described = profile_of_message(content)
    if described["type"] == "ParallelTaskProfile":  # either part is optional
        flops, sent = described.get("cpu"), described.get("com")
        if isinstance(flops, list) and sent is None:
            described["com"] = [0.0] * len(flops) ** 2
        elif isinstance(sent, list) and flops is None:
            described["cpu"] = [0.0] * round(len(sent) ** 0.5)
    return reader.profile(name, described, event.where)
