"""A file in one format made into a file in another: platforms into platforms, jobs into jobs, and nothing is drawn.

What a file holds is told by the ending of its name and, where that leaves it open, by its first lines.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.partitions import NO_DEMAND
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.errors import OptionsError, WorkloadError
from hdeeprm_like.formats.batsim5_json import write_batsim5
from hdeeprm_like.formats.open import (
    Holds,
    check_writable,
    has_ending_of,
    load_platform,
    load_trace,
    load_workload,
    write,
)
from hdeeprm_like.formats.swf import Trace
from hdeeprm_like.formats.swf_cuts import trace_of_workload
from hdeeprm_like.formats.trace_jobs import convert
from hdeeprm_like.inputs import read_document, read_json

HEADER = "MaxProcs"  # of a trace: the processors of its machine


def convert_file(source: Path, target: Path, *, flops: float, cores: int | None = None, batsim: int = 4) -> str:
    """Write what is in one file into another, in the format that its name tells; return what was written, in words.

    Args:
        flops: flop/s of the cores on which jobs run as long as a trace says.
        cores: of the machine; None takes what the source says, else those of the widest job.
        batsim: whose names for profiles a workload gets, 4 or 5.

    Raises:
        OptionsError: the target cannot hold what is in the source.
        HDeepRMError: a file cannot be read or written.
    """
    holds = content_of(source)
    if holds == "platform":
        check_writable(target, "platform", able="write")
        platform = load_platform(source)
        write(platform, target, "platform")
        return f"{platform.cores} cores"
    check_writable(target, "workload", "trace", able="write")
    if has_ending_of(target, "trace"):
        trace, left_out = (load_trace(source), "") if holds == "trace" else _trace_of(source, flops, cores)
        write(trace, target, "trace")
        return f"{len(trace)} jobs{left_out}"
    if holds == "trace":
        workload, left_out = _workload_of(load_trace(source), flops, cores)
    else:
        workload, left_out = load_workload(source, reference_flops=flops, capacity=cores), ""
    write(workload, target, "workload")
    if batsim == 5:
        write_batsim5(target, target, WorkloadError)
    return f"{len(workload)} jobs{left_out}"


def content_of(path: Path) -> Holds:
    """Return whether a file holds a platform, a workload or a trace.

    Raises:
        OptionsError: nothing tells.
    """
    endings: tuple[Holds, ...] = ("platform", "workload", "trace")
    fitting = [holds for holds in endings if has_ending_of(path, holds)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        raise OptionsError(f"{path}: the ending of its name tells no format")
    if ".csv" in path.name:
        return "platform" if read_document(path, OptionsError).lstrip().startswith("MachineName") else "workload"
    content = read_json(path, OptionsError)
    keys = content if isinstance(content, dict) else {}
    if "clusters" in keys:
        return "platform"
    if "jobs" in keys:
        return "workload"
    raise OptionsError(f"{path}: holds neither a platform ('clusters') nor a workload ('jobs')")


def _trace_of(source: Path, flops: float, cores: int | None) -> tuple[Trace, str]:
    """Return the jobs of a workload as a trace, and what they request that a trace does not hold, in words."""
    workload = load_workload(source, reference_flops=flops, capacity=cores)
    lost = ["bandwidths"] if workload.bandwidth.any() else []
    lost += ["GPUs"] if workload.gpus.any() else []
    asked = [] if workload.demands is None else list(workload.demands.each())
    in_trace = {"partition", "account"}
    lost += [
        "cores of a task" if name == "task" else name.replace("_", " ")
        for name, nothing in NO_DEMAND._asdict().items()
        if name not in in_trace and any(getattr(one, name) != nothing for one in asked)
    ]
    words = f" (left out, for a trace does not hold it: {', '.join(lost)})" if lost else ""
    return trace_of_workload(workload, flops, source.name), words


def _workload_of(trace: Trace, flops: float, cores: int | None) -> tuple[Workload, str]:
    """Return the jobs of a trace that ran, with its run times, and which others were left out, in words.

    A trace knows no memory bandwidth, so the jobs request none, and for no memory where it does not know that either.
    """
    capacity = cores or _processors(trace)
    nothing = np.random.default_rng(0)  # what is drawn with it is not used
    workload, skipped = convert(
        trace, reference_flops=flops, capacity=capacity, rng=nothing, missing_memory=0.0, runtimes="trace"
    )
    why = ", ".join(f"{count} with {reason}" for reason, count in skipped.items())
    return without_bandwidth(workload), f" (left out: {why})" if why else ""


def without_bandwidth(workload: Workload) -> Workload:
    """Return jobs that request no memory bandwidth, under names that do not tell of any."""
    return replace(
        workload,
        bandwidth=np.zeros(len(workload)),
        profiles=tuple(_name(*name.split("_")) for name in workload.profiles),
    )


def _name(time: str, memory: str, _: str, run: str) -> str:
    return f"{time}_{memory}_{run}"


def _processors(trace: Trace) -> int:
    """Return the processors that the header tells, else those of the widest job."""
    for line in trace.header:
        name, _, value = line.partition(":")
        words = value.split()
        if name.strip() == HEADER and words and words[0].isdigit() and int(words[0]) > 0:
            return int(words[0])
    return max(int(np.maximum(trace.processors, trace.requested_processors).max()), 1)
