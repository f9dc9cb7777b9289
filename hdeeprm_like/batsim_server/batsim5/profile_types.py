"""The profile types of Batsim 5: what the jobs do is Batsim 4's, but for one way of sharing out what they send.

To add a type, add a line to `PROFILE_TYPES`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hdeeprm_like.batsim_server.fields import Fields
from hdeeprm_like.batsim_server.jobs import FindProfile, ProfileType, RunningJob, Steps, Task
from hdeeprm_like.batsim_server.profile_types import computing
from hdeeprm_like.batsim_server.profile_types.composed import COMPOSED, Sequence
from hdeeprm_like.batsim_server.profile_types.computing import PARALLEL, Amounts
from hdeeprm_like.batsim_server.profile_types.sleeping import DELAY

EACH, SPREAD = "DefinedAmountsUsedForEachValue", "DefinedAmountsSpreadUniformly"


@dataclass(frozen=True)
class Homogeneous:
    """Flops of each rank and bytes between each two, or (*spread*) those of all ranks and of all pairs together."""

    flops: float
    bytes: float
    spread: bool


def read_homogeneous(fields: Fields, find: FindProfile) -> Homogeneous:
    """Return one number of flops, one of bytes, and how they are meant."""
    strategy = fields.content.get("generation_strategy", EACH)
    if strategy not in (EACH, SPREAD):
        raise fields.refusal(f"generation_strategy must be {EACH} or {SPREAD}, not {str(strategy)[:60]!r}")
    return Homogeneous(fields.amount("cpu"), fields.amount("com"), strategy == SPREAD)


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
    lambda running, task, amounts: computing.progress(running, task, Amounts(amounts.flops, amounts.bytes)),
)


def _matrix(content: Mapping[str, Any]) -> dict[str, Any]:
    flops, sent = content.get("computation_vector"), content.get("communication_matrix")
    if isinstance(flops, list) and sent is None:
        sent = [0.0] * len(flops) ** 2
    elif isinstance(sent, list) and flops is None:
        flops = [0.0] * round(len(sent) ** 0.5)
    return {"cpu": flops, "com": sent}


@dataclass(frozen=True)
class MessageForm:
    """How messages tell of a type of profile.

    Attributes:
        tell: returns the content from the parameters.
        read: returns the content as a workload file has it; the default renames *keys*.
    """

    tell: Callable[[Any], dict[str, Any]]
    keys: Mapping[str, str] = field(default_factory=dict)  # in messages -> in files
    read: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None

    def as_in_files(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Return the content of a profile in a message as a workload file has it."""
        return self.read(content) if self.read else {self.keys.get(key, key): value for key, value in content.items()}


PROFILE_TYPES: Mapping[str, ProfileType[Any]] = {
    "DelayProfile": DELAY,
    "ParallelTaskProfile": PARALLEL,
    "ParallelTaskHomogeneousProfile": HOMOGENEOUS,
    "SequentialCompositionProfile": COMPOSED,
}
NOT_IMITATED = (
    "ForkJoinCompositionProfile",
    "ParallelTaskDataStagingBetweenStoragesProfile",
    "ParallelTaskMergeCompositionProfile",
    "ParallelTaskOnStorageHomogeneousProfile",
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


MESSAGE_FORMS: Mapping[str, MessageForm] = {
    "DelayProfile": MessageForm(lambda delay: {"delay": delay}),
    "ParallelTaskProfile": MessageForm(_tell_amounts, read=_matrix),
    "ParallelTaskHomogeneousProfile": MessageForm(
        _tell_homogeneous, {"computation_amount": "cpu", "communication_amount": "com"}
    ),
    "SequentialCompositionProfile": MessageForm(_tell_sequence, {"repetition_count": "repeat", "profile_ids": "seq"}),
}
