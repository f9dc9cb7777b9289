"""Many clusters as one Gymnasium vector environment, advanced together in compiled code."""

from collections.abc import Mapping, Sequence
from copy import deepcopy as copy_of
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import JobLimits
from hdeeprm_like.decision.presets import Space
from hdeeprm_like.engine.splitmix64 import SEEDS, draw_below
from hdeeprm_like.envs.masks import MaskPlace, Masks, in_observation, space_with_mask, with_mask
from hdeeprm_like.envs.settings import reset_options
from hdeeprm_like.envs.single import RENDER_FPS
from hdeeprm_like.envs.windows import Windows, WorkloadOf, draws_of
from hdeeprm_like.errors import AgentError, OptionsError, WorkloadError
from hdeeprm_like.refusals import ENVIRONMENTS
from hdeeprm_like.run.batch import AT_ONCE, DRAWS, FIGURES, NEXT_STEP, NO_DECISION, STAY
from hdeeprm_like.run.runs import Runs, shows_cores
from hdeeprm_like.run.simulator import Clock, check_clock
from hdeeprm_like.types import Bools, Floats, Ints
from hdeeprm_like.values import COUNT

import gymnasium  # isort: skip - envs.single says in one line what to install if it is missing
from gymnasium.utils import seeding  # isort: skip
from gymnasium.vector import AutoresetMode, VectorEnv  # isort: skip
from gymnasium.vector.utils import batch_space  # isort: skip

NO_PLACES = np.zeros(0, np.int64)
METRICS = FIGURES[:-1]  # the last one is the time
ENDS = {AutoresetMode.SAME_STEP: AT_ONCE, AutoresetMode.NEXT_STEP: NEXT_STEP, AutoresetMode.DISABLED: STAY}


