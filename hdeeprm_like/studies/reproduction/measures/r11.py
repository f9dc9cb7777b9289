"""R11: four decision processes in Mao's scenarios."""

from itertools import product

import numpy as np

from hdeeprm_like.results.pictures import COLOURS, picture
from hdeeprm_like.studies.reproduction.measures.learning import evaluations, held_out, progress, trained
from hdeeprm_like.studies.reproduction.place import Findings, Place

KINDS = ("image", "compact", "sparse", "reduced")
EPISODES = {False: 200, True: 1000}  # held-out, by whether the budget is the full one
FULL = {"training": {"episodes": 24000}}  # some 3e6 steps
HORIZON = 20


def measure(place: Place) -> Findings:
    """Train all in the scenarios of the budget."""
    scenarios = range(1, 11) if place.full else (1, 9)
    changes = FULL if place.full else {}
    agents = {
        (kind, scenario): [
            trained(place, f"{kind}-{scenario}-{HORIZON}", f"{kind}-{scenario}", seed, **changes)
            for seed in place.seeds
        ]
        for kind, scenario in product(KINDS, scenarios)
    }
    slowdowns = {
        key: np.array([
            place.part(f"held-out-{agent.folder.name}", lambda agent=agent: held_out(agent, EPISODES[place.full]))[  # type: ignore[misc]
                "mean_slowdown"]
            for agent in own
        ])
        for key, own in agents.items()
    }  # fmt: skip
    found = Findings()
    for scenario in scenarios:
        difference = slowdowns["reduced", scenario].mean(axis=0) - slowdowns["image", scenario].mean(axis=0)
        found.values[f"s{scenario}"] = difference
    found.values["faster"] = [
        until_gained(one) / until_gained(other)
        for one, other in zip(agents["compact", 9], agents["image", 9], strict=True)
    ]
    for kind in ("image", "compact"):
        times = [
            np.mean(
                [progress(agent, "seconds").sum() / progress(agent, "decisions").sum() for agent in agents[kind, s]]
            )
            for s in (1, 9)
        ]
        found.values[f"time_{kind}"] = float(times[1] / times[0])
    rows = [[kind, scenario, f"{values.mean():.3f}"] for (kind, scenario), values in slowdowns.items()]
    found.table("Mean slowdown of held-out episodes", ["MDP", "scenario", "slowdown"], rows)
    with picture(place.folder / "curves.svg", width=12.0) as figure:
        grid = figure.subplots(1, len(scenarios), squeeze=False)[0]
        for axes, scenario in zip(grid, scenarios, strict=True):
            for kind, colour in zip(KINDS, COLOURS, strict=False):
                curves = [evaluations(agent, "mean_slowdown") for agent in agents[kind, scenario]]
                axes.plot(curves[0][0], np.mean([curve[1] for curve in curves], axis=0), color=colour, label=kind)
            axes.set_title(f"scenario {scenario}")
            axes.set_xlabel("episodes learned from")
        grid[0].set_ylabel("mean slowdown")
        grid[0].legend()
    return found


def until_gained(agent: object) -> float:
    """Return after how many episodes an agent has 90 % of what it gains in all."""
    episodes, rewards = evaluations(agent, "reward")  # type: ignore[arg-type]
    goal = rewards[0] + 0.9 * (rewards.max() - rewards[0])
    return float(max(episodes[np.argmax(rewards >= goal)], episodes[1]))
