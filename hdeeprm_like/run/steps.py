"""A decision and all that happens until the next one, in one call of compiled code.

It does what `Play` and `DecisionSystem` do, for the built-in parts, and records nothing: environments that count steps
per second use it. Looking at an action takes microseconds in compiled code, and so does each call of it from Python;
this makes one call of the dozen.
"""

from typing import NamedTuple

import numpy as np

from hdeeprm_like.decision.actions import OWN, ActionSpace, PolicyPairs
from hdeeprm_like.decision.job_actions import JobSlots, apply_slot, write_slot_mask
from hdeeprm_like.decision.observations.view import View, ViewRows, write_view
from hdeeprm_like.decision.policies.pairs import apply_pair
from hdeeprm_like.decision.rewards import SAMPLE, WAITS, RewardRows, reward_at_once, settle
from hdeeprm_like.decision.window.following import note_starts
from hdeeprm_like.decision.window.rows import Window
from hdeeprm_like.decision.window.window import is_over, opens
from hdeeprm_like.engine.bundles import bundle
from hdeeprm_like.engine.compiled import compiled, direct
from hdeeprm_like.engine.event_clock import Clockwork
from hdeeprm_like.engine.tables import NOTHING, Rows, Tables
from hdeeprm_like.engine.tasks import Simulation
from hdeeprm_like.run.play import WANTED, Play, to_next_decision
from hdeeprm_like.types import Bools, Floats, Ints

DRAWS = 100  # episodes in which no decision is wanted are passed over, so many in a row at most
NO_DECISION = f"none of {DRAWS} episodes had a decision to make; use other jobs"

CHOICE = np.dtype(
    [
        ("slots", "i4"),  # 1 where actions are jobs of the window
        ("core_policy", "i4"),  # of these
        ("void", "i4"),  # 1 where the last action is to start none
        ("clock", "i4"),
    ],
    align=True,
)


@bundle("pairs")
class Choices(NamedTuple):
    """What can be done, and what a step leaves behind; A actions, F features.

    Attributes:
        rule: (1,) CHOICE. told: (2,) reward of the last action, and now in s.
        pairs: (A, 2) numbers of job and core policy.
    """

    rule: Rows
    told: Floats
    pairs: Ints


@compiled
def carry_out(t: Tables, w: Window, c: Choices, action: int) -> bool:
    """Apply an action; return whether the agent may act again in this instant."""
    rule = c.rule[0]
    if rule.slots == 1:
        return apply_slot(t, w, rule.core_policy, action)
    if action < len(c.pairs):
        apply_pair(t, c.pairs[action, 0], c.pairs[action, 1])
    else:
        t.clock[0].blocked = NOTHING
    note_starts(t, w)
    return False


@compiled
def look(t: Tables, w: Window, v: ViewRows, c: Choices, out: Floats, mask: Bools) -> None:
    """Write what is to be seen, (F,) float32, and which actions are legal, (A,) of which policies always are."""
    write_view(t, w, v, out)
    if c.rule[0].slots == 1:
        write_slot_mask(t, w, mask)
    elif c.rule[0].void == 1:
        mask[len(mask) - 1] = not is_over(t)


@compiled
def go_on(t: Tables, s: Simulation, k: Clockwork, w: Window, r: RewardRows, c: Choices, action: int) -> bool:
    """Apply an action and go to the next decision; False when the episode is over."""
    rule, mode = c.rule[0], r.rule[0].mode
    before = t.clock[0].started_now
    again = carry_out(t, w, c, action)
    if mode in (SAMPLE, WAITS):
        c.told[0] = reward_at_once(t, w, r, t.clock[0].started_now > before)
    wanted = again and opens(t, w)
    if not wanted:
        wanted = to_next_decision(t, s, k, w, r, rule.clock, True) == WANTED
    if mode not in (SAMPLE, WAITS):
        c.told[0] = settle(t, w, r)
    c.told[1] = t.clock[0].now
    return wanted


@compiled
def step(
    t: Tables,
    s: Simulation,
    k: Clockwork,
    w: Window,
    r: RewardRows,
    v: ViewRows,
    c: Choices,
    out: Floats,
    mask: Bools,
    action: int,
) -> bool:
    """Apply an action, go to the next decision and write what is to be seen there; False when the episode is over."""
    wanted = go_on(t, s, k, w, r, c, action)
    look(t, w, v, c, out, mask)
    return wanted


def choices_of(actions: ActionSpace, clock: int) -> Choices:
    """Return a built-in action space in compiled code."""
    rule, pairs = np.zeros(1, CHOICE), np.zeros((0, 2), np.int64)
    rule["clock"] = clock
    if isinstance(actions, JobSlots):
        rule["slots"], rule["core_policy"] = 1, actions.core_policy
    elif isinstance(actions, PolicyPairs):
        rule["void"], pairs = actions.void, np.array(actions.numbers, np.int64)
    return Choices(rule, np.zeros(2), pairs)


class Steps:
    """The steps of an episode that `Play` has brought to its first decision.

    Attributes:
        mask: (A,) which actions are legal now.
    """

    def __init__(self, play: Play) -> None:
        system = play.system
        system.settle()
        _, mask = system.observe()
        actions, observer = system.actions, system.observer
        assert isinstance(observer, View)
        choices = choices_of(actions, play.clock)
        self.mask = mask.copy()
        self._told = choices.told
        self._rows = (*play.rows, observer.rows, choices)
        self._shape = observer.shape
        self._features = int(np.prod(observer.shape))
        self._step = direct(step, *self._rows, np.empty(self._features, np.float32), self.mask, 0)

    def __call__(self, action: int) -> tuple[Floats, float, float, bool]:
        """Apply an action that is legal or forgiven.

        Returns:
            What is to be seen next, the reward of the action, the time of the cluster in s, whether the episode goes
            on.
        """
        out = np.empty(self._features, np.float32)
        goes_on = self._step(*self._rows, out, self.mask, action)
        reward, now = self._told.tolist()
        return out.reshape(self._shape), reward, now, goes_on


def fits_steps(play: Play) -> bool:
    """Tell whether the parts of a decision system are built in, so that `Steps` can play it."""
    system = play.system
    actions = system.actions
    known = type(actions) is JobSlots or (
        type(actions) is PolicyPairs and all(job != OWN for job, _ in actions.numbers)
    )
    return known and type(system.observer) is View and system.reward is not None and system.reward.compiled
