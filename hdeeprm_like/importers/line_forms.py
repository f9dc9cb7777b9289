"""Logs that are no tables: accounting of PBS and Torque, LSF's lsb.acct, workloads of Kueue and Volcano.

Each form makes of a record the texts of some columns by name, which a map then reads as those of any table (key
``form``). The names are those that the system has itself; the columns that a form puts together are listed in `FORMS`.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TextIO

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.importers.records import LONGEST
from hdeeprm_like.values import Whole, whole_in

Record = tuple[int, Mapping[str, str]]  # the number of a line, and texts by the names of their columns

PBS_SETTING = re.compile(r"(\S+?)=(\"[^\"]*\"|\S*)")
SIZE = re.compile(r"(\d+)([kmgtp]?)[bw]?", re.IGNORECASE)
KB = {"": 1.0 / 1024.0, "k": 1.0, "m": 1024.0, "g": 1024.0**2, "t": 1024.0**3, "p": 1024.0**4}
PBS_ENDS = {"0": "COMPLETED", "-29": "TIMEOUT", "271": "CANCELLED", "265": "CANCELLED"}  # by the status of the job
PBS_NO_PROJECT = "_pbs_project_default"
PROCESSORS = re.compile(r"(?:(\d+)|[^:+\s]+)((?::[^:+\s]+)*)")  # a part of Torque's nodes=2:ppn=8+n7:ppn=4
LSF_PART = re.compile(r"\"((?:[^\"]|\"\")*)\"|(\S+)")
LSF_FIRST = (
    *("event", "version", "eventTime", "jobId", "userId", "options", "numProcessors", "submitTime", "beginTime"),
    *("termTime", "startTime", "userName", "queue", "resReq", "dependCond", "preExecCmd", "fromHost", "cwd", "inFile"),
    *("outFile", "errFile", "jobFile"),
)
LSF_RUSAGE = 19  # figures behind the command
LSF_LAST = (
    *("mailUser", "projectName", "exitStatus", "maxNumProcessors", "loginShell", "timeEvent", "idx", "maxRMem"),
    *("maxRSwap", "inFileSpool", "commandSpool", "rsvId", "sla", "exceptMask", "additionalInfo", "exitInfo"),
    *("warningAction", "warningTimePeriod", "chargedSAAP", "licenseProject", "app", "postExecCmd", "runtimeEstimation"),
    *("jobGroupName", "requeueEvalues", "options2", "resizeNotifyCmd", "lastResizeTime", "rsvId2", "jobDescription"),
)
LSF_ENDS = {"64": "COMPLETED", "32": "FAILED"}
LSF_HOST_FIGURES = (5, 6)  # of each host's use, by the version
QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(m|k|M|G|T|Ki|Mi|Gi|Ti|)")
SCALE = {
    **{"": 1.0, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12},
    **{"Ki": 1024.0, "Mi": 1024.0**2, "Gi": 1024.0**3, "Ti": 1024.0**4},
}
MOST_BYTES = 2**30
STARTED = ("Admitted", "Running")  # conditions, or phases of Volcano
ENDED = {
    "Finished": "",
    "Completed": "COMPLETED",
    "Failed": "FAILED",
    "Aborted": "CANCELLED",
    "Terminated": "CANCELLED",
}


def pbs_records(lines: TextIO, report: Account) -> Iterator[Record]:
    """Yield the jobs that ended: the lines ``DATE;E;JOB;NAME=VALUE ...`` of PBS Professional, OpenPBS and Torque."""
    for number, line in _lines(lines, report):
        parts = line.split(";", 3)
        if len(parts) < 4:
            report.jobs += 1
            report.leave_out("lines that are no record of PBS", line=number)
            continue
        if parts[1] != "E":
            continue  # queued, started, deleted, requeued: the job has a line of its end, or none
        found = {name: value.strip('"') for name, value in PBS_SETTING.findall(parts[3])}
        job = parts[2].split(".", 1)[0]
        cpus, gpus, nodes = pbs_resources(found)
        ended = found.get("Exit_status", "")
        made = {
            **{"job": job, "cpus": cpus, "gpus": gpus, "nodes": nodes},
            "state": PBS_ENDS.get(ended, "FAILED") if ended else "UNKNOWN",
            "memory": _kilobytes(found.get("Resource_List.mem", "")),
            "used_memory": _each(_kilobytes(found.get("resources_used.mem", "")), whole_in(cpus)),
        }
        if found.get("project") == PBS_NO_PROJECT:
            del found["project"]
        yield number, found | made


def pbs_resources(found: Mapping[str, str]) -> tuple[str, str, str]:
    """Return CPUs, GPUs and nodes of a job by what PBS or Torque has of them; empty where it has nothing.

    Torque writes its default ``Resource_List.ncpus=1`` beside ``nodes=2:ppn=8``, so the CPUs are, in this order: those
    of ``nodes`` if it names any ``ppn``; the slots in ``exec_host`` if they are more; ``ncpus``; ``procs``; one a node.
    """
    asked = found.get("Resource_List.nodes") or found.get("Resource_List.neednodes", "")
    count, named = {"ppn": 0, "gpus": 0}, False
    for part in asked.split("+"):
        if match := PROCESSORS.fullmatch(part):
            settings = dict(one.split("=", 1) for one in match[2].split(":") if "=" in one)
            named = named or "ppn" in settings
            for name in count:
                own = settings.get(name, "1" if name == "ppn" else "0")
                count[name] += int(match[1] or 1) * (int(own) if own.isdecimal() and len(own) < 9 else 0)
    slots = exec_slots(found.get("exec_host", ""))
    counted = ("Resource_List.ncpus", "total_execution_slots", "Resource_List.procs")
    other = next((found[name] for name in counted if found.get(name)), str(count["ppn"] or slots or ""))
    more = slots > 1 and other.isdecimal() and slots > int(other[:9])
    cpus = str(count["ppn"]) if named else str(slots) if more else other
    gpus = found.get("Resource_List.ngpus", "") or str(count["gpus"] or "")
    return cpus, gpus, found.get("Resource_List.nodect", "") or found.get("unique_node_count", "")


def exec_slots(text: str) -> int:
    """Return the slots that a job had: ``n1/0+n1/1``, ``n1/0-7+n2/0,2``, or ``n1/0*8`` of PBS Professional."""
    slots = 0
    for part in filter(None, text.split("+")):
        listed, _, times = part.partition("/")[2].partition("*")
        many = int(times) if times.isdecimal() and len(times) < 9 else 1
        for one in listed.split(","):
            first, _, last = one.partition("-")
            known = first.isdecimal() and last.isdecimal() and max(len(first), len(last)) < 9
            slots += many * (max(int(last) - int(first) + 1, 1) if known else 1)
    return slots


def lsf_records(lines: TextIO, report: Account) -> Iterator[Record]:
    """Yield the jobs of an ``lsb.acct``: its records JOB_FINISH, to which versions add fields at the end."""
    for number, line in _lines(lines, report):
        parts = [(quoted.replace('""', '"') or bare, not bare) for quoted, bare in LSF_PART.findall(line)]
        if not parts or parts[0][0] != "JOB_FINISH":
            continue  # reservations, and other events
        try:
            yield number, lsf_fields(parts)
        except (IndexError, ValueError):
            report.jobs += 1
            report.leave_out("records JOB_FINISH that are cut off, or have a form that is not known", line=number)


def lsf_fields(parts: list[tuple[str, bool]]) -> dict[str, str]:
    """Return the fields of a record JOB_FINISH by their names.

    Args:
        parts: texts, and whether each is quoted.

    Raises:
        IndexError, ValueError: it has fewer, or others.
    """
    texts = [text for text, _ in parts]
    found = dict(zip(LSF_FIRST, texts, strict=False))
    place = len(LSF_FIRST)
    place += 1 + _count(texts[place])
    hosts = texts[place + 1 : place + 1 + _count(texts[place])]
    place += 1 + len(hosts)
    status, found["jobName"] = texts[place], texts[place + 2]
    place += 4 + LSF_RUSAGE
    found |= dict(zip(LSF_LAST, texts[place:], strict=False))
    if not (texts[place + 2].lstrip("-").isdecimal() and parts[place][1] and parts[place + 1][1]):
        raise ValueError("what comes behind the use of resources is not there")
    slots = [one.split("*", 1) if one.partition("*")[0].isdecimal() else ["1", one] for one in hosts]  # 4*n1, or n1
    cpus = sum(int(many) for many, _ in slots)
    index = found.get("idx", "0")
    return found | {
        "job": found["jobId"] if index == "0" else f"{found['jobId']}[{index}]",
        "cpus": str(cpus or ""),
        "nodes": str(len({host for _, host in slots}) or ""),
        "state": LSF_ENDS.get(status, "UNKNOWN"),
        "runLimit": _run_limit(parts[place + len(LSF_LAST) :]),
        "used_memory": _each(found.get("maxRMem", ""), cpus),
        "eligible": found["beginTime"] if int(found["beginTime"]) > int(found["submitTime"]) else "",
    }


def _run_limit(parts: list[tuple[str, bool]]) -> str:
    """Return the limit of the run time in s, which stands behind the use of each host; empty where there is none."""
    texts = [text for text, _ in parts]
    try:
        place = 1 + 2 * _count(texts[0])
        hosts = _count(texts[place])
        for figures in LSF_HOST_FIGURES:
            options, limit, memory, resources = parts[place + 1 + hosts * figures :][:4]
            numbers = all(not quoted and text.lstrip("-").isdecimal() for text, quoted in (options, limit, memory))
            if numbers and resources[1]:
                return limit[0] if not limit[0].startswith("-") and limit[0] != "0" else ""
    except (IndexError, ValueError):
        pass
    return ""


THINGS = Whole(0, 999_999)


def _count(text: str) -> int:
    """Return a number of things that follow.

    Raises:
        ValueError: it is none.
    """
    return THINGS.in_text(text, ValueError)


def _kilobytes(text: str) -> str:
    """Return the KB of ``32gb``; empty where it is no size."""
    match = SIZE.fullmatch(text)
    return f"{int(match[1]) * KB[match[2].lower()]:.0f}" if match and len(match[1]) < 16 else ""


def _each(kilobytes: str, cpus: int) -> str:
    """Return the KB for each CPU of the KB of a job; empty where either is not known."""
    return f"{int(kilobytes) // cpus}" if kilobytes.isdecimal() and cpus > 0 else ""


def _lines(lines: TextIO, report: Account) -> Iterator[tuple[int, str]]:
    """Yield the number of each line that is not empty, and the line."""
    for number, line in enumerate(iter(lambda: lines.readline(LONGEST), ""), 1):
        report.lines = number
        if line.strip():
            yield number, line.strip()


def kubernetes_records(lines: TextIO, report: Account) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the workloads of Kueue and jobs of Volcano that are finished, as ``kubectl get ... -o json`` prints them.

    A workload arrives when it is created, starts when it is admitted (Kueue) or running (Volcano), and ends when it is
    finished. It asks for the CPUs and GPUs of all its pods; a part of a CPU counts as a whole one.

    Raises:
        WorkloadError: it is no list of workloads.
    """
    text = lines.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise WorkloadError(f"{report.source}: holds more than {MOST_BYTES:,} characters; import it in parts")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise WorkloadError(f"{report.source}: is no JSON, as kubectl get workloads -A -o json prints it") from None
    entries = content.get("items") if isinstance(content, dict) else None
    if not isinstance(entries, list):
        raise WorkloadError(f"{report.source}: has no list of items, as kubectl get workloads -A -o json prints it")
    report.lines = text.count("\n") + 1
    for number, entry in enumerate(entries, 1):
        try:
            found = workload(entry)
        except (AttributeError, TypeError, ValueError, KeyError):
            report.jobs += 1
            report.leave_out("items that are no workload of Kueue or job of Volcano")
            continue
        yield number, found


