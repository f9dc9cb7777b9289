"""Sets of nodes that jobs may run on, on a platform with partitions; empty otherwise.

Each pair of partition and constraint that occurs is a *set* of nodes with a number. Jobs without a partition belong to
the default one.

Other functions call those for such platforms by address (`node_calls`), so that a run on a platform without partitions
has the same types, and no other machine code, but is compiled without them.
"""

import functools
from collections.abc import Sequence

import numpy as np

from hdeeprm_like.cluster.partitions import Demand, Demands, Partitions, demands_of, has_features, no_demands
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.words import BITS
from hdeeprm_like.errors import OptionsError, WorkloadError
from hdeeprm_like.types import Bools, Floats, Ints, Records

DEMAND = np.dtype(
    [
        ("set", "i4"),  # number of the set of nodes that the job may run on
        ("partition", "i4"),
        ("nodes", "i4"),  # exact number of nodes, 0 for any
        ("task", "i4"),  # cores that must be on one node
        ("exclusive", "i4"),  # 1 if it gets whole nodes
        ("held", "i4"),  # nodes of a started job: NodeSets.hold_node[first_hold : first_hold + held],
        ("first_hold", "i8"),  # and cores on each of them in hold_cores
        ("asked", "i8"),  # cores that it requests; those of whole nodes may be more
        ("gpus", "f8"),  # per node, besides those bound to its cores
    ],
    align=True,
)


CHOOSE, FITS, FITS_ON, LACKS, RELEASE, NUMBER_OF_CALLS = range(6)  # places in NodeSets.calls


class NodeSets(Bundle, shared=("members", "member_bits", "rank", "partition_nodes", "calls")):
    """Where jobs may run; J jobs, N nodes, S sets, Q partitions, W words of 64 nodes.

    Attributes:
        demands: (J,) DEMAND.
        members: (S, N) 1 if a node belongs to a set. partition_nodes: (Q, N) the same for partitions.
        member_bits: (S, W) the members of each set as bits.
        rank: (N,) rank of each node's weight, from 0 on.
        hold_node, hold_cores: nodes of the started jobs, one job after the other, and the cores on them.
        holds: (1,) used entries of these.
        allowed: (N,) scratch: 1 if the job being placed may run there.
        cores, memory, gpus: (N,) scratch: free capacity of each node, at the time considered.
        room: (N,) scratch: cores that the job can get there. picked: (N,) cores that it does get.
        calls: addresses of the functions in `node_calls`; empty without partitions.
    """

    demands: Records
    members: Ints
    member_bits: Ints
    partition_nodes: Ints
    rank: Ints
    hold_node: Ints
    hold_cores: Ints
    holds: Ints
    allowed: Ints
    cores: Ints
    memory: Floats
    gpus: Floats
    room: Ints
    picked: Ints
    calls: Ints


class NumberedSets:
    """The sets that occur, by partition and constraint; S so far, the first is the whole default partition.

    Attributes:
        partition: (S,) number of the partition of each set. members: (S,) of (N,) which nodes belong to each set.
        nodes: most nodes held at once by all jobs added so far.
        whole: whether one node must take all cores of a job.
    """

    def __init__(self, partitions: Partitions, whole: bool = False) -> None:
        self._partitions = partitions
        self.whole = whole
        self._numbers: dict[tuple[str, str], int] = {}
        self.partition: list[int] = []
        self.members: list[Bools] = []
        self.nodes = 0
        self.number_of("", "")

    def number_of(self, partition: str, constraint: str) -> int:
        """Return the number of a set.

        Raises:
            WorkloadError: there is no such partition.
        """
        key = partition, constraint
        if key not in self._numbers:
            number = self._partitions.number_of(partition)
            suits = np.array([has_features(features, constraint) for features in self._partitions.features])
            self._numbers[key] = len(self.members)
            self.partition.append(number)
            self.members.append(self._partitions.nodes[number] & suits)
        return self._numbers[key]

    def rows(self, demands: Demands, sizes: Ints, ids: Sequence[str] = ()) -> Records:
        """Return (J,) DEMAND.

        Args:
            ids: of the jobs, for errors.

        Raises:
            WorkloadError: there is no such partition, or a job requests more nodes than cores.
            OptionsError: a job requests several nodes, but one must take all of its cores.
        """
        rows = np.zeros(len(sizes), DEMAND)
        rows["set"] = [self.number_of(*key) for key in zip(demands.partition, demands.constraint, strict=True)]
        rows["partition"] = np.array(self.partition)[rows["set"]]
        rows["nodes"], rows["task"], rows["asked"] = demands.nodes, np.maximum(demands.task, 1), sizes
        rows["exclusive"] = demands.exclusive | self._partitions.exclusive[rows["partition"]]
        rows["gpus"] = demands.gpus_per_node
        thin = (demands.nodes > sizes) & (rows["exclusive"] == 0)  # whole nodes may be more than the requested cores
        if thin.any():
            row = int(thin.argmax())
            wanted = f"requests {demands.nodes[row]} nodes and {sizes[row]} cores; each node needs one"
            raise WorkloadError(f"job {ids[row].partition('!')[2][:40]}: {wanted}" if ids else wanted)
        if self.whole and len(rows) and demands.nodes.max() > 1:
            raise OptionsError(f"a job requests {demands.nodes.max()} nodes, but one must take all of its cores")
        if self.whole:
            rows["nodes"] = 1
        return rows

    @property
    def columns(self) -> Ints:
        """(S, N) 1 if a node belongs to a set."""
        return np.ascontiguousarray(self.members, np.int8)


