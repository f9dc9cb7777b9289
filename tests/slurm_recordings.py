"""The queues that `golden/slurm/queues/record.py` recorded, as platforms and workloads."""

import csv
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.partitions import Demands
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.formats.open import load_platform
from hdeeprm_like.importers.machine import GB_PER_RAM_MB, write_platform
from hdeeprm_like.importers.report import Report
from hdeeprm_like.importers.slurm_conf import read_slurm_conf
from hdeeprm_like.types import Floats

FOLDER = Path(__file__).parent / "golden" / "slurm" / "queues"
RUNS = ("cores", "fairshare", "linear", "shallow", "shapes", "usual")


@dataclass(frozen=True)
class Recording:
    """What was submitted, and when Slurm started it."""

    platform: Platform
    jobs: Workload
    start: Floats
    epoch: float = 0.0


def recording(name: str, folder: Path) -> Recording:
    """Return a recording; *folder* takes the platform's file."""
    conf = FOLDER / name / "slurm.conf"
    report = Report(str(conf), "Slurm")
    machine = read_slurm_conf(conf, report)
    path = folder / f"{name}.json"
    write_platform(machine, path, report)
    told = json.loads(path.read_text())
    told["slurm"]["qos"] = {"normal": 0, "high": 100}
    told["slurm"]["shares"] = {"physics": 2, "biology": 2, "chemistry": 1}
    told["slurm"]["scheduling"] |= json.loads((FOLDER / name / "clocks.json").read_text())
    path.write_text(json.dumps(told))
    platform = load_platform(path)
    with (FOLDER / name / "jobs.csv").open() as file:
        rows = list(csv.DictReader(file))
    return Recording(
        platform,
        workload(rows, platform, machine),
        np.array([float(row["start"]) for row in rows]),
        told["slurm"]["scheduling"]["epoch"],
    )


def workload(rows: list[dict[str, str]], platform: Platform, machine: object) -> Workload:
    """Return the jobs of a recording."""
    count = len(rows)

    def column(name: str, otherwise: float = 0.0) -> Floats:
        return np.array([float(row[name] or otherwise) for row in rows])

    settings = {one.name: one.settings for one in machine.partitions}  # type: ignore[attr-defined]
    linear = machine.scheduling.get("SelectType") == "select/linear"  # type: ignore[attr-defined]
    nodes, task = column("nodes").astype(int), np.maximum(column("cpus_per_task"), 1).astype(int)
    size = np.maximum(column("tasks").astype(int), np.maximum(nodes, 1)) * task
    by_memory = "Memory" in str(machine.scheduling.get("SelectTypeParameters"))  # type: ignore[attr-defined]
    memory = np.array(
        [float(row["memory_per_cpu"] or settings[row["partition"]].get("DefMemPerCPU") or 0.0) for row in rows]
    )
    users = sorted({row["user"] for row in rows})
    exclusive = column("exclusive") > 0
    return Workload(
        ids=tuple(f"w0!{number:04}" for number in range(count)),
        profiles=("recorded",) * count,
        submit=column("submit"),
        size=size,
        requested_time=column("limit") * 60.0,
        requested_ops=column("limit") * 60e9,
        ops=np.zeros(count),
        delay=column("end") - column("start"),
        memory=memory * GB_PER_RAM_MB * 1000 * (by_memory and not linear),
        bandwidth=np.zeros(count),
        walltime=np.full(count, np.inf),
        capacity=platform.cores,
        gpus=column("gpus_per_node") * np.maximum(nodes, 1) / size,
        user=np.array([users.index(row["user"]) for row in rows]),
        demands=Demands(
            partition=tuple(row["partition"] for row in rows),
            constraint=tuple(row["constraint"] for row in rows),
            account=tuple(row["account"] for row in rows),
            qos=tuple(row["qos"] for row in rows),
            nodes=nodes,
            task=task,
            exclusive=exclusive,
            nice=column("nice"),
        ),
    )
