"""Memory of baselines with guaranteed starts (`guarantees`)."""

from collections.abc import Sequence

import numpy as np

from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import longer
from hdeeprm_like.types import Floats, Ints, Records

BOUND = np.dtype(
    [
        ("factor", "f8"),  # K, multiple of the machine's time for all work; 0 for no guarantees
        ("due", "f8"),  # s, due date of the last arrival
        ("soonest", "f8"),  # s, no later than the first reservation; not after now if one must be tried again
        ("until", "f8"),  # s, until when cores of overdue jobs are taken from the profile,
        ("overdue", "i8"),  # and the number of these cores
        ("on_nodes", "i8"),  # 1 if it matters on which nodes cores are
        ("work", "f8"),  # core s that the waiting jobs request
        ("ends", "f8"),  # sum over the running jobs of cores times expected end in s,
        ("cores", "i8"),  # and the sum of their cores
        ("asked", "f8"),  # core s that the ended jobs have requested,
        ("used", "f8"),  # and core s that they have used
    ],
    align=True,
)


class Bounds(Bundle):
    """The guarantees of K baselines; J jobs, N nodes, W words of 64 nodes. Empty if no baseline gives any.

    Attributes:
        rows: (K,) BOUND.
        promised: (K, J) s, start guaranteed to each job on arrival. due: (K, J) s, its due date.
        cores: (J,) that each job requested on arrival.
        anywhere: (K, J) 1 if the reservation of a waiting job is of cores anywhere, else of nodes;
        nodes: (J, K * W) bits of these nodes.
        allowed: (W,) scratch: bits of the nodes that a job may have. picked: (N,) scratch: cores of a job on each node.
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
    """Return the memory of baselines with guarantees before the first arrival."""
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
    """Grow the arrays to *jobs* jobs; with Batsim jobs become known during the run."""
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
