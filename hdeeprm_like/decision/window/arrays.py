"""Arrays of a window, the part of the queue that an agent sees, in compiled code; see ``window``."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from hdeeprm_like.decision import specs
from hdeeprm_like.decision.specs import QUEUE_ORDERS
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.dispatch import check_names
from hdeeprm_like.engine.numbers import REQUESTED
from hdeeprm_like.engine.running_jobs import BY_START
from hdeeprm_like.engine.state import Needs, State
from hdeeprm_like.engine.tables import longer
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.types import Floats, Ints, Records

Opens: TypeAlias = specs.Opens
OPENS = tuple(specs.DECISION_POINTS)
ON_WAITING, ON_FITTING, ON_TICKS = 0, 1, 2
check_names("decision points", OPENS, ("waiting", "fitting", "ticks"), "decision.window.arrays")

ARRIVAL = "fcfs"
NONE = -1  # no job, in an empty slot
NEVER = 2**31 - 1  # cores that let no job start, in an empty slot
EARLY = 1e-6  # s; an instant counts as at a time step up to this early, as Batsim sends microseconds

QUEUE, WORK, FREE, REMAINING, BACKLOG = 0, 1, 2, 3, 4  # columns of Window.found
FOUND = 5

WINDOW = np.dtype(
    [
        ("step", "f8"),  # s that a wait lasts, 0 for until something happens
        ("until", "f8"),  # s, latest end of the run
        ("next_step", "f8"),  # s, no decision before
        ("queued_work", "f8"),  # core x s requested by the waiting jobs
        ("sum_of_submissions", "f8"),  # s, over the waiting jobs, to compute their total time in the queue
        ("longest_queue", "f8"),  # the largest number of waiting jobs until now
        ("longest_wait", "f8"),  # s, the largest sum of times in the queue until now
        ("waited", "f8"),  # s that the started jobs have waited together
        ("urgency", "f8"),  # 1/s, sum of 1 / requested time over the waiting and running jobs
        ("execution_urgency", "f8"),  # 1/s, sum of 1 / execution time over the same jobs, if *executes*
        ("slowdowns", "f8"),  # sum of the bounded slowdowns of the started jobs, if *executes*
        ("started", "i8"),  # started jobs
        ("placed", "i8"),  # the run is over when this many jobs have been started
        ("cursor", "i8"),  # number of changes of the cluster read so far
        ("queue", "i8"),  # waiting jobs
        ("running", "i8"),  # running jobs
        ("submitted", "i8"),  # job rows whose submission the window has processed
        ("head", "i4"),  # slots for the first jobs of the queue
        ("tail", "i4"),  # slots for the last ones
        ("filled", "i4"),  # slots at the head with a job
        ("opens", "i4"),
        ("machines", "i4"),  # 1: the slots hold the first jobs that fit on one node
        ("stale", "i4"),  # 1: the slots must be filled again
        ("least", "i4"),  # the smallest of Window.wants: below 0 if some job in the slots requests memory or GPUs
        ("finds", "i4"),  # 1: record what jobs find when they are submitted
        ("executes", "i4"),  # 1: a reward uses execution times
        ("line", "i4"),  # list of waiting jobs that the slots are filled from, -1 without slots
        ("ends", "i4"),  # list of running jobs by requested end, -1 if not needed
    ],
    align=True,
)


class Window(Bundle, shared=("first_processor",)):
    """The window of one run; J jobs, M = head + tail slots.

    Attributes:
        params: (1,) WINDOW.
        paces: (J,) 1/s, one over the requested time of each job.
        slots: (M,) jobs, NONE where empty: the head in order, then the tail from the last job backwards.
        wants: (M,) free cores that let these jobs start, below 0 if they also request memory or GPUs, NEVER if empty.
        found: (J, 5) what each job found on arrival: jobs in the queue, their work in core x s, free cores, remaining
        work of the running jobs in core x s, jobs outside the window.
        running, ends, widths: (J,) scratch: running jobs by requested end, these ends in s, their cores.
        first_processor: (N + 1,) where the processors of each node begin.
    """

    params: Records
    paces: Floats
    slots: Ints
    wants: Ints
    found: Floats
    running: Ints
    ends: Floats
    widths: Ints
    first_processor: Ints


class NoWindow(Window):
    """Stand-in for the window of a run in which no part reads the queue."""


@dataclass(frozen=True)
class WindowOptions:
    """Which jobs a window shows, and when the agent decides; see ``window``.

    Attributes:
        head, tail: slots for the first and the last jobs of the queue. order: of the queue, one of `QUEUE_ORDERS`.
        opens, step: when the agent decides. jump: whether waiting lasts until something happens, however long, rather
            than a step.
        until, placed: a run ends after this many s, or this many placed jobs; 0 for when all jobs are over.
    """

    head: int = 0
    tail: int = 0
    order: str = ARRIVAL
    opens: Opens = "waiting"
    step: float = 0.0
    jump: bool = False
    until: float = 0.0
    placed: int = 0


def needs_of_window(slots: int, lists: bool, order: str = ARRIVAL) -> Needs:
    """Return the sorted lists of jobs that a window reads: none without slots, unless observations need them.

    Raises:
        OptionsError: the slots cannot be filled in this order.
    """
    if order not in QUEUE_ORDERS:
        raise OptionsError(f"order {order!r:.80} is not one of a window{did_you_mean(str(order), QUEUE_ORDERS)}")
    if slots == 0 and not lists:
        return Needs()
    return Needs(((QUEUE_ORDERS[order], REQUESTED),), ((BY_START, REQUESTED),))


def new_window(
    state: State, options: WindowOptions, machines: bool = False, finds: bool = False, lists: bool = True
) -> Window:
    """Return the window of a run at its beginning.

    Args:
        machines: whether only jobs that fit on one node come into the slots (004, section II.E).
        finds: whether to record what jobs find when they are submitted.
        lists: whether observations read the waiting and running jobs; the state must maintain these lists then.

    Raises:
        OptionsError: a value is invalid.
        ValueError: the state does not maintain these lists.
    """
    head, tail, opens, step = options.head, options.tail, options.opens, options.step
    if opens not in OPENS:
        raise OptionsError(f"opens {opens!r} is not known{did_you_mean(opens, OPENS)}")
    if head < 0 or tail < 0 or (machines and tail):
        raise OptionsError(f"a window of {head} + {tail} slots is not possible")
    if not 0.0 <= step < np.inf or (opens == "ticks" and step == 0.0):
        raise OptionsError(f"step is {step:g}; a time in s is needed" + (" above 0" if opens == "ticks" else ""))
    if not lists and (head or tail or finds):
        raise OptionsError("a window with slots, or jobs that note what they find, need the lists of jobs")
    params = np.zeros(1, WINDOW)
    params["step"] = 0.0 if options.jump else step
    params["until"], params["placed"] = options.until or np.inf, options.placed or np.iinfo(np.int64).max
    params["head"], params["tail"], params["opens"] = head, tail, OPENS.index(opens)
    params["machines"], params["finds"], params["stale"] = machines, finds, 1
    needs = needs_of_window(head + tail, lists, options.order)
    state.require(needs, "the window")
    params["line"] = state.needs.orders.index(needs.orders[0]) if needs.orders else -1
    params["ends"] = state.needs.ends.index(needs.ends[0]) if needs.ends else -1
    jobs = len(state.tables.jobs)
    listed = jobs if lists else 0
    return Window(
        params=params,
        paces=np.zeros(jobs),
        slots=np.full(head + tail, NONE, np.int32),
        wants=np.full(head + tail, NEVER, np.int32),
        found=np.zeros((jobs if finds else 0, FOUND)),
        running=np.zeros(listed, np.int32),
        ends=np.zeros(listed),
        widths=np.zeros(listed, np.int32),
        first_processor=np.searchsorted(state.platform.processor_node, np.arange(state.platform.nodes + 1)),
    )


def make_room(window: Window, jobs: int) -> None:
    """Grow a window to *jobs* jobs; with Batsim jobs become known during the run."""
    if jobs <= len(window.paces):
        return
    window.paces = longer(window.paces, jobs)
    if window.params["finds"][0]:
        found = np.zeros((jobs, FOUND))
        found[: len(window.found)] = window.found
        window.found = found
    if window.params["ends"][0] >= 0:
        window.running, window.ends, window.widths = (
            longer(window.running, jobs),
            longer(window.ends, jobs),
            longer(window.widths, jobs),
        )
