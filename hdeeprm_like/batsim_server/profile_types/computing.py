"""The profile types of parallel tasks: flops on each host, bytes between each two."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hdeeprm_like.batsim_server.engine import Work
from hdeeprm_like.batsim_server.fields import Fields
from hdeeprm_like.batsim_server.jobs import FindProfile, ProfileType, RunningJob, Steps, Task
from hdeeprm_like.batsim_server.machines import Machines
from hdeeprm_like.batsim_server.network import Network
from hdeeprm_like.batsim_server.sharing import Constraint


@dataclass(frozen=True)
class Amounts:
    """What a parallel task on R ranks asks for.

    Attributes:
        flops: (R,) of each rank, or one number for every rank.
        bytes: (R * R,) from row to column, or one number for each two different ranks.
    """

    flops: float | Sequence[float]
    bytes: float | Sequence[float]


def read_homogeneous(fields: Fields, find: FindProfile) -> Amounts:
    """Return one number of flops and one of bytes."""
    return Amounts(fields.amount("cpu"), fields.amount("com"))


def read_matrix(fields: Fields, find: FindProfile) -> Amounts:
    """Return the flops of each rank, and the matrix of bytes row by row."""
    flops, matrix = fields.amounts("cpu"), fields.amounts("com")
    if len(matrix) != len(flops) ** 2:
        raise fields.refusal(f"com must have {len(flops) ** 2} entries, but has {len(matrix)}")
    return Amounts(flops, matrix)


def hosts_of(amounts: Amounts) -> int | None:
    """Return the number of ranks that amounts are listed for."""
    return None if isinstance(amounts.flops, float) else len(amounts.flops)


def run(running: RunningJob, task: Task, amounts: Amounts) -> Steps:
    """Compute and communicate."""
    work = work_of(running.machines, running.network, running.job.ranks, amounts)
    return (yield from running.compute(task, work))


def run_divided(running: RunningJob, task: Task, total: Amounts) -> Steps:
    """Compute and communicate what is the same amount in total however many ranks there are."""
    ranks = len(running.job.ranks)
    assert isinstance(total.flops, float)
    assert isinstance(total.bytes, float)
    return (yield from run(running, task, Amounts(total.flops / ranks, total.bytes / ranks)))


def progress(running: RunningJob, task: Task, amounts: Amounts) -> dict[str, Any]:
    """Return which share of the work is done."""
    return {"progress": 0.0 if task.action is None else 1.0 - running.engine.work_left(task.action)}


def work_of(machines: Machines, network: Network, ranks: Sequence[int], amounts: Amounts) -> Work:
    """Return what a parallel task asks of hosts and links.

    Args:
        ranks: (R,) number of the machine of each rank; a machine may have several.
    """
    weights: dict[Constraint, float] = {}
    for rank, number in enumerate(ranks):
        host = machines[number].constraint
        flops = amounts.flops if isinstance(amounts.flops, float) else amounts.flops[rank]
        weights[host] = weights.get(host, 0.0) + flops
    latency = bytes_delay = 0.0
    if amounts.bytes if isinstance(amounts.bytes, float) else any(amounts.bytes):
        names = [machines[number].host.name for number in ranks]
        latency, bytes_delay = _add_flows(network, names, amounts.bytes, weights)
    return Work(weights, sorted(set(ranks)), latency, bytes_delay)


def _add_flows(
    network: Network, names: Sequence[str], amounts: float | Sequence[float], weights: dict[Constraint, float]
) -> tuple[float, float]:
    """Add the bytes between each two hosts to the links they cross; return largest latency, and latency times bytes."""
    latency = bytes_delay = 0.0
    count = len(names)
    for i, source in enumerate(names):
        for j, destination in enumerate(names):
            between = amounts if isinstance(amounts, float) else amounts[i * count + j]
            amount = 0.0 if i == j and isinstance(amounts, float) else between
            if amount <= 0.0:
                continue
            links, delay = network.route(source, destination)
            latency = max(latency, delay)
            bytes_delay = max(bytes_delay, delay * amount)
            for link in links:
                used = weights.get(link, 0.0)
                weights[link] = max(used, amount) if link.fatpipe else used + amount
    return latency, bytes_delay


PARALLEL = ProfileType(
    "``cpu`` flops per host, ``com`` bytes from row to column", read_matrix, run, progress, hosts=hosts_of
)
HOMOGENEOUS = ProfileType(
    "``cpu`` flops on each host, ``com`` bytes between each two hosts", read_homogeneous, run, progress
)
HOMOGENEOUS_TOTAL = ProfileType(
    "the same, ``cpu`` and ``com`` divided by the number of hosts",
    read_homogeneous,
    run_divided,
    progress,
    any_size=lambda _: True,
)
