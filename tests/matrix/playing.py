"""Every driver plays one policy in one world, and returns the schedule: (J, 2) start and finish of each job in s."""

import csv
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from crowded_worlds import CORES, World, Worlds
from test_watch import Room, waiting

from hdeeprm_like import refusals
from hdeeprm_like.api import simulate
from hdeeprm_like.batsim_server.batsim5 import cli as server5
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.compared_policies import compared_policy
from hdeeprm_like.decision.names import case_of, policy_in
from hdeeprm_like.decision.policy_words import AGENT
from hdeeprm_like.errors import HDeepRMError
from hdeeprm_like.experiment import Overrides, experiment_of
from hdeeprm_like.formats.windows import Window
from hdeeprm_like.gym import environment, environments
from hdeeprm_like.launch.drivers import Classic
from hdeeprm_like.launch.in_process import launch
from hdeeprm_like.launch.peers import InProcess, Peer
from hdeeprm_like.launch.with_batsim import launch_batsim
from hdeeprm_like.options import Options
from hdeeprm_like.refusals import refusal_of
from hdeeprm_like.studies.compare.inputs import Inputs, check_policies
from hdeeprm_like.studies.compare.windows import schedule
from hdeeprm_like.studies.explain import explain_moment
from hdeeprm_like.studies.stream import Streaming, stream
from hdeeprm_like.studies.whatif.answer import answer
from hdeeprm_like.studies.whatif.inputs import load_log
from hdeeprm_like.studies.whatif.mechanism import asked_for

SEED = 3


class Driver(NamedTuple):
    """A way to play a policy.

    Attributes:
        play: takes worlds, a world and a name. table: its name in the table of refusals. clock: of the simulation.
        worlds: that it is for; none for all. within: s that times may differ, per s of time after the first one.
        draws_alike: whether random policies draw the same as with `simulate`. weight: how often cells have it.
    """

    play: Callable[[Worlds, World, str], Any]
    table: str
    clock: str
    worlds: tuple[str, ...] = ()
    within: float = 0.0
    draws_alike: bool = True
    weight: int = 4


def times_of(simulator, jobs):
    tasks = simulator.simulation.tasks
    return np.stack([tasks["start"][:jobs], tasks["finish"][:jobs]], axis=1)


@lru_cache(maxsize=4096)
def schedule_in_process(worlds, world, name, clock):
    """What all other drivers are held to."""
    machine, workload = worlds.machine(world), worlds.workload(world)
    played = simulate(machine, workload, name, clock, seed=SEED, whole=world.whole)
    return times_of(played.simulator, len(workload))


def in_process(clock):
    """Play, and check what must hold for every schedule."""

    def play(worlds, world, name):
        machine, workload = worlds.machine(world), worlds.workload(world)
        found = schedule_in_process(worlds, world, name, clock)
        start, finish = found[~np.isnan(found[:, 0])].T
        size = workload.size[~np.isnan(found[:, 0])]
        assert len(start) == len(workload), "a job has not run"
        assert (start >= workload.submit - 1e-6).all(), "a job starts before it is submitted"
        for moment in start + 1e-9:
            busy = size[(start <= moment) & (finish > moment + 1e-9)].sum()
            assert busy <= machine.cores, "more cores are busy than there are"
        return found

    return play


def experiment_of_world(worlds, world, name):
    machine, workload = worlds.machine(world), worlds.workload(world)
    options = Options(seed=SEED, policy=name, whole=world.whole, network=world.network)
    paths = {"workload_file_path": "workload.json", "platform_file_path": "platform.json"}
    found = experiment_of(world.folder / "o.json", options.model_copy(update=paths), Overrides(network=world.network))
    return replace(found, platform=machine, workload=workload)


def times_in(path, workload):
    """The times of an ``out_jobs.csv`` in the order of a workload."""
    with path.open(newline="") as file:
        rows = {row["job_id"]: row for row in csv.DictReader(file)}
    numbers = [identifier.partition("!")[2] for identifier in workload.ids]
    cells = [[rows[number][column] for column in ("starting_time", "finish_time")] for number in numbers]
    return np.array([[float(text) if text else np.nan for text in row] for row in cells])


def emptied(worlds):
    folder = worlds.folder / "output"
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def launched(worlds, world, name):
    folder, experiment = emptied(worlds), experiment_of_world(worlds, world, name)
    launch(Classic(experiment), folder, progress=False)
    return times_in(folder / "out_jobs.csv", experiment.workload)


