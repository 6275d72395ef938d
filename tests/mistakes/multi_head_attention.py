"""Attempts at multi-head self-attention."""

import torch
import torch.nn.functional as F

from tests.mistakes import Collector

collected = Collector()
wrong, right, ANSWERS = collected.wrong, collected.right, collected.answers


def split(t, h):
    return t.reshape(t.shape[0], t.shape[1], h, -1).transpose(1, 2)


def merge(t):
    return t.transpose(1, 2).flatten(2)


def attend(q, k, v, mask=None, d=None):
    """Attention with a mask that gets its head axis."""
    scores = q @ k.mT / (d or q.shape[-1]) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~(mask[:, None] if mask.ndim == 3 else mask), float("-inf"))
    return scores.softmax(-1) @ v


@wrong("scale-d_model")
def whole_width(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return merge(attend(q, k, v, mask, d=x.shape[-1])) @ w_o


@wrong("scale-n_heads")
def number_of_heads(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return merge(attend(q, k, v, mask, d=n_heads)) @ w_o


@wrong("scale-missing")
def unscaled(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return merge(attend(q, k, v, mask, d=1)) @ w_o


@wrong("w_o-missing")
def no_output_projection(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return merge(attend(q, k, v, mask))


@wrong("values-use-w_k")
def copy_and_paste(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = split(x @ w_q, n_heads), split(x @ w_k, n_heads), split(x @ w_k, n_heads)
    return merge(attend(q, k, v, mask)) @ w_o


@wrong("keys-use-w_q")
def keys_from_w_q(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = split(x @ w_q, n_heads), split(x @ w_q, n_heads), split(x @ w_v, n_heads)
    return merge(attend(q, k, v, mask)) @ w_o


@wrong("one-matrix-for-all")
def one_matrix(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q = k = v = split(x @ w_q, n_heads)
    return merge(attend(q, k, v, mask)) @ w_o


@wrong("all-weights-transposed")
def as_linear(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(F.linear(x, w), n_heads) for w in (w_q, w_k, w_v))
    return F.linear(merge(attend(q, k, v, mask)), w_o)


@wrong("weights-transposed")
def three_as_linear(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(F.linear(x, w), n_heads) for w in (w_q, w_k, w_v))
    return merge(attend(q, k, v, mask)) @ w_o


@wrong("w_o-transposed")
def output_as_linear(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return F.linear(merge(attend(q, k, v, mask)), w_o)


@wrong("one-head-only")
def single_head(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, 1) for w in (w_q, w_k, w_v))
    mask = mask[:, :1] if mask is not None and mask.ndim == 4 else mask
    return merge(attend(q, k, v, mask)) @ w_o


@wrong("mask-ignored")
def no_mask(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return merge(attend(q, k, v)) @ w_o


@wrong("mask-inverted")
def inverted(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return merge(attend(q, k, v, None if mask is None else ~mask)) @ w_o


@wrong("always-causal")
def causal(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    past = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
    return merge(attend(q, k, v, past if mask is None else past & mask)) @ w_o


@wrong("always-causal")
def causal_instead_of_the_mask(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return merge(F.scaled_dot_product_attention(q, k, v, is_causal=True)) @ w_o


@wrong("split-scrambles")
def scrambled_split(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    B, T, d = x.shape
    q, k, v = ((x @ w).reshape(B, n_heads, T, d // n_heads) for w in (w_q, w_k, w_v))
    return merge(attend(q, k, v, mask)) @ w_o


@wrong("split-and-merge-scramble")
def scrambled_both_ways(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    B, T, d = x.shape
    q, k, v = ((x @ w).reshape(B, n_heads, T, d // n_heads) for w in (w_q, w_k, w_v))
    return attend(q, k, v, mask).reshape(B, T, d) @ w_o


@wrong("merge-scrambles")
def scrambled_merge(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return attend(q, k, v, mask).reshape(x.shape) @ w_o


@wrong("merge-interleaves")
def interleaved_merge(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return attend(q, k, v, mask).permute(0, 2, 3, 1).flatten(2) @ w_o


@wrong("attention-over-heads")
def over_heads(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    B, T, d = x.shape
    q, k, v = ((x @ w).view(B, T, n_heads, d // n_heads) for w in (w_q, w_k, w_v))
    return attend(q, k, v).flatten(2) @ w_o


@wrong("heads-before-projection")
def early_split(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    d_k = x.shape[-1] // n_heads
    heads = []
    for i in range(n_heads):
        c = slice(i * d_k, (i + 1) * d_k)
        head = [x[..., c] @ w[c, c] for w in (w_q, w_k, w_v)]
        heads.append(attend(*[t[:, None] for t in head], mask if mask is None or mask.ndim < 4 else mask[:, [min(i, mask.shape[1] - 1)]])[:, 0])
    return torch.cat(heads, -1) @ w_o


@wrong("heads-as-wide-as-their-number")
def slices_of_h(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    heads = []
    for i in range(n_heads):
        c = slice(i * n_heads, (i + 1) * n_heads)
        heads.append(attend((x @ w_q)[..., c], (x @ w_k)[..., c], (x @ w_v)[..., c]))
    return torch.cat(heads, -1) @ w_o


@wrong("w_q-and-w_k-exchanged")
def exchanged(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = split(x @ w_k, n_heads), split(x @ w_q, n_heads), split(x @ w_v, n_heads)
    return merge(attend(q, k, v, mask)) @ w_o


@wrong("residual-added")
def residual(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return x + merge(attend(q, k, v, mask)) @ w_o


@wrong("input-normed-first")
def pre_norm(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    x = F.layer_norm(x, x.shape[-1:])
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return merge(attend(q, k, v, mask)) @ w_o


@wrong("output-normed")
def post_norm(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return F.layer_norm(merge(attend(q, k, v, mask)) @ w_o, x.shape[-1:])


@wrong("heads-not-side-by-side")
def averaged(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return attend(q, k, v, mask).mean(1) @ w_o


@wrong("heads-not-side-by-side")
def summed(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return attend(q, k, v, mask).sum(1) @ w_o


@wrong("values-not-projected")
def raw_values(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = split(x @ w_q, n_heads), split(x @ w_k, n_heads), split(x, n_heads)
    return merge(attend(q, k, v, mask)) @ w_o


@wrong("softmax-over-heads")
def softmax_dim_1(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~(mask[:, None] if mask.ndim == 3 else mask), -1e9)
    return merge(scores.softmax(1) @ v) @ w_o


@wrong("softmax-over-queries")
def softmax_dim_2(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~(mask[:, None] if mask.ndim == 3 else mask), -1e9)
    return merge(scores.softmax(2) @ v) @ w_o


@wrong("blocked-score-zero")
def tiny_sentinel(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~(mask[:, None] if mask.ndim == 3 else mask), 1e-9)
    return merge(scores.softmax(-1) @ v) @ w_o


@wrong("mask-after-softmax")
def late_mask(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
    if mask is not None:
        weights = weights * (mask[:, None] if mask.ndim == 3 else mask)
    return merge(weights @ v) @ w_o


@wrong("returns-a-pair")
def with_weights(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~(mask[:, None] if mask.ndim == 3 else mask), -1e9)
    weights = scores.softmax(-1)
    return merge(weights @ v) @ w_o, weights


@wrong("left-to-chance")
def own_weights(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    layer = torch.nn.Linear(x.shape[-1], x.shape[-1]).to(x.dtype)
    q, k, v = (split(layer(x), n_heads) for w in (w_q, w_k, w_v))
    return merge(attend(q, k, v, mask)) @ w_o


@wrong("w_o-missing+scale-d_model", "scale-d_model+w_o-missing")
def two_things(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return merge(attend(q, k, v, mask, d=x.shape[-1]))


@wrong("w_o-missing")
def w_o_missing_and_no_mask(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return merge(attend(q, k, v))


@wrong("mask-of-first-head", "wrong-when")
def first_heads_mask(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return merge(attend(q, k, v, mask[:, :1] if mask is not None and mask.ndim == 4 else mask)) @ w_o


@wrong("heads-merged-reversed", "output-projection")
def reversed_cat(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return merge(attend(q, k, v, mask).flip(1)) @ w_o


@wrong("w_o-twice", "output-projection")
def projected_twice(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return merge(attend(q, k, v, mask)) @ w_o @ w_o


@wrong("none-used")
def mask_must_be_there(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return merge(attend(q, k, v, mask.bool())) @ w_o


@wrong("output-projection", "adds-w_o", "different-values", "plus-constant")
def adds_w_o(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return merge(attend(q, k, v, mask)) @ w_o + w_o.sum(0)


@wrong("wrong-call")
def split_without_the_number(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w) for w in (w_q, w_k, w_v))
    return merge(attend(q, k, v, mask)) @ w_o


@wrong("wrong-call")
def merge_with_the_number(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return merge(attend(q, k, v, mask), n_heads) @ w_o


@right()
def library_kernel(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    mask = mask[:, None] if mask is not None and mask.ndim == 3 else mask
    return merge(F.scaled_dot_product_attention(q, k, v, attn_mask=mask)) @ w_o


@right()
def nn_functional(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = torch.chunk(x @ torch.cat([w_q, w_k, w_v], 1), 3, -1)
    q, k, v = (torch.stack(t.chunk(n_heads, -1), 1) for t in (q, k, v))
    return torch.cat(attend(q, k, v, mask).unbind(1), -1) @ w_o


@right("(B, T, T)")
def two_axes_only(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return merge(scores.softmax(-1) @ v) @ w_o


@right()
def sum_over_heads(x, w_q, w_k, w_v, w_o, n_heads, mask=None):
    q, k, v = (split(x @ w, n_heads) for w in (w_q, w_k, w_v))
    heads, rows = attend(q, k, v, mask), w_o.reshape(n_heads, -1, w_o.shape[1])
    return torch.einsum("bhtk,hkd->btd", heads, rows)
