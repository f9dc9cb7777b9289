"""Records what other programs do, for the tests to compare with:

    record.py mpi PEER                        when the ranks of MPI traces end in SimGrid 3.32
    record.py slurm [--anew] [--as NAME] FOLDER ...   what a real Slurm does with recorded queues

PEER is the program made of ``mpi/peer.cpp``; it writes ``mpi/cases.json``. FOLDER is a recording below ``slurm``: its
jobs are submitted again, on a Slurm of its configuration with daemons, ports and a folder of its own, and ``again`` of
the folder tells when they came and started, or NAME in its place. With ``--anew`` the recording itself is written. A
new one begins as a configuration and an ``exact.json.gz`` of jobs, with their ``options`` of sbatch, the ``seconds``
that they sleep and the date ``submit``, s since the first; or as a ``jobs.csv``. That needs root, slurm-wlm and munge,
and slurmdbd and mariadb-server for jobs with accounts, which are those of ``slurm/queues`` if the folder has none.
"""

import argparse
import csv
import gzip
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "slurm"))

from real_slurm import RealSlurm, free_ports, wait_until  # noqa: E402

MPI, QUEUES = HERE / "mpi", HERE / "slurm" / "queues"
TYPES = {0: 8, 1: 4, 2: 1, 6: 1, 26: 16}
GROUPS = [
    (2, ["n0", "n1"]),
    (3, ["slow", "quick", "far"]),
    (4, ["n0", "n1"]),
    (4, ["n2"]),
    (5, ["n0", "n1", "n10", "n11", "n12"]),
    (8, ["n0", "n1", "n2", "slow"]),
    (17, ["n0", "n1", "n2"]),
]


def collectives(ranks):
    """Return each collective in some forms."""
    grown = " ".join(str(1000 * (rank + 1)) for rank in range(ranks))
    even = " ".join(["1000"] * ranks)
    last = ranks - 1
    return [
        "barrier",
        "bcast 1000 0",
        f"bcast 1e6 {last} 0",
        "reduce 1e5 1e8",
        f"reduce 1e5 1e7 {last} 1",
        "allreduce 1e5 1e8",
        "allreduce 1e6 0 0",
        "alltoall 10 10",
        "alltoall 500 500",
        "alltoall 10000 10000 26 26",
        "alltoall 40000 50000 26 26",
        f"gather 1e5 1e5 {last} 0 0",
        f"scatter 1e5 1e5 {last} 0 0",
        "allgather 1e5 1e5 0 0",
        f"gatherv 1000 {grown} {last} 0 0",
        f"allgatherv 1000 {grown}",
        f"allgatherv 1000 {even} 0 0",
        f"scatterv {grown} 17000 {last}",
        f"alltoallv 1000 {even} 1000 {even} 1 1",
        f"reducescatter {even} 1e6 0",
    ]


def random_traces(dice, ranks):
    """Return traces of messages that fit together, with collectives between them."""
    traces = [["init"] for _ in range(ranks)]
    begun = [[] for _ in range(ranks)]
    for tag in range(dice.randint(4, 14)):
        kind, type_ = dice.random(), dice.choice(list(TYPES))
        count = int(10 ** dice.uniform(0, 6.5)) if dice.random() < 0.9 else (2**31 - 1) // TYPES[type_]
        rank = dice.randrange(ranks)
        if kind < 0.15:
            traces[rank].append(f"compute {10 ** dice.uniform(6, 9):g}")
        elif kind < 0.5:
            a, b = dice.sample(range(ranks), 2)
            for me, other, verb in ((a, b, "send"), (b, a, "recv")):
                later = dice.random() < 0.5
                traces[me].append(f"{'i' * later}{verb} {other} {tag} {count} {type_}")
                if later:
                    begun[me].append(f"{a} {b} {tag}")
        elif kind < 0.65 and begun[rank]:
            traces[rank].append(f"wait {begun[rank].pop(0)}")
        elif kind < 0.7:
            traces[rank].append("waitall")
            begun[rank].clear()
        else:
            together = dice.choice(["barrier", f"bcast {count} {rank} {type_}", f"allreduce {count} 1e7 {type_}"])
            for trace in traces:
                trace.append(together)
    return traces


def mpi_cases():
    """Yield the hosts and the traces of each case."""
    for ranks, hosts in GROUPS:
        for line in collectives(ranks):
            yield hosts, [["init", f"compute {(rank + 1) * 1e7:g}", line, "finalize"] for rank in range(ranks)]
    dice = random.Random(5)
    for _ in range(60):
        ranks, hosts = dice.choice(GROUPS)
        yield hosts, random_traces(dice, ranks)


