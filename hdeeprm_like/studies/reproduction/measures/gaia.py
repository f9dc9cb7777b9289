"""What R03 and R05 share: Gaia's jobs under two policies, and recordings of the original."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.metrics import load
from hdeeprm_like.cluster.schedule import Schedule, figures
from hdeeprm_like.decision.actions import PolicyActions, policy_named
from hdeeprm_like.engine.state import State
from hdeeprm_like.experiment import Experiment, Overrides, load_experiment
from hdeeprm_like.formats.shipped import examples_folder
from hdeeprm_like.launch.drivers import Classic
from hdeeprm_like.launch.in_process import launch
from hdeeprm_like.results.overutilization import overutilizations
from hdeeprm_like.results.plots import compare, draw
from hdeeprm_like.results.report import metrics_grid
from hdeeprm_like.run.schedules import run_to_end, schedule_of
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.studies.reproduction.place import Place


@dataclass(frozen=True, eq=False)
class Played:
    """A finished experiment.

    Attributes:
        simulator: at its end. schedule: of its jobs. figures: by name, see `cluster.schedule.FIGURES`.
    """

    simulator: Simulator
    schedule: Schedule
    figures: Mapping[str, float]

    def spans(self) -> dict[str, object]:
        """Return when something was short."""
        return overutilizations(self.simulator.state)

    def busy(self) -> tuple[np.ndarray, np.ndarray]:
        """Return s, one for each stretch between two changes, and how many cores are busy in it."""
        times, cores = load(self.schedule.start, self.schedule.finish, self.schedule.size)
        return np.diff(times), cores[:-1]


def play(experiment: Experiment) -> Played:
    """Run an experiment of a policy pair to its end."""
    policies = PolicyActions([policy_named(experiment.options.classic_policy)])
    jobs = experiment.workload
    state = State(experiment.platform, jobs, experiment.policy_seed, needs=policies.needs)
    simulator = run_to_end(state, policies, "batsim")
    schedule = schedule_of(simulator, jobs)
    return Played(simulator, schedule, figures(schedule))


def played(place: Place, name: str, seed: int) -> Played:
    """Run an options file of an experiment with a seed."""
    return play(load_experiment(place.options(name), Overrides(seed=seed)))


def of_seeds(place: Place, of_seed: Callable[[Place, int], Mapping[str, float]]) -> dict[str, list[float]]:
    """Return the figures of each seed, a list for each figure."""
    found: dict[str, list[float]] = {}
    for seed in place.seeds:
        row = place.part(f"seed-{seed}", of_seed, place, seed)
        for key, value in row.items():
            found.setdefault(key, []).append(value)
    return found


def pictures(place: Place, names: tuple[str, str]) -> None:
    """Leave the runs of both options files, and the pictures that the report asks for."""
    runs = [place.folder / "runs" / name for name in names]
    for name, run in zip(names, runs, strict=True):
        launch(Classic(load_experiment(place.options(name))), run, progress=False)
    kinds = {"lifecycle": "lifecycle", "gantt": "gantt_no_label", "overutilization": "mem_bw_overutilization"}
    for picture in place.experiment.pictures:
        kind, _, name = Path(picture).stem.partition("-")
        if kind == "load":
            compare(runs, place.folder / picture)
        elif kind == "metrics":
            metrics_grid(runs, place.folder / picture)
        else:
            draw(kinds[kind], place.folder / "runs" / name, place.folder / picture)


def recorded(place: Place, case: str, pair: str) -> Played | None:
    """Play the jobs of a recording of the original; None where only the package is installed, without its tests."""
    jobs = examples_folder() / "tests" / "golden" / "hdeeprm" / case / "workload.json"
    if not jobs.exists():
        return None
    name = next(name for name, content in place.experiment.options.items() if pair in str(content))
    return play(load_experiment(place.options(name), Overrides(workload=jobs)))