class InProcess5(InProcess):
    """The same line to our server for Batsim 5."""

    def simulate(self, talk, jobs):
        _, *words = self._peer.command(self._output, "tcp://127.0.0.1:1")
        assert server5.play(server5.read_command_line(words)[0], lambda message: talk.answer(message).encode())


class Embedded5(Peer):
    """Our server for Batsim 5, in this process."""

    version: int = 5

    def meet(self, output):
        return InProcess5(self, output)


def over_server(peer):
    def play(worlds, world, name):
        folder, experiment = emptied(worlds), experiment_of_world(worlds, world, name)
        try:
            run = launch_batsim(Classic(experiment), folder, peer, progress=False)
        except HDeepRMError:
            assert not folder.exists(), "a refusal has left a folder"
            raise
        assert "problem" not in run, run["problem"]
        return times_in(folder / "out_jobs.csv", experiment.workload)

    return play


def single(clock):
    def play(worlds, world, name):
        machine, workload = worlds.machine(world), worlds.workload(world)
        env = environment("PolicySelect", platform=machine, workload=workload, clock=clock, actions=[name])
        env.reset(seed=SEED)
        while not any(env.step(0)[2:4]):
            pass
        return times_of(env.play.simulator, len(workload))

    return play


def vector(clock):
    def play(worlds, world, name):
        machine, workload = worlds.machine(world), worlds.workload(world)
        how = {"platform": machine, "workload": workload, "clock": clock, "actions": [name], "autoreset": "Disabled"}
        count = 1 if "random" in name else 2  # each draws its own
        envs = environments(count, "PolicySelect", **how)
        envs.reset(seed=SEED)
        ended = np.zeros(count, np.bool_)
        while not ended.any():
            _, _, over, cut, _ = envs.step(np.zeros(count, np.int64))
            ended |= over | cut
        assert ended.all(), "two environments with the same jobs end at different steps"
        found = [times_of(envs.runs.run(place), len(workload)) for place in range(count)]
        envs.close()
        assert all(np.array_equal(found[0], one, equal_nan=True) for one in found), "two environments differ"
        return found[0]

    return play


def streamed(clock):
    def play(worlds, world, name):
        folder, workload = emptied(worlds), worlds.workload(world)
        try:
            stream(Streaming(worlds.trace(world), name, folder, CORES, clock, SEED), progress=False)
        except HDeepRMError:
            assert not folder.exists(), "a refusal has left a folder"
            raise
        numbered = replace(workload, ids=tuple(f"w0!{number}" for number in range(len(workload))))
        return times_in(folder / "out_jobs.csv", numbered)

    return play


def compared(clock):
    def play(worlds, world, name):
        from hdeeprm_like.studies.compare.inputs import Comparison, Windows

        policy, window = compared_policy(name), Window(worlds.workload(world), 0.0)
        machine = worlds.machine(world)
        comparison = Comparison(worlds.folder, (policy,), Windows(), 1, clock=clock, whole=world.whole)
        check_policies(Inputs(comparison, machine, 1, len(window.workload), (window,).__getitem__))
        found = schedule(machine, window, policy, clock, world.whole)
        return np.stack([found.start, found.finish], axis=1)

    return play


def asked_what_if(worlds, world, name):
    machine = pool(CORES)
    found = answer(machine, load_log(worlds.trace(world), machine), asked_for(name, ["fcfs+easy"], []))
    return float(found.rows[0]["wait"])


def explained(worlds, world, name):
    policy = policy_in(name, refusals.EXPLAIN)
    moment = explain_moment(worlds.machine(world), worlds.workload(world), policy, 400.0)
    return moment.now, moment.started


def watched(worlds, world, name):
    policy = policy_in(name, refusals.WATCH).alone
    folder = emptied(worlds)
    folder.mkdir()
    room = Room(folder, *(waiting(number, 100 + 37 * number % 11) for number in range(1, 9)), policy="sjf", apply=False)
    room.options = replace(room.options, policy=policy)
    room.watch = room.new_watch()
    room.look()
    places = [event["place"] for event in room.events("would set")]
    assert sorted(places) == list(range(1, 9)), "a dry run has not ranked each job once"
    assert room.slurm.told == [], "a dry run changes something"


