"""Limits, shares and QOS of a cluster as ``sacctmgr -P show assoc`` and ``sacctmgr -P show qos`` print them.

An account's ``Grp`` limits are of all jobs of the accounts below it, too. Other limits of an account are those of its
users, and their own lines show them. A QOS that a partition names has its limits for all jobs of that partition.

Source: documentation of Slurm 22.05 ("Resource Limits", ``sacctmgr``).
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.importers.machine import Machine
from hdeeprm_like.inputs import read_text
from hdeeprm_like.values import Whole

GROUPED = {"grptres": "GrpTRES", "grpjobs": "GrpJobs"}
OF_USER = {**GROUPED, "maxjobs": "MaxJobs", "maxtres": "MaxTRES", "maxtresperjob": "MaxTRES"}
OF_QOS = {
    **GROUPED,
    **dict.fromkeys(("maxtres", "maxtresperjob"), "MaxTRES"),
    **dict.fromkeys(("maxtrespu", "maxtresperuser"), "MaxTRESPerUser"),
    **dict.fromkeys(("maxjobspu", "maxjobsperuser"), "MaxJobsPerUser"),
    **dict.fromkeys(("maxtrespa", "maxtresperaccount"), "MaxTRESPerAccount"),
    **dict.fromkeys(("maxjobspa", "maxjobsperaccount"), "MaxJobsPerAccount"),
}
OTHERS = {  # limits that are not modelled
    *("grptresmins", "grptresrunmins", "grpsubmit", "grpsubmitjobs", "grpwall", "maxtrespernode", "maxtresmins"),
    *(
        "maxtresminsperjob",
        "maxsubmit",
        "maxsubmitjobs",
        "maxwall",
        "maxwalldurationperjob",
        "maxsubmitpu",
        "maxsubmitpa",
    ),
    *("maxsubmitjobsperuser", "maxsubmitjobsperaccount", "mintres", "mintresperjob"),
}
PREEMPTING = {"preempt": "Preempt", "preemptmode": "PreemptMode", "preemptexempttime": "PreemptExemptTime"}
COUNTED = ("cpu", "mem", "gres/gpu")
AMOUNT = Whole(0, 2**32)  # of jobs, shares and priorities, which Slurm keeps in 32 bits
ENFORCED = ("limits", "safe", "all")


def read_associations(path: Path, machine: Machine, report: Account) -> None:
    """Add the accounts, their shares, and the limits of accounts and users to a machine.

    Raises:
        PlatformError: the file is no such list, or of several clusters that the machine is none of.
    """
    rows = list(_rows(path, ("account", "user"), "sacctmgr -P show assoc", report))
    clusters = {row["cluster"] for row in rows if row.get("cluster")}
    if len(clusters) > 1 and machine.name not in clusters:
        shown = ", ".join(sorted(clusters))[:80]
        raise PlatformError(
            f"{path}: has the associations of {shown}; sacctmgr show assoc cluster={machine.name} has few"
        )
    of_cluster = [row for row in rows if len(clusters) < 2 or row.get("cluster") == machine.name]
    limits, left = _limits_of(machine), Counter[str]()
    for row in of_cluster:
        account, user = row["account"].strip(), row["user"]
        if row.get("partition"):
            left["associations of a user with a partition"] += 1
            continue
        own = _limits_in(row, OF_USER if user else GROUPED, left)
        if own:
            limits[f"association:{account}/{user}" if user else f"account:{account}"] = own
        if not user and row.get("parentname"):
            machine.accounting.setdefault("accounts", {})[account] = row["parentname"]
        share = AMOUNT.in_text_or(row.get("share", ""), -1)
        if not user and share >= 0 and account != "root":
            machine.accounting.setdefault("shares", {})[account] = share
    _tell(machine, report, left, f"{path.name}: {len(of_cluster):,} associations")


def read_qos(path: Path, machine: Machine, report: Account) -> None:
    """Add the priorities and limits of QOS, and which preempt which, to a machine.

    Raises:
        PlatformError: the file is no such list.
    """
    rows = {row["name"]: row for row in _rows(path, ("name", "priority"), "sacctmgr -P show qos", report)}
    limits, left = _limits_of(machine), Counter[str]()
    found = {name: _limits_in(row, OF_QOS, left) for name, row in rows.items()}
    limits |= {f"qos:{name}": own for name, own in found.items() if own}
    for partition in machine.partitions:
        if own := found.get(partition.settings.get("QOS", "")):
            limits[f"partition:{partition.name}"] = own
    ranks = {name: AMOUNT.in_text_or(row["priority"], -1) for name, row in rows.items()}
    machine.accounting["qos"] = {name: rank for name, rank in ranks.items() if rank >= 0}
    preempting = {
        name: {key: row[column] for column, key in PREEMPTING.items() if row.get(column, "") not in ("", "cluster")}
        for name, row in rows.items()
    }
    if any("Preempt" in own for own in preempting.values()):
        machine.accounting["preemption"] = {name: own for name, own in preempting.items() if own}
    _tell(machine, report, left, f"{path.name}: {len(rows):,} QOS")


def _rows(path: Path, needed: tuple[str, ...], command: str, report: Account) -> Iterator[dict[str, str]]:
    """Yield the values of each line by the names of the first one, in small letters without spaces.

    Raises:
        PlatformError: there are no such names.
    """
    lines = [line for line in read_text(path, PlatformError, errors="replace").splitlines() if line.strip()]
    names = [name.strip().lower().replace(" ", "") for line in lines[:1] for name in line.split("|")]
    if not set(needed) <= set(names):
        raise PlatformError(
            f"{path}: is not what {command} prints: its first line has no {needed[0]!r} and {needed[1]!r}"
        )
    for line in lines[1:]:
        values = line.split("|")
        if len(values) == len(names):
            yield dict(zip(names, values, strict=True))
        else:
            report.leave_out("lines of sacctmgr with more or fewer values than names", 1)


def _limits_in(row: Mapping[str, str], keys: Mapping[str, str], left: Counter[str]) -> dict[str, Any]:
    """Return the limits of a line; what cannot be modelled is counted in *left*."""
    found: dict[str, Any] = {}
    for column, text in row.items():
        if not text:
            continue
        if column in OTHERS:
            left[column] += 1
        elif column in keys and "TRES" in keys[column]:
            pairs = [part for part in text.split(",") if part.partition("=")[0] in COUNTED]
            left.update(part.partition("=")[0] for part in text.split(",") if part not in pairs)
            if pairs:
                found[keys[column]] = ",".join(pairs)
        elif column in keys and (count := AMOUNT.in_text_or(text, -1)) >= 0:
            found[keys[column]] = count
    return found


def _limits_of(machine: Machine) -> dict[str, Any]:
    limits: dict[str, Any] = machine.accounting.setdefault("limits", {})
    return limits


def _tell(machine: Machine, report: Account, left: Counter[str], read: str) -> None:
    """Report what was read; take the limits out where the configuration does not enforce any."""
    enforced = next((str(v) for k, v in machine.scheduling.items() if k.lower() == "accountingstorageenforce"), "")
    if machine.accounting["limits"] and not any(word in enforced.lower() for word in ENFORCED):
        machine.accounting["limits"] = {}
        report.note(f"AccountingStorageEnforce is {enforced or 'not set'}, so Slurm enforces no limits: left out")
    report.note(f"{read}; associations and QOS with limits so far: {len(machine.accounting['limits']):,}")
    if left:
        report.note(
            "limits that are not modelled, left out: "
            + ", ".join(f"{name} ({count:,})" for name, count in left.most_common())
        )
