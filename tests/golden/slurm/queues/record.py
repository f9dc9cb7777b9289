"""Records what a real Slurm does with queues: ``record.py [--again | --earlier K] [RUN ...]``, as root, on Debian.

It starts munge, a MariaDB, slurmdbd, slurmctld and a slurmd for each imagined node in a temporary folder, with sockets
and ports of its own, submits the jobs of each run and writes ``RUN/slurm.conf``, ``RUN/jobs.csv`` and
``RUN/clocks.json`` beside this file; with ``--again`` only ``RUN/again.csv``, when the same jobs came, started and
ended this time; with ``--earlier K`` ``earlier/RUN/again_K.csv``, the same under the configuration of the earlier
recordings. The jobs sleep; what Slurm did with them is real. It needs slurm-wlm, slurmdbd, munge, mariadb-server.
"""

import argparse
import csv
import json
import os
import random
import re
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from threading import Lock

HERE = Path(__file__).parent
OPTIONS = argparse.ArgumentParser()
OPTIONS.add_argument("--again", action="store_true")
OPTIONS.add_argument("--earlier", metavar="K", type=int)
OPTIONS.add_argument("runs", nargs="*")
CHOSEN = OPTIONS.parse_args()
FOLDER = Path("/tmp/slurm-record")
ONE_BY_ONE = Lock()
USERS = {"games": "physics", "mail": "physics", "news": "biology", "backup": "biology", "lp": "chemistry"}
DATABASE_PORT, CONTROL_PORT = 17980, 17900
SUBMITTED = "_slurm_rpc_submit_batch_job"  # in a line of slurmctld's log
LOAD = 1.6  # of the cores, while jobs are submitted
SPANS = {"cores": 150, "linear": 150, "fairshare": 300, "tiers": 180, "gpus": 180}  # s in which they are
USUAL_SPAN = 240
SECONDS = {"cores": 14, "linear": 14, "tiers": 25, "gpus": 25}  # that jobs run on average
USUAL_SECONDS = 40

COMMON = """\
ClusterName={name}
SlurmctldHost=localhost
SlurmctldPort={control}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
SlurmUser=root
StateSaveLocation={folder}/{name}/state
SlurmdSpoolDir={folder}/{name}/spool/%n
SlurmdPidFile={folder}/{name}/slurmd.%n.pid
SlurmctldPidFile={folder}/{name}/slurmctld.pid
SlurmdLogFile={folder}/{name}/slurmd.%n.log
SlurmctldLogFile={folder}/{name}/slurmctld.log
SlurmctldDebug=debug
DebugFlags=Backfill
LogTimeFormat=iso8601_ms
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
PriorityType=priority/multifactor
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort={database}
AccountingStoragePass={folder}/munge.sock
MaxArraySize=2001
GresTypes=gpu
"""

NODES = (
    "NodeName={names} Port={ports} NodeHostname=localhost NodeAddr=127.0.0.1 "
    "CPUs={cores} Sockets=1 CoresPerSocket={cores} ThreadsPerCore=1 RealMemory={memory}"
)

