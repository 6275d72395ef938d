"""Attempts at softmax(q kᵀ / √d_k) v."""

import math

import torch
import torch.nn.functional as F

from tests.mistakes import Collector

collected = Collector()
wrong, right, ANSWERS = collected.wrong, collected.right, collected.answers
INF = float("inf")


@wrong("scale-d_k")
def divided_by_d_k(q, k, v, mask=None):
    scores = q @ k.mT / q.shape[-1]
    if mask is not None:
        scores = scores.masked_fill(~mask, -INF)
    weights = F.softmax(scores, dim=-1)
    return weights @ v, weights


@wrong("scale-missing")
def not_divided(q, k, v, mask=None):
    scores = torch.matmul(q, k.transpose(-1, -2))
    if mask is not None:
        scores[~mask.expand_as(scores)] = -INF
    weights = F.softmax(scores, dim=-1)
    return torch.matmul(weights, v), weights


@wrong("scale-times-sqrt")
def multiplied(q, k, v, mask=None):
    scores = q @ k.mT * math.sqrt(q.shape[-1])
    if mask is not None:
        scores = torch.where(mask, scores, -INF)
    weights = F.softmax(scores, dim=-1)
    return weights @ v, weights


@wrong("scale-from-axis-1")
def size_of_axis_1(q, k, v, mask=None):
    scores = q @ k.mT / q.shape[1] ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, -INF)
    weights = F.softmax(scores, dim=-1)
    return weights @ v, weights


