"""Dense layers, and choices by what they give, with gradients written out: autograd records one step for all layers.

For networks of 64 units autograd spends most time between the products of matrices: on records, on tanh and its slope
in eight passes over memory, on masks. Outputs and gradients equal those of autograd to rounding.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

Slope = Callable[[Tensor, Tensor], Tensor]
"""Takes (B, U) gradients of units and these units; returns the gradients of what the units were computed of."""


class Tanh(nn.Module):
    """The hyperbolic tangent as 2 sigmoid(2 x) - 1, three times faster in torch on most CPUs."""

    def forward(self, inputs: Tensor) -> Tensor:
        """Return tanh of each value."""
        return torch.sigmoid(inputs + inputs) * 2.0 - 1.0


def tanh_in_place(values: Tensor) -> Tensor:
    """Return what `Tanh` does, in the memory of the values."""
    return values.add_(values).sigmoid_().mul_(2.0).sub_(1.0)


def slope_of_relu(gradients: Tensor, units: Tensor) -> Tensor:
    """Return gradients where units are positive, else 0."""
    passed: Tensor = torch.ops.aten.threshold_backward(gradients, units, 0.0)
    return passed


FUNCTIONS: dict[type[nn.Module], tuple[Callable[[Tensor], Tensor], Slope]] = {
    Tanh: (tanh_in_place, torch.ops.aten.tanh_backward),
    nn.Tanh: (torch.tanh_, torch.ops.aten.tanh_backward),
    nn.ReLU: (torch.relu_, slope_of_relu),
}
ACTIVATIONS: dict[str, type[nn.Module]] = {"tanh": Tanh, "relu": nn.ReLU}


def dense(sizes: Sequence[int], activation: str, last_gain: float = 1.0) -> "DenseLayers":
    """Return dense layers with orthogonal weights.

    Args:
        sizes: of the input and of each layer's output. activation: between them, a name of `ACTIVATIONS`.
        last_gain: of the weights of the last layer.
    """
    layers: list[nn.Module] = []
    for place, (inputs, outputs) in enumerate(pairwise(sizes)):
        last = place == len(sizes) - 2
        layer = nn.Linear(inputs, outputs)
        nn.init.orthogonal_(layer.weight, last_gain if last else np.sqrt(2.0))
        nn.init.zeros_(layer.bias)
        layers += [layer] if last else [layer, ACTIVATIONS[activation]()]
    return DenseLayers(*layers)


class DenseLayers(nn.Sequential):
    """Dense layers, each followed by at most one function of `FUNCTIONS`.

    Of other layers, as an agent may put in their place, autograd makes the gradients.
    """

    def forward(self, *blocks: Tensor) -> Tensor:
        """Return (B, U) the output.

        Args:
            blocks: which together are (B, F) inputs, each perhaps without last features that are all 0.
        """
        steps: list[tuple[nn.Linear, Any]] = []
        for layer in self:
            if type(layer) is nn.Linear and layer.bias is not None:
                steps.append((layer, None))
            elif type(layer) in FUNCTIONS and steps and steps[-1][1] is None:
                steps[-1] = steps[-1][0], FUNCTIONS[type(layer)]
            else:
                return self.by_autograd(blocks)
        weights = [part for layer, _ in steps for part in (layer.weight, layer.bias)]
        functions = [function for _, function in steps]
        if not torch.is_grad_enabled():
            return units_of(functions, weights, blocks)[-1]
        found: Tensor = _Through.apply(functions, *weights, *blocks)  # type: ignore[no-untyped-call]
        return found

    def by_autograd(self, blocks: Sequence[Tensor]) -> Tensor:
        """Return the same, layer by layer, with records for autograd."""
        inputs = getattr(self[0], "in_features", max(block.shape[1] for block in blocks))
        whole: Any = torch.cat([functional.pad(block, (0, inputs - block.shape[1])) for block in blocks])
        for layer in self:
            whole = layer(whole)
        return cast(Tensor, whole)


def units_of(functions: Sequence[Any], weights: Sequence[Tensor], blocks: Sequence[Tensor]) -> list[Tensor]:
    """Return (B, U) the output of each layer.

    Args:
        functions: one of `FUNCTIONS`, or None, for each layer. weights: weight and bias of each. blocks: of the inputs.
    """
    products = [torch.addmm(weights[1], block, weights[0][:, : block.shape[1]].T) for block in blocks]
    units = [products[0] if len(products) == 1 else torch.cat(products)]
    for place, function in enumerate(functions):
        if place:
            units.append(torch.addmm(weights[2 * place + 1], units[-1], weights[2 * place].T))
        if function is not None:
            function[0](units[-1])
    return units


class _Through(torch.autograd.Function):
    """The output of dense layers; for the gradients the units of each layer are kept."""

    @staticmethod
    def forward(ctx: Any, functions: Sequence[Any], *tensors: Tensor) -> Tensor:
        """Return the output.

        Args:
            functions: one of `FUNCTIONS`, or None, for each layer. tensors: weight and bias of each layer; the blocks.
        """
        count = 2 * len(functions)
        units = units_of(functions, tensors[:count], tensors[count:])
        ctx.slopes = [function and function[1] for function in functions]
        ctx.save_for_backward(*units, *tensors)
        return units[-1]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the tensors, given (B, U) those of the output."""
        count = len(ctx.slopes)
        units, weights, blocks = (
            ctx.saved_tensors[a:b] for a, b in ((0, count), (count, 3 * count), (3 * count, None))
        )
        found: list[Tensor] = []
        for place in reversed(range(count)):
            if ctx.slopes[place] is not None:
                gradients = ctx.slopes[place](gradients, units[place])
            found.append(gradients.sum(0))
            if place:
                found.append(gradients.T @ units[place - 1])
                gradients = gradients @ weights[2 * place]
        parts = torch.split(gradients, [len(block) for block in blocks])
        found.append(of_first_weight(parts, blocks, weights[0]))
        needed = zip(parts, blocks, ctx.needs_input_grad[1 + 2 * count :], strict=True)
        of_blocks = [part @ weights[0][:, : block.shape[1]] if needs else None for part, block, needs in needed]
        return None, *reversed(found), *of_blocks


