"""Conversion of files between formats: platforms to platforms, jobs to jobs, without random draws.

The ending of a file's name, and if needed its first lines, determine its content.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.partitions import NO_DEMAND
from hdeeprm_like.cluster.workload import Workload, without_larger
from hdeeprm_like.errors import OptionsError, WorkloadError
from hdeeprm_like.formats.batsim5_json import write_batsim5
from hdeeprm_like.formats.files import check_not_read
from hdeeprm_like.formats.job_reading import Reading, larger_of
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
from hdeeprm_like.formats.swf_cuts import size_of, trace_of_workload
from hdeeprm_like.formats.swf_header import cores_of
from hdeeprm_like.formats.trace_jobs import convert
from hdeeprm_like.inputs import read_document, read_json


def convert_file(
    source: Path,
    target: Path,
    *,
    flops: float,
    cores: int | None = None,
    batsim: int = 4,
    leave_out_larger: bool = False,
) -> str:
    """Convert one file into another, in the format of the target's name; return a description of the result.

    Args:
        flops: flop/s of the cores on which jobs take the run times of a trace.
        cores: of the machine; None for those in the source, else those of the widest job.
        batsim: version of the profile names of a workload, 4 or 5.
        leave_out_larger: whether jobs larger than the machine are left out; otherwise they are an error.

    Raises:
        OptionsError: the target's format cannot hold the source's content, or the target is the source.
        HDeepRMError: a file cannot be read or written.
    """
    check_not_read("", target, source)
    holds = content_of(source)
    if holds == "platform":
        check_writable(target, "platform", able="write")
        platform = load_platform(source)
        write(platform, target, "platform")
        return f"{platform.cores} cores"
    check_writable(target, "workload", "trace", able="write")
    if has_ending_of(target, "trace"):
        if holds == "trace" and (cores is not None or leave_out_larger):
            raise OptionsError(
                f"{target}: a trace that stays one keeps its machine and all jobs, so --cores and --leave-out-larger "
                "mean nothing; hdeeprm-like cut --larger-than leaves jobs out"
            )
        jobs = None if holds == "trace" else _complete(source, flops, cores, leave_out_larger)
        trace, left_out = (load_trace(source), "") if jobs is None else _trace_of(jobs, source, flops)
        write(trace, target, "trace")
        return f"{len(trace)} jobs{left_out}"
    if holds == "trace":
        workload, left_out = _workload_of(load_trace(source), flops, cores, leave_out_larger)
    else:
        workload = _complete(source, flops, cores, leave_out_larger)
        left_out = left_out_of(workload)
    write(workload, target, "workload")
    if batsim == 5:
        write_batsim5(target, target, WorkloadError)
    return f"{len(workload)} jobs{left_out}"


def content_of(path: Path) -> Holds:
    """Return whether a file holds a platform, a workload or a trace.

    Raises:
        OptionsError: neither name nor content decides.
    """
    endings: tuple[Holds, ...] = ("platform", "workload", "trace")
    fitting = [holds for holds in endings if has_ending_of(path, holds)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        raise OptionsError(f"{path}: the ending of its name is that of no format")
    if ".csv" in path.name:
        return "platform" if read_document(path, OptionsError).lstrip().startswith("MachineName") else "workload"
    content = read_json(path, OptionsError)
    keys = content if isinstance(content, dict) else {}
    if "clusters" in keys:
        return "platform"
    if "jobs" in keys:
        return "workload"
    raise OptionsError(f"{path}: holds neither a platform ('clusters') nor a workload ('jobs')")


def _trace_of(workload: Workload, source: Path, flops: float) -> tuple[Trace, str]:
    """Return the jobs of a workload as a trace, and a description of requests that a trace cannot hold."""
    lost = ["bandwidths"] if workload.bandwidth.any() else []
    lost += ["GPUs"] if workload.gpus.any() else []
    demands = [] if workload.demands is None else list(workload.demands.each())
    in_trace = {"partition", "account"}
    lost += [
        "cores of a task" if name == "task" else name.replace("_", " ")
        for name, nothing in NO_DEMAND._asdict().items()
        if name not in in_trace and any(getattr(one, name) != nothing for one in demands)
    ]
    words = left_out_of(workload)
    words += f" (left out, for a trace does not hold it: {', '.join(lost)})" if lost else ""
    return trace_of_workload(workload, flops, source.name), words


def _complete(source: Path, flops: float, cores: int | None, leave_out_larger: bool) -> Workload:
    """Return the jobs of a workload.

    Raises:
        OptionsError: some send messages or have profiles that no other format holds.
        WorkloadError: one is larger than the machine of *cores* cores, and such jobs are not left out.
    """
    workload = load_workload(source, reference_flops=flops, capacity=cores, network=True)
    if not workload.is_known:
        job = workload.ids[int(np.argmax(np.isnan(workload.bytes)))].partition("!")[2]
        raise OptionsError(f"{source}: job {job} has a profile of a kind that no other format holds")
    if leave_out_larger:
        return without_larger(workload, workload.capacity)
    largest = int(np.argmax(workload.size))
    if cores is not None and workload.size[largest] > cores:
        job, size = workload.ids[largest].partition("!")[2], workload.size[largest]
        raise WorkloadError(
            f"{source}: job {job} requests {size:,} cores, --cores says {cores:,}; --leave-out-larger leaves it out"
        )
    return workload


def _workload_of(trace: Trace, flops: float, cores: int | None, leave_out_larger: bool) -> tuple[Workload, str]:
    """Return the jobs of a trace that ran, with its run times, and a description of the jobs left out.

    A trace has no memory bandwidth, so the jobs request none, and no memory if the trace has no memory either.
    """
    known = cores_of(trace.header)
    capacity = cores or (known.number if known else max(int(size_of(trace).max()), 1))
    workload = convert(
        trace,
        Reading(cores, larger_of(leave_out_larger)),
        reference_flops=flops,
        capacity=capacity,
        rng=np.random.default_rng(0),  # its draws are not used
        runtimes="trace",
    )
    account = workload.account
    assert account is not None
    if not cores and not known:
        account.add("guessed", f"the machine has {capacity} cores, those of the widest job; give --cores")
    account.say()
    return without_bandwidth(workload), left_out_of(workload)


def left_out_of(workload: Workload) -> str:
    """Return which jobs were left out, in brackets; empty if none was."""
    why = "" if workload.account is None else workload.account.why()
    return f" (left out: {why})" if why else ""


def without_bandwidth(workload: Workload) -> Workload:
    """Return jobs without requested memory bandwidth, with profile names that do not mention any."""
    return replace(
        workload,
        bandwidth=np.zeros(len(workload)),
        profiles=tuple(_name(*name.split("_")) for name in workload.profiles),
    )


def _name(time: str, memory: str, _: str, run: str) -> str:
    return f"{time}_{memory}_{run}"
