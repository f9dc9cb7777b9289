"""Memory of a baseline with guaranteed starts (`guarantees`)."""

import numpy as np

from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.decision.policies.core_profile import NONE_RESERVED, Profile, new_profile
from hdeeprm_like.decision.policies.node_spans import NodeSpans, new_spans
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.state import State
from hdeeprm_like.types import Floats, Ints, Records

BOUND = np.dtype(
    [
        ("factor", "f8"),  # multiple of the machine's time for all work
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
        ("worst", "f8"),  # s, the longest time that the machine has needed for all work, fading,
        ("worst_at", "f8"),  # s, date of *worst*
    ],
    align=True,
)


class Bounds(Bundle):
    """The guarantees of a baseline; J jobs, N nodes.

    Attributes:
        state: (1,) BOUND. profile: free cores beside all reservations.
        reserved: (J,) s, planned start of a waiting job.
        promised: (J,) s, start guaranteed to each job on arrival. due: (J,) s, its due date.
        spans: reservations of nodes, each in the row of its job; none where cores have no names.
        cores: (J,) that each job requested on arrival. picked: (N,) scratch: cores of a job on each node.
    """

    state: Records
    profile: Profile
    reserved: Floats
    promised: Floats
    due: Floats
    spans: NodeSpans
    cores: Ints
    picked: Ints


def new_bounds(state: State, baseline: Baseline, jobs: int) -> Bounds:
    """Return the memory of a baseline with guarantees before the first arrival."""
    platform, row = state.platform, np.zeros(1, BOUND)
    row["factor"], row["soonest"] = baseline.mode.bound, np.inf
    row["on_nodes"] = state.named and (platform.partitions is not None or bool(state.tables.clock["whole"][0]))
    words = -(-platform.nodes // 64) if state.named else 0
    return Bounds(
        state=row,
        profile=new_profile(jobs),
        reserved=np.full(jobs, NONE_RESERVED),
        promised=np.full(jobs, np.nan),
        due=np.zeros(jobs),
        spans=new_spans(jobs, words),
        cores=np.zeros(jobs, np.int64),
        picked=np.zeros(platform.nodes, np.int64),
    )
