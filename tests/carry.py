"""Carries the weights of PyTorch's own layers over into ours, so that both must compute the same."""

import torch

from course_lib.models import TransformerConfig


def copy_linear(ours, weight, bias=None):
    """nn.Linear or a norm of ours gets these tensors."""
    names = ("gamma", "beta") if hasattr(ours, "gamma") else ("weight", "bias")
    with torch.no_grad():
        getattr(ours, names[0]).copy_(weight)
        if bias is not None:
            getattr(ours, names[1]).copy_(bias)


def copy_attention(ours, theirs):
    """ours: MultiHeadAttention; theirs: nn.MultiheadAttention, which keeps q, k and v in one matrix."""
    biases = [None] * 3 if theirs.in_proj_bias is None else theirs.in_proj_bias.chunk(3)
    for layer, weight, bias in zip((ours.w_q, ours.w_k, ours.w_v), theirs.in_proj_weight.chunk(3), biases, strict=True):
        copy_linear(layer, weight, bias)
    copy_linear(ours.w_o, theirs.out_proj.weight, theirs.out_proj.bias)


def copy_pairs(pairs):
    for ours, theirs in pairs:
        copy_linear(ours, theirs.weight, theirs.bias)


def copy_encoder_block(ours, theirs):
    """theirs: nn.TransformerEncoderLayer."""
    copy_attention(ours.attention, theirs.self_attn)
    copy_pairs([(ours.norm_1, theirs.norm1), (ours.norm_2, theirs.norm2)])
    copy_pairs([(ours.feed_forward.w_1, theirs.linear1), (ours.feed_forward.w_2, theirs.linear2)])


def copy_decoder_block(ours, theirs):
    """theirs: nn.TransformerDecoderLayer."""
    copy_attention(ours.attention, theirs.self_attn)
    copy_attention(ours.cross_attention, theirs.multihead_attn)
    copy_pairs([(ours.norm_1, theirs.norm1), (ours.norm_2, theirs.norm2), (ours.norm_3, theirs.norm3)])
    copy_pairs([(ours.feed_forward.w_1, theirs.linear1), (ours.feed_forward.w_2, theirs.linear2)])


def shake(module):
    """Give every parameter a random value: a norm that starts at 1 and 0 would hide that it is not used."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.3)
    return module


def small_config(**changes):
    """A config that a test can run in a millisecond."""
    sizes = {"vocab_size": 19, "d_model": 16, "n_heads": 4, "n_layers": 2, "d_ff": 32, "max_len": 40}
    return TransformerConfig(**{**sizes, **changes})
