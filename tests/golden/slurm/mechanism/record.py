"""Records queues of a real Slurm under other parameters of its mechanism: ``record.py RUN ...``, as root, on Debian.

Each run is a cluster of its own, with daemons, ports and a folder of its own, so several can be recorded side by side.
Of each it writes ``RUN/slurm.conf``, ``RUN/jobcomp.txt.gz`` (what an administrator would have: whole seconds) and
``RUN/exact.json.gz`` (slurmctld's own log: when each job came, was started and by whom, ended and left its cores, and
when the two schedulers looked; s since the first job came). It needs slurm-wlm and munge; with slurmdbd's associations
also slurmdbd and mariadb-server.
"""

import gzip
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = Path(os.environ.get("SLURM_RECORD", "/tmp/slurm-mechanism"))
FIRST_PORT = int(os.environ.get("SLURM_RECORD_PORT", "19000"))  # each run takes 40 from here on
USERS = ("games", "mail", "news", "backup", "lp")
ACCOUNTS = {"games": "physics", "mail": "physics", "news": "biology", "backup": "biology", "lp": "chemistry"}

COMMON = """\
ClusterName={name}
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={shared}/munge.socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdLogFile={folder}/slurmd.%n.log
SlurmctldLogFile={folder}/slurmctld.log
SlurmctldDebug=debug2
DebugFlags=Backfill,Gang
LogTimeFormat=iso8601_ms
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobcomp.txt
"""
DATABASE = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=associations,limits,qos
AccountingStorageHost=localhost
AccountingStoragePort={database}
AccountingStoragePass={shared}/munge.socket
"""
NO_DATABASE = "AccountingStorageType=accounting_storage/none\n"
NODES = (
    "NodeName=n[1-{count}] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs={cpus} Sockets=1 "
    "CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory=4000"
)
USUAL = """\
SchedulerType=sched/backfill
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityMaxAge=0-00:10
PriorityWeightJobSize=500
"""
BATCH = "PartitionName=batch Nodes=ALL Default=YES MaxTime=60 State=UP\n"
URGENT = (
    "PartitionName=batch Nodes=ALL Default=YES MaxTime=60 PriorityTier=1 State=UP\n"
    "PartitionName=urgent Nodes=ALL MaxTime=60 PriorityTier=2 State=UP\n"
)
MEMORY = "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=100\n"
CORES = "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n"


COLUMNS = (
    "Cluster,Account,User,Partition,ParentName,Share,GrpJobs,GrpTRES,GrpSubmit,GrpWall,GrpTRESMins,MaxJobs,MaxTRES,"
    "MaxSubmit,MaxWall,QOS"
)
FEW = (  # what `add_users` sets: those of games may run three jobs at once, physics 16 cores
    ("account physics", "GrpTRES=cpu=16"),
    ("user games", "MaxJobs=3"),
)
HIGH = (("qos high", "Priority=100 Preempt=normal GraceTime=0"),)
TREE = (  # limits of each kind that bind some of the jobs of this run, over a tree of accounts
    ("account life", "GrpTRES=cpu=20"),
    ("account biology", "parent=life GrpJobs=4"),
    ("account chemistry", "parent=life MaxTRES=cpu=8 MaxJobs=2"),
    ("account physics", "GrpTRES=cpu=18 MaxSubmitJobs=30"),
    ("user games", "MaxJobs=4 GrpTRES=cpu=12"),
    ("user mail", "MaxTRES=cpu=4"),
    ("qos high", "Priority=100 MaxTRESPerUser=cpu=6 MaxJobsPerAccount=2"),
    ("qos normal", "MaxTRESPerAccount=cpu=24"),
)


def run(
    text,
    *,
    parameters="",
    nodes=4,
    cpus=8,
    count=130,
    mean=20,
    load=1.3,
    sizes="few",
    limits=(),
    hooks=(),
    drawn=(),
    sleep="exec sleep {seconds}",
):
    """Describe a run.

    Args:
        text: settings. parameters: SchedulerParameters. count: jobs. mean: s that they sleep on average.
        load: work of the jobs, in terms of the cores over the time in which they are submitted.
        sizes: the kind of jobs. limits: of associations and QOS; with any there is a slurmdbd.
        hooks: s that each of Slurm's scripts (``Prolog``, ``Epilog``) takes.
        drawn: options of sbatch and their weights; each job gets one of them.
        sleep: what a job does; a sleep goes on while a job is stopped, so those that may be suspended sleep in steps.
    """
    return {
        **{"text": text, "parameters": parameters, "nodes": nodes, "cpus": cpus, "count": count, "mean": mean},
        **{"load": load, "sizes": sizes, "limits": limits, "hooks": dict(hooks), "drawn": drawn, "sleep": sleep},
    }


RUNS = {
    "plain": run(MEMORY + USUAL + BATCH),
    "quick": run(CORES + USUAL + BATCH, parameters="bf_interval=2,sched_interval=5,bf_resolution=1", mean=6, count=180),
    "defer": run(CORES + USUAL + BATCH, parameters="defer,bf_interval=10,sched_interval=10", mean=15, count=150),
    "completewait": run(CORES + USUAL + "CompleteWait=8\n" + BATCH, parameters="bf_interval=5", mean=15, count=120),
    "shallow": run(
        CORES + USUAL + BATCH,
        parameters="bf_interval=10,bf_max_job_test=6,default_queue_depth=8,sched_max_job_start=2,sched_interval=20",
        mean=14,
        count=150,
    ),
    "whole": run(
        CORES + USUAL + BATCH.replace("State=UP", "OverSubscribe=EXCLUSIVE State=UP"),
        parameters="bf_interval=5,bf_resolution=1",
        nodes=8,
        cpus=4,
        mean=18,
        count=110,
        sizes="whole",
    ),
    "epilog": run(
        MEMORY + USUAL + BATCH, parameters="bf_interval=5,bf_resolution=1", mean=14, hooks={"Epilog": 3}, count=130
    ),
    "prolog": run(
        CORES + USUAL + BATCH,
        parameters="bf_interval=15",
        mean=20,
        hooks={"Prolog": 2, "Epilog": 5},
        nodes=6,
        count=150,
    ),
    "slow": run(
        CORES + USUAL + BATCH,
        parameters="sched_min_interval=4000000,batch_sched_delay=8,bf_interval=12,bf_window=60,bf_max_job_user=4",
        mean=16,
        count=130,
    ),
    "limits": run(
        CORES + USUAL + "PriorityWeightFairshare=20000\nPriorityCalcPeriod=1\nPriorityDecayHalfLife=0-00:05\n" + BATCH,
        parameters="bf_interval=10,bf_resolution=1",
        mean=16,
        count=130,
        limits=FEW,
    ),
    "kept_plain": run(MEMORY + USUAL + BATCH, parameters="bf_interval=5", mean=9, count=150),
    "kept_epilog": run(MEMORY + USUAL + BATCH, mean=25, hooks={"Epilog": 4}, count=120, nodes=5),
    "kept_small": run(CORES + USUAL + BATCH, parameters="bf_interval=3,sched_interval=8", mean=5, count=200, cpus=4),
    "requeue": run(
        CORES + "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n" + USUAL + URGENT,
        parameters="bf_interval=5,bf_resolution=1",
        mean=18,
        count=110,
        drawn=(("--partition=batch", 5), ("--partition=urgent", 1)),
    ),
    "by_qos": run(
        CORES + "PreemptType=preempt/qos\nPreemptMode=REQUEUE\nPreemptExemptTime=00:00:10\n" + USUAL + BATCH,
        parameters="bf_interval=5,bf_resolution=1",
        mean=18,
        count=110,
        limits=HIGH,
        drawn=(("--qos=normal", 5), ("--qos=high", 1)),
    ),
    "tree": run(
        CORES + USUAL + BATCH,
        parameters="bf_interval=5,bf_resolution=1",
        mean=14,
        count=160,
        limits=TREE,
        drawn=(("--qos=normal", 3), ("--qos=high", 1)),
    ),
}
SUSPEND = "PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG\n"
SHARED = URGENT.replace(" State", " OverSubscribe=FORCE:1 State")
IN_STEPS = "for i in $(seq {seconds}); do sleep .5; sleep .5; done"
URGENT_OF_SIX = (("--partition=batch", 5), ("--partition=urgent", 1))
RUNS |= {
    "suspend": run(
        CORES + SUSPEND + USUAL + SHARED,
        parameters="bf_interval=5,bf_resolution=1",
        mean=18,
        count=110,
        drawn=URGENT_OF_SIX,
        sleep=IN_STEPS,
    ),
    "suspend_memory": run(
        MEMORY.replace("=100", "=250") + SUSPEND + USUAL + SHARED,
        parameters="bf_interval=5,bf_resolution=1",
        mean=16,
        count=110,
        load=1.1,
        drawn=URGENT_OF_SIX,
        sleep=IN_STEPS,
    ),
}


def jobs_of(name):
    """Draw the jobs of a run: options of sbatch, s to sleep, and when each is submitted."""
    told, draw = RUNS[name], random.Random(f"mechanism {name}")
    cores, jobs, work = told["nodes"] * told["cpus"], [], 0.0
    for _ in range(told["count"]):
        seconds = int(min(1 + draw.expovariate(1 / told["mean"]), 4 * told["mean"]))
        limit = max(1, round(seconds / 60 * draw.choice([1, 2, 4, 8]) + 0.5))
        user = draw.choices(USERS, [5, 1, 3, 2, 2])[0]
        options = [f"--uid={user}", f"--time={limit}"]
        if told["sizes"] == "whole":
            nodes = draw.choices([1, 2, 3, 5], [8, 5, 3, 1])[0]
            options.append(f"--nodes={nodes}")
            size = nodes * told["cpus"]
        else:
            size = min(draw.choices([1, 2, 4, 8, 12, 20], [6, 5, 6, 4, 2, 1])[0], cores)
            options.append(f"--ntasks={size}")
            if "Memory" in told["text"] and draw.random() < 0.3:
                options.append(f"--mem-per-cpu={draw.choice([50, 200, 400])}")
        if told["limits"]:
            options.append(f"--account={ACCOUNTS[user]}")
        if told["drawn"]:
            options.append(draw.choices(*zip(*told["drawn"], strict=True))[0])
        work += size * seconds
        jobs.append({"options": options, "seconds": seconds})
    span = work / cores / told["load"]
    for job, at in zip(jobs, sorted(draw.uniform(0.0, span) for _ in jobs), strict=True):
        job["submit"] = at
    return jobs


def start(folder, *command, **environment):
    """Start a daemon in a group of its own."""
    with (folder / f"{Path(command[0]).name}.out").open("ab") as out:
        return subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=os.environ | environment, start_new_session=True,
        )  # fmt: skip


def call(*command, check=True, **environment):
    """Run a command to its end; return what it prints."""
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, check=False)
    if check and done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr or done.stdout}")
    return done.stdout


def start_munge(shared):
    """Start munge with a key of its own."""
    (shared / "munge.key").write_bytes(os.urandom(128))
    (shared / "munge.key").chmod(0o400)
    files = (("key-file", "key"), ("socket", "socket"), ("pid-file", "pid"), ("log-file", "log"), ("seed-file", "seed"))
    found = start(
        shared, "munged", "--foreground", "--force", *(f"--{name}={shared}/munge.{end}" for name, end in files)
    )
    while not (shared / "munge.socket").exists():
        time.sleep(0.1)
    return found


def start_database(shared):
    """Start a MariaDB and slurmdbd; return both."""
    data, socket = shared / "database", shared / "database.socket"
    call("mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal",
         "--user=root")  # fmt: skip
    found = [
        start(shared, "mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={socket}",
              f"--port={FIRST_PORT - 1}", "--bind-address=127.0.0.1", "--user=root")
    ]  # fmt: skip
    while not socket.exists():
        time.sleep(0.2)
    conf = shared / "slurmdbd.conf"
    conf.write_text(
        f"AuthType=auth/munge\nAuthInfo=socket={shared}/munge.socket\nDbdHost=localhost\nDbdPort={FIRST_PORT - 2}\n"
        f"SlurmUser=root\nStorageType=accounting_storage/mysql\nStorageUser=root\nStorageLoc=slurm\n"
        f"LogFile={shared}/slurmdbd.log\nPidFile={shared}/slurmdbd.pid\n"
        f"StorageHost=127.0.0.1\nStoragePort={FIRST_PORT - 1}\n"
    )
    conf.chmod(0o600)
    found.append(start(shared, "slurmdbd", "-D", SLURM_CONF=str(shared / "slurm.conf")))
    time.sleep(5)
    return found


def add_users(name, limits, environment):
    """Add the accounts, users and QOS of a run to the database, with their limits."""
    call("sacctmgr", "-i", "add", "cluster", name, check=False, **environment)
    of = dict(limits)
    for who in of:
        kind, own = who.split()
        if kind == "qos" and own != "normal":
            call("sacctmgr", "-i", "add", "qos", own, **environment)
        if kind == "qos":
            call("sacctmgr", "-i", "modify", "qos", own, "set", *of[who].split(), **environment)
    accounts = [who.split()[1] for who in of if who.startswith("account")]
    for account in dict.fromkeys((*accounts, *ACCOUNTS.values())):
        more = of.get(f"account {account}", "").split()
        call("sacctmgr", "-i", "add", "account", account, f"cluster={name}", "fairshare=1", *more, **environment)
    names = ",".join(who.split()[1] for who in of if who.startswith("qos") and who != "qos normal")
    for user, account in ACCOUNTS.items():
        more = [*of.get(f"user {user}", "").split(), *([f"qos=normal,{names}", "defaultqos=normal"] if names else [])]
        call("sacctmgr", "-i", "add", "user", user, f"account={account}", f"cluster={name}", *more, **environment)


def record(name):
    """Record a run."""
    told, shared, folder = RUNS[name], FOLDER, FOLDER / name
    port = FIRST_PORT + 40 * list(RUNS).index(name)
    (folder / "state").mkdir(parents=True)
    for n in range(1, told["nodes"] + 1):
        (folder / "spool" / f"n{n}").mkdir(parents=True)
    folder.chmod(0o777)
    own = told["text"]
    if told["parameters"]:
        own = f"SchedulerParameters={told['parameters']}\n" + own
    for hook, seconds in told["hooks"].items():
        script = folder / hook.lower()
        script.write_text(f"#!/bin/sh\nsleep {seconds}\n")
        script.chmod(0o755)
        own = f"{hook}={script}\n" + own
    nodes = NODES.format(count=told["nodes"], first=port + 1, last=port + told["nodes"], cpus=told["cpus"])
    settings, partition = own.split("PartitionName=", 1)
    own = f"{settings}{nodes}\nPartitionName={partition}"
    common = COMMON.format(name=name, port=port, shared=shared, folder=folder)
    lines = (DATABASE if told["limits"] else NO_DATABASE).splitlines(keepends=True)
    own, more = "".join(lines[:2]) + own, lines[2:]
    common += "".join(more).format(database=FIRST_PORT - 2, shared=shared)
    conf = folder / "slurm.conf"
    conf.write_text(common + own)
    environment = {"SLURM_CONF": str(conf)}
    if told["limits"]:
        (shared / "slurm.conf").write_text(conf.read_text())
        databases = start_database(shared)
        add_users(name, told["limits"], environment)
        for kind in ("assoc", "qos"):
            of = [f"cluster={name}", f"format={COLUMNS}"] if kind == "assoc" else []
            (folder / f"{kind}.txt").write_text(call("sacctmgr", "-P", "show", kind, *of, **environment))
    daemons = [start(folder, "slurmctld", "-D", "-f", conf)]
    while "is UP" not in call("scontrol", "ping", check=False, **environment):
        time.sleep(0.5)
    daemons += [start(folder, "slurmd", "-D", "-f", conf, "-N", f"n{n}") for n in range(1, told["nodes"] + 1)]
    while call("sinfo", "-h", "-o", "%D %t", check=False, **environment).split() != [str(told["nodes"]), "idle"]:
        time.sleep(0.5)
    time.sleep(10)
    try:
        jobs, begin = jobs_of(name), time.time()
        for job in jobs:
            time.sleep(max(0.0, begin + job["submit"] - time.time()))
            words = ("--parsable", "--chdir=/tmp", "--output=/dev/null", *job["options"])
            work = told["sleep"].format(seconds=job["seconds"])
            job["job"] = call("sbatch", *words, f"--wrap={work}", **environment).strip()
        while call("squeue", "-h", **environment).strip():
            time.sleep(2)
        time.sleep(3)
        write(name, jobs, folder, own.replace(f"{folder}/", "/etc/slurm/"), told)
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait()
        if told["limits"]:
            for daemon in reversed(databases):
                daemon.terminate()


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


def write(name, jobs, folder, own, told):
    """Write what became of the jobs."""
    text = (folder / "slurmctld.log").read_text(errors="replace")
    lines = [(datetime.fromisoformat(at).timestamp(), what) for at, what in re.findall(r"^\[(\S+)\] (.*)$", text, re.M)]
    begin = next(date for date, what in lines if EVENTS["submit"].search(what))
    found = {job["job"]: {"seconds": job["seconds"], "options": job["options"]} for job in jobs}
    looks = {key: [] for key in LOOKS} | {"full_dates": []}
    for date, what in lines:
        date = round(date - begin, 3)
        for key, words in LOOKS.items():
            if words in what and date >= 0.0:
                looks[key].append(date)
                if "full queue" in what:
                    looks["full_dates"].append(date)
        for key, pattern in EVENTS.items():
            if match := pattern.search(what):
                row = found[match[1]]
                if key in ("main", "backfill"):
                    row |= {"start": date, "by": key}
                elif key == "preempted":  # it starts again
                    row.setdefault("preempted", []).append([row.pop("start"), date])
                    row.pop("free", None)
                elif key in ("suspended", "resumed"):
                    row.setdefault(key, []).append(date)
                elif key not in row or key == "free":  # of a job on several nodes the last one counts
                    row[key] = date
    target = HERE / name
    target.mkdir(exist_ok=True)
    (target / "slurm.conf").write_text(own)
    with gzip.GzipFile(target / "jobcomp.txt.gz", "wb", mtime=0) as packed:
        packed.write((folder / "jobcomp.txt").read_bytes())
    for kind in ("assoc", "qos"):
        if (folder / f"{kind}.txt").exists():
            (target / f"{kind}.txt").write_bytes((folder / f"{kind}.txt").read_bytes())
    rows = [found[job["job"]] | {"job": int(job["job"])} for job in jobs]
    exact = {"epoch": round(begin, 3), "hooks": told["hooks"], **looks, "jobs": rows}
    with gzip.GzipFile(target / "exact.json.gz", "wb", mtime=0) as packed:
        packed.write(json.dumps(exact, separators=(",", ":")).encode())


if __name__ == "__main__":
    FOLDER.mkdir(parents=True)
    FOLDER.chmod(0o755)
    munge = start_munge(FOLDER)
    try:
        with ThreadPoolExecutor(len(RUNS)) as threads:
            for future in [threads.submit(record, name) for name in sys.argv[1:]]:
                future.result()
    finally:
        os.killpg(munge.pid, signal.SIGTERM)
