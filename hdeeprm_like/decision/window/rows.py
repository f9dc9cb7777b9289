"""The rows of a window: what compiled functions read and write of the queue that an agent sees, see ``window``."""

from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from hdeeprm_like.engine.bundles import bundle
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import Rows, longer
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.types import Floats, Ints

Opens: TypeAlias = Literal["waiting", "fitting", "ticks"]
OPENS: tuple[Opens, ...] = get_args(Opens)
ON_WAITING, ON_FITTING, ON_TICKS = 0, 1, 2

NONE = -1  # no job: in an empty slot
NEVER = 2**31 - 1  # cores that let no job start: in an empty slot
EARLY = 1e-6  # s; an instant is at a time step if it comes no earlier than that before it: Batsim tells microseconds

QUEUE, WORK, FREE, REMAINING, BACKLOG = 0, 1, 2, 3, 4  # columns of Window.found
FOUND = 5

WINDOW = np.dtype(
    [
        ("step", "f8"),  # s that waiting takes, 0 until something happens
        ("next_step", "f8"),  # s, the agent is not asked before
        ("queued_work", "f8"),  # core x s requested by the waiting jobs
        ("sum_of_submissions", "f8"),  # s, over the waiting jobs: turns the time into their time in the queue
        ("longest_queue", "f8"),  # the largest number of waiting jobs until now
        ("longest_wait", "f8"),  # s, the largest sum of times in the queue until now
        ("waited", "f8"),  # s that the started jobs have waited together
        ("urgency", "f8"),  # 1/s, sum of 1 / requested time over the waiting and running jobs
        ("started", "i8"),  # jobs
        ("noted", "i8"),  # entries of Tables.started_now looked at
        ("seen", "i8"),  # job rows looked at
        ("queue", "i8"),  # waiting jobs
        ("first", "i4"),  # where they begin and end in Window.line
        ("end", "i4"),
        ("running", "i4"),  # used entries of Window.running
        ("head", "i4"),  # slots for the first jobs of the queue
        ("tail", "i4"),  # slots for the last ones
        ("filled", "i4"),  # slots at the head that hold a job
        ("opens", "i4"),
        ("machines", "i4"),  # 1: the slots hold the first jobs that some node can take whole
        ("stale", "i4"),  # 1: the slots must be filled again
        ("looks", "i4"),  # 1: some job in the slots asks for memory or GPUs
        ("finds", "i4"),  # 1: what jobs find when they are submitted is kept
        ("lists", "i4"),  # 1: the lists of waiting and of running jobs are kept
    ],
    align=True,
)


@bundle("first_processor")
class Window(NamedTuple):
    """The rows of one run; J jobs, M = head + tail slots.

    Attributes:
        rule: (1,) WINDOW.
        line: (J,) the waiting jobs in the order of submission, those from ``first`` to before ``end`` of the rule.
        cores: (J,) that let each of these start, below 0 if it asks for memory or GPUs too.
        paces: (J,) 1/s, one over the requested time of each job.
        slots: (M,) job rows, NONE where empty: the head in order, then the tail from the last job backwards.
        wants: (M,) the *cores* of these, NEVER where empty.
        running: (J,) running jobs by their expected end. ends: (J,) s, these ends. widths: (J,) their cores.
        found: (J, 5) what each job found: jobs in the queue, their work in core x s, free cores, work that the running
            jobs still had to do in core x s, jobs outside the window.
        first_processor: (N + 1,) where the processors of each node begin.
    """

    rule: Rows
    line: Ints
    cores: Ints
    paces: Floats
    slots: Ints
    wants: Ints
    running: Ints
    ends: Floats
    widths: Ints
    found: Floats
    first_processor: Ints


def new_window(
    state: State,
    head: int,
    tail: int = 0,
    opens: Opens = "waiting",
    step: float = 0.0,
    machines: bool = False,
    finds: bool = True,
    lists: bool = True,
) -> Window:
    """Return the window of a run at its beginning.

    Args:
        head, tail: slots for the first and the last jobs of the queue. opens, step: see the module.
        machines: whether only jobs that some node can take whole come into the slots (004, section II.E).
        finds: whether to keep what jobs find when they are submitted.
        lists: whether to keep the lists of waiting and of running jobs, which slots and most observations need.

    Raises:
        OptionsError: a value makes no sense.
    """
    if opens not in OPENS:
        raise OptionsError(f"opens {opens!r} is not known{did_you_mean(opens, OPENS)}")
    if head < 0 or tail < 0 or (machines and tail):
        raise OptionsError(f"a window of {head} + {tail} slots cannot be had")
    if not 0.0 <= step < np.inf or (opens == "ticks" and step == 0.0):
        raise OptionsError(f"step is {step:g}; a time in s is needed" + (" above 0" if opens == "ticks" else ""))
    if not lists and (head or tail or finds):
        raise OptionsError("a window with slots, or jobs that note what they find, need the lists of jobs")
    rule = np.zeros(1, WINDOW)
    rule["step"], rule["head"], rule["tail"], rule["opens"] = step, head, tail, OPENS.index(opens)
    rule["machines"], rule["finds"], rule["lists"], rule["stale"] = machines, finds, lists, 1
    jobs = len(state.tables.jobs)
    return Window(
        rule=rule,
        line=np.zeros(jobs, np.int32),
        cores=np.zeros(jobs, np.int32),
        paces=np.zeros(jobs),
        slots=np.full(head + tail, NONE, np.int32),
        wants=np.full(head + tail, NEVER, np.int32),
        running=np.zeros(jobs, np.int32),
        ends=np.zeros(jobs),
        widths=np.zeros(jobs, np.int32),
        found=np.zeros((jobs if finds else 0, FOUND)),
        first_processor=np.searchsorted(state.platform.processor_node, np.arange(state.platform.nodes + 1)),
    )


def wider(w: Window, jobs: int) -> Window:
    """Return the same window with room for so many jobs; under Batsim they become known on the way."""
    known = len(w.line)
    if jobs <= known:
        return w
    found = np.zeros((jobs if w.rule["finds"][0] else 0, FOUND))
    found[: len(w.found)] = w.found
    columns = {name: longer(getattr(w, name), jobs) for name in ("line", "cores", "paces", "running", "ends", "widths")}
    return w._replace(found=found, **columns)