def ends_of(peer, hosts, traces):
    """Return when each rank of some traces ends in SimGrid, or None if the peer fails."""
    with tempfile.TemporaryDirectory() as folder:
        names = [f"rank{rank}.txt" for rank in range(len(traces))]
        for rank, trace in enumerate(traces):
            Path(folder, names[rank]).write_text("".join(f"{rank} {line}\n" for line in trace))
        index = Path(folder, "traces.txt")
        index.write_text("".join(f"{name}\n" for name in names))
        command = [peer, MPI / "platform.xml", index, ",".join(hosts), "--cfg=host/model:ptask_L07"]
        done = subprocess.run([*command, "--log=root.thresh:critical"], capture_output=True, text=True, check=False)
    ends = dict(line.split() for line in done.stdout.splitlines())
    return [float(ends[str(rank)]) for rank in range(len(traces))] if len(ends) == len(traces) else None


def record_mpi(options):
    """Write the cases with what SimGrid does."""
    recorded = []
    for hosts, traces in mpi_cases():
        recorded.append({"hosts": hosts, "traces": traces, "ends": ends_of(options.peer, hosts, traces)})
    lines = ",\n".join(json.dumps(case) for case in recorded)
    (MPI / "cases.json").write_text(f"[\n{lines}\n]\n")


# --- Slurm

OPTIONS = {  # of sbatch, by the columns of jobs.csv
    **{"user": "uid", "account": "account", "qos": "qos", "partition": "partition", "nice": "nice", "tasks": "ntasks"},
    **{"nodes": "nodes", "cpus_per_task": "cpus-per-task", "memory_per_cpu": "mem-per-cpu", "limit": "time"},
    **{"gpus_per_node": "gpus-per-node", "constraint": "constraint"},
}
AGAIN = ("job", "submit", "start", "end", "by")
IN_STEPS = "for i in $(seq {}); do sleep .5; sleep .5; done"  # a job that is suspended stops between two of them
EVENTS = {
    "submit": re.compile(r"_slurm_rpc_submit_batch_job: JobId=(\d+)"),
    "main": re.compile(r"sched: Allocate JobId=(\d+)"),
    "backfill": re.compile(r"backfill: _start_job: Started JobId=(\d+)"),
    "end": re.compile(r"_job_complete: JobId=(\d+) done"),
    "free": re.compile(r"_slurm_rpc_epilog_complete: JobId=(\d+)"),
    "preempted": re.compile(r"preempted JobId=(\d+) has been"),
    "suspended": re.compile(r"gang: suspending JobId=(\d+)"),
    "resumed": re.compile(r"gang: resuming JobId=(\d+)"),
}
LOOKS = {"main_dates": "sched: Running job scheduler", "backfill_dates": "_attempt_backfill: beginning"}
DATABASE = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost=localhost
DbdPort={port}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageUser=root
StorageLoc=slurm
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
StorageHost=127.0.0.1
StoragePort={stored}
"""
STORES = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort={port}
AccountingStoragePass=/etc/slurm/munge.socket
"""


