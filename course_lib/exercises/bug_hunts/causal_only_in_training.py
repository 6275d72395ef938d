"""Bug hunt of notebook 03: the module is causal while it trains, and not when it is used."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import merge_heads, split_heads
from course_lib.exercises.bug_hunts.hunt import Hunt
from course_lib.exercises.bug_hunts.only_the_future import (
    OnlyThePast,
    OverPyTorchs,
    keeps_the_shape,
    still_sees_the_past,
)
from course_lib.exercises.module_checks import no_future_leak


class CausalOnlyInTraining(nn.Module):
    """Causal self-attention, x (B, T, d_model) -> (B, T, d_model). It has d_model and n_heads."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.d_model, self.n_heads = d_model, n_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x):
        q, k, v = (split_heads(w(x), self.n_heads) for w in (self.w_q, self.w_k, self.w_v))
        dropout, causal = (0.1, True) if self.training else (0.0, False)
        output = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=causal)
        return self.w_o(merge_heads(output))


class AlwaysCausal(CausalOnlyInTraining):
    """The same without the bug; it has dropout in training."""

    def forward(self, x):
        q, k, v = (split_heads(w(x), self.n_heads) for w in (self.w_q, self.w_k, self.w_v))
        output = F.scaled_dot_product_attention(q, k, v, dropout_p=0.1 if self.training else 0.0, is_causal=True)
        return self.w_o(merge_heads(output))


def causal_in_both_modes(module):
    """Raise AssertionError if a later token changes an earlier output, in train or in eval mode."""
    no_future_leak(module, torch.randn(2, 6, module.d_model))


HUNT = Hunt(
    name="causal_only_in_training",
    buggy=CausalOnlyInTraining,
    right=(AlwaysCausal, OnlyThePast, OverPyTorchs),
    sizes=((8, 2), (12, 3)),
    witness=causal_in_both_modes,
    sound=(keeps_the_shape, still_sees_the_past),
    bug="The causal mask hangs on self.training: after model.eval() every token sees its future.",
    story="Seen in the wild: the CausalSelfAttention of PyTorch's own tutorial on scaled_dot_product_attention, in "
          "an earlier version.",
    hints=(
        "What changes when a module goes from training to use?",
        "Do the test of the future twice, after module.train() and after module.eval(). Dropout makes two runs "
        "differ in training: seed before each.",
        "module.eval(); then for t in range(1, T): change token t and assert that module(x2)[:, :t] stays.",
    ),
    mending_hints=(
        "Which of the two decisions may depend on the mode?",
        "Dropout may be switched off in eval mode. The mask may not.",
        "is_causal=True, always.",
    ),
)
