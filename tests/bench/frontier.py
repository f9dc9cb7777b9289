"""Agents and learned policies beside the frontier of all settings of `saf+reserve`, at equal mean wait.

``python tests/bench/frontier.py runs/kernel-1,runs/kernel-2 --traces fresh,CTC-SP2-1996-3.1-cln,NASA-iPSC-1993``

Each trace is cut into disjoint windows; of many, WINDOWS are taken evenly. The rules are 13 shares of kept cores times
four limits of short jobs; of these the frontier are the ones that no other beats in both figures on these very windows,
which favours the rules. What is compared has a difference of mean bounded slowdowns to the mix of the two rules around
it that waits as long, with a 95 % interval over windows; several trainings also have a mean of that with Student's
interval over seeds. ``fresh`` is a new trace of Lublin's model. ``--save`` keeps all figures, for ``--picture``
and so that policies need not be played again.
"""

import argparse
import json
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
from judge import MOST, played
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from measuring import told

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.cluster.schedule import FIGURES
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.agent_names import Trained
from hdeeprm_like.formats.files import write_json
from hdeeprm_like.formats.job_reading import Reading, machine_size, read_jobs
from hdeeprm_like.formats.shipped import found
from hdeeprm_like.formats.swf_cuts import take
from hdeeprm_like.formats.windows import window
from hdeeprm_like.inputs import read_object
from hdeeprm_like.launch.trained import restored
from hdeeprm_like.learning.rollout import play_side_by_side
from hdeeprm_like.results.pictures import BLUE, COLOURS, GREY, picture
from hdeeprm_like.run import batch
from hdeeprm_like.run.episodes import Plays, fragment
from hdeeprm_like.studies.evolution.options import Source
from hdeeprm_like.studies.evolution.windows import made_jobs

KEPT, SHORT = (0, 8, 12, 16, 20, 24, 28, 32, 40, 48, 64, 80, 96), (300, 1000, 3600, 10000)  # of 256 cores; s
OTHERS = ("saf+greedy", "saf+easy", "zoo:steady", "zoo:balanced", "zoo:balanced+bounded", "zoo:slowdown")
SLOWDOWN, WAIT, UTILIZATION, LONGEST = range(4)
NAMES = ("bounded_slowdown", "wait", "utilization", "wait_max")
WEIGHT = 0.0025  # of a second of wait beside a bounded slowdown
FRESH, SEED = "fresh", 9001
STUDENT = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78}  # 97.5 % points, by number of seeds


def jobs_of(name: str, count: int, jobs: int, cores: int | None) -> tuple[Platform, list[Workload]]:
    """Return a machine and the windows of a trace."""
    if name == FRESH:
        source = Source(model="lublin", preset="whole", cores=256)
        _, whole = made_jobs(source, count * jobs, np.random.default_rng(SEED))
        return pool(256), [fragment(whole, number * jobs, jobs) for number in range(count)]
    trace = read_jobs(found(name, "trace"), Reading(larger="keep", memory=False))
    cores = cores or machine_size(trace)
    begins = np.arange(len(trace) // jobs) * jobs
    if len(begins) > count:
        begins = begins[np.linspace(0, len(begins) - 1, count).astype(int)]
    cut = [take(trace, np.arange(begin, begin + jobs)) for begin in begins]
    narrow = [part for part in cut if max(part.processors.max(), part.requested_processors.max()) <= cores]
    return pool(cores), [window(part, cores).workload for part in narrow]


def of_policy(machine: Platform, windows: list[Workload], name: str) -> np.ndarray:
    """Return (windows, figures) of a policy."""
    rows = []
    for jobs in windows:
        schedule = played(machine, jobs, name)
        rows.append([FIGURES[one].value(schedule) for one in NAMES])
    return np.array(rows)


def of_agent(folder: Path, machine: Platform, windows: list[Workload]) -> tuple[np.ndarray, float]:
    """Return (windows, figures) of an agent's most probable actions, without longest waits, and s a decision."""
    learner = restored(Trained(folder))
    learner.agent.fit(learner.space.layout(machine, learner.experiment.workload.limits()))
    plays = Plays(machine, windows.__getitem__, learner.space, limits_of=learner.experiment.workload, clock="textbook")
    runs = plays.runs_to_fork(len(windows))
    plays.load(runs, 0)
    began = time.process_time()
    decisions = play_side_by_side(learner.agent, runs)
    seconds = (time.process_time() - began) / decisions
    columns = [batch.FIGURES.index(name) for name in NAMES[:3]]
    return runs.figures[:, columns].copy(), seconds


def frontier(rules: dict[str, np.ndarray]) -> list[str]:
    """Return the rules that no other beats in both figures, by ascending wait."""
    best, least = [], np.inf
    for name in sorted(rules, key=lambda one: rules[one][:, WAIT].mean()):
        if rules[name][:, SLOWDOWN].mean() < least:
            best.append(name)
            least = rules[name][:, SLOWDOWN].mean()
    return best


def less_the_rule(own: np.ndarray, rules: dict[str, np.ndarray], best: list[str]) -> np.ndarray | None:
    """Return (windows,) bounded slowdown less that of the mix of two rules that waits as long; None if none does."""
    wait = own[:, WAIT].mean()
    for less, more in pairwise(best):
        low, high = rules[less][:, WAIT].mean(), rules[more][:, WAIT].mean()
        if low <= wait <= high:
            share = (wait - low) / (high - low)
            return own[:, SLOWDOWN] - (1 - share) * rules[less][:, SLOWDOWN] - share * rules[more][:, SLOWDOWN]
    return None


def judge(
    name: str, machine: Platform, windows: list[Workload], agents: list[Path], known: dict[str, list[list[float]]]
) -> dict[str, object]:
    """Print the table of a trace and return its figures.

    Args:
        known: figures of policies, by window, that need not be played again.
    """
    names = [f"saf+reserve:{round(kept * machine.cores / 256)}:{short}" for kept in KEPT[1:] for short in SHORT]
    played_now = {one: np.array(rows) for one, rows in known.items()}
    for one in dict.fromkeys(("saf+greedy", *names, *OTHERS)):
        if one not in played_now:
            played_now[one] = of_policy(machine, windows, one)
    rules = {one: played_now[one] for one in dict.fromkeys(("saf+greedy", *names))}
    best = frontier(rules)
    cost = {one: rows[:, SLOWDOWN].mean() + WEIGHT * rows[:, WAIT].mean() for one, rows in rules.items()}
    first = min(cost, key=cost.__getitem__)
    say(f"\n{name}, {machine.cores} cores, {len(windows)} windows; best rule {first}: both {cost[first]:.2f}")
    for one in best:
        say(f"  {one}: {rules[one][:, SLOWDOWN].mean():.2f} at {rules[one][:, WAIT].mean():.0f} s")
    points, of_seeds, ratios = {}, [], []
    for one in (*OTHERS, *agents):
        seconds = 0.0
        if isinstance(one, Path):
            own, seconds = of_agent(one, machine, windows)
        else:
            own = played_now[one]
        both, less = own[:, SLOWDOWN].mean() + WEIGHT * own[:, WAIT].mean(), less_the_rule(own, rules, best)
        shown = "no rules around it" if less is None else told(less)
        if isinstance(one, Path):
            ratios.append(both / cost[first])
            if less is not None:
                of_seeds.append(float(less.mean()))
        title = one.name if isinstance(one, Path) else one
        means = own.mean(0).tolist()
        points[title] = means[:2]
        say(
            f"  {title}: {means[SLOWDOWN]:.2f} at {means[WAIT]:.0f} s, utilization {means[UTILIZATION]:.3f}; "
            f"less the rule {shown}; both {both:.2f}, {both / cost[first]:.3f} of the best rule's"
            + (f"; {1e6 * seconds:.1f} us a decision" if seconds else "")
        )
    if len(of_seeds) > 1:
        say(f"  over {len(of_seeds)} of {len(agents)} seeds: less the rule {of_student(of_seeds)}")
        say(f"  over {len(ratios)} seeds: both, as a ratio to the best rule's {of_student(ratios)}")
    return {
        "policies": {one: np.round(rows, 6).tolist() for one, rows in played_now.items()},
        "rules": {one: rows.mean(0)[:2].tolist() for one, rows in rules.items()},
        "frontier": best,
        "points": points,
        "agents": [folder.name for folder in agents],
    }


def of_student(values: list[float]) -> str:
    """Return a mean over seeds with its interval."""
    wide = STUDENT[len(values)] * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):+.3f} [{np.mean(values) - wide:+.3f}, {np.mean(values) + wide:+.3f}]"


