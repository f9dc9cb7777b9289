"""A toy problem whose optimum a table of values gives: a corridor with a small reward at hand and a large one far away.

The walker begins in the middle of five places and takes ten steps. Action 0 stays and earns 0.1; 1 goes left, 2 goes
right, both for nothing; at the right end, 3 opens the door for 1 and puts the walker back into the middle. Going left
is illegal at the left end, going right at the right end, opening anywhere but there.
"""

import numpy as np

from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.decision.layout import plain_layout

PLACES, ACTIONS, STEPS, START = 5, 4, 10, 2


def legal(place):
    return np.array([True, place > 0, place < PLACES - 1, place == PLACES - 1])


def outcome(place, action):
    """Return the next place and the reward."""
    if action == 3:
        return START, 1.0
    return place + (0, -1, 1)[action], 0.1 if action == 0 else 0.0


def observed(place, step):
    seen = np.zeros(PLACES + 1, np.float32)
    seen[place] = 1.0
    seen[-1] = step / STEPS
    return seen


def optimum():
    """Return the greatest sum of rewards of an episode."""
    value = np.zeros(PLACES)
    for _ in range(STEPS):
        value = np.array(
            [
                max(reward + value[there] for there, reward in (outcome(p, a) for a in np.flatnonzero(legal(p))))
                for p in range(PLACES)
            ]
        )
    return float(value[START])


class Walk:
    """One episode, which stops at each decision as ``run.python_loop.Play`` does."""

    def __init__(self, number=0):
        self.place, self.arrays = START, []

    def advance(self):
        return len(self.arrays) < STEPS

    def observe(self):
        return observed(self.place, len(self.arrays)), legal(self.place)

    def act(self, action):
        seen, mask = self.observe()
        assert mask[action]
        self.place, reward = outcome(self.place, action)
        self.arrays.append((seen, mask, action, reward))

    @property
    def run(self):
        return self

    @property
    def episode(self):
        seen, masks, actions, rewards = zip(*self.arrays, strict=True)
        return Episode(
            np.array(seen), np.array(masks), np.array(actions), np.array(rewards), np.arange(float(STEPS)), float(STEPS)
        )


NAMES = ("stay", "left", "right", "open")
LAYOUT = plain_layout((PLACES + 1,), NAMES)


def numbers_in(path):
    """Return the numbers of a ``losses.log`` or ``rewards.log``, one on each line."""
    return [float(line) for line in path.read_text().splitlines()]


def moves_of(agent):
    """Return the list to which an agent of PPO's kind adds how far it has moved (KL) before each of its steps."""
    moves, learn_from = [], agent._learn_from

    def learn_and_note(*given):
        parts = learn_from(*given)
        moves.append(float(parts[-1]))
        return parts

    agent._learn_from = learn_and_note
    return moves
