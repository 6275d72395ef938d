"""Bug hunt of notebook 08: with a cache, the newest query sees the oldest key and nothing else."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import MultiHeadAttention, merge_heads, split_heads
from course_lib.cache import LayerCache
from course_lib.exercises.bug_hunts.hunt import Hunt
from course_lib.exercises.module_checks import cached_equals_uncached, no_future_leak


class FirstKeyOnly(nn.Module):
    """Causal self-attention with a cache. It has d_model.

    module(x (B, T, d_model), cache=None) -> (output (B, T, d_model), cache): hand the cache on, and x holds new tokens only.
    """

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.d_model, self.n_heads = d_model, n_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x, cache=None):
        q, k, v = (split_heads(w(x), self.n_heads) for w in (self.w_q, self.w_k, self.w_v))
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        output = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.w_o(merge_heads(output)), (k, v)


class AllKeysSoFar(FirstKeyOnly):
    """The same without the bug: the newest query is aligned to the newest key."""

    def forward(self, x, cache=None):
        q, k, v = (split_heads(w(x), self.n_heads) for w in (self.w_q, self.w_k, self.w_v))
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        T, S = q.shape[2], k.shape[2]
        allowed = torch.ones(T, S, dtype=torch.bool).tril(diagonal=S - T)
        return self.w_o(merge_heads(F.scaled_dot_product_attention(q, k, v, attn_mask=allowed))), (k, v)


class TheCourses(nn.Module):
    """The library's attention with its own cache."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.d_model, self.inner = d_model, MultiHeadAttention(d_model, n_heads)

    def forward(self, x, cache=None):
        mine = LayerCache()
        if cache is not None:
            mine.update(*cache)
        output = self.inner(x, causal=True, cache=mine)
        return output, (mine.keys[..., : mine.length, :], mine.values[..., : mine.length, :])


def stepwise_equals_at_once(module):
    """Raise AssertionError if reading a sequence in pieces, with the cache, gives another result than at once."""
    cached_equals_uncached(module, torch.randn(2, 7, module.d_model))


def returns_output_and_cache(module):
    x = torch.randn(2, 5, module.d_model)
    result = module(x)
    assert isinstance(result, tuple) and len(result) == 2, "forward must return the pair (output, cache)"
    assert result[0].shape == x.shape, f"the output must be (B, T, d_model) = {tuple(x.shape)}; yours is {tuple(result[0].shape)}"


def is_causal(module):
    no_future_leak(lambda x: module(x)[0], torch.randn(2, 6, module.d_model))


HUNT = Hunt(
    name="first_key_only",
    buggy=FirstKeyOnly,
    right=(AllKeysSoFar, TheCourses),
    sizes=((8, 2), (12, 3)),
    witness=stepwise_equals_at_once,
    sound=(returns_output_and_cache, is_causal),
    bug="is_causal=True aligns the first query with the first key: one new query with many cached keys sees key 0 "
        "only.",
    story="Seen in the wild: pytorch issue 103082.",
    hints=(
        "A cache saves work. What must it never change?",
        "Read a sequence at once; then its first part, and the rest token by token with the cache. Every output must "
        "be the same.",
        "whole, _ = module(x); first, cache = module(x[:, :3]); next_, cache = module(x[:, 3:4], cache); assert that "
        "next_[:, 0] is close to whole[:, 3].",
    ),
    mending_hints=(
        "Which keys may the newest query see?",
        "With T new queries and S keys in all, the newest query must be aligned with the newest key. What does "
        "is_causal align?",
        "A mask of your own: torch.ones(T, S, dtype=torch.bool).tril(diagonal=S - T).",
    ),
)
