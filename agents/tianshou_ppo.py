"""PPO of Tianshou with masked actions.

    pip install 'hdeeprm_like[tianshou]'
    python agents/tianshou_ppo.py CompactRM --steps 20000

With ``mask="observation"`` what is seen and what is legal reach the network as two entries of Tianshou's `Batch`; the
network gives actions that are not legal the score minus infinity, so none of them is sampled. Tianshou keeps
environments in a list of its own, here one after the other in this process.
"""

import argparse
import logging
import sys
from typing import Any

import gymnasium
import numpy as np
import torch
from tianshou.algorithm import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OnPolicyTrainerParams
from torch import Tensor, nn

import hdeeprm_like.gym  # noqa: F401 - registers the environments
from hdeeprm_like.decision.presets import PRESETS

log = logging.getLogger(__name__)


def environment(preset: str, **keywords: Any) -> gymnasium.Env[Any, Any]:
    """Return an environment of a preset for Tianshou.

    Args:
        keywords: of `hdeeprm_like.envs.registration.environment`.
    """
    return gymnasium.make(f"hdeeprm_like/{preset}-v0", **{"mask": "observation", **keywords})


class Network(nn.Module):
    """Dense layers over what is seen."""

    def __init__(self, inputs: int, outputs: int, hidden: int = 64) -> None:
        super().__init__()
        layers = (
            nn.Linear(inputs, hidden),
            nn.Tanh(),
            nn.Linear(hidden, hidden),
            nn.Tanh(),
            nn.Linear(hidden, outputs),
        )
        self.layers = nn.Sequential(*layers)

    def scores(self, seen: Any) -> Tensor:
        """Return (B, outputs) numbers for (B, ...) observations."""
        found: Tensor = self.layers(torch.as_tensor(np.asarray(seen), dtype=torch.float32).flatten(1))
        return found


class Actor(Network):
    """The logits of the actions, minus infinity for those that are not legal."""

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[Tensor, Any]:
        """Return (B, A) logits, and the state as it is."""
        legal = torch.as_tensor(np.asarray(obs.action_mask)).bool()
        return self.scores(obs.observation).masked_fill(~legal, -torch.inf), state


class Critic(Network):
    """The value of what is seen."""

    def forward(self, obs: Any, **_: Any) -> Tensor:
        """Return (B, 1) values."""
        return self.scores(obs.observation)


def train(preset: str, steps: int, seed: int = 1, envs: int = 8, batch: int = 1024, **keywords: Any) -> tuple[PPO, Any]:
    """Return Tianshou's algorithm after at least so many decisions, and what Tianshou tells of the training.

    Args:
        envs: environments in a list. batch: decisions between two updates.
        keywords: of `hdeeprm_like.envs.registration.environment`.
    """
    torch.manual_seed(seed)
    one = environment(preset, **keywords)
    seen: Any = one.observation_space
    actions: Any = one.action_space
    inputs = int(np.prod(seen["observation"].shape))
    policy = DiscreteActorPolicy(
        actor=Actor(inputs, int(actions.n)), action_space=actions, observation_space=seen, deterministic_eval=True
    )
    algorithm = PPO(policy=policy, critic=Critic(inputs, 1), optim=AdamOptimizerFactory(lr=1e-3), gae_lambda=0.95)
    many = DummyVectorEnv([lambda: environment(preset, **keywords) for _ in range(envs)])
    many.seed(seed)
    parameters = OnPolicyTrainerParams(
        training_collector=Collector(algorithm, many, VectorReplayBuffer(max(batch, 2048), envs)),
        max_epochs=1,
        epoch_num_steps=steps,
        update_step_num_repetitions=4,
        batch_size=256,
        collection_step_num_env_steps=batch,
    )
    told = algorithm.run_training(parameters)
    many.close()
    return algorithm, told


def main(command_line: list[str]) -> None:
    """Train on a preset and log what Tianshou tells of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("preset", choices=list(PRESETS))
    parser.add_argument("--steps", type=int, default=20_000, help="decisions (default: %(default)s)")
    chosen = parser.parse_args(command_line)
    _, told = train(chosen.preset, chosen.steps)
    log.info("%s", told)


if __name__ == "__main__":
    logging.basicConfig(level="INFO", format="%(message)s", stream=sys.stdout)
    main(sys.argv[1:])
