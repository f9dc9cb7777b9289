"""Gradients that are written out are those of autograd."""

import copy

import pytest
import torch
from torch import nn
from torch.autograd import gradcheck

from hdeeprm_like.learning.agents import entropy
from hdeeprm_like.learning.dense import Chosen, DenseLayers, Tanh, combined, dense, legal_log_softmax


def blocks_of(*widths, inputs=7):
    """Return inputs whose rows end with zeros, in blocks without these, and as one block."""
    dice = torch.Generator().manual_seed(1)
    blocks = [torch.randn(5, width, generator=dice) for width in widths]
    return blocks, torch.cat([nn.functional.pad(block, (0, inputs - block.shape[1])) for block in blocks])


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("widths", [(7,), (2, 4, 7), (3,)])
@pytest.mark.parametrize("sizes", [[7, 3], [7, 6, 3], [7, 6, 5, 3]])
def test_layers_have_the_output_and_the_gradients_of_autograd(sizes, widths, activation):
    ours = dense(sizes, activation)
    theirs = nn.Sequential(*copy.deepcopy(list(ours)))
    blocks, whole = blocks_of(*widths)
    found, wanted = ours(*blocks), theirs(whole)
    torch.testing.assert_close(found, wanted, atol=1e-6, rtol=1e-6)
    weights = torch.randn(found.shape)
    for output in (found, wanted):
        (output * weights).sum().backward()
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, atol=1e-6, rtol=1e-5)


def test_inputs_have_gradients_too():
    layers = dense([4, 3, 2], "tanh").double()
    assert gradcheck(layers, torch.randn(5, 4, dtype=torch.float64, requires_grad=True))


@pytest.mark.parametrize("layer", [nn.GELU(), nn.LayerNorm(6), nn.Linear(6, 6, bias=False)])
def test_other_layers_are_autograds(layer):
    layers = DenseLayers(nn.Linear(7, 6), layer, Tanh(), nn.Linear(6, 2))
    seen = torch.randn(5, 7)
    assert layers(seen).tolist() == nn.Sequential(*layers)(seen).tolist()
    assert "_Through" not in type(layers(seen).grad_fn).__name__
    assert "_Through" in type(dense([7, 2], "relu")(seen).grad_fn).__name__


@pytest.mark.parametrize(("factors", "alone"), [((6,), 0), ((6,), 1), ((2, 3), 0), ((2, 3), 1), ((2, 3, 2), 1)])
def test_the_chosen_action_and_the_entropy_have_the_gradients_of_autograd(factors, alone):
    dice = torch.Generator().manual_seed(2)
    choices = torch.randn(20, sum(factors) + alone, generator=dice, dtype=torch.float64, requires_grad=True)
    size = combined(choices, factors).shape[1]
    masks = torch.rand(20, size, generator=dice) < 0.6
    masks[:, -1] = True
    actions = torch.multinomial(masks.double(), 1, generator=dice)[:, 0]
    logarithms = legal_log_softmax(combined(choices, factors), masks)
    wanted = logarithms.gather(1, actions[:, None])[:, 0], entropy(logarithms)
    found = Chosen.apply(choices, factors, masks, actions)
    weights = torch.randn(2, 20, generator=dice)
    for parts in ((0,), (1,), (0, 1)):
        slopes = [
            torch.autograd.grad(
                sum((outputs[part] * weights[part]).sum() for part in parts), choices, retain_graph=True
            )
            for outputs in (found, wanted)
        ]
        torch.testing.assert_close(*slopes, atol=1e-12, rtol=1e-9)
    torch.testing.assert_close(found, wanted)
