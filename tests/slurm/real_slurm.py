"""A real Slurm of imagined nodes in a temporary folder: slurmctld, a slurmd for each node, munge with a key of its own.

Its jobs are sleeps of some seconds. It listens on ports from 18000 to 18999 and talks to nobody else.
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from hdeeprm_like.slurm.shown import jobs_of_json

NEEDED = ("slurmctld", "slurmd", "squeue", "sinfo", "scontrol", "sbatch", "scancel", "sprio", "munged")
PATIENCE = 300.0  # s that a daemon may take to answer

DAEMONS = """\
ClusterName={name}
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
LogTimeFormat=iso8601_ms
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobs.txt
MpiDefault=none
SlurmdParameters=config_overrides
ReturnToService=2
"""
SMALL = """\
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=2,default_queue_depth=1000,bf_max_job_test=1000
PriorityType={priority}
AccountingStorageType=accounting_storage/none
MinJobAge=30
MaxJobCount=20000
NodeName=n[1-{nodes}] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[1-{nodes}] CPUs={cpus} Sockets=1 \
CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory=4000
PartitionName=normal Nodes=n[1-{nodes}] Default=YES MaxTime=1-0 DefaultTime=5 State=UP
PartitionName=debug Nodes=n1 MaxTime=10 State=UP
"""
NODES = re.compile(r"(?<=NodeName=)([a-z]+)\[1-(\d+)\](.* Port=)\[\d+-\d+\]")

MUNGE_FILES = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
GIVEN = [0]  # ports below the last of these are in use, or will be


def missing():
    """Why there can be no real Slurm here; empty if there can."""
    absent = [name for name in NEEDED if shutil.which(name) is None]
    if absent:
        return f"not installed: {', '.join(absent)} (Debian: apt-get install slurm-wlm munge)"
    return "" if os.geteuid() == 0 else "only root can start a Slurm whose jobs are of several users"


def free_ports(count):
    """The first of some ports in a row on which nobody listens, and which this process has not asked for before."""
    for first in range(max(18000 + os.getpid() % 500, *GIVEN), 18990 - count):
        with contextlib.ExitStack() as stack:
            try:
                for port in range(first, first + count):
                    stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
            except OSError:
                continue
            GIVEN.append(first + count)
            return first
    raise RuntimeError("no free ports between 18000 and 18999")


class RealSlurm:
    """A cluster of *nodes* nodes with *cpus* CPUs each, or of another configuration, *own*.

    Ports of nodes in that are replaced by free ones, and files in ``/etc/slurm`` by those of its folder.
    """

    def __init__(self, nodes=2, cpus=8, priority="priority/multifactor", own="", name="small"):
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-"))  # a short path, for it holds a socket
        self.folder.chmod(0o755)
        self.name, self.hosts = name, []
        own = own or SMALL.format(nodes=nodes, cpus=cpus, priority=priority)
        port = free_ports(1 + sum(int(count) for _, count, _ in NODES.findall(own)))

        def with_ports(group):
            letter, count, between = group.groups()
            first = port + 1 + len(self.hosts)
            self.hosts += [f"{letter}{n}" for n in range(1, int(count) + 1)]
            return f"{letter}[1-{count}]{between}[{first}-{port + len(self.hosts)}]"

        own = NODES.sub(with_ports, own).replace("/etc/slurm/", f"{self.folder}/")
        self.configuration = self.folder / "slurm.conf"
        self.configuration.write_text(DAEMONS.format(name=name, folder=self.folder, port=port) + own)
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self.environment = os.environ | {"SLURM_CONF": str(self.configuration)}
        self.processes = []
        self.ends_with = []  # what is called at the end

    def __enter__(self):
        try:
            munge = [f"--{name}={self.folder}/munge.{end}" for name, end in MUNGE_FILES.items()]
            self.start("munged", "--foreground", "--force", "--num-threads=10", *munge)
            wait_until(lambda: (self.folder / "munge.socket").exists(), "munged")
            self.start_controller()
            for host in self.hosts:
                self.start("slurmd", "-D", "-f", self.configuration, "-N", host)
            idle = {f"{host} idle" for host in self.hosts}
            wait_until(lambda: {*self.run("sinfo", "-h", "-N", "-o", "%N %t").splitlines()} == idle, "slurmd")
        except AssertionError as error:
            told = self.last_words()
            self.__exit__()
            raise AssertionError(f"no Slurm starts here: {error}\n{told}") from None
        except BaseException:
            self.__exit__()
            raise
        return self

    def last_words(self):
        """The last lines that each daemon has written."""
        files = sorted((*self.folder.glob("*.log"), *self.folder.glob("*.out")))
        return "\n".join(f"{file.name}:\n" + "\n".join(file.read_text().splitlines()[-5:]) for file in files)

    def __exit__(self, *_):
        for end in self.ends_with:
            end()
        for process in reversed(self.processes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for path in Path("/proc").glob("[0-9]*"):  # jobs have groups of their own, and so has what watches each
            with contextlib.suppress(OSError):
                group = os.getpgid(int(path.name))
                if group != os.getpgrp() and self._works_for_us(path):
                    os.killpg(group, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _works_for_us(self, process):
        """Whether a process, by its folder in /proc, runs a job of ours, or writes into our folder."""
        if f"{self.folder}/spool/".encode() in (process / "cmdline").read_bytes():
            return True
        return any(file.readlink().is_relative_to(self.folder) for file in (process / "fd").iterdir())

    def start(self, *command):
        """Start a daemon in a group of its own, with which the jobs that it starts end."""
        with (self.folder / f"{command[0]}.out").open("ab") as out:
            words, how = [str(word) for word in command], {"env": self.environment, "start_new_session": True}
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, **how)
        self.processes.append(process)
        return process

    def start_controller(self):
        """Start slurmctld and wait until it answers."""
        self.controller = self.start("slurmctld", "-D", "-f", self.configuration)
        wait_until(lambda: "is UP" in self.run("scontrol", "ping", check=False), "slurmctld")

    def kill_controller(self):
        """Let slurmctld die."""
        self.controller.kill()
        self.controller.wait()

    def has_saved(self, *names):
        """Whether slurmctld has jobs of all these names on disk."""
        path = self.folder / "state" / "job_state"
        saved = path.read_bytes() if path.exists() else b""
        return all(name.encode() in saved for name in names)

    def run(self, *command, check=True):
        """What one of Slurm's programs prints."""
        words, how = [str(word) for word in command], {"env": self.environment, "cwd": self.folder}
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False, **how)
        assert done.returncode == 0 or not check, f"{command}: {done.stderr}"
        return done.stdout

    def submit(self, seconds, *, cpus=1, limit=5, options=()):
        """Submit a job that sleeps so many s and asks for so many min; return its number."""
        command = ("sbatch", "--parsable", "-o", "/dev/null", "-n", cpus, "-N", 1, "-t", limit, *options)
        return int(self.run(*command, "--wrap", f"sleep {seconds}"))

    def jobs(self, *phases):
        """The jobs in some phases, or all."""
        shown = jobs_of_json(self.run("squeue", "--all", "--states=all", "--json"))
        return [job for job in shown if not phases or job.phase in phases]

    def factors(self):
        """The site factors of the waiting jobs by number, but for those that are 0."""
        pairs = (line.split() for line in self.run("sprio", "-h", "-o", "%i %S").splitlines())
        return {int(job): int(factor) for job, factor in pairs if int(factor)}

    def ended(self):
        """What Slurm's own log of ended jobs says of each, by number."""
        path = self.folder / "jobs.txt"
        lines = path.read_text().splitlines() if path.exists() else []
        found = [dict(word.partition("=")[::2] for word in line.split() if "=" in word) for line in lines]
        return {int(job["JobId"]): job for job in found}


def wait_until(true, what, patience=PATIENCE):
    """Wait until something is true."""
    deadline = time.monotonic() + patience
    while not true():
        assert time.monotonic() < deadline, f"{what}: not within {patience:g} s"
        time.sleep(0.1)
