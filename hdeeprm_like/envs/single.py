"""One cluster as a Gymnasium environment; only this module and ``vector`` import gymnasium."""

import copy
import operator
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from hdeeprm_like.cluster import metrics
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import JobLimits, Workload
from hdeeprm_like.decision.presets import Space
from hdeeprm_like.engine.splitmix64 import SEEDS, draw_below
from hdeeprm_like.envs.masks import MaskPlace, Masks, in_observation, space_with_mask, with_mask
from hdeeprm_like.envs.settings import reset_options
from hdeeprm_like.envs.windows import Windows, WorkloadOf, draws_of
from hdeeprm_like.errors import AgentError, OptionsError, WorkloadError, did_you_mean
from hdeeprm_like.formats.open import load_workload
from hdeeprm_like.formats.shipped import existing
from hdeeprm_like.refusals import ENVIRONMENT
from hdeeprm_like.run.batch import DRAWS, NO_DECISION
from hdeeprm_like.run.episodes import fragment
from hdeeprm_like.run.memory import copy_run
from hdeeprm_like.run.python_loop import Play, Steps
from hdeeprm_like.run.simulator import Clock, Simulator, check_clock
from hdeeprm_like.types import Bools, Floats
from hdeeprm_like.values import COUNT

try:
    import gymnasium
except ModuleNotFoundError as missing:
    raise OptionsError(
        f"environments need the package {missing.name}; install hdeeprm_like with its extra rl: "
        "pip install 'hdeeprm_like[rl]'"
    ) from None

RenderMode: TypeAlias = Literal["human", "rgb_array"]
RENDER_MODES: tuple[RenderMode, ...] = get_args(RenderMode)
RENDER_FPS = 4
RESET_OPTIONS = ("workload", "window")
SHARED = ("space", "platform", "workload", "workload_of", "limits")  # what a fork has in common with its origin
SHORTEST_RUN = 1e-5  # s, Batsim's run time of a job without work, so that its slowdown is defined


