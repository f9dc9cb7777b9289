"""Baselines as actions: what an agent, an options file or a comparison picks by name."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.actions import PolicyPairs
from hdeeprm_like.decision.names import MODES, ORDERS, Baseline
from hdeeprm_like.decision.names import baseline as baseline_named
from hdeeprm_like.decision.policies.conservative import NONE_NEW
from hdeeprm_like.decision.policies.easy import decide
from hdeeprm_like.decision.policies.pairs import JOB_POLICIES, PLACEMENTS
from hdeeprm_like.decision.policies.priorities import RULE, Plan
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.types import Bools, Floats, Ints

JOB_COLUMNS = ("time", "oracle", "user", "key", "queue", "others", "running", "end", "releases", "reserved")


def new_plan(
    state: State,
    baseline: Baseline,
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
    require_run_times(baseline, run_times)
    jobs = state.tables.jobs
    rule = np.zeros(1, RULE)
    rule["order"], rule["mode"] = ORDERS[baseline.order], MODES[baseline.mode]
    rule["core_policy"], rule["epoch"] = PLACEMENTS[baseline.placement], epoch
    rule["perfect"] = baseline.perfect
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
        node_gpus=np.zeros(state.platform.nodes),
        usage=np.zeros(number_of_users),
        user_cores=np.zeros(number_of_users, np.int64),
    )


def require_run_times(baseline: Baseline, run_times: Floats | None) -> None:
    """Raise an OptionsError if a baseline needs actual run times and there are none."""
    if baseline.needs_run_times and run_times is None:
        raise OptionsError(f"{baseline.name}: looks at actual run times, which only the embedded simulator knows")


def actual_run_times(state: State, workload: Workload) -> Floats:
    """Return (J,) s that each job runs on the platform's mean core, as long as no processor is oversubscribed."""
    computing = workload.ops / state.platform.reference_flops
    times = np.where(workload.delay >= 0.0, workload.delay, computing)
    return np.asarray(np.minimum(times, workload.walltime))


def with_room(plan: Plan, jobs: int) -> Plan:
    """Return a plan with room for so many jobs; under Batsim they become known on the way."""
    known = len(plan.time)
    if jobs <= known:
        return plan
    columns = {name: getattr(plan, name) for name in JOB_COLUMNS}
    longer = {name: np.concatenate([column, np.zeros(jobs - known, column.dtype)]) for name, column in columns.items()}
    more = 2 * (jobs - known)
    return plan._replace(
        **longer,
        point_time=np.concatenate([plan.point_time, np.zeros(more)]),
        point_free=np.concatenate([plan.point_free, np.zeros(more, np.int64)]),
    )


class BaselineActions:
    """Each action is a baseline that starts what it would start now; one an instant.

    Attributes:
        names: ``"sjf+easy"``.
    """

    forgiving = False

    def __init__(
        self,
        baselines: Sequence[Baseline],
        run_times: Floats | None = None,
        users: Ints | None = None,
        epoch: float = 0.0,
    ) -> None:
        """Take the arguments of `new_plan`.

        Raises:
            OptionsError: a baseline looks at actual run times and there are none.
        """
        for baseline in baselines:
            require_run_times(baseline, run_times)
        self.baselines = tuple(baselines)
        self.names = tuple(baseline.name for baseline in baselines)
        self._new_plan = partial(new_plan, run_times=run_times, users=users, epoch=epoch)
        self._state: State | None = None
        self._plans: dict[int, Plan] = {}
        self._all = np.ones(len(baselines), np.bool_)
        self._all.flags.writeable = False

    @property
    def size(self) -> int:
        """Number of actions."""
        return len(self.baselines)

    @property
    def job_policies(self) -> tuple[int, ...]:
        """None of the policies that ``State`` keeps queues for."""
        return ()

    def mask(self, state: State) -> Bools:
        """Return that all actions are legal."""
        return self._all

    def apply(self, action: int, state: State) -> bool:
        """Start jobs by the baseline; False, for an instant takes one action."""
        if state is not self._state:
            self._state, self._plans = state, {}
        if action not in self._plans:
            self._plans[action] = self._new_plan(state, self.baselines[action])
        self._plans[action] = with_room(self._plans[action], len(state.tables.jobs))
        decide(state.tables, self._plans[action])
        return False


def classic_actions(job_policy: str, core_policy: str) -> PolicyPairs | BaselineActions:
    """Return the only action of a classic agent: a policy pair of the thesis, or a baseline with a core policy."""
    if job_policy in JOB_POLICIES:
        return PolicyPairs([(job_policy, core_policy)])
    return BaselineActions([baseline_named(f"{job_policy}-{core_policy}")])
