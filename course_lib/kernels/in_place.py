"""Explicit attention with one (T, S) tensor instead of four: for looking at weights, where nothing is trained."""

import math

import torch

from course_lib.masks import check_mask


def nobody_differentiates(*tensors):
    """Whether steps on these may overwrite what the step before made, which autograd would need.

    False on other devices than a CPU, where it was not measured.
    """
    wanted = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
    return not wanted and all(t.is_cpu for t in tensors)


def in_place_attention(q, k, v, mask=None):
    """As `attention.scaled_dot_product_attention`: (output (…, T, d_v), weights (…, T, S)), without gradients."""
    *batch, T, d_k = q.shape
    q, k, v = (t.reshape(-1, *t.shape[-2:]) for t in (q, k, v))  # baddbmm takes one batch axis: (B·h, T, d_k)
    scores = torch.baddbmm(q.new_empty(()), q, k.mT, beta=0, alpha=1 / math.sqrt(d_k))  # beta 0: the first is not read
    weights = scores.view(*batch, T, -1)  # (…, T, S): the scores, until the softmax
    if mask is not None:
        check_mask(mask, weights.shape)
        weights.masked_fill_(~mask, -torch.inf)
    torch.softmax(weights, dim=-1, out=weights)
    if mask is not None:
        weights.masked_fill_(~mask.any(dim=-1, keepdim=True), 0.0)  # nothing to attend to: 0, not NaN
    return (scores @ v).view(*batch, T, -1), weights
