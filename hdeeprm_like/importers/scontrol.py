"""A cluster as a running Slurm shows it: ``scontrol show nodes``, ``partitions`` and ``config``, also as JSON."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.importers.machine import Machine, Partition, expand
from hdeeprm_like.importers.slurm_conf import ignore_weights, make_node, make_partition, scheduling_of
from hdeeprm_like.inputs import read_document
from hdeeprm_like.values import whole_in

PAIR = re.compile(r"(?:^|(?<=\s))([A-Za-z][\w:/]*)=")
CONFIG = re.compile(r"^([A-Za-z][\w/]*)\s+=\s?(.*)$")
AWAY = ("DOWN", "DRAIN", "FAIL", "POWERED_DOWN", "NOT_RESPONDING")

NODE_KEYS = {"cputot": "cpus", "availablefeatures": "features"}  # by how scontrol calls what slurm.conf calls so
JSON_NODE = {
    **{"cpus": "cpus", "sockets": "sockets", "cores": "corespersocket", "threads": "threadspercore"},
    **{"real_memory": "realmemory", "gres": "gres", "features": "features", "weight": "weight"},
    **{"state": "state", "partitions": "partitions", "effective_cpus": "cpuefctv"},
    **{"specialized_memory": "memspeclimit", "memory_spec_limit": "memspeclimit"},
}
JSON_PARTITION = {  # path in the JSON of a newer Slurm, or the name in that of an older one
    "nodes": ("nodes.configured", "nodes"),
    "maxtime": ("maximums.time", "max_time_limit"),
    "defaulttime": ("defaults.time", "default_time_limit"),
    "prioritytier": ("priority.tier", "priority_tier"),
    "priorityjobfactor": ("priority.job_factor", "priority_job_factor"),
    "defmempercpu": ("defaults.partition_memory_per_cpu", "defaults.memory_per_cpu", "default_memory_per_cpu"),
    "defmempernode": ("defaults.partition_memory_per_node", "default_memory_per_node"),
    "maxmempercpu": ("maximums.partition_memory_per_cpu", "maximums.memory_per_cpu", "maximum_memory_per_cpu"),
    "maxnodes": ("maximums.nodes", "maximum_nodes_per_job"),
    "minnodes": ("minimums.nodes", "min_nodes_per_job"),
    "maxcpuspernode": ("maximums.cpus_per_node", "maximum_cpus_per_node"),
    "state": ("partition.state", "state"),
    "qos": ("qos.assigned", "qos"),
    "allowqos": ("qos.allowed", "allowed_qos"),
    "allowaccounts": ("accounts.allowed", "allowed_accounts"),
    "allowgroups": ("groups.allowed", "allowed_groups"),
}
UNSET = {4294967295, 4294967294, 2**64 - 1, 2**64 - 2}


def read_scontrol(paths: Sequence[Path], report: Account) -> Machine:
    """Read what scontrol printed into one or several files, in any order.

    Raises:
        PlatformError: a file is nothing of the kind.
    """
    machine = Machine()
    report.unit = "nodes"
    nodes: dict[str, dict[str, str]] = {}
    partitions: dict[str, dict[str, str]] = {}
    config: dict[str, str] = {}
    for path in paths:
        text = read_document(path, PlatformError, errors="replace")
        report.lines += text.count("\n") + (not text.endswith("\n"))
        before = len(nodes) + len(partitions) + len(config)
        if text.lstrip()[:1] == "{":
            _take_json(text, path, nodes, partitions)
        else:
            _take_text(text, nodes, partitions, config)
        if len(nodes) + len(partitions) + len(config) == before:
            raise PlatformError(f"{path}: is nothing that scontrol show nodes or scontrol show partitions prints")
    settings = {key.lower(): value for key, value in config.items()}
    machine.name = settings.get("clustername") or machine.name
    machine.scheduling = scheduling_of(settings, {key.lower(): key for key in config})
    ignore_weights(machine.scheduling, settings, report)
    where = str(paths[0]) if len(paths) == 1 else "scontrol"
    _add_nodes(machine, nodes, where, report)
    _add_partitions(machine, nodes, partitions, settings, where, report)
    return machine


def _take_text(text: str, nodes: dict[str, Any], partitions: dict[str, Any], config: dict[str, str]) -> None:
    for block in _blocks(text):
        pairs = {key.lower(): value for key, value in _pairs(block)}
        if "nodename" in pairs:
            nodes.setdefault(pairs["nodename"], {}).update(pairs)
        elif "partitionname" in pairs:
            partitions.setdefault(pairs["partitionname"], {}).update(pairs)
        else:
            config.update((match[1], match[2].strip()) for line in block.splitlines() if (match := CONFIG.match(line)))


def _blocks(text: str) -> Iterator[str]:
    """Yield the text of each node or partition, and what stands before them."""
    begins = [0, *(match.start() for match in re.finditer(r"^(NodeName|PartitionName)=", text, re.MULTILINE))]
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
        if text[begin:end].strip():
            yield text[begin:end]


def _pairs(block: str) -> Iterator[tuple[str, str]]:
    """Yield name and value; a value may hold blanks and reaches to the next name."""
    found = list(PAIR.finditer(block))
    ends = [match.start() for match in found[1:]] + [len(block)]
    for match, end in zip(found, ends, strict=False):
        yield match[1], " ".join(block[match.end() : end].split())


def _take_json(text: str, path: Path, nodes: dict[str, Any], partitions: dict[str, Any]) -> None:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PlatformError(f"{path}: not valid JSON: {error}") from None
    for one in _objects(content, "nodes"):
        told = {ours: _text(one.get(theirs)) for theirs, ours in JSON_NODE.items()}
        nodes[_text(one.get("name"))] = {key: value for key, value in told.items() if value}
    for one in _objects(content, "partitions"):
        settings = {}
        for key, places in JSON_PARTITION.items():
            value = next((found for place in places if (found := _text(_at(one, place)))), "")
            if value:
                settings[key] = value
        partitions[_text(one.get("name"))] = settings


def _objects(content: Any, key: str) -> list[dict[str, Any]]:
    found = content.get(key) if isinstance(content, dict) else None
    if isinstance(found, dict):  # an older Slurm numbers them
        found = list(found.values())
    return [one for one in found if isinstance(one, dict) and one.get("name")] if isinstance(found, list) else []


def _at(content: Mapping[str, Any], path: str) -> Any:
    value: Any = content
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _text(value: Any) -> str:
    """Return a value of Slurm's JSON as its configuration would have it; empty where it is not set."""
    if isinstance(value, dict):
        if value.get("infinite"):
            return "UNLIMITED"
        return _text(value.get("number")) if value.get("set", True) else ""
    if isinstance(value, list):
        return ",".join(map(_text, value))
    if value is None or isinstance(value, bool) or value in UNSET or (isinstance(value, int) and value < 0):
        return ""
    return str(int(value) if isinstance(value, float) and value == int(value) else value)