def of_first_weight(gradients: Sequence[Tensor], blocks: Sequence[Tensor], weight: Tensor) -> Tensor:
    """Return the gradient of the first layer's weight, to which blocks with fewer features add in fewer columns."""
    if len(blocks) == 1 and blocks[0].shape[1] == weight.shape[1]:
        return gradients[0].T @ blocks[0]
    found = torch.zeros_like(weight)
    for part, block in zip(gradients, blocks, strict=True):
        found[:, : block.shape[1]] += part.T @ block
    return found


def combined(choices: Tensor, factors: Sequence[int]) -> Tensor:
    """Return (B, A) logits of actions that combine one choice of each factor, each the sum of the logits of these.

    Args:
        choices: (B, sum of the factors) logits of the choices of each factor; the others stand alone at the end.
    """
    alone = choices.shape[1] - sum(factors)
    *parts, rest = torch.split(choices, [*factors, alone], dim=1)
    total: Tensor = parts[0]
    for part in parts[1:]:
        total = (total[:, :, None] + part[:, None, :]).flatten(1)
    return torch.cat([total, rest], 1) if alone else total


def legal_log_softmax(logits: Tensor, masks: Tensor) -> Tensor:
    """Return (B, A) logarithms of probabilities, minus infinity where (B, A) masks do not allow an action."""
    return torch.log_softmax(torch.where(masks, logits, -torch.inf), dim=1)


class Chosen(torch.autograd.Function):
    """The log probability of an action of each decision, and the entropy, by the logits of combined choices."""

    @staticmethod
    def forward(
        ctx: Any, choices: Tensor, factors: Sequence[int], masks: Tensor, actions: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return (B,) logarithms and (B,) entropies in nats; the arguments are as in `combined`, actions (B,)."""
        logarithms = legal_log_softmax(combined(choices, factors), masks)
        chosen = logarithms.gather(1, actions[:, None])[:, 0]
        probabilities = logarithms.exp()
        logarithms.clamp_(min=-1e9)  # so that 0 times minus infinity is 0
        entropies = -torch.linalg.vecdot(probabilities, logarithms)
        ctx.factors = factors
        ctx.save_for_backward(probabilities, logarithms, entropies, actions)
        ctx.set_materialize_grads(False)
        return chosen, entropies

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_chosen: Tensor | None, of_entropies: Tensor | None) -> tuple[Tensor | None, ...]:
        """Return the gradients of the choices, given (B,) those of what `forward` returned; None is 0."""
        probabilities, logarithms, entropies, actions = ctx.saved_tensors
        found = torch.zeros_like(probabilities) if of_chosen is None else probabilities * -of_chosen[:, None]
        if of_chosen is not None:
            found.scatter_add_(1, actions[:, None], of_chosen[:, None])
        if of_entropies is not None:
            found -= of_entropies[:, None] * probabilities * (logarithms + entropies[:, None])
        combinations = prod(ctx.factors)
        cube = found[:, :combinations].unflatten(1, ctx.factors)
        axes = range(1, 1 + len(ctx.factors))
        parts = [cube.sum([other for other in axes if other != axis]) if len(axes) > 1 else cube for axis in axes]
        return torch.cat([*parts, found[:, combinations:]], 1), None, None, None