RUNS = {
    "cores": (
        """SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=5,bf_resolution=1,bf_window=120,bf_max_job_test=200,bf_continue
PriorityWeightAge=1000
PriorityMaxAge=0-00:10
PriorityWeightJobSize=500
PriorityWeightQOS=300
DefMemPerCPU=100
PartitionName=batch Nodes=n[1-6] Default=YES MaxTime=60""",
        [("n", 6, 8, 4000, "")],
    ),
    "fairshare": (
        """SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=30,bf_resolution=10,bf_window=60,bf_max_job_test=100,bf_continue
PriorityWeightAge=100
PriorityMaxAge=0-00:10
PriorityWeightFairshare=100000
PriorityDecayHalfLife=0-00:05
PriorityCalcPeriod=1
PartitionName=batch Nodes=n[1-5] Default=YES MaxTime=60""",
        [("n", 5, 8, 4000, "")],
    ),
    "linear": (
        """SelectType=select/linear
SchedulerParameters=bf_interval=10,bf_resolution=1,bf_window=60,bf_max_job_test=100
PriorityWeightAge=2000
PriorityMaxAge=0-00:10
PriorityWeightJobSize=1000
PriorityFavorSmall=YES
PartitionName=batch Nodes=n[1-8] Default=YES MaxTime=60""",
        [("n", 8, 4, 4000, "")],
    ),
    "shallow": (
        """SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=30,bf_resolution=30,bf_window=60,bf_max_job_test=12,bf_max_job_user=3,default_queue_depth=20
PriorityWeightAge=500
PriorityMaxAge=0-00:05
PriorityWeightJobSize=2000
PartitionName=batch Nodes=n[1-6] Default=YES MaxTime=60""",
        [("n", 6, 8, 4000, "")],
    ),
    "usual": (
        """SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityWeightAge=1000
PriorityMaxAge=0-00:10
PriorityWeightJobSize=500
PriorityWeightQOS=300
DefMemPerCPU=100
PartitionName=batch Nodes=n[1-6] Default=YES MaxTime=60""",
        [("n", 6, 8, 4000, "")],
    ),
    "shapes": (
        """SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=30,bf_resolution=1,bf_window=120,bf_max_job_test=200,bf_continue
PriorityWeightAge=1000
PriorityMaxAge=0-00:10
PriorityWeightJobSize=1000
DefMemPerCPU=200
PartitionName=batch Nodes=n[1-4],m[1-3] Default=YES MaxTime=60
PartitionName=whole Nodes=m[1-3] MaxTime=60 OverSubscribe=EXCLUSIVE""",
        [("n", 4, 8, 4000, "Feature=skylake,ib Weight=10"), ("m", 3, 12, 12000, "Feature=milan,ib Weight=20")],
    ),
    "tiers": (
        """SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=15,bf_resolution=1,bf_window=120,bf_max_job_test=200,bf_continue
PriorityWeightAge=1000
PriorityMaxAge=0-00:10
PriorityWeightJobSize=500
PriorityWeightPartition=300
PartitionName=batch Nodes=n[1-6] Default=YES MaxTime=60 PriorityTier=10 PriorityJobFactor=10
PartitionName=urgent Nodes=n[3-6] MaxTime=60 PriorityTier=20 PriorityJobFactor=20
PartitionName=long Nodes=n[1-3] MaxTime=60 PriorityTier=10 PriorityJobFactor=1""",
        [("n", 6, 8, 4000, "")],
    ),
    "gpus": (
        """SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=15,bf_resolution=1,bf_window=120,bf_max_job_test=200,bf_continue
PriorityWeightAge=1000
PriorityMaxAge=0-00:10
PriorityWeightJobSize=500
PartitionName=batch Nodes=n[1-3],g[1-3] Default=YES MaxTime=60
PartitionName=gpu Nodes=g[1-3] MaxTime=60""",
        [("n", 3, 8, 4000, "Weight=10"), ("g", 3, 8, 4000, "Gres=gpu:4 Weight=20")],
    ),
}
COLUMNS = (
    *("job", "user", "account", "qos", "partition", "nice", "tasks", "nodes", "cpus_per_task", "memory_per_cpu"),
    *("gpus_per_node", "constraint", "exclusive", "limit", "submit", "start", "end", "cpus", "hosts", "by", "state"),
    "cpus_on_hosts",
)
AGAIN_COLUMNS = ("job", "submit", "start", "end", "by")


def one_job(run: str, draw: random.Random, cores: int) -> dict[str, object]:
    """Draw a job."""
    user = draw.choices(list(USERS), [5, 1, 3, 2, 2])[0]
    job: dict[str, object] = dict.fromkeys(COLUMNS, "")
    tasks = draw.choices([1, 2, 4, 8, 12, 16, 24], [6, 5, 6, 5, 3, 3, 1])[0]
    mean = SECONDS.get(run, USUAL_SECONDS)
    seconds = int(min(2 + draw.expovariate(1 / mean), 4 * mean))
    job |= {"user": user, "account": USERS[user], "qos": "normal", "partition": "batch", "nice": 0, "tasks": tasks}
    job |= {"limit": max(1, round(seconds / 60 * draw.choice([1, 2, 4, 8]) + 0.5)), "end": seconds}
    if run in ("cores", "usual") and draw.random() < 0.2:
        job |= {"qos": "high"}
    if run in ("cores", "usual", "shapes") and draw.random() < 0.4:
        job |= {"memory_per_cpu": draw.choice([50, 200, 400, 800])}
    if run == "linear":
        job |= {"tasks": "", "nodes": draw.choices([1, 2, 3, 4, 6, 8], [8, 6, 3, 3, 2, 1])[0]}
    if run == "shallow":
        job |= {"nice": draw.choice([0, 0, 0, 100, 500])}
    if run == "shapes":
        kind = draw.choices(["plain", "nodes", "threads", "exclusive", "whole", "feature"], [5, 3, 3, 1, 2, 3])[0]
        if kind == "nodes":
            nodes = draw.choice([1, 2, 3])
            job |= {"nodes": nodes, "tasks": nodes * draw.choice([1, 2, 4, 6])}
        elif kind == "threads":
            job |= {"tasks": draw.choice([1, 2, 3]), "cpus_per_task": draw.choice([2, 4, 6])}
        elif kind == "exclusive":
            job |= {"exclusive": 1, "tasks": draw.choice([2, 8])}
        elif kind == "whole":
            job |= {"partition": "whole", "nodes": draw.choice([1, 1, 2]), "tasks": ""}
        elif kind == "feature":
            job |= {"constraint": draw.choice(["skylake", "milan"]), "tasks": draw.choice([1, 4, 8, 12])}
    if run == "tiers":
        job |= {"partition": draw.choices(["batch", "urgent", "long"], [5, 2, 3])[0]}
    if run == "gpus" and draw.random() < 0.5:
        nodes = draw.choices([1, 2], [4, 1])[0]
        job |= {"partition": "gpu", "nodes": nodes, "tasks": nodes * draw.choice([1, 2, 4])}
        job |= {"gpus_per_node": draw.choices([1, 2, 4], [4, 2, 1])[0]}
    return job


