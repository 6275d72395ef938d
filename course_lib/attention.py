"""Attention: scaled dot product, heads, and the module that models are built from.

The functions are what the notebooks build: explicit, and never optimised. `MultiHeadAttention` computes the
same with whichever kernel `attend` picks.
"""

import math

import torch
from torch import nn

from course_lib.kernels.flash_attention import chosen_and_fits, flash_attention
from course_lib.kernels.fused import fused_attention
from course_lib.kernels.in_place import in_place_attention, nobody_differentiates
from course_lib.masks import causal_rows, check_mask, mask_per_head


def scaled_dot_product_attention(q, k, v, mask=None):
    """softmax(q kᵀ / √d_k) v: every query takes a weighted average of the values.

    q (…, T, d_k), k (…, S, d_k), v (…, S, d_v); mask: bool, broadcasts to (…, T, S), True = may attend.
    Returns (output (…, T, d_v), weights (…, T, S)). A query that may attend to nothing gets weights 0 and
    output 0.
    Raises ValueError for a mask that is not bool or does not fit.
    Source: Vaswani et al. 2017, section 3.2.1.
    """
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (…, T, S)
    if mask is not None:
        check_mask(mask, scores.shape)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)  # only a row with nothing to attend to still needs this
    return weights @ v, weights


def split_heads(x, n_heads):
    """Cut the width of x into n_heads pieces: head i gets columns i·d_k to (i + 1)·d_k.

    x (B, T, d_model) -> (B, h, T, d_k). Raises ValueError if n_heads does not divide d_model.
    """
    B, T, d_model = x.shape
    if d_model % n_heads != 0:
        raise ValueError(f"n_heads must divide d_model; got n_heads = {n_heads}, d_model = {d_model}")
    return x.reshape(B, T, n_heads, d_model // n_heads).transpose(1, 2)


def merge_heads(x):
    """Put the heads side by side again: (B, h, T, d_k) -> (B, T, h·d_k). Undoes `split_heads`."""
    B, h, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, h * d_k)


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    """Self-attention with n_heads heads, each with a softmax of its own, mixed by w_o.

    x (B, T, d_model); w_q, w_k, w_v, w_o (d_model, d_model), used as x @ w; mask as in `masks.mask_per_head`.
    Returns (B, T, d_model). Raises ValueError if n_heads does not divide d_model.
    Source: Vaswani et al. 2017, section 3.2.2.
    """
    q = split_heads(x @ w_q, n_heads)  # (B, h, T, d_k)
    k = split_heads(x @ w_k, n_heads)
    v = split_heads(x @ w_v, n_heads)
    heads, _ = scaled_dot_product_attention(q, k, v, mask_per_head(mask))
    return merge_heads(heads) @ w_o


def cross_attention(decoder_x, encoder_out, w_q, w_k, w_v, w_o, n_heads, padding=None):
    """Queries from the decoder, keys and values from the encoder.

    decoder_x (B, T, d_model), encoder_out (B, S, d_model); w_* (d_model, d_model), used as x @ w;
    padding: bool (B, S), True = real source token. Returns (B, T, d_model).
    Source: Vaswani et al. 2017, section 3.2.3.
    """
    q = split_heads(decoder_x @ w_q, n_heads)  # (B, h, T, d_k)
    k = split_heads(encoder_out @ w_k, n_heads)  # (B, h, S, d_k)
    v = split_heads(encoder_out @ w_v, n_heads)
    heads, _ = scaled_dot_product_attention(q, k, v, mask_per_head(None, padding))
    return merge_heads(heads) @ w_o


def attend(q, k, v, mask=None, causal=False, need_weights=False, edit=None):
    """Pick the kernel: the explicit one where the weights are wanted or edited, PyTorch's fused one otherwise.

    Inside `with kernels.ours()` our Triton kernel takes the place of PyTorch's, wherever it can compute the same.

    q (B, h, T, d_k); k, v (B, h_kv, S, d_k), where h_kv divides h; mask: bool, broadcasts to (B, h, T, S);
    causal: the newest query is aligned to the newest key; edit: weights -> weights, applied after the
    softmax.
    Returns (output (B, h, T, d_k), weights (B, h, T, S) or None).
    """
    if need_weights or edit is not None:
        return explicit_attention(q, k, v, mask, causal, edit)
    if chosen_and_fits(q, k, v, mask, causal):
        return flash_attention(q, k, v, causal, None if mask is None else mask[:, 0, 0]), None
    return fused_attention(q, k, v, mask, causal), None


