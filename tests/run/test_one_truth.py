"""The embedded simulator, our server and the real Batsim give one schedule, also where everything ends together."""

import csv
import gzip
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from batsim_talk import (
    LIMITS,
    difference_from_server,
    jobs_of,
    play_on_server,
    play_on_server5,
    server_options,
    talk,
    write_inputs,
)
from changing_speeds import difference, played, write_world
from random_worlds import world
from small import jobs, platform

from hdeeprm_like.batsim.codec4 import Codec4
from hdeeprm_like.batsim.codec5 import Codec5
from hdeeprm_like.batsim.session import Conversation
from hdeeprm_like.batsim_server.server import Server
from hdeeprm_like.batsim_server.simulation import Simulation
from hdeeprm_like.cli.main import main
from hdeeprm_like.cluster.workload import JobLimits
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.engine.bundles import bundle_in
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import RUNNING
from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.formats.platform_hosts import read_platform_xml
from hdeeprm_like.run.python_loop import play
from hdeeprm_like.run.simulator import Simulator

RECORDED = Path(__file__).parent.parent / "golden" / "launch"


def unpacked(case, folder):
    """What `launch` with the real Batsim 4.2.1 was given and left."""
    for packed in (RECORDED / case).iterdir():
        (folder / packed.name.removesuffix(".gz")).write_bytes(gzip.decompress(packed.read_bytes()))


@pytest.mark.parametrize("case", ["gaia1000shortest", "gpu_sjfeasy"])
def test_launch_without_batsim_leaves_what_it_left_with_it(case, tmp_path):
    """All of these jobs come at whole seconds, and beyond the 12th day a message no longer moves Batsim's clock."""
    unpacked(case, tmp_path)
    assert main(["launch", "-q", "-o", str(tmp_path / "options.json"), "--output", str(tmp_path / "ours")]) == 0
    for name in ("out_machine_states.csv", "out_pstate_changes.csv"):
        assert (tmp_path / "ours" / name).read_text() == (tmp_path / name).read_text(), name
    theirs, ours = (
        list(csv.DictReader((folder / "out_jobs.csv").read_text().splitlines()))
        for folder in (tmp_path, tmp_path / "ours")
    )
    for row, own in zip(theirs, ours, strict=True):
        joules = float(row.pop("consumed_energy"))
        assert float(own.pop("consumed_energy")) == pytest.approx(joules, rel=1e-6)
        assert own == row


class Meddler:
    """Applies the only policy, and now and then requests calls and kills jobs, as time and seed decide."""

    def __init__(self, seed):
        self.seed = seed
        self.state = None

    def act(self, observation, mask):
        dice = random.Random(f"{self.state.now:.6f} {self.seed}")
        if dice.random() < 0.3:
            self.state.wake_at = self.state.now + dice.choice([0.5, 1.0, 2.0, 7.0])
        running = np.flatnonzero(self.state.tables.jobs["status"] == RUNNING).tolist()
        self.state.kills = [j for j in running if dice.random() < 0.05]
        return 0


def system_of(cluster, limits, pair, agent, workload=None):
    actions = PolicyActions([pair])
    state = State(cluster, workload, seed=3, limits=limits, needs=actions.needs)
    if isinstance(agent, Meddler):
        agent.state = state
    return DecisionSystem(state, actions)


def crowded(seed):
    """24 cores in 4 nodes with more work than they can do at once, memory and GPUs in two thirds of the worlds."""
    rng, more = np.random.default_rng(seed), seed % 3
    count, nodes = int(rng.integers(15, 31)), [(100.0, [(6, 1.0, 10.0, 1e6)])] * 4
    seconds = np.round(np.exp(rng.uniform(3.0, 10.5, count)), int(rng.integers(0, 4)))
    workload = jobs(
        submit=rng.integers(0, 30_000, count),
        seconds=seconds,
        estimate=seconds if rng.random() < 0.5 else np.ceil(seconds * rng.uniform(1.0, 5.0, count)),
        delay=seconds,
        size=rng.integers(1, 25, count),
        memory=rng.choice([0.0, 0.0, 1.7, 19.7], count) * (more > 0),
        gpus=rng.choice([0, 0, 0, 1], count) * (more > 1),
    )
    order = ("saf", "lcfs", "sjf", "zoo:slowdown", "zoo:balanced")[seed % 5]
    return platform(*nodes, gpus=[0, 1, 2, 4]), workload, baseline(f"{order}+bounded:{(0.1, 1)[seed % 2]}")


