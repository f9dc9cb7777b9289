"""The profile types that replay traces: one actor per rank executes its file and reports its end.

What reads and replays the files is loaded when the first job does so; few workloads have any.
"""

from collections.abc import Callable
from math import floor
from pathlib import Path
from typing import TypeAlias

from hdeeprm_like.batsim_server.engine import TIMEOUT, Mailbox, Script
from hdeeprm_like.batsim_server.fields import Fields
from hdeeprm_like.batsim_server.jobs import WALLTIME_REACHED, FindProfile, ProfileType, RunningJob, Steps, Task
from hdeeprm_like.batsim_server.sharing import NO_CROWDS, Crowd, Work
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.inputs import read_text
from hdeeprm_like.values import FRACTION

LAST_MESSAGE = 4.0  # bytes, from each rank to the first host of the job


Trace: TypeAlias = tuple[Path, ...]  # the files of the ranks


def read(fields: Fields, find: FindProfile) -> Trace:
    """Return the files of the trace; they are opened when a job replays them."""
    name = fields.text("trace")
    if fields.folder is None:
        raise fields.refusal("a trace can be replayed only by the jobs of a workload's file")
    index = fields.folder / name
    if not index.is_file():
        raise fields.refusal(f"trace {name!r} leads to {index}, which is no file")
    return tuple(index.parent / line.rstrip() for line in read_text(index, fields.error).splitlines())


def run_usage(running: RunningJob, task: Task, trace: Trace) -> Steps:
    """Make every rank use its host as in its file; each needs a host of its own."""
    job = running.job
    if len(trace) > len(set(job.ranks)):
        raise WorkloadError(
            f"job {job.identifier}: the trace of profile {task.profile.name!r} is for {len(trace)} different "
            f"hosts, the job has {len(set(job.ranks))}"
        )
    return (yield from _run(running, trace, lambda rank, path: _use(running, job.ranks[rank], _usages(path, rank))))


def run_smpi(running: RunningJob, task: Task, trace: Trace) -> Steps:
    """Make every rank compute, send and receive as in its file; ranks are distributed over the hosts in turn."""
    from hdeeprm_like.batsim_server.mpi import Communicator, Rank
    from hdeeprm_like.batsim_server.mpi_traces import read_trace, replay

    ranks, machines, count = running.job.ranks, running.machines, len(trace)
    numbers = [ranks[rank % len(ranks)] for rank in range(count)]
    communicator = Communicator(running.engine, [machines[number].host.name for number in numbers])

    def script(rank: int, path: Path) -> Script:
        number = numbers[rank]
        me = Rank(communicator, rank, machines[number].constraint, number)
        try:
            yield from replay(me, read_trace(path, rank, count))
        except GeneratorExit:
            communicator.close()
            raise

    return (yield from _run(running, trace, script))


def _run(running: RunningJob, trace: Trace, script: Callable[[int, Path], Script]) -> Steps:
    """Run the scripts of the ranks; wait for all of them, at most up to the walltime."""
    engine, ranks, mailbox = running.engine, running.job.ranks, Mailbox()
    for rank, path in enumerate(trace):
        host = running.machines[ranks[rank % len(ranks)]].host.name
        running.helpers.append((yield (engine.spawn, _then_tell(running, script(rank, path), mailbox), host)))
    for _ in trace:
        began = engine.now
        if running.walltime_left < 0.0:
            yield (engine.get, mailbox)
            continue
        if (yield (engine.get_within, mailbox, running.walltime_left)) is TIMEOUT:
            yield from running.kill_helpers()
            return WALLTIME_REACHED
        running.walltime_left = max(running.walltime_left - (engine.now - began), 0.0)
    running.helpers.clear()
    return 0


def _then_tell(running: RunningJob, script: Script, mailbox: Mailbox) -> Script:
    yield from script
    yield (running.engine.put, None, mailbox, LAST_MESSAGE)


def _usages(path: Path, rank: int) -> list[tuple[float, float]]:
    """Return the shares of the host's cores that a rank uses, and the flops of each."""
    from hdeeprm_like.batsim_server.mpi_traces import FLOPS, lines_of

    steps: list[tuple[float, float]] = []
    for where, words in lines_of(path, rank):
        try:
            usage, flops = FRACTION.in_text(words[1], ValueError), FLOPS.in_text(words[2], ValueError)
            if words[0] != "m_usage":
                raise ValueError
        except (IndexError, ValueError) as cause:
            raise WorkloadError(f"{where}: must be RANK m_usage SHARE FLOPS, with a share from 0 to 1") from cause
        steps.append((usage, flops))
    return steps


def _use(running: RunningJob, number: int, steps: list[tuple[float, float]]) -> Script:
    engine, host = running.engine, running.machines[number].constraint
    for usage, flops in steps:
        cores = max(floor(usage * host.cores + 0.5), 1)
        crowds = {host: Crowd(cores, flops)} if cores > 1 else NO_CROWDS
        action = yield (engine.start, Work({host: cores * flops}, (number,), crowds=crowds, ranks=cores))
        yield (engine.wait, action, -1.0)


USAGE = ProfileType("replays the files that ``trace`` names: which share of its cores each host uses", read, run_usage)
SMPI = ProfileType("replays the MPI ranks in the files that ``trace`` names", read, run_smpi)
