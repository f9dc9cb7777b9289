"""A network trained by Stable-Baselines3 or sb3-contrib, to launch in process, to compare, or to run against Batsim.

    hdeeprm-like launch --options experiment.json --agent agents/sb3_network.py

with the decision space of the training in the options, and

    "agent": {"type": "LEARNING", "run": "test", "model": "smdp.zip"}

Only weights are read from the file written by ``model.save("smdp.zip")``: nothing is unpickled, so a file from
elsewhere cannot run code here, and Stable-Baselines3 need not be installed. Supported are networks of ``MlpPolicy``
of PPO, A2C, MaskablePPO, TRPO, DQN and QR-DQN.

| option | default | meaning |
|---|---|---|
| ``model`` | | path of the file, relative to the current folder |
| ``activation`` | from the file | between layers: ``"tanh"``, ``"relu"``, ``"elu"`` or ``"leaky_relu"`` |
"""

import io
import json
import pickle
import re
import warnings
import zipfile
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from hdeeprm_like.errors import AgentError, OptionsError
from hdeeprm_like.learning.agents import PolicyLearningAgent

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "elu": nn.ELU,
    "leaky_relu": nn.LeakyReLU,
}
USUAL = {"policy": "tanh", "values": "relu"}  # default activations of Stable-Baselines3
LARGEST = 1 << 30  # bytes, limit of the weights

# Names of the layers of a network: those before the last one, and the last one.
HIDDEN = {
    "policy": r"mlp_extractor\.policy_net\.(\d+)",
    "values": r"(?:q_net\.q_net|quantile_net\.quantile_net)\.(\d+)",
}
LAST = {"policy": "action_net"}


class Sb3Network(PolicyLearningAgent):
    """A network of Stable-Baselines3: a policy (sampled unless tests are greedy), or values of actions."""

    def __init__(self, model: str, action_size: int, observation_size: int, activation: str | None = None) -> None:
        weights, named = contents(model)
        self.kind = "policy" if any(re.match(HIDDEN["policy"], name) for name in weights) else "values"
        between = activation or named or USUAL[self.kind]
        if between not in ACTIVATIONS:
            raise OptionsError(f"agent.activation is {between!r:.80}; known: {', '.join(ACTIVATIONS)}")
        self.network = network(layers_of(weights, self.kind, model), ACTIVATIONS[between])
        linear = [layer for layer in self.network if isinstance(layer, nn.Linear)]
        inputs, outputs = linear[0].in_features, linear[-1].out_features
        self.actions = action_size
        if inputs != observation_size or outputs % action_size or (outputs != action_size and self.kind == "policy"):
            raise AgentError(
                f"{model}: sees {inputs} numbers and does {outputs} actions; here are {observation_size} and "
                f"{action_size}: take the decision space that it was trained in"
            )

    def forward_policy(self, observation: Tensor) -> Tensor:
        """Return (B, A) probabilities; for values of actions, nearly 1 for the greatest legal one."""
        return torch.softmax(self._scores(observation), 1)

    def log_probabilities(self, observations: Tensor, masks: Tensor) -> Tensor:
        """Return (B, A) log probabilities; illegal actions are masked as in MaskablePPO."""
        return torch.log_softmax(self._scores(observations).masked_fill(~masks, -torch.inf), 1)

    def _scores(self, observations: Tensor) -> Tensor:
        found: Tensor = self.network(observations)
        if self.kind == "policy":
            return found
        return found.reshape(len(found), -1, self.actions).mean(1) * 1e6  # values: the best action is chosen


def contents(path: str) -> tuple[dict[str, Tensor], str | None]:
    """Return the weights by name in a file of Stable-Baselines3, and the activation named in it, None for the default.

    Raises:
        AgentError: there is no such file, or it has another format.
    """
    try:
        with zipfile.ZipFile(path) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the contents of invalid files
            if file.getinfo("policy.pth").file_size > LARGEST or file.getinfo("data").file_size > LARGEST:
                raise AgentError(f"{path}: has weights of more than {LARGEST >> 20} MiB")
            weights = torch.load(io.BytesIO(file.read("policy.pth")), map_location="cpu", weights_only=True)
            data = json.loads(file.read("data"))
    except FileNotFoundError:
        raise AgentError(f"{path}: no such file; what model.save() of Stable-Baselines3 writes is needed") from None
    except (OSError, KeyError, ValueError, RuntimeError, zipfile.BadZipFile, pickle.UnpicklingError) as cause:
        raise AgentError(f"{path}: is no model of Stable-Baselines3 ({type(cause).__name__})") from cause
    if not isinstance(weights, Mapping) or not all(isinstance(one, Tensor) for one in weights.values()):
        raise AgentError(f"{path}: is no model of Stable-Baselines3: policy.pth holds no weights by name")
    return dict(weights), activation_in(data)


def activation_in(data: Any) -> str | None:
    """Return the activation named in the description of a model, found in its text; None for the default."""
    options = data.get("policy_kwargs") if isinstance(data, dict) else None
    named = options.get("activation_fn") if isinstance(options, dict) else None
    if named is None:
        return None
    found = re.search(r"\.(\w+)'>$", str(named))
    known = {kind.__name__: name for name, kind in ACTIVATIONS.items()}
    return known.get(found[1] if found else "", str(named))


def layers_of(weights: Mapping[str, Tensor], kind: str, path: str) -> list[tuple[Tensor, Tensor]]:
    """Return the weights and biases of the layers from observations to scores.

    Raises:
        AgentError: the network is of an unsupported kind.
    """
    places = [int(match[1]) for match in (re.fullmatch(HIDDEN[kind] + r"\.weight", name) for name in weights) if match]
    prefix = next((name for name in weights if re.fullmatch(HIDDEN[kind] + r"\.weight", name)), "")
    stem = re.sub(r"\d+\.weight$", "", prefix)
    names = [f"{stem}{place}" for place in sorted(places)] + ([LAST[kind]] if kind in LAST else [])
    try:
        found = [(weights[f"{name}.weight"], weights[f"{name}.bias"]) for name in names]
    except KeyError as cause:
        raise AgentError(f"{path}: has no {cause}; networks of MlpPolicy can be read") from None
    whole = all(weight.ndim == 2 and bias.shape == weight.shape[:1] for weight, bias in found)
    if not found or not whole or any(a[0].shape[0] != b[0].shape[1] for a, b in pairwise(found)):
        raise AgentError(f"{path}: its layers do not follow on one another; networks of MlpPolicy can be read")
    return found


def network(layers: list[tuple[Tensor, Tensor]], between: type[nn.Module]) -> nn.Sequential:
    """Return dense layers with given weights and biases."""
    parts: list[nn.Module] = []
    for weight, bias in layers:
        layer = nn.Linear(weight.shape[1], weight.shape[0])
        with torch.no_grad():
            layer.weight.copy_(weight)
            layer.bias.copy_(bias)
        parts += [layer, between()]
    return nn.Sequential(*parts[:-1])