def draw(found: dict[str, dict[str, object]], path: Path) -> None:
    """Draw bounded slowdown against wait, a panel for each trace."""
    with picture(path, width=4.6 * len(found), height=4.2) as figure:
        for axes, (name, one) in zip(figure.subplots(1, len(found), squeeze=False)[0], found.items(), strict=True):
            rules, colours = one["rules"], iter(COLOURS[1:])
            axes.scatter(*xy(rules.values()), s=9, color=GREY, label="saf+reserve, all settings")
            axes.plot(*xy(rules[rule] for rule in one["frontier"]), color=GREY, lw=1.2, label="their frontier")
            agents = [one["points"][agent] for agent in one["agents"]]
            if agents:
                axes.scatter(*xy(agents), s=42, marker="*", color=BLUE, zorder=3, label="agents, one star each")
            for policy, point in one["points"].items():
                if policy not in one["agents"]:
                    axes.scatter(*xy([point]), s=26, marker="D", color=next(colours), label=policy)
            for scale, axis in ((axes.set_xscale, axes.xaxis), (axes.set_yscale, axes.yaxis)):
                scale("log")
                axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
                axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
                axis.set_minor_formatter(NullFormatter())
            axes.set_title(name, fontsize=11)
            axes.set_xlabel("mean wait in h")
            axes.set_ylabel("mean bounded slowdown")
        axes.legend(fontsize=7)


def xy(points: object) -> tuple[list[float], list[float]]:
    """Return waits in h and bounded slowdowns."""
    listed = list(points)  # type: ignore[call-overload]
    return [point[1] / 3600.0 for point in listed], [point[0] for point in listed]


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Judge, or draw what was judged."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("agents", nargs="?", default="", help="folders of trainings, separated by commas")
    options.add_argument("--traces", default=FRESH, help="TRACE or TRACE:CORES, separated by commas")
    options.add_argument("--windows", type=int, default=3 * MOST)
    options.add_argument("--jobs", type=int, default=1024)
    options.add_argument("--save", type=Path)
    options.add_argument("--picture", type=Path, help="draw what --save has kept")
    given = options.parse_args()
    if given.picture is not None:
        draw(read_object(given.save, ValueError), given.picture)
        return
    agents, judged = [Path(one) for one in given.agents.split(",") if one], {}
    for one in given.traces.split(","):
        name, _, cores = one.partition(":")
        machine, windows = jobs_of(name, given.windows, given.jobs, int(cores) if cores else None)
        kept = json.loads(given.save.read_text()) if given.save is not None and given.save.exists() else {}
        title = f"{name}, windows of {given.jobs} jobs"
        judged[title] = judge(name, machine, windows, agents, kept.get(title, {}).get("policies", {}))
        if given.save is not None:
            write_json(given.save, kept | judged)


if __name__ == "__main__":
    main()
