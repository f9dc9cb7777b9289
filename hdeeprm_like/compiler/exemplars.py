"""One of each bundle that a run can be made of, so that `kinds` knows their types: the parts of tiny runs.

| part | its types |
|---|---|
| clock | the textbook's; Batsim's, also in a network or where speeds follow files |
| run | a schedule without rewards, or an episode |
| actions | policies, jobs in slots (masked or not), Python's own |

All else has one type: machines with and without partitions, modes, observations, objectives, rewards.
"""

from dataclasses import replace

import numpy as np

from hdeeprm_like.cluster.links import with_network
from hdeeprm_like.cluster.partitions import Demand, Partitions, demands_of
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.actions import PolicyActions, policy_named
from hdeeprm_like.decision.modes import MODES
from hdeeprm_like.decision.presets import Space
from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.engine.sharing import new_problem
from hdeeprm_like.engine.silent_layout import Content, Memory
from hdeeprm_like.engine.silent_session import session_in
from hdeeprm_like.engine.state import State
from hdeeprm_like.run.python_loop import Play
from hdeeprm_like.run.replay import replay
from hdeeprm_like.run.runs import Runs
from hdeeprm_like.run.schedules import run_to_end
from hdeeprm_like.run.simulator import Clock, Simulator

CORES, JOBS = 2, 4
CLOCKS: tuple[Clock, ...] = ("batsim", "textbook")  # the third clock has the types of the second
PLAIN, LOOKS_BACK = "sjf+easy", "saf@ewma+easy"
SPACES = {
    "policies": Space(actions=(PLAIN, "fcfs+greedy"), observation="minimal"),
    "policies that know users": Space(actions=(LOOKS_BACK, PLAIN), observation="minimal"),
    "jobs in slots": Space(actions="jobs", head=2, opens="fitting", step=1.0, observation="horizon"),
    "jobs in slots, unmasked": Space(actions="jobs", head=2, opens="fitting", masked=False, observation="horizon"),
    "jobs and machines": Space(actions="machines", head=2, opens="fitting", observation="machines"),
}


def make() -> None:
    """Make one of each bundle."""
    for clock in CLOCKS:
        for platform in (pool(CORES), with_network(pool(CORES))) if clock == "batsim" else (pool(CORES),):
            make_run(clock, platform)
            for space in SPACES.values():
                make_episode(space, clock, platform)
    for mode in MODES:
        make_baseline(in_mode(mode))
    session_in(Memory(Content(1, 1)))
    new_problem(0, 0, 0)
    replay(pool(CORES), some_jobs(), np.zeros(JOBS), ("ewma",))
    make_files()


def in_mode(mode: str) -> str:
    """Return a policy of a mode that looks back at users."""
    return "zoo:balanced" if mode == "scored" else f"saf@ewma+{mode}"


def make_run(clock: Clock, platform: Platform) -> None:
    """Make the run of a schedule."""
    actions = PolicyActions([policy_named(PLAIN)])
    state = State(platform, some_jobs(), needs=actions.needs)
    Play(Simulator(state, some_jobs(), clock), DecisionSystem(state, actions))


def make_episode(space: Space, clock: Clock, platform: Platform) -> None:
    """Make an episode of a decision space that has come to its first decision, and episodes side by side."""
    state = space.state(platform, some_jobs(), log=False)
    play = Play(Simulator(state, some_jobs(), clock), space.system(state))
    play.advance()
    play.observe()
    runs = Runs(space, platform, 2, clock)
    runs.put(0, some_jobs())


def make_baseline(name: str) -> None:
    """Make what a policy remembers, on a machine with partitions."""
    actions = PolicyActions([policy_named(name)])
    for platform in (with_partitions(),) if name.endswith("slurm") else (with_partitions(), pool(CORES)):
        actions.choices(State(platform, some_jobs(platform.partitions is not None), needs=actions.needs))


def make_files() -> None:
    """Make what the files of a run are written from."""
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from hdeeprm_like.results.run_log import Record

    policies = PolicyActions([policy_named(PLAIN)])
    simulator = run_to_end(State(pool(CORES), some_jobs(), needs=policies.needs), policies, "batsim")
    with TemporaryDirectory() as folder:
        Record(simulator, some_jobs()).write_jobs(Path(folder) / "out_jobs.csv")


def with_partitions() -> Platform:
    """Return a platform with one partition."""
    platform = pool(CORES)
    partitions = Partitions(
        names=("all",),
        nodes=np.ones((1, platform.nodes), np.bool_),
        tiers=np.ones(1),
        factors=np.ones(1),
        exclusive=np.zeros(1, np.bool_),
        features=(frozenset(),) * platform.nodes,
        weights=np.ones(platform.nodes),
    )
    return replace(platform, partitions=partitions)


def some_jobs(partitions: bool = False) -> Workload:
    """Return jobs of two cores and one second each for a pool, all submitted at once."""
    zeros = np.zeros(JOBS)
    return Workload(
        ids=tuple(f"w0!{number}" for number in range(JOBS)),
        profiles=("tiny",) * JOBS,
        submit=zeros,
        size=np.full(JOBS, CORES),
        requested_time=zeros + 1.0,
        requested_ops=zeros + 1e9,
        ops=zeros + 1e9,
        capacity=CORES,
        demands=demands_of([Demand("all")] * JOBS) if partitions else None,
    )
