"""Plays the same jobs on a real Slurm under its own order and under watches: ``pairs.py -o pairs.json.gz``.

It must run as root, on a machine with slurm-wlm and munge. Each pair is a queue of its own seed, and plays on a cluster
of four nodes with four CPUs; several clusters run side by side. Jobs sleep for some seconds, so time is shrunk: a watch
looks each 2 s, backfill each 5 s. ``told.py`` beside this file holds what was measured beside what ``whatif`` predicts
from the log of the first run, Slurm's own.
"""

import argparse
import gzip
import json
import random
import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import real_slurm
from real_slurm import RealSlurm, wait_until

OWN, POLICIES = "own", ("sjf", "saf", "zoo:balanced")
INTERVAL, FACTOR = 2, 10_000  # of the watch
NODES, CPUS, JOBS, SPAN = 4, 4, 60, 55.0
SETTINGS = (
    "SchedulerParameters=bf_interval=5,bf_resolution=1,sched_interval=15\nPriorityWeightAge=1000\n"
    "PriorityMaxAge=0-00:10\nPriorityWeightJobSize=500"
)
FIRST_PORT = 22000
WIDTH = 20  # ports of a cluster


def jobs_of(seed, count=JOBS, span=SPAN):
    """Draw the jobs of a pair: when each comes, s that it sleeps, CPUs, and min that it asks for."""
    draw = random.Random(f"pair {seed}")
    comes = sorted(round(draw.uniform(0.0, span), 2) for _ in range(count))
    jobs = []
    for at in comes:
        seconds = min(1 + int(draw.expovariate(1 / 8)), 40)
        cpus = draw.choices((1, 2, 4, 8), (5, 4, 3, 1))[0]
        jobs.append((at, seconds, cpus, seconds * draw.choice((1, 1, 2, 4))))
    return jobs


class Cluster(RealSlurm):
    """A small cluster whose parameters are those of the pairs."""

    def __init__(self):
        super().__init__(nodes=NODES, cpus=CPUS)
        text = self.configuration.read_text()
        self.configuration.write_text(re.sub("SchedulerParameters=.*", SETTINGS, text))


def play(jobs, policy, watched):
    """Play jobs under Slurm's own order or a watch; return what Slurm's log of ended jobs tells, in their order.

    Args:
        watched: starts a watch of a cluster with options, and has ``stop``.
    """
    with Cluster() as slurm:
        watch = None
        if policy != OWN:
            options = ("--policy", policy, "--apply", "--max-factor", FACTOR, "--interval", INTERVAL)
            watch = watched(slurm, *options)
            wait_until(lambda: watch.events("look"), "the watch looks", patience=200.0)
        begin, numbers = time.monotonic(), []
        for at, seconds, cpus, limit in jobs:
            time.sleep(max(0.0, begin + at - time.monotonic()))
            command = ("sbatch", "--parsable", "-o", "/dev/null", "-n", cpus, "-t", limit)
            numbers.append(int(slurm.run(*command, "--wrap", f"exec sleep {seconds}")))
        wait_until(lambda: len(slurm.ended()) == len(jobs), "the jobs end", patience=600.0)
        if watch is not None:
            assert watch.stop() == 0, watch.said
        ended = (slurm.folder / "jobs.txt").read_text().splitlines()
        lines = {re.search(r"JobId=(\d+)", line)[1]: line for line in ended}
        text = slurm.configuration.read_text()
        return [lines[str(number)] for number in numbers], text[text.index("ProctrackType") :]


def one_pair(seed, worker):
    """Play a pair; return its arms by policy, each with the lines of Slurm's log of ended jobs."""
    from test_real_slurm import OneWatch

    real_slurm.free_ports = lambda count: FIRST_PORT + WIDTH * worker
    arms, conf = {}, ""
    for policy in (OWN, *POLICIES):
        arms[policy], conf = play(jobs_of(seed), policy, OneWatch)
    return {"seed": seed, "conf": conf, "arms": {name: [compact(line) for line in arm] for name, arm in arms.items()}}


def compact(line):
    """Return what counts of a line of Slurm's log of ended jobs: without names of users and folders."""
    kept = (
        "JobId",
        "JobState",
        "TimeLimit",
        "StartTime",
        "EndTime",
        "NodeCnt",
        "ProcCnt",
        "SubmitTime",
        "EligibleTime",
    )
    told = dict(word.partition("=")[::2] for word in line.split() if "=" in word)
    return " ".join(f"{name}={told[name]}" for name in kept)


def main():
    """Play the pairs and write them as they end."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--pairs", type=int, default=30)
    words.add_argument("--first", type=int, default=0, help="the seed of the first pair")
    words.add_argument("--side-by-side", type=int, default=6)
    words.add_argument("--output", "-o", type=Path, required=True)
    told = words.parse_args()
    found, seeds = [], list(range(told.first, told.first + told.pairs))
    with ProcessPoolExecutor(told.side_by_side) as workers:
        running, free = {}, list(range(told.side_by_side))
        while seeds or running:
            while seeds and free:
                worker = free.pop()
                running[workers.submit(one_pair, seeds.pop(0), worker)] = worker
            done = next(as_completed(running))
            free.append(running.pop(done))
            if done.exception() is not None:
                sys.stderr.write(f"a pair failed: {done.exception()}\n")
                continue
            found.append(done.result())
            with gzip.GzipFile(told.output, "wb", mtime=0) as packed:
                packed.write(json.dumps(sorted(found, key=lambda pair: pair["seed"]), separators=(",", ":")).encode())


if __name__ == "__main__":
    main()
