"""Baselines as actions: what an agent, an options file or a comparison picks by name."""

from collections.abc import Sequence

import numpy as np

from hdeeprm_like.cluster.state import State
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.backfill import decide
from hdeeprm_like.decision.baselines import MODES, ORDERS, Baseline
from hdeeprm_like.decision.orders import RULE, Plan
from hdeeprm_like.decision.policies import CORE_POLICIES
from hdeeprm_like.decision.profile import NONE_NEW
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.types import Bools, Floats, Ints


def new_plan(
    state: State,
    baseline: Baseline,
    core_policy: str = "high_gflops",
    run_times: Floats | None = None,
    users: Ints | None = None,
    epoch: float = 0.0,
) -> Plan:
    """Return what a baseline keeps, before its first decision.

    Args:
        run_times: (J,) s, the actual ones, for a baseline that needs them.
        users: (J,) any numbers, for multifactor; one user if missing.
        epoch: s on the trace's clock when the simulation's shows 0; F1 to F4 look at it.

    Raises:
        OptionsError: the baseline looks at actual run times and there are none.
    """
    if baseline.needs_run_times and run_times is None:
        raise OptionsError(f"{baseline.name}: looks at actual run times, which only the embedded simulator knows")
    jobs = state.tables.jobs
    rule = np.zeros(1, RULE)
    rule["order"], rule["mode"] = ORDERS[baseline.order], MODES[baseline.mode]
    rule["core_policy"], rule["epoch"] = CORE_POLICIES[core_policy], epoch
    rule["held"], rule["first_new"], rule["stale"] = -1, NONE_NEW, 1
    known = jobs["requested_time"].copy() if run_times is None else np.asarray(run_times, np.float64).copy()
    user = np.zeros(len(jobs), np.int64) if users is None else np.unique(users, return_inverse=True)[1]
    number_of_users = int(user.max(initial=0)) + 1
    return Plan(
        rule=rule,
        time=known.copy() if baseline.perfect else jobs["requested_time"].copy(),
        oracle=known,
        user=user,
        key=np.zeros(len(jobs)),
        queue=np.zeros(len(jobs) + 1, np.int32),
        others=np.zeros(len(jobs) + 1, np.int32),
        running=np.zeros(len(jobs) + 1, np.int32),
        end=np.zeros(len(jobs)),
        releases=np.zeros(len(jobs) + 1, np.int32),
        reserved=np.full(len(jobs), -1.0),
        point_time=np.zeros(2 * len(jobs) + 3),
        point_free=np.zeros(2 * len(jobs) + 3, np.int64),
        node_cores=np.zeros(state.platform.nodes, np.int64),
        node_memory=np.zeros(state.platform.nodes),
        usage=np.zeros(number_of_users),
        user_cores=np.zeros(number_of_users, np.int64),
    )


def actual_run_times(state: State, workload: Workload) -> Floats:
    """Return (J,) s that each job runs on the platform's mean core, as long as no processor is oversubscribed."""
    computing = workload.ops / state.platform.reference_flops
    times = np.where(workload.delay >= 0.0, workload.delay, computing)
    return np.asarray(np.minimum(times, workload.walltime))


class BaselineActions:
    """Each action is a baseline that starts what it would start now; one an instant.

    Attributes:
        names: with the core policy, ``"sjf+easy-high_gflops"``.
    """

    def __init__(
        self,
        state: State,
        baselines: Sequence[tuple[Baseline, str]],
        run_times: Floats | None = None,
        users: Ints | None = None,
        epoch: float = 0.0,
    ) -> None:
        self.names = tuple(f"{baseline.name}-{core}" for baseline, core in baselines)
        self.plans = tuple(new_plan(state, baseline, core, run_times, users, epoch) for baseline, core in baselines)
        self._all = np.ones(len(baselines), np.bool_)
        self._all.flags.writeable = False

    @property
    def size(self) -> int:
        """Number of actions."""
        return len(self.plans)

    def mask(self, state: State) -> Bools:
        """Return that all actions are legal."""
        return self._all

    def apply(self, action: int, state: State) -> bool:
        """Start jobs by the baseline; False, for an instant takes one action."""
        decide(state.tables, self.plans[action])
        return False
