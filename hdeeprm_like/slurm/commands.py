"""Slurm's own programs, run with a time limit: what they show, and the one thing that is ever changed."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.slurm.changes import JOB_COLUMNS, NODE_COLUMNS, JobChanges, NodeChanges
from hdeeprm_like.slurm.shown import (
    JOB_BEGINS,
    JOB_FIELDS,
    Job,
    Node,
    jobs_of_fields,
    jobs_of_text,
    nodes_of_text,
)

TIMEOUT = 60.0  # s
DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL")  # of util-linux, which every Linux has
BATCH = 100  # changes that one scontrol makes
DENIED = re.compile(r"permission denied|not authorized|invalid user id", re.IGNORECASE)
AWAY = re.compile(
    r"unable to contact|connection (refused|timed)|communication|socket timed out|zero bytes|munge|authentication error"
    r"|controller not responding|slurm_persist_conn|no route|configuration source|connect failure|unexpected message",
    re.IGNORECASE,
)
GONE = re.compile(r"invalid job id", re.IGNORECASE)
ABOUT_JOB = re.compile(r"for job (\d+)")
WORDS = {"LC_ALL": "C", "TZ": "UTC", "SLURM_TIME_FORMAT": "%s"}  # times in s since 1970
UNWANTED = re.compile(r"S(QUEUE|INFO|CONTROL)_")  # variables that change what is shown


class ContactLost(ProtocolError):
    """Slurm does not answer."""


class Denied(ProtocolError):
    """Slurm does not permit us to set priorities."""


class Slurm(Protocol):
    """A Slurm that can be looked at, whose jobs' priorities can be set."""

    def jobs(self) -> list[Job]:
        """Return all jobs that are shown."""
        ...

    def nodes(self) -> dict[str, Node]:
        """Return all nodes by name."""
        ...

    def settings(self) -> dict[str, str]:
        """Return the configuration by names in lower case."""
        ...

    def set_factors(self, factors: Mapping[int, int]) -> dict[int, str]:
        """Set the site factors of jobs; return those that could not be set, and why."""
        ...


class Programs:
    """The Slurm that ``squeue``, ``sinfo`` and ``scontrol`` talk to."""

    def __init__(self) -> None:
        self._setter = [*(DIES_WITH_US if shutil.which(DIES_WITH_US[0]) else ()), "scontrol"]
        self._jobs, self._nodes = JobChanges(), NodeChanges()
        self._environment = {name: value for name, value in os.environ.items() if not UNWANTED.match(name)} | WORDS

    def jobs(self) -> list[Job]:
        """Return all jobs that are shown; those that are as they were are the same objects as last time.

        Raises:
            ContactLost: Slurm does not answer. ProtocolError: it answers nonsense.
        """
        return self._jobs.jobs(self._run("squeue", "-h", "-a", "-t", "all", "-o", JOB_COLUMNS), self._read_jobs)

    def nodes(self) -> dict[str, Node]:
        """Return all nodes by name; raises as `jobs`."""
        return self._nodes.nodes(
            self._run("sinfo", "-h", "-a", "-N", "-o", NODE_COLUMNS),
            lambda: nodes_of_text(self._run("scontrol", "--all", "show", "nodes")),
        )

    def settings(self) -> dict[str, str]:
        """Return the configuration by names in lower case; raises as `jobs`."""
        lines = (line.partition("=") for line in self._run("scontrol", "show", "config").splitlines())
        return {name.strip().lower(): value.strip() for name, _, value in lines}

    def set_factors(self, factors: Mapping[int, int]) -> dict[int, str]:
        """Set the site factors of jobs; return those that could not be set, and why.

        One ``scontrol`` sets many, as it reads its commands from a pipe. Linux kills it with the watch, so that it sets
        nothing after all was put back.

        Raises:
            ContactLost: Slurm does not answer. Denied: it does not permit this.
        """
        refused: dict[int, str] = {}
        for batch in batches(list(factors)):
            commands = "".join(f"update JobId={job} SiteFactor={factors[job]}\n" for job in batch)
            for line in self._talk(self._setter, commands).stderr.splitlines():
                if DENIED.search(line):
                    raise Denied(
                        "Slurm does not permit this user to set priorities: run as SlurmUser or root, or have an "
                        "administrator run: sacctmgr modify user NAME set AdminLevel=Operator"
                    )
                if AWAY.search(line):
                    raise ContactLost(f"scontrol: {line[:80]}")
                if match := ABOUT_JOB.search(line):
                    refused[int(match[1])] = line[:80]
        return refused

    def _read_jobs(self, numbers: Sequence[int] | None) -> list[Job]:
        """Read some jobs in full, or all; those that are gone are left out."""
        if numbers is None:
            try:
                return jobs_of_fields(self._run("squeue", "-h", "-a", "-t", "all", "-O", JOB_FIELDS))
            except ProtocolError:  # a version that lists other fields; this one takes five times as long to read
                return jobs_of_text(self._run("scontrol", "--all", "show", "job"))
        done = self._talk(("scontrol", "--all"), "".join(f"show job {number}\n" for number in numbers))
        gone = [GONE.search(line) is not None for line in done.stderr.splitlines()]
        shown = {int(number) for number in JOB_BEGINS.findall(done.stdout)}
        if not all(gone) or sum(number not in shown for number in numbers) > len(gone):
            raise problem("scontrol", done)
        return jobs_of_text(done.stdout) if shown else []

    def _run(self, *command: str) -> str:
        done = self._talk(command)
        if done.returncode != 0:
            raise problem(command[0], done)
        return done.stdout

    def _talk(self, command: Sequence[str], commands: str = "") -> "subprocess.CompletedProcess[str]":
        """Run a program to its end, in a group of its own, so that Ctrl-C is ours alone.

        Raises:
            ContactLost: it is not installed, or does not end.
        """
        try:
            return subprocess.run(
                command,
                input=commands,
                env=self._environment,
                timeout=TIMEOUT,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ContactLost(f"{command[0]} does not end within {TIMEOUT:g} s") from None
        except OSError as error:
            raise ContactLost(f"{command[0]}: {error.strerror}; Slurm's programs are needed in PATH") from None


def problem(program: str, done: "subprocess.CompletedProcess[str]") -> ProtocolError:
    """Return what is wrong with an answer."""
    lines = done.stderr.strip().splitlines()
    said = f"{program}: {lines[-1][:120] if lines else f'exit status {done.returncode}, {done.stdout[:40]!r}'}"
    return ContactLost(said) if done.returncode != 0 or AWAY.search(done.stderr) else ProtocolError(said)


def batches(jobs: Sequence[int]) -> Iterable[Sequence[int]]:
    """Yield jobs in parts of at most `BATCH`."""
    return (jobs[i : i + BATCH] for i in range(0, len(jobs), BATCH))