class Recorded(RealSlurm):
    """A Slurm of a recording, with slurmdbd if it has associations, and the scripts that its configuration names."""

    def __init__(self, recording, jobs):
        self.recording, self.jobs, self.port = recording, jobs, 0
        own = (recording / "slurm.conf").read_text()
        more = "SlurmctldDebug=debug2\nDebugFlags=Backfill,Gang\nMaxArraySize=2001\n"
        if any("--account=" in option for job in jobs for option in job["options"]):
            self.port = free_ports(2)
            own = re.sub("AccountingStorageType=.*\n", "", own)
            more += STORES.format(port=self.port)
        if "PriorityType=" not in own:
            more += "SchedulerType=sched/backfill\nPriorityType=priority/multifactor\n"
        if "Gres=gpu" in own:
            more += "GresTypes=gpu\n"
        super().__init__(own=more + own, name=recording.name)
        for line in re.findall(r"NodeName=(\S+) .*Gres=gpu:(\d+)", own):  # files, which Slurm counts
            with (self.folder / "gres.conf").open("a") as gres:
                gres.write("NodeName={0} Name=gpu File={2}/gpu[1-{1}]\n".format(*line, self.folder))
            for number in range(1, int(line[1]) + 1):
                (self.folder / f"gpu{number}").touch()

    def start_controller(self):
        """Start the database before it, if there is one."""
        if self.port:
            self.start_database()
        super().start_controller()

    def start_database(self):
        """Start MariaDB and slurmdbd, and tell it of accounts, users and QOS with their limits."""
        data, stored = f"--datadir={self.folder}/database", self.port + 1
        self.run("mariadb-install-db", "--no-defaults", data, "--auth-root-authentication-method=normal", "--user=root")
        place = (f"--socket={self.folder}/database.socket", f"--port={stored}", "--bind-address=127.0.0.1")
        self.start("mariadbd", "--no-defaults", data, *place, "--user=root")
        wait_until(lambda: (self.folder / "database.socket").exists(), "mariadbd")
        conf = self.folder / "slurmdbd.conf"
        conf.write_text(DATABASE.format(folder=self.folder, port=self.port, stored=stored))
        conf.chmod(0o600)
        self.start("slurmdbd", "-D")
        wait_until(lambda: "Cluster" in self.run("sacctmgr", "show", "cluster", check=False), "slurmdbd")
        self.run("sacctmgr", "-i", "add", "cluster", self.name)
        for row in self.listed("qos"):
            if row["Name"] != "normal":
                self.run("sacctmgr", "-i", "add", "qos", row["Name"])
            limits = limits_of(row, "Priority", "Preempt")
            self.run("sacctmgr", "-i", "modify", "qos", row["Name"], "set", *limits)
        for row in self.listed("assoc"):
            kind = "User" if row["User"] else "Account"
            own = [f"account={row['Account']}", f"qos={row['QOS']}", "defaultqos=normal"] if row["User"] else []
            own += [f"parent={row['ParentName']}"] if row.get("ParentName") else []
            if row[kind] != "root":
                own += [f"cluster={self.name}", f"fairshare={row['Share']}", *limits_of(row)]
                self.run("sacctmgr", "-i", "add", kind.lower(), row[kind], *own)

    def listed(self, kind):
        """Return what ``sacctmgr -P show`` listed of a kind where the recording was made."""
        own = self.recording / f"{kind}.txt"
        return csv.DictReader((own if own.exists() else QUEUES / own.name).open(), delimiter="|")


def limits_of(row, *more):
    """Return what an association or a QOS has that is not usual, as ``sacctmgr`` takes it."""
    return [f"{name}={row[name]}" for name in row if row[name] and (name in more or name.startswith(("Grp", "Max")))]


def jobs_of(recording):
    """Return the jobs of a recording: options of sbatch, s to sleep, and when each is submitted."""
    path = recording / "jobs.csv"
    if not path.exists():
        return exact(recording)["jobs"]
    jobs = []
    for row in csv.DictReader(path.open()):
        options = [f"--{name}={row[key]}" for key, name in OPTIONS.items() if row.get(key, "") not in ("", "0")]
        options += ["--exclusive"] * (row["exclusive"] == "1")
        seconds = int(float(row["end"]) - float(row["start"]))
        jobs.append({"options": options, "seconds": seconds, "submit": float(row["submit"]), "row": row})
    return jobs


def exact(recording):
    """Return what is known of a recording to the ms."""
    path = recording / "exact.json.gz"
    return json.loads(gzip.decompress(path.read_bytes())) if path.exists() else {}


def record_slurm(options):
    """Record several queues side by side; they wait nearly all of the time."""
    queues = [
        (Recorded(folder, jobs_of(folder)), options) for folder in options.folders
    ]  # so that each has other ports
    with ThreadPoolExecutor(len(queues)) as threads:
        for future in [threads.submit(record_queue, *queue) for queue in queues]:
            future.result()


def record_queue(slurm, options):
    """Submit the jobs of a recording once more, and write what became of them."""
    recording, jobs, hooks = slurm.recording, slurm.jobs, exact(slurm.recording).get("hooks", {})
    for hook, seconds in hooks.items():
        script = slurm.folder / hook.lower()
        script.write_text(f"#!/bin/sh\nsleep {seconds}\n")
        script.chmod(0o755)
    sleep = IN_STEPS if "SUSPEND" in slurm.configuration.read_text() else "exec sleep {}"
    slurm.folder.chmod(0o777)  # jobs of several users write here
    with slurm:
        time.sleep(10)
        begin = time.time()
        for job in jobs:
            time.sleep(max(0.0, begin + job["submit"] - time.time()))
            words = ("--parsable", "--chdir=/tmp", f"--output={slurm.folder}/%j.out", *job["options"])
            work = f"echo $SLURM_JOB_CPUS_PER_NODE; {sleep.format(job['seconds'])}"
            job["job"] = slurm.run("sbatch", *words, "--wrap", work).strip()
        while slurm.run("squeue", "-h").strip():
            time.sleep(2)
        time.sleep(5)
        told = told_by(slurm, jobs)
        for job, row in zip(jobs, told["jobs"], strict=True):
            row["cpus_on_hosts"] = (slurm.folder / f"{job['job']}.out").read_text().strip()
        packed = gzip.compress((slurm.folder / "jobs.txt").read_bytes(), mtime=0)
    write(recording, options, jobs, told | {"hooks": hooks}, packed)


