"""R02: examples that can be worked out on paper, sizes of networks, and percentages of the documents' own tables."""

import subprocess
import sys
from math import prod
from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.cluster.synthetic.jobs import plain_jobs
from hdeeprm_like.cluster.workload import JobLimits, Workload
from hdeeprm_like.decision.compared_policies import compared_policy
from hdeeprm_like.decision.job_actions import JobSlots
from hdeeprm_like.decision.observations.arrays import ViewOptions
from hdeeprm_like.decision.observations.view import View
from hdeeprm_like.decision.presets import PRESETS, Space
from hdeeprm_like.decision.rewards import OBJECTIVES
from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.decision.window.arrays import WindowOptions
from hdeeprm_like.decision.window.window import JobWindow
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import ResultsError
from hdeeprm_like.formats.any_platform import platform_from
from hdeeprm_like.inputs import read_rows
from hdeeprm_like.jobs_in_files import jobs_in
from hdeeprm_like.run.python_loop import Play
from hdeeprm_like.run.simulator import Clock, Simulator
from hdeeprm_like.studies.compare.windows import schedule
from hdeeprm_like.studies.reproduction.place import Findings, Place
from hdeeprm_like.types import Floats

WAITS = {"BFBP": 549.59, "model": 456.79}  # min, K's table I
SEPARATE = 64 * 64 + 64  # weights and biases of a hidden layer of 64 after another one
ACTIONS = 11  # ten jobs and waiting


def measure(place: Place) -> Findings:
    """Work all examples out."""
    found = Findings()
    found.values |= three_and_seven_jobs(place)
    found.values |= {"c43": in_words(figure_4_3()), "c45": in_words(figure_4_5())}
    found.values |= one_job_of_three_steps() | sizes_of_networks()
    found.values |= events(place) | {"t36": void_action(place)}
    chances = np.linspace(0.001, 0.999, 999)
    entropy = -chances * np.log(chances) - (1 - chances) * np.log(1 - chances)
    gained = WAITS["BFBP"] - WAITS["model"]
    found.values |= {
        "c27": float(chances[np.argmax(entropy)]),
        "c46": prod((6, 10, 100, 20, 11, 32, 3, 4)) / 2**20,
        "k_base": round(100 * gained / WAITS["BFBP"], 2),
        "k_mean": round(100 * gained / (sum(WAITS.values()) / 2), 2),
    }
    return found


def three_and_seven_jobs(place: Place) -> dict[str, float]:
    """Play figures 2.1 and 2.2 of C."""
    as_drawn, swapped = (slowdown(place, 2, f"three_jobs{order}") for order in ("", "_swapped"))
    found = {"c21": as_drawn, "c21_swapped": swapped, "c21_increase": 100 * (swapped / as_drawn - 1)}
    machine = pool(3)
    window = jobs_in(place.example("workloads/worked_seven_jobs.json"), machine)
    for key, name in (("fcfs", "fcfs"), ("backfill", "fcfs+conservative")):
        played = schedule(machine, window, compared_policy(name))
        found |= {f"c22_{key}_start": float(played.start[6]), f"c22_{key}_makespan": float(played.finish.max())}
    return found


def slowdown(place: Place, cores: int, name: str) -> float:
    """Return the mean slowdown of a worked example, first come first served."""
    machine = pool(cores)
    played = schedule(
        machine, jobs_in(place.example(f"workloads/worked_{name}.json"), machine), compared_policy("fcfs")
    )
    return float(np.mean(1.0 + played.wait / played.run_time))


def playing(machine: Platform, jobs: Workload, space: Space, clock: Clock = "textbook") -> Play:
    """Return an episode of a decision space at its beginning."""
    state = space.state(machine, jobs)
    return Play(Simulator(state, jobs, clock), space.system(state))


def jobs_of(submit: list[float], run: list[float], size: list[int], cores: int) -> Workload:
    """Return jobs with exact estimates."""
    columns = np.array(submit, np.float64), np.array(run, np.float64), np.array(size, np.int64)
    return plain_jobs(*columns, capacity=cores, origin="worked example").workload(1e9)


def seen(kind: str, jobs: Workload, actions: list[int], horizon: int, backlog: int) -> Floats:
    """Return what an agent with two slots sees after some actions on three cores, in the documents' own numbers."""
    state = State(pool(3), jobs)
    window = JobWindow(state, WindowOptions(head=2), finds=True)
    observer = View(state, window, kind, ViewOptions(horizon=horizon, backlog=backlog), raw=True)
    play = Play(
        Simulator(state, jobs, "textbook"), DecisionSystem(state, JobSlots(state, window), observer, None, window)
    )
    for action in actions:
        play.advance()
        play.act(action)
    play.advance()
    return play.observe()[0]


