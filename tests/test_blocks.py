import pytest
import torch
import torch.nn.functional as F
from carry import copy_decoder_block, copy_encoder_block, shake, small_config
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from course_lib import blocks
from course_lib.masks import causal_mask, padding_mask

EXACT = {"rtol": 1e-12, "atol": 1e-12}


def numbers(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@given(B=st.integers(1, 4), T=st.integers(1, 4), d=st.integers(1, 9), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_layer_norm_equals_pytorchs_for_every_shape(B, T, d, seed):
    x, gamma, beta = numbers(B, T, d, seed=seed), numbers(d, seed=seed + 1), numbers(d, seed=seed + 2)
    expected = F.layer_norm(x, (d,), gamma, beta, 1e-5)
    torch.testing.assert_close(blocks.layer_norm(x, gamma, beta), expected, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(blocks.fused_layer_norm(x, gamma, beta), expected, **EXACT)


def test_layer_norm_looks_at_one_token_alone():
    x, gamma, beta = numbers(2, 3, 8), torch.ones(8).double(), torch.zeros(8).double()
    changed = x.clone()
    changed[0, 1:] = 7.0
    changed[1] = -3.0
    assert torch.equal(blocks.layer_norm(changed, gamma, beta)[0, 0], blocks.layer_norm(x, gamma, beta)[0, 0])


def test_rms_norm_equals_pytorchs_and_has_no_shift():
    x, gamma = numbers(2, 3, 8) + 5, numbers(8, seed=1)
    torch.testing.assert_close(blocks.rms_norm(x, gamma), F.rms_norm(x, (8,), gamma, 1e-5), **EXACT)
    half = x.bfloat16()
    precise = blocks.rms_norm(half.double(), gamma)
    assert (blocks.rms_norm(half, gamma.bfloat16()).double() - precise).abs().max() < 0.02 * precise.abs().max()
    assert [name for name, _ in blocks.RMSNorm(8).named_parameters()] == ["gamma"]


def test_norm_modules_go_through_the_functions_that_stand_in_the_module(monkeypatch):
    x, norm, rms = numbers(2, 4).float(), blocks.LayerNorm(4), blocks.RMSNorm(4)
    monkeypatch.setattr(blocks, "fused_layer_norm", lambda x, *rest: x + 1)
    monkeypatch.setattr(blocks, "rms_norm", lambda x, *rest: x + 2)
    assert torch.equal(norm(x), x + 1) and torch.equal(rms(x), x + 2)


@pytest.mark.parametrize("activation", blocks.ACTIVATIONS)
def test_feed_forward_equals_its_formula(activation):
    layer, x = shake(blocks.FeedForward(6, 10, activation).double()), numbers(2, 3, 6)
    up = x @ layer.w_1.weight.T + layer.w_1.bias
    if activation == "swiglu":
        gate = x @ layer.w_gate.weight.T + layer.w_gate.bias
        hidden = gate * torch.sigmoid(gate) * up
    else:
        by_hand = {
            "relu": lambda z: z.clamp(min=0),
            "gelu": lambda z: z * (1 + torch.erf(z / 2**0.5)) / 2,
            "gelu_tanh": lambda z: z * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (z + 0.044715 * z**3))) / 2,
        }
        hidden = by_hand[activation](up)
    torch.testing.assert_close(layer(x), hidden @ layer.w_2.weight.T + layer.w_2.bias, rtol=1e-10, atol=1e-10)


def both_gradients(ours, theirs, x):
    return [torch.autograd.grad(output.sin().sum(), x, retain_graph=True) for output in (ours, theirs)]


def real_rows(output, padding):
    return output if padding is None else output[padding]


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("masked", ["nothing", "padding", "causal", "both"])
def test_encoder_block_equals_pytorchs(norm_first, activation, masked):
    theirs = nn.TransformerEncoderLayer(16, 4, 32, 0.0, activation, batch_first=True, norm_first=norm_first)
    theirs = shake(theirs.double())
    ours = blocks.EncoderBlock(small_config(norm_first=norm_first, activation=activation)).double()
    copy_encoder_block(ours, theirs)
    x = numbers(3, 5, 16).requires_grad_()
    padding = padding_mask([5, 2, 4]) if masked in ("padding", "both") else None
    causal = masked in ("causal", "both")
    expected = theirs(x, src_mask=~causal_mask(5) if causal else None,
                      src_key_padding_mask=None if padding is None else ~padding)  # fmt: skip
    fused = ours(x, padding=padding, causal=causal)
    explicit, weights = ours(x, padding=padding, causal=causal, need_weights=True)
    assert weights.shape == (3, 4, 5, 5)
    for output in (fused, explicit):
        torch.testing.assert_close(real_rows(output, padding), real_rows(expected, padding), **EXACT)
        mine, reference = both_gradients(real_rows(output, padding), real_rows(expected, padding), x)
        torch.testing.assert_close(mine, reference, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("padded", [True, False])
def test_decoder_block_equals_pytorchs(norm_first, activation, padded):
    theirs = nn.TransformerDecoderLayer(16, 4, 32, 0.0, activation, batch_first=True, norm_first=norm_first)
    theirs = shake(theirs.double())
    ours = blocks.DecoderBlock(small_config(norm_first=norm_first, activation=activation)).double()
    copy_decoder_block(ours, theirs)
    x, memory = numbers(3, 4, 16).requires_grad_(), numbers(3, 6, 16, seed=1).requires_grad_()
    padding, memory_padding = (padding_mask([4, 2, 3]), padding_mask([1, 6, 4])) if padded else (None, None)
    expected = theirs(
        x, memory, tgt_mask=~causal_mask(4), tgt_key_padding_mask=None if padding is None else ~padding,
        memory_key_padding_mask=None if memory_padding is None else ~memory_padding,
    )  # fmt: skip
    fused = ours(x, memory, padding, memory_padding)
    explicit, own, cross = ours(x, memory, padding, memory_padding, need_weights=True)
    assert own.shape == (3, 4, 4, 4) and cross.shape == (3, 4, 4, 6)
    for output in (fused, explicit):
        torch.testing.assert_close(real_rows(output, padding), real_rows(expected, padding), **EXACT)
        for inputs in (x, memory):
            mine, reference = both_gradients(real_rows(output, padding), real_rows(expected, padding), inputs)
            torch.testing.assert_close(mine, reference, rtol=1e-11, atol=1e-11)


def test_dropout_acts_in_training_only():
    block, x = blocks.EncoderBlock(small_config(dropout=0.5)).double(), numbers(1, 3, 16)
    assert not torch.equal(block(x), block(x))
    block.eval()
    assert torch.equal(block(x), block(x))


def test_bias_false_leaves_no_shift_anywhere():
    for block in (blocks.EncoderBlock, blocks.DecoderBlock):
        names = [name for name, _ in block(small_config(bias=False)).named_parameters()]
        assert names and not [name for name in names if name.endswith(("bias", "beta"))]


@pytest.mark.parametrize("norm_first", [True, False])
def test_the_block_as_a_function_is_the_module(norm_first):
    block = shake(blocks.EncoderBlock(small_config(norm_first=norm_first)).double())
    x = numbers(2, 5, block.attention.w_q.in_features)
    parts = (block.attention, block.feed_forward, block.norm_1, block.norm_2)
    torch.testing.assert_close(blocks.encoder_block(x, *parts, norm_first), block(x), **EXACT)
    other = blocks.encoder_block(x, *parts, not norm_first)
    assert (other - block(x)).abs().max() > 0.1


@pytest.mark.parametrize("norm_first", [True, False])
def test_the_decoder_block_as_a_function_is_the_module(norm_first):
    block = shake(blocks.DecoderBlock(small_config(norm_first=norm_first)).double())
    x, memory = numbers(2, 5, block.attention.w_q.in_features), numbers(2, 3, block.attention.w_q.in_features, seed=1)
    parts = (block.attention, block.cross_attention, block.feed_forward, block.norm_1, block.norm_2, block.norm_3)
    torch.testing.assert_close(blocks.decoder_block(x, memory, *parts, norm_first), block(x, memory), **EXACT)
    other = blocks.decoder_block(x, memory, *parts, not norm_first)
    assert (other - block(x, memory)).abs().max() > 0.1
