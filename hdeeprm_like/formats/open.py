"""Platforms, workloads and traces from files; the ending of a file's name decides its format.

`FORMATS` is the single table of input formats. To add one, write a module with its reader and add an entry here;
options files, all commands, the environments and the messages about wrong names use it. Readers and writers are named
as ``module:function`` and imported when a file is opened, so that importing the table is cheap.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from hdeeprm_like.errors import HDeepRMError, OptionsError, PlatformError
from hdeeprm_like.plugins import function_at

if TYPE_CHECKING:
    from hdeeprm_like.cluster.platform import Platform
    from hdeeprm_like.cluster.synthetic.jobs import Jobs
    from hdeeprm_like.cluster.workload import Workload
    from hdeeprm_like.formats.swf import Trace

Holds: TypeAlias = Literal["platform", "workload", "trace"]
Able: TypeAlias = Literal["read", "write", "write_jobs"]


@dataclass(frozen=True)
class Format:
    """A format of input files.

    Attributes:
        name: for messages.
        holds: ``"platform"``; ``"workload"``: jobs that are simulated as they are in the file; ``"trace"``: jobs of a
        real machine, which are converted into a workload first.
        endings: of file names, including ``.gz`` ones.
        read: ``module:function``. A platform's takes the path, and the files with further types if *extended_by_types*.
            A workload's takes the path, and by name ``reference_flops`` (flop/s of the platform's mean core) and
            ``capacity`` (its cores; None for the file's). A trace's takes the arguments of `load_trace`.
        write: the same for a writer of what *read* returns; it takes that and the path. Empty if there is none.
        write_jobs: the same for the `Jobs` of a model in a format that has no *write*.
        extended_by_types: whether files of types can extend a platform.
        tells_messages: whether the jobs of a workload can be of all kinds of Batsim, and send messages; *read* then has
        a parameter ``network``, whether this is allowed.
    """

    name: str
    holds: Holds
    endings: tuple[str, ...]
    read: str
    write: str = ""
    write_jobs: str = ""
    extended_by_types: bool = False
    tells_messages: bool = False

    def can(self, able: Able) -> bool:
        """Return whether files can be read, or written with what they hold or with the jobs of a model."""
        return bool(self.read if able == "read" else self.write or (able == "write_jobs" and self.write_jobs))


HERE = "hdeeprm_like.formats"
# In the order of messages. Names ending in .gz are packed files, handled by `files` and `swf`.
FORMATS: tuple[Format, ...] = (
    Format(
        "JSON",
        "platform",
        (".json", ".json.gz"),
        f"{HERE}.platform_json:read_platform",
        f"{HERE}.platform_json_writer:write_platform_json",
        extended_by_types=True,
    ),
    Format(
        "XML",
        "platform",
        (".xml", ".xml.gz"),
        f"{HERE}.platform_hosts:read_platform_xml",
        f"{HERE}.platform_xml:write_platform_xml",
    ),
    Format("KSU's CSV of machines", "platform", (".csv", ".csv.gz"), f"{HERE}.machines_csv:read_machines_csv"),
    Format(
        "Batsim's JSON",
        "workload",
        (".json", ".json.gz"),
        f"{HERE}.workload_json:read_workload",
        f"{HERE}.workload_json_writer:write_workload",
        tells_messages=True,
    ),
    Format("SWF", "trace", (".swf", ".swf.gz"), f"{HERE}.swf:read_swf", f"{HERE}.swf:write_swf"),
    Format(
        "KSU's CSV of jobs",
        "workload",
        (".csv", ".csv.gz"),
        f"{HERE}.jobs_csv:read_jobs_csv",
        write_jobs=f"{HERE}.jobs_csv:write_jobs_csv",
    ),
)
"""The formats; the first of each kind is the default for names with other endings."""


def endings(*holds: Holds, able: Able = "read") -> tuple[str, ...]:
    """Return the endings of the formats with one of these contents that can be read, or written, in table order."""
    return tuple(ending for form in FORMATS if form.holds in holds and form.can(able) for ending in form.endings)


def names(*holds: Holds) -> str:
    """Return the names of the formats of one kind for help texts: ``"JSON, XML or KSU's CSV of machines"``."""
    *others, last = (form.name for form in FORMATS if form.holds in holds)
    return f"{', '.join(others)} or {last}" if others else last


def has_ending_of(path: Path, holds: Holds) -> bool:
    """Return whether a file's name has an ending of platforms, workloads or traces."""
    return path.name.endswith(endings(holds))


def format_of(path: Path, holds: Holds) -> Format:
    """Return the format of a file that holds a platform, a workload or a trace."""
    fitting = [form for form in FORMATS if form.holds == holds]
    return next((form for form in fitting if path.name.endswith(form.endings)), fitting[0])


def load_platform(path: Path, types: Sequence[Path] = ()) -> "Platform":
    """Read a platform.

    Args:
        types: files or folders with further types of nodes and processors, if the format refers to types.

    Raises:
        PlatformError: the file is invalid, or its format does not use *types*.
    """
    form = format_of(path, "platform")
    if types and not form.extended_by_types:
        extended = " or ".join(other.name for other in FORMATS if other.extended_by_types)
        raise PlatformError(f"{path}: {form.name} holds all figures itself; types extend a platform in {extended}")
    platform: Platform = _read(form, path, types) if form.extended_by_types else _read(form, path)
    return platform


POOL_FLOPS = 1e9  # flop/s of a core of a pool


def load_workload(
    path: Path, *, reference_flops: float = POOL_FLOPS, capacity: int | None = None, network: bool = False
) -> "Workload":
    """Read a workload whose jobs are simulated as they are in the file.

    Args:
        reference_flops: flop/s of the platform's mean core, for jobs with times in seconds; by default a pool's.
        capacity: cores of the platform; None for the number in the file, else for that of its widest job.
        network: whether the jobs will run with networks and all kinds of profiles.

    Raises:
        WorkloadError: the file is invalid.
    """
    form = format_of(path, "workload")
    more = {"network": True} if network and form.tells_messages else {}
    workload: Workload = _read(form, path, reference_flops=reference_flops, capacity=capacity, **more)
    if workload.account is not None:
        return workload
    from hdeeprm_like.cluster.account import Account

    return replace(workload, account=Account(str(path), len(workload)))


def load_trace(path: Path, enough: "Callable[[Trace], bool] | None" = None) -> "Trace":
    """Read a trace of a real machine.

    Args:
        enough: says of the jobs read so far whether the caller needs no others, which are then not read; None for all.

    Raises:
        WorkloadError: the file is invalid.
    """
    trace: Trace = _read(format_of(path, "trace"), path, enough)
    return trace


def write(content: object, path: Path, holds: Holds) -> None:
    """Write a `Platform`, a `Workload` or a `Trace` in the format of the file's name.

    Raises:
        OptionsError: the name has no ending of a writable format.
        HDeepRMError: the file cannot be written, or the format cannot hold the content.
    """
    function_at(_writable(path, (holds,), "write").write)(content, path)


def write_jobs(jobs: "Jobs", path: Path, reference_flops: float) -> None:
    """Write the jobs of a model in the format of the file's name.

    Args:
        reference_flops: flop/s of the cores on which the jobs take the model's run times.

    Raises:
        OptionsError: the name has no ending of a writable format.
        ResultsError: the file cannot be written.
    """
    form, content = _writable(path, ("workload", "trace"), "write_jobs"), cast(Any, jobs)
    if form.holds == "trace":
        from hdeeprm_like.formats.swf_cuts import trace_of_jobs

        content = trace_of_jobs(jobs)
    elif form.write:
        content = jobs.workload(reference_flops)
    function_at(form.write or form.write_jobs)(content, path)


def check_writable(path: Path, *holds: Holds, able: Able, what: str = "") -> None:
    """Raise an `OptionsError` if a name has no ending of a writable format.

    Args:
        what: flag that named the file, for the message: ``"--output"``.
    """
    if not path.name.endswith(endings(*holds, able=able)):
        *others, last = endings(*holds, able=able)
        where = f"{what}: {path.name}" if what else path
        raise OptionsError(f"{where}: a name that ends in {', '.join(others)} or {last} is needed")


def _writable(path: Path, holds: Sequence[Holds], able: Able) -> Format:
    check_writable(path, *holds, able=able)
    return next(form for form in FORMATS if form.holds in holds and form.can(able) and path.name.endswith(form.endings))


def _read(form: Format, path: Path, *arguments: object, **options: object) -> Any:
    try:
        return function_at(form.read)(path, *arguments, **options)
    except HDeepRMError as error:
        if path.name.endswith(form.endings) or not os.path.isfile(path):
            raise
        known = ", ".join(endings(form.holds))
        reason = f"it was read as {form.name} because its name ends in none of {known}"
        raise type(error)(f"{error} ({reason})") from None