def _add_nodes(machine: Machine, nodes: Mapping[str, dict[str, str]], where: str, report: Account) -> None:
    away = 0
    for names, told in nodes.items():
        settings = {NODE_KEYS.get(key, key): value for key, value in told.items()}
        state = settings.get("state", "").upper()
        hosts = expand(names, where)
        if "FUTURE" in state:
            report.leave_out("nodes of state FUTURE, which do not exist yet", len(hosts))
            continue
        away += len(hosts) if any(word in state for word in AWAY) else 0
        effective = settings.get("cpuefctv", "")
        total = settings.get("cpus", "")
        if 0 < whole_in(effective) < whole_in(total):
            settings["cpuspeclist"] = f"1-{int(total) - int(effective)}"
            settings.pop("corespeccount", None)
        machine.nodes |= dict.fromkeys(hosts, make_node(settings, f"{where}: {names}", report))
    if away:
        report.note(f"{away:,} nodes were down, drained or switched off; they are part of the machine all the same")


def _add_partitions(
    machine: Machine,
    nodes: Mapping[str, dict[str, str]],
    partitions: Mapping[str, dict[str, str]],
    cluster: Mapping[str, str],
    where: str,
    report: Account,
) -> None:
    if not partitions:
        members: dict[str, list[str]] = {}
        for names, told in nodes.items():
            for partition in filter(None, told.get("partitions", "").split(",")):
                members.setdefault(partition, []).extend(expand(names, where))
        machine.partitions = [Partition(name, tuple(hosts)) for name, hosts in members.items()]
        if members:
            report.note("what partitions allow is in scontrol show partitions, which was not given")
        return
    for name, told in partitions.items():
        hosts = [host for host in expand(told.get("nodes", "").replace("(null)", ""), where) if host]
        known = tuple(host for host in hosts if host in machine.nodes)
        if len(known) < len(hosts) and machine.nodes:
            report.note(f"partition {name}: {len(hosts) - len(known):,} nodes are not among those shown")
        machine.partitions.append(make_partition(name, known, told, cluster, where))
