"""The heap of what takes time in SimGrid, called as the clock calls it, in plain Python alone."""

import pytest

from hdeeprm_like.engine.actions import SETTLEMENTS, STEPS, add, new_actions, settle
from hdeeprm_like.engine.plain import ENABLED

pytestmark = pytest.mark.skipif(not ENABLED, reason="calls functions that machine code alone calls")
LEFT = [90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 20.0]  # s of timers; each one added ends before those that are there


def timers():
    actions = new_actions(len(LEFT))
    for owner, left in enumerate(LEFT):
        add(actions, 2 * owner + 1, left, 1.0)
    return actions


def test_every_step_is_subtracted_once_from_every_action_in_its_order():
    actions, steps = timers(), [0.1 + 0.001 * k for k in range(STEPS)]
    actions.steps[:], actions.pace[0].steps = steps, STEPS
    late = actions.places[1]
    actions.heap[late].since = 10  # it was created after ten of them
    settle(actions)
    for owner, left in enumerate(LEFT):
        for step in steps if owner else steps[10:]:
            left -= step
        assert actions.left[actions.places[2 * owner + 1]] == left
    assert (actions.pace[0].steps, {actions.heap[place].since for place in range(len(LEFT))}) == (0, {0})


def test_after_some_settlements_all_dates_are_computed_again_and_the_first_to_end_is_on_top():
    actions = timers()
    for place in range(len(LEFT)):  # as sums round, any order may have become wrong
        actions.left[place], actions.heap[place].date = LEFT[place], 0.0
    for _ in range(SETTLEMENTS - 1):
        actions.pace[0].steps = STEPS
        settle(actions)
    assert {actions.heap[place].date for place in range(len(LEFT))} == {0.0}
    actions.pace[0].steps = STEPS
    settle(actions)
    dates = [actions.heap[place].date for place in range(len(LEFT))]
    assert dates[0] == min(dates) == pytest.approx(min(LEFT))
    assert all(dates[(place - 1) // 2] <= dates[place] for place in range(1, len(LEFT)))
    assert actions.pace[0].settlements == 0
