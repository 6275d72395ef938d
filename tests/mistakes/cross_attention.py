"""Attempts at cross-attention."""

import torch
import torch.nn.functional as F

from tests.mistakes import Collector
from tests.mistakes.multi_head_attention import merge, split

collected = Collector()
wrong, right, ANSWERS = collected.wrong, collected.right, collected.answers


def attend(q, k, v, padding=None, d=None):
    scores = q @ k.mT / (d or q.shape[-1]) ** 0.5
    if padding is not None:
        scores = scores.masked_fill(~padding[:, None, None, :], float("-inf"))
    return scores.softmax(-1) @ v


@wrong("keys-from-the-decoder")
def keys_decoder(dec, enc, w_q, w_k, w_v, w_o, n_heads, padding=None):
    q, k, v = split(dec @ w_q, n_heads), split(dec @ w_k, n_heads), split(enc @ w_v, n_heads)
    return merge(attend(q, k, v, padding)) @ w_o


@wrong("values-from-the-decoder")
def values_decoder(dec, enc, w_q, w_k, w_v, w_o, n_heads, padding=None):
    q, k, v = split(dec @ w_q, n_heads), split(enc @ w_k, n_heads), split(dec @ w_v, n_heads)
    return merge(attend(q, k, v, padding)) @ w_o


