"""Small crowded worlds: machines with one resource each, and queues that are long on them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from small import jobs, parted, platform

from hdeeprm_like.cluster.links import with_network
from hdeeprm_like.cluster.partitions import Demand, demands_of
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.formats.open import load_platform, load_workload, write
from hdeeprm_like.jobs_in_files import jobs_in

CORES = 16  # of the pool
LINK = {"type": "InfiniBand QDR", "latency": "1us"}
MIXED = ((64.0, [(4, 2.0, 80.0, 10.0), (2, 1.0, 40.0, 5.0)]), (32.0, [(4, 3.0, 100.0, 8.0)]),
         (128.0, [(2, 1.5, 60.0, 20.0), (2, 1.5, 60.0, 20.0)]))  # fmt: skip


class World(NamedTuple):
    """A machine and its jobs, in a folder; what drivers read from files is read from there by all."""

    name: str
    folder: Path
    whole: bool = False
    network: bool = False

    @property
    def pooled(self):
        """Whether it is a trace on equal cores that are counted."""
        return self.name == "pool"


class Worlds:
    """The worlds, each made when it is first used."""

    def __init__(self, folder):
        self.folder = folder
        self._machines, self._workloads = {}, {}

    def __getitem__(self, name) -> World:
        folder = self.folder / name
        if not folder.exists():
            folder.mkdir()
            MADE[name](folder)
        return World(name, folder, whole=name == "whole", network=name == "network")

    def machine(self, world) -> Any:
        """Its platform, as all drivers read it."""
        if world.name not in self._machines:
            found = pool(CORES) if world.pooled else load_platform(world.folder / "platform.json")
            self._machines[world.name] = with_network(found) if world.network else found
        return self._machines[world.name]

    def workload(self, world) -> Any:
        """Its jobs, as all drivers read them."""
        if world.name not in self._workloads:
            machine, file = self.machine(world), world.folder / "workload.json"
            read = {"reference_flops": machine.reference_flops, "capacity": machine.cores, "network": world.network}
            self._workloads[world.name] = (
                jobs_in(self.trace(world), machine).workload if world.pooled else load_workload(file, **read)
            )
        return self._workloads[world.name]

    def trace(self, world) -> Path:
        """Its trace."""
        return world.folder / "trace.swf"


def make_pool(folder):
    """A trace of 70 jobs on 16 cores, whose load is above 1."""
    dice, now, lines = np.random.default_rng(7), 0, [f"; MaxProcs: {CORES}"]
    for number in range(1, 71):
        run = int(dice.integers(1, 300))
        request = int(run * dice.choice([1, 1, 2, 5]))
        size = int(dice.choice([1, 2, 4, 8, 16], p=[0.3, 0.3, 0.2, 0.15, 0.05]))
        lines.append(f"{number} {now} 0 {run} {size} {run} 1000 {size} {request} 2000 1 {number % 4} 1 1 1 1 -1 -1")
        now += int(dice.integers(0, 40))
    (folder / "trace.swf").write_text("\n".join(lines) + "\n")


def some_jobs(machine, count=40, memory=False, gpus=False, limits=False, messages=False, slower=1.0):
    """Jobs that arrive within 200 s and need far longer than that on a machine of some 14 cores; or all *slower*."""
    dice, flops = np.random.default_rng(11), machine.reference_flops / 1e9
    submit, seconds = np.sort(dice.uniform(0, 200, count)), dice.uniform(2, 60, count)
    whole = dice.random(count) < 0.5  # half of the times coincide with others, half have all digits
    submit, seconds = np.sort(np.where(whole, np.floor(submit), submit)), np.where(whole, np.ceil(seconds), seconds)
    submit, seconds = submit * slower, seconds * slower
    estimate = seconds * dice.choice([1, 1, 2, 3.7], count)
    on_gpus = dice.choice([0, 0, 0, 0, 1], count) if gpus else np.zeros(count)
    size = np.where(on_gpus > 0, 1 + np.arange(count) % 2, dice.integers(1, 5, count))
    made = jobs(
        submit=submit - submit[0],
        seconds=seconds * flops,
        size=size,
        memory=dice.choice([0, 0, 2, 5], count) if memory else 0.0,
        bandwidth=dice.choice([0, 0, 1, 2.5], count) if memory else 0.0,
        estimate=estimate,
        gpus=on_gpus,
        delay=np.where(dice.random(count) < 0.7, -1.0, seconds),
        walltime=np.where(dice.random(count) < 0.8, np.inf, np.maximum(1, estimate)) if limits else np.inf,
        user=dice.integers(0, 4, count),
        ids=[f"w0!{number}" for number in range(1, count + 1)],
    )
    return replace(made, bytes=np.where((made.size > 1) & (made.delay < 0), 2e6, 0.0)) if messages else made


def put(folder, machine, workload):
    """Write a world."""
    write(machine, folder / "platform.json", "platform")
    write(workload, folder / "workload.json", "workload")


def make_mixed(folder, watts=1.0, **how):
    """Processors of several speeds and powers; *watts* is the share of the powers that a cap leaves."""
    machine = platform(*MIXED, gpus=[2, 0, 1])
    if watts < 1.0:
        machine = replace(machine, power_cap=float(machine.most_watts[1] + np.ptp(machine.most_watts[1:]) * watts))
    put(folder, machine, some_jobs(machine, **how))


def make_partitions(folder, settings=None):
    """Four nodes; the partition ``fast`` has two of them, and a feature is on the others.

    Args:
        settings: of a Slurm.
    """
    machine = parted(settings)
    dice, workload = np.random.default_rng(13), some_jobs(machine, 36)
    demands = [
        Demand("fast") if x < 0.3 else Demand(constraint="ib") if x < 0.45 else
        Demand("fast", nodes=2) if x < 0.55 and size > 1 else Demand()
        for x, size in zip(dice.random(len(workload)), workload.size, strict=True)
    ]  # fmt: skip
    put(folder, machine, replace(workload, demands=demands_of(demands)))


def make_from_json(folder, more=None, speed=False, **how):
    """Four nodes of a JSON platform, with a network or speeds that change."""
    nodes = [{"type": "Test0", "number": 1}, {"type": "Test0", "number": 3}]
    if speed:
        (folder / "slow.txt").write_text("3 0.5\n6 1\nLOOPAFTER 4\n")
        nodes[1]["speed_file"] = "slow.txt"
    content = {"clusters": [{"id": "a", "nodes": nodes, "local_links": LINK}], "global_links": LINK} | (more or {})
    (folder / "platform.json").write_text(json.dumps(content))
    machine = load_platform(folder / "platform.json")
    write(some_jobs(machine, **how), folder / "workload.json", "workload")


MADE = {
    "pool": make_pool,
    "memory": lambda folder: make_mixed(folder, memory=True),
    "days": lambda folder: make_mixed(folder, memory=True, slower=600.0),  # so long that guaranteed starts matter
    "gpus": lambda folder: make_mixed(folder, gpus=True),
    "limits": lambda folder: make_mixed(folder, memory=True, limits=True),
    "whole": lambda folder: make_mixed(folder, memory=True),
    "cap": lambda folder: make_mixed(folder, memory=True, watts=0.6),
    "partitions": make_partitions,
    "slurm": lambda folder: make_partitions(folder, {"PriorityWeightJobSize": 5000.0, "PriorityFavorSmall": "YES"}),
    "speeds": lambda folder: make_from_json(folder, speed=True),
    "network": lambda folder: make_from_json(folder, {"topology": "FAT_TREE 1;4;1;1"}, messages=True),
}
