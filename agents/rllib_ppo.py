"""PPO of RLlib with masked actions.

    pip install 'hdeeprm_like[rllib]'
    python agents/rllib_ppo.py CompactRM --iterations 5

RLlib's own module for masked actions, `ActionMaskingTorchRLModule`, reads a dictionary of ``observations`` and
``action_mask``, both of real numbers; `renamed` makes that of an environment with ``mask="observation"``.
"""

import argparse
import logging
import sys
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import TransformObservation
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

import hdeeprm_like.gym  # noqa: F401 - registers the environments
from hdeeprm_like.decision.presets import PRESETS

log = logging.getLogger(__name__)


def renamed(seen: dict[str, Any]) -> dict[str, Any]:
    """Return an observation by the names that RLlib's module for masked actions reads, what is seen as one vector."""
    return {"action_mask": seen["action_mask"].astype(np.float32), "observations": seen["observation"].ravel()}


def environment(how: dict[str, Any]) -> gymnasium.Env[Any, Any]:
    """Return an environment for RLlib.

    Args:
        how: ``preset``, and keywords of `hdeeprm_like.envs.registration.environment`.
    """
    how = {"mask": "observation", **how}
    env = gymnasium.make(f"hdeeprm_like/{how.pop('preset')}-v0", **how)
    before: Any = env.observation_space
    space: dict[str, gymnasium.Space[Any]] = {
        "action_mask": spaces.Box(0.0, 1.0, before["action_mask"].shape, np.float32),
        "observations": spaces.Box(0.0, 1.0, (int(np.prod(before["observation"].shape)),), np.float32),
    }
    return TransformObservation(env, renamed, spaces.Dict(space))


def algorithm(preset: str, seed: int = 1, batch: int = 1024, **keywords: Any) -> Algorithm:
    """Return RLlib's PPO on a preset, which plays in this process.

    Args:
        batch: decisions of an iteration. keywords: of `hdeeprm_like.envs.registration.environment`.
    """
    register_env("hdeeprm_like", environment)
    config = (
        PPOConfig()
        .environment("hdeeprm_like", env_config={"preset": preset, **keywords})
        .env_runners(num_env_runners=0, num_envs_per_env_runner=4)
        .training(train_batch_size_per_learner=batch, minibatch_size=min(batch, 256), num_epochs=4, lr=1e-3)
        .rl_module(
            rl_module_spec=RLModuleSpec(
                module_class=ActionMaskingTorchRLModule,
                model_config=DefaultModelConfig(fcnet_hiddens=[64, 64], head_fcnet_hiddens=[]),
            )
        )
        .debugging(seed=seed)
    )
    return config.build_algo()


def main(command_line: list[str]) -> None:
    """Train on a preset and log how the rewards change."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("preset", choices=list(PRESETS))
    parser.add_argument("--iterations", type=int, default=5, help="updates (default: %(default)s)")
    chosen = parser.parse_args(command_line)
    ppo = algorithm(chosen.preset)
    for iteration in range(chosen.iterations):
        found = ppo.train()["env_runners"]
        log.info(
            "iteration %d: mean reward of an episode %.4g", iteration + 1, found.get("episode_return_mean", np.nan)
        )
    ppo.stop()


if __name__ == "__main__":
    logging.basicConfig(level="INFO", format="%(message)s", stream=sys.stdout)
    main(sys.argv[1:])
