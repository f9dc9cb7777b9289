"""What a decision is worth: objectives, and the ways of turning them into a reward.

An objective is a function of the state, and more is better. Most are rates: what the cluster gains or loses each
second in its present state, so that their integral over the run is the metric to optimize, up to a constant.

| objective | value | source |
|---|---|---|
| ``avg_job_slowdown`` | minus the sum of 1 / requested time over the jobs in the system, in 1/s | thesis 3.2.4 |
| ``avg_job_completion`` | minus the number of jobs in the system; also ``avg_completion_time`` | thesis 3.2.4 |
| ``avg_utilization`` | number of cores that serve jobs | thesis 3.2.4 |
| ``makespan`` | computing capability in use, in GFLOP/s: work done sooner ends sooner | thesis 3.2.4 |
| ``energy_consumption`` | minus the power of all cores, in W | thesis 3.2.4 |
| ``edp`` | minus (power x time + energy), in J: the growth of energy times elapsed time | the thesis' code of 2019 |
| ``window_slowdown`` | the same over the jobs in the window, in 1/s | thesis 3.2.4, with the window of 000, 4.6.3 |
| ``execution_slowdown`` | minus the sum of 1 / execution time over the jobs in the system, in 1/s | 000, equation 4.1 |
| ``window_execution_slowdown`` | the same over the jobs in the window, in 1/s | 000, section 4.6.3 |
| ``unused_cores`` | minus the share of the cores that serve no job | 001, equation 2 |
| ``queue_length`` | minus the number of waiting jobs, as a share of the most until now | 001, equation 2 |
| ``queue_wait`` | minus their time in the queue together, as a share of the most until now | 001, equation 2 |
| ``avg_wait`` | minus the mean wait of all jobs until now, in s; also ``wait`` | 004, section II.E |
| ``bounded_slowdown`` | minus the mean of all jobs until now, as if those that wait started now | 000, equation 2.3 |
| ``used_cores`` | share of the cores that serve jobs | 004, section II.E |

Execution times are those on a core of mean speed; with Batsim, where nobody knows them before the end, they are what
users request. ``wait`` and ``bounded_slowdown`` are what is reported of a schedule: by ``change`` each decision gets
its part of it, up to the constant that jobs begin with, and by ``end`` the last one gets all.

| mode | the reward of a decision |
|---|---|
| ``sample`` | the objective right after it; what HDeepRM does |
| ``integral`` | the integral of the objective until the next decision, or the end (000, equation 4.1, in unit steps) |
| ``change`` | how much the objective is greater at the next decision, or the end, than it was just before this one |
| ``waits`` | the objective right after it if the agent waits, 0 if it starts a job (001, III.B; 003, 4.3) |
| ``end`` | the objective at the end of the episode, after its last decision; 0 after all others |
| ``discounted`` | as ``integral``, each time step counting *gamma* times the one before (000, equation 2.18) |
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from hdeeprm_like.cluster.pstates import P0, P1
from hdeeprm_like.decision.window.arrays import NONE, Window
from hdeeprm_like.decision.window.statistics import bounded_slowdown_at, execution_time, pace_of
from hdeeprm_like.decision.window.window import JobWindow, fill_slots, has_ended, is_over
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import RUNNING, WAITING, Tables
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.types import Floats, Records

SLOWDOWN, COMPLETION, UTILIZATION, MAKESPAN, ENERGY, EDP = 0, 1, 2, 3, 4, 5
WINDOW_SLOWDOWN, UNUSED_CORES, QUEUE_LENGTH, QUEUE_WAIT, AVG_WAIT, USED_CORES = 6, 7, 8, 9, 10, 11
EXECUTION_SLOWDOWN, WINDOW_EXECUTION_SLOWDOWN, BOUNDED_SLOWDOWN = 12, 13, 14
NUMBER_OF_OBJECTIVES = 15
OF_WINDOW = (WINDOW_SLOWDOWN, QUEUE_LENGTH, QUEUE_WAIT, AVG_WAIT, WINDOW_EXECUTION_SLOWDOWN, BOUNDED_SLOWDOWN)
OF_EXECUTION = (EXECUTION_SLOWDOWN, BOUNDED_SLOWDOWN)
AT_END = (AVG_WAIT, BOUNDED_SLOWDOWN)  # tell of the whole schedule; the others are 0 when all jobs are over

Mode: TypeAlias = Literal["sample", "integral", "change", "waits", "discounted", "end"]
MODES: tuple[Mode, ...] = get_args(Mode)
SAMPLE, INTEGRAL, CHANGE, WAITS, DISCOUNTED, END = 0, 1, 2, 3, 4, 5

REWARD = np.dtype(
    [
        ("total", "f8"),  # what has been gained since the last decision, in the modes that add up
        ("discount", "f8"),  # what the next time step counts
        ("gamma", "f8"),
        ("step", "f8"),  # s of a time step
        ("level", "f8"),  # of the objective at the last decision
        ("own", "f8"),  # weighted sum of the user's own objectives now, which Python writes
        ("last", "f8"),  # reward of the last decision
        ("pauses", "i4"),  # 1 where there are such objectives, which are looked at after each instant
        ("due", "i4"),  # 1 while it is not known yet
        ("mode", "i4"),
    ],
    align=True,
)


class RewardArrays(Bundle, shared=("weights",)):
    """A reward in compiled code.

    Attributes:
        params: (1,) REWARD. weights: (NUMBER_OF_OBJECTIVES,) of the built-in objectives.
    """

    params: Records
    weights: Floats


@compiled
def urgency_in_window(tables: Tables, window: Window) -> float:
    """Return the sum of 1 / requested time in 1/s over the jobs in the slots."""
    fill_slots(tables, window)
    total = 0.0
    for i in range(len(window.slots)):
        if window.slots[i] != NONE:
            total += window.paces[window.slots[i]]
    return total


@compiled
def execution_urgency_in_window(tables: Tables, window: Window) -> float:
    """Return the sum of 1 / execution time in 1/s over the jobs in the slots."""
    fill_slots(tables, window)
    total = 0.0
    for i in range(len(window.slots)):
        if window.slots[i] != NONE:
            total += pace_of(execution_time(tables, window.slots[i]))
    return total


@compiled
def mean_bounded_slowdown(tables: Tables, window: Window, ahead: float) -> float:
    """Return the mean bounded slowdown of all jobs until now, as if those that wait started in *ahead* s."""
    params, clock = window.params[0], tables.clock[0]
    total = params.slowdowns
    for i in range(clock.waiting):
        total += bounded_slowdown_at(tables, tables.members[i], clock.now + ahead)
    jobs = params.started + clock.waiting
    return float(total / jobs) if jobs > 0 else 0.0


@compiled
def computing(tables: Tables) -> float:
    """Return the flop/s of the cores that serve jobs."""
    total = 0.0
    for p in range(len(tables.processors)):
        load = tables.loads[p]
        if load.busy > 0:
            total += load.busy * tables.processors[p].flops[P1 if load.oversubscribed else P0]
    return total


@compiled
def busy_cores(tables: Tables) -> int:
    """Return how many cores serve jobs."""
    busy = 0
    for p in range(len(tables.processors)):
        busy += tables.loads[p].busy
    return busy


@compiled
def cores_in_all(tables: Tables) -> int:
    """Return how many cores there are."""
    cores = 0
    for p in range(len(tables.processors)):
        cores += tables.processors[p].cores
    return cores


@compiled
def time_in_queue(tables: Tables, window: Window, ahead: float) -> float:
    """Return the s that the waiting jobs will have waited together in *ahead* s."""
    params = window.params[0]
    return float(params.queue * (tables.clock[0].now + ahead) - params.sum_of_submissions)


@compiled
def mean_wait(tables: Tables, window: Window, ahead: float) -> float:
    """Return the s that a job will have waited on average in *ahead* s, those that still wait until then."""
    params = window.params[0]
    jobs = params.started + params.queue
    return float((params.waited + time_in_queue(tables, window, ahead)) / jobs) if jobs > 0 else 0.0


@compiled
def share_of_longest_wait(tables: Tables, window: Window, ahead: float) -> float:
    """Return minus the time in the queue in *ahead* s as a share of the most until then."""
    waited = time_in_queue(tables, window, ahead)
    most = max(window.params[0].longest_wait, waited)
    return -waited / most if window.params[0].queue > 0 and most > 0.0 else 0.0


@compiled
def objective_value(tables: Tables, window: Window, objective: int, ahead: float) -> float:
    """Return a built-in objective as it will be in *ahead* s if nothing happens until then."""
    clock = tables.clock[0]
    if objective == SLOWDOWN:
        return float(-window.params[0].urgency)
    if objective == COMPLETION:
        return float(-(clock.waiting + clock.running))
    if objective == UTILIZATION:
        return float(busy_cores(tables))
    if objective == MAKESPAN:
        return computing(tables) / 1e9
    if objective == ENERGY:
        return float(-clock.watts)
    if objective == EDP:
        return float(-(clock.watts * (clock.now + ahead) + clock.joules + clock.watts * ahead))
    if objective == WINDOW_SLOWDOWN:
        return -urgency_in_window(tables, window)
    if objective == UNUSED_CORES:
        return busy_cores(tables) / cores_in_all(tables) - 1.0
    if objective == USED_CORES:
        return busy_cores(tables) / cores_in_all(tables)
    params = window.params[0]
    if objective == EXECUTION_SLOWDOWN:
        return float(-params.execution_urgency)
    if objective == WINDOW_EXECUTION_SLOWDOWN:
        return -execution_urgency_in_window(tables, window)
    if objective == BOUNDED_SLOWDOWN:
        return -mean_bounded_slowdown(tables, window, ahead)
    if objective == QUEUE_LENGTH:
        return float(-params.queue / params.longest_queue) if params.queue > 0 else 0.0
    if objective == QUEUE_WAIT:
        return share_of_longest_wait(tables, window, ahead)
    return -mean_wait(tables, window, ahead)


@compiled
def weighted_value(tables: Tables, window: Window, reward: RewardArrays, ahead: float) -> float:
    """Return the weighted sum of the objectives, in *ahead* s."""
    total = float(reward.params[0].own)
    for objective in range(NUMBER_OF_OBJECTIVES):
        if reward.weights[objective] != 0.0:
            total += reward.weights[objective] * objective_value(tables, window, objective, ahead)
    return total


@compiled
def gain(reward: RewardArrays, value: float, seconds: float) -> None:
    """Add up an objective that stays at a value for some time."""
    params = reward.params[0]
    if params.mode == INTEGRAL:
        params.total += seconds * value
    else:
        steps = seconds / params.step
        later = params.gamma**steps
        params.total += (
            params.discount * value * ((1.0 - later) / (1.0 - params.gamma) if params.gamma < 1.0 else steps)
        )
        params.discount *= later


@compiled
def pass_time(tables: Tables, window: Window, reward: RewardArrays, now: float) -> None:
    """Take note that nothing happens until *now* (s); called before the tables move there."""
    seconds = now - tables.clock[0].now
    if seconds == 0.0 or (reward.params[0].mode != INTEGRAL and reward.params[0].mode != DISCOUNTED):
        return
    # the middle is the mean of all that grow linearly, and the others do not grow; discounts see the middle too
    gain(reward, weighted_value(tables, window, reward, 0.5 * seconds), seconds)


@compiled
def reward_at_once(tables: Tables, window: Window, reward: RewardArrays, started: bool) -> None:
    """Reward a decision right after it, in the modes where that is known; in the others its reward is due."""
    params = reward.params[0]
    if params.mode == SAMPLE or params.mode == WAITS:
        params.last = 0.0 if started and params.mode == WAITS else weighted_value(tables, window, reward, 0.0)
    else:
        params.due = 1


@compiled
def settle(tables: Tables, window: Window, reward: RewardArrays) -> None:
    """Give the last decision the reward that was due, at the next one or at the end, and begin anew."""
    params = reward.params[0]
    params.due = 0
    if params.mode == SAMPLE or params.mode == WAITS:
        return
    if params.mode == END:
        over = has_ended(tables, window) or (is_over(tables) and tables.clock[0].waiting == 0)
        params.last = weighted_value(tables, window, reward, 0.0) if over else 0.0
    elif params.mode == CHANGE:
        level = weighted_value(tables, window, reward, 0.0)
        params.last = level - params.level
        params.level = level
    else:
        params.last = params.total
        params.total, params.discount = 0.0, 1.0


@dataclass(frozen=True)
class BuiltIn:
    """An objective of the table above, as a function of the state.

    Attributes:
        name: in options. number: in compiled code.
    """

    name: str
    number: int

    def __call__(self, state: State) -> float:
        """Return its value.

        Raises:
            OptionsError: it is one of the window's, which a state alone does not tell.
        """
        if self.number in OF_WINDOW:
            raise OptionsError(f"objective {self.name!r} needs the window of a run; name it in the options instead")
        window = JobWindow(state, lists=False)
        jobs = state.tables.jobs
        active = jobs[(jobs["status"] == WAITING) | (jobs["status"] == RUNNING)]
        runs = np.where(np.isnan(active["run_time"]), active["requested_time"], active["run_time"])
        for name, times in (("urgency", active["requested_time"]), ("execution_urgency", runs)):
            window.arrays.params[name] = sum(1.0 / time if time > 0.0 else 1.0 for time in times.tolist())
        return objective_value(state.tables, window.arrays, self.number, 0.0)


Objective: TypeAlias = Callable[[State], float]

_NUMBERS = {
    "avg_job_slowdown": SLOWDOWN,
    "avg_job_completion": COMPLETION,
    "avg_completion_time": COMPLETION,
    "avg_utilization": UTILIZATION,
    "makespan": MAKESPAN,
    "energy_consumption": ENERGY,
    "edp": EDP,
    "window_slowdown": WINDOW_SLOWDOWN,
    "unused_cores": UNUSED_CORES,
    "queue_length": QUEUE_LENGTH,
    "queue_wait": QUEUE_WAIT,
    "avg_wait": AVG_WAIT,
    "used_cores": USED_CORES,
    "wait": AVG_WAIT,
    "bounded_slowdown": BOUNDED_SLOWDOWN,
    "execution_slowdown": EXECUTION_SLOWDOWN,
    "window_execution_slowdown": WINDOW_EXECUTION_SLOWDOWN,
}
OBJECTIVES: dict[str, Objective] = {name: BuiltIn(name, number) for name, number in _NUMBERS.items()}


class Reward:
    """Objectives and a mode; one object for one run, because it adds up over time.

    Attributes:
        objectives: with their weights. mode: see the module.
        arrays: its state, and the weights of the built-in objectives. compiled: whether there are no others.
    """

    def __init__(
        self,
        objective: Objective | Mapping[Objective, float],
        mode: Mode = "sample",
        gamma: float = 0.99,
        step: float = 1.0,
    ) -> None:
        """Reward one objective, or a weighted sum of several.

        Args:
            objective: from ``OBJECTIVES``, or any function of the state that changes at instants only.
            gamma: what a time step counts beside the one before, in the mode ``discounted``. step: its s.

        Raises:
            OptionsError: a value makes no sense.
        """
        if mode not in MODES:
            raise OptionsError(f"reward mode {mode!r} is not known{did_you_mean(mode, MODES)}")
        if not 0.0 <= gamma <= 1.0 or not 0.0 < step < np.inf:
            raise OptionsError(f"gamma {gamma:g} and step {step:g}: from 0 to 1 and a time in s above 0 are needed")
        self.objectives = dict(objective) if isinstance(objective, Mapping) else {objective: 1.0}
        if not self.objectives:
            raise OptionsError("a reward needs at least one objective")
        for one in self.objectives:
            if mode == "end" and isinstance(one, BuiltIn) and one.number not in AT_END:
                raise OptionsError(f"reward 'end': objective {one.name!r} tells nothing at the end; take 'integral'")
        self.mode = mode
        params = np.zeros(1, REWARD)
        params["mode"], params["gamma"], params["step"], params["discount"] = MODES.index(mode), gamma, step, 1.0
        self.arrays = RewardArrays(params, np.zeros(NUMBER_OF_OBJECTIVES))
        self.compiled = all(isinstance(one, BuiltIn) for one in self.objectives)
        params["pauses"] = not self.compiled
        for one, weight in self.objectives.items():
            if isinstance(one, BuiltIn):
                self.arrays.weights[one.number] += weight

    @property
    def executes(self) -> bool:
        """Whether the window has to keep what execution times tell."""
        return bool(self.arrays.weights[list(OF_EXECUTION)].any())

    def refresh(self, state: State) -> None:
        """Look at the user's own objectives, which change at instants and by decisions only."""
        if not self.compiled:
            own = (weight * one(state) for one, weight in self.objectives.items() if not isinstance(one, BuiltIn))
            self.arrays.params["own"] = float(sum(own))
