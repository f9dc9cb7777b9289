"""The columns of ``sacct -P``: the line of their names, and what a value of each looks like."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.importers.fields import SHORT, STATE_NAMES
from hdeeprm_like.importers.records import Columns

LOOKED_AT = 50  # lines among which that of the names is
LONGEST_NAMES = 2**16  # characters of that line

NUMBER = re.compile(r"[\d.,]*[KMGTP]?", re.ASCII)
STEP_OR_JOB = re.compile(r"\d+(_(\d+|\[[^\]]*\]?))?(\+\d+)?(\.\S+)?", re.ASCII)
TIME = re.compile(r"[\w:/+.\- ]*")  # dates in any form, Unknown, None
SPAN = re.compile(r"(\d[\d:.,\-]*|[A-Z]\w+)?", re.ASCII)  # 1-02:03:04, UNLIMITED, Partition_Limit
STATE = re.compile(rf"(CANCELLED( by \S+)?|[A-Z_]{{6,}}\+|{'|'.join((*STATE_NAMES, *SHORT))})?")
NAME = re.compile(r"\S*")
LIST = re.compile(r"([\w/.:\-]+[=:]\S*)?", re.ASCII)  # cpu=4,mem=2G
FORMS: dict[str, re.Pattern[str]] = {
    **dict.fromkeys(("jobid", "jobidraw"), STEP_OR_JOB),
    **dict.fromkeys(("submit", "eligible", "start", "end"), TIME),
    **dict.fromkeys(("elapsed", "timelimit", "totalcpu", "usercpu", "systemcpu", "cputime", "suspended"), SPAN),
    **dict.fromkeys(("reserved", "planned", "resvcpu", "plannedcpu", "elapsedraw", "timelimitraw", "cputimeraw"), SPAN),
    **dict.fromkeys(
        ("ncpus", "alloccpus", "reqcpus", "nnodes", "allocnodes", "reqnodes", "ntasks", "restarts"), NUMBER
    ),
    **dict.fromkeys(("uid", "gid", "priority", "dbindex", "associd", "qosraw", "wckeyid", "reservationid"), NUMBER),
    **dict.fromkeys(("consumedenergy", "consumedenergyraw", "resvcpuraw", "plannedcpuraw"), NUMBER),
    **dict.fromkeys(("alloctres", "reqtres", "allocgres", "reqgres"), LIST),
    **dict.fromkeys(("user", "account", "group", "partition", "qos", "cluster", "reservation", "nodelist"), NAME),
    **dict.fromkeys(("flags", "mcslabel", "blockid"), NAME),
    **dict.fromkeys(("exitcode", "derivedexitcode"), re.compile(r"(\d+:\d+)?", re.ASCII)),
    "layout": re.compile(r"(Unknown|\w*(Block|Cyclic|Arbitrary|Plane)\w*)?"),
    "reqmem": re.compile(r"[\d.,]*[KMGTP]?[cn]?|\?|unlimited", re.ASCII | re.IGNORECASE),
    "state": STATE,
    "": re.compile(r""),
}
USED = re.compile(r"(ave|max|min)(cpu|diskread|diskwrite|pages|rss|vmsize)(node|task)?|tresusage(in|out)\w+")


FREE = {
    *("jobname", "submitline", "workdir", "comment", "admincomment", "systemcomment", "constraints", "licenses"),
    *("stdin", "stdout", "stderr", "container", "extra", "wckey", "reason", "failednode"),
}


def _form(name: str) -> re.Pattern[str] | None:
    """Return what a value of a column looks like; None where anything may stand."""
    if match := USED.fullmatch(name):
        return NAME if match[3] == "node" else LIST if match[1] is None else SPAN if match[2] == "cpu" else NUMBER
    return FORMS.get(name)


def find_header(lines: TextIO, path: Path, separator: str) -> tuple[str, int]:
    """Return the line of the names and its number, or say what kind of file this is."""
    seen: list[str] = []
    while len(seen) < LOOKED_AT and (line := lines.readline(LONGEST_NAMES)):
        line = line.rstrip("\r\n")
        seen.append(line)
        if {"jobid", "jobidraw"} & {name.strip().lower() for name in line.split(separator)}:
            return line, len(seen)
    raise WorkloadError(f"{path}: {_what_it_is(seen, separator)}")


def _what_it_is(seen: Sequence[str], separator: str) -> str:
    """Say why there is no line of names among the first lines of a file."""
    text = [line for line in seen if line.strip()]
    if not text:
        return "is empty"
    named = next((line for line in text if re.search(r"\bJobID(Raw)?\b", line, re.IGNORECASE)), None)
    if named is not None:
        found = re.search(r"\bJobID(?:Raw)?(\W{1,3}?)\w", named, re.IGNORECASE)
        if found and (found[1].strip() or found[1] == "\t"):
            return f"columns are separated by {found[1]!r}, not by {separator!r}; --separator {found[1]!r} helps"
        return "is sacct's table for people; sacct -P prints the one for programs"
    if text[0][:1] in "{[":
        return "is JSON; what sacct -P prints is needed"
    if re.match(r"\d+(_\S+)?" + re.escape(separator), text[0]):
        return "has no line of the names of its columns; leave -n (--noheader) out"
    return f"is no log of sacct -P: none of its first lines names columns as JobID{separator}Submit{separator}Start"


def columns_of(header: str, separator: str, path: Path) -> Columns:
    """Return the columns of a header line.

    Raises:
        WorkloadError: one is missing that a job cannot do without.
    """
    names = tuple(re.sub(r"%-?\d+$", "", name.strip().lower()) for name in header.split(separator))
    if "\ufffd" in header:
        raise WorkloadError(f"{path}: is no UTF-8 text")
    known = set(names)
    for needed, label in (
        ({"submit", "eligible"}, "Submit"),
        ({"elapsed", "elapsedraw", "end"}, "Elapsed or End"),
        ({"ncpus", "alloccpus", "reqcpus", "alloctres", "reqtres"}, "NCPUS, ReqCPUS or AllocTRES"),
    ):
        if not needed & known:
            raise WorkloadError(f"{path}: column {label} is missing; import sacct --command prints what to ask for")
    if "end" in known and not {"start", "elapsed", "elapsedraw"} & known:
        raise WorkloadError(f"{path}: column Start is missing; import sacct --command prints what to ask for")
    job = names.index("jobid" if "jobid" in known else "jobidraw")
    free = tuple(name in FREE for name in names)
    return Columns(names, tuple(map(_form, names)), free, job)
