"""Which jobs may take the place of which running ones, see `slurm_preemption`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.job_lists import make_room
from hdeeprm_like.engine.tables import Tables, longer
from hdeeprm_like.engine.words import BITS
from hdeeprm_like.types import Bools, Floats, Ints, Records

PREEMPTION = "preemption_rules"  # setting of partitions: `Preemption`
OFF, CANCEL, REQUEUE, SUSPEND = 0, 1, 2, 3  # what becomes of a job whose place another one takes
MOST_LEVELS = 8
TIERS = 2.0**16  # more than any PriorityTier
REQUEUES = 4  # times that each job may be requeued on average; then no job gives way any more

STATE = np.dtype(
    [
        ("on", "i8"),  # 1 if any job may take the place of another
        ("suspends", "i8"),  # 1 if any job may suspend another
        ("words", "i8"),  # of bits for the cores of a node
        ("beside", "i8"),  # 1 while a job is planned that may suspend others, on what it may take then
        ("read", "i8"),  # changes of the cluster up to which requeued jobs are back in the queue
        ("delay", "f8"),  # s after which a requeued job may start again
        ("next", "f8"),  # s, when the next requeued job may, or the next running one gives way; infinite for none
        ("requeues", "i8"),  # requeues that the tables can still take
        ("places", "i8"),  # nodes that requeued jobs can still get in them
    ],
    align=True,
)


@dataclass(frozen=True, eq=False)
class Preemption:
    """Rules of preemption; J jobs, K classes of jobs: partitions by their tiers, or QOS.

    Attributes:
        of_job: (J,) the class of each job. over: (K, K) whether a job of one may take the place of one of another.
        mode: (K,) OFF, CANCEL, REQUEUE or SUSPEND. exempt: (K,) s for which a running job of a class keeps its place.
        rank: (K,) classes of low rank give way first. delay: s after which a requeued job may start again.
    """

    of_job: Ints
    over: Bools
    mode: Ints
    exempt: Floats
    rank: Floats
    delay: float

    def levels(self) -> Floats:
        """Return (J,) how many classes below a job's one gives way to the next: Slurm serves high ones first."""
        level = np.zeros(len(self.mode))
        for _ in range(min(len(level), MOST_LEVELS)):
            level = np.where(self.over, level[None, :] + 1.0, 0.0).max(axis=1, initial=0.0)
        return np.asarray(level[self.of_job])


class SuspensionRows(Bundle):
    """Which cores jobs have, and when they were suspended; empty if no job ever is.

    N nodes, H places on nodes that jobs get (`NodeSets.hold_node`), B words of bits for the cores of a node.

    Attributes:
        takes: (K, K) whether a job of one class may suspend one of another.
        cores: (H, B) bits, the cores that a job has on a node. lent: (H,) how many of them belong to suspended jobs.
        borrowed: (J,) how many cores each job has of others. resume: (J,) s, when a job last went on, or will.
        pause: (J,) s that it is suspended in all, until then. before: (J,) the same until it was suspended last.
        used, below: (N, B) scratch: cores that a job cannot get, and those that it gets by suspending others.
        free: (N,) scratch: how many it can get.
    """

    takes: Ints
    cores: Ints
    lent: Ints
    borrowed: Ints
    resume: Floats
    pause: Floats
    before: Floats
    used: Ints
    below: Ints
    free: Ints


class PreemptionRows(Bundle):
    """The same for compiled functions; empty without preemption.

    Attributes:
        state: (1,) STATE. of_job: (J,). over: (K, K). mode, exempt, rank: (K,).
        arrival: (J,) s, when a job may start, as first submitted or requeued.
        ends: (J,) 1 for a running job that gives way, until it has ended. works: (J,) s that each job runs.
        victims, overlap: (J,) scratch: running jobs that may give way, and their nodes that the other job would get.
        suspension: what is known of jobs that are suspended.
    """

    state: Records
    of_job: Ints
    over: Ints
    mode: Ints
    exempt: Floats
    rank: Floats
    arrival: Floats
    ends: Ints
    works: Floats
    victims: Ints
    overlap: Ints
    suspension: SuspensionRows


def new_preemption(
    settings: Mapping[str, Any], submit: Floats, works: Floats, holds: int = 0, nodes: int = 0, cores: int = 0
) -> PreemptionRows:
    """Return the rules that settings have, before the first arrival.

    Args:
        submit, works: (J,) s. holds: places on nodes that the jobs can get. cores: of the largest node.
    """
    told: Preemption | None = settings.get(PREEMPTION)
    state, none = np.zeros(1, STATE), np.zeros(0, np.int64)
    state["next"] = np.inf
    if told is None:
        numbers = np.zeros(0)
        told, submit, works = Preemption(none, none.reshape(0, 0) > 0, none, numbers, numbers, 0.0), numbers, numbers
    else:
        state["on"], state["delay"] = 1, told.delay
    jobs, takes = len(submit), (told.over & (told.mode == SUSPEND)[None, :]).astype(np.int64)
    state["suspends"], state["words"] = takes.any(), -(-cores // BITS)
    return PreemptionRows(
        state=state,
        of_job=told.of_job.astype(np.int64),
        over=told.over.astype(np.int64),
        mode=told.mode.astype(np.int64),
        exempt=told.exempt.astype(np.float64),
        rank=told.rank.astype(np.float64),
        arrival=submit.astype(np.float64),
        ends=np.zeros(jobs, np.int64),
        works=works.astype(np.float64),
        victims=np.zeros(jobs, np.int64),
        overlap=np.zeros(jobs, np.int64),
        suspension=new_suspension(takes, jobs, holds, nodes, -(-cores // BITS)),
    )


def new_suspension(takes: Ints, jobs: int, holds: int, nodes: int, words: int) -> SuspensionRows:
    """Return that no job is suspended; empty if none ever is."""
    if not takes.any():
        jobs = holds = nodes = words = 0
    return SuspensionRows(
        takes=takes,
        cores=np.zeros((holds, words), np.int64),
        lent=np.zeros(holds, np.int64),
        borrowed=np.zeros(jobs, np.int64),
        resume=np.full(jobs, -np.inf),
        pause=np.zeros(jobs),
        before=np.zeros(jobs),
        used=np.zeros((nodes, words), np.int64),
        below=np.zeros((nodes, words), np.int64),
        free=np.zeros(nodes, np.int64),
    )


def tiers_with_levels(settings: Mapping[str, Any], tiers: Floats) -> Floats:
    """Return (J,) the tiers of jobs, those first that may take the place of others."""
    told: Preemption | None = settings.get(PREEMPTION)
    return tiers if told is None else tiers + TIERS * told.levels()


def make_room_for_requeues(tables: Tables, rows: PreemptionRows) -> None:
    """Grow tables that have space for each job once, if jobs may be requeued."""
    state, sets = rows.state[0], tables.node_sets
    if state["on"]:
        state["requeues"], state["places"] = REQUEUES * len(tables.jobs), REQUEUES * len(sets.hold_node)
        tables.changes = longer(tables.changes, len(tables.changes) + 2 * int(state["requeues"]))
        for lists in (tables.waiting, tables.running):  # which have space for so many arrivals
            make_room(lists, (1 + REQUEUES) * len(tables.jobs))
        for name in ("hold_node", "hold_cores"):
            setattr(sets, name, longer(getattr(sets, name), (1 + REQUEUES) * len(getattr(sets, name))))
