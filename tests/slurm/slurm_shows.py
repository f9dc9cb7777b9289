"""What Slurm of each version shows of the same five jobs and two nodes, in the forms that these versions have.

The forms are those that Slurm's documentation of its JSON tells, and that of 22.05 was looked at; the jobs are made up.
"""

import json
from typing import NamedTuple

BEGIN = 1_700_000_000  # s since 1970
HOUR = 3600
UNLIMITED = 4294967295

VERSIONS = ("21.08", "22.05", "23.02", "23.11", "24.05", "24.11", "25.05")


class Told(NamedTuple):
    """One of the jobs: limit in min, None for no limit; times in s since BEGIN, None for none."""

    number: int
    states: tuple[str, ...]
    user: str
    cpus: int
    limit: int | None
    submit: int
    eligible: int | None
    start: int | None
    end: int | None
    priority: int
    reason: str
    partition: str = "normal"
    tasks: str = ""


JOBS = (
    Told(11, ("RUNNING",), "ada", 8, 60, 0, 0, 10, 10 + HOUR, 100, "None"),
    Told(12, ("PENDING",), "bob", 4, None, 20, 20, None, None, 90, "Resources", "normal,debug"),
    Told(13, ("PENDING",), "ada", 2, 30, 30, None, None, None, 0, "JobHeldUser"),
    Told(14, ("PENDING",), "eve", 1, 5, 40, 40, HOUR, None, 80, "Priority", "debug", "3-9%2"),
    Told(10, ("COMPLETED", "COMPLETING"), "bob", 16, 10, -100, -100, -90, -1, 100, "None"),
)
NODES = (("n1", ("MIXED",), 16, ("normal", "debug")), ("n2", ("IDLE", "DRAIN"), 16, ("normal",)))


def number(value, version, is_time=False):
    """A number as a version writes it; None for one that is not set."""
    if version <= "22.05" or (version == "23.02" and is_time):
        return value if value is not None or not is_time else 0
    given = value is not None or is_time
    fraction = float if version >= "25.05" else int
    return {"set": given, "infinite": False, "number": fraction(value or 0)}


def time(value, version):
    return number(None if value is None else BEGIN + value, version, is_time=True)


def no_limit(version):
    if version <= "22.05":
        return None if version == "22.05" else UNLIMITED
    return {"set": False, "infinite": True, "number": 0}


def states(value, version):
    """States as a version writes them; older ones show one, and flags in its place."""
    return list(value) if version >= "23.11" else value[-1]


def squeue(version, jobs=JOBS):
    """What ``squeue --json`` prints."""
    major, minor = version.split(".")
    listed = [
        {
            "account": "physics",
            "array_job_id": number(job.number if job.tasks else 0, version),
            "array_task_id": number(None, version),
            "array_task_string": job.tasks,
            "cpus": number(job.cpus, version),
            "eligible_time": time(job.eligible, version),
            "end_time": time(job.end, version),
            "job_id": job.number,
            "job_state": states(job.states, version),
            "name": 'a "name", {with} all',
            "partition": job.partition,
            "priority": number(job.priority, version),
            "start_time": time(job.start, version),
            "state_reason": job.reason,
            "submit_time": time(job.submit, version),
            "time_limit": no_limit(version) if job.limit is None else number(job.limit, version),
            "user_id": 1000,
            "user_name": job.user,
        }
        for job in jobs
    ]
    meta = {"Slurm" if version < "23.11" else "slurm": {"version": {"major": major, "minor": minor}}}
    return json.dumps({"meta": meta, "errors": [], "jobs": listed})


