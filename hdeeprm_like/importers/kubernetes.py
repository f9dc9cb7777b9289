"""Workloads of Kueue and jobs of Volcano, as ``kubectl get ... -o json`` prints them.

A workload arrives when it is created, starts when it is admitted (Kueue) or running (Volcano), and ends when it is
finished. It asks for the CPUs and GPUs of all its pods; a part of a CPU counts as a whole one.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.errors import WorkloadError

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


def kubernetes_records(lines: TextIO, report: Account) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the workloads that are finished.

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
