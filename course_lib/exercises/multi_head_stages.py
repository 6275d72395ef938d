"""Multi-head attention in open stages, with a knob for every decision: shared by self- and cross-attention.

The attention inside is `attention_stages`, so that all its knobs can be turned here too.
"""

import torch

from course_lib.exercises import split_heads
from course_lib.exercises.attention_stages import attention_stages


def projected(x, w, how="x @ w"):
    """One projection. how: what may go wrong with it."""
    if how == "x @ w":
        return x @ w
    return {"transposed": lambda: x @ w.T,
        "missing": lambda: x, "twice": lambda: x @ w @ w, "elementwise": lambda: x * w.diagonal(),
            "relu": lambda: (x @ w).relu(), "plus x": lambda: x @ w + x}[how]()  # fmt: skip


def prepared(x, how):
    """What may be done to the input before it is projected."""
    if how == "normed":
        return (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
    if how == "turned":
        return x.transpose(0, 1)
    if how == "softmaxed":
        return x.softmax(-1)
    return x * x.shape[-1] ** 0.5 if how == "scaled" else x


def own_slices(x, w, h):
    """Each head projects only its own slice of x with the matching block of w: the embedding was split too early."""
    d_k = x.shape[-1] // h
    cuts = [slice(i * d_k, (i + 1) * d_k) for i in range(h)]
    return torch.cat([x[..., c] @ w[c, c] for c in cuts], dim=-1)


def cut_heads(x, h, how="features"):
    """(B, T, d_model) -> heads, rightly or not."""
    if how == "over heads":  # the axes are never turned: attention compares the heads of one token
        return x.reshape(*x.shape[:2], h, -1)
    if how == "width h":
        found = min(h, max(1, x.shape[-1] // h))  # slices beyond the last feature are empty
        return torch.stack([x[..., i * h : (i + 1) * h] for i in range(found)], dim=1)
    return split_heads.stages(x, h, **{
                              "features": {}, "scrambled": {"cut": "scrambled"}, "strided": {"cut_into": "(d_k, h)"},
                                       "h and d_k": {"cut_into": "h and d_k exchanged"}, "tokens": {"cut": "tokens"},
                                       "batch": {"cut": "batch joined"}, "reversed": {"cut_into": "from the end"},
                                       "first": {"cut_into": "always the first"}}[how])  # fmt: skip


def joined(heads, B, T, how="side by side"):
    """Heads -> (B, T, …), rightly or not."""
    if how == "scrambled":
        return heads.reshape(B, T, -1)
    if how == "interleaved":
        return heads.permute(0, 2, 3, 1).reshape(B, T, -1)
    if how == "over heads":
        return heads.flatten(2)
    if how == "last two exchanged":
        return heads.transpose(2, 3).reshape(B, T, -1)
    if how in ("mean", "sum"):
        return getattr(heads, how)(1)
    if how == "mean, repeated":
        return heads.mean(1).repeat(1, 1, heads.shape[1])
    if how == "first, repeated":
        return heads[:, 0].repeat(1, 1, heads.shape[1])
    if how == "reversed":
        return heads.flip(1).transpose(1, 2).reshape(B, T, -1)
    return heads.transpose(1, 2).reshape(B, T, -1)


def per_head(mask, how):
    """The mask with a head axis."""
    if mask is None:
        return None
    if mask.ndim == 3:
        return mask[:, None]
    if how == "first of the head axis" and mask.ndim == 4:
        return mask[:, :1]
    return mask


def multi_head_stages(
    x_q, x_kv, w_q, w_k, w_v, w_o, n_heads, mask=None, *, before="",
        weights_for="qkvo", project_q="x @ w", project_k="x @ w",
    project_v="x @ w",
        project_all="",
            output="x @ w", early_split=False, cut="features", cut_v="", join="side by side", heads="n_heads",
    scale="√d_k", add="", answer="result", head_mask="", x_v=None, **attention,
):  # fmt: skip
    """x_q (B, T, d), x_kv (B, S, d), x_v like x_kv if other; see the slips of the two exercises for the knobs."""
    w_q, w_k, w_v, w_o = ({"q": w_q, "k": w_k, "v": w_v, "o": w_o}[letter] for letter in weights_for)
    x_q, x_kv = prepared(x_q, before), prepared(x_kv, before)
    x_v = x_kv if x_v is None else x_v
    h = 1 if heads == "one" else x_q.shape[-1] // n_heads if heads == "d_k of them" else n_heads
    if early_split:
        q, k, v = own_slices(x_q, w_q, h), own_slices(x_kv, w_k, h), own_slices(x_v, w_v, h)
    else:
        q = projected(x_q, w_q, project_all or project_q)
        k = projected(x_kv, w_k, project_all or project_k)
        v = k @ w_v if project_v == "after w_k" else projected(x_v, w_v, project_all or project_v)
    mask = per_head(mask, "first of the head axis" if heads == "one" else head_mask)
    if scale == "√d_model":
        attention["scale"], q = "none", q * x_q.shape[-1] ** -0.5
    elif scale == "d_model":
        attention["scale"], q = "none", q / x_q.shape[-1]
    elif scale == "√h":
        attention["scale"], q = "none", q * n_heads**-0.5
    elif scale == "√d_model·h":
        attention["scale"], q = "none", q * (x_q.shape[-1] * n_heads) ** -0.5
    elif scale == "per model, on the input axis 1":
        attention["scale"], q = "none", q * x_q.shape[1] ** -0.5
    else:
        attention["scale"] = scale
    v = cut_heads(v, h, cut_v or cut)
    result, weights = attention_stages(cut_heads(q, h, cut), cut_heads(k, h, cut), v, mask, **attention)
    result = joined(result, x_q.shape[0], x_q.shape[1], join)
    return finished(result, weights, x_q, x_kv, w_o, output, add, answer)


def finished(result, weights, x_q, x_kv, w_o, output, add, answer):
    """The last projection, what is added, and what is returned."""
    result = projected(result, w_o, output)
    if add == "x":
        result = result + x_q
    elif add == "norm of sum":
        result = prepared(result + x_q, "normed")
    elif add == "norm":
        result = prepared(result, "normed")
    elif add == "relu":
        result = result.relu()
    elif add == "softmax":
        result = result.softmax(-1)
    elif add == "encoder":
        result = result + x_kv
    return {"result": result,
        "pair": (result, weights), "weights": weights, "first sequence": result[:1], "turned": result.transpose(0, 1),
            "mean over tokens": result.mean(1), "last token": result[:, -1]}[answer]  # fmt: skip