def sinfo(version):
    """What ``sinfo --json`` prints: nodes, or from 23.02 on groups of nodes of each partition."""
    if version <= "22.05":
        nodes = [
            {
                "name": name,
                "cpus": cpus,
                "state": flags[0].lower(),
                "state_flags": list(flags[1:]),
                "partitions": list(partitions),
            }
            for name, flags, cpus, partitions in NODES
        ]
        return json.dumps({"meta": {}, "errors": [], "nodes": nodes})
    groups = [
        {
            "node": {"state": list(flags)},
            "nodes": {"total": 1, "nodes": [name]},
            "cpus": {"allocated": 0, "total": cpus, "minimum": cpus, "maximum": cpus},
            "partition": {"name": partition},
        }
        for name, flags, cpus, partitions in NODES
        for partition in partitions
    ]
    return json.dumps({"sinfo": groups, "meta": {}, "errors": [], "warnings": []})


def squeue_lines(jobs=JOBS):
    """What ``squeue`` prints in the columns of `hdeeprm_like.slurm.changes.JOB_COLUMNS`."""
    return "".join(
        f"{job.number}|{job.priority}|{job.states[-1]} {job.number} {job.cpus} {BEGIN + job.submit} "
        f"{job.limit} {job.user} {job.partition}|{job.reason}\n"
        for job in jobs
    )


def when(value, nothing="N/A"):
    """A time as programs print it in text."""
    return nothing if value is None else str(BEGIN + value)


def duration(minutes, digits=1):
    return "UNLIMITED" if minutes is None else f"{minutes // 60:0{digits}}:{minutes % 60:02}:00"


def squeue_fields(jobs=JOBS):
    """What ``squeue`` prints in the fields of `hdeeprm_like.slurm.shown.JOB_FIELDS`."""
    return "".join(
        f"{job.number}|{job.states[-1]}|{job.user}|{job.partition}|{job.cpus}|{duration(job.limit)}|{when(job.submit)}|"
        f"{when(job.eligible)}|{when(job.start)}|{when(job.end)}|{job.priority}|{job.reason}|{job.number}\n"
        for job in jobs
    )


def sinfo_lines():
    """What ``sinfo`` prints in the columns of `hdeeprm_like.slurm.changes.NODE_COLUMNS`."""
    return "".join(
        f"{name}|{cpus}|{flags[-1].lower()}|{partition}\n"
        for name, flags, cpus, partitions in NODES
        for partition in partitions
    )


def scontrol_jobs(jobs=JOBS):
    """What ``scontrol show job`` prints, with times in seconds since 1970."""
    return "\n".join(
        f"JobId={job.number} {f'ArrayJobId={job.number} ' if job.tasks else ''}"
        "JobName=mine ArrayJobId=5 JobState=RUNNING Priority=0 UserId=root(0)\n"
        f"   UserId={job.user}(1000) GroupId=users(100) MCS_label=N/A\n"
        f"   Priority={job.priority} Nice=0 Account=physics QOS=normal\n"
        f"   JobState={job.states[0]} Reason={job.reason} Dependency=(null)\n"
        f"   RunTime=00:00:00 TimeLimit={duration(job.limit, 2)} TimeMin=N/A\n"
        f"   SubmitTime={when(job.submit)} EligibleTime={when(job.eligible, 'Unknown')}\n"
        f"   StartTime={when(job.start, 'Unknown')} EndTime={when(job.end, 'Unknown')} Deadline=N/A\n"
        f"   Partition={job.partition} AllocNode:Sid=login:1\n"
        f"   NumNodes=1 NumCPUs={job.cpus} NumTasks=1 CPUs/Task=1\n"
        f"   Comment=JobState=CANCELLED NumCPUs=99\n"
        for job in jobs
    )


def scontrol_nodes():
    """What ``scontrol show nodes`` prints."""
    return "\n".join(
        f"NodeName={name} Arch=x86_64 CoresPerSocket={cpus}\n"
        f"   CPUAlloc=0 CPUEfctv={cpus} CPUTot={cpus} CPULoad=0.1\n"
        f"   State={'+'.join(flags)} ThreadsPerCore=1\n"
        f"   Partitions={','.join(partitions)}\n"
        for name, flags, cpus, partitions in NODES
    )
