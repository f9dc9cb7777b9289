"""The kinds of runs with machine code in the library: a finite table.

Each kind is run on a tiny cluster as plain Python, and every compiled function that Python calls meanwhile, or that
runs call by address, goes into the library. Choices at run time are not in the table: all policy pairs, orders,
placements, observations, objectives and rewards. What remains are the types of the parts of a run:

| part | types |
|---|---|
| clock | Batsim's, the textbook's (with decisions after single events, too) |
| machine | with a network or none; partitions have functions of their own, called by address |
| modes of baselines | each |
| knowledge about users | predicted run times, orders that change with time |
| actions | policies, jobs in slots (masked or not), Python's own |
| driver | a run, an environment, environments side by side, messages of Batsim or Slurm |
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from hdeeprm_like.cluster.links import with_network
from hdeeprm_like.cluster.partitions import Demand, Partitions, demands_of
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.actions import PolicyActions, policy_named
from hdeeprm_like.decision.mode_specs import MODES
from hdeeprm_like.decision.objectives import objective_value
from hdeeprm_like.decision.policies.history import read_history
from hdeeprm_like.decision.policies.ranking import write_scores
from hdeeprm_like.decision.policies.scores import COUNT
from hdeeprm_like.decision.presets import NO_LIMITS, Space
from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.engine.cores import set_available
from hdeeprm_like.engine.job_rows import Request
from hdeeprm_like.engine.outside_starts import runs, start_outside, withdraw
from hdeeprm_like.engine.sharing import new_problem, share
from hdeeprm_like.engine.silent_clock import advance
from hdeeprm_like.engine.silent_layout import Memory
from hdeeprm_like.engine.silent_session import session_in
from hdeeprm_like.engine.splitmix64 import SEEDS, draw_below
from hdeeprm_like.engine.state import Instant, State
from hdeeprm_like.results.job_lines import ids_of
from hdeeprm_like.results.run_log import Record
from hdeeprm_like.run.branches import SLOTS, SlotNetwork, no_deviations, play_branches
from hdeeprm_like.run.expert import follow
from hdeeprm_like.run.python_loop import Play, Steps
from hdeeprm_like.run.replay import replay
from hdeeprm_like.run.returns import write_advantages, write_mean, write_returns
from hdeeprm_like.run.runs import Runs
from hdeeprm_like.run.schedules import run_to_end
from hdeeprm_like.run.simulator import Clock, Simulator
from hdeeprm_like.run.streamed import Stream

CORES, JOBS = 2, 4
CLOCKS: tuple[Clock, ...] = ("batsim", "textbook")  # the third clock has the machine code of the second
PAIR = "shortest-high_gflops"
PLAIN, CHANGING, LOOKS_BACK = "sjf+easy", "wfp3+easy", "saf@ewma+easy"
SLURM, OWN_PRIORITIES = "multifactor+slurm", "multifactor+easy"
WATCHED = ("sjf+slurm", "saf@ewma+slurm", "zoo:balanced+slurm")
ON_NODES_ONLY = ("slurm",)  # modes that need partitions


@dataclass(frozen=True)
class Kind:
    """A kind of run.

    Attributes:
        group: its user: launch, batsim, compare, environments, training, slurm.
        name: for display. play: runs a tiny instance of it.
    """

    group: str
    name: str
    play: Callable[[], object]


def kinds() -> Iterator[Kind]:
    """Yield all kinds, the most common first."""
    yield Kind("launch", "policy pair, batsim clock", partial(simulate, (PAIR,), "batsim"))
    yield Kind("batsim", "baselines, batsim clock", partial(simulate, (PLAIN, LOOKS_BACK), "batsim"))
    yield Kind("batsim", "policy run in a network", partial(simulate, (PAIR, PLAIN), "batsim", network=True))
    for name in ("policies", "jobs in slots"):
        play = partial(play_space, SPACES[name], "batsim", with_network(pool(CORES)))
        yield Kind("environments", f"{name}, network", play)
    yield Kind("batsim", "capacities shared on the server", share_nothing)
    yield Kind("batsim", "the server's sessions without communication", play_silent_session)
    yield Kind("batsim", "messages of Batsim", partial(answer_messages, (PAIR, PLAIN)))
    yield Kind(
        "compare", "policy run, textbook clock", partial(simulate, (PAIR, PLAIN, CHANGING, OWN_PRIORITIES), "textbook")
    )
    for mode in MODES:
        if mode not in ON_NODES_ONLY:
            yield Kind("compare", f"mode {mode}", partial(simulate, in_mode(mode), "textbook"))
    yield Kind("compare", "placement scores", place_by_score)
    yield Kind("compare", "streams", partial(stream, (PAIR, PLAIN)))
    predict = partial(replay, pool(CORES), some_jobs(), np.zeros(JOBS), ("ewma",))
    yield Kind("compare", "replays, for predictors", predict)
    for clock in CLOCKS:
        for name, space in SPACES.items():
            yield Kind("environments", f"{name}, {clock} clock", partial(play_space, space, clock, pool(CORES)))
    yield Kind("environments", "seeds of episodes", partial(draw_below, np.zeros(1, np.uint64), 0, SEEDS))
    yield Kind("training", "returns", returns)
    yield Kind("slurm", "a Slurm that is followed", follow_slurm)
    for mode in MODES:
        yield Kind("slurm", f"mode {mode}, partitions", partial(simulate, in_mode(mode)[-1:], "textbook", True))
    for clock in CLOCKS:
        policies = (PAIR, PLAIN, OWN_PRIORITIES, *WATCHED)
        yield Kind("slurm", f"policy run, partitions, {clock} clock", partial(simulate, policies, clock, True))
        for name, space in SPACES.items():
            play = partial(play_space, space, clock, with_partitions())
            yield Kind("environments", f"{name}, partitions, {clock} clock", play)
    yield Kind("slurm", "messages of Batsim, partitions", partial(answer_messages, (PLAIN,), True))


def in_mode(mode: str) -> tuple[str, ...]:
    """Return policies of a mode, the last of which uses knowledge about users."""
    if mode == "scored":
        return ("zoo:balanced",)
    return (f"sjf+{mode}", f"saf@ewma+{mode}")


SPACES = {
    "policies": Space(actions=(PLAIN, "fcfs+greedy"), observation="minimal"),
    "policies that know users": Space(actions=(LOOKS_BACK, PLAIN), observation="minimal"),
    "jobs in slots": Space(actions="jobs", head=2, opens="fitting", step=1.0, observation="horizon"),
    "jobs in slots, unmasked": Space(actions="jobs", head=2, opens="fitting", masked=False, observation="horizon"),
    "jobs and machines": Space(actions="machines", head=2, opens="fitting", observation="machines"),
}


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
        delay=zeros - 1.0,
        memory=zeros,
        bandwidth=zeros,
        walltime=zeros + np.inf,
        capacity=CORES,
        demands=demands_of([Demand("all")] * JOBS) if partitions else None,
    )


def platform_of(partitions: bool) -> Platform:
    """Return the machine of the tiny runs."""
    return with_partitions() if partitions else pool(CORES)


def simulate(policies: tuple[str, ...], clock: Clock, partitions: bool = False, network: bool = False) -> None:
    """Simulate some jobs under each policy, and write them if the clock is that of ``launch``."""
    platform, jobs = platform_of(partitions), some_jobs(partitions)
    if network:
        platform = with_network(platform)
    for name in policies:
        simulator = run_to_end(platform, jobs, PolicyActions([policy_named(name)]), clock, log=clock == "batsim")
        if clock == "batsim":
            with TemporaryDirectory() as folder:
                Record(simulator, jobs).write_jobs(Path(folder) / "out_jobs.csv")


def place_by_score() -> None:
    """Simulate some jobs under a policy whose order and placement look at scores of cores."""
    policy = {"queue": {"log_time": 1.0}, "placement": {"speed": -1.0}}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "placed.json"
        path.write_text(json.dumps(policy))
        for clock in CLOCKS:
            simulate((f"scored:{path}",), clock)


def share_nothing() -> None:
    """Solve an empty problem of shared capacities."""
    share(new_problem(0, 0, 0))


def play_silent_session() -> None:
    """Play a session of the server up to its first message."""
    advance(session_in(Memory(1, 1)))


def stream(policies: tuple[str, ...]) -> None:
    """Simulate some jobs that arrive in parts."""
    for name in policies:
        for ended in Stream(pool(CORES), iter([some_jobs(), some_jobs()]), policy_named(name)).ended():
            ids_of("w0", ended["number"].copy())


def answer_messages(policies: tuple[str, ...], partitions: bool = False) -> None:
    """Decide about a job as if Batsim reported it: it arrives, and it ends; once with a reward."""
    for name in policies:
        actions = PolicyActions([policy_named(name)])
        for space in (None, Space(actions=policies, observation="minimal")):
            state = State(platform_of(partitions), None, limits=NO_LIMITS, needs=actions.needs)
            if space is None:
                system = DecisionSystem(state, actions)
            else:
                state = space.state(platform_of(partitions), None, limits=NO_LIMITS)
                system = space.system(state)
            decide(system)
            set_available(state.tables, 0, False)


def decide(system: DecisionSystem) -> None:
    """Answer two messages with a decision system."""
    state = system.state
    job = state.append(Request(submit=0.0, size=CORES, time=1.0, ops=1e9, memory=0.0, bandwidth=0.0))
    for instant in (Instant(0.0, [], 1, False), Instant(1.0, [job], 0, True)):
        system.receive(instant)
        while system.open:
            _, mask = system.observe()
            system.act(int(mask.argmax()))
        state.drain(requested=True)
    system.settle()


def play_space(space: Space, clock: Clock, platform: Platform) -> None:
    """Run episodes of a decision space: recorded as by agents, step by step, in a batch, and over the wire."""
    jobs = some_jobs(platform.partitions is not None)
    for record in (True, False):
        state = space.state(platform, jobs, log=False)
        play = Play(Simulator(state, jobs, clock), space.system(state))
        if record:
            play_to_end(play)
        else:
            steps = Steps(play)
            if steps.begin():
                steps(int(steps.mask.argmax()))
    runs = Runs(space, platform, 2, clock)
    for place in range(2):
        first = runs.put(place, jobs)
        runs.load(place, first, len(jobs), 0.0, 0, jobs.limits())
    runs.begin(np.arange(2))
    runs.step(runs.masks.argmax(axis=1))
    if space.actions == "jobs":
        follow(runs.rows, np.zeros((2, JOBS)), runs.masks, np.zeros(2, np.int64))
        params = np.zeros(1, SLOTS)
        params["slots"], params["bias"] = space.head, 1.0  # starts whatever can start
        network = SlotNetwork(params, np.zeros((1, 0)), np.zeros(1), np.zeros(1))
        play_branches(runs.rows, runs.job_pool, network, no_deviations(2), 0, 2)
    objective_value(runs.run(0).core.tables, runs.run(0).core.window, 0, 0.0)
    own_parts(space, clock, platform, jobs)


def play_to_end(play: Play) -> None:
    """Run an episode with its first legal actions, with an observation at each step."""
    while play.advance():
        _, mask = play.observe()
        play.act(int(mask.argmax()))


def own_parts(space: Space, clock: Clock, platform: Platform, jobs: Workload) -> None:
    """Run an episode with actions, observation or policies in Python."""
    for own in (False, True):
        state = space.state(platform, jobs, log=False)
        system = space.system(state)
        if own:
            system.observer = None
        else:
            system.actions = PolicyActions([(lambda state, rows: state.tables.jobs["submit"][rows], "high_gflops")])
        play_to_end_unseen(Play(Simulator(state, jobs, clock), system))
    actions = PolicyActions([policy_named(PLAIN)])
    state = State(platform, jobs, log=False, needs=actions.needs)
    play_to_end_unseen(Play(Simulator(state, jobs, clock), DecisionSystem(state, actions)))


def play_to_end_unseen(play: Play) -> None:
    """Run an episode with its first action."""
    while play.advance():
        play.act(0)


def returns() -> None:
    """Compute the returns that learning agents need."""
    rewards, lengths, out = np.zeros(2), np.full(1, 2), np.zeros(2)
    write_returns(rewards, lengths, 0.9, out)
    write_advantages(rewards, rewards, np.zeros(1), lengths, 0.9, 0.9, out)
    write_mean(rewards, rewards, lengths, 1, lengths, out)


def follow_slurm() -> None:
    """Follow jobs that another scheduler starts, and rank the waiting ones."""
    for name in (PLAIN, LOOKS_BACK):
        actions = PolicyActions([policy_named(name)])
        state = State(pool(CORES), None, limits=NO_LIMITS, needs=actions.needs, named=False)
        system = DecisionSystem(state, actions)
        rows = [state.append(Request(0.0, 1, 1.0, 1e9, 0.0, 0.0, user=1)) for _ in range(3)]
        system.receive(Instant(0.0, [], 3, arrivals_over=False))
        actions.notice(0, state)
        actions.rank(0, state)
        start_outside(state.tables, rows[0], 1)
        withdraw(state.tables, rows[1])
        runs(state.tables, rows[0])
        set_available(state.tables, 0, False)
        if name == LOOKS_BACK:
            plans = actions.choices(state).plans
            read_history(state.tables, plans.knowledge.history)
            known = plans.knowledge
            write_scores(state.tables, plans, known, 0, np.zeros(0, np.int64), np.zeros((0, COUNT)), np.zeros(0))
