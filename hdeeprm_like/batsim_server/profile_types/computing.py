"""The profile types of parallel tasks: flops on each host, bytes between each pair."""

from hdeeprm_like.batsim_server.fields import Fields
from hdeeprm_like.batsim_server.jobs import FindProfile, ProfileType, RunningJob, Steps, Task, share_done
from hdeeprm_like.batsim_server.parallel_tasks import Amounts, work_of
from hdeeprm_like.errors import ProtocolError


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
    """Return the number of ranks in listed amounts."""
    return None if isinstance(amounts.flops, float) else len(amounts.flops)


def run(running: RunningJob, task: Task, amounts: Amounts) -> Steps:
    """Compute and communicate."""
    ranks = running.job.ranks
    for rank, number in enumerate(ranks):
        if amounts.of_rank(rank) > 0.0 and running.machines[number].stores:
            raise ProtocolError(
                f"job {running.job.identifier}: machine {number} is a storage host, which cannot compute"
            )
    return (yield from running.compute(task, work_of(running.machines, running.network, ranks, amounts)))


def run_divided(running: RunningJob, task: Task, total: Amounts) -> Steps:
    """Compute and communicate a total amount that is independent of the number of ranks."""
    ranks = len(running.job.ranks)
    assert isinstance(total.flops, float)
    assert isinstance(total.bytes, float)
    return (yield from run(running, task, Amounts(total.flops / ranks, total.bytes / ranks)))


PARALLEL = ProfileType(
    "``cpu`` flops per host, ``com`` bytes from row to column",
    read_matrix,
    run,
    share_done,
    hosts=hosts_of,
    silent=lambda amounts: amounts.silent,
)
HOMOGENEOUS = ProfileType(
    "``cpu`` flops on each host, ``com`` bytes between each two hosts",
    read_homogeneous,
    run,
    share_done,
    silent=lambda amounts: amounts.silent,
)
HOMOGENEOUS_TOTAL = ProfileType(
    "the same, ``cpu`` and ``com`` divided by the number of hosts",
    read_homogeneous,
    run_divided,
    share_done,
    any_size=lambda _: True,
    silent=lambda amounts: amounts.silent,
)
COMPUTING = (HOMOGENEOUS, HOMOGENEOUS_TOTAL, PARALLEL)
