"""R11: four decision processes in Mao's scenarios."""

import math
from itertools import product

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.agent_names import Trained
from hdeeprm_like.experiment import episodes_of, load_experiment
from hdeeprm_like.results.pictures import COLOURS, picture
from hdeeprm_like.studies.reproduction.measures.learning import (
    cpu_of_training,
    evaluations,
    held_out,
    played,
    progress,
    trained,
    trained_each,
)
from hdeeprm_like.studies.reproduction.place import Findings, Place

OBSERVATIONS_TRIED = ("image", "compact", "sparse", "reduced")
EPISODES = {False: 100, True: 1000}  # held-out, by whether the budget is the full one
FULL = {"training": {"steps": 3_000_000}}
SHORT, LONG = 20, 60  # horizons
SOURCE = 9  # the scenario whose agent plays all others, too
SMALL_BUDGET = (1, 4, SOURCE)  # scenarios of the small budget
TIMED = {"training": {"steps": 4000, "evaluate_every": 0, "best": "reward"}}
TURNS = 5  # in which these learn
LEVEL = 0.01  # of the tests between horizons

Slowdowns = dict[tuple[str, int], np.ndarray]


def measure(place: Place) -> Findings:
    """Train all in the scenarios of the budget."""
    scenarios = range(1, 11) if place.full else SMALL_BUDGET
    agents = {(kind, s): agents_of(place, kind, s, SHORT) for kind, s in product(OBSERVATIONS_TRIED, scenarios)}
    slowdowns = {key: np.array([slowdowns_of(place, agent) for agent in own]) for key, own in agents.items()}
    found = Findings()
    for scenario in scenarios:
        difference = slowdowns["reduced", scenario].mean(axis=0) - slowdowns["image", scenario].mean(axis=0)
        found.values[f"s{scenario}"] = difference
    found.values["faster"] = [
        until_gained(one) / until_gained(other)
        for one, other in zip(agents["compact", 9], agents["image", 9], strict=True)
    ]
    for kind in ("image", "compact"):
        found.values[f"time_{kind}"] = [ratio for ratio in growth(place, kind) if not math.isnan(ratio)] or None
    transfer(place, agents["reduced", SOURCE], slowdowns, found)
    if place.full:
        found.values["horizons"] = share_told_apart(place, slowdowns)
    rows = [[kind, scenario, f"{values.mean():.3f}"] for (kind, scenario), values in slowdowns.items()]
    found.table("Mean slowdown of held-out episodes", ["MDP", "scenario", "slowdown"], rows)
    draw(place, agents)
    return found


def agents_of(place: Place, kind: str, scenario: int, horizon: int) -> list[Trained]:
    """Return the agents of a decision process, one for each seed."""
    name = f"{kind}-{scenario}"
    return trained_each(place, f"{name}-{horizon}", FULL, name if horizon == SHORT else "")


def slowdowns_of(place: Place, agent: Trained) -> list[float]:
    """Return the mean slowdown of each held-out episode of the agent's own scenario."""
    found = place.part(f"held-out-{agent.folder.name}", held_out, agent, EPISODES[place.full])
    return list(found["mean_slowdown"])


def slowdowns_on(agent: Trained, machine: Platform, jobs: list[Workload]) -> list[float]:
    """Return the mean slowdown of each of some workloads that an agent plays."""
    return [float(np.mean(1.0 + one.wait / one.run_time)) for one in (played(agent, machine, part) for part in jobs)]


def transfer(place: Place, travelled: list[Trained], slowdowns: Slowdowns, found: Findings) -> None:
    """Play the episodes of other scenarios by agents of one scenario, and compare with agents trained there."""
    rows, better = [], []
    for scenario in sorted({own for _, own in slowdowns} - {SOURCE}):
        other = load_experiment(place.options(f"reduced-{scenario}-{SHORT}"))
        jobs = [episodes_of(other)[2](number) for number in range(EPISODES[place.full])]
        parts = [f"transfer-{agent.folder.name}-{scenario}" for agent in travelled]
        there = np.array(
            [
                place.part(part, slowdowns_on, agent, other.platform, jobs)
                for part, agent in zip(parts, travelled, strict=True)
            ]
        )
        difference = there.mean(axis=0) - slowdowns["reduced", scenario].mean(axis=0)
        if scenario == 1:
            found.values["transfer_1"] = difference
        better.append(difference.mean() < 0.0)
        rows.append([scenario, f"{there.mean():.3f}", f"{slowdowns['reduced', scenario].mean():.3f}"])
    if place.full:
        found.values["transfer"] = 100.0 * float(np.mean(better))
    found.table(f"Mean slowdown of the agent of scenario {SOURCE} elsewhere", ["scenario", "it", "own"], rows)


def share_told_apart(place: Place, slowdowns: Slowdowns) -> float:
    """Return the percentage of decision processes and scenarios where a horizon of 60 steps does not do as 20 do."""
    from scipy.stats import ttest_rel

    apart = []
    for (kind, scenario), short in slowdowns.items():
        long = np.array([slowdowns_of(place, agent) for agent in agents_of(place, kind, scenario, LONG)])
        apart.append(ttest_rel(short.mean(axis=0), long.mean(axis=0)).pvalue <= LEVEL)
    return 100.0 * float(np.mean(apart))


def growth(place: Place, kind: str) -> list[float]:
    """Return how many times the CPU time of learning for 10 processors learning for 64 takes, for each decision.

    Both learn for a short time in turns, so that what else the machine does meets both; nothing is evaluated. The first
    turn, which compiles, does not count.
    """
    ratios = []
    for turn in range(TURNS + 1):
        agents = [trained(place, f"{kind}-{s}-{SHORT}", f"timed-{kind}-{s}", turn, **TIMED) for s in (SOURCE, 1)]
        large, small = (cpu_of_training(place, one) / float(progress(one, "decisions").sum()) for one in agents)
        ratios.append(large / small)
    return ratios[1:]


def curve(agent: Trained, figure: str) -> tuple[np.ndarray, np.ndarray]:
    """Return after how many decisions a training was evaluated, and a figure that was found then."""
    episodes, values = evaluations(agent, figure)
    decisions = np.concatenate([[0.0], progress(agent, "decisions").cumsum()])
    return decisions[episodes.astype(np.int64)], values


def until_gained(agent: Trained) -> float:
    """Return after how many decisions an agent has 90 % of what it gains in all."""
    decisions, rewards = curve(agent, "reward")
    goal = rewards[0] + 0.9 * (rewards.max() - rewards[0])
    return float(max(decisions[np.argmax(rewards >= goal)], decisions[1]))


def draw(place: Place, agents: dict[tuple[str, int], list[Trained]]) -> None:
    """Draw what agents were worth while they learned."""
    scenarios = sorted({scenario for _, scenario in agents})
    with picture(place.folder / "curves.svg", width=12.0) as figure:
        grid = figure.subplots(1, len(scenarios), squeeze=False)[0]
        for axes, scenario in zip(grid, scenarios, strict=True):
            for kind, colour in zip(OBSERVATIONS_TRIED, COLOURS, strict=False):
                for number, agent in enumerate(agents[kind, scenario]):
                    axes.plot(*curve(agent, "mean_slowdown"), color=colour, label="" if number else kind)
            axes.set_title(f"scenario {scenario}")
            axes.set_xlabel("decisions learned from")
        grid[0].set_ylabel("mean slowdown")
        grid[0].legend()
