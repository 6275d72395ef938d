"""Attempts at layer norm."""

import torch
import torch.nn.functional as F

from tests.mistakes import Collector

collected = Collector()
wrong, right, ANSWERS = collected.wrong, collected.right, collected.answers


@wrong("variance-unbiased")
def default_var(x, gamma, beta, eps=1e-5):
    mean, var = x.mean(-1, keepdim=True), x.var(-1, keepdim=True)
    return gamma * (x - mean) / torch.sqrt(var + eps) + beta


@wrong("variance-unbiased-and-eps-outside")
def default_std(x, gamma, beta, eps=1e-5):
    return gamma * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps) + beta


@wrong("eps-outside-the-root")
def eps_outside(x, gamma, beta, eps=1e-5):
    return gamma * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True, correction=0) + eps) + beta


@wrong("eps-missing")
def no_eps(x, gamma, beta, eps=1e-5):
    return gamma * (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True, correction=0) + beta


@wrong("eps-fixed")
def own_eps(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, (x.shape[-1],), gamma, beta)


@wrong("over-batch")
def first_axis(x, gamma, beta, eps=1e-5):
    mean, var = x.mean(0), x.var(0, correction=0)
    return gamma * (x - mean) / torch.sqrt(var + eps) + beta


@wrong("over-tokens-and-features")
def whole_sequence(x, gamma, beta, eps=1e-5):
    mean = x.flatten(1).mean(1).reshape(-1, *[1] * (x.ndim - 1))
    var = x.flatten(1).var(1, correction=0).reshape(-1, *[1] * (x.ndim - 1))
    return gamma * (x - mean) / torch.sqrt(var + eps) + beta


@wrong("over-everything")
def all_numbers(x, gamma, beta, eps=1e-5):
    return gamma * (x - x.mean()) / torch.sqrt(x.var(correction=0) + eps) + beta


@wrong("over-tokens")
def second_last(x, gamma, beta, eps=1e-5):
    mean, var = x.mean(-2, keepdim=True), x.var(-2, keepdim=True, correction=0)
    return gamma * (x - mean) / torch.sqrt(var + eps) + beta


@wrong("over-axis-1")
def axis_1(x, gamma, beta, eps=1e-5):
    mean, var = x.mean(1, keepdim=True), x.var(1, keepdim=True, correction=0)
    return gamma * (x - mean) / torch.sqrt(var + eps) + beta


@wrong("over-axis-2")
def axis_2(x, gamma, beta, eps=1e-5):
    mean, var = x.mean(2, keepdim=True), x.var(2, keepdim=True, correction=0)
    return gamma * (x - mean) / torch.sqrt(var + eps) + beta


@wrong("root-missing")
def no_root(x, gamma, beta, eps=1e-5):
    mean, var = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=0)
    return gamma * (x - mean) / (var + eps) + beta


@wrong("keepdim-forgotten")
def no_keepdim(x, gamma, beta, eps=1e-5):
    mean, var = x.mean(-1), x.var(-1, correction=0)
    return gamma * (x - mean) / torch.sqrt(var + eps) + beta


@wrong("mean-not-subtracted")
def rms(x, gamma, beta, eps=1e-5):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * gamma + beta


@wrong("mean-subtracted-only-in-variance")
def not_centred(x, gamma, beta, eps=1e-5):
    return x / torch.sqrt(x.var(-1, keepdim=True, correction=0) + eps) * gamma + beta


@wrong("variance-about-zero")
def mean_of_squares(x, gamma, beta, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt((x**2).mean(-1, keepdim=True) + eps) * gamma + beta


@wrong("changes-its-input")
def in_place(x, gamma, beta, eps=1e-5):
    x -= x.mean(-1, keepdim=True)
    return x / torch.sqrt(x.var(-1, keepdim=True, correction=0) + eps) * gamma + beta


@wrong("over-batch-and-tokens")
def batch_norm(x, gamma, beta, eps=1e-5):
    axes = tuple(range(x.ndim - 1))
    mean, var = x.mean(axes, keepdim=True), x.var(axes, keepdim=True, correction=0)
    return (x - mean) / torch.sqrt(var + eps) * gamma + beta


@wrong("gamma-missing")
def gamma_unused(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], None, beta, eps)