def new_node_sets(platform: Platform, jobs: Workload | None, numbered: NumberedSets | None) -> NodeSets:
    """Return the sets of nodes of some jobs; empty if the platform has no partitions.

    Args:
        jobs: None if they become known during the run, see `add_demand`. numbered: the sets of the platform.

    Raises:
        WorkloadError: a job requests an unknown partition, nodes on a platform without partitions, or more nodes than
            cores.
        OptionsError: a job requests several nodes, but one must take all of its cores.
    """
    demands = None if jobs is None else jobs.demands
    if numbered is None:
        if jobs is not None and demands is not None:
            refuse_demands(jobs.ids, demands)
        return no_node_sets()
    sizes = np.zeros(0, np.int64) if jobs is None else jobs.size
    rows = numbered.rows(demands or no_demands(len(sizes)), sizes, () if jobs is None else jobs.ids)
    nodes, places = platform.nodes, int(np.minimum(np.maximum(sizes, rows["nodes"]), platform.nodes).sum()) + 1
    assert platform.partitions is not None
    weights = np.unique(platform.partitions.weights, return_inverse=True)[1]
    return NodeSets(
        demands=rows,
        members=numbered.columns,
        member_bits=bits_of(numbered.columns),
        partition_nodes=np.ascontiguousarray(platform.partitions.nodes, np.int8),
        rank=weights.astype(np.int32),
        hold_node=np.zeros(places, np.int32),
        hold_cores=np.zeros(places, np.int32),
        holds=np.zeros(1, np.int64),
        allowed=np.zeros(nodes, np.int8),
        cores=np.zeros(nodes, np.int64),
        memory=np.zeros(nodes),
        gpus=np.zeros(nodes),
        room=np.zeros(nodes, np.int64),
        picked=np.zeros(nodes, np.int64),
        calls=np.zeros(NUMBER_OF_CALLS, np.int64),
    )


@functools.cache
def no_node_sets() -> NodeSets:
    """Return the sets of a platform without partitions: the same for all of these, as nothing writes to them."""
    none, rows, flags = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros((0, 0), np.int8)
    return NodeSets(
        demands=np.zeros(0, DEMAND),
        members=flags,
        member_bits=np.zeros((0, 0), np.int64),
        partition_nodes=flags,
        rank=rows,
        hold_node=rows,
        hold_cores=rows,
        holds=none,
        allowed=np.zeros(0, np.int8),
        cores=none,
        memory=np.zeros(0),
        gpus=np.zeros(0),
        room=none,
        picked=none,
        calls=none,
    )


def bits_of(members: Ints) -> Ints:
    """Return an (S, N) array of 0 and 1 as (S, W) bits, 64 nodes in each word."""
    words = -(-members.shape[1] // BITS)
    padded = np.zeros((len(members), words * BITS), np.uint8)
    padded[:, : members.shape[1]] = members
    packed: Ints = np.packbits(padded, axis=1, bitorder="little").view(np.int64)
    return packed


def take_sets(sets: NodeSets, numbered: NumberedSets, holds: int) -> None:
    """Copy all numbered sets into *sets*, and make room for *holds* held nodes; no job may be running."""
    sets.members = numbered.columns
    sets.member_bits = bits_of(sets.members)
    sets.hold_node, sets.hold_cores = np.zeros(holds, np.int32), np.zeros(holds, np.int32)


def most_cores(platform: Platform, nodes: Ints | int, sizes: Ints) -> Ints:
    """Return (J,) the most cores that each job can get; whole-node jobs may get more than they request.

    Args:
        nodes: (J,) exact number that each requests, 0 for any. sizes: (J,) cores that each requests.
    """
    if platform.partitions is None:
        return np.minimum(sizes, platform.cores)
    largest = int(np.bincount(platform.processor_node, platform.processor_cores).max())
    return np.minimum(np.maximum(sizes + largest, nodes * largest), platform.cores)


def refuse_demands(ids: Sequence[str], demands: Demands) -> None:
    """Raise if jobs request nodes on a platform without partitions.

    Raises:
        WorkloadError: the first of them.
    """
    for name, demand in zip(ids, demands.each(), strict=True):
        if (why := demand.refusal()) is not None:
            raise WorkloadError(f"job {name.partition('!')[2][:40]}: {why}")


def add_demand(sets: NodeSets, numbered: NumberedSets, row: int, size: int, demand: Demand) -> None:
    """Record the demand of a newly submitted job.

    Args:
        row: of the job; may be new. size: cores that it requests.

    Raises:
        WorkloadError: there is no such partition, or it requests more nodes than cores.
        OptionsError: it requests several nodes, but one must take all of its cores.
    """
    if row >= len(sets.demands):
        sets.demands = np.concatenate([sets.demands, np.zeros(row + 1, DEMAND)])
    sets.demands[row] = numbered.rows(demands_of([demand]), np.array([size]))[0]
    if len(numbered.members) > len(sets.members):
        sets.members = numbered.columns
        sets.member_bits = bits_of(sets.members)
    numbered.nodes += min(max(size, demand.nodes), sets.partition_nodes.shape[1])
    if numbered.nodes >= len(sets.hold_node):
        more = np.zeros(numbered.nodes + 1, np.int32)
        sets.hold_node, sets.hold_cores = (np.concatenate([old, more]) for old in (sets.hold_node, sets.hold_cores))
