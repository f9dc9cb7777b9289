"""The arrays of a running cluster, which every compiled function reads and writes.

A job, a processor, a node is a row of a structured array (``tables.jobs[j].start`` in compiled code,
``tables.jobs["start"]`` for the whole column); ``Tables`` bundles the arrays so that they pass as one argument.
Each run of a batch has its own, side by side in one block of memory (`run.memory`).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hdeeprm_like.cluster.links import parts_of
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.job_lists import JobLists, Sorted, new_job_lists
from hdeeprm_like.engine.job_lists import make_room as make_room_in
from hdeeprm_like.engine.node_sets import NodeSets
from hdeeprm_like.engine.numbers import NUMBER_OF_ORDERS, REQUESTED
from hdeeprm_like.engine.words import LARGE, STRETCH, new_words, words_of
from hdeeprm_like.types import Ints, Records

UNKNOWN, WAITING, RUNNING, COMPLETED, REJECTED = 0, 1, 2, 3, 4  # status of a job
ENDS_NOW = 5  # status of a running job that a decision ends, at its finish; on the textbook's clock only

NOTHING, CORES, MEMORY, GPUS = 0, 1, 2, 3  # what a blocked or rejected job lacks

CLOCK = np.dtype(
    [
        ("now", "f8"),  # s, of the instant being decided
        ("watts", "f8"),  # W, all cores
        ("joules", "f8"),  # J since time 0, all cores
        ("wake_at", "f8"),  # s, the decision system's next call, infinite for none
        ("random", "u8"),  # state of the generator behind the random policies
        ("epoch", "f8"),  # s on the trace's clock at simulation time 0; F1 to F4 use it
        ("submitted", "i8"),  # jobs submitted so far
        ("waiting", "i8"),  # jobs in the queue
        ("demanding", "i8"),  # waiting jobs that request memory or GPUs
        ("sorted", "i8"),  # the first lists of Tables.waiting, which hold the waiting jobs now; the others are empty
        ("always", "i8"),  # those that always do, the others while many jobs wait
        ("running", "i8"),
        ("completed", "i8"),
        ("rejected", "i8"),
        ("free_cores", "i8"),  # free cores, no more than the power cap allows
        ("most_cores", "i8"),  # most cores that may serve jobs at once
        ("placed", "i8"),  # used entries of Tables.allocation
        ("places", "i8"),  # stretches that all known jobs can take: the largest capacity that the allocation needs
        ("changes", "i8"),  # used entries of Tables.changes
        ("first_start", "i8"),  # first change of a job started in this instant
        ("started_now", "i8"),  # jobs started in this instant
        ("rejected_now", "i8"),  # used entries of Tables.rejected_now
        ("touched", "i8"),  # used entries of Tables.touched
        ("ends_now", "i8"),  # jobs that decisions of this instant end, see ENDS_NOW
        ("blocked", "i8"),  # what the selected job lacks: NOTHING, CORES, MEMORY or GPUS
        ("blocked_job", "i8"),
        ("blocked_before", "i8"),  # last logged value of blocked
        ("whole", "i8"),  # 1 if one node must take all cores of a job; jobs too large for any node are rejected
        ("partitioned", "i8"),  # 1 on a platform with partitions: each job may run on its set of Tables.node_sets
        ("arrivals_over", "i8"),  # 1 when no job will be submitted any more
        ("logged", "i8"),  # used entries of Tables.log
        ("decisions", "i8"),  # jobs selected, whether they were started or did not fit
        ("calls", "f8", (16,)),  # s, dates of the last calls requested in messages
    ],
    align=True,
)

JOB = np.dtype(
    [
        ("submit", "f8"),  # s
        ("requested_time", "f8"),  # s
        ("requested_ops", "f8"),  # flop per core, by the user's estimate
        ("memory", "f8"),  # MB per core
        ("gpus", "f8"),  # per core
        ("bandwidth", "f8"),  # GB/s per core
        ("start", "f8"),  # s, as known to the decision system, nan before
        ("finish", "f8"),  # s, nan before
        ("done", "f8"),  # flop per core computed until as_of
        ("speed", "f8"),  # flop/s of its slowest core since as_of
        ("as_of", "f8"),  # s
        ("run_time", "f8"),  # s, run time on the platform's mean core, nan if unknown
        ("user", "i8"),  # any number, -1 if unknown
        ("program", "i8"),  # number of its executable or job name, -1 if unknown
        ("first", "i8"),  # its cores are allocation[first : first + stretches]
        ("size", "i4"),  # cores
        ("status", "i4"),
        ("place", "i4"),  # place in Tables.members while it waits
        ("lacks", "i4"),  # why it was rejected
        ("stretches", "i8"),  # number of its stretches of neighbouring cores, 0 if cores are counted
    ],
    align=True,
)

PROCESSOR = np.dtype(
    [
        ("bandwidth", "f8"),  # GB/s
        ("flops", "f8", (4,)),  # flop/s of a core by P-state
        ("watts", "f8", (4,)),  # W of a core by P-state
        ("node", "i4"),
        ("first_core", "i4"),
        ("cores", "i4"),
        ("first_word", "i4"),  # first of its consecutive words in Tables.words
        ("words", "i4"),
    ],
    align=True,
)

LOAD = np.dtype(
    [
        ("used_bandwidth", "f8"),  # GB/s requested by its jobs; may exceed bandwidth
        ("watts", "f8"),  # W of its cores
        ("free", "i4"),  # idle, available cores
        ("busy", "i4"),  # cores serving a job
        ("oversubscribed", "i4"),  # 1 when used_bandwidth exceeds bandwidth
        ("picked", "i4"),  # cores booked for the job being placed
    ],
    align=True,
)

NODE = np.dtype(
    [
        ("memory", "f8"),  # MB
        ("gpus", "f8"),
        ("cores", "i4"),
        ("first_processor", "i4"),
        ("processors", "i4"),
    ],
    align=True,
)

NODE_LOAD = np.dtype(
    [
        ("free_memory", "f8"),  # MB
        ("free_gpus", "f8"),
        ("busy", "i4"),  # cores serving a job
    ],
    align=True,
)

PICK = np.dtype(
    [
        ("processor", "i4"),
        ("used_bandwidth", "f8"),  # GB/s, before the booking for the job being placed
        ("free_memory", "f8"),  # MB, on its node before the booking
        ("free_gpus", "f8"),  # on its node before the booking
    ],
    align=True,
)

SHIFT = 4  # processor p is in group p >> SHIFT
ALL, COUNTED = 0b1111, 0b1000
GROUP = np.dtype(
    [
        ("outdated", "i8"),  # bits of what changed since it was written: the best by each of three policies, COUNTED
        ("key", "f8", (3,)),  # the largest key among processors with free cores by HIGH_CORES, HIGH_MEM, HIGH_MEM_BW,
        ("best", "i8", (3,)),  # and the first processor that has it, -1 for none; where outdated, an upper bound
        ("cores", "i8"),  # free cores
        ("least", "f8"),  # MB, the least free memory of a node there
        ("eligible", "i8"),  # scratch: free cores with room for the job being placed
    ],
    align=True,
)
SPAN = np.dtype([("first", "i4"), ("end", "i4")], align=True)  # words of processors with an equal peak value

LOG = np.dtype([("time", "f8"), ("kind", "i4"), ("row", "i4"), ("value", "i4"), ("cores", "i4")], align=True)
# kinds of log entries, and the meaning of row and value (and cores, 0 for the others)
LOG_START = 0  # job
LOG_END = 1  # job
LOG_PSTATE = 2  # first core of neighbours whose power is the same, P-state and the one before it, number of cores
LOG_BLOCKED = 3  # job, what it lacks
LOG_OVERSUBSCRIBED = 4  # processor, 1 begins or 0 ends
LOG_REJECT = 5  # job, what it lacks
LOG_REQUEST = 6  # a SET_RESOURCE_STATE: number of entries of LOG_PSTATE that follow, P-state, number of cores
PSTATE_BITS, PSTATE_MASK = 2, 3  # a value of LOG_PSTATE is the former state shifted by PSTATE_BITS, plus the new one

SUBMITTED, STARTED, ENDED, WITHDRAWN = 0, 1, 2, 3  # kinds of changes, see Tables.changes
KIND_BITS, KIND_MASK = 2, 3  # an entry is the job shifted by KIND_BITS, plus the kind

IDLE_CORE = -1  # in place of a job, for an idle core

LEAST_ROOM = 64  # smallest number of rows of tables that grow


class Tables(
    Bundle,
    shared=("processors", "nodes", "spans", "walks", "core_processor", "parts", "list_of", "log"),
    written_first=("owners", "picks"),
):
    """The arrays of one cluster and its jobs; J, C, P, N as in ``types``, W words.

    Attributes:
        clock: (1,) CLOCK.
        jobs: (J,) JOB, in the order of submission; with spare rows if jobs become known during the run.
        processors, nodes: (P,) PROCESSOR, (N,) NODE, the hardware;
        loads, node_loads: (P,) LOAD, (N,) NODE_LOAD, its load.
        spans: SPAN, the processors by falling peak speed, by rising peak power, and in their order.
        walks: (4,) the first span of each of these, and their number.
        core_processor: (C,). parts: (P,) part of the network of each processor, see ``neighbours``.
        words: (W,) WORD: which cores serve jobs, which are available, and their P-states, see ``words``.
        roomy: bits of the words that have a free core, 64 words per entry.
        repeats: bits of the words that equal the one before, whose own entries are outdated, see ``joined_words``;
        empty, as touching and touched_words, on a machine whose processors have few words.
        owners: (C,) the job of a core at which the cores of a job begin in a word; undefined at other cores.
        allocation: STRETCH, cores of the started jobs, one job after the other; empty if cores are counted and have
        no names.
        members: (J,) the waiting jobs in no order; the first clock.waiting entries count.
        waiting: sorted lists of these, one for each requested order, see CLOCK.sorted. running: of the running jobs.
        list_of: (NUMBER_OF_ORDERS,) the list of waiting jobs for each order by requested times, -1 if there is none.
        changes: everything that has happened to jobs, see `KIND_BITS`; each reader keeps its own cursor.
        rejected_now: (J,) jobs rejected in this instant.
        touched: (W,) words whose cores may have changed P-state in this instant; where words are joined the first of
        touched_words: (W,) neighbouring words. touching: bits of all of these.
        picks: (P,) PICK, scratch: processors with cores booked for the job being placed.
        groups: (P / 16,) GROUP, what is free on neighbouring processors, see ``processor_search``.
        log: record of events; empty to keep no log.
        node_sets: where jobs may run; empty on a platform without partitions.
    """

    clock: Records
    jobs: Records
    processors: Records
    nodes: Records
    loads: Records
    node_loads: Records
    spans: Records
    walks: Ints
    core_processor: Ints
    parts: Ints
    words: Records
    roomy: Ints
    repeats: Ints
    owners: Ints
    allocation: Records
    members: Ints
    waiting: JobLists
    running: JobLists
    list_of: Ints
    changes: Ints
    rejected_now: Ints
    touched: Ints
    touched_words: Ints
    touching: Ints
    picks: Records
    groups: Records
    log: Records
    node_sets: NodeSets


def rows_of_processors(platform: Platform) -> Records:
    """Return (P,) PROCESSOR, one row per processor."""
    processors = np.zeros(platform.processors, PROCESSOR)
    processors["node"] = platform.processor_node
    processors["bandwidth"] = platform.processor_bandwidth
    processors["flops"] = platform.processor_flops
    processors["watts"] = platform.processor_watts
    processors["cores"] = platform.processor_cores
    processors["words"] = words_of(platform.processor_cores)
    processors["first_word"] = np.cumsum(processors["words"]) - processors["words"]
    processors["first_core"] = np.concatenate([[0], np.cumsum(platform.processor_cores)[:-1]])
    return processors


def rows_of_nodes(platform: Platform) -> Records:
    """Return (N,) NODE, one row per node."""
    nodes = np.zeros(platform.nodes, NODE)
    nodes["memory"], nodes["gpus"] = platform.node_memory, platform.node_gpus
    nodes["cores"] = np.bincount(platform.processor_node, platform.processor_cores, platform.nodes).astype(np.int32)
    nodes["processors"] = np.bincount(platform.processor_node, minlength=platform.nodes)
    nodes["first_processor"] = np.searchsorted(platform.processor_node, np.arange(platform.nodes))
    return nodes


def row_of_clock(platform: Platform, seed: int) -> Records:
    """Return (1,) CLOCK of an idle cluster."""
    clock = np.zeros(1, CLOCK)
    clock["free_cores"] = clock["most_cores"] = platform.usable_cores
    clock["random"] = seed
    clock["wake_at"] = np.inf
    clock["watts"] = float(np.sum(platform.processor_watts[:, 3] * platform.processor_cores))
    return clock


def spans_of(processors: Records) -> tuple[Records, Ints]:
    """Return `Tables.spans` and `Tables.walks`; of neighbours with equal values the lower comes first."""
    ends, walks = processors["first_word"] + processors["words"], list[Records]()
    for key in (-processors["flops"][:, 0], processors["watts"][:, 0], np.zeros(len(processors))):
        first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
        spans = np.zeros(len(first), SPAN)
        spans["first"], spans["end"] = processors["first_word"][first], ends[np.append(first[1:], len(key)) - 1]
        walks.append(spans[np.argsort(key[first], kind="stable")])
    return np.concatenate(walks), np.cumsum([0, *map(len, walks)])


class Capacity(NamedTuple):
    """For how much there is room in tables at first.

    Attributes:
        jobs: rows for jobs. running: most of them that run at once. places: stretches that all of them can take
        together. log: entries of the log, 0 for no log.
    """

    jobs: int
    running: int
    places: int
    log: int


def new_tables(platform: Platform, room: Capacity, lists: tuple[Sorted, Sorted], seed: int, sets: NodeSets) -> Tables:
    """Return the tables of an idle cluster; the caller must still write the rows of jobs.

    Args:
        lists: what the lists of waiting and of running jobs are sorted by. seed: of the random policies.
        sets: where the jobs may run.
    """
    processors, words = rows_of_processors(platform), new_words(platform)
    loads, node_loads = np.zeros(platform.processors, LOAD), np.zeros(platform.nodes, NODE_LOAD)
    loads["free"] = platform.processor_cores
    loads["watts"] = platform.processor_watts[:, 3] * platform.processor_cores
    node_loads["free_memory"], node_loads["free_gpus"] = platform.node_memory, platform.node_gpus
    of_words = int(words_of(np.array([len(words)]))[0])  # entries that have a bit for each word
    joins = processors["words"].max() >= LARGE
    spans, walks = spans_of(processors)
    groups = np.zeros(((platform.processors - 1) >> SHIFT) + 1, GROUP)
    groups["outdated"], groups["key"] = ALL, np.inf
    list_of = np.full(NUMBER_OF_ORDERS, -1, np.int32)
    for v, (order, times) in enumerate(lists[0]):
        if times == REQUESTED:
            list_of[order] = v
    return Tables(
        clock=row_of_clock(platform, seed),
        jobs=np.empty(room.jobs, JOB),
        processors=processors,
        nodes=rows_of_nodes(platform),
        loads=loads,
        node_loads=node_loads,
        spans=spans,
        walks=walks,
        core_processor=platform.core_processor.astype(np.int32),
        parts=parts_of(platform).astype(np.int32),
        words=words,
        roomy=np.full(of_words, -1, np.int64),
        repeats=np.zeros(of_words + 1 if joins else 0, np.int64),  # and one for the end of the last word
        owners=np.zeros(platform.cores, np.int32),
        allocation=np.empty(room.places, STRETCH),  # written before it is read, as all that has rows for jobs
        members=np.empty(room.jobs, np.int32),
        waiting=new_job_lists(lists[0], room.jobs, room.jobs),
        running=new_job_lists(lists[1], room.jobs, room.running),
        list_of=list_of,
        changes=np.empty(3 * room.jobs, np.int64),
        rejected_now=np.empty(room.jobs, np.int32),
        touched=np.zeros(len(words), np.int32),
        touched_words=np.zeros(len(words) if joins else 0, np.int32),
        touching=np.zeros(of_words if joins else 0, np.int64),
        picks=np.zeros(platform.processors, PICK),
        groups=groups,
        log=np.empty(room.log, LOG),
        node_sets=sets,
    )


def make_room(tables: Tables, jobs: int, places: int) -> None:
    """Grow tables to the given numbers of jobs and stretches, at least to twice their size."""
    if jobs > len(tables.jobs):
        rows = max(jobs, 2 * len(tables.jobs), LEAST_ROOM)
        for name in ("jobs", "members", "rejected_now"):
            setattr(tables, name, longer(getattr(tables, name), rows))
        tables.changes = longer(tables.changes, 3 * rows)
        make_room_in(tables.waiting, rows)
        make_room_in(tables.running, rows)
    if places > len(tables.allocation):
        tables.allocation = longer(tables.allocation, max(places, 2 * len(tables.allocation), LEAST_ROOM))


def longer(column: NDArray[Any], rows: int, used: int | None = None) -> NDArray[Any]:
    """Return a copy of a column with zeros appended.

    Args:
        used: number of valid leading entries, None for all. Zeros that are never written take no memory and no time.
    """
    kept = len(column) if used is None else used
    grown = np.zeros(rows, column.dtype)
    grown[:kept] = column[:kept]
    return grown