def figure_4_3() -> Floats:
    """Return the compact vectors: one job runs since 0, another came at 1, of two that come at 2 none is started."""
    return seen("compact", jobs_of([0, 1, 2, 2], [4, 5, 4, 1], [2, 1, 3, 1], 3), [0, 2], horizon=5, backlog=5)


def figure_4_5() -> Floats:
    """Return the vector with the event horizon: two jobs run since 0, four have just come at 3."""
    jobs = jobs_of([0, 0, 3, 3, 3, 3], [5, 6, 4, 2, 1, 1], [1, 2, 1, 2, 1, 1], 3)
    return seen("horizon", jobs, [0, 0], horizon=4, backlog=60)


def in_words(numbers: Floats) -> str:
    """Return numbers as one line."""
    return " ".join(f"{number:g}" for number in numbers)


def one_job_of_three_steps() -> dict[str, float]:
    """Return the reward of an episode in which the only job, of three steps, is started at once (C, figure 4.4)."""
    everything = {OBJECTIVES["avg_job_slowdown"]: 1.0}
    kinds = {"base": ("ticks", "integral"), "semi": ("fitting", "discounted"), "sparse": ("fitting", "waits")}
    found = {}
    for name, (opens, reward) in kinds.items():
        space = Space(
            actions="jobs",
            head=2,
            opens=opens,
            step=1.0,
            observation="compact",
            objectives=everything,
            reward=reward,
            gamma=1.0,
        )
        play = playing(pool(1), jobs_of([0], [3], [1], 1), space)
        while play.advance():
            play.act(0 if play.observe()[1][0] else 2)
        found[f"c44_{name}"] = float(play.episode.reward)
    return found


def sizes_of_networks() -> dict[str, int]:
    """Return the inputs of the first experiment's network, and the parameters of two networks of 64 and 64 units."""
    limits = JobLimits(time=10.0, cores=10.0, memory=10.0, bandwidth=1.0)

    def inputs(space: Space, cores: int) -> int:
        observer = space.sample(pool(cores), limits).observer
        assert observer is not None
        return prod(observer.shape)

    image = Space(actions="jobs", head=10, opens="ticks", step=1.0, observation="image", reward="integral")
    counts = {f"params{cores}": inputs(image, cores) for cores in (10, 38, 64)}
    counts["params_compact"] = inputs(PRESETS["CompactRM"], 64)
    parameters = {name: 2 * (64 * (count + 1) + SEPARATE) + 65 * ACTIONS + 65 for name, count in counts.items()}
    return parameters | {"inputs": inputs(PRESETS["DeepRM"], 10)}


def events(place: Place) -> dict[str, object]:
    """Play the example of T 4.1.4 on the embedded simulator, and in a conversation with our server."""
    found: dict[str, object] = {}
    for simulator, more in (
        ("embedded", []),
        ("batsim", ["--batsim-command", f"{sys.executable} -m hdeeprm_like batsim"]),
    ):
        output = place.folder / "runs" / f"events-{simulator}"
        arguments = ["launch", "--quiet", "--options", place.options("events"), "--output", output]
        command = [sys.executable, "-m", "hdeeprm_like", *arguments, "--simulator", simulator, *more]
        ended = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if ended.returncode:
            raise ResultsError(f"R02: {ended.stderr.strip()[-300:]}")
        (job,) = rows(output / "out_jobs.csv")
        found["t414_end" if simulator == "embedded" else "t414_batsim"] = float(job["finish_time"])
        if simulator == "embedded":
            states = {row["machine_id"]: row["new_pstate"] for row in rows(output / "out_pstate_changes.csv")
                      if float(row["time"]) < float(job["finish_time"]) - 1e-3}  # fmt: skip
            found["t414_core"] = job["allocated_resources"]
            found["t414_pstates"] = ", ".join(states.get(core, states.get("0-1", "?")) for core in "01")
    return found


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table."""
    return read_rows(path, (), ResultsError)


def void_action(place: Place) -> float:
    """Return the mean slowdown of two jobs without the void action over that where the first decision is void."""
    machine = platform_from(1)
    jobs = jobs_in(place.example("workloads/worked_void.json"), machine).workload
    means = []
    for first in (0, 1):
        space = Space(pairs=(("shortest", "high_gflops"),), void=True, observation="minimal", reward="integral")
        play = playing(machine, jobs, space, "batsim")
        action = first
        while play.advance():
            play.act(action)
            action = 0
        tasks = play.simulator.simulation.tasks
        run = tasks["finish"] - tasks["start"]
        means.append(float(np.mean((tasks["finish"] - jobs.submit) / run)))
    return means[0] / means[1]