def told_by(slurm, jobs):
    """Return what slurmctld's log tells, in s since the first job came."""
    text = (slurm.folder / "slurmctld.log").read_text(errors="replace")
    lines = [(datetime.fromisoformat(at).timestamp(), what) for at, what in re.findall(r"^\[(\S+)\] (.*)$", text, re.M)]
    begin = next(date for date, what in lines if EVENTS["submit"].search(what))
    found = {job["job"]: {"seconds": job["seconds"], "options": job["options"]} for job in jobs}
    looks = {key: [] for key in (*LOOKS, "full_dates", "calc_dates")}
    for date, what in lines:
        date = round(date - begin, 3)
        for key, words in LOOKS.items():
            if words in what and date >= 0.0:
                looks[key].append(date)
                if "full queue" in what:
                    looks["full_dates"].append(date)
        if "_read_last_decay_ran" in what:
            looks["calc_dates"].append(date)
        for key, pattern in EVENTS.items():
            if match := pattern.search(what):
                note(found[match[1]], key, date)
    return {"epoch": round(begin, 3), **looks, "jobs": [row | {"job": int(job)} for job, row in found.items()]}


def note(row, key, date):
    """Note what happens to a job."""
    if key in ("main", "backfill"):
        row |= {"start": date, "by": key}
    elif key == "preempted":  # it starts again
        row.setdefault("preempted", []).append([row.pop("start"), date])
        row.pop("free", None)
    elif key in ("suspended", "resumed"):
        row.setdefault(key, []).append(date)
    elif key not in row or key == "free":  # of a job on several nodes the last one counts
        row[key] = date


def write(recording, options, jobs, told, packed):
    """Write a recording, or that its jobs were submitted once more, in the form of its folder."""
    if not (recording / "jobs.csv").exists():
        if not options.anew:
            again = [[row["submit"], row["start"]] for row in told["jobs"]]
            write_packed(recording / f"{options.name}.json.gz", again)
            return
        for row in told["jobs"]:
            row.pop("cpus_on_hosts")
        told.pop("calc_dates")
        write_packed(recording / "exact.json.gz", told)
        (recording / "jobcomp.txt.gz").write_bytes(packed)
        return
    rows = [job["row"] | row for job, row in zip(jobs, told["jobs"], strict=True)]
    if not options.anew:
        write_table(recording / f"{options.name}.csv", AGAIN, rows)
        return
    write_table(recording / "jobs.csv", list(jobs[0]["row"]), rows)
    period = re.search(r"PriorityCalcPeriod=(\d+)", (recording / "slurm.conf").read_text())
    main, backfill = told["main_dates"], told["backfill_dates"]
    clocks = {"epoch": told["epoch"], "main_phase": round(main[0] % 1.0, 3), "backfill_phase": backfill[0]}
    clocks |= {"first_full": told["full_dates"][0]}
    if told["calc_dates"]:  # of slurmdbd alone
        clocks |= {"first_calc": round(told["calc_dates"][0] + 60.0 * int(period[1] if period else 5), 3)}
    clocks |= {"main_dates": main, "backfill_dates": backfill}
    (recording / "clocks.json").write_text(json.dumps(clocks) + "\n")


def write_packed(path, content):
    """Write packed JSON that is the same for the same content."""
    path.write_bytes(gzip.compress(json.dumps(content, separators=(",", ":")).encode(), mtime=0))


def write_table(path, columns, rows):
    """Write some columns of the jobs."""
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, columns, lineterminator="\n", extrasaction="ignore")
        table.writeheader()
        table.writerows(rows)


def main():
    """Record what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    simulators = parser.add_subparsers(required=True)
    mpi = simulators.add_parser("mpi")
    mpi.add_argument("peer")
    mpi.set_defaults(record=record_mpi)
    slurm = simulators.add_parser("slurm")
    slurm.add_argument("--anew", action="store_true")
    slurm.add_argument("--as", dest="name", default="again")
    slurm.add_argument("folders", nargs="+", type=Path)
    slurm.set_defaults(record=record_slurm)
    options = parser.parse_args()
    options.record(options)


if __name__ == "__main__":
    main()
