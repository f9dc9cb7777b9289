"""What the values of Slurm's fields mean: states, durations, memories, resources, numbers of jobs.

Each function takes one text and returns numbers, raises `ValueError` where the text is none of the field's forms, and
has no memory; `Meanings` remembers what it said about a text that was there before.
"""

import re
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.importers.times import UNKNOWN
from hdeeprm_like.values import AMOUNT, EXACT_MOST, whole_in

T = TypeVar("T")

MANY = 50_000  # texts whose meaning is remembered for each column
MINUTE = 60.0
USUAL = 8  # characters of 01:02:03
LONGEST = 16  # digits of a number that is exact as a float
KB = {"": 1024.0, "K": 1.0, "M": 1024.0, "G": 1024.0**2, "T": 1024.0**3, "P": 1024.0**4}  # a bare number is in MB
PER_CPU_32, PER_CPU_64 = 2**31, 2**63  # bits that mark memory for each CPU
NO_VALUE_32, NO_VALUE_64 = (2**32 - 1, 2**32 - 2), 2**64 - 2  # infinite and not set
NO_LIMIT = {"unlimited", "infinite", "partition_limit", "invalid", "4294967295", "4294967294"}
GPU_BY_NUMBER = "7696487"  # how a Slurm before 20.11 prints "gpu" where it does not know the name

DURATION = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:[.,]\d+)?)", re.ASCII)
DAYS_HOURS = re.compile(r"(\d+)-(\d+)(?::(\d+))?", re.ASCII)
MEMORY = re.compile(r"(\d+(?:[.,]\d+)?)\s*([KMGTP]?)(?:i?B)?([cn]?)", re.ASCII | re.IGNORECASE)
JOB = re.compile(r"(\d+)(?:_(\d+|\[[^\]]*\]?))?(?:\+(\d+))?(?:[.+].*)?", re.ASCII)
NEXT_RESOURCE = re.compile(r",(?=[A-Za-z0-9_/.:-]+[=:])")  # a comma may also be the point of a number
GPU = re.compile(r"(?:gres[/:])?gpu(?:[:/](?P<type>[^:=(]*[A-Za-z][^:=(]*))?(?:[:=](?P<count>\d+))?(?:\(.*\))?")


class State(NamedTuple):
    """A state of a job: what SWF calls it (-1: nothing), and whether the job is over."""

    status: int
    over: bool


COMPLETED, FAILED, CANCELLED = State(1, True), State(0, True), State(5, True)
STATES: dict[str, State] = {
    "COMPLETED": COMPLETED,
    "CANCELLED": CANCELLED,
    **dict.fromkeys(("FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL", "DEADLINE"), FAILED),
    **dict.fromkeys(("LAUNCH_FAILED", "PREEMPTED", "REQUEUED", "RECONFIG_FAIL", "POWER_UP_FAIL"), FAILED),
    **dict.fromkeys(("PENDING", "RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING", "RESIZING"), State(-1, False)),
    **dict.fromkeys(("REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD", "SIGNALING"), State(-1, False)),
    **dict.fromkeys(("STAGE_OUT", "STOPPED", "REVOKED"), State(-1, False)),
    "UNKNOWN": State(-1, True),  # missing in the log
}
SHORT = {
    **{"CD": "COMPLETED", "CA": "CANCELLED", "F": "FAILED", "TO": "TIMEOUT", "OOM": "OUT_OF_MEMORY", "RQ": "REQUEUED"},
    **{"NF": "NODE_FAIL", "BF": "BOOT_FAIL", "DL": "DEADLINE", "PR": "PREEMPTED", "PD": "PENDING", "R": "RUNNING"},
    **{"S": "SUSPENDED", "CF": "CONFIGURING", "CG": "COMPLETING", "RS": "RESIZING", "RV": "REVOKED", "ST": "STOPPED"},
}
STATE_NAMES = tuple(STATES)
STATE_NUMBER = {name: number for number, name in enumerate(STATE_NAMES)}


