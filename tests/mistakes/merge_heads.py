"""Attempts at (B, h, T, d_k) -> (B, T, d_model)."""

import torch

from tests.mistakes import Collector

collected = Collector()
wrong, right, ANSWERS = collected.wrong, collected.right, collected.answers


@wrong("view-after-transpose")
def view(x):
    B, h, T, d_k = x.shape
    return x.transpose(1, 2).view(B, T, h * d_k)


@wrong("heads-along-tokens")
def cat_dim_1(x):
    return torch.cat([x[:, i] for i in range(x.shape[1])], dim=1)


@wrong("heads-averaged")
def averaged(x):
    return x.mean(1)


@wrong("heads-summed")
def summed(x):
    return x.sum(dim=1)


@wrong("features-interleaved")
def interleaved(x):
    B, h, T, d_k = x.shape
    return x.permute(0, 2, 3, 1).reshape(B, T, d_k * h)


@wrong("features-interleaved")
def stacked_last(x):
    return torch.stack(x.unbind(1), dim=-1).flatten(2)


@wrong("reshape-scrambles")
def reshape_only(x):
    B, h, T, d_k = x.shape
    return x.reshape(B, T, h * d_k)


@wrong("reshape-scrambles")
def contiguous_view_only(x):
    return x.contiguous().view(x.shape[0], x.shape[2], -1)


@wrong("heads-not-joined")
def not_joined(x):
    return x.transpose(1, 2)


@wrong("last-two-axes-exchanged")
def wrong_pair(x):
    B, h, T, d_k = x.shape
    return x.transpose(2, 3).reshape(B, T, h * d_k)


@wrong("heads-and-d_k-exchanged")
def other_wrong_pair(x):
    B, h, T, d_k = x.shape
    return x.transpose(1, 3).reshape(B, T, h * d_k)


@wrong("batch-and-tokens-exchanged", "batch-and-tokens-mixed", "scrambled")
def batch_moved(x):
    B, h, T, d_k = x.shape
    return x.permute(2, 0, 1, 3).reshape(B, T, h * d_k)


@wrong("features-before-tokens")
def turned(x):
    B, h, T, d_k = x.shape
    return x.transpose(2, 3).reshape(B, h * d_k, T)


@wrong("batch-and-tokens-joined")
def flattened(x):
    B, h, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B * T, h * d_k)


@wrong("first-head-only")
def first(x):
    return x[:, 0]


@wrong("heads-between-tokens")
def between(x):
    B, h, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T * h, d_k)


@wrong("heads-reversed")
def reversed_heads(x):
    return torch.cat([x[:, i] for i in reversed(range(x.shape[1]))], dim=-1)


@wrong("heads-maximum")
def maximum(x):
    return x.max(dim=1).values


@wrong("tokens-joined-too")
def everything(x):
    return x.transpose(1, 2).flatten(1)


@wrong("hard-coded-axes")
def three_axes(x):
    B, T, d = x.shape
    return x


@wrong("returns-a-list")
def listed(x):
    return [x[:, i] for i in range(x.shape[1])]


@wrong("heads-averaged+divided-by-h", "divided-by-h", "wrong-factor")
def divided(x):
    B, h, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, h * d_k) / h


@wrong("changes-its-input")
def in_place(x):
    B, h, T, d_k = x.shape
    y = x.transpose(1, 2).reshape(B, T, h * d_k).clone()
    x.zero_()
    return y


@wrong("float-size")
def float_size(x):
    B, h, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, h * d_k / 1)


@right()
def textbook(x):
    B, h, T, d_k = x.shape
    return x.transpose(1, 2).contiguous().view(B, T, h * d_k)


@right()
def cat(x):
    return torch.cat(x.unbind(1), -1)


@right()
def flatten(x):
    return x.swapaxes(1, 2).flatten(-2)


@right()
def in_einsum(x):
    return torch.einsum("bhtk->bthk", x).reshape(x.size(0), x.size(2), -1)


@right()
def loop(x):
    B, h, T, d_k = x.shape
    out = torch.zeros(B, T, h * d_k, dtype=x.dtype)
    for i in range(h):
        out[..., i * d_k : (i + 1) * d_k] = x[:, i]
    return out
