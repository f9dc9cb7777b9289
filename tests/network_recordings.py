"""Plays the communicating jobs of recorded conversations in the embedded simulator, over the same links.

``python tests/network_recordings.py FOLDER`` notes what became of a suite, see ``batsim_replay.py``, in
``tests/golden/network_recordings.json``; a test holds the figures in docs/notebook/networks.md to that.

The links come from the recording's SimGrid XML. Jobs that the scheduler killed, and those of profile types that the
embedded simulator does not know, are delays of their recorded length. A job is submitted when it started in the
recording, because messages of that platform's master to itself may take time there. If the scheduler killed a job, or
the policy gives one other cores than the recording, the jobs that overlap no other are played one by one on their
recorded cores, and the others are left out.
"""

import csv
import gzip
import io
import json
import shlex
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from batsim_replay import close, inside
from small import Finished, platform

from hdeeprm_like.batsim_server import cli
from hdeeprm_like.batsim_server.simulation import Simulation
from hdeeprm_like.cluster.routes import Routes
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import HDeepRMError
from hdeeprm_like.formats.platform_hosts import routes_between
from hdeeprm_like.formats.simgrid_xml import read_simgrid_xml
from hdeeprm_like.formats.workload_json import read_workload
from hdeeprm_like.results.batsim_files import parse_interval_set
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.run.to_end import run_policy

NOTE = Path(__file__).parent / "golden" / "network_recordings.json"
KNOWN = ("delay", "parallel_homogeneous", "parallel_homogeneous_total")
LATEST = 1e12  # s; later submissions are refused
IN_ORDER = "fcfs+strict-first_fit"


@dataclass(frozen=True)
class Recorded:
    """A recorded job that has run; *sends* if the embedded simulator knows its profile and it sends bytes."""

    identifier: str
    size: int
    start: float
    finish: float
    cores: list
    profile: dict
    walltime: float
    killed: bool
    sends: bool


@dataclass(frozen=True)
class Recording:
    """Hosts of a recorded conversation, the links between them, and the jobs that have run."""

    speeds: list
    routes: Routes
    jobs: list


def read_recording(case, table):
    """The recording of a folder; *table* is the text of its ``out_jobs.csv``.  None if no job sends anything."""
    words = shlex.split((case / "cmdline.txt").read_text().splitlines()[0])[1:]
    with inside(case):
        options, _ = cli.read_command_line(words)
        workloads = [json.loads(path.read_text()) for path in options.workloads]
        if len(workloads) != 1:
            return None
        jobs = jobs_that_ran(workloads[0], table)
        if not any(job.sends for job in jobs):
            return None
        simulation = Simulation(options)
        simgrid = read_simgrid_xml(options.platform)
    used = 1 + max(core for job in jobs for core in job.cores)
    hosts = [machine.host for machine in simulation.machines.all[:used]]
    routes = routes_between(simgrid, [host.name for host in hosts], [1] * used, simulation.master)
    return Recording([host.speeds[0] for host in hosts], routes, jobs)


def jobs_that_ran(workload, table):
    """The jobs of a workload with their recorded times."""
    described = {str(job["id"]): job for job in workload["jobs"]}
    rows = list(csv.DictReader(io.StringIO(table)))
    rows.sort(key=lambda row: (float(row["starting_time"] or 0), float(row["submission_time"]), row["job_id"].encode()))
    found = []
    for row in rows:
        job = described.get(row["job_id"])
        if job is None or not row["starting_time"] or float(row["starting_time"]) > LATEST:
            continue
        profile = workload["profiles"][job["profile"]]
        killed = row["final_state"] == "COMPLETED_KILLED"
        known = profile["type"] in KNOWN and not profile.get("ret") and not killed
        length = {"type": "delay", "delay": float(row["execution_time"])}
        found.append(
            Recorded(
                row["job_id"],
                int(job["res"]),
                float(row["starting_time"]),
                float(row["finish_time"]),
                parse_interval_set(row["allocated_resources"]),
                profile if known else length,
                float(job.get("walltime", -1)) if known else -1.0,
                killed,
                known and profile.get("com", 0) > 0 and int(job["res"]) > 1,
            )
        )
    return found


