"""Learned placements on three machines, beside the best of all orders, modes and fixed placements, and beside bounds.

    python tests/bench/placements.py fixed gaia FOLDER      # fixed placements on the windows of judgement
    python tests/bench/placements.py train gaia FOLDER      # five searches, each from its own seed
    python tests/bench/placements.py judge gaia FOLDER      # what these found, on the same windows
    python tests/bench/placements.py bound gaia FOLDER      # what no schedule can go below, see `placement_bounds`
    python tests/bench/placements.py table FOLDER           # docs/placement_figures.json, and the tables of the page

Machines are `MACHINES`; their options files in ``agents/zoo/evolution`` say on which jobs is learned. Judged is on 20
other windows of 1024 jobs: of a trace disjoint ones of its last two fifths, taken evenly, of a model those of another
seed. All are stretched to a load of .75 of the mean core, on Batsim's clock. Fixed policies are picked in hindsight,
for each figure its own: of `ORDERS` x `MODES` x `PLACEMENTS` the best on three of the windows, and of these the best
on all.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import numpy as np
from placement_bounds import Bounds

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.engine.state import State
from hdeeprm_like.formats.shipped import found
from hdeeprm_like.run.episodes import fragment, stretched
from hdeeprm_like.run.schedules import run_to_end
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.studies.evolution.options import EvolutionOptions, read_evolution
from hdeeprm_like.studies.evolution.windows import jobs_of, machine_of, window_of

ROOT = Path(__file__).parents[2]
OPTIONS, FIGURES = ROOT / "agents" / "zoo" / "evolution", ROOT / "docs" / "placement_figures.json"
MACHINES = {"gaia": "Gaia, crowded", "mc2": "MetaCentrum", "gpus": "four kinds of nodes, two with GPUs"}
LEARNED_ON = {"gaia": "gaia", "mc2": "gaia", "gpus": "gpus"}  # what is judged on mc2 has never seen it
WINDOWS, JOBS, JUDGED, LOAD, SEEDS, DRAWS = 20, 1024, 1000, 0.75, 5, 2000
ORDERS = ("fcfs", "sjf", "smallest", "ljf", "saf", "laf", "f1", "f2", "f3", "f4", "wfp3", "unicep", "xfactor")
MODES = ("strict", "greedy", "easy", "easyfcfs", "easysjf", "bounded", "reserve")
SLOW_MODE, SLOW_KEPT = "conservative", 2  # tried with the best orders only
PLACEMENTS = ("high_gflops", "high_cores", "high_mem", "high_mem_bw", "low_power", "random", "first_fit", "best_fit")
SCREENED, KEPT = slice(0, WINDOWS, 7), 8
BOUNDED = {"mc2": slice(0, WINDOWS, 5)}  # 21 speeds: 5 CPU s a window
FRUGAL = tuple(f"{rule}-low_power" for rule in ("fcfs+easy", "sjf+easy", "saf+easy", "f1+easy", "saf+greedy"))
NAMES = ("turnaround", "energy_delay_product")
BEST = "best.json"  # of a search
STEPS = ("judged", "fixed", "bound")  # files with figures


@dataclass(frozen=True)
class Played:
    """Figures of one window: s, J s and J, and mean wait in s."""

    turnaround: float
    energy_delay_product: float
    energy: float
    wait: float = 0.0


def judged_windows(name: str) -> Iterator[tuple[Platform, Workload]]:
    """Yield the windows of judgement of a machine."""
    options = read_evolution(OPTIONS / f"placed-{name}.json")
    source = options.windows.sources[0]
    windows = options.windows.model_dump() | {"jobs": JOBS}
    other = EvolutionOptions.model_validate(options.model_dump() | {"seed": JUDGED, "windows": windows})
    if source.trace is None:
        for number in range(WINDOWS):
            yield window_of(other, OPTIONS, number)
        return
    assert source.platform is not None
    machine = machine_of(source.platform, OPTIONS)
    jobs = jobs_of(found(source.trace, "trace", folder=OPTIONS), source.platform, OPTIONS)
    for begin in np.linspace(int(source.end * len(jobs)), len(jobs) - JOBS, WINDOWS).astype(int):
        window = replace(fragment(jobs, int(begin), JOBS), demands=None)
        yield machine, stretched(window, machine.cores, LOAD, machine.reference_flops)


def scheduled(machine: Platform, jobs: Workload, name: str) -> Simulator:
    """Return the finished simulation of a window under a policy."""
    policies = PolicyActions([baseline(name)])
    return run_to_end(State(machine, jobs, log=False, needs=policies.needs), policies, "batsim")


def played(machine: Platform, jobs: Workload, name: str) -> Played:
    """Return the figures of a window under a policy; every job runs."""
    simulator = scheduled(machine, jobs, name)
    finish = simulator.simulation.tasks["finish"]
    ran = np.isfinite(finish)  # all but those that the empty machine could not hold
    joules = float(simulator.state.joules)
    wait = float((simulator.simulation.tasks["start"] - jobs.submit)[ran].mean())
    return Played(float((finish - jobs.submit)[ran].mean()), joules * float(finish[ran].max()), joules, wait)


def logs(plays: Sequence[Played]) -> np.ndarray:
    """Return (windows, figures) logarithms of `NAMES`."""
    return np.log([[getattr(one, name) for name in NAMES] for one in plays])


def fixed(name: str) -> dict[str, list[list[float]]]:
    """Return the logarithms of the best fixed policies on all windows."""
    windows = list(judged_windows(name))
    some = {}
    # first with a few rules, then all rules with the placements that are best for a figure
    for placement in PLACEMENTS:
        for rule in ("fcfs+easy", "sjf+greedy", "sjf+easy", "saf+easy", "f1+easy"):
            policy = f"{rule}-{placement}"
            some[policy] = logs([played(*one, policy) for one in windows[SCREENED]]).mean(0)
    least = {
        figure: sorted(PLACEMENTS, key=lambda one: min(v[i] for k, v in some.items() if k.endswith(f"-{one}")))[:2]
        for i, figure in enumerate(NAMES)
    }
    for placement in dict.fromkeys(one for best in least.values() for one in best):
        for order in ORDERS:
            for mode in MODES:
                policy = f"{order}+{mode}-{placement}"
                if policy not in some:
                    some[policy] = logs([played(*one, policy) for one in windows[SCREENED]]).mean(0)
    ranked = [sorted(some, key=lambda key, i=i: some[key][i]) for i in range(len(NAMES))]
    best = {one for names in ranked for one in names[:KEPT]}
    for one in (one for names in ranked for one in names[:SLOW_KEPT]):
        rule, _, placement = one.partition("-")
        best.add(f"{rule.partition('+')[0]}+{SLOW_MODE}-{placement}")
    return {policy: logs([played(*one, policy) for one in windows]).tolist() for policy in sorted(best)}


def bound(name: str, folder: Path) -> dict[str, list[list[float]]]:
    """Return figures by window: bounds, the best fixed policies and what was learned.

    Energy was no figure of `fixed`, so the least of it is looked for among the policies that were best there and
    those of `FRUGAL`.
    """
    windows, others = list(judged_windows(name)), json.loads((folder / f"fixed-{name}.json").read_text())
    windows = windows[BOUNDED.get(name, slice(None))]
    policies = [key for key in others if key != "bound"]
    best = min(policies, key=lambda key: np.mean([row[0] for row in others[key]]))
    bounds, free, frugal = [], [], {key: [] for key in (*policies, *FRUGAL)}
    for machine, jobs in windows:
        simulator = scheduled(machine, jobs, best)
        of = Bounds(machine, jobs, np.isfinite(simulator.simulation.tasks["finish"]))
        bounds.append([of.alone(), of.with_rents(), *of.frugal(), of.earliest_end()])
        free.append(without_contention(of, jobs, best))
        for key, rows in frugal.items():
            rows.append(list(astuple(played(machine, jobs, key))))
    learned = {
        f"learned {seed}": [list(astuple(played(*one, f"scored:{path.absolute()}"))) for one in windows]
        for seed, path in searches(name, folder).items()
    }
    return {"bounds": bounds, "without contention": free, **frugal, **learned}


def without_contention(bounds: Bounds, jobs: Workload, name: str) -> list[float]:
    """Return what a policy does with jobs that want no bandwidth, and how much they would want.

    Returns:
        Mean turnaround and wait in s, the share of jobs that run on their best cores, and the bandwidth that all jobs
        want at full speed on cores of mean speed, as a share of what all processors have until the last submission.
    """
    simulator = scheduled(bounds.machine, replace(jobs, bandwidth=np.zeros(len(jobs))), name)
    start, finish = (simulator.simulation.tasks[key][bounds.fits] for key in ("start", "finish"))
    best = float((finish - start <= bounds.best_seconds * (1.0 + 1e-3)).mean())
    speed = float(np.average(bounds.kinds.speed, weights=bounds.kinds.cores))
    wanted = float((bounds.size * jobs.bandwidth[bounds.fits] * bounds.ops).sum()) / speed
    share = wanted / float(bounds.machine.processor_bandwidth.sum() * bounds.submit.max())
    return [float((finish - bounds.submit).mean()), float((start - bounds.submit).mean()), best, share]


def searches(name: str, folder: Path) -> dict[str, Path]:
    """Return what each seed found, for a machine."""
    return {str(seed): folder / f"{LEARNED_ON[name]}-{seed}" / BEST for seed in range(1, SEEDS + 1)}


class Here:
    """An engine that calls in this process."""

    workers = 1

    def submit(self, function: Callable[..., object], calls: Sequence[tuple[object, ...]]) -> None:
        """Call."""
        self.values = [function(*call) for call in calls]

    def results(self) -> Iterator[tuple[int, object]]:
        """Yield what was returned."""
        yield from enumerate(self.values)


def train(name: str, folder: Path) -> None:
    """Search five times, each with its own seed."""
    from hdeeprm_like.studies.evolution.search import Search

    options = read_evolution(OPTIONS / f"placed-{name}.json")
    for seed in range(1, SEEDS + 1):
        output = folder / f"{name}-{seed}"
        output.mkdir(exist_ok=True)
        own = EvolutionOptions.model_validate(options.model_dump() | {"seed": seed})
        for _ in Search(own, OPTIONS, output).run(Here()):
            pass


def judge(name: str, folder: Path) -> dict[str, list[list[float]]]:
    """Return the logarithms of what each seed found, and of where it began."""
    windows = list(judged_windows(name))
    files = {"begin": OPTIONS / "begin-placed.json"} | searches(name, folder)
    return {
        key: logs([played(*one, f"scored:{path.absolute()}") for one in windows]).tolist()
        for key, path in files.items()
    }


def ratio(own: np.ndarray, reference: np.ndarray) -> tuple[float, float, float]:
    """Return the geometric mean of the ratios and its 95 % interval over seeds and windows.

    Args:
        own: (seeds, windows) logarithms. reference: (windows,) logarithms.
    """
    gaps, dice = own - reference, np.random.default_rng(0)
    seeds, windows = (dice.integers(count, size=(DRAWS, count)) for count in gaps.shape)
    drawn = [gaps[np.ix_(s, w)].mean() for s, w in zip(seeds, windows, strict=True)]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(np.exp(gaps.mean())), float(np.exp(low)), float(np.exp(high))


def summary(name: str, folder: Path) -> dict[str, object]:
    """Return the rounded figures of a machine, for the page."""
    own, others, bounds = (json.loads((folder / f"{kind}-{name}.json").read_text()) for kind in STEPS)
    found: dict[str, object] = {}
    of, some = np.log(bounds["bounds"]), BOUNDED.get(name, slice(None))
    least = {"turnaround": np.maximum(of[:, 0], of[:, 1]), "energy_delay_product": of[:, 3], "energy": of[:, 2]}
    for i, figure in enumerate((*NAMES, "energy")):
        if figure in NAMES:
            rows = {key: np.array(others[key])[:, i] for key in others if key != "bound"}
            mine = np.array([[row[i] for row in own[str(seed)]] for seed in range(1, SEEDS + 1)])
        else:
            rows = {key: np.log(bounds[key])[:, i] for key in bounds if "-" in key}
            mine = np.array([np.log(bounds[f"learned {seed}"])[:, i] for seed in range(1, SEEDS + 1)])
        best = min(rows, key=lambda key: rows[key].mean())
        reference = rows[best]
        found[figure] = {
            "best": best,
            "learned": [round(one, 3) for one in ratio(mine, reference)],
            "seeds": [round(float(np.exp((one - reference).mean())), 3) for one in mine],
            "bound": [
                round(one, 3)
                for one in ratio(least[figure][np.newaxis], reference[some] if figure in NAMES else reference)
            ],
        }
    begun = np.array([[row[:2] for row in own["begin"]]])
    for i, figure in enumerate(NAMES):
        best = found[figure]["best"]  # type: ignore[index]
        reference = np.array(others[best])[:, i]
        found[figure]["begin"] = round(ratio(begun[:, :, i], reference)[0], 3)  # type: ignore[index]
    key = found["turnaround"]["best"]  # type: ignore[index]
    reference = np.log(bounds[key])[:, 0]
    free, waits = np.array(bounds["without contention"]), np.array(bounds[key])[:, 3]
    found["why"] = {
        "alone": round(float(np.exp((of[:, 0] - reference).mean())), 3),
        "rents": round(float(np.exp((of[:, 1] - reference).mean())), 3),
        "without contention": round(float(np.exp((np.log(free[:, 0]) - reference).mean())), 3),
        "on best": round(float(free[:, 2].mean()), 3),
        "wanted": round(float(free[:, 3].mean()), 2),
        "wait": round(float((waits / np.exp(reference)).mean()), 3),
    }
    return found


def table(figures: dict[str, dict[str, dict[str, object]]]) -> Iterator[str]:
    """Yield the table of the page."""
    yield "| machine | figure | best fixed policy, in hindsight | learned, five seeds | each seed | by hand | bound |"
    yield "|---|---|---|---|---|--:|---|"
    for name, one in figures.items():
        for figure in (*NAMES, "energy"):
            row = one[figure]
            seeds = ", ".join(f"{value:.3f}" for value in row["seeds"])  # type: ignore[attr-defined]
            what = figure.replace("_", "-", 1).replace("_", " ")
            begun = f"{row['begin']:.3f}" if "begin" in row else ""
            yield (
                f"| {MACHINES[name]} | {what} | `{row['best']}` | {within(row['learned'])} | {seeds} | "
                f"{begun} | {within(row['bound'])} |"
            )


def causes(figures: dict[str, dict[str, dict[str, float]]]) -> Iterator[str]:
    """Yield the table of what lies between the best fixed turnaround and the bounds."""
    yield "| machine | waiting | without contention | bound | each job alone | bandwidth wanted | on their best cores |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for name, one in figures.items():
        why = one["why"]
        cells = " | ".join(f"{why[key]:.3f}" for key in ("wait", "without contention", "rents", "alone"))
        yield f"| {MACHINES[name]} | {cells} | {why['wanted']:.2f} | {100 * why['on best']:.0f} % |"


def within(values: object) -> str:
    """Return a ratio with its interval."""
    mean, low, high = (f"{value:.3f}" for value in values)  # type: ignore[attr-defined]
    return f"{mean} [{low}, {high}]"


def main() -> None:
    """Do one of the steps."""
    step, *rest = sys.argv[1:]
    folder = Path(rest[-1])
    folder.mkdir(parents=True, exist_ok=True)
    if step == "table":
        figures = {name: summary(name, folder) for name in MACHINES if (folder / f"bound-{name}.json").exists()}
        FIGURES.write_text(json.dumps(figures, indent=2) + "\n")
        for lines in (table, causes):
            sys.stdout.writelines(f"{line}\n" for line in (*lines(figures), ""))  # type: ignore[arg-type]
    elif step == "train":
        train(rest[0], folder)
    else:
        found_ = {"fixed": fixed, "judge": judge, "bound": bound}[step](*((rest[0], folder)[: 1 + (step != "fixed")]))
        (folder / f"{'judged' if step == 'judge' else step}-{rest[0]}.json").write_text(json.dumps(found_))


if __name__ == "__main__":
    main()