def meddled(seed, folder):
    """Play a world in process and with the server where jobs are killed and calls requested; what is not the same."""
    cluster, workload, pair = world(seed)
    cluster, workload, content = write_world(cluster, workload, folder)
    agent, other = Meddler(seed), Meddler(seed)
    system = system_of(cluster, JobLimits(1.0, 1.0, 1.0, 1.0), pair, agent, workload)
    simulator = Simulator(system.state, workload)
    play(simulator, system, agent)
    exact = {"w0": content["profiles"]}
    ours = Conversation(lambda p, limits: system_of(p, limits, pair, other), other, Codec4(), cluster, LIMITS, exact)
    try:
        _, ended = play_on_server(ours, folder)
    except ProtocolError as error:
        if "does not exist" in str(error):
            return ""  # Batsim aborts if a job's end is reported before the decision to kill it arrives
        raise
    return difference_from_server(simulator, workload, folder) if ended else "the server has not ended"


@pytest.mark.parametrize(
    "seeds",  # those with kills and calls stay
    [pytest.param(range(100), marks=pytest.mark.more), pytest.param(range(100, 20_000), marks=pytest.mark.slow)],
    ids=["many", "twenty_thousand"],
)
def test_worlds_of_ties_are_the_same_with_the_server(seeds, tmp_path):
    assert {seed: found for seed in seeds if (found := difference(*world(seed), tmp_path))} == {}


LATE = 2_000_165.0  # s; a nanosecond is four steps of the clock there


def late(seed):
    """A world of few jobs whose submissions and ends meet within some steps of the clock, far from its begin."""
    dice = random.Random(seed)
    count = dice.choice([4, 5, 6, 8])
    gaps = [dice.choice([0.0, 0.5, 1.0, 1.0, 5.5, 1e-9, 2e-9, 5.5 - 1e-9]) for _ in range(count)]
    delay = [dice.choice([5.5, 5.5, 1.0, -1.0]) for _ in range(count)]  # the last one: work without operations
    cluster = platform((1000.0, [(2, 1.0, 100.0, 10.0)]))
    return cluster, jobs(np.cumsum([LATE, *gaps[1:]]), seconds=0.0, estimate=10.0, delay=delay)


def test_jobs_that_meet_late_begin_when_they_do_on_the_server_to_the_last_bit(tmp_path):
    for seed in range(150):
        cluster, workload, content = write_world(*late(seed), tmp_path)
        simulator = played(cluster, workload, "fcfs")
        conversation = talk(cluster, baseline("fcfs"), 3, {"w0": content["profiles"]})
        simulation = Simulation(server_options(tmp_path))
        theirs = dict(simulation.jobs)
        assert Server(simulation, lambda text, one=conversation: one.answer(text).encode()).run()
        assert [theirs[name].start for name in workload.ids] == simulator.simulation.tasks["start"].tolist(), seed


@pytest.mark.parametrize("seeds", [range(10), pytest.param(range(10, 400), marks=pytest.mark.slow)], ids=str)
def test_guaranteed_starts_come_when_they_do_in_process_and_no_call_is_requested_twice(seeds, tmp_path, monkeypatch):
    requested = []
    format_of = Codec4.format

    def note(codec, now, events):
        requested[-1] += [data["timestamp"] for kind, data in events if kind == "CALL_ME_LATER"]
        return format_of(codec, now, events)

    monkeypatch.setattr(Codec4, "format", note)
    for seed in seeds:
        requested.append([])
        assert difference(*crowded(seed), tmp_path) == "", seed
        assert len(requested[-1]) == len(set(requested[-1])), seed
    assert sum(map(len, requested)) > len(seeds)


BATSIMS = {4: (Codec4, play_on_server, "out_jobs.csv"), 5: (Codec5, play_on_server5, "five_jobs.csv")}


@pytest.mark.parametrize("seeds", [(3, 13), pytest.param(range(100), marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("version", BATSIMS)
def test_no_job_starts_after_its_guarantee_with_batsim(version, seeds, tmp_path):
    """Calls come up to a millisecond late with Batsim 5, and what starts then ends later than planned."""
    codec, play_on, file = BATSIMS[version]
    for seed in seeds:
        cluster, drawn, policy = crowded(seed)
        workload = replace(drawn, requested_time=drawn.delay, requested_ops=drawn.delay * 1e9)
        exact = write_inputs(cluster, workload, tmp_path)
        cluster = read_platform_xml(tmp_path / "platform.xml")
        policy = baseline(policy.name.partition("+")[0] + "+bounded:0.1")
        ours = talk(cluster, policy, 3, exact, JobLimits(1e6, 24.0, 100.0, 1.0), codec=codec())
        assert play_on(ours, tmp_path)[1]
        bounds, rows = bundle_in(ours.system.actions._plans[1].guarantees, 0), jobs_of(tmp_path / file)
        promised = bounds.jobs["promised"]
        late = [float(rows[job]["starting_time"] or "nan") - promised[row] for job, row in ours._rows.items()]
        assert np.nanmax(late) < 0.002, seed


@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 1000), marks=pytest.mark.slow)], ids=str)
def test_so_are_worlds_with_kills_and_calls(seeds, tmp_path):
    assert {seed: found for seed in seeds if (found := meddled(seed, tmp_path))} == {}