def state(text: str) -> int:
    """Return the number in `STATE_NAMES` of ``COMPLETED``, ``CANCELLED by 1000``, ``OUT_OF_ME+`` or ``CD``."""
    word = text.strip().upper().replace(" ", "_").removesuffix("+")
    if word.startswith("CANCELLED"):
        word = "CANCELLED"
    word = SHORT.get(word, word)
    if word in STATE_NUMBER:
        return STATE_NUMBER[word]
    if not word:
        return STATE_NUMBER["UNKNOWN"]
    cut = [name for name in STATE_NAMES if name.startswith(word)]
    if len(cut) == 1 and len(word) > 3:
        return STATE_NUMBER[cut[0]]
    raise ValueError(text)


def duration(text: str) -> float:
    """Return the seconds of ``1-02:03:04``, ``02:03:04``, ``03:04.5``, ``1-02:03`` or ``1-02``; bare numbers are s."""
    if len(text) == USUAL and text[2] == text[5] == ":" and text.replace(":", "").isdecimal():
        return int(text[:2]) * 3600.0 + int(text[3:5]) * MINUTE + int(text[6:])
    if match := DAYS_HOURS.fullmatch(text):
        days, hours, minutes = map(_number, match.groups(default="0"))
        return days * 86400.0 + hours * 3600.0 + minutes * MINUTE
    match = DURATION.fullmatch(text)
    if match is None:
        return _number(text)
    days, hours, minutes, seconds = map(_number, match.groups(default="0"))
    return days * 86400.0 + hours * 3600.0 + minutes * MINUTE + seconds


def time_limit(text: str) -> float:
    """Return the seconds of a time limit, whose bare numbers are minutes; -1 for no limit and for the partition's."""
    if text.lower() in NO_LIMIT:
        return -1.0
    return _number(text) * MINUTE if text.isdecimal() else duration(text)


class Memory(NamedTuple):
    """An amount in KB (1024 bytes), and what it is of: ``"c"`` a CPU, ``"n"`` a node, ``""`` the whole job."""

    amount: float
    of: str


def memory(text: str) -> Memory:
    """Return what ``2800Mc``, ``4Gn``, ``187000M`` or ``12.50G`` ask for; 0, which means all there is, is unknown."""
    match = MEMORY.fullmatch(text)
    if match is None:
        raise ValueError(text)
    digits, unit, of = match[1], match[2].upper(), match[3].lower()
    whole = digits.isdecimal() and unit in ("", "M") and len(digits) <= len(str(NO_VALUE_64))
    megabytes, flagged = unflagged(int(digits) if whole else _number(digits) * KB[unit] / KB["M"])
    return Memory(megabytes * KB["M"] if megabytes > 0 else -1.0, "c" if flagged else of)


def unflagged(megabytes: float) -> tuple[float, bool]:
    """Return a number of MB without Slurm's flag, and whether it had one; -1 where the number means that there is none.

    Slurm marks memory for each CPU by the highest bit of its number of MB, of 32 bits and later of 64. A version that
    does not know how a record was marked prints the number with the bit: ``2147487648Mn`` is 4000 MB for each CPU, and
    so is 9223372036854779808 in a column of the database.
    """
    if megabytes >= PER_CPU_64:
        return (float(megabytes - PER_CPU_64), True) if megabytes < NO_VALUE_64 else (-1.0, False)
    if PER_CPU_32 <= megabytes < 2 * PER_CPU_32:
        return (float(megabytes - PER_CPU_32), True) if megabytes not in NO_VALUE_32 else (-1.0, False)
    return (float(megabytes), False) if megabytes < EXACT_MOST else (-1.0, False)


class Resources(NamedTuple):
    """What a list of resources holds; -1 where it does not say. *memory* in KB of the whole job; *gres* as text."""

    cpus: int
    memory: float
    nodes: int
    gpus: float
    gres: str


