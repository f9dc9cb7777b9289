"""The tables of the parts of a decision space: one entry for each objective, reward mode, observation and preset.

An entry names the part, says what it is and where its code is. The schema of options files, error messages, shell
completion and the pages of reference are made from these tables, and the modules that compute look their functions up
in them; a part whose code is missing is refused when those modules are imported. Nothing heavy is imported here.

To add an objective or an observation, write its code and add its entry here.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from hdeeprm_like.engine.dispatch import ForgottenBranchError
from hdeeprm_like.engine.numbers import FIRST_CHANGING, ORACLE, ORDERS
from hdeeprm_like.records import Record

HERE = "hdeeprm_like.decision"


class Spec(Record):
    """A part with a name.

    Attributes:
        summary: what it is, in one line of Markdown. source: where it was published, empty if here.
    """

    summary: str
    source: str = ""


class ObjectiveSpec(Spec):
    """A built-in objective; more of it is better.

    Attributes:
        unit: of its value, empty for a count or a share.
        code: its function in `decision.objectives`; two names of one objective have the same.
        of_window: whether it reads statistics of the window, which a state alone does not have.
        of_execution: whether it reads execution times.
        at_end: whether its value at the end describes the whole schedule; others are 0 when all jobs have ended.
    """

    unit: str = ""
    code: str = ""
    of_window: bool = False
    of_execution: bool = False
    at_end: bool = False


class ObservationSpec(Spec):
    """A kind of observation.

    Attributes:
        shape: with one letter for each axis. code: ``module:NAME`` of its `Observation` in `decision.observations`.
    """

    shape: str = "(F,)"
    code: str = ""


class PresetSpec(Spec):
    """A published decision space.

    Attributes:
        fields: of `decision.presets.Space` that differ from its defaults; objectives by name, with weights.
    """

    fields: Mapping[str, Any] = MappingProxyType({})


OBJECTIVES: dict[str, ObjectiveSpec] = {
    "avg_job_slowdown": ObjectiveSpec(
        "minus the sum of 1 / requested time over the jobs in the system", "thesis 3.2.4", "1/s", "slowdown"
    ),
    "avg_job_completion": ObjectiveSpec("minus the number of jobs in the system", "thesis 3.2.4", "", "completion"),
    "avg_completion_time": ObjectiveSpec("another name of `avg_job_completion`", "thesis 3.2.4", "", "completion"),
    "avg_utilization": ObjectiveSpec("number of cores that serve jobs", "thesis 3.2.4", "", "utilization"),
    "makespan": ObjectiveSpec(
        "computing capability in use: work done sooner ends sooner", "thesis 3.2.4", "GFLOP/s", "makespan"
    ),
    "energy_consumption": ObjectiveSpec("minus the power of all cores", "thesis 3.2.4", "W", "energy"),
    "edp": ObjectiveSpec(
        "minus (power x time + energy): the growth of energy times elapsed time",
        "the thesis' code of 2019",
        "J",
        "energy_delay",
    ),
    "window_slowdown": ObjectiveSpec(
        "minus the sum of 1 / requested time over the jobs in the window",
        "thesis 3.2.4, with the window of 000, 4.6.3",
        "1/s",
        "window_slowdown",
        of_window=True,
    ),
    "unused_cores": ObjectiveSpec(
        "minus the share of the cores that serve no job", "001, equation 2", "", "unused_cores"
    ),
    "queue_length": ObjectiveSpec(
        "minus the number of waiting jobs, as a share of its maximum so far",
        "001, equation 2",
        "",
        "queue_length",
        of_window=True,
    ),
    "queue_wait": ObjectiveSpec(
        "minus the sum of the waiting times in the queue, as a share of its maximum so far",
        "001, equation 2",
        "",
        "share_of_longest_wait",
        of_window=True,
    ),
    "avg_wait": ObjectiveSpec(
        "minus the mean wait of all jobs submitted so far", "004, section II.E", "s", "avg_wait", True, at_end=True
    ),
    "wait": ObjectiveSpec("another name of `avg_wait`", "004, section II.E", "s", "avg_wait", True, at_end=True),
    "used_cores": ObjectiveSpec("share of the cores that serve jobs", "004, section II.E", "", "used_cores"),
    "execution_slowdown": ObjectiveSpec(
        "minus the sum of 1 / execution time over the jobs in the system",
        "000, equation 4.1",
        "1/s",
        "execution_slowdown",
        of_execution=True,
    ),
    "window_execution_slowdown": ObjectiveSpec(
        "minus the sum of 1 / execution time over the jobs in the window",
        "000, section 4.6.3",
        "1/s",
        "window_execution_slowdown",
        of_window=True,
    ),
    "bounded_slowdown": ObjectiveSpec(
        "minus the mean bounded slowdown of all jobs submitted so far, as if waiting jobs started now",
        "000, equation 2.3",
        "",
        "bounded_slowdown",
        of_window=True,
        of_execution=True,
        at_end=True,
    ),
}

REWARD_MODES: dict[str, Spec] = {
    "sample": Spec("the objective right after the decision", "HDeepRM"),
    "integral": Spec("the integral of the objective until the next decision, or the end", "000, equation 4.1"),
    "change": Spec("the objective at the next decision, or the end, minus its value just before this decision"),
    "waits": Spec(
        "the objective right after the decision if the agent waits, 0 if it starts a job", "001, III.B; 003, 4.3"
    ),
    "discounted": Spec(
        "as `integral`, each time step weighted by *gamma* times the weight of the step before", "000, equation 2.18"
    ),
    "end": Spec("the objective at the end of the episode, after its last decision; 0 after all others"),
}

OBSERVATIONS: dict[str, ObservationSpec] = {
    "normal": ObservationSpec(
        "free memory and bandwidth, speed and power of each core, quartiles of the queue's requests",
        "thesis 3.2.3.1",
        code="summary:NORMAL",
    ),
    "small": ObservationSpec(
        "free memory and bandwidth, quartiles of the queue's requests", "thesis 3.2.3.1", code="summary:SMALL"
    ),
    "minimal": ObservationSpec("quartiles of the queue's requests", "thesis 3.2.3.1", code="summary:MINIMAL"),
    "image": ObservationSpec("cluster, slots and backlog as pixels", "000, section 4.4", "(H, columns)", "image:IMAGE"),
    "deeprm": ObservationSpec(
        "the same with colours of running jobs and the last arrival", "DeepRM", "(H, columns)", "image:DEEPRM"
    ),
    "compact": ObservationSpec(
        "cores over time, features of the jobs in the slots", "000, section 4.6.1", code="compact:COMPACT"
    ),
    "horizon": ObservationSpec(
        "the next events, features of the jobs in the slots", "000, section 4.7", code="horizon:HORIZON"
    ),
    "backfilling": ObservationSpec(
        "each core, the jobs of the split window", "001, section III.A", code="backfilling:BACKFILLING"
    ),
    "machines": ObservationSpec("jobs and free machines", "004, section II.E", code="machines:MACHINES"),
    "demand": ObservationSpec(
        "free cores, what was requested of late, cores and times of the jobs in the slots", code="demand:DEMAND"
    ),
}

ACTIONS: dict[str, Spec] = {
    "policies": Spec("apply one of several policies: pairs of job and core policy, or baselines", "thesis 3.2.3.2"),
    "jobs": Spec("start a job of the window, or wait", "000, 4.3; 001, III.A"),
    "machines": Spec("start a job of the window on a node, or wait", "004, section II.E"),
}

DECISION_POINTS: dict[str, Spec] = {
    "waiting": Spec("at each event while jobs wait"),
    "fitting": Spec("at each event while a job of the window fits"),
    "ticks": Spec("at every time step"),
}
"""When an agent decides."""

QUEUE_ORDERS: dict[str, int] = {
    name: number for name, number in ORDERS.items() if number < FIRST_CHANGING and number != ORACLE
}
"""Orders that can fill the slots of a window: those that do not change while a job waits, nor need its run time."""

PRESETS: dict[str, PresetSpec] = {
    "HDeepRM": PresetSpec("one of 36 policy pairs; the slowdown rate right after the decision", "thesis 3.2.3"),
    "PolicySelect": PresetSpec(
        "one of three orders; the integral of the slowdown rate",
        "003, section 2 (CuSH)",
        {
            "pairs": tuple((job, "high_gflops") for job in ("first", "shortest", "smallest")),
            "observation": "minimal",
            "reward": "integral",
        },
    ),
    "DeepRM": PresetSpec(
        "a job of 10, or wait, at each step; the integral of the slowdown rate",
        "000, 4.4; 003, 4.1",
        {
            "actions": "jobs",
            "head": 10,
            "opens": "ticks",
            "step": 1.0,
            "observation": "image",
            "memory_units": 10,
            "reward": "integral",
        },
    ),
    "CompactRM": PresetSpec(
        "a job of 10, or wait; the slowdown rate of the window on waiting",
        "003, 4.2 to 4.4",
        {
            "actions": "jobs",
            "head": 10,
            "opens": "fitting",
            "step": 1.0,
            "observation": "compact",
            "objectives": {"window_slowdown": 1.0},
            "reward": "waits",
        },
    ),
    "SMDP": PresetSpec(
        "a job of 128, or wait; the slowdown rate of the window, discounted",
        "000, 4.7, table 5.5",
        {
            "actions": "jobs",
            "head": 128,
            "opens": "fitting",
            "step": 1.0,
            "observation": "horizon",
            "horizon": 60,
            "objectives": {"window_slowdown": 1.0},
            "reward": "discounted",
        },
    ),
    "DeepBackfilling": PresetSpec(
        "a job of the first or last 10, or wait; idle cores, queue and waits on waiting",
        "001, II and III",
        {
            "actions": "jobs",
            "head": 10,
            "tail": 10,
            "observation": "backfilling",
            "objectives": dict.fromkeys(("unused_cores", "queue_length", "queue_wait"), 1.0 / 3.0),
            "reward": "waits",
        },
    ),
    "SchedInspector": PresetSpec(
        "start the shortest job that fits, or wait; changes of the bounded slowdown. What it sees is chosen here",
        "described in 001, V",
        {
            "actions": "jobs",
            "head": 1,
            "order": "sjf",
            "opens": "fitting",
            "observation": "horizon",
            "wait": True,
            "objectives": {"bounded_slowdown": 1.0},
            "reward": "change",
        },
    ),
    "JobMachine": PresetSpec(
        "a job of 20 and a machine for it; the mean wait in hours right after the decision",
        "004, II.E",
        {
            "actions": "machines",
            "head": 20,
            "opens": "fitting",
            "observation": "machines",
            "objectives": {"avg_wait": 1.0 / 3600.0},
        },
    ),
}
"""The spaces of the papers, with their parameters where the papers give them."""

if TYPE_CHECKING:  # a type checker needs the names written out, which would be a second table
    Mode: TypeAlias = str
    Kind: TypeAlias = str
    Actions: TypeAlias = str
    Opens: TypeAlias = str
    Preset: TypeAlias = str
    QueueOrder: TypeAlias = str
else:
    Mode = Literal[tuple(REWARD_MODES)]
    Kind = Literal[tuple(OBSERVATIONS)]
    Actions = Literal[tuple(ACTIONS)]
    Opens = Literal[tuple(DECISION_POINTS)]
    Preset = Literal[tuple(PRESETS)]
    QueueOrder = Literal[tuple(QUEUE_ORDERS)]


def objective_codes() -> tuple[str, ...]:
    """Return the functions of the objectives, each once, in the order of their numbers in compiled code."""
    return tuple(dict.fromkeys(spec.code for spec in OBJECTIVES.values()))


def numbers_of(names: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers in compiled code of objectives by name."""
    codes = objective_codes()
    return tuple(dict.fromkeys(codes.index(OBJECTIVES[name].code) for name in names))


def code_of(kind: str, name: str, place: str) -> Any:
    """Return the code of a part.

    Args:
        kind: of the part, for the message. place: ``module:attribute`` below `HERE`.

    Raises:
        ForgottenBranchError: there is none.
    """
    module, _, attribute = place.partition(":")
    try:
        return getattr(import_module(f"{HERE}.{module}"), attribute)
    except (ModuleNotFoundError, AttributeError) as error:
        raise ForgottenBranchError(f"{kind}: {name!r} has no code at {HERE}.{place} ({error})") from None
