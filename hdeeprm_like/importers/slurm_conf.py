"""A cluster as its ``slurm.conf`` describes it."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.formats.partitions_json import MODELLED
from hdeeprm_like.importers import fields
from hdeeprm_like.importers.machine import Machine, Node, Partition, expand, gpus_of, less_reserved
from hdeeprm_like.inputs import read_text
from hdeeprm_like.values import INDEX, whole_in

SETTING = re.compile(r"([A-Za-z][\w/]*)\s*[+*]?=\s*(\"[^\"]*\"|\S*)")
COMMENT = re.compile(r"(?<!\\)#.*")
DEPTH = 10  # of files that include others

ENTRIES = ("nodename", "partitionname", "nodeset", "downnodes", "frontendname", "switchname")
TIMES = {"maxtime": "MaxTime", "defaulttime": "DefaultTime"}
NUMBERS = {
    **{"prioritytier": "PriorityTier", "priorityjobfactor": "PriorityJobFactor", "defmempercpu": "DefMemPerCPU"},
    **{"defmempernode": "DefMemPerNode", "maxmempercpu": "MaxMemPerCPU", "maxmempernode": "MaxMemPerNode"},
    **{"maxnodes": "MaxNodes", "minnodes": "MinNodes", "maxcpuspernode": "MaxCPUsPerNode", "gracetime": "GraceTime"},
    **{"maxcpuspersocket": "MaxCPUsPerSocket", "defmempergpu": "DefMemPerGPU"},
}
TEXTS = {
    **{"default": "Default", "state": "State", "oversubscribe": "OverSubscribe", "shared": "OverSubscribe"},
    **{"exclusiveuser": "ExclusiveUser", "exclusivetopo": "ExclusiveTopo", "qos": "QOS", "preemptmode": "PreemptMode"},
    **{"allowqos": "AllowQos", "allowaccounts": "AllowAccounts", "allowgroups": "AllowGroups", "lln": "LLN"},
    **{"denyqos": "DenyQos", "denyaccounts": "DenyAccounts", "tresbillingweights": "TRESBillingWeights"},
    **{"overtimelimit": "OverTimeLimit", "jobdefaults": "JobDefaults", "selecttypeparameters": "SelectTypeParameters"},
}
NO_LIMIT = {"unlimited", "infinite", "none", "(null)", "n/a", ""}
SCHEDULING = re.compile(
    r"priority\w*|sched\w*|preempt\w*|select\w*|defmem\w*|maxmem\w*|defcpu\w*|overtimelimit|killwait|maxarraysize|"
    r"maxjobcount|fairsharedampeningfactor|enforcepartlimits|accountingstorageenforce|jobrequeue|batchstarttimeout|licenses|"
    r"completewait|epilog",
    re.IGNORECASE,
)
SPANS = {"prioritymaxage", "prioritydecayhalflife", "prioritycalcperiod"}


def read_slurm_conf(path: Path, report: Account) -> Machine:
    """Read a configuration and the files that it includes; the report lists missing ones.

    Raises:
        PlatformError: the file is no such configuration.
    """
    machine = Machine()
    report.unit = "nodes"
    reader = _Reader(machine, report)
    for where, line in _lines(path, report):
        reader.take(line, where)
    if not reader.settings and not machine.nodes:
        raise PlatformError(f"{path}: is no slurm.conf: it has no line as NodeName=n[1-4] CPUs=8")
    if reader.wrong and machine.nodes:
        raise PlatformError(reader.wrong)
    if not machine.nodes and ("maxnodecount" in reader.settings or reader.sets):
        report.note("they register themselves, so import scontrol reads them from what scontrol show nodes prints")
    reader.finish()
    return machine


def _lines(path: Path, report: Account, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield where each line stands and what is left of it without comments, lines that go on put together."""
    text = read_text(path, PlatformError, errors="replace")
    if "\0" in text:
        raise PlatformError(f"{path}: is no text")
    begun, first = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        report.lines += 1
        line = COMMENT.sub("", raw).rstrip()
        first = first if begun else number
        if line.endswith("\\"):
            begun += line[:-1]
            continue
        line, begun = (begun + line).strip(), ""
        if not line:
            continue
        word, _, name = line.partition(" ")
        if word.lower() == "include" and "=" not in word and depth < DEPTH:
            yield from _included(path, name.strip().strip('"'), report, depth)
        else:
            yield f"{path}:{first}", line