def played(recording, jobs, cores):
    """Times and cores of some jobs in the embedded simulator, on some of the hosts."""
    hosts = [recording.speeds[core] for core in cores]
    machine = platform(*[(1.0, [(1, 1.0, 1.0, 1.0)])] * len(hosts))
    machine = replace(machine, processor_flops=np.array([[speed] * 4 for speed in hosts]), routes=recording.routes)
    if len(cores) < len(recording.speeds):
        machine = replace(machine, routes=part_of(recording.routes, cores))
    text = {
        "nb_res": len(cores),
        "jobs": [job_as_json(job, number) for number, job in enumerate(jobs)],
        "profiles": {str(number): job.profile for number, job in enumerate(jobs)},
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "workload.json"
        path.write_text(json.dumps(text))
        workload = read_workload(path, reference_flops=machine.reference_flops, network=True)
    actions = PolicyActions([baseline(IN_ORDER)])
    simulator = Simulator(State(machine, workload, needs=actions.needs), workload)
    list(run_policy(simulator, actions))
    finished, tasks = Finished(simulator, workload), simulator.simulation.tasks
    return [
        (tasks[j]["start"], tasks[j]["finish"], [cores[core] for core in finished.cores[j] or ()])
        for j in range(len(jobs))
    ]


def job_as_json(job, number):
    walltime = {"walltime": job.walltime} if job.walltime > 0 else {"walltime": 1e9}
    return {"id": f"{number:06}", "subtime": job.start, "res": job.size, "profile": str(number), **walltime}


def part_of(routes, cores):
    """The routes between some of the hosts."""
    count = len(routes.place)
    ways = [routes.links[routes.first[way] : routes.first[way + 1]] for way in range(count * count)]
    kept = [ways[a * count + b] for a in cores for b in cores]
    gates = [routes.gate_links[routes.gate_first[a] : routes.gate_first[a + 1]] for a in cores]
    each = np.arange(len(cores))
    return replace(
        routes,
        place=each,
        group=each,
        up=routes.up[cores],
        down=routes.down[cores],
        limiter=routes.limiter[cores],
        first=np.cumsum([0, *map(len, kept)]),
        links=np.concatenate([*kept, np.zeros(0, np.int64)]).astype(np.int64),
        delay=routes.delay[np.ix_(cores, cores)],
        gate_first=np.cumsum([0, *map(len, gates)]),
        gate_links=np.concatenate([*gates, np.zeros(0, np.int64)]).astype(np.int64),
        gate_delay=routes.gate_delay[cores],
    )


def compare_recording(recording):
    """How many sending jobs were played, and those that start or end at another time than in the recording."""
    jobs = recording.jobs
    together = played(recording, jobs, list(range(len(recording.speeds))))
    if any(job.killed or found[2] != job.cores for job, found in zip(jobs, together, strict=True)):
        jobs = [job for job in jobs if job.sends and not any(overlap(job, other) for other in jobs)]
        together = [played(recording, [job], job.cores)[0] for job in jobs]
    different = [
        (job.identifier, job.start, job.finish, *found[:2])
        for job, found in zip(jobs, together, strict=True)
        if not (close(job.start, found[0]) and close(job.finish, found[1]))
    ]
    return sum(job.sends for job in jobs), different


def overlap(job, other):
    return other is not job and job.start < other.finish and other.start < job.finish


def compare_suite(folder):
    """Each case of a suite with communicating jobs: its name, the jobs that were compared, those that differ."""
    for case in sorted((folder / "cases").iterdir()):
        table = gzip.decompress((case / "out_jobs.csv.gz").read_bytes()).decode() if have(case) else ""
        try:
            recording = read_recording(case, table)
        except (HDeepRMError, ValueError) as refused:
            yield case.name, 0, [f"refused: {refused}"]
            continue
        if recording is not None:
            yield case.name, *compare_recording(recording)


def have(case):
    return (case / "out_jobs.csv.gz").exists()


def noted(folder):
    """What became of a suite: recordings without a difference, the jobs compared in them, and the other recordings."""
    found = list(compare_suite(folder))
    return {
        "equal": sum(sending > 0 and not different for _, sending, different in found),
        "jobs": sum(sending for _, sending, different in found if not different),
        "left_out": sum(not sending and not different for _, sending, different in found),
        "different": [name for name, _, different in found if different],
    }


if __name__ == "__main__":
    NOTE.write_text(json.dumps(noted(Path(sys.argv[1])), indent=1) + "\n")
