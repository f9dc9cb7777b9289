"""PPO of TorchRL with masked actions, on many environments at once.

    pip install 'hdeeprm_like[torchrl]'
    python agents/torchrl_ppo.py CompactRM --steps 20000

TorchRL's `GymWrapper` takes a vector environment that is made with ``autoreset="Disabled"``: TorchRL itself then says
which environments begin anew. With ``mask="observation"`` the mask of legal actions is the entry ``action_mask``, and
`MaskedCategorical` gives other actions no probability.
"""

import argparse
import logging
import sys
from typing import Any

import gymnasium
import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs import EnvBase, GymWrapper, TransformedEnv
from torchrl.envs.transforms import Compose, DTypeCastTransform, FlattenObservation, RewardSum
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import hdeeprm_like.gym  # noqa: F401 - registers the environments
from hdeeprm_like.decision.presets import PRESETS

log = logging.getLogger(__name__)


def environment(preset: str, envs: int, **keywords: Any) -> EnvBase:
    """Return environments of a preset for TorchRL.

    Args:
        keywords: of `hdeeprm_like.envs.registration.environment`.
    """
    name, how = f"hdeeprm_like/{preset}-v0", {"mask": "observation", "autoreset": "Disabled", **keywords}
    wrapped = GymWrapper(gymnasium.make_vec(name, num_envs=envs, **how), categorical_action_encoding=True)
    whole = len(wrapped.observation_spec["observation"].shape) - 1
    transforms = [DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"]), RewardSum()]
    if whole > 1:  # images
        transforms.append(FlattenObservation(-whole, -1, in_keys=["observation"]))
    return TransformedEnv(wrapped, Compose(*transforms))


def network(inputs: int, outputs: int, hidden: int = 64) -> nn.Sequential:
    """Return dense layers."""
    layers = (nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, outputs))
    return nn.Sequential(*layers)


def actor_of(env: EnvBase) -> ProbabilisticActor:
    """Return a policy that gives no probability to actions that are not legal."""
    scores = network(env.observation_spec["observation"].shape[-1], env.action_spec.space.n)
    return ProbabilisticActor(
        TensorDictModule(scores, in_keys=["observation"], out_keys=["logits"]),
        in_keys={"logits": "logits", "mask": "action_mask"},
        out_keys=["action"],
        distribution_class=MaskedCategorical,
        return_log_prob=True,
    )


def train(
    env: EnvBase, steps: int, seed: int = 1, batch: int = 1024, epochs: int = 4
) -> tuple[ProbabilisticActor, int]:
    """Return the policy after so many decisions, and how many it has learned from.

    Args:
        batch: decisions between two updates. epochs: passes over each batch.
    """
    torch.manual_seed(seed)
    env.set_seed(seed)
    actor = actor_of(env)
    critic = ValueOperator(network(env.observation_spec["observation"].shape[-1], 1), in_keys=["observation"])
    advantages = GAE(gamma=0.99, lmbda=0.95, value_network=critic)
    loss = ClipPPOLoss(actor, critic, entropy_coeff=0.01)
    optimizer = torch.optim.Adam(loss.parameters(), 1e-3)
    sizes = {"frames_per_batch": batch, "total_frames": steps}
    collector = Collector(env, actor, **sizes, auto_register_policy_transforms=False)
    learned = 0
    for played in collector:
        with torch.no_grad():
            advantages(played)
        flat = played.reshape(-1)
        for _ in range(epochs):
            for rows in torch.randperm(len(flat)).chunk(4):
                found = loss(flat[rows])
                total = sum(found[name] for name in ("loss_objective", "loss_critic", "loss_entropy"))
                optimizer.zero_grad()
                total.backward()
                nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
                optimizer.step()
        learned += len(flat)
        sums = played["next", "episode_reward"][played["next", "done"]]
        log.info("%d decisions, %d episodes ended, their mean reward is %.4g", learned, len(sums), float(sums.mean()))
    collector.shutdown(close_env=False)
    return actor, learned


def main(command_line: list[str]) -> None:
    """Train on a preset and log how the rewards change."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("preset", choices=list(PRESETS))
    parser.add_argument("--steps", type=int, default=20_000, help="decisions (default: %(default)s)")
    parser.add_argument("--envs", type=int, default=16, help="environments at once (default: %(default)s)")
    chosen = parser.parse_args(command_line)
    train(environment(chosen.preset, chosen.envs), chosen.steps)


if __name__ == "__main__":
    logging.basicConfig(level="INFO", format="%(message)s", stream=sys.stdout)
    main(sys.argv[1:])
