"""The log of ended jobs that Slurm writes with ``JobCompType=jobcomp/filetxt``, made into jobs.

It is what a cluster without an accounting database has: one line for each job that ended, as ``JobId=5 Name=a
JobState=COMPLETED ...``. Its values are those of ``sacct`` under other names, so they are read as those are.
"""

import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.importers.jobs import JobStore
from hdeeprm_like.importers.records import LONGEST, Chunk, open_text, uncollected
from hdeeprm_like.importers.sacct import Accounted, Reading
from hdeeprm_like.importers.times import WallClock

COLUMNS = {  # a column of sacct, and what the log calls it
    "jobname": "Name",
    "state": "JobState",
    "partition": "Partition",
    "timelimit": "TimeLimit",
    "submit": "SubmitTime",
    "eligible": "EligibleTime",
    "start": "StartTime",
    "end": "EndTime",
    "nnodes": "NodeCnt",
    "ncpus": "ProcCnt",
    "qos": "QOS",
    "reservation": "ReservationName",
    "cluster": "Cluster",
    "reqtres": "Tres",
}
MADE = ("jobid", "user", "account")  # columns made of several columns of the log
FIRST = ("JobId", "UserId", "GroupId")  # before the name, in which anything may stand
BETWEEN = ("Name", "JobState", "Partition", "TimeLimit", "StartTime", "EndTime", "NodeList", "NodeCnt", "ProcCnt")
FOLDER, BEHIND = "WorkDir", "EligibleTime"  # in the one anything may stand, too; behind the other are the `NUMBERS`
PARTS = ("NodeList", "WorkDir", "Account", "Gres", "WcKey", "DerivedExitCode", "ExitCode")
NUMBERS = ("ArrayJobId", "ArrayTaskId", "HetJobId", "HetJobOffset")
KEY = re.compile(rf"(?:^| )({'|'.join((*FIRST, *COLUMNS.values(), *PARTS, *NUMBERS))})=")
AT_ONCE = 5000  # lines
MOST_OTHERS = 1_000_000  # lines before the first job
NEEDED = ("JobId", "JobState", "StartTime", "EndTime", "SubmitTime", "ProcCnt")
NUMBER_BEHIND = re.compile(r"\(\d+\)$")  # of a user: ada(1001)


def read_jobcomp(path: Path, reading: Reading, report: Account) -> JobStore:
    """Read a log; it may be packed, and of any length. Times are those of the controller's clock.

    Raises:
        WorkloadError: the file is no such log, or no job of it ran.
        OptionsError: the time zone does not exist.
    """
    store = JobStore(report)
    clock = WallClock(reading.zone, reading.form, report)
    table = Accounted((*MADE, *COLUMNS), reading, clock, store)
    with open_text(path) as lines, uncollected():
        while some := list(islice(iter(lambda: lines.readline(LONGEST), ""), AT_ONCE)):
            chunk = Chunk([], [])
            for number, line in enumerate(some, start=report.lines + 1):
                told = values_of(line)
                if all(told.get(name) for name in NEEDED):
                    chunk.lines.append(number)
                    chunk.values.append(row_of(told))
                elif line.strip():
                    report.jobs += 1
                    report.leave_out("lines without an ended job, or cut off", line=number)
            if chunk.lines:
                table.take(chunk)
            report.lines += len(some)
            if not table.taken and report.lines > MOST_OTHERS:
                break
    if not table.taken:
        raise WorkloadError(f"{path}: is no log of jobcomp/filetxt: no line has JobId=, JobState= and SubmitTime=")
    if clock.local and reading.zone is None:
        report.note("times were read as UTC; set their time zone by --timezone")
    store.settle(reading.requeues)
    return store


def values_of(line: str) -> dict[str, str]:
    """Return the values of a line by their names.

    Slurm writes the names in one order. Of those that a job's own name or folder imitates the one counts that stands
    where Slurm's does: `FIRST` at the first place, `BETWEEN` before the folder, the `NUMBERS` at the end.
    """
    found = list(KEY.finditer(line))
    place = {match[1]: match.start() for match in found}  # the last of each name
    folder, behind = place.get(FOLDER, len(line)), place.get(BEHIND, 0)
    told: dict[str, str] = {}
    ends = [*(match.start() for match in found), len(line)][1:]
    for match, end in zip(found, ends, strict=True):
        name, at = match[1], match.start()
        imitated = (name in FIRST and name in told) or (name in BETWEEN and at > folder)
        if not imitated and not (name in NUMBERS and at < behind):
            told[name] = line[match.end() : end].strip()
    return told


def row_of(told: Mapping[str, str]) -> list[str]:
    """Return the values of a job in the order of `MADE` and `COLUMNS`."""
    number = told["JobId"]
    for job, part, mark in (("ArrayJobId", "ArrayTaskId", "_"), ("HetJobId", "HetJobOffset", "+")):
        if job in told:
            number = f"{told[job]}{mark}{told.get(part, '')}"
    user, group = (NUMBER_BEHIND.sub("", told.get(name, "")) for name in ("UserId", "GroupId"))
    return [number, user, told.get("Account") or group, *(told.get(name, "") for name in COLUMNS.values())]
