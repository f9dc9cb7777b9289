"""What a decision is worth: objectives, and the ways of turning one into a reward (thesis 3.2.4).

An objective is a function of the state, and more is better. Most are rates: what the cluster gains or loses each
second in its present state, so that their integral over the run is the metric to optimize, up to a constant.

| mode | the reward of a decision |
|---|---|
| ``sample`` | the objective right after it; what HDeepRM does |
| ``integral`` | the integral of the objective until the next decision, or the end |
| ``change`` | how much the objective is greater at the next decision, or the end, than it was just before this one |
"""

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

from hdeeprm_like.cluster.pstates import P0, P1
from hdeeprm_like.cluster.state import State
from hdeeprm_like.cluster.tables import IDLE_CORE, Tables
from hdeeprm_like.compiled import compiled
from hdeeprm_like.errors import OptionsError, did_you_mean

SLOWDOWN, COMPLETION, UTILIZATION, MAKESPAN, ENERGY, EDP = 0, 1, 2, 3, 4, 5
NOT_BUILT_IN = -1

Objective: TypeAlias = Callable[[State], float]
Mode: TypeAlias = Literal["sample", "integral", "change"]
MODES: tuple[Mode, ...] = get_args(Mode)


@compiled
def urgency(t: Tables) -> float:
    """Return the sum of 1 / requested time in 1/s over the waiting and running jobs; no request counts as 1 s."""
    total = 0.0
    for i in range(t.clock[0].waiting):
        time = t.jobs[t.queue[i]].requested_time
        total += 1.0 / time if time > 0.0 else 1.0
    for p in range(len(t.processors)):
        processor = t.processors[p]
        left = processor.busy
        core = processor.first_core
        while left > 0:
            j = t.core_job[core]
            if j != IDLE_CORE:
                left -= 1
                if t.allocation[t.jobs[j].first] == core:  # each job at one of its cores
                    time = t.jobs[j].requested_time
                    total += 1.0 / time if time > 0.0 else 1.0
            core += 1
    return total


@compiled
def computing(t: Tables) -> float:
    """Return the flop/s of the cores that serve jobs."""
    total = 0.0
    for p in range(len(t.processors)):
        processor = t.processors[p]
        if processor.busy > 0:
            total += processor.busy * processor.flops[P1 if processor.oversubscribed else P0]
    return total


@compiled
def busy_cores(t: Tables) -> int:
    """Return how many cores serve jobs."""
    busy = 0
    for p in range(len(t.processors)):
        busy += t.processors[p].busy
    return busy


@compiled
def objective_value(t: Tables, objective: int, ahead: float) -> float:
    """Return a built-in objective as it will be in *ahead* s if nothing happens until then."""
    clock = t.clock[0]
    if objective == SLOWDOWN:
        return -urgency(t)
    if objective == COMPLETION:
        return float(-(clock.waiting + clock.running))
    if objective == UTILIZATION:
        return float(busy_cores(t))
    if objective == MAKESPAN:
        return computing(t) / 1e9
    if objective == ENERGY:
        return float(-clock.watts)
    return float(-(clock.watts * (clock.now + ahead) + clock.joules + clock.watts * ahead))


def avg_job_slowdown(state: State) -> float:
    """Minus the sum of 1 / requested time over the jobs in the system, in 1/s (thesis 3.2.4, after DeepRM).

    A second in the system adds 1/T to the slowdown of a job that lasts T, so short jobs must leave first.
    """
    return objective_value(state.tables, SLOWDOWN, 0.0)


def avg_job_completion(state: State) -> float:
    """Minus the number of jobs in the system (thesis 3.2.4, after DeepRM); its integral is minus their total time."""
    return objective_value(state.tables, COMPLETION, 0.0)


def avg_utilization(state: State) -> float:
    """Number of cores that serve jobs (thesis 3.2.4)."""
    return objective_value(state.tables, UTILIZATION, 0.0)


def makespan(state: State) -> float:
    """Computing capability in use, in GFLOP/s: work done sooner ends sooner (thesis 3.2.4)."""
    return objective_value(state.tables, MAKESPAN, 0.0)


def energy_consumption(state: State) -> float:
    """Minus the power of all cores, in W (thesis 3.2.4); its integral is minus the energy."""
    return objective_value(state.tables, ENERGY, 0.0)


def edp(state: State) -> float:
    """Minus the growth of energy times elapsed time, in J: power x time + energy (the derivative of the product).

    Its integral over the run is minus the energy-delay product. The original names this objective and cannot run it.
    """
    return objective_value(state.tables, EDP, 0.0)


OBJECTIVES: dict[str, Objective] = {
    "avg_job_slowdown": avg_job_slowdown,
    "avg_job_completion": avg_job_completion,
    "avg_completion_time": avg_job_completion,
    "avg_utilization": avg_utilization,
    "makespan": makespan,
    "energy_consumption": energy_consumption,
    "edp": edp,
}
NUMBERS: dict[Objective, int] = {
    avg_job_slowdown: SLOWDOWN,
    avg_job_completion: COMPLETION,
    avg_utilization: UTILIZATION,
    makespan: MAKESPAN,
    energy_consumption: ENERGY,
    edp: EDP,
}


class Reward:
    """An objective and a mode; one object for one run, because it adds up over time.

    Attributes:
        objective: one of ``OBJECTIVES`` or any function of the state that changes at instants only.
        mode: see the module.
        number: of a built-in objective for compiled code, else NOT_BUILT_IN.
        total: integral of the objective until now, in the mode that wants it.
    """

    def __init__(self, objective: Objective, mode: Mode = "sample") -> None:
        if mode not in MODES:
            raise OptionsError(f"reward mode {mode!r} is not known{did_you_mean(mode, MODES)}")
        self.objective = objective
        self.mode = mode
        self.total = 0.0
        self.number = NUMBERS.get(objective, NOT_BUILT_IN)

    def pass_time(self, state: State, now: float) -> None:
        """Take note that nothing happens until *now* (s); called before the state moves there."""
        seconds = now - state.now
        if self.mode != "integral" or seconds == 0.0:
            return
        if self.number != NOT_BUILT_IN:  # the middle is the mean, for edp grows linearly and the others do not grow
            self.total += seconds * objective_value(state.tables, self.number, 0.5 * seconds)
        else:
            self.total += seconds * self.objective(state)

    def level(self, state: State) -> float:
        """Return what the rewards before the next decision or the end add up to, but for a constant."""
        return self.total if self.mode == "integral" else self.objective(state)
