"""The profile types of Batsim 5: jobs do the same as in Batsim 4, except for one way of dividing amounts.

To add a type, add a line to `PROFILE_TYPES` and to `AS_JSON`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hdeeprm_like.batsim_server.fields import Fields
from hdeeprm_like.batsim_server.jobs import FindProfile, ProfileType, RunningJob, Steps, Task, share_done
from hdeeprm_like.batsim_server.parallel_tasks import Amounts
from hdeeprm_like.batsim_server.profile_types import computing, storage
from hdeeprm_like.batsim_server.profile_types.composed import COMPOSED, Sequence
from hdeeprm_like.batsim_server.profile_types.computing import PARALLEL
from hdeeprm_like.batsim_server.profile_types.sleeping import DELAY
from hdeeprm_like.batsim_server.profile_types.storage import STAGING, Staging, Transfer
from hdeeprm_like.formats.batsim5_json import EACH, SPREAD


@dataclass(frozen=True)
class Homogeneous:
    """Flops of each rank and bytes between each pair, or (*spread*) totals of all ranks and of all pairs."""

    flops: float
    bytes: float
    spread: bool


@dataclass(frozen=True)
class SpreadTransfer:
    """Bytes that each host reads from and writes to a storage host, or (*spread*) totals of all hosts."""

    transfer: Transfer
    spread: bool


def _spread(fields: Fields) -> bool:
    strategy = fields.content.get("generation_strategy", EACH)
    if strategy not in (EACH, SPREAD):
        raise fields.refusal(f"generation_strategy must be {EACH} or {SPREAD}, not {str(strategy)[:60]!r}")
    return bool(strategy == SPREAD)


def read_homogeneous(fields: Fields, find: FindProfile) -> Homogeneous:
    """Return one number of flops, one of bytes, and how they are meant."""
    return Homogeneous(fields.amount("cpu"), fields.amount("com"), _spread(fields))


def run_homogeneous(running: RunningJob, task: Task, amounts: Homogeneous) -> Steps:
    """Compute and communicate."""
    flops, sent, ranks = amounts.flops, amounts.bytes, len(running.job.ranks)
    if amounts.spread:
        flops, sent = flops / ranks, sent / max(ranks * ranks - ranks, 1)
    return (yield from computing.run(running, task, Amounts(flops, sent)))


HOMOGENEOUS: ProfileType[Homogeneous] = ProfileType(
    "``cpu`` flops on each host and ``com`` bytes between each two, or both spread",
    read_homogeneous,
    run_homogeneous,
    share_done,
)


def read_transfer(fields: Fields, find: FindProfile) -> SpreadTransfer:
    """Return the amounts to read and to write, and how they are meant."""
    return SpreadTransfer(storage.read_transfer(fields, find), _spread(fields))


def run_transfer(running: RunningJob, task: Task, amounts: SpreadTransfer) -> Steps:
    """Read and write at the same time, on all hosts of the job."""
    read, written, label = amounts.transfer
    ranks = len(running.job.ranks) if amounts.spread else 1
    return (yield from storage.run_transfer(running, task, Transfer(read / ranks, written / ranks, label)))


TRANSFER: ProfileType[SpreadTransfer] = ProfileType(
    "``bytes_to_read`` from a storage host and ``bytes_to_write`` to it, by each host, or both spread",
    read_transfer,
    run_transfer,
    share_done,
)


PROFILE_TYPES: Mapping[str, ProfileType[Any]] = {
    "DelayProfile": DELAY,
    "ParallelTaskProfile": PARALLEL,
    "ParallelTaskHomogeneousProfile": HOMOGENEOUS,
    "SequentialCompositionProfile": COMPOSED,
    "ParallelTaskOnStorageHomogeneousProfile": TRANSFER,
    "ParallelTaskDataStagingBetweenStoragesProfile": STAGING,
}
NOT_IMITATED = (
    "ForkJoinCompositionProfile",
    "ParallelTaskMergeCompositionProfile",
    "TraceReplayProfile",
)


def _tell_amounts(amounts: Amounts) -> dict[str, Any]:
    return {"computation_vector": amounts.flops, "communication_matrix": amounts.bytes}


def _tell_homogeneous(amounts: Homogeneous) -> dict[str, Any]:
    return {
        "computation_amount": amounts.flops,
        "communication_amount": amounts.bytes,
        "generation_strategy": SPREAD if amounts.spread else EACH,
    }


def _tell_sequence(sequence: Sequence) -> dict[str, Any]:
    return {
        "repetition_count": sequence.repeat,
        "profile_ids": [profile.name for profile in sequence.profiles],
    }


def _tell_transfer(amounts: SpreadTransfer) -> dict[str, Any]:
    return {
        "storage_name": amounts.transfer.storage,
        "bytes_to_read": amounts.transfer.read,
        "bytes_to_write": amounts.transfer.written,
        "generation_strategy": SPREAD if amounts.spread else EACH,
    }


def _tell_staging(staging: Staging) -> dict[str, Any]:
    return {
        "bytes_to_transfer": staging.bytes,
        "emitter_storage_name": staging.source,
        "receiver_storage_name": staging.destination,
    }


AS_JSON: Mapping[str, Callable[[Any], dict[str, Any]]] = {  # JSON of each type in messages, from its parameters
    "DelayProfile": lambda delay: {"delay": delay},
    "ParallelTaskProfile": _tell_amounts,
    "ParallelTaskHomogeneousProfile": _tell_homogeneous,
    "SequentialCompositionProfile": _tell_sequence,
    "ParallelTaskOnStorageHomogeneousProfile": _tell_transfer,
    "ParallelTaskDataStagingBetweenStoragesProfile": _tell_staging,
}