def resources(text: str) -> Resources:
    """Read ``billing=4,cpu=4,gres/gpu:a100=2,gres/gpu=2,mem=8G,node=1``, or the ``gpu:a100:2`` of an old Slurm."""
    cpus, nodes, amount, plain, typed = -1, -1, -1.0, 0.0, 0.0
    gres: dict[bool, list[str]] = {True: [], False: []}  # by whether the type is named
    for item in NEXT_RESOURCE.split(text):
        name, _, value = item.partition("=")
        name = name.strip()
        if name == "cpu":
            cpus = count(value)
        elif name == "node":
            nodes = count(value)
        elif name == "mem":
            amount = memory(value).amount
        elif match := GPU.fullmatch(item.replace(GPU_BY_NUMBER, "gpu", 1).strip()):
            gpus = _number(match["count"] or "1")
            typed, plain = (typed + gpus, plain) if match["type"] else (typed, plain + gpus)
            gres[bool(match["type"])].append(f"gpu{':' + match['type'] if match['type'] else ''}:{gpus:.0f}")
        elif name.startswith("gres/"):
            gres[True].append(item.removeprefix("gres/").replace("=", ":"))
    return Resources(cpus, amount, nodes, max(plain, typed), ",".join(sorted(gres[True] or gres[False])))


class JobNumber(NamedTuple):
    """A job's number, the task of an array and the component of a heterogeneous job; -1 where it is none of one."""

    job: int
    task: int
    component: int


def job_number(text: str) -> JobNumber:
    """Read ``123``, ``123_4``, ``123_[5-9%2]`` or ``123+1``; tasks that have not begun have no number of their own."""
    if text.isdecimal() and len(text) < 18:
        return JobNumber(int(text), -1, -1)
    match = JOB.fullmatch(text)
    if match is None or len(match[1]) >= 18:
        raise ValueError(text)
    return JobNumber(int(match[1]), whole_in(match[2] or ""), whole_in(match[3] or ""))


def count(text: str) -> int:
    """Return a whole number from 0 on; ``1K`` and ``1.50M`` are how Slurm shortens large ones."""
    if text.isdecimal() and len(text) < LONGEST:
        return int(text)
    factors = {"K": 1024.0, "M": 1024.0**2}
    factor = factors.get(text[-1:].upper())
    return int(_number(text[:-1]) * factor) if factor else int(_number(text))


def _number(text: str) -> float:
    return AMOUNT.in_text(text.replace(",", "."), ValueError)


class Meanings(dict[str, T], Generic[T]):
    """What the texts of one column mean; those not understood are counted and mean *unknown*.

    A log of millions of lines has few different texts in most columns, so each is read once.
    """

    def __init__(self, column: str, meaning: Callable[[str], T], unknown: T, report: Account) -> None:
        super().__init__()
        self.column, self.meaning, self.unknown, self.report = column, meaning, unknown, report

    def __missing__(self, text: str) -> T:
        stripped = text.strip()
        if stripped.lower() in UNKNOWN:
            value = self.unknown
        else:
            try:
                value = self.meaning(stripped)
            except (ValueError, KeyError):
                self.report.misunderstood(self.column, text)
                return self.unknown  # not remembered, so that each is counted
        if len(self) >= MANY:
            self.clear()
        self[text] = value
        return value


class Numbers(dict[str, int]):
    """Numbers from 1 on for names, in the order in which they come; -1 for no name, and beyond *most* of them."""

    def __init__(self, most: int = 500_000) -> None:
        super().__init__(dict.fromkeys(("", "Unknown", "None", "NONE", "undefined", "N/A", "-1"), -1))
        self.most = most
        self.names: list[str] = []  # in the order of their numbers
        self.beyond = 0  # how often a name had no number left

    def __missing__(self, text: str) -> int:
        if len(self.names) >= self.most:
            self.beyond += 1
            return -1
        self.names.append(text)
        self[text] = number = len(self.names)
        return number
