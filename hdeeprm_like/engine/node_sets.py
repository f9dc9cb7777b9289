"""The sets of nodes that jobs may run on, where a platform has partitions; absent where it has none.

Each pair of partition and constraint that occurs is a *set* of nodes with a number.
"""

import numpy as np

from hdeeprm_like.cluster.partitions import Demands, Partitions, has_features
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.engine.bundles import Bundle, BundleType, absent
from hdeeprm_like.types import Bools, Floats, Ints, Records

DEMAND = np.dtype(
    [
        ("set", "i4"),  # of nodes that the job may run on
        ("partition", "i4"),
        ("nodes", "i4"),  # how many exactly, 0 for any number
        ("task", "i4"),  # cores that must be on one node
        ("exclusive", "i4"),  # 1 where it gets whole nodes
        ("held", "i4"),  # nodes that a started job has: NodeSets.hold_node[first_hold : first_hold + held],
        ("first_hold", "i8"),  # and cores on each of them in hold_cores
        ("asked", "i8"),  # cores that it asks for; those of whole nodes may be more
    ],
    align=True,
)


class NodeSets(Bundle, shared=("members", "rank", "partition_nodes")):
    """Where jobs may run; J jobs, N nodes, S sets, Q partitions.

    Attributes:
        demands: (J,) DEMAND.
        members: (S, N) 1 where a node belongs to a set. partition_nodes: (Q, N) the same for partitions.
        rank: (N,) the weight of each node, as a number from 0 on.
        hold_node, hold_cores: nodes of the started jobs, one job after the other, and the cores there.
        holds: (1,) how many of these are used.
        allowed: (N,) scratch: 1 where the job that is placed may run.
        cores, memory, gpus: (N,) scratch: what is free on each node, at the time that is looked at.
        room: (N,) scratch: cores that the job can have there. picked: (N,) those that it gets.
    """

    demands: Records
    members: Ints
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


def no_partitions(tables: BundleType) -> bool:
    """Tell by the type of tables whether they are of a platform without partitions."""
    return bool(tables.fields["node_sets"][0].kind == "NoNodeSets")


def new_node_sets(platform: Platform, jobs: Workload | None) -> NodeSets:
    """Return the sets of nodes of some jobs; absent if the platform has no partitions, or the jobs ask for none.

    Raises:
        WorkloadError: a job names a partition that there is not.
    """
    partitions = platform.partitions
    if partitions is None or jobs is None or jobs.demands is None:
        return absent(NodeSets)
    demands, sizes = jobs.demands, jobs.size
    rows, members = demand_rows(partitions, demands, sizes)
    nodes, places = platform.nodes, int(most_cores(platform, demands, sizes).sum()) + 1
    weights = np.unique(partitions.weights, return_inverse=True)[1]
    return NodeSets(
        demands=rows,
        members=np.ascontiguousarray(members, np.int8),
        partition_nodes=np.ascontiguousarray(partitions.nodes, np.int8),
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
    )


def most_cores(platform: Platform, demands: Demands | None, sizes: Ints) -> Ints:
    """Return (J,) the most cores that each job can get; those of whole nodes may be more than it asks for."""
    if demands is None:
        return np.minimum(sizes, platform.cores)
    largest = int(np.bincount(platform.processor_node, platform.processor_cores).max())
    return np.minimum(np.maximum(sizes + largest, demands.nodes * largest), platform.cores)


def demand_rows(partitions: Partitions, demands: Demands, sizes: Ints) -> tuple[Records, Bools]:
    """Return (J,) DEMAND and (S, N) which nodes belong to each set."""
    numbers: dict[tuple[str, str], int] = {}
    members: list[Bools] = []
    of_job = np.zeros(len(sizes), np.int32)
    of_set: list[int] = []
    for job, key in enumerate(zip(demands.partition, demands.constraint, strict=True)):
        if key not in numbers:
            numbers[key] = len(members)
            partition = partitions.number_of(key[0])
            of_set.append(partition)
            suits = np.array([has_features(features, key[1]) for features in partitions.features])
            members.append(partitions.nodes[partition] & suits)
        of_job[job] = numbers[key]
    if not members:
        members, of_set = [partitions.nodes[partitions.default]], [partitions.default]
    rows = np.zeros(len(sizes), DEMAND)
    rows["set"], rows["partition"] = of_job, np.array(of_set)[of_job]
    rows["nodes"], rows["task"] = demands.nodes, np.maximum(demands.task, 1)
    rows["exclusive"] = demands.exclusive | partitions.exclusive[rows["partition"]]
    rows["asked"] = sizes
    return rows, np.array(members)
