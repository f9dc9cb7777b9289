"""The hardware of a cluster from Slurm's configuration or a running Slurm, and the platform made from it.

Slurm hands out *CPUs*: hardware threads, or cores where there is one thread each. A core of the platform is one of
Slurm's CPUs, so that the sizes of the jobs in its log fit. Speed, power and bandwidth are unknown: each core
computes 1 GFLOP/s, draws 1 W, and has all the bandwidth it may ask for.

Partitions, features, weights and priorities are in the platform file under ``"slurm"``, word for word; see
`formats.partitions_json`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.formats.files import write_json

GB_PER_RAM_MB = 1.024 / 1000  # of 1024 KB, in the house's MB of 1000 KB: see `trace_files`
BANDWIDTH = 1000.0  # GB/s for each core, more than jobs ask for
UNKNOWN_TYPE = "unknown"
GRES = re.compile(r"gpu(?::(?P<type>[\w.\-]*[A-Za-z][\w.\-]*))?(?::(?P<count>\d{1,9})(?P<thousand>[kK])?)?")
WIDTH = re.compile(r"\((?:[^()]|\([^()]*\))*\)")  # (S:0-1), (IDX:0,2), (null)


@dataclass(frozen=True)
class Node:
    """One kind of node.

    Attributes:
        cpus: that jobs may get, less those that are kept for the system. sockets, cores, threads: as they are built.
        memory: MB of 1024 KB. gpus: number; *gres*: their text.
        features, weight: as Slurm has them; nodes of low weight are taken first.
    """

    cpus: int
    sockets: int
    cores: int
    threads: int
    memory: int
    gpus: int = 0
    gres: str = ""
    features: tuple[str, ...] = ()
    weight: int = 1


@dataclass(frozen=True)
class Partition:
    """A partition; None where Slurm sets no limit or the limit is unknown.

    Attributes:
        name: of it. nodes: names of its nodes.
        settings: Slurm's own names and values: ``MaxTime`` and ``DefaultTime`` in s, ``PriorityTier``,
            ``DefMemPerCPU`` in MB and so on; a limit that is None is none.
    """

    name: str
    nodes: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Machine:
    """A cluster: its nodes by name, its partitions, and what it schedules by.

    Attributes:
        name: of the cluster. nodes, partitions: in the order of the file.
        scheduling: priority weights, backfill parameters and their like, by Slurm's names.
        accounting: what slurmdbd knows of accounts and QOS: limits, shares, priorities, see `associations`.
    """

    name: str = "cluster"
    nodes: dict[str, Node] = field(default_factory=dict)
    partitions: list[Partition] = field(default_factory=list)
    scheduling: dict[str, Any] = field(default_factory=dict)
    accounting: dict[str, Any] = field(default_factory=dict)

    @property
    def cpus(self) -> int:
        """All CPUs that jobs may get."""
        return sum(node.cpus for node in self.nodes.values())


def expand(hosts: str, where: str) -> list[str]:
    """Return the names of ``n[1-4,7]``.

    Raises:
        PlatformError: it is no list of hosts.
    """
    if "[" not in hosts and "]" not in hosts:
        return [name for name in hosts.split(",") if name]
    from hostlist import BadHostlist, expand_hostlist

    try:
        names: list[str] = expand_hostlist(hosts)
    except (BadHostlist, ValueError) as error:  # the latter of numbers of thousands of digits
        raise PlatformError(f"{where}: {hosts[:80]!r} is no list of hosts: {error}") from None
    return names


def folded(names: Iterable[str]) -> str:
    """Return the names of hosts as a list of ranges: ``n[1-4,7]``."""
    from hostlist import collect_hostlist

    text: str = collect_hostlist(list(names))
    return text


def gpus_of(gres: str) -> int:
    """Return the GPUs in ``gpu:a100:4(S:0-1),gpu:t4:2`` or ``gpu``; 0 if there are none."""
    total = 0
    for item in WIDTH.sub("", gres).split(","):
        if match := GRES.fullmatch(item.strip()):
            total += int(match["count"] or 1) * (1024 if match["thousand"] else 1)
    return total


def write_platform(machine: Machine, path: Path, report: Account) -> None:
    """Write a platform that the simulator reads, with all else that is known under ``"slurm"``.

    Raises:
        PlatformError: there are no nodes.
        ResultsError: the file cannot be written.
    """
    if not machine.nodes:
        notes = "".join(f"; {note}" for note in list(report.counts("noted"))[:1])
        raise PlatformError(f"{report.source}: names no nodes{notes}")
    groups = _groups(machine)
    types = {f"{machine.name} {number}": node for number, (node, _) in enumerate(groups, 1)}
    links = {"type": UNKNOWN_TYPE, "latency": "0us"}
    write_json(
        path,
        {
            "clusters": [
                {
                    "id": machine.name,
                    "nodes": [
                        {"type": name, "number": len(hosts)} for name, (_, hosts) in zip(types, groups, strict=True)
                    ],
                    "local_links": links,
                }
            ],
            "global_links": links,
            "types": _types(types),
            "slurm": {
                "nodes": [
                    {
                        "type": name,
                        "hosts": folded(hosts),
                        **{"sockets": node.sockets, "cores_per_socket": node.cores, "threads_per_core": node.threads},
                        **{"cpus": node.cpus, "real_memory_mb": node.memory, "gres": node.gres},
                        **{"features": list(node.features), "weight": node.weight},
                    }
                    for name, (node, hosts) in zip(types, groups, strict=True)
                ],
                "partitions": [
                    {"name": one.name, "hosts": folded(one.nodes), **one.settings} for one in machine.partitions
                ],
                "scheduling": machine.scheduling,
                **{key: value for key, value in machine.accounting.items() if value},
            },
        },
    )


def _groups(machine: Machine) -> list[tuple[Node, list[str]]]:
    """Return the nodes that are alike and of the same partitions, in the order in which they first come."""
    belongs: dict[str, tuple[str, ...]] = {}
    for partition in machine.partitions:
        for name in partition.nodes:
            belongs[name] = (*belongs.get(name, ()), partition.name)
    groups: dict[tuple[Node, tuple[str, ...]], list[str]] = {}
    for name, node in machine.nodes.items():
        groups.setdefault((node, belongs.get(name, ())), []).append(name)
    return [(node, hosts) for (node, _), hosts in groups.items()]


def _types(nodes: Mapping[str, Node]) -> dict[str, Any]:
    """Return the types of hardware of a platform: a processor for each socket, where the CPUs can be shared out so."""
    processors = {}
    kinds = {}
    for name, node in nodes.items():
        sockets = node.sockets if node.sockets > 0 and node.cpus % node.sockets == 0 else 1
        cores = node.cpus // sockets
        processors[f"{cores} CPUs"] = {
            **{"cores": cores, "clock_rate": 1.0, "dpflops_per_cycle": 1.0},
            **{"mem_bw": BANDWIDTH * cores, "power": float(cores)},
        }
        kinds[name] = {
            "processors": [{"type": f"{cores} CPUs", "number": sockets}],
            "memory": {"type": UNKNOWN_TYPE, "capacity": max(node.memory, 1) * GB_PER_RAM_MB},
            "gpus": node.gpus,
        }
    return {
        "nodes": kinds,
        "processors": processors,
        "networks": {UNKNOWN_TYPE: {"bandwidth": "100Gbps"}},
        "memories": {UNKNOWN_TYPE: {"latency": "0us"}},
    }


def less_reserved(node: Node, cores: int, cpus: int, memory: int) -> Node:
    """Return a node without the cores, CPUs and MB that are kept for the system."""
    kept = max(cpus, cores * node.threads)
    return replace(node, cpus=max(node.cpus - kept, 1), memory=max(node.memory - memory, 1))


def tell(machine: Machine, report: Account) -> None:
    """Add to a report what a platform made of a machine has, and what of it is carried only."""
    gpus = sum(node.gpus for node in machine.nodes.values())
    report.jobs = len(machine.nodes) + report.left_out
    report.note(
        f"{len(machine.nodes):,} nodes, {machine.cpus:,} CPUs, {gpus:,} GPUs; partitions: "
        + (", ".join(f"{one.name} ({len(one.nodes):,} nodes)" for one in machine.partitions) or "none")
    )
    report.note(
        "speed, power and bandwidth are unknown: a core counts as 1 GFLOP/s and 1 W, and bandwidth is unlimited"
    )
    if machine.partitions or machine.scheduling:
        report.note("partitions, features, weights and priorities are in the file; whatif goes by them")
