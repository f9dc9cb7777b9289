"""The platform: clusters, nodes, processors and cores, as columns of arrays."""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np

from hdeeprm_like.cluster.html_table import html_table
from hdeeprm_like.cluster.partitions import Partitions
from hdeeprm_like.cluster.pstates import P0, P1, P2, P3, POWER_SHARE, SPEED_SHARE
from hdeeprm_like.cluster.routes import Routes
from hdeeprm_like.cluster.speed_profiles import NodeSpeeds
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.types import Floats, Ints

GIGA = 1e9
TITLES = ("cluster", "node type", "nodes", "cores", "processors", "Gflop/s a core", "memory (GB)", "GPUs")  # of a node


@dataclass(frozen=True)
class Network:
    """The links of a platform: messages of jobs use them in a network, otherwise only the messages of their ends do.

    Attributes:
        cluster_bandwidth, cluster_latency: one per cluster, as SimGrid writes them (``"10.0Gbps"``, ``"0us"``).
        global_bandwidth, global_latency: of the link between each cluster and the master zone.
    """

    cluster_bandwidth: tuple[str, ...]
    cluster_latency: tuple[str, ...]
    global_bandwidth: str
    global_latency: str


DEFAULT_BANDWIDTH, DEFAULT_LATENCY = "10.0Gbps", "0us"  # of the links of a platform without link data


