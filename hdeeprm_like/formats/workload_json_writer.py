"""Workloads as Batsim's JSON: one job, and one profile, per line."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

from hdeeprm_like.cluster.partitions import Demand
from hdeeprm_like.cluster.synthetic.jobs import Jobs
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.batsim_numbers import write_number
from hdeeprm_like.formats.demands_json import keys_of
from hdeeprm_like.formats.files import replacing

EXACT = 2**53  # whole numbers up to here are the same as int and as float


def write_jobs_json(jobs: Jobs, path: Path, reference_flops: float) -> None:
    """Write the jobs of a model as a Batsim workload.

    Args:
        reference_flops: flop/s of the cores on which the jobs last as long as the model says.

    Raises:
        ResultsError: the file cannot be written.
    """
    write_workload(jobs.workload(reference_flops), path)


def write_workload(workload: Workload, path: Path) -> None:
    """Write a Batsim workload that reads back as the same columns; one job, and one profile, per line.

    Jobs with the same profile name and the same numbers share a profile; where one name stands for several, all but the
    first get a number behind it. Numbers are written as integers where that loses nothing.

    Raises:
        WorkloadError: the jobs come from several files, which one file cannot hold.
        ResultsError: the file cannot be written.
    """
    names = sorted({identifier.partition("!")[0] for identifier in workload.ids})
    if len(names) != 1:
        raise WorkloadError(f"{path}: cannot hold the jobs of several workloads ({', '.join(names)})")
    profiles: dict[str, str] = {}  # name -> content
    lines = list(_job_lines(workload, profiles))
    with replacing(path) as file:
        file.write(f'{{"nb_res": {workload.capacity}, "jobs": [\n')
        file.write(",\n".join(lines))
        file.write('\n], "profiles": {\n')
        file.write(",\n".join(f"{json.dumps(name)}: {content}" for name, content in profiles.items()))
        file.write("\n}}\n")


def _job_lines(workload: Workload, profiles: dict[str, str]) -> Iterator[str]:
    """Yield each job as JSON and collect the profiles on the way."""
    named: dict[tuple[str, str], str] = {}  # (name, content) -> the name it is written under
    columns = zip(
        workload.ids,
        workload.profiles,
        workload.submit.tolist(),
        workload.size.tolist(),
        workload.walltime.tolist(),
        workload.requested_time.tolist(),
        workload.requested_ops.tolist(),
        workload.ops.tolist(),
        workload.delay.tolist(),
        workload.memory.tolist(),
        workload.bandwidth.tolist(),
        workload.gpus_of_job.tolist(),
        workload.user.tolist(),
        [""] * len(workload) if workload.demands is None else map(_demand, workload.demands.each()),
        strict=True,
    )
    for (
        identifier,
        wanted,
        submit,
        size,
        walltime,
        time,
        requested_ops,
        ops,
        delay,
        memory,
        bandwidth,
        gpus,
        user,
        demand,
    ) in columns:
        kind = (
            f'"type": "delay", "delay": {_exact(delay)}'
            if delay >= 0
            else f'"type": "parallel_homogeneous", "com": 0, "cpu": {_exact(ops)}'
        )
        content = (
            f'{{{kind}, "req_time": {_exact(time)}, "req_ops": {_exact(requested_ops)}, '
            f'"mem": {_exact(memory)}, "mem_bw": {_exact(bandwidth)}' + (f', "gpus": {_exact(gpus)}}}' if gpus else "}")
        )
        name = named.get((wanted, content))
        if name is None:
            name, number = wanted, 1
            while name in profiles:
                number += 1
                name = f"{wanted}_{number}"
            named[wanted, content] = name
            profiles[name] = content
        limit = f', "walltime": {_exact(walltime)}' if walltime < math.inf else ""
        known = f', "user": {user}' if user >= 0 else ""
        yield (
            f'{{"id": {_bare(identifier)}, "subtime": {_exact(submit)}, "res": {size}, '
            f'"profile": {json.dumps(name)}{limit}{known}{demand}}}'
        )


def _demand(demand: Demand) -> str:
    """Return what a job asks for on a platform with partitions as JSON, to be put behind its other keys."""
    return "".join(f", {json.dumps(key)}: {json.dumps(value)}" for key, value in keys_of(demand).items())


def _bare(identifier: str) -> str:
    """Return the id without its workload as JSON, an integer where it is one."""
    text = identifier.partition("!")[2]
    if text.isascii() and text.isdigit() and str(int(text[:18])) == text:
        return text
    return json.dumps(text)


def _exact(number: float) -> str:
    """Return the shortest JSON that reads back as the same float, in Batsim too."""
    return str(int(number)) if abs(number) < EXACT and number == int(number) else write_number(number)
