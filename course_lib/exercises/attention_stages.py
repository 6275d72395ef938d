"""Scaled dot-product attention in open stages, with a knob for every decision: what slips are made from.

Shared by the exercises on attention and on heads. With no knob turned it equals the library's function.
"""

import math

import torch

INF = float("inf")


def scores_of(q, k, v, pair="q·k", transpose="last", scale="√d_k", swap_scale=None):
    """Stage 1: how well each query fits each key. pair: who is multiplied; transpose: which axes of the keys turn."""
    left, right = {
        "q·k": (q, k), "k·q": (k, q), "q·q": (q, q), "k·k": (k, k), "q·v": (q, v), "v·k": (v, k)}.get(pair, (q, k))
    if pair == "features":
        return q.transpose(-2, -1) @ k * factor(scale, q, k, v)
    if pair == "distance":
        return -((q.unsqueeze(-2) - k.unsqueeze(-3)) ** 2).sum(-1) * factor(scale, q, k, v)
    if pair == "cosine":
        left, right = (t / t.norm(dim=-1, keepdim=True) for t in (left, right))
    return left @ turned(right, transpose) * factor(scale, q, k, v)


def turned(k, transpose):
    """k with two axes exchanged: the last two are the right ones."""
    if transpose == "last":
        return k.transpose(-2, -1)
    if transpose == "none":
        return k
    if transpose == "all":
        return k.permute(*reversed(range(k.ndim)))
    return k.transpose(*{"0,1": (0, 1), "1,2": (1, 2), "0,2": (0, 2), "0,-1": (0, -1), "1,-1": (1, -1)}[transpose])


def factor(scale, q, k, v):
    """What the scores are multiplied by."""
    d_k = q.shape[-1]
    if scale in ("axis 0", "axis 1", "axis 2"):
        return q.shape[int(scale[-1])] ** -0.5
    return {
        "√d_k": d_k**-0.5,
            "none": 1.0, "d_k": 1 / d_k, "times √d_k": d_k**0.5, "times d_k": float(d_k), "d_k²": d_k**-2.0,
        "d_k^¼": d_k**-0.25, "√d_v": v.shape[-1] ** -0.5, "d_v": 1 / v.shape[-1], "√S": k.shape[-2] ** -0.5,
        "√T": q.shape[-2] ** -0.5, "S": 1 / k.shape[-2], "√2d_k": (2 * d_k) ** -0.5, "2√d_k": 0.5 * d_k**-0.5,
        "int √d_k": 1 / int(d_k**0.5), "ln d_k": 1 / math.log(d_k) if d_k > 1 else INF,
                            "√(d_k-1)": (d_k - 1) ** -0.5 if d_k > 1 else INF,
        "√(d_k+1)": (d_k + 1) ** -0.5, "8": 0.125, "√64": 0.125,
    }[scale]  # fmt: skip


# What a learner may put in place of -inf
FILLS = {"to 0": 0.0, "inverted to 0": 0.0, "to 1": 1.0, "to -1": -1.0, "to -5": -5.0, "to -10": -10.0, "to -20": -20.0,
         "to -25": -25.0, "to -30": -30.0, "to +inf": INF, "to +1e9": 1e9,
         "to smallest positive": 1e-9, "to -1e9": -1e9}  # fmt: skip


def masked(scores, mask, how="blocked -> -inf", causal=None):
    """Stage 2: hide what the mask hides."""
    if causal is not None:
        rows = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(0 if causal == "look back" else -1)
        scores = scores.masked_fill(~(rows if causal == "look back" else ~rows), -INF)
    if mask is None or how in ("ignored",
        "after", "after, with ∞", "after, inverted", "after, by sign", "values", "keys"):
        return scores
    if how == "transposed":
        mask = mask.transpose(-2, -1)
    if how == "first row only":
        mask = mask[..., :1, :]
    blocked = mask if how in ("inverted", "inverted to 0") else ~mask
    if how in FILLS:
        return scores.masked_fill(blocked, FILLS[how])
    if how == "plus 1 where allowed":
        return scores + mask.to(scores.dtype)
    if how in ("plus 1 where blocked", "minus 1 where blocked"):
        return scores + (1 if how.startswith("plus") else -1) * (~mask).to(scores.dtype)
    if how == "0 times inf":
        return scores + (~mask).to(scores.dtype) * -INF
    if how == "times -1e9":
        return torch.where(mask, scores, scores * -1e9)
    if how == "times 1e9":
        return torch.where(mask, scores, scores * 1e9)
    if how == "times -inf":
        return torch.where(mask, scores, scores * -INF)
    if how == "plus -10":
        return torch.where(mask, scores, scores - 10.0)
    if how == "log of mask, inverted":
        return scores + torch.log((~mask).to(scores.dtype))
    return scores.masked_fill(blocked, -INF)


