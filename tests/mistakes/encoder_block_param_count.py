"""Attempts at counting the parameters of an encoder block."""

import torch
from torch import nn

from tests.mistakes import Collector

collected = Collector()
wrong, right, ANSWERS = collected.wrong, collected.right, collected.answers


def linear(i, o, bias):
    """Parameters of a linear layer."""
    return i * o + (o if bias else 0)


def feed_forward(d, f, bias):
    """Parameters of the two feed-forward layers."""
    return linear(d, f, bias) + linear(f, d, bias)


@wrong("divided-by-heads")
def per_head_width(d_model, n_heads, d_ff, bias=True):
    d_k = d_model // n_heads
    return 4 * (d_model * d_k + bias * d_model) + feed_forward(d_model, d_ff, bias) + (4 if bias else 2) * d_model


@wrong("divided-by-heads", "counts-d_model²", "counts-d_model")
def one_head_only(d_model, n_heads, d_ff, bias=True):
    d_k = d_model // n_heads
    return 3 * linear(d_model, d_k, bias) + linear(d_model, d_model, bias) + feed_forward(d_model, d_ff, bias) + 4 * d_model


@wrong("multiplied-by-heads")
def whole_matrix_per_head(d_model, n_heads, d_ff, bias=True):
    return n_heads * 4 * d_model**2 + bias * 4 * d_model + feed_forward(d_model, d_ff, bias) + 4 * d_model


@wrong("w_o-not-counted")
def three_projections(d_model, n_heads, d_ff, bias=True):
    return 3 * linear(d_model, d_model, bias) + feed_forward(d_model, d_ff, bias) + 4 * d_model


@wrong("one-norm")
def single_norm(d_model, n_heads, d_ff, bias=True):
    return 4 * linear(d_model, d_model, bias) + feed_forward(d_model, d_ff, bias) + 2 * d_model


@wrong("norms-missing")
def no_norms(d_model, n_heads, d_ff, bias=True):
    return 4 * linear(d_model, d_model, bias) + feed_forward(d_model, d_ff, bias)


@wrong("one-feed-forward-matrix")
def single_matrix(d_model, n_heads, d_ff, bias=True):
    return 4 * linear(d_model, d_model, bias) + d_model * d_ff + (d_ff + d_model) * bias + 4 * d_model


@wrong("feed-forward-bias-d_ff")
def long_bias(d_model, n_heads, d_ff, bias=True):
    return 4 * linear(d_model, d_model, bias) + 2 * (d_model * d_ff + d_ff * bias) + 4 * d_model


@wrong("feed-forward-bias-d_model")
def short_bias(d_model, n_heads, d_ff, bias=True):
    return 4 * linear(d_model, d_model, bias) + 2 * (d_model * d_ff + d_model * bias) + 4 * d_model


@wrong("bias-flag-ignored")
def flag_ignored(d_model, n_heads, d_ff, bias=True):
    return 4 * linear(d_model, d_model, True) + feed_forward(d_model, d_ff, True) + 4 * d_model


@wrong("biases-never-counted")
def no_biases(d_model, n_heads, d_ff, bias=True):
    return 4 * d_model**2 + 2 * d_model * d_ff + 4 * d_model


@wrong("attention-biases-missing")
def attention_without_bias(d_model, n_heads, d_ff, bias=True):
    return 4 * d_model**2 + feed_forward(d_model, d_ff, bias) + 4 * d_model


@wrong("attention-bias-once")
def bias_once(d_model, n_heads, d_ff, bias=True):
    return 4 * d_model**2 + bias * d_model + feed_forward(d_model, d_ff, bias) + 4 * d_model


@wrong("feed-forward-missing")
def attention_only(d_model, n_heads, d_ff, bias=True):
    return 4 * linear(d_model, d_model, bias) + 4 * d_model


@wrong("three-feed-forward-matrices")
def gated(d_model, n_heads, d_ff, bias=True):
    return 4 * linear(d_model, d_model, bias) + 3 * d_model * d_ff + bias * (d_ff + d_model) + 4 * d_model


@wrong("one-norm")
def scales_only(d_model, n_heads, d_ff, bias=True):
    return 4 * linear(d_model, d_model, bias) + feed_forward(d_model, d_ff, bias) + 2 * d_model


@wrong("counts-d_model·d_ff", "counts-d_model")
def d_ff_squared(d_model, n_heads, d_ff, bias=True):
    return 4 * linear(d_model, d_model, bias) + d_ff**2 + bias * 2 * d_ff + 4 * d_model


@wrong("counts-d_model²", "counts-d_model")
def five_projections(d_model, n_heads, d_ff, bias=True):
    return 5 * linear(d_model, d_model, bias) + feed_forward(d_model, d_ff, bias) + 4 * d_model


@wrong("three-norms")
def extra_norm(d_model, n_heads, d_ff, bias=True):
    return 4 * linear(d_model, d_model, bias) + feed_forward(d_model, d_ff, bias) + 6 * d_model


@wrong("counts-d_model", "counts-n_heads")
def bias_per_head(d_model, n_heads, d_ff, bias=True):
    attention = 4 * d_model**2 + bias * (3 * n_heads * d_model + d_model)
    return attention + feed_forward(d_model, d_ff, bias) + 4 * d_model


@wrong("counts-1", "counts-d_model")
def norm_as_two_numbers(d_model, n_heads, d_ff, bias=True):
    return 4 * linear(d_model, d_model, bias) + feed_forward(d_model, d_ff, bias) + 4


@wrong("counts-d_model²")
def two_things(d_model, n_heads, d_ff, bias=True):
    return 3 * linear(d_model, d_model, bias) + feed_forward(d_model, d_ff, bias) + 2 * d_model


@wrong("returns-none")
def printed(d_model, n_heads, d_ff, bias=True):
    print(4 * d_model**2)


@wrong("different-values", "wrong-when", "counts-d_model")
def second_bias_inverted(d_model, n_heads, d_ff, bias=True):
    return 4 * linear(d_model, d_model, not bias) + feed_forward(d_model, d_ff, not bias) + 4 * d_model


@right()
def closed_form(d_model, n_heads, d_ff, bias=True):
    if bias:
        return 4 * d_model**2 + 2 * d_model * d_ff + 9 * d_model + d_ff
    return 4 * d_model**2 + 2 * d_model * d_ff + 2 * d_model


@right("reading")
def norms_keep_their_shift(d_model, n_heads, d_ff, bias=True):
    return 4 * linear(d_model, d_model, bias) + feed_forward(d_model, d_ff, bias) + 4 * d_model


@right()
def from_torch(d_model, n_heads, d_ff, bias=True):
    with torch.device("meta"):
        block = nn.TransformerEncoderLayer(d_model, n_heads, d_ff, bias=bias)
    return sum(p.numel() for p in block.parameters())


@right("int")
def with_true_division(d_model, n_heads, d_ff, bias=True):
    per_head = 3 * d_model * (d_model / n_heads) + (d_model / n_heads) * d_model
    return n_heads * per_head + bias * 4 * d_model + feed_forward(d_model, d_ff, bias) + 4 * d_model
