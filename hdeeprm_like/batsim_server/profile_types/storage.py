"""The profile types that transfer data to and from storage hosts."""

from typing import NamedTuple

from hdeeprm_like.batsim_server.fields import Fields
from hdeeprm_like.batsim_server.jobs import FindProfile, ProfileType, RunningJob, Steps, Task, share_done
from hdeeprm_like.batsim_server.parallel_tasks import Amounts, work_of
from hdeeprm_like.errors import ProtocolError


class Transfer(NamedTuple):
    """The bytes that each host of a job reads from and writes to a storage host."""

    read: float
    written: float
    storage: str  # the name that the scheduler may map to a machine


class Staging(NamedTuple):
    """The bytes transferred from one storage host to another."""

    bytes: float
    source: str
    destination: str


def read_transfer(fields: Fields, find: FindProfile) -> Transfer:
    """Return the amounts to read and to write; one of them is optional."""
    if not {"bytes_to_read", "bytes_to_write"} & fields.data.keys():
        raise fields.refusal("bytes_to_read or bytes_to_write must be there")
    read, written = (fields.amount(key) if key in fields.data else 0.0 for key in ("bytes_to_read", "bytes_to_write"))
    return Transfer(read, written, fields.text("storage", fields.data.get("host", "pfs")))


def read_staging(fields: Fields, find: FindProfile) -> Staging:
    """Return the amount and its source and target."""
    return Staging(fields.amount("nb_bytes"), fields.text("from"), fields.text("to"))


def run_transfer(running: RunningJob, task: Task, transfer: Transfer) -> Steps:
    """Read and write at the same time, on all hosts of the job."""
    storage = _storage(running, transfer.storage, sole=True)
    ranks = [*running.job.ranks, storage]
    last = len(ranks) - 1
    matrix = [0.0] * (len(ranks) * len(ranks))
    for rank in range(last):
        matrix[rank * len(ranks) + last] = transfer.written
        matrix[last * len(ranks) + rank] = transfer.read
    return (yield from running.compute(task, work_of(running.machines, running.network, ranks, Amounts(0.0, matrix))))


def run_staging(running: RunningJob, task: Task, staging: Staging) -> Steps:
    """Transfer the bytes."""
    ranks = [_storage(running, label, sole=False) for label in (staging.source, staging.destination)]
    amounts = Amounts(0.0, [0.0, staging.bytes, 0.0, 0.0])
    return (yield from running.compute(task, work_of(running.machines, running.network, ranks, amounts)))


def _storage(running: RunningJob, label: str, sole: bool) -> int:
    """Return the machine mapped to a storage name; with *sole*, the only storage host if the job maps none."""
    mapping, machines = running.job.storage, running.machines
    where = f"job {running.job.identifier}: storage {label!r}"
    if not mapping and sole:
        known = [machine.number for machine in machines.all if machine.stores]
        if len(known) != 1:
            raise ProtocolError(f"{where}: no storage_mapping says which of {len(known)} storage hosts it is")
        return known[0]
    number = mapping.get(label, -1)
    if not 0 <= number < len(machines) or not machines[number].stores:
        raise ProtocolError(f"{where}: must be a storage host in the storage_mapping of EXECUTE_JOB")
    return number


TRANSFER = ProfileType(
    "``bytes_to_read`` from a storage host and ``bytes_to_write`` to it, by each host",
    read_transfer,
    run_transfer,
    share_done,
)
STAGING = ProfileType("``nb_bytes`` from one storage host to another", read_staging, run_staging, share_done)