class SchedulingEnv(gymnasium.Env[Any, np.int64]):
    """A cluster whose queue an agent serves, with any of the decision spaces of `decision.presets.PRESETS`.

    Actions: ``Discrete(A)``; `action_names` names them. ``info["action_mask"]`` and `action_masks` show the legal ones,
    as int8, so that ``action_space.sample(info["action_mask"])`` draws one of them.

    | actions | index | meaning |
    |---|---|---|
    | policies | 0 .. A-1 | start jobs by that policy, a pair or a baseline (`decision.actions`) |
    | | A-1, if *void* | start no job |
    | jobs | 0 .. M-1 | start the job in that slot of the window (`decision.job_actions`) |
    | | M | wait |
    | machines | n * M + i | start the job in slot i on node n |
    | | N * M, if *waiting* | wait |

    With policies, an illegal action is an error; otherwise it counts as waiting.

    Observations: ``Box(0, 1, shape, float32)``; all are shares of a largest value, without a unit.

    | observation | shape | index: meaning | module of `decision.observations` |
    |---|---|---|---|
    | normal | (N + P + 3 C + 21,) | nodes' memory, processors' bandwidth, cores, queue | summary |
    | small | (N + P + 21,) | the same without the cores | summary |
    | minimal | (21,) | 5 statistics of 4 requests of the queue, variation of its length | summary |
    | image | (H, columns) | row: a time step ahead; columns: cores, slots, backlog | image |
    | deeprm | (H, columns) | the same with colours of running jobs and the last arrival | deeprm |
    | compact | (F,) | use of the cores ahead, slots, backlog in numbers | compact |
    | horizon | (F,) | use at the next events, slots with what each job found on arrival | horizon |
    | backfilling | (F,) | time left on each core, slots | backfilling |
    | machines | (F,) | slots, free capacity of each node | machines |

    The modules list the indices of each observation, with limits and units. With ``mask="observation"`` an observation
    is a dictionary of that ``observation`` and the ``action_mask``, see `envs.masks`.

    Reward: that of `decision.rewards` for the action: the objectives of the space by its mode. Each step returns the
    complete reward of its own action, so that the rewards of an episode add up to `decision.episode.Episode.reward`.

    Start: the jobs of *workload_of* with the environment's own generator, or those of ``reset(options=...)``; then the
    first instant at which a decision is due. The same seed gives the same episode.

    End: *terminated* when all jobs are over, or by *until* and *placed* of the space; *truncated* after *max_steps*.
    Then ``info["metrics"]`` has the means
    ``slowdown`` (1), ``bounded_slowdown`` (1), ``wait`` (s), and ``utilization`` (share), ``makespan`` (s) and ``jobs``
    over the jobs that have ended. ``info["time"]`` is the cluster's clock in s; not every step moves it.
    """

    workload: Workload
    """The jobs of the present episode."""

    policy_seed: int
    """Seed of the random policies in the present episode."""

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(
        self,
        space: Space,
        platform: Platform,
        workload_of: WorkloadOf,
        *,
        clock: Clock = "batsim",
        limits: JobLimits | None = None,
        max_steps: int | None = None,
        render_mode: RenderMode | None = None,
        record: bool = False,
        mask: MaskPlace = "info",
    ) -> None:
        """Make an environment; `hdeeprm_like.envs.registration.environment` makes one from names and files.

        Args:
            space: observation, actions and reward. platform: the machine.
            workload_of: draws the jobs of an episode with a generator: `Windows` of a trace, or a model.
            clock: ``batsim``: Batsim's time-keeping; ``textbook``: everything of one time happens at once;
            ``one-by-one``: with a decision after each single arrival or end.
            limits: the largest requests, which scale observations; None for those of each episode.
            max_steps: limit at which an episode is truncated; None for never.
            render_mode: ``human`` opens a window, ``rgb_array`` returns pictures; None draws nothing.
            record: whether ``play.episode`` records the decisions; steps take several times as long then.
            mask: ``info``: only `info` has the mask of legal actions; ``observation``: the observation has it, too.

        Raises:
            OptionsError: a value is invalid.
        """
        check_clock(clock)
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise OptionsError(
                f"render mode {render_mode!r} is not known{did_you_mean(str(render_mode), RENDER_MODES)}"
            )
        if max_steps is not None:
            COUNT.of(max_steps, OptionsError, "max_steps")
        space.refuse(platform, ENVIRONMENT, clock)
        self.space = space
        self.platform = platform
        self.clock: Clock = clock
        self.max_steps = max_steps
        self.render_mode = render_mode
        self.record = record
        self.workload_of = workload_of
        self.limits = limits
        sample = space.sample(platform) if limits is None else space.sample(platform, limits)
        shape = sample.observer.shape if sample.observer is not None else (0,)
        self.action_names = sample.actions.names
        self.action_space = gymnasium.spaces.Discrete(sample.actions.size)
        seen = gymnasium.spaces.Box(0.0, 1.0, shape, np.float32)
        self._shows_mask = in_observation(mask)
        self.observation_space: gymnasium.Space[Any] = (
            space_with_mask(seen, sample.actions.size) if self._shows_mask else seen
        )
        self._play: Play | None = None
        self._steps: Steps | None = None  # None if some part is not built in, or decisions are recorded
        self._running = False
        self._taken: list[int] = []  # actions in this episode
        self._mask: Bools = np.zeros(sample.actions.size, np.bool_)
        self._window: Any = None  # window for pictures
        self._draws: NDArray[np.uint64] = np.zeros(0, np.uint64)  # random states of windows and policy seeds

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: of this and the following episodes; None continues with the generator.
            options: ``workload``: a `Workload` or the path of one in Batsim's JSON, instead of the environment's own
                jobs; ``window``: number of its first job, and number of jobs.

        Raises:
            OptionsError: an option is unknown or invalid.
            WorkloadError: the agent never gets a decision to take.
        """
        super().reset(seed=seed)
        if seed is not None or len(self._draws) == 0:
            self._draws = draws_of([self.np_random])
        given = reset_options(options, RESET_OPTIONS)
        for _ in range(DRAWS):
            self.workload = self._jobs(given)
            self.policy_seed = draw_below(self._draws, 0, SEEDS)
            self._taken = []
            play = self._begin()
            if self._running:
                break
        else:
            raise WorkloadError(f"reset: {NO_DECISION}")
        if self.render_mode == "human":
            self.render()
        steps = self._steps
        observation, mask = play.observe() if steps is None else (steps.seen, steps.mask)
        self._mask = mask.copy()
        return self._seen(observation), {"action_mask": self.action_masks(), "time": play.system.state.now}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Apply an action and move to the next decision.

        Returns:
            Observation, reward of this action, whether the episode is over, whether it was truncated, ``info``.

        Raises:
            AgentError: no episode has begun or it is over; or the action is no integer, or illegal in a space that does
                not forgive that.
        """
        play = self.play
        if not self._running:
            raise AgentError("step: the episode is over; reset() begins another")
        try:
            number = operator.index(action)
        except TypeError:
            raise AgentError(f"step: the action is {action!r:.80}; a whole number is needed") from None
        if self._steps is not None:
            play.system.check(number, self._mask)
        observation, reward, now, running, mask = self._act(number)
        self._taken.append(number)
        truncated = running and len(self._taken) == self.max_steps
        self._running = running and not truncated
        self._mask = mask.copy()  # an action space may return the same array each time
        info: dict[str, Any] = {"action_mask": self.action_masks(), "time": now}
        if not self._running:
            info["metrics"] = self.metrics()
        if self.render_mode == "human":
            self.render()
        return self._seen(observation), reward, not running, truncated, info

    def _seen(self, observation: Floats) -> Any:
        """Return what is handed out as the observation, after `_mask` is that of the same instant."""
        return with_mask(observation, self._mask) if self._shows_mask else observation

    def _new_play(self) -> Play:
        """Return the present jobs before anything has happened."""
        state = self.space.state(self.platform, self.workload, self.policy_seed, log=False, limits=self.limits)
        self._play = play = Play(Simulator(state, self.workload, self.clock), self.space.system(state))
        self._steps = Steps(play) if play.is_built_in and not self.record else None
        return play

    def _begin(self) -> Play:
        """Start the episode of the present jobs, up to the first decision."""
        play = self._new_play()
        self._running = play.advance() if self._steps is None else self._steps.begin()
        return play

    def _act(self, action: int) -> tuple[Floats, float, float, bool, Bools]:
        """Apply an action; return the next observation, reward, time in s, whether it continues, and mask."""
        if self._steps is not None:
            return *self._steps(action), self._steps.mask
        play = self.play
        play.act(action)
        running = play.advance()
        if running:
            play.system.settle()
        observation, mask = play.observe()
        return observation, play.system.rewards[-1], play.system.state.now, running, mask

    def __getstate__(self) -> dict[str, Any]:
        """Return the pickled state of an environment: its jobs and past actions, not the compiled arrays."""
        kept = {name: value for name, value in vars(self).items() if name not in ("_play", "_steps", "_window")}
        return kept | {"_begun": self._play is not None}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Repeat the episode up to its former state; the same jobs, seed and actions give the same state."""
        begun, running, mask = kept.pop("_begun"), kept["_running"], kept["_mask"]
        vars(self).update(kept, _play=None, _steps=None, _window=None)
        if begun:
            self._begin()
            for action in self._taken:
                self._act(action)
        self._running, self._mask = running, mask

    def __deepcopy__(self, memo: dict[int, Any]) -> "SchedulingEnv":
        """Return a fork: an environment in the same state with the same random numbers, which goes on by itself.

        The arrays of the run are copied. Where a part of the space is the user's Python, or what happens is recorded,
        the episode is played again.
        """
        other = memo[id(self)] = object.__new__(type(self))
        kept = {
            name: value if name in SHARED else copy.deepcopy(value, memo) for name, value in self.__getstate__().items()
        }
        if self._steps is None:
            other.__setstate__(kept)
            return other
        running = kept["_running"]
        kept.pop("_begun")
        vars(other).update(kept, _play=None, _steps=None, _window=None)
        copy_run(self.play.run, other._new_play().run)
        other._running = running
        return other

    def action_masks(self) -> Masks:
        """Return (A,) 1 for each action that is legal now, under the name that sb3-contrib expects."""
        return self._mask.view(np.int8)

    @property
    def play(self) -> Play:
        """The current episode.

        Raises:
            AgentError: no episode has begun.
        """
        if self._play is None:
            raise AgentError("step: no episode has begun; call reset() first")
        return self._play

    def metrics(self) -> dict[str, float]:
        """Return metrics of the jobs that have ended until now; see the class."""
        tasks, jobs = self.play.simulator.simulation.tasks, self.play.system.state.tables.jobs
        done = np.isfinite(tasks["finish"])
        submit, start, finish = jobs["submit"][done], tasks["start"][done], tasks["finish"][done]
        size = jobs["size"][done].astype(np.int64)
        wait, run = np.maximum(start - submit, 0.0), np.maximum(finish - start, SHORTEST_RUN)
        begun = np.maximum(start, submit)  # not submit + wait, whose rounding would let jobs share cores for a moment
        ended = np.maximum(finish, begun)
        found = {
            "slowdown": metrics.slowdown(wait, run),
            "bounded_slowdown": metrics.bounded_slowdown(wait, run),
            "wait": wait,
        }
        means = {name: float(values.mean()) if len(values) else float("nan") for name, values in found.items()}
        return means | {
            "utilization": metrics.utilization(submit, begun, ended, size, self.platform.cores),
            "makespan": metrics.makespan(finish),
            "jobs": float(len(submit)),
        }

    def render(self) -> Any:
        """Draw which job has which cores, and the queue, until now; return (height, width, 3) bytes with ``rgb_array``.

        Raises:
            OptionsError: the environment was made without a render mode.
            ResultsError: there is no display for ``human``.
        """
        from hdeeprm_like.results.render import LiveWindow, draw_schedule, pixels

        if self.render_mode is None:
            raise OptionsError(f"render: make the environment with render_mode {' or '.join(map(repr, RENDER_MODES))}")
        tables = self.play.system.state.tables
        if self.render_mode == "human":
            if self._window is None:
                self._window = LiveWindow()
            self._window.show(lambda figure: draw_schedule(figure, tables))
            return None
        return pixels(lambda figure: draw_schedule(figure, tables))

    def close(self) -> None:
        """Close the window, if any."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def _jobs(self, options: Mapping[str, Any]) -> Workload:
        """Return the jobs of the next episode."""
        jobs = options.get("workload")
        if isinstance(jobs, str | Path):
            jobs = load_workload(
                existing(jobs, "workload"), reference_flops=self.platform.reference_flops, capacity=self.platform.cores
            )
        elif jobs is None and isinstance(self.workload_of, Windows) and "window" in options:
            jobs = self.workload_of.workload
        elif jobs is None:
            source = self.workload_of
            if isinstance(source, Windows):
                return fragment(source.workload, draw_below(self._draws, 0, source.starts), source.length)
            jobs = source(self.np_random)
        elif not isinstance(jobs, Workload):
            raise OptionsError(f"reset: workload: a Workload or a path is needed, not a {type(jobs).__name__}")
        if "window" not in options:
            return jobs
        try:
            first, number = (int(part) for part in options["window"])
        except (TypeError, ValueError):
            raise OptionsError(
                "reset: window: the number of the first job and of jobs are needed, as (0, 100)"
            ) from None
        if first < 0 or number < 1 or first + number > len(jobs):
            raise OptionsError(f"reset: window: {number} jobs from {first} on do not lie within {len(jobs)} jobs")
        return fragment(jobs, first, number)