def normalised(scores, softmax="keys"):
    """Stage 3: from scores to weights."""
    axes = {"keys": -1, "queries": -2, "axis 0": 0, "axis 1": 1, "axis 2": 2, "axis 3": 3, "axis -3": -3}
    if softmax in axes:
        return scores.softmax(dim=axes[softmax])
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    return {
        "everything": lambda: scores.flatten(-2).softmax(-1).view_as(scores),
        "everything, batch too": lambda: scores.flatten().softmax(-1).view_as(scores),
        "none": lambda: scores,
        "sigmoid": lambda: scores.sigmoid(),
        "log": lambda: scores.log_softmax(-1),
        "twice": lambda: scores.softmax(-1).softmax(-1),
        "exp only": lambda: scores.exp(),
        "shifted exp only": lambda: e,
        "sum only": lambda: scores / scores.sum(-1, keepdim=True),
        "no keepdim": lambda: e / e.sum(-1),
        "divided by query sums": lambda: e / e.sum(-2, keepdim=True),
        "divided by all": lambda: e / e.sum(),
        "maximum without keepdim": lambda: (u := (scores - scores.amax(-1)).exp()) / u.sum(-1, keepdim=True),
        "naive": lambda: scores.exp() / scores.exp().sum(-1, keepdim=True),
        "naive, no keepdim": lambda: scores.exp() / scores.exp().sum(-1),
        "shifted by the overall maximum": lambda: _shifted(scores),
        "one-hot": lambda: torch.nn.functional.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype),
        "negative": lambda: (-scores).softmax(-1),
        "base 2": lambda: (scores * math.log(2)).softmax(-1),
        "relu": lambda: scores.relu(),
        "mean": lambda: scores / scores.shape[-1],
        "off by one": lambda: e / (1 + e.sum(-1, keepdim=True)),
        "norm": lambda: scores / scores.norm(dim=-1, keepdim=True),
        "implicit": lambda: scores.softmax(0 if scores.ndim in (0, 1, 3) else 1),
    }[softmax]()


def _shifted(scores):
    e = (scores - scores.max()).exp()
    return e / e.sum(-1, keepdim=True)


def masked_weights(weights, mask, how):
    """Stage 4, for the mask that comes too late: after the softmax, so that rows no longer sum to one."""
    if mask is None or not how.startswith("after"):
        return weights
    if how == "after, with ∞":
        return weights.masked_fill(~mask, -INF)
    if how == "after, inverted":
        return weights.masked_fill(mask, 0.0)
    if how == "after, by sign":
        return weights.masked_fill(~mask, -1e9)
    return weights.masked_fill(~mask, 0.0)


def mixed(q, k, v, scores, weights, values="v", mask=None, how=""):
    """Stage 5: the weighted average."""
    if mask is not None and how == "values":
        v = v.masked_fill(~mask[..., -1, :, None], 0.0)
    if values == "transposed weights":
        return weights.transpose(-2, -1) @ v
    if values == "scores":
        return scores @ v
    if values == "v from the left":
        return v @ weights
    if values == "v":
        return weights @ v
    if values == "mean of v":
        return v.mean(-2, keepdim=True).expand(*weights.shape[:-1], v.shape[-1])
    return weights @ {"k": k, "q": q}[values]


def attention_stages(q, k, v, mask=None, *, pair="q·k", transpose="last", scale="√d_k", mask_how="blocked -> -inf",
                     causal=None, softmax="keys",
                         values="v", after=None, second="weights", scaled_where="scores"):  # fmt: skip
    """All stages in their order. after: a last change to the output; second: what is returned beside it."""
    early = factor(scale, q, k, v) if scaled_where in ("scores", "floored scores") else 1.0
    raw = scores_of(q, k, v, pair, transpose, "none") * early
    raw = raw.floor() if scaled_where == "floored scores" else raw
    scores = masked(raw, mask, mask_how, causal)
    weights = masked_weights(normalised(scores, softmax), mask, mask_how)
    late = factor(scale, q, k, v) if scaled_where in ("weights", "output") else 1.0
    if scaled_where == "weights":
        weights = weights * late
    output = mixed(q, k, v, scores, weights, values, mask, mask_how)
    if scaled_where == "output":
        output = output * late
    if after == "plus q":
        output = output + q
    if after == "plus v":
        output = output + v
    others = {"weights": weights, "scores": scores, "raw scores": raw, "log weights": weights.log(),
              "transposed weights": weights.transpose(-2, -1), "k": k, "q": q, "v": v, "mask": mask}  # fmt: skip
    if second == "mean over axis 1":
        return output, weights.mean(1)
    return output, others[second]