@dataclass(frozen=True, eq=False)
class Platform:
    """A heterogeneous platform; a core is a row and its number is Batsim's machine id (thesis 3.1.2).

    Nodes, processors and cores are numbered cluster by cluster in the order in which the platform lists them, so the
    cores of a processor, and the processors of a node, are contiguous.

    Attributes:
        name: of the platform, for titles and messages.
        cluster_names: one per cluster.
        node_cluster: (N,) cluster of each node.
        node_memory: (N,) MB (10^6 bytes).
        node_types, processor_types: (N,), (P,) names in the catalogue.
        processor_node: (P,) node of each processor, never decreasing.
        processor_bandwidth: (P,) memory bandwidth in GB/s, shared by the cores of the processor.
        processor_flops: (P, 4) flop/s of one of its cores in each P-state.
        processor_watts: (P, 4) W of one of its cores in each P-state.
        core_processor: (C,) processor of each core, never decreasing.
        core_names: (C,) host names.
        network: the links, None if unknown.
        node_gpus: (N,) GPUs of each node, shared by its cores; zeros if left out.
        partitions: sets of nodes that jobs request; None if all jobs may run everywhere.
        power_cap: W, limit of the power of all cores together, see `usable_cores`.
        routes: of what jobs send, see `links.with_network`; None if that takes no time.
        topology: how the nodes of the only cluster are connected, a kind and parameters of `topologies.TOPOLOGIES`, as
            ``"FAT_TREE 2;4,4;1,2;1,1"``; empty for a link of each node to a router.
        limiters: one per cluster, the bandwidth of a link that all messages out of and into a node cross, and with a
            topology those of a switch, too; ``""`` for none, empty for none at all.
        speeds: which nodes have a speed that changes in time, and how; None if no node has.
        master_link: bandwidth and latency of the way from Batsim's master host to itself, as SimGrid writes them; None
            for SimGrid's own, 10 GB/s without latency.
        links_of_file: returns the routes over the links of a platform of SimGrid; None for those of `network`.
    """

    name: str
    cluster_names: tuple[str, ...]
    node_cluster: Ints
    node_memory: Floats
    node_types: tuple[str, ...]
    processor_node: Ints
    processor_bandwidth: Floats
    processor_types: tuple[str, ...]
    processor_flops: Floats
    processor_watts: Floats
    core_processor: Ints
    core_names: tuple[str, ...]
    network: Network | None = field(default=None)
    node_gpus: Floats = field(default_factory=lambda: np.zeros(0))
    partitions: Partitions | None = None
    power_cap: float = math.inf
    routes: Routes | None = None
    topology: str = ""
    limiters: tuple[str, ...] = ()
    speeds: NodeSpeeds | None = None
    master_link: tuple[str, str] | None = None
    links_of_file: Callable[[], Routes] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        try:
            cap = float(self.power_cap)
        except (TypeError, ValueError):
            cap = math.nan
        if not cap > 0.0:
            raise PlatformError(f"platform {self.name!r}: power_cap is {self.power_cap!r:.40}; a number of W is needed")
        object.__setattr__(self, "power_cap", cap)
        if len(self.node_gpus) == 0:
            object.__setattr__(self, "node_gpus", np.zeros(self.nodes))

    def __repr__(self) -> str:
        counts = [(self.nodes, "node"), (self.processors, "processor"), (self.cores, "core")]
        return f"Platform {self.name}: " + ", ".join(f"{number:,} {of}{'s' * (number != 1)}" for number, of in counts)

    def _repr_html_(self) -> str:
        """Return the nodes of each cluster and type as a notebook shows them."""
        alike: dict[tuple[int, str], list[int]] = {}
        for node, type_of in enumerate(zip(self.node_cluster.tolist(), self.node_types, strict=True)):
            alike.setdefault(type_of, []).append(node)
        rows = []
        for (cluster, kind), nodes in alike.items():
            own = np.flatnonzero(self.processor_node == nodes[0])
            row = [self.cluster_names[cluster], kind, f"{len(nodes):,}", str(self.processor_cores[own].sum())]
            row += [", ".join(sorted({self.processor_types[processor] for processor in own}))]
            row += [f"{self.processor_flops[own, 0].max() / GIGA:g}", f"{self.node_memory[nodes[0]] / 1000.0:,.4g}"]
            rows.append([*row, f"{self.node_gpus[nodes[0]]:g}"])
        return html_table(repr(self), TITLES, rows)

    @property
    def links(self) -> Network:
        """The network; if unknown, links of 10 Gbit/s without latency."""
        clusters = len(self.cluster_names)
        return self.network or Network(
            (DEFAULT_BANDWIDTH,) * clusters, (DEFAULT_LATENCY,) * clusters, DEFAULT_BANDWIDTH, DEFAULT_LATENCY
        )

    @property
    def cores(self) -> int:
        """Number of cores, C."""
        return len(self.core_processor)

    @property
    def processors(self) -> int:
        """Number of processors, P."""
        return len(self.processor_node)

    @property
    def nodes(self) -> int:
        """Number of nodes, N."""
        return len(self.node_cluster)

    @cached_property
    def processor_cores(self) -> Ints:
        """(P,) number of cores of each processor."""
        return np.bincount(self.core_processor, minlength=self.processors)

    @cached_property
    def most_watts(self) -> Floats:
        """(C + 1,) W, largest power of all cores by the number of cores that serve jobs.

        Idle cores count with the power of P2, that of idle cores beside busy ones.
        """
        watts = self.processor_watts
        idle, serving = watts[:, [P2, P3]].max(axis=1), watts[:, [P0, P1]].max(axis=1)
        more = np.sort(np.repeat(np.maximum(serving - idle, 0.0), self.processor_cores))[::-1]
        return float(idle @ self.processor_cores) + np.concatenate([[0.0], np.cumsum(more)])

    @cached_property
    def usable_cores(self) -> int:
        """How many cores may serve jobs at once: all, or as many as the power cap allows in any case.

        Raises:
            PlatformError: the cap leaves none.
        """
        if math.isinf(self.power_cap):
            return self.cores
        cores = int(np.searchsorted(self.most_watts, self.power_cap, side="right")) - 1
        if cores < 1:
            least = f"one that serves a job and the idle others may draw {self.most_watts[1]:g} W"
            raise PlatformError(f"platform {self.name!r}: a power cap of {self.power_cap:g} W leaves no core; {least}")
        return cores

    @cached_property
    def reference_flops(self) -> float:
        """Mean peak flop/s of a core: converts requested seconds into operations (thesis 3.1.3, "reference speed")."""
        return float(np.mean(self.processor_flops[self.core_processor, P0]))

    def digest(self) -> str:
        """Return a SHA-256 of all its data, independent of the source files; the name is excluded."""
        found = hashlib.sha256()
        absent = {
            "routes": True,
            "links_of_file": True,
            "topology": not self.topology,
            "power_cap": math.isinf(self.power_cap),
            "limiters": not self.limiters,
            "speeds": self.speeds is None,
            "master_link": self.master_link is None,
        }
        for column in fields(self):
            value = getattr(self, column.name)
            if absent.get(column.name, False):
                continue  # absent fields are left out, so that digests stay valid when fields are added
            if column.name != "name":
                content = value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
                found.update(f"{column.name} {len(content)} ".encode() + content)
        return found.hexdigest()


def flops_by_pstate(peak_gflops: float) -> list[float]:
    """Return the flop/s of a core in P0..P3, rounded to the Mflop/s of the platform XML (thesis 3.1.2).

    Batsim and the embedded simulator must use the same values, so the rounding happens here and not in the writer.
    """
    return [float(f"{peak_gflops * share:.3f}") * GIGA if share else IDLE_FLOPS for share in SPEED_SHARE]


def watts_by_pstate(peak_watts: float) -> list[float]:
    """Return the power of a core in P0..P3, rounded to the mW of the platform XML (thesis 3.1.2)."""
    return [float(f"{peak_watts * share:.3f}") for share in POWER_SHARE]


IDLE_FLOPS = 0.001  # flop/s in P2 and P3: SimGrid requires a positive speed


NAME_DIGITS = 5  # at least; see core_names


def core_names(cores: int) -> tuple[str, ...]:
    """Return the host names of a platform: ``cor_`` and the number, zero-padded to five digits or more if needed.

    Batsim 3 and 4 number hosts in byte order, Batsim 5 in natural order; with one width both give the platform's order.
    """
    width = max(NAME_DIGITS, len(str(cores - 1)))
    return tuple([f"cor_{core:0{width}d}" for core in range(cores)])
