"""Learned placements on three machines, beside the best of all orders, modes and fixed placements, and beside a bound.

    python tests/bench/placements.py fixed gaia FOLDER      # fixed placements on the windows of judgement
    python tests/bench/placements.py train gaia FOLDER      # five searches, each from its own seed
    python tests/bench/placements.py judge gaia FOLDER      # what these found, on the same windows
    python tests/bench/placements.py table FOLDER           # docs/placement_figures.json, and the table of the page

Machines are `MACHINES`; their options files in ``agents/zoo/evolution`` say on which jobs is learned. Judged is on 20
other windows of 1024 jobs: of a trace disjoint ones of its last two fifths, taken evenly, of a model those of another
seed. All are stretched to a load of .75 of the mean core, on Batsim's clock. Fixed policies are picked in hindsight,
for each figure its own: of `ORDERS` x `MODES` x `PLACEMENTS` the best on three of the windows, and of these the best
on all.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.formats.shipped import found
from hdeeprm_like.run.episodes import stretched
from hdeeprm_like.run.schedules import run_to_end
from hdeeprm_like.studies.evolution.machine_windows import jobs_of, machine_of, part_of
from hdeeprm_like.studies.evolution.options import EvolutionOptions, read_evolution
from hdeeprm_like.studies.evolution.windows import window_of

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
NAMES = ("turnaround", "energy_delay_product")
BEST = "best.json"  # of a search


@dataclass(frozen=True)
class Played:
    """Figures of one window: s, J s and J."""

    turnaround: float
    energy_delay_product: float
    energy: float


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
        window = part_of(jobs, int(begin), int(begin) + JOBS)
        yield machine, stretched(window, machine.cores, LOAD, machine.reference_flops)


def played(machine: Platform, jobs: Workload, name: str) -> Played:
    """Return the figures of a window under a policy; every job runs."""
    simulator = run_to_end(machine, jobs, PolicyActions([baseline(name)]), "batsim")
    finish = simulator.simulation.tasks["finish"]
    ran = np.isfinite(finish)  # all but those that the empty machine could not hold
    joules = float(simulator.state.joules)
    return Played(float((finish - jobs.submit)[ran].mean()), joules * float(finish[ran].max()), joules)


def bound(machine: Platform, jobs: Workload) -> Played:
    """Return what no schedule can go below: each job alone on its best cores, started when it comes.

    Its time is the work over the speed of the slowest of the fastest cores that can hold it; its energy that of the
    cores where an operation costs least beside sleeping; and the whole machine sleeps at least until the last job
    could end, and until all cores at full speed have done all work.
    """
    node, of = machine.processor_node, machine.processor_cores
    speed, watts = machine.processor_flops[:, 0], machine.processor_watts
    order = np.argsort(-speed, kind="stable")
    finish, energy = np.zeros(len(jobs)), np.zeros(len(jobs))
    for j in range(len(jobs)):
        room = np.minimum(of, machine.node_memory[node] * (1.0 + 1e-9) // max(jobs.memory[j], 1e-9))
        if jobs.gpus[j] > 0.0:
            room = np.where(machine.node_gpus[node] > 0.0, room, 0)
        if room.sum() < jobs.size[j]:
            finish[j] = np.nan
            continue
        slowest = order[np.searchsorted(np.cumsum(room[order]), jobs.size[j])]
        finish[j] = jobs.submit[j] + jobs.ops[j] / speed[slowest]
        able = room > 0
        energy[j] = jobs.size[j] * jobs.ops[j] * ((watts[:, 0] - watts[:, 3]) / speed)[able].min()
    ran = np.isfinite(finish)
    busy = float((jobs.ops * jobs.size)[ran].sum() / (speed * of).sum())  # s that all cores at full speed need for all
    last = max(float(finish[ran].max()), busy + float(jobs.submit[ran].min()))
    joules = float(np.nansum(energy)) + float((watts[:, 3] * of).sum()) * last
    return Played(float(np.nanmean(finish - jobs.submit)), joules * last, joules)


def logs(plays: Sequence[Played]) -> np.ndarray:
    """Return (windows, figures) logarithms of `NAMES`."""
    return np.log([[getattr(one, name) for name in NAMES] for one in plays])


def fixed(name: str) -> dict[str, list[list[float]]]:
    """Return the logarithms of the best fixed policies on all windows, and of the bound."""
    windows = list(judged_windows(name))
    some = {}
    for (
        placement
    ) in PLACEMENTS:  # first with a few rules, then all rules with the placements that are best for a figure
        for rule in ("fcfs+easy", "sjf+greedy", "sjf+easy", "saf+easy", "f1+easy"):
            some[f"{rule}-{placement}"] = logs([played(*one, f"{rule}-{placement}") for one in windows[SCREENED]]).mean(
                0
            )
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
    found = {policy: logs([played(*one, policy) for one in windows]).tolist() for policy in sorted(best)}
    return found | {"bound": logs([bound(*one) for one in windows]).tolist()}


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
    files = {"begin": OPTIONS / "begin-placed.json"} | {
        str(seed): folder / f"{LEARNED_ON[name]}-{seed}" / BEST for seed in range(1, SEEDS + 1)
    }
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
    seeds, windows = dice.integers(len(gaps), size=(DRAWS, len(gaps))), dice.integers(WINDOWS, size=(DRAWS, WINDOWS))
    drawn = [gaps[np.ix_(s, w)].mean() for s, w in zip(seeds, windows, strict=True)]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(np.exp(gaps.mean())), float(np.exp(low)), float(np.exp(high))


def summary(name: str, folder: Path) -> dict[str, object]:
    """Return the rounded figures of a machine, for the page."""
    own, others = (json.loads((folder / f"{kind}-{name}.json").read_text()) for kind in ("judged", "fixed"))
    found: dict[str, object] = {}
    for i, figure in enumerate(NAMES):
        best = min((key for key in others if key != "bound"), key=lambda key: np.mean([row[i] for row in others[key]]))
        reference, least = (np.array(others[key])[:, i] for key in (best, "bound"))
        mine = np.array([[row[i] for row in own[str(seed)]] for seed in range(1, SEEDS + 1)])
        begun = np.array([[row[i] for row in own["begin"]]])
        found[figure] = {
            "best": best,
            "learned": [round(one, 3) for one in ratio(mine, reference)],
            "seeds": [round(float(np.exp((one - reference).mean())), 3) for one in mine],
            "begin": round(ratio(begun, reference)[0], 3),
            "bound": round(float(np.exp((least - reference).mean())), 3),
        }
    return found


def table(figures: dict[str, dict[str, dict[str, object]]]) -> Iterator[str]:
    """Yield the table of the page."""
    yield "| machine | figure | best fixed policy, in hindsight | learned, five seeds | each seed | by hand | bound |"
    yield "|---|---|---|---|---|--:|--:|"
    for name, one in figures.items():
        for figure in NAMES:
            row = one[figure]
            mean, low, high = (f"{value:.3f}" for value in row["learned"])  # type: ignore[attr-defined]
            seeds = ", ".join(f"{value:.3f}" for value in row["seeds"])  # type: ignore[attr-defined]
            what = figure.replace("_", "-", 1).replace("_", " ")
            yield (
                f"| {MACHINES[name]} | {what} | `{row['best']}` | {mean} [{low}, {high}] | {seeds} | "
                f"{row['begin']:.3f} | {row['bound']:.3f} |"
            )


def main() -> None:
    """Do one of the steps."""
    step, *rest = sys.argv[1:]
    folder = Path(rest[-1])
    folder.mkdir(parents=True, exist_ok=True)
    if step == "table":
        figures = {name: summary(name, folder) for name in MACHINES if (folder / f"judged-{name}.json").exists()}
        FIGURES.write_text(json.dumps(figures, indent=2) + "\n")
        sys.stdout.writelines(f"{line}\n" for line in table(figures))  # type: ignore[arg-type]
    elif step == "train":
        train(rest[0], folder)
    else:
        found_ = fixed(rest[0]) if step == "fixed" else judge(rest[0], folder)
        (folder / f"{'fixed' if step == 'fixed' else 'judged'}-{rest[0]}.json").write_text(json.dumps(found_))


if __name__ == "__main__":
    main()
