"""Rewards: objectives, and the modes that turn them into the reward of a decision.

An objective is a function of the state; more is better. Most are rates: what the cluster gains or loses per second in
its present state, so that their integral over the run is the metric to optimize, up to a constant.

The built-in objectives are listed in `decision.specs.OBJECTIVES`. Two more kinds read a file, see `decision.rates`:
``cost:FILE.csv``, minus the cost of the power per second by a tariff, and ``carbon:FILE.csv``, minus the kg of CO2
emitted per second by a carbon intensity.

Execution times are those on a core of mean speed; with Batsim, where they are unknown before the end, requested times
are used instead. ``wait`` and ``bounded_slowdown`` are the metrics reported for a schedule: in mode ``change`` each
decision gets its part of it, up to the constant that jobs begin with, and in mode ``end`` the last one gets all.

The modes are listed in `decision.specs.REWARD_MODES`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import numpy as np

from hdeeprm_like.decision import specs
from hdeeprm_like.decision.objectives import NUMBER_OF_OBJECTIVES, objective_value
from hdeeprm_like.decision.rates import KILOWATT_HOUR, Rates
from hdeeprm_like.decision.window.arrays import Window
from hdeeprm_like.decision.window.window import JobWindow, has_ended, is_over
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled, entry, inlined
from hdeeprm_like.engine.dispatch import check_names
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import RUNNING, WAITING, Tables
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.plugins import answered, function_name
from hdeeprm_like.records import Record
from hdeeprm_like.types import Floats, Records

Mode: TypeAlias = specs.Mode
MODES = tuple(specs.REWARD_MODES)
SAMPLE, INTEGRAL, CHANGE, WAITS, DISCOUNTED, END = range(6)
check_names("reward modes", MODES, ("sample", "integral", "change", "waits", "discounted", "end"), "decision.rewards")

REWARD = np.dtype(
    [
        ("total", "f8"),  # gain since the last decision, in the modes that add up
        ("discount", "f8"),  # discount of the next time step
        ("gamma", "f8"),
        ("step", "f8"),  # s of a time step
        ("level", "f8"),  # objective at the last decision
        ("own", "f8"),  # weighted sum of the user's own objectives now, which Python writes
        ("last", "f8"),  # reward of the last decision
        ("rate", "i8"),  # number of the rate that holds now
        ("first", "i4"),  # of the built-in objectives with a weight, and the number after the last one
        ("end", "i4"),
        ("pauses", "i4"),  # 1 if there are such objectives, evaluated after each instant
        ("due", "i4"),  # 1 while the reward is not known yet
        ("mode", "i4"),
    ],
    align=True,
)


class RewardArrays(Bundle, shared=("weights", "rate_times", "rates")):
    """A reward in compiled code.

    Attributes:
        params: (1,) REWARD. weights: (NUMBER_OF_OBJECTIVES,) of the built-in objectives.
        rates: (T,) weighted cost and emission per J, from each of *rate_times* (s) on; empty if not used.
    """

    params: Records
    weights: Floats
    rate_times: Floats
    rates: Floats


@entry
def weighted_value(tables: Tables, window: Window, reward: RewardArrays, ahead: float) -> float:
    """Return the weighted sum of the objectives, *ahead* s from now."""
    params = reward.params[0]
    total = float(params.own)
    for objective in range(params.first, params.end):
        if reward.weights[objective] != 0.0:
            total += reward.weights[objective] * objective_value(tables, window, objective, ahead)
    if len(reward.rates) > 0:
        total -= tables.clock[0].watts * rate_at(reward, tables.clock[0].now + ahead)
    return total


@compiled
def rate_at(reward: RewardArrays, time: float) -> float:
    """Return cost and emission per J at a time; times must not decrease from call to call."""
    params, times = reward.params[0], reward.rate_times
    while params.rate + 1 < len(times) and times[params.rate + 1] <= time:
        params.rate += 1
    return float(reward.rates[params.rate])


@compiled
def gain(reward: RewardArrays, value: float, seconds: float) -> None:
    """Add an objective that stays at a value for some time."""
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


@inlined
def pass_time(tables: Tables, window: Window, reward: RewardArrays, now: float) -> None:
    """Add the reward of the time until *now* (s), in which nothing happens; called before the tables move there."""
    seconds = now - tables.clock[0].now
    if seconds == 0.0 or (reward.params[0].mode != INTEGRAL and reward.params[0].mode != DISCOUNTED):
        return
    # the midpoint is exact for values constant or linear in time; discounts use it too
    if len(reward.rates) == 0:
        gain(reward, weighted_value(tables, window, reward, 0.5 * seconds), seconds)
    else:
        pass_time_at_rates(tables, window, reward, now)


@compiled
def pass_time_at_rates(tables: Tables, window: Window, reward: RewardArrays, now: float) -> None:
    """Do the same piecewise, for spans of time in which the rates do not change."""
    params, times, begin = reward.params[0], reward.rate_times, tables.clock[0].now
    at = begin
    while at < now:
        rate_at(reward, at)
        end = min(now, times[params.rate + 1]) if params.rate + 1 < len(times) else now
        gain(reward, weighted_value(tables, window, reward, 0.5 * (at + end) - begin), end - at)
        at = end


@compiled
def reward_at_once(tables: Tables, window: Window, reward: RewardArrays, started: bool) -> None:
    """Reward a decision right after it, in modes where that is known; in others the reward is due later."""
    params = reward.params[0]
    if params.mode == SAMPLE or params.mode == WAITS:
        params.last = 0.0 if started and params.mode == WAITS else weighted_value(tables, window, reward, 0.0)
    else:
        params.due = 1


@compiled
def settle(tables: Tables, window: Window, reward: RewardArrays) -> None:
    """Give the last decision the reward that was due, at the next one or at the end, and start a new sum."""
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


class BuiltIn(Record):
    """A built-in objective, as a function of the state.

    Attributes:
        name: in options. number: in compiled code.
    """

    name: str
    number: int

    def __call__(self, state: State) -> float:
        """Return its value.

        Raises:
            OptionsError: it is an objective of the window, which a state alone does not have.
        """
        if specs.OBJECTIVES[self.name].of_window:
            raise OptionsError(f"objective {self.name!r} needs the window of a run; name it in the options instead")
        window = JobWindow(state, lists=False)
        jobs = state.tables.jobs
        active = jobs[(jobs["status"] == WAITING) | (jobs["status"] == RUNNING)]
        runs = np.where(np.isnan(active["run_time"]), active["requested_time"], active["run_time"])
        for name, times in (("urgency", active["requested_time"]), ("execution_urgency", runs)):
            window.arrays.params[name] = sum(1.0 / time if time > 0.0 else 1.0 for time in times.tolist())
        return objective_value(state.tables, window.arrays, self.number, 0.0)


class Rated(Record):
    """Cost or emission of the power of all cores per second, by rates that change with time.

    Attributes:
        name: in options. rates: per kWh.
    """

    name: str
    rates: Rates

    def __call__(self, state: State) -> float:
        """Return minus the cost or emission per second."""
        value = self.rates.values[int(np.searchsorted(self.rates.times, state.now, side="right")) - 1]
        return -state.watts * value / KILOWATT_HOUR


Objective: TypeAlias = Callable[[State], float]

OBJECTIVES: dict[str, Objective] = {name: BuiltIn(name, *specs.numbers_of([name])) for name in specs.OBJECTIVES}
OF_EXECUTION = specs.numbers_of([name for name, spec in specs.OBJECTIVES.items() if spec.of_execution])
BUILT_IN = BuiltIn, Rated  # objectives that run in compiled code


def weighted_rates(objectives: Iterable[tuple[Rated, float]]) -> tuple[Floats, Floats]:
    """Return (T,) s and (T,) the weighted sum of cost and emission per J from then on; empty without objectives."""
    listed = list(objectives)
    times = np.unique([time for one, _ in listed for time in one.rates.times])
    total = np.zeros(len(times))
    for one, weight in listed:
        values = np.array(one.rates.values)[np.searchsorted(one.rates.times, times, side="right") - 1]
        total += weight * values / KILOWATT_HOUR
    return times, total


def own_value(objective: Objective, state: State) -> float:
    """Return the value of a user's own objective.

    Raises:
        OptionsError: it fails, or is no number.
    """
    value = answered(objective, "objective", state)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise OptionsError(f"objective {function_name(objective)}: a number is needed, not {value!r:.60}") from None


class Reward:
    """Objectives and a mode; one object per run, because it adds up over time.

    Attributes:
        objectives: with their weights. mode: see the module.
        arrays: its state, and the weights of the built-in objectives. compiled: whether all objectives are built in.
    """

    def __init__(
        self,
        objective: Objective | Mapping[Objective, float],
        mode: Mode = "sample",
        gamma: float = 0.99,
        step: float = 1.0,
    ) -> None:
        """Make the reward of one objective, or of a weighted sum of several.

        Args:
            objective: from ``OBJECTIVES``, or any function of the state that changes only at instants.
            gamma: discount per time step, in the mode ``discounted``. step: its length in s.

        Raises:
            OptionsError: a value is invalid.
        """
        if mode not in MODES:
            raise OptionsError(f"reward mode {mode!r} is not known{did_you_mean(mode, MODES)}")
        if not 0.0 <= gamma <= 1.0 or not 0.0 < step < np.inf:
            raise OptionsError(f"gamma {gamma:g} and step {step:g}: from 0 to 1 and a time in s above 0 are needed")
        self.objectives = dict(objective) if isinstance(objective, Mapping) else {objective: 1.0}
        if not self.objectives:
            raise OptionsError("a reward needs at least one objective")
        for one in self.objectives:
            if mode == "end" and (
                isinstance(one, Rated) or (isinstance(one, BuiltIn) and not specs.OBJECTIVES[one.name].at_end)
            ):
                raise OptionsError(f"reward 'end': objective {one.name!r} has no value at the end; take 'integral'")
        self.mode = mode
        params = np.zeros(1, REWARD)
        params["mode"], params["gamma"], params["step"], params["discount"] = MODES.index(mode), gamma, step, 1.0
        rated = [(one, weight) for one, weight in self.objectives.items() if isinstance(one, Rated)]
        self.arrays = RewardArrays(params, np.zeros(NUMBER_OF_OBJECTIVES), *weighted_rates(rated))
        self.compiled = all(isinstance(one, BUILT_IN) for one in self.objectives)
        params["pauses"] = not self.compiled
        for one, weight in self.objectives.items():
            if isinstance(one, BuiltIn):
                self.arrays.weights[one.number] += weight
        weighted = np.flatnonzero(self.arrays.weights)
        if len(weighted):
            params["first"], params["end"] = weighted[0], weighted[-1] + 1

    @property
    def executes(self) -> bool:
        """Whether the window has to record execution times."""
        return bool(self.arrays.weights[list(OF_EXECUTION)].any())

    def refresh(self, state: State) -> None:
        """Evaluate the user's own objectives, which change only at instants and by decisions."""
        if not self.compiled:
            own = (
                weight * own_value(one, state)
                for one, weight in self.objectives.items()
                if not isinstance(one, BUILT_IN)
            )
            self.arrays.params["own"] = float(sum(own))