@wrong("roles-exchanged")
def turned_round(dec, enc, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split(enc @ w_q, n_heads), split(dec @ w_k, n_heads), split(dec @ w_v, n_heads)
    return merge(attend(q, k, v)) @ w_o


@wrong("encoder-unused")
def self_attention(dec, enc, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (split(dec @ w, n_heads) for w in (w_q, w_k, w_v))
    return merge(attend(q, k, v)) @ w_o


@wrong("decoder-unused")
def encoder_self_attention(dec, enc, w_q, w_k, w_v, w_o, n_heads, padding=None):
    q, k, v = (split(enc @ w, n_heads) for w in (w_q, w_k, w_v))
    return merge(attend(q, k, v, padding)) @ w_o


@wrong("decoder-among-the-keys")
def joined(dec, enc, w_q, w_k, w_v, w_o, n_heads):
    both = torch.cat([dec, enc], dim=1)
    q, k, v = split(dec @ w_q, n_heads), split(both @ w_k, n_heads), split(both @ w_v, n_heads)
    return merge(attend(q, k, v)) @ w_o


@wrong("causal-mask")
def causal(dec, enc, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split(dec @ w_q, n_heads), split(enc @ w_k, n_heads), split(enc @ w_v, n_heads)
    return merge(F.scaled_dot_product_attention(q, k, v, is_causal=True)) @ w_o


@wrong("decoder-length-for-the-encoder")
def one_length(dec, enc, w_q, w_k, w_v, w_o, n_heads):
    B, T, d = dec.shape
    q, k, v = (t.view(B, T, n_heads, d // n_heads).transpose(1, 2) for t in (dec @ w_q, enc @ w_k, enc @ w_v))
    return merge(attend(q, k, v)) @ w_o


@wrong("padding-ignored")
def no_padding(dec, enc, w_q, w_k, w_v, w_o, n_heads, padding=None):
    q, k, v = split(dec @ w_q, n_heads), split(enc @ w_k, n_heads), split(enc @ w_v, n_heads)
    return merge(attend(q, k, v)) @ w_o


@wrong("padding-inverted")
def inverted(dec, enc, w_q, w_k, w_v, w_o, n_heads, padding=None):
    q, k, v = split(dec @ w_q, n_heads), split(enc @ w_k, n_heads), split(enc @ w_v, n_heads)
    return merge(attend(q, k, v, None if padding is None else ~padding)) @ w_o


@wrong("padding-not-lined-up")
def padding_as_it_is(dec, enc, w_q, w_k, w_v, w_o, n_heads, padding=None):
    q, k, v = split(dec @ w_q, n_heads), split(enc @ w_k, n_heads), split(enc @ w_v, n_heads)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if padding is not None:
        scores = scores.masked_fill(~padding, -1e9)
    return merge(scores.softmax(-1) @ v) @ w_o


@wrong("padding-without-head-axis")
def padding_one_axis(dec, enc, w_q, w_k, w_v, w_o, n_heads, padding=None):
    q, k, v = split(dec @ w_q, n_heads), split(enc @ w_k, n_heads), split(enc @ w_v, n_heads)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if padding is not None:
        scores = scores.masked_fill(~padding[:, None, :], -1e9)
    return merge(scores.softmax(-1) @ v) @ w_o


@wrong("padding-on-queries")
def padding_of_queries(dec, enc, w_q, w_k, w_v, w_o, n_heads, padding=None):
    q, k, v = split(dec @ w_q, n_heads), split(enc @ w_k, n_heads), split(enc @ w_v, n_heads)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if padding is not None:
        scores = scores.masked_fill(~padding[:, None, :, None], -1e9)
    return merge(scores.softmax(-1) @ v) @ w_o


@wrong("scale-missing")
def unscaled(dec, enc, w_q, w_k, w_v, w_o, n_heads, padding=None):
    q, k, v = split(dec @ w_q, n_heads), split(enc @ w_k, n_heads), split(enc @ w_v, n_heads)
    return merge(attend(q, k, v, padding, d=1)) @ w_o


@wrong("scale-d_model")
def whole_width(dec, enc, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split(dec @ w_q, n_heads), split(enc @ w_k, n_heads), split(enc @ w_v, n_heads)
    return merge(attend(q, k, v, d=dec.shape[-1])) @ w_o


@wrong("w_o-missing")
def no_w_o(dec, enc, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split(dec @ w_q, n_heads), split(enc @ w_k, n_heads), split(enc @ w_v, n_heads)
    return merge(attend(q, k, v))


@wrong("one-head-only")
def one_head(dec, enc, w_q, w_k, w_v, w_o, n_heads):
    return attend(dec @ w_q, enc @ w_k, enc @ w_v) @ w_o


@wrong("values-use-w_k")
def w_k_twice(dec, enc, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split(dec @ w_q, n_heads), split(enc @ w_k, n_heads), split(enc @ w_k, n_heads)
    return merge(attend(q, k, v)) @ w_o


@wrong("w_q-and-w_k-exchanged")
def matrices_exchanged(dec, enc, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split(dec @ w_k, n_heads), split(enc @ w_q, n_heads), split(enc @ w_v, n_heads)
    return merge(attend(q, k, v)) @ w_o


@wrong("residual-added")
def residual(dec, enc, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split(dec @ w_q, n_heads), split(enc @ w_k, n_heads), split(enc @ w_v, n_heads)
    return dec + merge(attend(q, k, v)) @ w_o


@wrong("softmax-over-queries")
def softmax_dim_2(dec, enc, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split(dec @ w_q, n_heads), split(enc @ w_k, n_heads), split(enc @ w_v, n_heads)
    return merge((q @ k.mT / q.shape[-1] ** 0.5).softmax(2) @ v) @ w_o


@wrong("encoder-averaged")
def summary_vector(dec, enc, w_q, w_k, w_v, w_o, n_heads):
    enc = enc.mean(1, keepdim=True)
    q, k, v = split(dec @ w_q, n_heads), split(enc @ w_k, n_heads), split(enc @ w_v, n_heads)
    return merge(attend(q, k, v)) @ w_o


@wrong("merge-scrambles")
def scrambled(dec, enc, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split(dec @ w_q, n_heads), split(enc @ w_k, n_heads), split(enc @ w_v, n_heads)
    return attend(q, k, v).reshape(dec.shape) @ w_o


@wrong("keys-from-the-decoder+scale-missing", "scale-missing+keys-from-the-decoder")
def two_things(dec, enc, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split(dec @ w_q, n_heads), split(dec @ w_k, n_heads), split(enc @ w_v, n_heads)
    return merge(attend(q, k, v, d=1)) @ w_o


@wrong("wrong-parameters")
def too_few(dec, enc, w_q, w_k, w_v, n_heads):
    return dec


@right("padding")
def library_kernel(dec, enc, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = split(dec @ w_q, n_heads), split(enc @ w_k, n_heads), split(enc @ w_v, n_heads)
    return merge(F.scaled_dot_product_attention(q, k, v)) @ w_o


@right()
def with_padding(dec, enc, w_q, w_k, w_v, w_o, n_heads, padding=None):
    q, k, v = split(dec @ w_q, n_heads), split(enc @ w_k, n_heads), split(enc @ w_v, n_heads)
    return merge(attend(q, k, v, padding)) @ w_o


@right()
def any_further_arguments(dec, enc, w_q, w_k, w_v, w_o, n_heads, *padding):
    q, k, v = split(dec @ w_q, n_heads), split(enc @ w_k, n_heads), split(enc @ w_v, n_heads)
    return merge(attend(q, k, v, *padding)) @ w_o