def _included(path: Path, name: str, report: Account, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the lines of an included file, which may have been copied to the side of that which includes it."""
    for place in (Path(name) if name.startswith("/") else path.parent / name, path.parent / Path(name).name):
        if place.is_file():
            yield from _lines(place, report, depth + 1)
            return
    report.note(f"includes {name[:80]}, which is not here; put it beside {path.name} to have it read")


class _Reader:
    """Takes the lines of a configuration one after the other, with the defaults that are in force."""

    def __init__(self, machine: Machine, report: Account) -> None:
        self.machine, self.report = machine, report
        self.wrong = ""  # the first word that is no setting
        self.settings: dict[str, str] = {}
        self.named: dict[str, str] = {}  # settings as they are written
        self.node_defaults: dict[str, str] = {}
        self.partition_defaults: dict[str, str] = {}
        self.sets: dict[str, dict[str, str]] = {}
        self.partitions: list[tuple[str, dict[str, str], str]] = []

    def take(self, line: str, where: str) -> None:
        found = [(key, value.strip('"')) for key, value in SETTING.findall(line)]
        rest = SETTING.sub(" ", line).split()
        if rest:
            self.wrong = self.wrong or f"{where}: {rest[0][:40]!r} has no '=', so Slurm would not start with it"
        if not found:
            return
        entry, name = found[0][0].lower(), found[0][1]
        settings = {key.lower(): value for key, value in found[1:]}
        if entry == "nodename" and name.upper() == "DEFAULT":
            self.node_defaults |= settings
        elif entry == "nodename":
            self._add_nodes(name, self.node_defaults | settings, where)
        elif entry == "partitionname" and name.upper() == "DEFAULT":
            self.partition_defaults |= settings
        elif entry == "partitionname":
            self.partitions.append((name, self.partition_defaults | settings, where))
        elif entry == "nodeset":
            self.sets[name] = settings
        elif entry not in ENTRIES:
            self.settings |= {key.lower(): value for key, value in found}
            self.named |= {key.lower(): key for key, _ in found}

    def _add_nodes(self, names: str, settings: Mapping[str, str], where: str) -> None:
        hosts = expand(names, where)
        if settings.get("state", "").upper().startswith("FUTURE"):
            self.report.leave_out("nodes of State=FUTURE, which do not exist yet", len(hosts))
            return
        node = make_node(settings, where, self.report)
        self.machine.nodes |= dict.fromkeys(hosts, node)

    def finish(self) -> None:
        """Make the partitions, whose nodes may come behind them, and what is scheduled by."""
        machine = self.machine
        machine.name = self.settings.get("clustername") or machine.name
        for names, settings, where in self.partitions:
            hosts = self._hosts(settings.get("nodes", ""), where)
            unknown = [host for host in hosts if host not in machine.nodes]
            if unknown:
                self.report.note(
                    f"{where}: partition {names}: {len(unknown):,} nodes are not defined, as {unknown[0]!r}"
                )
            nodes = tuple(host for host in hosts if host in machine.nodes)
            for name in names.split(","):
                machine.partitions.append(make_partition(name, nodes, settings, self.settings, where))
        machine.scheduling = scheduling_of(self.settings, self.named)
        ignore_weights(machine.scheduling, self.settings, self.report)
        self._note_parameters(machine.scheduling)
        self._note_suspension()

    def _note_suspension(self) -> None:
        """Note what of the suspension of jobs has no part in the model."""
        partitions = [own for _, own, _ in self.partitions]
        if not any("suspend" in own.get("preemptmode", "").lower() for own in (self.settings, *partitions)):
            return
        note = self.report.note
        if self.settings.get("preempttype", "").lower() != "preempt/partition_prio":
            note("PreemptMode=SUSPEND is modelled with PreemptType=preempt/partition_prio only: no job is suspended")
        shared = {own.get("oversubscribe", own.get("shared", "NO")).upper() for own in partitions}
        if shared - {"FORCE:1", "NO", "EXCLUSIVE"}:
            note("OverSubscribe: jobs that take turns on a core are not modelled")

    def _note_parameters(self, scheduling: Mapping[str, Any]) -> None:
        """Note the parameters of the scheduler that have no name, no sense, or no part in the model."""
        name = self.named.get("schedulerparameters", "")
        found = scheduling.get(name, {})
        without = [part for part in _parts(self.settings.get(name.lower(), "")) if part.startswith("=")]
        if without:
            self.report.note(f"{name}: {without[0][:40]!r} has no name and is left out; write bf_interval=30")
        wrong = [f"{key}={found[key]}"[:40] for key in MODELLED if type(found.get(key, 0)) not in (int, float)]
        if wrong:
            self.report.note(f"{name}: {', '.join(wrong)}: a number is needed; Slurm's default counts")
        others = sorted(set(found) - set(MODELLED))
        if others:
            self.report.note(f"{name}: kept, but not modelled: {', '.join(others)}")

    def _hosts(self, text: str, where: str) -> list[str]:
        if text.upper() == "ALL":
            return list(self.machine.nodes)
        hosts: list[str] = []
        for part in re.split(r",(?![^\[]*\])", text):
            chosen = self.sets.get(part)
            if part.upper() == "ALL":
                hosts += self.machine.nodes
            elif chosen is None:
                hosts += expand(part, where)
            else:
                feature = chosen.get("feature", chosen.get("features"))
                hosts += [name for name, node in self.machine.nodes.items() if feature in node.features]
                hosts += self._hosts(chosen.get("nodes", ""), where)
        return list(dict.fromkeys(hosts))


def make_node(settings: Mapping[str, str], where: str, report: Account) -> Node:
    """Make a node of settings by their names in lower letters.

    Raises:
        PlatformError: a value makes no sense.
    """

    def number(*names: str, otherwise: int) -> int:
        text = next((settings[name] for name in names if settings.get(name)), None)
        if text is None:
            return otherwise
        return INDEX.in_text(text, PlatformError, where, names[0])

    told = number("cpus", "procs", otherwise=0)
    threads = max(number("threadspercore", otherwise=1), 1)
    cores = max(number("corespersocket", otherwise=1), 1)
    boards = number("boards", otherwise=1)
    sockets = number("sockets", otherwise=0) or boards * number("socketsperboard", otherwise=0)
    sockets = sockets or max(told // (cores * threads), 1)
    cpus = sockets * cores * threads
    if told and told not in (cpus, sockets * cores, sockets):
        report.note(
            f"{where}: CPUs={told}, but sockets, cores and threads make {cpus}, which counts as it does in Slurm"
        )
    elif told:
        cpus = told
    spec = settings.get("cpuspeclist", "")
    listed = len(expand(f"x[{spec}]", where)) if spec and spec != "(null)" else 0
    gres = settings.get("gres", "").replace("(null)", "")
    features = settings.get("features", settings.get("feature", "")).replace("(null)", "")
    node = Node(
        cpus=cpus,
        sockets=sockets,
        cores=cores,
        threads=threads,
        memory=number("realmemory", otherwise=1),
        gpus=gpus_of(gres),
        gres=gres,
        features=tuple(name for name in features.split(",") if name),
        weight=number("weight", otherwise=1),
    )
    kept = number("corespeccount", otherwise=0), number("memspeclimit", otherwise=0)
    return less_reserved(node, kept[0], listed, kept[1]) if listed or any(kept) else node


def make_partition(
    name: str, nodes: tuple[str, ...], settings: Mapping[str, str], cluster: Mapping[str, str], where: str
) -> Partition:
    """Make a partition of settings by their names in lower letters; *cluster* has those of all partitions.

    Raises:
        PlatformError: a time makes no sense.
    """
    found: dict[str, Any] = {"MaxTime": None, "DefaultTime": None, "PriorityTier": 1, "DefMemPerCPU": None}
    if (megabytes := whole_in(cluster.get("defmempercpu", ""))) >= 0:
        found["DefMemPerCPU"] = megabytes
    if (priority := whole_in(settings.get("priority", ""))) >= 0:  # what both were called before Slurm 16
        found["PriorityTier"] = found["PriorityJobFactor"] = priority
    for key, text in settings.items():
        if key in TIMES:
            try:
                limit = None if text.lower() in NO_LIMIT else fields.time_limit(text)
            except ValueError:
                raise PlatformError(
                    f"{where}: {TIMES[key]}: is {text[:40]!r}; a time as 1-12:00:00 is needed"
                ) from None
            found[TIMES[key]] = None if limit is None or limit < 0 else limit
        elif key in NUMBERS:
            found[NUMBERS[key]] = None if text.lower() in NO_LIMIT else text if whole_in(text) < 0 else whole_in(text)
        elif key in TEXTS and text.lower() not in NO_LIMIT:
            found[TEXTS[key]] = text
    return Partition(name, nodes, found)


def scheduling_of(settings: Mapping[str, str], named: Mapping[str, str]) -> dict[str, Any]:
    """Return what jobs are scheduled by: weights of priorities as numbers, parameters by name, times in s."""
    found: dict[str, Any] = {}
    for key, text in settings.items():
        if SCHEDULING.fullmatch(key) is None:
            continue
        name = named.get(key, key)
        if key in ("schedulerparameters", "priorityweighttres", "preemptparameters"):
            found[name] = _parameters(text)
        elif key in SPANS and text.lower() not in NO_LIMIT:
            try:
                found[name] = fields.time_limit(text)
            except ValueError:
                found[name] = text
        else:
            found[name] = _value(text)
    return found


def ignore_weights(scheduling: dict[str, Any], settings: Mapping[str, str], report: Account) -> None:
    """Take out the weights of age and fair share where no slurmdbd keeps accounts: Slurm ignores them there.

    Args:
        settings: of the cluster, by their names in lower letters.
    """
    told = settings.get("accountingstoragetype", "").lower()
    whole = any(name in settings for name in ("slurmctldhost", "controlmachine"))  # and not some lines of a file
    if told.endswith("slurmdbd") or "accountingstorageenforce" in settings or not (told or whole):
        return
    for name in list(scheduling):
        if name.lower() in ("priorityweightage", "priorityweightfairshare") and scheduling[name]:
            scheduling[name] = 0
            report.note(f"{name}: Slurm ignores it where AccountingStorageType is not accounting_storage/slurmdbd")


def _parameters(text: str) -> dict[str, Any]:
    """Return ``{"bf_window": 2880, "bf_continue": true}`` of ``bf_window=2880,bf_continue``."""
    split = [part.partition("=") for part in _parts(text) if not part.startswith("=")]
    return {name: _value(value) if equals else True for name, equals, value in split}


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip() and part.strip() != "(null)"]


def _value(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        try:
            value = float(text)
        except ValueError:
            return None if text in ("(null)", "") else text
        return value if abs(value) < float("inf") else text
