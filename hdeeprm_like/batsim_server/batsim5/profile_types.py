"""The profile types of Batsim 5: jobs do the same as in Batsim 4, except for one way of dividing amounts.

To add a type, add a line to `PROFILE_TYPES` and to `AS_JSON`.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hdeeprm_like.batsim_server.fields import Fields
from hdeeprm_like.batsim_server.jobs import FindProfile, ProfileType, RunningJob, Steps, Task, share_done
from hdeeprm_like.batsim_server.parallel_tasks import Amounts
from hdeeprm_like.batsim_server.profile_types import computing, storage
from hdeeprm_like.batsim_server.profile_types.composed import COMPOSED
from hdeeprm_like.batsim_server.profile_types.computing import PARALLEL
from hdeeprm_like.batsim_server.profile_types.sleeping import DELAY
from hdeeprm_like.batsim_server.profile_types.storage import STAGING, Transfer
from hdeeprm_like.formats.batsim5_json import EACH, SPREAD


class Homogeneous(NamedTuple):
    """Flops of each rank and bytes between each pair, or (`SPREAD`) totals of all ranks and of all pairs."""

    flops: float
    bytes: float
    strategy: str


class SpreadTransfer(NamedTuple):
    """Bytes that each host reads from and writes to a storage host, or (`SPREAD`) totals of all hosts."""

    transfer: Transfer
    strategy: str


def _strategy(fields: Fields) -> str:
    strategy = fields.data.get("generation_strategy", EACH)
    if strategy not in (EACH, SPREAD):
        raise fields.refusal(f"generation_strategy must be {EACH} or {SPREAD}, not {str(strategy)[:60]!r}")
    return str(strategy)


def read_homogeneous(fields: Fields, find: FindProfile) -> Homogeneous:
    """Return one number of flops, one of bytes, and how they are meant."""
    return Homogeneous(fields.amount("cpu"), fields.amount("com"), _strategy(fields))


def run_homogeneous(running: RunningJob, task: Task, amounts: Homogeneous) -> Steps:
    """Compute and communicate."""
    flops, sent, strategy = amounts
    ranks = len(running.job.ranks)
    if strategy == SPREAD:
        flops, sent = flops / ranks, sent / max(ranks * ranks - ranks, 1)
    return (yield from computing.run(running, task, Amounts(flops, sent)))


def read_transfer(fields: Fields, find: FindProfile) -> SpreadTransfer:
    """Return the amounts to read and to write, and how they are meant."""
    return SpreadTransfer(storage.read_transfer(fields, find), _strategy(fields))


def run_transfer(running: RunningJob, task: Task, amounts: SpreadTransfer) -> Steps:
    """Read and write at the same time, on all hosts of the job."""
    read, written, label = amounts.transfer
    ranks = len(running.job.ranks) if amounts.strategy == SPREAD else 1
    return (yield from storage.run_transfer(running, task, Transfer(read / ranks, written / ranks, label)))


PROFILE_TYPES: Mapping[str, ProfileType[Any]] = {
    "DelayProfile": DELAY,
    "ParallelTaskProfile": PARALLEL,
    "ParallelTaskHomogeneousProfile": ProfileType(
        "``cpu`` flops on each host and ``com`` bytes between each two, or both spread",
        read_homogeneous,
        run_homogeneous,
        share_done,
    ),
    "SequentialCompositionProfile": COMPOSED,
    "ParallelTaskOnStorageHomogeneousProfile": ProfileType(
        "``bytes_to_read`` from a storage host and ``bytes_to_write`` to it, by each host, or both spread",
        read_transfer,
        run_transfer,
        share_done,
    ),
    "ParallelTaskDataStagingBetweenStoragesProfile": STAGING,
}
NOT_IMITATED = (
    "ForkJoinCompositionProfile",
    "ParallelTaskMergeCompositionProfile",
    "TraceReplayProfile",
)


AS_JSON: Mapping[str, Callable[[Any], dict[str, Any]]] = {  # JSON of each type in messages, from its parameters
    "DelayProfile": lambda delay: {"delay": delay},
    "ParallelTaskProfile": lambda amounts: {"computation_vector": amounts.flops, "communication_matrix": amounts.bytes},
    "ParallelTaskHomogeneousProfile": lambda amounts: {
        "computation_amount": amounts.flops,
        "communication_amount": amounts.bytes,
        "generation_strategy": amounts.strategy,
    },
    "SequentialCompositionProfile": lambda sequence: {
        "repetition_count": sequence.repeat,
        "profile_ids": [profile.name for profile in sequence.profiles],
    },
    "ParallelTaskOnStorageHomogeneousProfile": lambda amounts: {
        "storage_name": amounts.transfer.storage,
        "bytes_to_read": amounts.transfer.read,
        "bytes_to_write": amounts.transfer.written,
        "generation_strategy": amounts.strategy,
    },
    "ParallelTaskDataStagingBetweenStoragesProfile": lambda staging: {
        "bytes_to_transfer": staging.bytes,
        "emitter_storage_name": staging.source,
        "receiver_storage_name": staging.destination,
    },
}
