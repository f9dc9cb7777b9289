"""R10: PPO in the base MDP, against SJF, FIFO and EASY."""

import numpy as np

from hdeeprm_like.experiment import episodes_of, load_experiment
from hdeeprm_like.formats.windows import Window
from hdeeprm_like.results.pictures import COLOURS, picture
from hdeeprm_like.studies.compare.policies import policy_named
from hdeeprm_like.studies.compare.windows import schedule
from hdeeprm_like.studies.reproduction.claims import student
from hdeeprm_like.studies.reproduction.measures.learning import evaluations, held_out, trained
from hdeeprm_like.studies.reproduction.place import Findings, Place

EPISODES = 200
HEURISTICS = {"SJF": "sjf+greedy", "FIFO": "fcfs", "EASY": "fcfs+easy"}


def measure(place: Place) -> Findings:
    """Train with each seed, and let all play the same episodes."""
    agents = [trained(place, "base", "ppo", seed) for seed in place.seeds]
    experiment = load_experiment(place.options("base"))
    _, _, jobs_of = episodes_of(experiment)
    jobs = [jobs_of(number) for number in range(EPISODES)]
    heuristics = {}
    for title, name in HEURISTICS.items():
        played = [schedule(experiment.platform, Window(one, 0.0), policy_named(name)) for one in jobs]
        heuristics[title] = np.array([np.mean(1.0 + one.wait / one.run_time) for one in played])
    results = [held_out(agent, EPISODES) for agent in agents]
    slowdowns = np.array([result["mean_slowdown"] for result in results])
    steps = 50.0 * experiment.platform.cores
    found = Findings(
        {
            "ppo_slowdown": slowdowns.mean(axis=1),
            "ppo_reward": [float(np.mean(result["reward"])) for result in results],
            "ppo_sjf": (slowdowns - heuristics["SJF"]).mean(axis=1),
            "load": [100 * float((one.size * one.requested_time).sum()) / steps for one in jobs],
        }
    )
    rows = [[title, *told(values)] for title, values in heuristics.items()]
    rows.append([f"PPO, {len(agents)} seeds", *told(slowdowns.mean(axis=0))])
    found.table(f"Mean slowdown over {EPISODES} held-out episodes", ["policy", "slowdown", "95 %"], rows)
    with picture(place.folder / "curves.svg") as figure:
        axes = figure.subplots()
        for agent in agents:
            axes.plot(*evaluations(agent, "mean_slowdown"), color=COLOURS[0], alpha=0.7)
        for (title, values), colour in zip(heuristics.items(), COLOURS[1:], strict=False):
            axes.axhline(float(values.mean()), color=colour, linestyle="--", label=title)
        axes.set_xlabel("episodes learned from")
        axes.set_ylabel("mean slowdown")
        axes.legend()
    return found


def told(values: np.ndarray) -> list[str]:
    """Return mean and interval as two cells."""
    mean, low, high, _ = student(values)
    return [f"{mean:.3f}", f"{low:.3f} to {high:.3f}"]
