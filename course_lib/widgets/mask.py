"""explore_mask: who may look at whom, the weights before and after the mask, and what leaks from the future."""

import numpy as np
import torch

from course_lib import attention
from course_lib.masks import causal_mask
from course_lib.widgets.view import Control, View, floats, source

PRESETS = ["none", "causal", "sliding window", "prefix", "padding"]


class MaskView(View):
    """Real queries and keys of one trained layer, under a mask that the learner makes."""

    _esm = source("keys.js", "family.js", "controls.js", "colours.js", "heat_map.js", "mask.js")
    T = Control()
    preset = Control()
    size = Control()
    head = Control()
    toggled = Control([])

    def __init__(self, q, k, names):
        self.q, self.k, self.names = q, k, names
        longest, n_heads = q.shape[-2], q.shape[0]
        limits = {
            "T": list(range(2, longest + 1)),
            "preset": PRESETS,
            "size": list(range(1, longest + 1)),
            "head": list(range(1, n_heads + 1)),
            "toggled": {"cells": longest},
        }
        super().__init__(limits, T=min(5, longest), preset="none", size=2, head=1, toggled=[])
        self.observe(self._forget_toggles, names=["T", "preset", "size"])

    def problem(self, name, value):
        if name != "toggled":
            return super().problem(name, value)
        pairs = isinstance(value, (list, tuple)) and all(len(cell) == 2 for cell in value)
        fits = pairs and all(isinstance(i, int) and 0 <= i < self.T for cell in value for i in cell)
        return "" if fits else f"toggled must list [query, key] pairs from 0 to {self.T - 1}; got {value!r}."

    def _forget_toggles(self, change):
        self.toggled = []

    def mask(self):
        """The preset, with the learner's cells turned over: bool (T, T), True = may attend."""
        mask = preset_mask(self.preset, self.T, self.size)
        for query, key in self.toggled:
            if query < self.T and key < self.T:
                mask[query, key] = ~mask[query, key]
        return mask

    def compute(self):
        q, k = self.q[self.head - 1, : self.T], self.k[self.head - 1, : self.T]  # (T, d_k)
        mask = self.mask()
        _, before = attention.scaled_dot_product_attention(q, k, k)
        _, after = attention.scaled_dot_product_attention(q, k, k, mask)
        return {
            "names": self.names[: self.T],
            "mask": floats(mask.float()),
            "before": floats(before),
            "after": floats(after),
            "words": leak_in_words(mask, after, self.names),
        }

    def picture(self):
        return np.frombuffer(self.result["after"], dtype=np.float32).reshape(self.T, self.T), 0, 1

    def words(self):
        return self.result["words"]


def preset_mask(preset, T, size):
    """bool (T, T), True = may attend. size: width of the window, length of the prefix, or number of real tokens."""
    if preset == "none":
        return torch.ones(T, T, dtype=torch.bool)
    if preset == "causal":
        return causal_mask(T)
    positions = torch.arange(T)
    if preset == "padding":
        return (positions < size).expand(T, T).clone()
    if preset == "prefix":
        return causal_mask(T) | (positions < size)
    return causal_mask(T) & (positions[:, None] - positions < size)


def leak_in_words(mask, weights, names):
    """What a query learns from positions after its own: in weight, and from whom most. mask, weights (T, T)."""
    blind = [f"“{names[i]}” ({i})" for i in range(len(mask)) if not mask[i].any()]
    ahead = weights.triu(1)
    allowed = int(mask.sum())
    text = f"{allowed} of {mask.numel()} pairs allowed. "
    if blind:
        text += f"{', '.join(blind)} may look at nothing: weights 0. "
    if not mask.triu(1).any():
        return text + "Nothing leaks: no query sees a later position."
    i, j = divmod(int(ahead.argmax()), len(mask))
    pairs = int(mask.triu(1).sum())
    return text + (
        f"The future leaks: {pairs} pair{'s look' if pairs > 1 else ' looks'} ahead. "
        f"The most leaks from “{names[j]}” ({j}) to “{names[i]}” ({i}): weight {ahead[i, j]:.2f}."
    )


def queries_and_keys(model, tokens, layer):
    """What one self-attention layer of a trained model compares: q, k (h, T, d_k), positions included."""
    x, inside = model.embed(tokens)
    for block in model.blocks[:layer]:
        x = block(x, causal=model.causal, positions=inside)
    block = model.blocks[layer]
    x = block.before(block.norm_1, x)
    q = attention.split_heads(block.attention.w_q(x), block.attention.n_heads)
    k = attention.split_heads(block.attention.w_k(x), block.attention.n_kv_heads)
    q, k = (q, k) if inside is None else inside(q, k)
    return q[0], k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)[0]


@torch.no_grad()
def explore_mask(model, tokens, names, layer=0):
    """Choose who may look at whom, starting with five tokens, and see what the mask does to a trained layer's weights.

    model: a trained Encoder or Decoder; tokens: int64 (1, T); names: T texts, one for each token; layer: from 0.
    Returns a widget with the traits T, preset ("none", "causal", "sliding window", "prefix", "padding"), size (of the
    window, the prefix, or the real part), head (from 1) and toggled, the [query, key] cells turned over.
    """
    if len(names) != tokens.shape[1] or not 2 <= len(names) <= 16:
        raise ValueError(f"names and tokens must both be 2 to 16 long; got {len(names)} and {tokens.shape[1]}")
    return MaskView(*queries_and_keys(model, tokens, layer), list(names))