class SchedulingVectorEnv(VectorEnv[Any, Ints, Any]):
    """B clusters, each like `SchedulingEnv`; the same seed gives the same episodes.

    Environment i of ``reset(seed=s)`` runs the episodes of ``SchedulingEnv`` after ``reset(seed=s + i)`` and then
    ``reset()`` at each end, exact to the last bit, for any number of threads. All parts of the decision space must be
    built in; for a user's own parts in Python use `gymnasium.vector.SyncVectorEnv`.

    | array | shape | meaning |
    |---|---|---|
    | observations | (B, ...) float32 | observations |
    | `action_masks` | (B, A) int8 | 1 for each legal action, also as ``info["action_mask"]`` |
    | rewards | (B,) float64 | complete reward of each action |

    With *copy* false, these are the arrays that the next `step` and `reset` write into: nothing is copied, not even by
    ``torch.from_numpy``; callers copy what they keep longer. ``info["time"]`` is (B,) the clocks in s.

    At an end ``info["final_info"]`` describes the finished episode, as arrays of B rows with a mask ``_...`` for each:
    ``episode`` has ``r``, the sum of rewards, and ``l``, the number of steps; ``metrics`` those of `SchedulingEnv`;
    ``time`` is its clock in s. With ``SAME_STEP`` the observation is already that of the next episode, and
    ``info["final_obs"]`` is the last one. With ``NEXT_STEP`` the next `step` ignores the action and resets;
    ``info["metrics"]`` is there as well, if only one environment has it. With ``DISABLED`` the caller begins the next
    episode by ``reset(options={"reset_mask": ended})``. Names of Gymnasium's wrappers are avoided.

    With ``mask="observation"`` observations are dictionaries of arrays with B rows, see `envs.masks`. The mask of
    ``info["final_obs"]`` is all ones, since there is no decision.
    """

    def __init__(
        self,
        space: Space,
        platform: Platform,
        workload_of: WorkloadOf,
        num_envs: int,
        *,
        clock: Clock = "batsim",
        limits: JobLimits | None = None,
        max_steps: int | None = None,
        threads: int = 1,
        copy: bool = True,
        autoreset: AutoresetMode | str = AutoresetMode.SAME_STEP,
        render_mode: str | None = None,
        mask: MaskPlace = "info",
    ) -> None:
        """Make the environments.

        Args:
            space, platform, workload_of, clock, limits, max_steps: as in `SchedulingEnv`; with *limits* episodes begin
                faster, since the jobs of each need not be searched.
            threads: number of threads that share the environments.
            copy: whether to return copies of arrays.
            autoreset: see the class; ``SameStep``, ``NextStep`` or ``Disabled``.
            render_mode: ``rgb_array`` makes `render` return a picture of each; None draws nothing.
            mask: as for `SchedulingEnv`.

        Raises:
            OptionsError: a value is invalid, or a part of the space is a user's own.
        """
        check(clock, autoreset, copy, render_mode, num_envs=num_envs, threads=threads, max_steps=max_steps)
        space.refuse(platform, ENVIRONMENTS, clock)
        self.render_mode = render_mode
        self.autoreset_mode = autoreset = AutoresetMode(autoreset)  # TorchRL asks for the attribute
        self._same_step = autoreset == AutoresetMode.SAME_STEP
        self._disabled = autoreset == AutoresetMode.DISABLED
        self._made_here = not isinstance(workload_of, Windows)  # otherwise compiled code draws the next episodes
        windows = workload_of if isinstance(workload_of, Windows) else None
        named = windows is None or render_mode is not None or shows_cores(space, platform, windows.workload, clock)
        self.runs = Runs(space, platform, num_envs, clock, threads, named)
        self.runs.end_episodes(STAY if windows is None else ENDS[autoreset], max_steps)
        if windows is not None:
            self.runs.draw_windows(windows.workload, windows.length, limits)
            self.runs.make_room(*windows.most(platform))
        self.num_envs = num_envs
        self.action_names = self.runs.action_names
        self.single_action_space = gymnasium.spaces.Discrete(len(self.action_names))
        seen = gymnasium.spaces.Box(0.0, 1.0, self.runs.shape, np.float32)
        self._shows_mask = in_observation(mask)
        self.single_observation_space: gymnasium.Space[Any] = (
            space_with_mask(seen, len(self.action_names)) if self._shows_mask else seen
        )
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": RENDER_FPS, "autoreset_mode": autoreset}
        self._copy = copy
        self._workload_of = workload_of
        self._limits = limits
        self._generators = [np.random.default_rng() for _ in range(num_envs)]
        self._begun = False
        self._shared = None if copy else (self._info(), self._finished() | self._info())

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in every environment.

        Args:
            seed: of the first environment, the next ones count up; or one for each. None continues with the generators.
            options: ``reset_mask``, (B,) which environments begin; the others continue.

        Raises:
            OptionsError: an option is unknown or invalid.
            WorkloadError: an agent never gets a decision to take.
        """
        given = reset_options(options, ["reset_mask"])
        chosen = np.asarray(given.get("reset_mask", np.ones(self.num_envs, np.bool_)))
        if chosen.shape != (self.num_envs,) or chosen.dtype != np.bool_:
            raise OptionsError(f"reset: reset_mask: ({self.num_envs},) truth values are needed")
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int | np.integer) else seed
        if seeds is not None and len(seeds) != self.num_envs:
            raise OptionsError(f"reset: {len(seeds)} seeds; {self.num_envs} are needed")
        places = np.flatnonzero(chosen)
        for place in places.tolist():
            one = None if seeds is None else seeds[place]
            if one is not None or not self._begun:
                self._generators[place] = seeding.np_random(one)[0]
                self.runs.draws[place] = draws_of([self._generators[place]])[0]
        self._begun = True
        self._begin(places)
        self.runs.terminated[places] = self.runs.truncated[places] = self.runs.ended[places] = False
        return self._seen(self.runs.observations, self.runs.masks), self._info()

    def step(self, actions: Ints) -> tuple[Any, Floats, Bools, Bools, dict[str, Any]]:
        """Apply (B,) actions and move every environment to its next decision.

        Returns:
            Observations, rewards of these actions, which episodes are over, which were truncated, ``info``.

        Raises:
            AgentError: no episode has begun; or an action is no integer, or illegal in a space that does not forgive
            that.
        """
        if not self._begun:
            raise AgentError("step: no episode has begun; call reset() first")
        if not isinstance(actions, np.ndarray):
            actions = as_actions(actions)
        if actions.dtype.kind not in "iu" or actions.shape != (self.num_envs,):
            found = f"{actions.dtype} of shape {actions.shape}"
            raise AgentError(f"step: the actions are {found}; ({self.num_envs},) whole numbers are needed")
        runs = self.runs
        if self._disabled and runs.ended.any():
            raise AgentError(
                f"step: the episode of environment {int(runs.ended.argmax())} is over; "
                "reset(options={'reset_mask': mask}) begins the next one"
            )
        if self._made_here:
            return self._step_and_begin(actions)
        return self._taken(runs.step(actions) > 0)

    def _step_and_begin(self, actions: Ints) -> tuple[Any, Floats, Bools, Bools, dict[str, Any]]:
        """Take a step where Python makes the jobs of the next episodes."""
        runs = self.runs
        next_step = not self._same_step and not self._disabled
        over = np.flatnonzero(runs.ended) if next_step else NO_PLACES
        ended = runs.step(actions) > 0
        if len(over):
            self._begin(over)
            runs.rewards[over] = 0.0
        if not (ended and self._same_step):
            return self._taken(ended)
        final = self._finished()
        self._begin(np.flatnonzero(runs.ended))
        seen, rewards, terminated, truncated, info = self._taken(False)
        return seen, rewards, terminated, truncated, final | info

    def _taken(self, ended: bool) -> tuple[Any, Floats, Bools, Bools, dict[str, Any]]:
        """Return what `step` does.

        Args:
            ended: whether ``info`` describes finished episodes.
        """
        runs, out = self.runs, self._out
        if self._shared is not None:  # the same arrays each time
            info = self._shared[ended].copy()
            seen = with_mask(runs.observations, runs.masks) if self._shows_mask else runs.observations
            return seen, runs.rewards, runs.terminated, runs.truncated, info
        info = self._finished() | self._info() if ended else self._info()
        seen = self._seen(runs.observations, runs.masks)
        return seen, out(runs.rewards), out(runs.terminated), out(runs.truncated), info

    def fork(self, sources: Sequence[int] | Ints, places: Sequence[int] | Ints) -> tuple[Floats, dict[str, Any]]:
        """Continue environments from the state of others: the same cluster, jobs and random numbers, in microseconds.

        Both play on alike from then on if they take the same actions, to the end of the episode and in later ones.

        Args:
            sources: numbers of environments. places: of as many others, whose own episodes are lost.

        Returns:
            What is to be seen in all environments, and ``info``.

        Raises:
            AgentError: no episode has begun.
            OptionsError: there are no such environments, or one is in both lists.
        """
        if not self._begun:
            raise AgentError("fork: no episode has begun; call reset() first")
        theirs, mine = numbers_in(sources, self.num_envs), numbers_in(places, self.num_envs)
        if (
            len(theirs) != len(mine)
            or len(set(mine.tolist())) != len(mine)
            or set(mine.tolist()) & set(theirs.tolist())
        ):
            raise OptionsError("fork: as many places as sources are needed, each once and none of the sources")
        self.runs.fork(theirs, mine)
        for source, place in zip(theirs.tolist(), mine.tolist(), strict=True):
            self._generators[place] = copy_of(self._generators[source])
        return self._out(self.runs.observations), self._info()

    def action_masks(self) -> Masks:
        """Return (B, A) 1 for each action that is legal now."""
        return self.runs.masks.view(np.int8)

    def render(self) -> tuple[Any, ...]:
        """Return a picture of each environment, (height, width, 3) bytes: which job has which cores, and the queue.

        Raises:
            OptionsError: the environments were made without a render mode.
        """
        from hdeeprm_like.results.render import draw_schedule, pixels

        if self.render_mode is None:
            raise OptionsError("render: make the environments with render_mode 'rgb_array'")
        tables = [self.runs.run(place).core.tables for place in range(self.num_envs)]
        return tuple(pixels(partial(draw_schedule, t=one)) for one in tables)

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads that share the environments."""
        self.runs.close()

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self._out(self.action_masks()), "time": self._out(self.runs.now)}

    def _finished(self) -> dict[str, Any]:
        """Return the info of `step` on finished episodes."""
        runs, out = self.runs, self._out
        which = out(runs.ended)
        figures = out(runs.figures)
        metrics = masked(dict(zip(METRICS, figures.T, strict=False)), which)
        episode = masked({"r": out(runs.returns), "l": out(runs.lengths)}, which)
        final = masked({"episode": episode, "metrics": metrics, "time": figures[:, len(METRICS)]}, which)
        more = {"final_obs": self._last()} if self._same_step else {"metrics": metrics}
        return masked({"final_info": final, **more}, which)

    def _begin(self, places: Ints) -> None:
        """Begin the next episodes of some places; episodes without a decision are skipped."""
        if isinstance(self._workload_of, Windows):
            if not self.runs.begin(places):
                raise WorkloadError(f"reset: {NO_DECISION}")
            return
        for _ in range(DRAWS):
            for place in places.tolist():
                jobs = self._workload_of(self._generators[place])
                first, seed = self.runs.put(place, jobs), draw_below(self.runs.draws, place, SEEDS)
                self.runs.load(place, first, len(jobs), 0.0, seed, self._limits or jobs.limits())
            if self.runs.begin(places):
                return
            places = places[self.runs.over[places]]
        raise WorkloadError(f"reset: {NO_DECISION}")

    def _last(self) -> Any:
        """Return what was seen last in the episodes that are over."""
        return self._seen(self.runs.final, np.ones_like(self.runs.masks))

    def _seen(self, observations: Floats, masks: Bools) -> Any:
        """Return what is handed out as observations."""
        seen = self._out(observations)
        return with_mask(seen, self._out(masks)) if self._shows_mask else seen

    def _out(self, array: Any) -> Any:
        return array.copy() if self._copy else array


