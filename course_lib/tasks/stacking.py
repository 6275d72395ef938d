"""What the residual stream and the norm are for: stacks of blocks without one, the other, or both, before any training.

Three things can go wrong with depth: the gradient does not reach the first block, the tokens become all alike, or the
numbers grow. The data are random vectors; nothing is learned.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F

from course_lib import blocks, models, training

ARMS = {  # name -> (residual, norm)
    "neither": (False, None),
    "norm alone": (False, "post"),
    "residual alone": (True, None),
    "both, post-norm": (True, "post"),
    "both, pre-norm": (True, "pre"),
}


class Health(NamedTuple):
    """What became of a stack's input and of its gradient."""

    gradient: float  # of the first block, as a share of the last one's
    likeness: float  # mean cosine between two tokens of a sequence, at the end
    size: float  # standard deviation of the numbers at the end; 1 at the start


def run(x, block, residual, norm):
    """One encoder block on x (B, T, d_model), with or without residual connections; norm: None, "pre" or "post"."""
    for part, normed in ((block.attention, block.norm_1), (block.feed_forward, block.norm_2)):
        output = part(normed(x) if norm == "pre" else x)
        x = x + output if residual else output
        x = normed(x) if norm == "post" else x
    return x


def gradient_norm(block):
    """Length of the gradient of all parameters of a block together."""
    gradients = [p.grad.double() for p in block.parameters() if p.grad is not None]
    return sum(g.square().sum() for g in gradients).sqrt().item()


def likeness(x):
    """Mean cosine between two different tokens of a sequence: x (B, T, d_model) -> between -1 and 1."""
    T, unit = x.shape[1], F.normalize(x.detach().double(), dim=-1)
    return ((unit @ unit.mT).sum(dim=(1, 2)) - T).mean().item() / (T * (T - 1))


def measure(n_layers, arm, seed=0, d_model=64, T=16):
    """A fresh stack of blocks, wired as ARMS[arm] says, on random tokens. Returns its Health."""
    training.set_seed(seed)
    config = models.TransformerConfig(vocab_size=0, d_model=d_model, n_heads=4, n_layers=n_layers, d_ff=2 * d_model,
                                      max_len=T, positions="none", activation="relu")  # fmt: skip
    stack = [blocks.EncoderBlock(config) for _ in range(n_layers)]
    x = torch.randn(4, T, d_model)
    for block in stack:
        x = run(x, block, *ARMS[arm])
    (x * torch.randn_like(x)).mean().backward()  # a random direction: what any loss might ask for
    return Health(gradient_norm(stack[0]) / gradient_norm(stack[-1]), likeness(x), x.std().item())