def explicit_attention(q, k, v, mask=None, causal=False, edit=None):
    """`scaled_dot_product_attention`, with grouped key-value heads and weights that may be edited.

    Where no gradient is wanted, the steps are done in place: half the time and a third of the memory.
    """
    group = q.shape[1] // k.shape[1]
    k, v = (k, v) if group == 1 else (k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1))
    if causal:
        rows = causal_rows(q.shape[-2], k.shape[-2], q.device)
        mask = rows if mask is None else mask & rows
    attention = in_place_attention if nobody_differentiates(q, k, v) else scaled_dot_product_attention
    output, weights = attention(q, k, v, mask)
    if edit is not None:
        weights = edit(weights)
        output = weights @ v
    return output, weights


class MultiHeadAttention(nn.Module):
    """Multi-head attention as a module: self- and cross-attention, grouped key-value heads, with a cache.

    d_model: width of the residual stream; n_heads: query heads; n_kv_heads: key and value heads (default
    n_heads). Submodules w_q, w_k, w_v, w_o are nn.Linear. Raises ValueError where the heads do not divide.
    Source: Vaswani et al. 2017, section 3.2.2; grouped queries: Ainslie et al. 2023.
    """

    def __init__(self, d_model, n_heads, bias=True, n_kv_heads=None):
        super().__init__()
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        if d_model % n_heads or n_heads % n_kv_heads:
            raise ValueError(
                "n_heads must divide d_model, and n_kv_heads must divide n_heads; "
                f"got d_model = {d_model}, n_heads = {n_heads}, n_kv_heads = {n_kv_heads}"
            )
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        d_kv = d_model // n_heads * n_kv_heads
        self.w_q = nn.Linear(d_model, d_model, bias)
        self.w_k = nn.Linear(d_model, d_kv, bias)
        self.w_v = nn.Linear(d_model, d_kv, bias)
        self.w_o = nn.Linear(d_model, d_model, bias)

    def forward(self, query, key=None, value=None, mask=None, padding=None, causal=False, need_weights=False,
                **hooks):  # fmt: skip
        """query (B, T, d_model); key, value (B, S, d_model), key defaults to query and value to key.

        mask: bool (T, S), (B, T, S) or (B|1, h|1, T|1, S); padding: bool (B, S), True = real token; causal:
        hide the future without building a mask; hooks: as in `with_weights`.
        Returns (B, T, d_model), or the pair (output, weights (B, h, T, S)) with need_weights=True.
        """
        output, weights = self.with_weights(query, key, value, mask, padding, causal, need_weights, **hooks)
        return (output, weights) if need_weights else output

    def with_weights(self, query, key=None, value=None, mask=None, padding=None, causal=False,
                     need_weights=False, positions=None, cache=None, edit=None):  # fmt: skip
        """As forward, and always a pair: the weights are None where nobody asked for them.

        positions(q, k) turns or extends q and k (rotary, ALiBi); cache.update(k, v) returns all keys and
        values so far, and a cache that is `complete` (cross-attention) spares computing them; edit(weights)
        replaces the weights.
        """
        key = query if key is None else key
        value = key if value is None else value
        q = split_heads(self.w_q(query), self.n_heads)  # (B, h, T, d_k)
        if cache is not None and cache.complete:
            k, v = cache.keys, cache.values
        else:
            k = split_heads(self.w_k(key), self.n_kv_heads)  # (B, h_kv, S, d_k)
            v = split_heads(self.w_v(value), self.n_kv_heads)
            if positions is not None:
                q, k = positions(q, k)
            if cache is not None:
                k, v = cache.update(k, v)
        output, weights = attend(q, k, v, mask_per_head(mask, padding), causal, need_weights, edit)
        return self.w_o(merge_heads(output)), weights
