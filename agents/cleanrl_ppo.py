"""PPO with masked actions in one file, after CleanRL's: many environments in one call, torch and nothing else.

    pip install 'hdeeprm_like[rl]'
    python agents/cleanrl_ppo.py CompactRM --steps 100000

Every hyperparameter is a field of `Options`. The mask of legal actions comes with the observation
(``mask="observation"``), and actions that are not legal get no probability, neither when they are sampled nor when the
network learns from them.

Source: Huang et al., "CleanRL: High-quality Single-file Implementations of Deep Reinforcement Learning Algorithms",
2022; Huang and Ontañón, "A Closer Look at Invalid Action Masking in Policy Gradient Algorithms", 2022.
"""

import argparse
import logging
import sys
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

import hdeeprm_like.gym  # noqa: F401 - registers the environments
from hdeeprm_like.decision.presets import PRESETS

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Options:
    """How PPO learns.

    Attributes:
        steps: decisions to learn from in all. envs: environments at once. length: decisions of each in a batch.
        lr: of Adam. gamma, gae_lambda: of the advantages. epochs, minibatches: passes over a batch and parts of it.
        clip: of the ratio. entropy, value: weights in the loss. max_norm: of gradients. hidden: units of two layers.
    """

    steps: int = 100_000
    envs: int = 16
    length: int = 128
    lr: float = 1e-3
    gamma: float = 0.99
    gae_lambda: float = 0.95
    epochs: int = 4
    minibatches: int = 4
    clip: float = 0.2
    entropy: float = 0.01
    value: float = 0.5
    max_norm: float = 0.5
    hidden: int = 64
    seed: int = 1


class ActorCritic(nn.Module):
    """A policy and a value, each with two hidden layers."""

    def __init__(self, inputs: int, actions: int, hidden: int) -> None:
        super().__init__()
        self.actor = network(inputs, hidden, actions)
        self.critic = network(inputs, hidden, 1)

    def policy(self, seen: Tensor, mask: Tensor) -> Any:
        """Return the policy over (B, A) actions; those that are not legal have probability 0."""
        return Categorical(logits=self.actor(seen).masked_fill(~mask, -torch.inf))

    def value(self, seen: Tensor) -> Tensor:
        """Return (B,) values."""
        found: Tensor = self.critic(seen)
        return found.squeeze(-1)


def network(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """Return dense layers."""
    layers = (nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, outputs))
    return nn.Sequential(*layers)


def tensors(seen: dict[str, Any]) -> tuple[Tensor, Tensor]:
    """Return (B, F) what is seen, and (B, A) which actions are legal."""
    flat = seen["observation"].reshape(len(seen["observation"]), -1)
    return torch.from_numpy(flat), torch.from_numpy(seen["action_mask"]).bool()


def train(preset: str, options: Options, **keywords: Any) -> tuple[ActorCritic, list[float]]:
    """Return the network after a training, and the mean reward of the episodes that ended in each batch.

    Args:
        keywords: of `hdeeprm_like.envs.registration.environment`.
    """
    torch.manual_seed(options.seed)
    name, how = f"hdeeprm_like/{preset}-v0", {"mask": "observation", "autoreset": "SameStep", **keywords}
    env = gymnasium.make_vec(name, num_envs=options.envs, **how)
    space: Any = env.single_observation_space
    actions: Any = env.single_action_space
    agent = ActorCritic(int(np.prod(space["observation"].shape)), int(actions.n), options.hidden)
    optimizer = torch.optim.Adam(agent.parameters(), options.lr, eps=1e-5)
    seen, _ = env.reset(seed=options.seed)
    course = []
    for _ in range(-(-options.steps // (options.envs * options.length))):
        batch, seen, ended = collect(env, agent, seen, options)
        learn(agent, optimizer, batch, options)
        course.append(float(np.mean(ended)) if ended else float("nan"))
        log.info("%d episodes ended, their mean reward is %.4g", len(ended), course[-1])
    env.close()
    return agent, course


def collect(
    env: Any, agent: ActorCritic, seen: dict[str, Any], options: Options
) -> tuple[list[Tensor], Any, list[float]]:
    """Play all environments for some decisions.

    Returns:
        What was seen, legal and done, its log probability, advantage and return, each (L * B, ...); what is seen next;
        the rewards of the episodes that ended.
    """
    steps, ended = [], []
    with torch.no_grad():
        for _ in range(options.length):
            observed, mask = tensors(seen)
            policy = agent.policy(observed, mask)
            action = policy.sample()
            seen, rewards, over, cut, info = env.step(action.numpy())
            goes_on = torch.from_numpy(~(over | cut)).float()
            reward = torch.from_numpy(rewards).float()
            if cut.any():  # what an episode that was cut off would still have earned
                reward += options.gamma * torch.from_numpy(cut).float() * agent.value(tensors(info["final_obs"])[0])
            steps.append((observed, mask, action, policy.log_prob(action), agent.value(observed), reward, goes_on))
            if "final_info" in info:
                ended += info["final_info"]["episode"]["r"][info["_final_info"]].tolist()
        columns = [torch.stack(column) for column in zip(*steps, strict=True)]
        *kept, values, rewards, goes_on = columns
        after, advantages, gained = agent.value(tensors(seen)[0]), torch.zeros_like(values), torch.zeros(options.envs)
        for step in reversed(range(options.length)):
            error = rewards[step] + options.gamma * after * goes_on[step] - values[step]
            gained = error + options.gamma * options.gae_lambda * goes_on[step] * gained
            advantages[step], after = gained, values[step]
    return [column.flatten(0, 1) for column in (*kept, advantages, advantages + values)], seen, ended


def learn(agent: ActorCritic, optimizer: torch.optim.Optimizer, batch: list[Tensor], options: Options) -> None:
    """Improve the network by what was played."""
    for _ in range(options.epochs):
        for rows in torch.randperm(len(batch[0])).chunk(options.minibatches):
            seen, mask, action, before, advantage, target = (column[rows] for column in batch)
            policy = agent.policy(seen, mask)
            ratio = (policy.log_prob(action) - before).exp()
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            clipped = ratio.clamp(1 - options.clip, 1 + options.clip)
            gain = torch.min(ratio * advantage, clipped * advantage).mean()
            error = 0.5 * (agent.value(seen) - target).square().mean()
            loss = -gain + options.value * error - options.entropy * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), options.max_norm)
            optimizer.step()


def main(command_line: list[str]) -> None:
    """Train on a preset and log how the rewards change."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("preset", choices=list(PRESETS))
    parser.add_argument("--steps", type=int, default=Options.steps, help="decisions (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=Options.seed)
    chosen = parser.parse_args(command_line)
    train(chosen.preset, Options(steps=chosen.steps, seed=chosen.seed))


if __name__ == "__main__":
    logging.basicConfig(level="INFO", format="%(message)s", stream=sys.stdout)
    main(sys.argv[1:])
