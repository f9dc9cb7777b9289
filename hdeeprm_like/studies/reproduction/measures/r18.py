"""R18: an agent that chooses among the 36 pairs online, against the best of them in hindsight, two kinds of cores."""

from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.agent_names import Trained
from hdeeprm_like.engine.state_view import cores_of
from hdeeprm_like.experiment import Experiment, Overrides, episodes_of, load_experiment
from hdeeprm_like.results.pictures import BLUE, COLOURS, GREY, picture
from hdeeprm_like.run.episodes import Plays
from hdeeprm_like.run.runs import Runs
from hdeeprm_like.run.simulator import Clock
from hdeeprm_like.studies.reproduction.measures.learning import cpu_of_training, evaluations, iterated
from hdeeprm_like.studies.reproduction.place import Findings, Place
from hdeeprm_like.types import Bools, Floats, Ints

WINDOWS = 16
JOBS_SEED = 20261203  # of the windows; no training and no choice of options has had it
HOT_CORES = 64  # the first ones of the machine
LONG = 2500.0  # s, requests from which on the rule by hand saves energy
SAVING, FAST = "shortest-low_power", "shortest-high_gflops"
WORTH_TRYING = (
    FAST,
    SAVING,
    "shortest-high_mem_bw",
    "smallest-high_gflops",
    "smallest-low_power",
    "void",
)  # in a search

Choose = Callable[[Runs, Ints], Ints]
"""Takes running windows and the places of those that are not over; returns the action of each."""


def measure(place: Place) -> Findings:
    """Train, and play the windows by the agents, by each pair, by a rule and by a search."""
    agents = [iterated(place, "two-kinds", seed) for seed in place.seeds]
    windows = Windows(place.options("two-kinds"))
    found, rows = Findings(), []
    for clock in ("textbook", "batsim"):
        pairs = place.part(f"pairs-{clock}", windows.constants, clock)
        best = min(pairs, key=lambda name: float(np.mean(pairs[name])))
        costs = {agent.folder.name: windows.of_agent(agent, clock) for agent in agents}
        means = [float(np.mean(cost) / np.mean(pairs[best])) for cost in costs.values()]
        found.values["ratio" if clock == "textbook" else "ratio_batsim"] = means
        for (name, cost), ratio in zip(costs.items(), means, strict=True):
            low, high = interval(np.array(cost) - np.array(pairs[best]))
            rows.append([clock, name, best, f"{ratio:.3f}", f"{low:.0f} to {high:.0f}"])
        if clock == "textbook":
            searched = place.part("search", windows.searched)
            hand = float(np.mean(windows.by_hand()) / np.mean(pairs[best]))
            reached = float(np.mean(searched) / np.mean(pairs[best]))
            found.values |= {"hand": hand, "search": reached}
            found.values["taken"] = [100.0 * (1.0 - one) / (1.0 - reached) for one in means]
    found.values["cpu"] = [cpu_of_training(place, agent) for agent in agents]
    columns = ["clock", "agent", "best pair", "ratio to it", "difference, 95 %"]
    found.table(f"Cost of {WINDOWS} windows, each of 500 jobs, paired by window", columns, rows)
    draw_cores(place.folder / "cores.svg", windows, agents[0])
    draw_curves(place.folder / "curves.svg", agents)
    return found


class Windows:
    """Windows of jobs that no agent has seen.

    Attributes:
        experiment: of the machine, the jobs and the decisions. names: of the actions.
    """

    def __init__(self, options: Path, seed: int = JOBS_SEED, count: int = WINDOWS) -> None:
        self.experiment: Experiment = load_experiment(options, Overrides(seed=seed))
        self.count = count
        self.names = self.experiment.space.sample(self.experiment.platform).actions.names
        held_out = episodes_of(self.experiment)[2]
        self._jobs: list[Workload] = [held_out(number) for number in range(count)]

    def plays(self, clock: Clock, limits_of: Workload | None = None) -> Plays:
        """Return the windows by number; observations are scaled by *limits_of*, what an agent has learned with."""
        one = self.experiment
        return Plays(
            one.platform,
            lambda number: self._jobs[number % self.count],
            one.space,
            limits_of or one.workload,
            clock=clock,
        )

    def costs(self, plays: Plays, choose: Choose) -> list[float]:
        """Return what each window costs where actions are chosen so."""
        runs = plays.batch(0, self.count)
        assert runs is not None
        actions = np.zeros(self.count, np.int64)
        while not runs.over.all():
            places = np.flatnonzero(~runs.over)
            actions[places] = choose(runs, places)
            runs.step(actions)
        return [-float(reward) for reward in runs.episodes["reward"]]

    def constants(self, clock: Clock) -> dict[str, list[float]]:
        """Return the costs of each pair of the thesis."""
        plays, pairs = self.plays(clock), [name for name in self.names if name != "void"]
        return {
            name: self.costs(plays, lambda runs, places, action=action: np.full(len(places), action))  # type: ignore[misc]
            for action, name in enumerate(pairs)
        }

    def of_agent(self, agent: Trained, clock: Clock) -> list[float]:
        """Return the costs of a trained agent."""
        from hdeeprm_like.launch.trained import restored

        learner = restored(agent)
        learner.agent.begin(np.arange(self.count))
        return self.costs(
            self.plays(clock, learner.experiment.workload),
            lambda runs, places: learner.agent.decide(runs.observations[places], runs.masks[places], places),
        )

    def by_hand(self) -> list[float]:
        """Return the costs of the rule that saves energy while all waiting jobs are long."""
        return self.costs(self.plays("textbook"), self.rule())

    def rule(self) -> Choose:
        """Return the rule by hand."""
        limits = self.experiment.workload.limits()
        names = self.experiment.space.layout(self.experiment.platform, limits).names
        column, saving, fast = names.index("queue time minimum"), self.names.index(SAVING), self.names.index(FAST)

        def choose(runs: Runs, places: Ints) -> Ints:
            return np.where(runs.observations[places, column] * limits.time > LONG, saving, fast)

        return choose

    def searched(self, horizon: float = 43200.0) -> list[float]:
        """Return the costs of a search that knows the jobs to come.

        At each decision every action is tried in a fork of the simulation and followed by the rule for *horizon* s; the
        best one is taken. What it reaches can be reached; the least possible cost is unknown.
        """
        plays, rule = self.plays("textbook"), self.rule()
        actions = [self.names.index(name) for name in WORTH_TRYING]
        tried = plays.runs_to_fork(self.count * len(actions))

        def choose(runs: Runs, places: Ints) -> Ints:
            usual = rule(runs, places)
            gains = gains_of(self, runs, tried, places, actions, horizon)
            own = gains[np.arange(len(places)), [actions.index(int(action)) for action in usual]]
            best = gains.argmax(1)
            return np.where(gains[np.arange(len(places)), best] > own + 1e-9, np.array(actions)[best], usual)

        return self.costs(_Forkable(plays, self.count), choose)


