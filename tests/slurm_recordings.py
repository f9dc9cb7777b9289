"""The queues that `golden/record.py` recorded, as platforms and workloads."""

import csv
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.cluster.partitions import Demands
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.formats.open import load_platform
from hdeeprm_like.importers.machine import GB_PER_RAM_MB, write_platform
from hdeeprm_like.importers.slurm_conf import read_slurm_conf
from hdeeprm_like.types import Floats

FOLDER = Path(__file__).parent / "golden" / "slurm" / "queues"
EARLIER = FOLDER / "earlier"  # recordings of some of these queues that the model was not made with
NOT_YET = 0.001  # s; dates are told in ms, and a look in the ms in which a job ends sees its cores still completing
OWN_CLOCK = {"tick": 1.0025, "end_latency": 0.012}  # s: what the recorded logs show of Slurm's main thread and of nodes
RUNS = ("cores", "fairshare", "gpus", "linear", "shallow", "shapes", "tiers", "usual")


@dataclass(frozen=True)
class Recording:
    """What was submitted, when Slurm started it, and how long it waited when it was submitted again, each time.

    `cores` has the cores of each node that it got; of an earlier recording they are not known.
    """

    platform: Platform
    jobs: Workload
    start: Floats
    waits_again: list[Floats]
    cores: list[list[int]]
    epoch: float = 0.0


def recording(name: str, folder: Path, *, dates: bool = True, of: Path = FOLDER) -> Recording:
    """Return a recording; *folder* takes the platform's file.

    Args:
        dates: whether the platform tells when Slurm's threads looked, or only when they woke up first.
        of: the folder of recordings.
    """
    conf = of / name / "slurm.conf"
    report = Account(str(conf), form="Slurm")
    machine = read_slurm_conf(conf, report)
    path = folder / f"{name}.json"
    write_platform(machine, path, report)
    told = json.loads(path.read_text())
    told["slurm"]["qos"] = {"normal": 0, "high": 100}
    told["slurm"]["shares"] = {"physics": 2, "biology": 2, "chemistry": 1}
    clocks = json.loads((of / name / "clocks.json").read_text())
    told["slurm"]["scheduling"] |= {key: clocks[key] for key in clocks if dates or not key.endswith("_dates")}
    if not dates:
        told["slurm"]["scheduling"] |= OWN_CLOCK
    path.write_text(json.dumps(told))
    platform = load_platform(path)
    rows = rows_of(of / name / "jobs.csv")
    files = [*(FOLDER / name).glob("*.csv"), *(EARLIER / name).glob("*.csv")]
    again = [rows_of(file) for file in sorted(files) if file != of / name / "jobs.csv"]
    return Recording(
        platform,
        workload(rows, platform, machine, NOT_YET if dates else OWN_CLOCK["end_latency"]),
        np.array([float(row["start"]) for row in rows]),
        [np.array([float(row["start"]) - float(row["submit"]) for row in other]) for other in again],
        [cores_of(row["cpus_on_hosts"]) for row in rows if "cpus_on_hosts" in row],
        told["slurm"]["scheduling"]["epoch"],
    )


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the rows of a file, none where there is none."""
    if not path.exists():
        return []
    with path.open() as file:
        return list(csv.DictReader(file))


def cores_of(text: str) -> list[int]:
    """Return the cores on each node that Slurm writes as ``8(x2),4``."""
    words = (word.rstrip(")").partition("(x") for word in text.split(","))
    return [int(cores) for cores, _, times in words for _ in range(int(times or 1))]


def workload(rows: list[dict[str, str]], platform: Platform, machine: object, latency: float = NOT_YET) -> Workload:
    """Return the jobs of a recording; *latency* is for which their nodes are completing, in s."""
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
        delay=column("end") - column("start") + latency,
        memory=memory * GB_PER_RAM_MB * 1000 * (by_memory and not linear),
        capacity=platform.cores,
        user=np.array([users.index(row["user"]) for row in rows]),
        demands=Demands(
            partition=tuple(row["partition"] for row in rows),
            constraint=tuple(row["constraint"] for row in rows),
            account=tuple(row["account"] for row in rows),
            qos=tuple(row["qos"] for row in rows),
            nodes=nodes,
            task=task,
            exclusive=exclusive,
            gpus_per_node=column("gpus_per_node"),
            nice=column("nice"),
        ),
    )
