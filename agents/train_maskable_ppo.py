"""Train sb3-contrib's MaskablePPO on a preset, and compare it with random legal actions on held-out episodes.

    pip install 'hdeeprm_like[rl]'
    python agents/train_maskable_ppo.py SMDP --steps 100000 --save smdp.zip

On one core of a laptop the default 50,000 steps on SMDP take about five minutes, and the 20 episodes before and after
them half a minute each; a progress bar is shown.

The first line of results is that of random legal actions, the last that of the trained network. Episodes come from
`hdeeprm_like.gym`, or from an options file; those for the comparison have seeds that training does not use.
"""

import argparse
import logging
import sys
from typing import Any

import gymnasium
import numpy as np
from sb3_contrib import MaskablePPO
from tqdm import tqdm

import hdeeprm_like.gym
from hdeeprm_like.decision.presets import PRESETS
from hdeeprm_like.envs.single import SchedulingEnv

HELD_OUT = 1_000_000  # first seed of the episodes for the comparison
FIGURES = ("bounded_slowdown", "wait", "utilization")

log = logging.getLogger(__name__)


def evaluate(env: gymnasium.Env[Any, Any], episodes: int, model: MaskablePPO | None, seed: int) -> dict[str, float]:
    """Return the mean reward and metrics of episodes under a model, or under random legal actions."""
    rng = np.random.default_rng(seed)
    found: list[dict[str, float]] = []
    who = "random actions" if model is None else "trained network"
    for episode in tqdm(range(episodes), unit=" episodes", desc=who, leave=False):
        observation, info = env.reset(seed=HELD_OUT + episode)
        total, over = 0.0, False
        while not over:
            mask = info["action_mask"]
            if model is None:
                action = rng.choice(np.flatnonzero(mask))
            else:
                action, _ = model.predict(observation, action_masks=mask, deterministic=True)
            observation, reward, terminated, truncated, info = env.step(action)
            total, over = total + float(reward), terminated or truncated
        found.append({"reward": total} | {name: info["metrics"][name] for name in FIGURES})
    return {name: float(np.mean([one[name] for one in found])) for name in found[0]}


def line_of(who: str, figures: dict[str, float]) -> str:
    """Return the name of a policy and its metrics on one line."""
    return f"{who:10}" + "".join(f"  {name} {value:.4g}" for name, value in figures.items())


def train(env: SchedulingEnv, steps: int, seed: int, n_steps: int = 1024) -> MaskablePPO:
    """Train MaskablePPO for *steps* steps and return its network; the library's defaults except for batch sizes.

    Rewards of the mode ``discounted`` are already discounted over time, so they are not discounted by decision again
    (000, section 4.7.3).
    """
    gamma = 1.0 if env.space.reward == "discounted" else 0.99
    batch = min(n_steps, 256)
    model = MaskablePPO("MlpPolicy", env, n_steps=n_steps, batch_size=batch, gamma=gamma, seed=seed, device="cpu")
    with tqdm(total=steps, unit=" steps", desc="training") as bar:

        def show(*_: object) -> bool:
            bar.update(min(model.num_timesteps, steps) - bar.n)
            return True

        return model.learn(steps, callback=show)


def main(command_line: list[str]) -> None:
    """Train on a preset, log the metrics of random actions and of the network, and save the network with ``--save``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("preset", choices=list(PRESETS))
    parser.add_argument("--options", help="an options file with platform and jobs")
    parser.add_argument("--steps", type=int, default=50_000, help="decisions to learn from (default: %(default)s)")
    parser.add_argument("--episodes", type=int, default=20, help="episodes for the comparison (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", help="file to save the network to")
    arguments = parser.parse_args(command_line)
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    env = hdeeprm_like.gym.environment(arguments.preset, options=arguments.options)
    log.info(line_of("random", evaluate(env, arguments.episodes, None, arguments.seed)))
    model = train(env, arguments.steps, arguments.seed, n_steps=max(2, min(1024, arguments.steps)))
    log.info(line_of("trained", evaluate(env, arguments.episodes, model, arguments.seed)))
    if arguments.save:
        model.save(arguments.save)


if __name__ == "__main__":
    main(sys.argv[1:])
