"""What baselines with guaranteed starts remember (`guarantees`)."""

from collections.abc import Sequence

import numpy as np

from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import longer
from hdeeprm_like.types import Floats, Ints, Records

BOUND = np.dtype(
    [
        ("factor", "f8"),  # of the time that the machine needs for all work, K; 0 for no guarantees
        ("due", "f8"),  # s, when the job that came last is due
        ("soonest", "f8"),  # s, no later than the first reservation; not after now where one is to be tried again
        ("until", "f8"),  # s, to when cores of overdue jobs are taken from the profile,
        ("overdue", "i8"),  # and how many these are
        ("on_nodes", "i8"),  # 1 where it matters on which nodes cores are
        ("work", "f8"),  # core s that the waiting jobs ask for
        ("ends", "f8"),  # sum over the running jobs of cores times expected end in s,
        ("cores", "i8"),  # and of their cores
        ("asked", "f8"),  # core s that the ended jobs have asked for,
        ("used", "f8"),  # and that they have used
        ("worst", "f8"),  # s, the longest that the machine has needed for all work, fading,
        ("worst_at", "f8"),  # s, since then
    ],
    align=True,
)


class Bounds(Bundle):
    """The guarantees of K baselines; J jobs, N nodes, W words of 64 nodes. Empty where no baseline gives any.

    Attributes:
        rows: (K,) BOUND.
        promised: (K, J) s, by when each job was guaranteed to start as it came. due: (K, J) s, when it is due.
        cores: (J,) that each job asked for as it came.
        anywhere: (K, J) 1 where the reservation of a waiting job is of cores anywhere, else it is of nodes;
        nodes: (J, K * W) bits, these nodes.
        allowed: (W,) scratch: bits, the nodes that a job may have. picked: (N,) scratch: cores of a job on each node.
    """

    rows: Records
    promised: Floats
    due: Floats
    anywhere: Ints
    cores: Ints
    nodes: Ints
    allowed: Ints
    picked: Ints


def new_bounds(state: State, baselines: Sequence[Baseline], jobs: int) -> Bounds:
    """Return what baselines with guarantees remember before the first job comes."""
    count, platform = len(baselines), state.platform
    rows = np.zeros(count, BOUND)
    rows["factor"] = [baseline.bound for baseline in baselines]
    rows["soonest"] = np.inf
    rows["on_nodes"] = state.named and (platform.partitions is not None or bool(state.tables.clock["whole"][0]))
    used = bool(rows["factor"].any())
    words = -(-platform.nodes // 64) if used and state.named else 0
    jobs = jobs if used else 0
    return Bounds(
        rows=rows,
        promised=np.full((count, jobs), np.nan),
        due=np.zeros((count, jobs)),
        anywhere=np.zeros((count, jobs), np.int64),
        cores=np.zeros(jobs, np.int64),
        nodes=np.zeros((jobs, count * words), np.int64),
        allowed=np.zeros(words, np.int64),
        picked=np.zeros(platform.nodes if used else 0, np.int64),
    )


def make_room_for_jobs(bounds: Bounds, jobs: int) -> None:
    """Have room for so many jobs; under Batsim they become known on the way."""
    if not bounds.rows["factor"].any() or jobs <= len(bounds.cores):
        return
    for name, fill in (("promised", np.nan), ("due", 0.0), ("anywhere", 0)):
        old = getattr(bounds, name)
        grown = np.full((len(old), jobs), fill, old.dtype)
        grown[:, : old.shape[1]] = old
        setattr(bounds, name, grown)
    nodes = np.zeros((jobs, bounds.nodes.shape[1]), np.int64)
    nodes[: len(bounds.nodes)] = bounds.nodes
    bounds.nodes, bounds.cores = nodes, longer(bounds.cores, jobs)