def jobs_of(run: str, cores: int, count: int = 100) -> list[dict[str, object]]:
    """Draw the jobs of a run, with the s after its begin at which each is submitted."""
    draw = random.Random(f"jobs of {run}")
    jobs, work, each = [], 0.0, 4 if run == "linear" else 1
    span = SPANS.get(run, USUAL_SPAN)
    while work < LOAD * cores * span and len(jobs) < 2 * count:
        jobs.append(one_job(run, draw, cores))
        size = int(jobs[-1]["tasks"] or 0) * int(jobs[-1]["cpus_per_task"] or 1) or int(jobs[-1]["nodes"]) * each
        work += size * int(jobs[-1]["end"])
    for job, at in zip(jobs, sorted(draw.uniform(0, span) for _ in jobs), strict=True):
        job["submit"] = at
    return jobs


def start(*command: str, **environment: str) -> subprocess.Popen[bytes]:
    """Start a process that goes on."""
    with (FOLDER / f"{Path(command[0]).name}.out").open("ab") as out:
        return subprocess.Popen(command, stdout=out, stderr=out, env=os.environ | environment, start_new_session=True)


def call(*command: str, **environment: str) -> str:
    """Run a command to its end; return what it prints."""
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr or done.stdout}")
    return done.stdout


def start_services() -> list[subprocess.Popen[bytes]]:
    """Start munge, the database and slurmdbd."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    call("mungekey", "-c", "-k", str(FOLDER / "munge.key"))
    files = (("key-file", "munge.key"), ("socket", "munge.sock"), ("pid-file", "munge.pid"), ("log-file", "munge.log"))
    munge = [f"--{name}={FOLDER / file}" for name, file in (*files, ("seed-file", "munge.seed"))]
    services = [start("munged", "--foreground", "--force", *munge)]
    data = FOLDER / "database"
    call(
        "mariadb-install-db",
        "--no-defaults",
        f"--datadir={data}",
        "--auth-root-authentication-method=normal",
        "--user=root",
    )
    socket = FOLDER / "database.sock"
    services.append(
        start(
            "mariadbd",
            "--no-defaults",
            f"--datadir={data}",
            f"--socket={socket}",
            f"--port={DATABASE_PORT + 1}",
            "--bind-address=127.0.0.1",
            "--user=root",
        )
    )
    while not socket.exists():
        time.sleep(0.2)
    conf = FOLDER / "slurmdbd.conf"
    conf.write_text(
        f"AuthType=auth/munge\nAuthInfo=socket={FOLDER}/munge.sock\nDbdHost=localhost\nDbdPort={DATABASE_PORT}\n"
        f"SlurmUser=root\nStorageType=accounting_storage/mysql\nStorageUser=root\nStorageLoc=slurm\n"
        f"LogFile={FOLDER}/slurmdbd.log\nPidFile={FOLDER}/slurmdbd.pid\n"
        f"StorageHost=127.0.0.1\nStoragePort={DATABASE_PORT + 1}\n"
    )
    conf.chmod(0o600)
    defaults = FOLDER / "my.cnf"
    defaults.write_text(f"[client]\nsocket={socket}\n")
    services.append(start("slurmdbd", "-D", SLURM_CONF=str(FOLDER / "slurm.conf")))
    time.sleep(5)
    return services


def add_users(run: str, environment: dict[str, str]) -> None:
    """Tell the database of the users of a run."""
    call("sacctmgr", "-i", "add", "cluster", run, **environment)
    if "high" not in call("sacctmgr", "-n", "show", "qos", "format=name", **environment):
        call("sacctmgr", "-i", "add", "qos", "high", "Priority=100", **environment)
    for account in dict.fromkeys(USERS.values()):
        shares = {"physics": "2", "biology": "2", "chemistry": "1"}[account]
        call("sacctmgr", "-i", "add", "account", account, f"cluster={run}", f"fairshare={shares}", **environment)
    for user, account in USERS.items():
        call("sacctmgr", "-i", "add", "user", user, f"account={account}", f"cluster={run}", "qos=normal,high",
             "defaultqos=normal", **environment)  # fmt: skip


def record(number: int, run: str) -> None:
    """Record a run."""
    text, groups = RUNS[run]
    folder = FOLDER / run
    (folder / "state").mkdir(parents=True)
    folder.chmod(0o777)  # jobs of several users write here
    control = CONTROL_PORT + number
    lines, hosts, port, cores = [], [], 17100 + 100 * number, 0
    for letter, count, each, memory, more in groups:
        names, ports = f"{letter}[1-{count}]", f"[{port + 1}-{port + count}]"
        lines.append(f"{NODES.format(names=names, ports=ports, cores=each, memory=memory)} {more}".rstrip())
        (folder / "spool").mkdir(exist_ok=True)
        for host in range(1, count + 1):
            hosts.append(f"{letter}{host}")
            (folder / "spool" / hosts[-1]).mkdir()
        port += count
        cores += count * each
    common = COMMON.format(name=run, folder=FOLDER, control=control, database=DATABASE_PORT)
    settings, partitions = text.split("\nPartitionName=", 1)
    if CHOSEN.earlier is None:
        settings = f"AccountingStorageEnforce=associations,qos\n{settings}"
    own = "\n".join([settings, *lines, f"PartitionName={partitions}"]) + "\n"
    conf = folder / "slurm.conf"
    conf.write_text(common + own)
    with (folder / "gres.conf").open("w") as gres:  # it must name files, and counts them
        for names, count in re.findall(r"NodeName=(\S+) .*Gres=gpu:(\d+)", own):
            gres.write(f"NodeName={names} Name=gpu File={folder}/gpu[1-{count}]\n")
            for number in range(1, int(count) + 1):
                (folder / f"gpu{number}").touch()
    environment = {"SLURM_CONF": str(conf)}
    with ONE_BY_ONE:
        add_users(run, environment)
    daemons = [start("slurmctld", "-D", "-f", str(conf), **environment)]
    time.sleep(3)
    daemons += [start("slurmd", "-D", "-f", str(conf), "-N", host, **environment) for host in hosts]
    while len(
        {line for line in call("sinfo", "-h", "-N", "-o", "%N %T", **environment).splitlines() if "idle" in line}
    ) < len(hosts):
        time.sleep(1)
    time.sleep(10)
    jobs, begin = jobs_of(run, cores), time.time()
    for job in jobs:
        time.sleep(max(0.0, begin + float(str(job["submit"])) - time.time()))
        job["job"] = call("sbatch", *arguments(job), f"--output={folder}/%j.out", **environment).strip()
    while call("squeue", "-h", **environment).strip():
        time.sleep(2)
    time.sleep(5)
    write(run, jobs, own, folder, environment)
    call("scontrol", "shutdown", **environment)
    for daemon in daemons:
        daemon.wait(30)


def arguments(job: dict[str, object]) -> list[str]:
    """Return how a job is submitted."""
    names = {
        **{"account": "account", "qos": "qos", "partition": "partition", "nice": "nice", "tasks": "ntasks"},
        **{"nodes": "nodes", "cpus_per_task": "cpus-per-task", "memory_per_cpu": "mem-per-cpu"},
        **{"gpus_per_node": "gpus-per-node", "constraint": "constraint", "limit": "time"},
    }
    found = [f"--{name}={job[key]}" for key, name in names.items() if job[key] not in ("", 0)]
    found += ["--exclusive"] if job["exclusive"] else []
    return [
        "--parsable",
        f"--uid={job['user']}",
        "--chdir=/tmp",
        *found,
        "--wrap",
        f"echo $SLURM_JOB_CPUS_PER_NODE; exec sleep {job['end']}",
    ]


def lines_of(folder: Path) -> list[tuple[float, str]]:
    """Return what slurmctld wrote into its log: dates in s since the first job came, and texts."""
    found = re.findall(r"^\[(\S+)\] (.*)$", (folder / "slurmctld.log").read_text(), re.MULTILINE)
    lines = [(datetime.fromisoformat(moment).timestamp(), text) for moment, text in found]
    begin = next(date for date, text in lines if SUBMITTED in text)
    return [(round(date - begin, 3), text) for date, text in lines]


def times_of(lines: list[tuple[float, str]]) -> dict[str, dict[str, object]]:
    """Return when each job came, started and ended, and who started it."""
    found: dict[str, dict[str, object]] = {}
    for date, text in lines:
        number = re.search(r"JobId=(\d+)", text)
        if number is None:
            continue
        job = found.setdefault(number[1], {})
        if SUBMITTED in text:
            job["submit"] = date
        elif "sched: Allocate" in text or "backfill: _start_job: Started" in text:
            job |= {"start": date, "by": "backfill" if "backfill" in text else "main"}
        elif text.startswith("_job_complete") and text.endswith("done"):
            job["end"] = date
    return found


def clocks_of(lines: list[tuple[float, str]], epoch: float, period: float) -> dict[str, float | list[float]]:
    """Return when the daemon's threads woke up, in s since the first job came: what no scheduler could know.

    The main scheduler does so each second at this fraction of it and looks at the whole queue from ``first_full`` on
    each minute, backfill at this date for the first time, and the thread that computes priorities each *period*.
    """

    def first(words: str, after: float) -> float:
        return next(date for date, text in lines if words in text and date >= after)

    return {
        "epoch": epoch,
        "main_phase": round(first("sched: Running job scheduler", 0.0) % 1.0, 3),
        "backfill_phase": first("_attempt_backfill: beginning", 0.0),
        "first_full": first("for full queue", 0.0),
        "first_calc": round(first("_read_last_decay_ran", -1e9) + period, 3),
        "main_dates": [date for date, text in lines if "sched: Running job scheduler" in text and date >= 0.0],
        "backfill_dates": [date for date, text in lines if "_attempt_backfill: beginning" in text and date >= 0.0],
    }


def write(run: str, jobs: list[dict[str, object]], own: str, folder: Path, environment: dict[str, str]) -> None:
    """Write what became of the jobs."""
    told = call("sacct", "-a", "-X", "-P", "-n", "--format=JobIDRaw,NCPUS,NodeList,State", "-S", "now-1hours",
                **environment)  # fmt: skip
    rows = {line.split("|")[0]: line.split("|") for line in told.splitlines()}
    lines = lines_of(folder)
    times = times_of(lines)
    (HERE / run).mkdir(exist_ok=True)
    again = HERE / "earlier" / run / f"again_{CHOSEN.earlier}.csv" if CHOSEN.earlier else HERE / run / "again.csv"
    if CHOSEN.again or CHOSEN.earlier:
        write_table(again, AGAIN_COLUMNS, [job | times[str(job["job"])] for job in jobs])
        return
    for job in jobs:
        _, job["cpus"], job["hosts"], job["state"] = rows[str(job["job"])]
        job["cpus_on_hosts"] = (folder / f"{job['job']}.out").read_text().strip()
    write_table(HERE / run / "jobs.csv", COLUMNS, [job | times[str(job["job"])] for job in jobs])
    period = 60.0 * int((re.findall(r"PriorityCalcPeriod=(\d+)", own) or ["5"])[0])
    began = re.search(rf"^\[(\S+)\] .*{SUBMITTED}", (folder / "slurmctld.log").read_text(), re.MULTILINE)
    assert began is not None
    clocks = clocks_of(lines, round(datetime.fromisoformat(began[1]).timestamp(), 3), period)
    (HERE / run / "clocks.json").write_text(json.dumps(clocks) + "\n")
    (HERE / run / "slurm.conf").write_text(own)


def write_table(path: Path, columns: tuple[str, ...], rows: list[dict[str, object]]) -> None:
    """Write some columns of the jobs."""
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, columns, lineterminator="\n", extrasaction="ignore")
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    services = start_services()
    try:
        chosen = [(number, run) for number, run in enumerate(RUNS) if run in (CHOSEN.runs or RUNS)]
        with ThreadPoolExecutor(len(chosen)) as threads:  # they wait nearly all of the time
            list(threads.map(record, *zip(*chosen, strict=True)))
    finally:
        for service in reversed(services):
            service.terminate()
