"""Actions that choose a job by its slot in a window, and a machine for it.

| space | action | meaning |
|---|---|---|
| jobs | 0 .. M-1 | start the job in that slot on cores chosen by the core policy |
| jobs | M | wait (000, section 4.4: the empty action; 001, section III.A: Fwd) |
| jobs x machines | n * M + i | start the job in slot i whole on node n (004, section II.E) |
| jobs x machines | N * M, if *waiting* | wait |

After a job start the agent may act again at once; the clock moves only when it waits. An illegal action counts as
waiting (000, section 4.4; 001, section III.B); masks show beforehand which actions are legal. With *masked* false the
masks call all actions legal, so that agents learn from the papers' rewards for wrong choices when to wait. Only when
nothing else can happen any more do these masks show the truth, since choosing would never end.
"""

import numpy as np

from hdeeprm_like.decision.names import CORE_POLICIES
from hdeeprm_like.decision.window.arrays import NONE, Window
from hdeeprm_like.decision.window.window import JobWindow, fill_slots, fits_slot, is_over, wait
from hdeeprm_like.engine.allocation import book_picked, choose_cores, write_allocation
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled, entry, inlined
from hdeeprm_like.engine.fitting import fits_on
from hdeeprm_like.engine.lifecycle import start_job
from hdeeprm_like.engine.node_places import pick_node
from hdeeprm_like.engine.numbers import HIGH_GFLOPS
from hdeeprm_like.engine.processor_keys import outdate
from hdeeprm_like.engine.processor_search import book
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import NOTHING, Tables
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.types import Bools, Flags, Ints

WAIT = "wait"


class SlotChoices(Bundle, shared=("core_policy",)):
    """Jobs of the window as actions in compiled code.

    Attributes:
        core_policy: (1,) number of the core policy.
    """

    core_policy: Ints


class OpenChoices(SlotChoices):
    """The same with masks that allow all actions."""


@compiled
def start_in_slot(tables: Tables, window: Window, core_policy: int, slot: int) -> bool:
    """Start the job in a slot; return False if there is none or it does not fit."""
    fill_slots(tables, window)
    j = window.slots[slot]
    if j == NONE or choose_cores(tables, core_policy, j) != NOTHING:
        return False
    start_job(tables, j)
    return True


@compiled
def book_on_node(tables: Tables, window: Window, n: int, j: int) -> None:
    """Book cores of a node for a job that fits there: the lowest free ones, all of them if it gets whole nodes."""
    if tables.clock[0].partitioned:
        pick_node(tables, n, j)
        book_picked(tables, j)
        return
    picks, wanted = 0, tables.jobs[j].size
    for p in range(window.first_processor[n], window.first_processor[n + 1]):
        cores = min(wanted, tables.loads[p].free)
        if cores > 0:
            tables.picks[picks].processor = p
            picks += 1
            book(tables, p, cores, j)
            outdate(tables, p)
            wanted -= cores
    write_allocation(tables, HIGH_GFLOPS, j, picks)
    for i in range(picks):
        tables.loads[tables.picks[i].processor].picked = 0


@compiled
def start_on_node(tables: Tables, window: Window, n: int, slot: int) -> bool:
    """Start the job in a slot on the lowest free cores of a node; False if there is none or it does not fit."""
    fill_slots(tables, window)
    j = window.slots[slot]
    if j == NONE or not fits_on(tables, window.first_processor, n, j):
        return False
    book_on_node(tables, window, n, j)
    start_job(tables, j)
    return True


@entry
def apply_slot(tables: Tables, window: Window, core_policy: int, action: int) -> bool:
    """Apply an action; return whether the agent may act again in this instant."""
    tables.clock[0].blocked = NOTHING
    slots = len(window.slots)
    if window.params[0].machines:
        started = action < slots * len(tables.nodes) and start_on_node(tables, window, action // slots, action % slots)
    else:
        started = action < slots and start_in_slot(tables, window, core_policy, action)
    return True if started else wait(tables, window)


@inlined
def act_by_slot(tables: Tables, window: Window, choices: SlotChoices, action: int) -> bool:
    """Apply an action; return whether the agent may act again in this instant."""
    return apply_slot(tables, window, choices.core_policy[0], action)


@entry
def write_slot_mask(tables: Tables, window: Window, mask: Flags) -> None:
    """Write which actions are legal: jobs that fit, and waiting while something else can still happen."""
    fill_slots(tables, window)
    slots = len(window.slots)
    if window.params[0].machines:
        for n in range(len(tables.nodes)):
            for i in range(slots):
                mask[n * slots + i] = window.slots[i] != NONE and fits_on(
                    tables, window.first_processor, n, window.slots[i]
                )
        last = slots * len(tables.nodes)
    else:
        free = tables.clock[0].free_cores
        for i in range(slots):
            mask[i] = window.wants[i] <= free
        if window.params[0].least < 0:
            for i in range(slots):
                mask[i] = fits_slot(tables, window, i)
        last = slots
    if last < len(mask):
        mask[last] = not is_over(tables) or window.params[0].queue == 0


@entry
def write_open_mask(tables: Tables, window: Window, mask: Flags) -> None:
    """Write that all actions are legal, or the true mask while only an action can make anything happen."""
    if is_over(tables) and window.params[0].queue > 0:
        write_slot_mask(tables, window, mask)
        return
    for action in range(len(mask)):
        mask[action] = True


class JobSlots:
    """Each action starts the job in a slot of a window, or waits; see the module.

    Attributes:
        size: number of actions, A. names: (A,). core_policy: number of the core policy.
    """

    forgiving = True

    def __init__(
        self,
        state: State,
        window: JobWindow,
        core_policy: str = "high_gflops",
        waiting: bool = True,
        masked: bool = True,
    ) -> None:
        """Choose among the jobs of a window, and among the nodes if the window is for machines.

        Args:
            core_policy: placement of jobs, unless the action chooses the node.
            waiting: whether the agent may wait if it chooses nodes; if it chooses only jobs it always may.
            masked: whether masks show what is legal, see the module.

        Raises:
            OptionsError: unknown core policy, or a window without slots.
        """
        if core_policy not in CORE_POLICIES:
            raise OptionsError(f"core policy {core_policy!r} is not known{did_you_mean(core_policy, CORE_POLICIES)}")
        if window.slots == 0:
            raise OptionsError("a window without slots leaves nothing to choose")
        self.core_policy = CORE_POLICIES[core_policy]
        self._window, self._masked = window, masked
        slots = [f"job {i}" for i in range(window.slots)]
        if window.arrays.params["machines"][0]:
            slots = [f"{slot} on node {n}" for n in range(state.platform.nodes) for slot in slots]
        self.names = (*slots, *((WAIT,) if waiting or not window.arrays.params["machines"][0] else ()))

    @property
    def size(self) -> int:
        """Number of actions."""
        return len(self.names)

    def choices(self) -> "SlotChoices":
        """Return the actions in compiled code."""
        return (SlotChoices if self._masked else OpenChoices)(np.array([self.core_policy]))

    def mask(self, state: State) -> Bools:
        """Return (A,) which actions are legal now."""
        mask = np.zeros(self.size, np.bool_)
        write = write_slot_mask if self._masked else write_open_mask
        write(state.tables, self._window.arrays, mask)
        return mask

    def apply(self, action: int, state: State) -> bool:
        """Start the job, or wait; return whether the agent may act again in this instant."""
        return apply_slot(state.tables, self._window.arrays, self.core_policy, action)
