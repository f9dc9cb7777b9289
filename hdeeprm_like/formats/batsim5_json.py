"""Conversion of workload JSON between Batsim 5 and Batsim 4: the same jobs and profiles under other names.

| Batsim 4 | Batsim 5 |
|---|---|
| ``delay``, ``parallel`` | ``DelayProfile``, ``ParallelTaskProfile`` |
| ``composed`` | ``SequentialCompositionProfile`` |
| ``parallel_homogeneous`` | ``ParallelTaskHomogeneousProfile`` |
| ``parallel_homogeneous_total`` | the same with a ``generation_strategy`` |
| our own keys, such as ``req_time`` or ``user`` | in the object ``extra_data``; Batsim 5 forwards nothing else |
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from hdeeprm_like.errors import HDeepRMError, WorkloadError
from hdeeprm_like.formats.batsim_numbers import json_text, read_number
from hdeeprm_like.formats.files import replacing
from hdeeprm_like.inputs import read_json

Content: TypeAlias = dict[str, Any]  # a JSON object

EACH, SPREAD = "DefinedAmountsUsedForEachValue", "DefinedAmountsSpreadUniformly"
HOMOGENEOUS = "ParallelTaskHomogeneousProfile"
TYPES = {
    "delay": "DelayProfile",
    "parallel": "ParallelTaskProfile",
    "parallel_homogeneous": HOMOGENEOUS,
    "parallel_homogeneous_total": HOMOGENEOUS,
    "composed": "SequentialCompositionProfile",
}
OLD_TYPES = {new: old for old, new in TYPES.items() if old != "parallel_homogeneous_total"}
IN_FILES = {  # key of a profile in messages: key in files
    "computation_amount": "cpu",
    "computation_vector": "cpu",
    "communication_amount": "com",
    "communication_matrix": "com",
    "repetition_count": "repeat",
    "profile_ids": "seq",
    "storage_name": "storage",
    "bytes_to_transfer": "nb_bytes",
    "emitter_storage_name": "from",
    "receiver_storage_name": "to",
}
OF_JOBS = ("id", "subtime", "res", "profile", "walltime", "extra_data")
OF_PROFILES = ("type", "delay", "cpu", "com", "seq", "repeat", "ret", "extra_data")


def write_batsim5(source: Path, target: Path, error: type[HDeepRMError]) -> None:
    """Convert a workload file from Batsim 4's JSON to Batsim 5's, with numbers that Batsim reads identically.

    Raises:
        WorkloadError: a profile is of a type that Batsim 5 does not have. ResultsError: the target cannot be written.
        error: the source cannot be read.
    """
    text = json_text(as_batsim5(read_json(source, error, read_number), str(source)))
    with replacing(target) as file:
        file.write(f"{text}\n")


def as_batsim5(content: Content, where: str) -> Content:
    """Return a workload of Batsim 4 as one of Batsim 5.

    Args:
        where: origin of the content, for messages.

    Raises:
        WorkloadError: a profile is of a type that Batsim 5 does not have.
    """
    profiles = {name: _profile_as_batsim5(one, f"{where}: {name[:60]!r}") for name, one in content["profiles"].items()}
    return {**content, "jobs": [_with_extra(job, OF_JOBS) for job in content["jobs"]], "profiles": profiles}


def _profile_as_batsim5(profile: Content, where: str) -> Content:
    kind = profile.get("type")
    if kind not in TYPES:
        raise WorkloadError(f"{where}: Batsim 5 has no profiles of type {str(kind)[:40]!r}")
    converted = {**_with_extra(profile, OF_PROFILES), "type": TYPES[kind]}
    if kind == "parallel_homogeneous_total":
        if profile.get("com"):
            raise WorkloadError(f"{where}: the two versions share out com otherwise, so it cannot be converted")
        converted["generation_strategy"] = SPREAD
    return converted


def _with_extra(content: Content, known: tuple[str, ...]) -> Content:
    """Return an object with its unknown keys moved into ``extra_data``."""
    extra = {key: value for key, value in content.items() if key not in known}
    kept = {key: value for key, value in content.items() if key in known}
    return kept | ({"extra_data": extra_data(content) | extra} if extra else {})


def as_batsim4(content: Content) -> Content:
    """Return a workload of Batsim 5 as one of Batsim 4; one of Batsim 4 is returned unchanged."""
    jobs, profiles = content.get("jobs"), content.get("profiles")
    if not isinstance(jobs, list) or not isinstance(profiles, dict):
        return content
    if not any(isinstance(one, dict) and _is_new(one.get("type")) for one in profiles.values()):
        return content
    jobs = [{**extra_data(job), **job} if isinstance(job, dict) else job for job in jobs]
    return {**content, "jobs": jobs, "profiles": {name: profile_as_batsim4(one) for name, one in profiles.items()}}


def profile_as_batsim4(profile: Any) -> Any:
    """Return a profile of Batsim 5 as one of Batsim 4; anything else is returned unchanged."""
    if not isinstance(profile, dict) or not _is_new(profile.get("type")):
        return profile
    spread = profile["type"] == HOMOGENEOUS and profile.get("generation_strategy", EACH) == SPREAD
    kind = "parallel_homogeneous_total" if spread else OLD_TYPES[profile["type"]]
    return {**extra_data(profile), **profile, "type": kind}


def profile_of_message(message: Mapping[str, Any]) -> Content:
    """Return a profile of a message (``profile_type``, ``profile``, ``extra_data``) in the form of files."""
    content = message.get("profile")
    described: Content = {"type": message.get("profile_type")}
    if isinstance(content, Mapping):
        described |= {IN_FILES.get(str(key), str(key)): value for key, value in content.items()}
    if message.get("extra_data") is not None:
        described["extra_data"] = message["extra_data"]
    return described


def extra_data(content: Mapping[str, Any]) -> Content:
    """Return the keys of a job or profile unknown to Batsim: an object, or its JSON text; {} if there are none."""
    extra = content.get("extra_data")
    if isinstance(extra, str):
        try:
            extra = json.loads(extra)
        except (ValueError, RecursionError):
            return {}
    return dict(extra) if isinstance(extra, dict) else {}


def _is_new(kind: object) -> bool:
    return isinstance(kind, str) and kind in OLD_TYPES
