"""The head of a report: machine, workload, policy, seed, version, date and command of each run."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

from hdeeprm_like.results.html import pieces
from hdeeprm_like.results.run_reader import JOBS, RECORD, Run

UNKNOWN = "not recorded"


def head_of(runs: Mapping[str, Run]) -> list[list[object]]:
    """Return the rows of a table with a column for each run."""
    facts = [facts_of(run) for run in runs.values()]
    return [[name, *(own[name] for own in facts)] for name in facts[0]] if facts else []


def facts_of(run: Run) -> dict[str, object]:
    """Return what is recorded about a run, in the order in which it is read."""
    record = run.record
    options, versions = part(record, "options"), part(record, "versions")
    seed = record.get("seed", UNKNOWN)
    version = str(versions.get("hdeeprm_like", UNKNOWN))
    simulator = record.get("simulator")
    return {
        "machine": machine(run, part(record, "platform")),
        "workload": workload(run, part(record, "workload")),
        "policy": policy(options),
        "seed": seed,
        "version": f"hdeeprm_like {version}" if version != UNKNOWN else UNKNOWN,
        "simulator": simulator if isinstance(simulator, str) else UNKNOWN,
        "date": date(run),
        "command": command(run),
    }


def machine(run: Run, platform: dict[str, Any]) -> str:
    """Return the platform's name and size."""
    cores = f"{run.cores:,} cores" if run.has(JOBS) else f"{platform.get('cores', UNKNOWN)} cores"
    nodes = platform.get("nodes")
    return ", ".join([*name_of(platform), cores, *([f"{nodes:,} nodes"] if isinstance(nodes, int) else [])])


def workload(run: Run, jobs: dict[str, Any]) -> str:
    """Return the workload's name and how many jobs it has."""
    count = len(run.jobs) if run.has(JOBS) else jobs.get("jobs", UNKNOWN)
    account = part(jobs, "account").get("summary")
    more = [f"of the file {account}"] if isinstance(account, str) else []
    return ", ".join([*name_of(jobs), f"{count:,} jobs" if isinstance(count, int) else f"{count} jobs", *more])


def policy(options: dict[str, Any]) -> str:
    """Return which policy or agent decided."""
    agent = part(options, "pybatsim", "agent")
    own = options.get("policy") or agent.get("policy_pair")
    if isinstance(own, str):
        return own
    program = agent.get("run")
    kind = agent.get("type")
    named = [str(kind)] if kind else []
    return " ".join([*named, *([PurePath(str(program)).name] if program else [])]) or UNKNOWN


def date(run: Run) -> str:
    """Return when the files of a run were last written."""
    path = run.path(RECORD) if run.has(RECORD) else run.folder
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).strftime("%Y-%m-%d %H:%M UTC")


def command(run: Run) -> object:
    """Return the command that runs the same again, where the run left its inputs."""
    if not run.has("options.json") or not run.has(RECORD):
        return UNKNOWN
    return pieces().code(f"hdeeprm-like launch --options {run.folder}/options.json --output again")


def name_of(part_of_record: dict[str, Any]) -> list[str]:
    """Return the name of a file in a record, without its folder; none if the record has none."""
    file = part_of_record.get("file")
    return [PurePath(file).name] if isinstance(file, str) else []


def part(content: Any, *names: str) -> dict[str, Any]:
    """Return the object that stands below some names in JSON, an empty one where there is none."""
    for name in names:
        content = content.get(name) if isinstance(content, dict) else None
    return content if isinstance(content, dict) else {}
