"""Bug hunt of notebook 03: a mask of forbidden positions, handed to a function that expects the allowed ones."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import merge_heads, split_heads
from course_lib.exercises.bug_hunts.hunt import Hunt
from course_lib.exercises.module_checks import batch_apart, no_future_leak, past_matters


class OnlyTheFuture(nn.Module):
    """Causal self-attention, x (B, T, d_model) -> (B, T, d_model). It has d_model and n_heads."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.d_model, self.n_heads = d_model, n_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x):
        q, k, v = (split_heads(w(x), self.n_heads) for w in (self.w_q, self.w_k, self.w_v))
        blocked = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(diagonal=1)
        output = F.scaled_dot_product_attention(q, k, v, attn_mask=blocked)
        return self.w_o(merge_heads(output.nan_to_num()))


class OnlyThePast(OnlyTheFuture):
    """The same without the bug: for this function True means *may attend*."""

    def forward(self, x):
        q, k, v = (split_heads(w(x), self.n_heads) for w in (self.w_q, self.w_k, self.w_v))
        allowed = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        return self.w_o(merge_heads(F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)))


class OverPyTorchs(nn.Module):
    """The same by nn.MultiheadAttention, where True means *blocked*."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.d_model, self.n_heads = d_model, n_heads
        self.inner = nn.MultiheadAttention(d_model, n_heads, batch_first=True)

    def forward(self, x):
        blocked = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(diagonal=1)
        return self.inner(x, x, x, attn_mask=blocked, need_weights=False)[0]


def the_future_does_not_matter(module):
    """Raise AssertionError if a later token changes an earlier output."""
    no_future_leak(module, torch.randn(2, 6, module.d_model))


def keeps_the_shape(module):
    x = torch.randn(2, 5, module.d_model)
    assert module(x).shape == x.shape, f"x of shape {tuple(x.shape)} must keep its shape; yours gives {tuple(module(x).shape)}"


def still_sees_the_past(module):
    past_matters(module, torch.randn(2, 6, module.d_model))
    batch_apart(module, torch.randn(3, 5, module.d_model))


HUNT = Hunt(
    name="only_the_future",
    buggy=OnlyTheFuture,
    right=(OnlyThePast, OverPyTorchs),
    sizes=((8, 2), (12, 3)),
    witness=the_future_does_not_matter,
    sound=(keeps_the_shape, still_sees_the_past),
    bug="The mask marks what is forbidden, but F.scaled_dot_product_attention reads True as *may attend*: every "
        "token sees only its future.",
    story="Seen in the wild: rasbt/LLMs-from-scratch issue 1061, in bonus material of chapter 3.",
    hints=(
        "Which outputs may change when the last token changes, and which may not?",
        "Change the token at place t; the outputs at the places before t must stay as they are. Try every t.",
        "for t in range(1, T): x2 = x.clone(); x2[:, t] += 1; assert torch.allclose(module(x2)[:, :t], module(x)[:, "
        ":t], atol=1e-5)",
    ),
    mending_hints=(
        "What does True mean to the function that gets the mask?",
        "F.scaled_dot_product_attention: True = may attend. nn.MultiheadAttention: True = blocked. They are "
        "opposites.",
        "Hand over the lower triangle, the diagonal included.",
    ),
)
