"""Decision spaces: observation, actions and reward of an agent, named together.

The parts combine freely: one window, one action space, one observation, one reward each. ``PRESETS`` holds the spaces
of the five papers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import JobLimits, Workload
from hdeeprm_like.decision import specs
from hdeeprm_like.decision.actions import ALL_PAIRS, ActionSpace, Policy, PolicyActions, policy_named
from hdeeprm_like.decision.job_actions import JobSlots
from hdeeprm_like.decision.layout import Layout, plain_layout
from hdeeprm_like.decision.names import case_of
from hdeeprm_like.decision.observations.arrays import ViewOptions
from hdeeprm_like.decision.observations.view import OBSERVATIONS, Kind, View, needs_of_view
from hdeeprm_like.decision.rates import Rates
from hdeeprm_like.decision.rewards import OBJECTIVES, Mode, Objective, Rated, Reward
from hdeeprm_like.decision.system import DecisionSystem, Observer
from hdeeprm_like.decision.window.arrays import WindowOptions, needs_of_window
from hdeeprm_like.decision.window.window import JobWindow
from hdeeprm_like.engine.state import THESIS, Needs, State
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.plugins import answered, function_name
from hdeeprm_like.refusals import refuse
from hdeeprm_like.values import NUMBER, Whole

NewActions: TypeAlias = Callable[[State, JobWindow], ActionSpace]
NewObserver: TypeAlias = Callable[[State, JobWindow], Observer]
Actions: TypeAlias = specs.Actions
Made = TypeVar("Made")

# bounds of the integer fields of a `Space`
STEPS_A_JOB, LEAST_STEPS = 100, 10_000  # of an episode, at most
LEAST = {"head": 0, "tail": 0, "placed": 0, "horizon": 1, "backlog": 0, "memory_units": 0}
NO_LIMITS = JobLimits(time=1.0, cores=1.0, memory=1.0, bandwidth=1.0)


@dataclass(frozen=True, kw_only=True)
class Space(WindowOptions, ViewOptions):
    """The complete interface of an agent; see the modules of its parts for the meaning of the values.

    Attributes:
        actions: policies, jobs of the window, or jobs of the window x machines; or the names of some policies, such as
        ``["sjf+easy", "shortest-high_gflops"]``; or a function that returns an action space for a run.
        pairs, void: for ``policies``. core_policy: for ``jobs``. waiting: whether the agent may wait, for ``machines``.
        masked: whether masks show what is legal, for ``jobs`` and ``machines``.
        observation: a kind of `View`; or a function that returns an observer for a run.
        rates: whether the hour and the rates of objectives such as ``cost:tariff.csv`` are also shown.
        objectives: names or functions, with weights. reward: mode. gamma: of the mode ``discounted``.
    """

    actions: Actions | NewActions | Sequence[str] = "policies"
    pairs: tuple[Policy, ...] = ALL_PAIRS
    void: bool = False
    core_policy: str = "high_gflops"
    waiting: bool = False
    masked: bool = True
    observation: Kind | NewObserver = "normal"
    rates: bool = False
    objectives: Mapping[Objective, float] = field(default_factory=lambda: {OBJECTIVES["avg_job_slowdown"]: 1.0})
    reward: Mode = "sample"
    gamma: float = 0.99

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            Whole(least).of(getattr(self, name), OptionsError, name)
        for name in ("step", "queue_sensitivity", "gamma", "until"):
            NUMBER.of(getattr(self, name), OptionsError, name)
        for name in ("void", "waiting", "wait", "rates", "jump", "masked"):
            if not isinstance(getattr(self, name), bool):
                raise OptionsError(f"{name} is {getattr(self, name)!r:.80}; True or False is needed")
        if not isinstance(self.actions, str) and not callable(self.actions):
            object.__setattr__(self, "pairs", tuple(policy_named(one) for one in self.actions))
            object.__setattr__(self, "actions", "policies")

    def refuse(self, platform: Platform, driver: str, clock: str) -> None:
        """Raise if a policy among the actions does not go with a platform, a clock or what plays it.

        Raises:
            HDeepRMError: why, see `refusals`.
        """
        for policy in self.pairs if self.actions == "policies" else ():
            refuse(case_of(policy, driver).on(platform)._replace(clock=clock))

    @property
    def slots(self) -> int:
        """Slots of the window."""
        return self.head + self.tail

    @property
    def finds(self) -> bool:
        """Whether the window records what jobs find at their submission."""
        own = not isinstance(self.observation, str)
        return own or bool(isinstance(self.observation, str) and OBSERVATIONS[self.observation].features)

    @property
    def lists(self) -> bool:
        """Whether a part reads the window or the running jobs."""
        shown = not isinstance(self.observation, str) or OBSERVATIONS[self.observation].lists
        return self.actions != "policies" or self.slots > 0 or shown

    def needs(self, limits: JobLimits) -> Needs:
        """Return the sorted lists of jobs that its parts read; a user's own parts may read all of them."""
        found = needs_of_window(self.slots, self.lists, self.order)
        if self.actions == "policies":
            found |= PolicyActions(self.pairs, self.void).needs
        elif callable(self.actions):
            found |= Needs(THESIS.orders)
        if isinstance(self.observation, str):
            found |= needs_of_view(OBSERVATIONS[self.observation], limits)
        return found

    @property
    def whole(self) -> bool:
        """Whether one node takes all cores of a job, as the agent names the node."""
        return self.actions == "machines"

    def most_steps(self, jobs: int) -> int | None:
        """Return the number of decisions after which an episode of *jobs* jobs is cut off; None for never.

        An agent that always waits, or that decides at every second of a day, would never end an episode. Policies are
        applied when something happens, so their episodes end by themselves.
        """
        return None if self.actions == "policies" else max(STEPS_A_JOB * jobs, LEAST_STEPS)

    def state(
        self,
        platform: Platform,
        jobs: Workload | None,
        seed: int = 0,
        log: bool = True,
        limits: JobLimits | None = None,
        named: bool = True,
    ) -> State:
        """Return the state of a run at its beginning; see `State`."""
        if isinstance(self.observation, str) and self.observation not in OBSERVATIONS:
            raise OptionsError(
                f"observation {self.observation!r} is not known{did_you_mean(self.observation, OBSERVATIONS)}"
            )
        if limits is None and jobs is not None:
            limits = jobs.limits()
        needs = self.needs(limits or NO_LIMITS)
        return State(platform, jobs, seed, log, limits, self.whole, named, needs)

    def system(self, state: State) -> DecisionSystem:
        """Return the decision system of a run.

        Raises:
            OptionsError: the parts do not fit together.
        """
        if self.actions == "policies" and (self.opens == "ticks" or self.step > 0.0):
            raise OptionsError("policies are applied at events; time steps need the actions jobs or machines")
        if self.actions == "policies" and not self.masked:
            raise OptionsError("masked: policies are always legal; false is for the actions jobs or machines")
        if not 0.0 <= self.until < np.inf:
            raise OptionsError(f"until is {self.until:g}; a time in s is needed, 0 for when all jobs are over")
        if self.opens == "fitting" and self.slots == 0:
            raise OptionsError("an agent that decides when a job of the window fits needs a window with slots")
        window = JobWindow(state, self, self.whole, self.finds, self.lists)
        reward = Reward(self.objectives, self.reward, self.gamma, self.step or 1.0)
        return DecisionSystem(state, self._actions(state, window), self.observer(state, window), reward, window)

    def _actions(self, state: State, window: JobWindow) -> ActionSpace:
        if self.actions == "policies":
            return PolicyActions(self.pairs, self.void)
        if self.actions == "jobs" or self.actions == "machines":
            return JobSlots(state, window, self.core_policy, self.waiting, self.masked)
        assert callable(self.actions)
        return made(self.actions, state, window, ("size", "names", "mask", "apply"), "actions", "an action space")

    def observer(self, state: State, window: JobWindow) -> Observer:
        """Return the observer of a run."""
        if not isinstance(self.observation, str):
            if self.wait or self.rates:
                raise OptionsError("wait, rates: a user's own observation decides what it shows; leave both out")
            return made(self.observation, state, window, ("shape", "__call__"), "observation", "an observer")
        return View(state, window, self.observation, self, rates=self._shown_rates())

    def _shown_rates(self) -> dict[str, Rates] | None:
        """Return the rates of energy that an observation shows, by the names of their objectives."""
        if not self.rates:
            return None
        rated = [(one.name.partition(":"), one.rates) for one in self.objectives if isinstance(one, Rated)]
        if not rated:
            raise OptionsError("rates: no objective has any; take one with a file, as 'cost:tariff.csv'")
        return {f"{kind}:{Path(file).name}": rates for (kind, _, file), rates in rated}

    def sample(self, platform: Platform, limits: JobLimits = NO_LIMITS) -> DecisionSystem:
        """Return the decision system of a run without jobs, for shapes and names."""
        return self.system(self.state(platform, None, log=False, limits=limits))

    def layout(self, platform: Platform, limits: JobLimits = NO_LIMITS) -> Layout:
        """Return the layout of observation and actions on a platform."""
        system = self.sample(platform, limits)
        observer, actions = system.observer, system.actions
        plain = plain_layout(observer.shape if observer is not None else (0,), actions.names)
        blocks = observer.blocks if isinstance(observer, View) else plain.blocks
        if not isinstance(actions, JobSlots):
            return replace(plain, blocks=blocks)
        nodes = platform.nodes if system.window.arrays.params["machines"][0] else 1
        return replace(plain, blocks=blocks, slots=system.window.slots, nodes=nodes)


def made(
    make: Callable[[State, JobWindow], Made],
    state: State,
    window: JobWindow,
    has: Sequence[str],
    what: str,
    wanted: str,
) -> Made:
    """Return what a user's function makes for a run.

    Args:
        has: attributes that it must have. what: the kind of part, wanted: the same in words, for messages.

    Raises:
        OptionsError: the function fails, or makes something else.
    """
    found = answered(make, what, state, window)
    missing = next((one for one in has if not hasattr(found, one)), None)
    if isinstance(found, type) or missing is not None:
        name = function_name(make)
        raise OptionsError(f"{what} {name}: makes {found!r:.60}, which is not {wanted}; it has no {missing!r}")
    return found


def space_of(preset: specs.PresetSpec) -> Space:
    """Return the decision space of a published preset."""
    found = dict(preset.fields)
    if "objectives" in found:
        found["objectives"] = {OBJECTIVES[name]: weight for name, weight in found["objectives"].items()}
    return Space(**found)


PRESETS: dict[str, Space] = {name: space_of(preset) for name, preset in specs.PRESETS.items()}
"""The spaces of the papers, as `decision.specs.PRESETS` lists them."""
