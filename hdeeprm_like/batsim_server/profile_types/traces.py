"""The profile types that replay traces: one actor per rank goes through its file, a last message says that it is done.

Of ``smpi`` only computing is imitated: communication would need SimGrid's model of MPI with its collective operations.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import floor
from pathlib import Path

from hdeeprm_like.batsim_server.engine import TIMEOUT, Mailbox, Script, Work
from hdeeprm_like.batsim_server.fields import Fields
from hdeeprm_like.batsim_server.jobs import WALLTIME_REACHED, FindProfile, ProfileType, RunningJob, Steps, Task
from hdeeprm_like.batsim_server.sharing import NO_CROWDS, Crowd
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.inputs import read_text

LAST_MESSAGE = 4.0  # bytes, from each rank to the first host of the job
MOST_FLOPS = 1e300


@dataclass(frozen=True)
class Trace:
    """The files of a trace, one per rank."""

    files: tuple[Path, ...]


def read(fields: Fields, find: FindProfile) -> Trace:
    """Return the files that the trace names; they are opened when a job replays them."""
    name = fields.content.get("trace")
    if not isinstance(name, str):
        raise fields.refusal("trace must be the name of a file")
    if fields.folder is None:
        raise fields.refusal("a trace can be replayed only by the jobs of a workload's file")
    index = fields.folder / name
    if not index.is_file():
        raise fields.refusal(f"trace {name!r} leads to {index}, which is no file")
    return Trace(tuple(index.parent / line.rstrip() for line in read_text(index, fields.error).splitlines()))


def run_usage(running: RunningJob, task: Task, trace: Trace) -> Steps:
    """Have every rank use its host as its file says; each needs a host of its own."""
    job = running.job
    if len(trace.files) > len(set(job.ranks)):
        raise WorkloadError(
            f"job {job.identifier}: the trace of profile {task.profile.name!r} is for {len(trace.files)} different "
            f"hosts, the job has {len(set(job.ranks))}"
        )
    return (yield from _run(running, trace, _usage))


def run_smpi(running: RunningJob, task: Task, trace: Trace) -> Steps:
    """Have every rank compute as its file says."""
    return (yield from _run(running, trace, _computing))


Reader = Callable[[list[str]], tuple[float, float] | None]  # the share of the host's cores and the flops of each


def _run(running: RunningJob, trace: Trace, reader: Reader) -> Steps:
    """Have the ranks, spread over the hosts in turn, replay their files; wait for all of them, up to the walltime."""
    engine, ranks, mailbox = running.engine, running.job.ranks, Mailbox()
    for rank, path in enumerate(trace.files):
        number = ranks[rank % len(ranks)]
        script = _replay(running, number, _steps(path, str(rank), reader), mailbox)
        running.helpers.append((yield (engine.spawn, script, running.machines[number].host.name)))
    for _ in trace.files:
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


def _steps(path: Path, rank: str, reader: Reader) -> list[tuple[float, float]]:
    """Return what a file tells a rank to do, step by step."""
    steps: list[tuple[float, float]] = []
    for number, line in enumerate(read_text(path, WorkloadError).splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#") or words[0] != rank:
            continue
        try:
            step = reader(words[1:])
        except (IndexError, ValueError) as cause:
            raise WorkloadError(f"{path}:{number}: {line[:60]!r} is not imitated or no step of such a trace") from cause
        if step is not None:
            steps.append(step)
    return steps


def _usage(words: list[str]) -> tuple[float, float]:
    usage, flops = float(words[1]), float(words[2])
    if words[0] != "m_usage" or not 0.0 <= usage <= 1.0 or not 0.0 <= flops < MOST_FLOPS:
        raise ValueError
    return usage, flops


def _computing(words: list[str]) -> tuple[float, float] | None:
    if words[0] in ("init", "finalize"):
        return None
    flops = float(words[1])
    if words[0] != "compute" or not 0.0 <= flops < MOST_FLOPS:
        raise ValueError
    return 0.0, flops


def _replay(running: RunningJob, number: int, steps: list[tuple[float, float]], mailbox: Mailbox) -> Script:
    engine, host = running.engine, running.machines[number].constraint
    for usage, flops in steps:
        cores = max(floor(usage * host.cores + 0.5), 1)
        crowds = {host: Crowd(cores, flops)} if cores > 1 else NO_CROWDS
        action = yield (engine.start, Work({host: cores * flops}, (number,), crowds=crowds))
        yield (engine.wait, action, -1.0)
    yield (engine.put, None, mailbox, LAST_MESSAGE)


USAGE = ProfileType("replays the files that ``trace`` names: which share of its cores each host uses", read, run_usage)
SMPI = ProfileType("replays the computing of the MPI ranks in the files that ``trace`` names", read, run_smpi)