def workload(entry: Any) -> dict[str, str]:
    """Return the texts of a workload of Kueue, or of a job of Volcano, by the names of their columns.

    Raises:
        AttributeError, TypeError, ValueError, KeyError: it is none.
    """
    meta, spec, status = entry["metadata"], entry["spec"], entry.get("status") or {}
    sets = spec.get("podSets") or [{**task, "count": task.get("replicas", 1)} for task in spec["tasks"]]
    cpus = gpus = memory = pods = 0.0
    for one in sets:
        count = int(one.get("count", 1))
        pods += count
        found = requested(one["template"]["spec"])
        cpus, memory, gpus = cpus + count * found["cpu"], memory + count * found["memory"], gpus + count * found["gpu"]
    started, ended, state = "", "", ""
    for condition in status.get("conditions") or ():
        kind = condition.get("type") or condition.get("status")
        if condition.get("type") and condition.get("status") != "True":
            continue
        if kind in STARTED and not started:
            started = condition["lastTransitionTime"]
        elif kind in ENDED:
            ended = condition["lastTransitionTime"]
            failed = "fail" in f"{condition.get('reason', '')} {condition.get('message', '')}".lower()
            state = ENDED[kind] or ("FAILED" if failed else "COMPLETED")
    return {
        **{"name": meta["name"], "user": meta.get("namespace", ""), "submit": meta["creationTimestamp"]},
        **{"queue": spec.get("queueName") or spec.get("queue", ""), "start": started, "end": ended},
        **{"state": state or "RUNNING", "cpus": str(max(math.ceil(cpus - 1e-9), 1)), "gpus": f"{gpus:g}"},
        **{"memory": f"{memory / 1024.0:.0f}" if memory else "", "pods": f"{pods:.0f}"},
        "limit": str(spec.get("maximumExecutionTimeSeconds") or ""),
    }