def numbers_in(numbers: Sequence[int] | Ints, count: int) -> Ints:
    """Return numbers of environments as an array.

    Raises:
        OptionsError: they are no whole numbers below *count*.
    """
    found = np.asarray(numbers)
    if found.ndim != 1 or (found.size and (found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= count)):
        raise OptionsError(f"fork: {numbers!r:.80}: a list of whole numbers from 0 to {count - 1} is needed")
    return found.astype(np.int64)


def as_actions(actions: Any) -> NDArray[Any]:
    """Return a sequence of actions as an array.

    Raises:
        AgentError: it is not one.
    """
    try:
        return np.asarray(actions)
    except (TypeError, ValueError):
        raise AgentError(f"step: the actions are {actions!r:.80}; one whole number for each is needed") from None


def masked(columns: Mapping[str, Any], which: Bools) -> dict[str, Any]:
    """Return columns of B rows, each with a mask of its valid rows, in Gymnasium's convention."""
    return {**columns, **{f"_{name}": which for name in columns}}


def check(clock: object, autoreset: object, copy: object, render_mode: object, **counts: int | None) -> None:
    """Refuse what no vector environment has.

    Args:
        counts: whole numbers from 1, by their names; None for those that are not given.

    Raises:
        OptionsError: a value is invalid.
    """
    check_clock(clock)
    for name, number in counts.items():
        if number is not None:
            COUNT.of(number, OptionsError, name)
    if autoreset not in (*ENDS, *(mode.value for mode in ENDS)):
        raise OptionsError(f"autoreset is {autoreset!r}; {' or '.join(mode.value for mode in ENDS)} is needed")
    if not isinstance(copy, bool):
        raise OptionsError(f"copy is {copy!r:.80}; True or False is needed")
    if render_mode not in (None, "rgb_array"):
        raise OptionsError(f"render mode {render_mode!r} is not known; many environments draw 'rgb_array' only")