@wrong("beta-missing")
def beta_unused(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], gamma, None, eps)


@wrong("gamma-and-beta-missing")
def both_unused(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], None, None, eps)


@wrong("gamma-and-beta-exchanged")
def exchanged(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], beta, gamma, eps)


@wrong("beta-before-gamma")
def shifted_first(x, gamma, beta, eps=1e-5):
    return (F.layer_norm(x, x.shape[-1:], None, None, eps) + beta) * gamma


@wrong("gamma-squared")
def gamma_twice(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], gamma, None, eps) * gamma + beta


@wrong("divided-by-squared-sum", "sum-of-squares")
def unit_length(x, gamma, beta, eps=1e-5):
    c = x - x.mean(-1, keepdim=True)
    return c / (c.norm(dim=-1, keepdim=True) + eps) * gamma + beta


@wrong("not-divided")
def only_centred(x, gamma, beta, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) * gamma + beta


@wrong("min-max-scaling")
def min_max(x, gamma, beta, eps=1e-5):
    low, high = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
    return (x - low) / (high - low + eps) * gamma + beta


@wrong("residual-added")
def residual(x, gamma, beta, eps=1e-5):
    return x + F.layer_norm(x, x.shape[-1:], gamma, beta, eps)


@wrong("mean-not-zero", "variance-not-one", "eps-outside-the-root+absolute-deviation")
def mean_absolute(x, gamma, beta, eps=1e-5):
    c = x - x.mean(-1, keepdim=True)
    return c / (c.abs().mean(-1, keepdim=True) + eps) * gamma + beta


@wrong("wrong-parameters")
def three_parameters(x, gamma, beta):
    return F.layer_norm(x, x.shape[-1:], gamma, beta)


@wrong("eps-fixed-1e-6")
def eps_typed(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], gamma, beta, 1e-6)


@wrong("multiplied-by-the-spread")
def multiplied(x, gamma, beta, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) * torch.sqrt(x.var(-1, keepdim=True, correction=0) + eps) * gamma + beta


@wrong("over-batch+keepdim-forgotten", "over-batch")
def batch_without_keepdim(x, gamma, beta, eps=1e-5):
    return (x - x.mean(0)) / torch.sqrt(x.var(0, unbiased=False) + eps) * gamma + beta


@wrong("variance-unbiased+over-batch", "over-batch+variance-unbiased")
def batch_unbiased(x, gamma, beta, eps=1e-5):
    return (x - x.mean(0)) / torch.sqrt(x.var(0) + eps) * gamma + beta


@wrong("beta-missing+variance-unbiased", "variance-unbiased+beta-missing")
def two(x, gamma, beta, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True) + eps) * gamma


@wrong("low-precision")
def rounded(x, gamma, beta, eps=1e-5):
    return torch.round(F.layer_norm(x, x.shape[-1:], gamma, beta, eps), decimals=3)


@right()
def library(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, (x.size(-1),), weight=gamma, bias=beta, eps=eps)


@right()
def unbiased_corrected(x, gamma, beta, eps=1e-5):
    n = x.size(-1)
    return (x - x.mean(-1, True)) / (x.var(-1, keepdim=True) * (n - 1) / n + eps).sqrt() * gamma + beta


@right()
def in_one_pass(x, gamma, beta, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    return (x - mean) * torch.rsqrt((x * x).mean(-1, keepdim=True) - mean**2 + eps) * gamma + beta


@right()
def row_by_row(x, gamma, beta, eps=1e-5):
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        c = row - row.sum() / len(row)
        rows.append(c / ((c @ c) / len(row) + eps) ** 0.5 * gamma + beta)
    return torch.stack(rows).reshape(x.shape)


@right()
def instance_norm(x, gamma, beta, eps=1e-5):
    flat = x.reshape(1, -1, x.shape[-1])
    return F.group_norm(flat.transpose(0, 1), 1, eps=eps).reshape(x.shape) * gamma + beta
