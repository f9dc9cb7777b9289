"""R10: policy gradient, A2C and PPO in the base MDP, against SJF, FIFO and EASY."""

from collections.abc import Callable

import numpy as np

from hdeeprm_like.decision.agent_names import Trained
from hdeeprm_like.decision.compared_policies import compared_policy
from hdeeprm_like.errors import ResultsError
from hdeeprm_like.experiment import Experiment, JobsOf, episodes_of, load_experiment
from hdeeprm_like.formats.windows import Window
from hdeeprm_like.inputs import read_rows
from hdeeprm_like.results.pictures import COLOURS, picture
from hdeeprm_like.studies.compare.windows import schedule
from hdeeprm_like.studies.reproduction.claims import student
from hdeeprm_like.studies.reproduction.measures.learning import evaluations, held_out, progress, trained_each
from hdeeprm_like.studies.reproduction.place import Findings, Place

EPISODES = 200
HEURISTICS = {"SJF": "sjf+greedy", "FIFO": "fcfs", "EASY": "fcfs+easy"}
LEARNERS = {"PG": ("pg", "reinforce"), "A2C": ("a2c", "actor_critic"), "PPO": ("ppo", "ppo")}
WITHOUT = {"pybatsim": {"agent": {"entropy": 0.0}}}  # the bonus
FULL = {
    "PG": {"training": {"episodes": 200_000, "envs": 200}},
    "A2C": {"training": {"episodes": 20_000}},
    "PPO": {"training": {"episodes": 20_000}},
}
STUCK, LAST = 0.95, 0.1  # share of the decisions that one action takes, and share of the training that counts


def measure(place: Place) -> Findings:
    """Train with each seed, and let all play the same episodes."""
    agents = {title: trained_each(place, base, FULL[title], agent=file) for title, (base, file) in LEARNERS.items()}
    plain = trained_each(place, "a2c", FULL["A2C"], "a2c-plain", "actor_critic", **WITHOUT)
    experiment = load_experiment(place.options("ppo"))
    _, choosing, jobs_of = episodes_of(experiment)
    heuristics = {title: slowdowns(experiment, name, jobs_of, EPISODES) for title, name in HEURISTICS.items()}
    updates = load_experiment(
        place.folder / "options" / "pg-1.json"
    ).options.training  # with the budget of its training
    sjf = slowdowns(experiment, HEURISTICS["SJF"], choosing, updates.evaluation_episodes).mean()
    results = {
        title: [place.part(f"held-out-{one.folder.name}", held_out, one, EPISODES) for one in own]
        for title, own in agents.items()
    }
    slowdown = {title: np.array([one["mean_slowdown"] for one in own]) for title, own in results.items()}
    reward = {title: [float(np.mean(one["reward"])) for one in own] for title, own in results.items()}
    steps = 50.0 * experiment.platform.cores
    jobs = [jobs_of(number) for number in range(EPISODES)]
    found = Findings(
        {
            "pg_sjf": [first_below(agent, sjf) / updates.envs for agent in agents["PG"]],
            "pg_below": (slowdown["PG"] - heuristics["SJF"]).mean(axis=1),
            "pg_slowdown": slowdown["PG"].mean(axis=1),
            "pg_reward": reward["PG"],
            "ppo_slowdown": slowdown["PPO"].mean(axis=1),
            "ppo_reward": reward["PPO"],
            "ppo_sjf": (slowdown["PPO"] - heuristics["SJF"]).mean(axis=1),
            "load": [100 * float((one.size * one.requested_time).sum()) / steps for one in jobs],
            "a2c_min": better(agents["A2C"], agents["PG"], "mean_slowdown", np.min),
            "a2c_mean": better(agents["A2C"], agents["PG"], "mean_slowdown", np.mean),
            "pg_max_reward": better(agents["PG"], agents["A2C"], "reward", np.max),
            "pg_mean_reward": better(agents["PG"], agents["A2C"], "reward", np.mean),
            "stuck": 100 * float(np.mean([share_of_one_action(agent) > STUCK for agent in plain])),
            "interactions": len(progress(agents["PG"][0], "reward")) / len(progress(agents["A2C"][0], "reward")),
        }
    )
    rows = [[title, *told(values)] for title, values in heuristics.items()]
    rows += [[f"{title}, {len(own)} seeds", *told(own.mean(axis=0))] for title, own in slowdown.items()]
    found.table(f"Mean slowdown over {EPISODES} held-out episodes", ["policy", "slowdown", "95 %"], rows)
    draw(place, agents, heuristics)
    return found


def slowdowns(experiment: Experiment, policy: str, jobs_of: JobsOf, episodes: int) -> np.ndarray:
    """Return the mean slowdown of each of some episodes under a heuristic."""
    played = [
        schedule(experiment.platform, Window(jobs_of(number), 0.0), compared_policy(policy))
        for number in range(episodes)
    ]
    return np.array([np.mean(1.0 + one.wait / one.run_time) for one in played])


def first_below(agent: Trained, slowdown: float) -> float:
    """Return after how many episodes an agent has first had a smaller slowdown; all of them where it never had."""
    episodes, values = evaluations(agent, "mean_slowdown")
    below = np.flatnonzero(values < slowdown)
    return float(episodes[below[0]] if len(below) else episodes[-1])


def better(
    ours: list[Trained], others: list[Trained], figure: str, summary: Callable[[np.ndarray], float]
) -> list[float]:
    """Return by how many percent of the other one's size each agent is better, by a summary of its training.

    Slowdowns are positive and better if smaller, rewards are negative and better if larger, so that 1 - ours / theirs
    is above 0 in both cases for the better one.
    """
    pairs = zip(ours, others, strict=True)
    return [
        100.0 * (1.0 - summary(evaluations(one, figure)[1]) / summary(evaluations(other, figure)[1]))
        for one, other in pairs
    ]


def share_of_one_action(agent: Trained) -> float:
    """Return the share of the most frequent action in the last part of a training."""
    first = read_rows(agent.folder / "progress.csv", (), ResultsError)[0]
    names = [name for name in first if name.startswith("p:")]
    last = [progress(agent, name) for name in names]
    count = max(1, round(LAST * len(last[0])))
    return float(np.mean([column[-count:] for column in last], axis=1).max())


def told(values: np.ndarray) -> list[str]:
    """Return mean and interval as two cells."""
    mean, low, high, _ = student(values)
    return [f"{mean:.3f}", f"{low:.3f} to {high:.3f}"]


def draw(place: Place, agents: dict[str, list[Trained]], heuristics: dict[str, np.ndarray]) -> None:
    """Draw what agents were worth while they learned."""
    with picture(place.folder / "curves.svg", width=12.0) as figure:
        left, right = figure.subplots(1, 2)
        for (title, own), colour in zip(agents.items(), COLOURS, strict=False):
            for number, agent in enumerate(own):
                label = "" if number else title
                left.plot(*evaluations(agent, "mean_slowdown"), color=colour, alpha=0.7, label=label)
                right.plot(*evaluations(agent, "reward"), color=colour, alpha=0.7, label=label)
        for (title, values), colour in zip(heuristics.items(), COLOURS[len(agents) :], strict=False):
            left.axhline(float(values.mean()), color=colour, linestyle="--", label=title)
        for axes, title in ((left, "mean slowdown"), (right, "total reward")):
            axes.set_xscale("symlog", linthresh=100)
            axes.set_xlabel("episodes learned from")
            axes.set_ylabel(title)
            axes.legend()