class _Forkable(Plays):
    """The same windows in runs that can be forked."""

    def __init__(self, plays: Plays, count: int) -> None:
        super().__init__(plays.platform, plays.workload_of, plays.space, plays.limits_of, clock=plays.clock)
        self._runs[count] = self.runs_to_fork(count)


def gains_of(windows: Windows, runs: Runs, tried: Runs, places: Ints, actions: Sequence[int], horizon: float) -> Floats:
    """Return (D, A) what each action brings at D places if the rule follows; minus infinity for illegal ones."""
    from hdeeprm_like.learning.paired_rollouts import charge

    rule, cores = windows.rule(), windows.experiment.platform.cores
    sources, forks = np.repeat(places, len(actions)), np.arange(len(places) * len(actions))
    tried.room_like(runs)
    tried.fork(sources, forks, runs)
    before = tried.episodes["reward"][forks].copy()
    for fork, source in zip(forks.tolist(), sources.tolist(), strict=True):
        params = tried.run(fork).core.window.params
        params["until"] = np.minimum(params["until"], runs.now[source] + horizon)
    chosen = np.zeros(tried.count, np.int64)
    first = np.tile(actions, len(places))
    legal: Bools = tried.masks[forks, first].copy()
    chosen[forks] = np.where(legal, first, actions[0])
    tried.step(chosen)
    while not tried.over.all():
        going = np.flatnonzero(~tried.over)
        chosen[going] = rule(tried, going)
        tried.step(chosen)
    gained = tried.episodes["reward"][forks] - before
    gained += [charge(tried.run(fork), cores) for fork in forks.tolist()]
    found: Floats = np.where(legal, gained, -np.inf).reshape(len(places), len(actions))
    return found


def interval(differences: Floats) -> tuple[float, float]:
    """Return the 95 % interval of a mean by resampling."""
    drawn = np.random.default_rng(0).choice(differences, (4000, len(differences))).mean(1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(low), float(high)


def draw_cores(save: Path, windows: Windows, agent: Trained) -> None:
    """Draw for the first window which jobs get which cores, and when the agent switches the core policy."""
    from hdeeprm_like.launch.trained import restored

    learner = restored(agent)
    play = windows.plays("batsim", learner.experiment.workload)(0)
    switched: list[tuple[float, str]] = []
    while play.advance():
        observation, mask = play.observe()
        action = learner.agent.act(observation, mask)
        switched.append((play.system.state.now, windows.names[action].partition("-")[2] or "void"))
        play.act(action)
    jobs, tasks = play.system.state.tables.jobs, play.simulator.simulation.tasks
    tables = play.system.state.tables
    share = np.array([(cores_of(tables, job) < HOT_CORES).mean() for job in range(len(tables.jobs))])
    with picture(save, width=11.0, height=6.0) as figure:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        work = jobs["requested_time"] * jobs["size"] / 3600.0
        points = upper.scatter(tasks["start"] / 3600.0, work, c=share, cmap="coolwarm", s=14, vmin=0.0, vmax=1.0)
        upper.set(yscale="log", ylabel="requested core hours")
        upper.yaxis.set_major_formatter("{x:g}")
        figure.colorbar(points, ax=[upper, lower], label="share of the job's cores that are hot")
        kinds = sorted({kind for _, kind in switched})
        lower.scatter([time / 3600.0 for time, _ in switched], [kinds.index(kind) for _, kind in switched], s=6, c=BLUE)
        lower.set_yticks(range(len(kinds)), kinds)
        lower.set(xlabel="h", ylabel="core policy")
        lower.grid(color=GREY, alpha=0.2)


def draw_curves(save: Path, agents: Sequence[Trained]) -> None:
    """Draw what each agent's validation windows cost after each iteration, filled where the step was accepted."""
    with picture(save, width=7.0, height=4.0) as figure:
        axes = figure.subplots()
        for agent, colour in zip(agents, cycle(COLOURS)):
            iterations, rewards = evaluations(agent, "reward")
            accepted = evaluations(agent, "accepted")[1] > 0.0
            axes.plot(iterations, -rewards, color=colour, label=f"seed {agent.folder.name.rpartition('-')[2]}")
            axes.scatter(iterations, -rewards, c=[colour if one else "white" for one in accepted], edgecolors=colour)
        axes.set(xlabel="iteration", ylabel="cost of the validation windows", xticks=iterations, ylim=(0.0, None))
        axes.legend()