TEXT, POOL, NOT_WHOLE = (
    2e-6,
    ("pool",),
    ("memory", "days", "gpus", "limits", "cap", "partitions", "slurm", "speeds", "network", "pool"),
)
FILES = tuple(name for name in (*NOT_WHOLE, "whole") if name != "pool")
DRIVERS = {
    "simulate-batsim": Driver(in_process("batsim"), refusals.SIMULATE, "batsim"),
    "simulate-textbook": Driver(in_process("textbook"), refusals.SIMULATE, "textbook"),
    "simulate-one-by-one": Driver(in_process("one-by-one"), refusals.SIMULATE, "one-by-one", weight=2),
    "launch": Driver(launched, refusals.LAUNCH, "batsim", FILES, TEXT),
    "batsim4": Driver(over_server(Peer("embedded")), refusals.BATSIM, "batsim", FILES, TEXT),
    "batsim5": Driver(over_server(Embedded5("embedded")), refusals.BATSIM, "batsim", FILES, 2e-3),
    "env-batsim": Driver(single("batsim"), refusals.ENVIRONMENT, "batsim", NOT_WHOLE, draws_alike=False),
    "env-textbook": Driver(single("textbook"), refusals.ENVIRONMENT, "textbook", NOT_WHOLE, draws_alike=False),
    "vector-batsim": Driver(vector("batsim"), refusals.ENVIRONMENTS, "batsim", NOT_WHOLE, draws_alike=False),
    "vector-textbook": Driver(vector("textbook"), refusals.ENVIRONMENTS, "textbook", NOT_WHOLE, draws_alike=False),
    "stream-textbook": Driver(streamed("textbook"), refusals.STREAM, "textbook", POOL, TEXT, weight=24),
    "stream-one-by-one": Driver(streamed("one-by-one"), refusals.STREAM, "one-by-one", POOL, TEXT, weight=16),
    "compare-textbook": Driver(compared("textbook"), refusals.COMPARE, "textbook", draws_alike=False),
    "compare-batsim": Driver(compared("batsim"), refusals.COMPARE, "batsim", draws_alike=False, weight=2),
    "whatif": Driver(asked_what_if, refusals.WHATIF, "textbook", POOL, weight=16, draws_alike=False),
    "explain": Driver(explained, refusals.EXPLAIN, "textbook", POOL, weight=16, draws_alike=False),
    "slurm-dry-run": Driver(watched, refusals.WATCH, "", POOL, weight=12),
}


def expected_refusal(worlds, world, driver, name):
    """The line of the table for a cell, None if it is played; a vector environment is made as a single one first."""
    tables = (refusals.ENVIRONMENT, driver.table) if driver.table == refusals.ENVIRONMENTS else (driver.table,)
    for table in tables:
        if name.startswith(AGENT):
            case = refusals.Case(name, refusals.AGENT, driver=table)
        else:
            try:
                case = case_of(policy_in(name, table), table)
            except HDeepRMError as error:
                return str(error)
        if table != refusals.WATCH:  # a real Slurm is no platform here
            case = case._replace(clock=driver.clock).on(worlds.machine(world), world.whole)
        if table == refusals.WHATIF and case.mode == "slurm":
            case = case._replace(partitions=True)  # it makes a Slurm of a pool
        found = refusal_of(case)
        if found is not None:
            return str(found)
    return None


def difference(worlds, world, driver, name, found):
    """Why a schedule is not that of `simulate`, empty if it is."""
    if found is None or ("random" in name and not driver.draws_alike):
        return ""
    if driver.table == refusals.WHATIF and "+slurm" in name:
        return ""  # nothing else plays a Slurm of a pool
    wanted = schedule_in_process(worlds, world, name, driver.clock)
    submit = worlds.workload(world).submit
    if driver.table == refusals.WHATIF:
        wait = float(np.mean(wanted[:, 0] - submit))
        return "" if abs(found - wait) <= 1e-6 * max(1.0, wait) else f"a mean wait of {found}, not {wait}"
    if driver.table == refusals.EXPLAIN:
        started = int(np.sum(wanted[:, 0] == found[0]))
        return "" if started == found[1] else f"{found[1]} jobs start at {found[0]}, not {started}"
    apart = np.abs(found - wanted) > driver.within * np.maximum(1.0, wanted)
    apart |= np.isnan(found) != np.isnan(wanted)
    if not apart.any():
        return ""
    first = int(np.argmax(apart.any(axis=1)))
    return f"{int(apart.any(axis=1).sum())} jobs differ, first {first}: {found[first]}, not {wanted[first]}"