def requested(pod: Any) -> Counter[str]:
    """Return CPUs, bytes of memory and GPUs that a pod requests, as Kubernetes counts its containers.

    Those of an init container, which run one after the other before the others, count where they are more than all
    others together; those that are restarted always (sidecars) stay beside the others.
    """
    together, most = Counter[str](), Counter[str]()
    for container in pod.get("initContainers") or ():
        own = of_container(container)
        if container.get("restartPolicy") == "Always":
            together += own
            most |= together
        else:
            most |= together + own
    for container in pod["containers"]:
        together += of_container(container)
    return together | most


def of_container(container: Any) -> Counter[str]:
    """Return CPUs, bytes of memory and GPUs that a container requests, else those that it is limited to."""
    resources = container.get("resources") or {}
    amounts = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    gpus = sum(quantity(value) for name, value in amounts.items() if name.endswith("/gpu"))
    found = {"cpu": quantity(amounts.get("cpu", "0")), "memory": quantity(amounts.get("memory", "0")), "gpu": gpus}
    return Counter[str](found)


def quantity(text: object) -> float:
    """Return the number of ``500m``, ``4`` or ``16Gi``.

    Raises:
        ValueError: it is none.
    """
    match = QUANTITY.fullmatch(str(text))
    if match is None:
        raise ValueError(text)
    return float(match[1]) * SCALE[match[2]]


class Form(NamedTuple):
    """A form of a log: the function that reads it, and one of its lines for messages."""

    records: Callable[[TextIO, Account], Iterator[Record]]
    example: str


FORMS = {
    "pbs": Form(pbs_records, "DATE TIME;E;JOB;user=... queue=... qtime=... start=... end=..."),
    "lsf": Form(lsf_records, '"JOB_FINISH" "10.1" ... of an lsb.acct'),
    "kubernetes": Form(kubernetes_records, "what kubectl get workloads -A -o json prints"),
}
