"""Each action alone, from the beginning of an episode to its end: what agents begin with and are compared with."""

from collections.abc import Sequence

import numpy as np

from hdeeprm_like.learning.training import REWARD, Measures, NewEpisode, Playing

SIFTED = 6  # of so many actions, one is looked at closely; and on so many times the episodes


def each_alone(
    actions: Sequence[int], new_episode: NewEpisode, episodes: int, measures: Measures | None = None
) -> list[dict[str, float]]:
    """Return for each action the mean reward and the mean of each measure over the first episodes."""
    found: list[dict[str, float]] = []
    for action in actions:
        rows: list[list[float]] = []
        for number in range(episodes):
            playing = new_episode(number)
            play_alone(playing, action)
            rows.append([playing.episode.reward, *(measure(playing) for measure in (measures or {}).values())])
        found.append(dict(zip((REWARD, *(measures or {})), np.mean(rows, axis=0).tolist(), strict=True)))
    return found


def best_alone(
    actions: int, new_episode: NewEpisode, episodes: int, best: str = REWARD, measures: Measures | None = None
) -> int:
    """Return the action that earns the most alone, or whose measure *best* is the least.

    All play a sixth of the episodes, and the best sixth of them play all.
    """
    kept = list(range(actions))
    for share in (SIFTED, 1):
        found = each_alone(kept, new_episode, -(-episodes // share), measures)
        costs = [-row[REWARD] if best == REWARD else row[best] for row in found]
        kept = [kept[place] for place in np.argsort(costs, kind="stable")[: -(-len(kept) // SIFTED)]]
    return kept[0]


def play_alone(playing: Playing, action: int) -> None:
    """Play an episode with one action; where it is not legal the first legal one takes its place."""
    while playing.advance():
        _, mask = playing.observe()
        playing.act(action if mask[action] else int(np.flatnonzero(mask)[0]))