@wrong("scale-sqrt-S")
def by_number_of_keys(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(k.size(-2))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("scale-sqrt-T")
def by_number_of_queries(q, k, v, mask=None):
    T, d = q.shape[-2:]
    scores = q @ k.mT / math.sqrt(T)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("scale-sqrt-d_v")
def by_width_of_values(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(v.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("scale-after-softmax")
def scaled_late(q, k, v, mask=None):
    scores = q @ k.mT
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(-1) / math.sqrt(k.size(-1))
    return weights @ v, weights


@wrong("scale-on-output")
def scaled_output(q, k, v, mask=None):
    scores = q @ k.mT
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(-1)
    return weights @ v / math.sqrt(k.size(-1)), weights


@wrong("scale-d_k")
def scaled_twice(q, k, v, mask=None):
    q, k = q / math.sqrt(q.size(-1)), k / math.sqrt(k.size(-1))
    scores = q @ k.mT
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("scale-wrong")
def divided_by_three(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1)) / 3
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("softmax-over-queries")
def over_queries(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(-2)
    return weights @ v, weights


@wrong("softmax-axis-1")
def softmax_dim_1(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, 1)
    return weights @ v, weights


@wrong("softmax-axis-0")
def softmax_dim_0(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -INF)
    weights = torch.softmax(scores, 0)
    return weights @ v, weights


@wrong("softmax-axis-2")
def softmax_dim_2(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -INF)
    weights = torch.softmax(scores, 2)
    return weights @ v, weights


@wrong("softmax-everything")
def over_the_whole_matrix(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -INF)
    e = torch.exp(scores - scores.amax((-2, -1), keepdim=True))
    weights = e / e.sum((-2, -1), keepdim=True)
    return weights @ v, weights


@wrong("softmax-everything-batch")
def over_all_numbers(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -INF)
    weights = torch.softmax(scores.reshape(-1), 0).reshape(scores.shape)
    return weights @ v, weights


@wrong("softmax-missing")
def no_softmax(q, k, v, mask=None):
    weights = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        weights = weights.masked_fill(mask == 0, 0.0)
    return weights @ v, weights


@wrong("softmax-sigmoid")
def sigmoid(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -INF)
    weights = torch.sigmoid(scores)
    return weights @ v, weights


@wrong("softmax-log")
def log_softmax(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = F.log_softmax(scores, -1)
    return weights @ v, weights


@wrong("softmax-overflows")
def naive_softmax(q, k, v, mask=None):
    scores = torch.exp(q @ k.mT / math.sqrt(q.size(-1)))
    if mask is not None:
        scores = scores * mask
    weights = scores / scores.sum(-1, keepdim=True)
    return weights @ v, weights


@wrong("softmax-no-keepdim")
def sum_without_keepdim(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    e = torch.exp(scores - scores.max(-1, keepdim=True).values)
    weights = e / e.sum(dim=-1)
    return weights @ v, weights


@wrong("softmax-global-maximum")
def global_maximum(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    e = torch.exp(scores - scores.max())
    weights = e / e.sum(dim=-1, keepdim=True)
    return weights @ v, weights


@wrong("softmax-exp-only")
def never_normalised(q, k, v, mask=None):
    weights = torch.exp(q @ k.mT / math.sqrt(q.size(-1)))
    if mask is not None:
        weights = weights.masked_fill(~mask, 0)
    return weights @ v, weights


@wrong("softmax-argmax")
def hard_attention(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = torch.zeros_like(scores).scatter(-1, scores.argmax(-1, keepdim=True), 1.0)
    return weights @ v, weights


@wrong("softmax-negative")
def negative_scores(q, k, v, mask=None):
    scores = -(q @ k.mT) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("mask-inverted")
def mask_the_other_way_round(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("mask-inverted")
def mask_the_other_way_round_for_sdpa(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores + mask * -1e9
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("mask-after-softmax")
def masked_late(q, k, v, mask=None):
    weights = (q @ k.mT / math.sqrt(q.size(-1))).softmax(-1)
    if mask is not None:
        weights = weights * mask
    return weights @ v, weights


@wrong("mask-ignored")
def masked_fill_without_assignment(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("blocked-score-zero")
def mask_multiplied(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores * mask
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("blocked-score-zero")
def tiny_number(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, 1e-9)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("blocked-score-plus-large")
def sign_of_sentinel(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, 1e9)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("blocked-score-plus-infinity")
def plus_infinity(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, INF)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("blocked-score-too-small")
def minus_ten(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -10)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("blocked-score-too-small")
def minus_twenty(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -20)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("mask-added-as-number")
def bool_added(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores + mask
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("mask-zero-times-infinity")
def zero_times_infinity(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores + (1 - mask.float()) * -INF
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("mask-transposed")
def mask_turned(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask.mT, -INF)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("always-causal")
def causal_by_default(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -INF)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("none-used")
def mask_never_none(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    scores = scores.masked_fill(mask == 0, -1e9) if mask.any() else scores
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("mask-misused")
def bool_in_if(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("queries-and-keys-exchanged")
def k_with_q(q, k, v, mask=None):
    scores = k @ q.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("keys-not-transposed", "product-does-not-fit")
def transpose_forgotten(q, k, v, mask=None):
    scores = q @ k / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("keys-all-axes-reversed")
def capital_t(q, k, v, mask=None):
    scores = q @ k.permute(*torch.arange(k.ndim - 1, -1, -1)) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("keys-axes-1-2")
def transpose_1_2(q, k, v, mask=None):
    scores = torch.matmul(q, k.transpose(1, 2)) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("keys-axes-0-1")
def small_t(q, k, v, mask=None):
    scores = torch.matmul(q, k.transpose(0, 1)) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("scores-feature-by-feature")
def features_with_features(q, k, v, mask=None):
    weights = (q.mT @ k / math.sqrt(q.size(-1))).softmax(-1)
    return v @ weights, weights


@wrong("weights-times-keys")
def keys_as_values(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    return weights @ k, weights


@wrong("scores-times-values")
def scores_as_weights(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return scores @ v, scores.softmax(-1)


@wrong("returns-scores")
def second_value_scores(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return scores.softmax(-1) @ v, scores


@wrong("returns-in-other-order")
def other_order(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    return weights, weights @ v


@wrong("returns-one-value")
def output_only(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return scores.softmax(-1) @ v


@wrong("left-to-chance")
def dropout_inside(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = F.dropout(scores.softmax(-1), p=0.2)
    return weights @ v, weights


@wrong("changes-its-input")
def mask_inverted_in_place(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not_(), -1e9)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("changes-its-input")
def scaled_in_place(q, k, v, mask=None):
    q /= math.sqrt(q.size(-1))
    scores = q @ k.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("returns-none")
def forgets_to_return(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    result = weights @ v  # noqa: F841


@wrong("undefined-name")
def wrong_name(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(d_k)  # noqa: F821
    return scores.softmax(-1) @ v, scores.softmax(-1)


@wrong("scale-missing+mask-inverted", "scale-missing")
def two_mistakes(q, k, v, mask=None):
    scores = q @ k.mT
    if mask is not None:
        scores = scores.masked_fill(mask, -1e9)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("softmax-over-queries+scale-missing", "scale-missing+softmax-over-queries")
def two_other_mistakes(q, k, v, mask=None):
    scores = q @ k.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-2)
    return weights @ v, weights


@wrong("scores-cosine-unscaled")
def cosine(q, k, v, mask=None):
    scores = F.cosine_similarity(q.unsqueeze(-2), k.unsqueeze(-3), dim=-1)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("hidden-keys-get-weight", "blocked-score-too-small", "mask-minus-ten")
def minus_five_points(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores - 5 * (~mask)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("low-precision")
def in_half_precision(q, k, v, mask=None):
    scores = (q.half() @ k.half().mT / math.sqrt(q.size(-1))).to(q.dtype)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    return weights @ v, weights


@wrong("adds-the-queries", "adds-q", "output-is-not-the-average")
def residual(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    return weights @ v + q, weights


@right()
def in_einsum(q, k, v, mask=None):
    scores = torch.einsum("...td,...sd->...ts", q, k) / q.size(-1) ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, -INF)
    weights = scores.softmax(-1)
    return torch.einsum("...ts,...sv->...tv", weights, v), weights


@right()
def additive(q, k, v, mask=None):
    scores = torch.matmul(q, k.transpose(-2, -1)).div(math.sqrt(k.size(-1)))
    if mask is not None:
        scores = scores + torch.zeros_like(scores).masked_fill(~mask, -1e9)
    weights = torch.nn.Softmax(dim=-1)(scores)
    return weights.matmul(v), weights


@right()
def masked_then_renormalised(q, k, v, mask=None):
    e = (q @ k.mT / math.sqrt(q.size(-1))).softmax(-1)
    if mask is not None:
        e = e * mask
        e = e / e.sum(-1, keepdim=True)
    return e @ v, e


@right()
def from_the_library_kernel(q, k, v, mask=None):
    eye = torch.eye(k.shape[-2], dtype=v.dtype).expand(*k.shape[:-1], k.shape[-2])
    weights = F.scaled_dot_product_attention(q, k, eye, attn_mask=mask)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask), weights


@right()
def loop_over_queries(q, k, v, mask=None):
    rows = []
    for t in range(q.shape[-2]):
        scores = (k * q[..., t : t + 1, :]).sum(-1) / math.sqrt(k.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask.expand(*q.shape[:-1], k.shape[-2])[..., t, :], -INF)
        rows.append(scores.softmax(-1))
    weights = torch.stack(rows, -2)
    return [weights @ v, weights]


@right("float16")
def small_sentinel(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), -1e20)
    weights = scores.softmax(-1)
    return weights @ v, weights


@right()
def double_inside(q, k, v, mask=None):
    scores = q.double() @ k.double().mT / math.sqrt(q.size(-1))
    if mask is not None:
        scores.masked_fill_(~mask, -INF)
    weights = scores.softmax(-1).to(q.dtype)
    return weights @ v, weights


@right("gradient")
def without_gradient(q, k, v, mask=None):
    with torch.no_grad():
        scores = q @ k.mT / math.sqrt(q.size(-1))
        if mask is not None:
            scores = scores.masked_fill(~mask, -INF)
        weights = scores.softmax(-1)
        return weights @ v, weights
