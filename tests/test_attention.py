import math

import pytest
import torch
import torch.nn.functional as F
from carry import copy_attention, shake
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from course_lib.attention import (
    MultiHeadAttention,
    attend,
    cross_attention,
    explicit_attention,
    fused_attention,
    in_place_attention,
    merge_heads,
    multi_head_attention,
    scaled_dot_product_attention,
    split_heads,
)
from course_lib.kernels import peak_bytes, which_kernel
from course_lib.masks import causal_mask, padding_mask

EXACT = {"rtol": 1e-12, "atol": 1e-12}


def numbers(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def naive_attention(q, k, v, mask):
    """One query and one key at a time, in Python, for (T, d_k) and (S, d_k)."""
    rows, weights = [], torch.zeros(len(q), len(k), dtype=q.dtype)
    for i in range(len(q)):
        allowed = [j for j in range(len(k)) if mask is None or mask[i, j]]
        scores = {j: float(q[i] @ k[j]) / math.sqrt(q.shape[1]) for j in allowed}
        total = sum(math.exp(score) for score in scores.values())
        for j, score in scores.items():
            weights[i, j] = math.exp(score) / total
        rows.append(sum((weights[i, j] * v[j] for j in allowed), torch.zeros(v.shape[1], dtype=v.dtype)))
    return torch.stack(rows), weights


@pytest.mark.smoke
@given(T=st.integers(1, 6), S=st.integers(1, 7), d_k=st.integers(1, 9), d_v=st.integers(1, 5),
       masked=st.booleans(), seed=st.integers(0, 999))  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_attention_equals_the_naive_loop(T, S, d_k, d_v, masked, seed):
    q, k, v = numbers(T, d_k, seed=seed), numbers(S, d_k, seed=seed + 1), numbers(S, d_v, seed=seed + 2)
    mask = numbers(T, S, seed=seed + 3) > 0 if masked else None
    output, weights = scaled_dot_product_attention(q, k, v, mask)
    naive_output, naive_weights = naive_attention(q, k, v, mask)
    torch.testing.assert_close(output, naive_output, **EXACT)
    torch.testing.assert_close(weights, naive_weights, **EXACT)


def test_attention_equals_pytorchs_with_a_mask_for_each_sequence():
    q, k, v = (numbers(3, 4, 5, 8, seed=i) for i in range(3))
    mask = numbers(3, 1, 5, 5, seed=9) > -0.5
    mask[..., 0] = True
    ours, _ = scaled_dot_product_attention(q, k, v, mask)
    torch.testing.assert_close(ours, F.scaled_dot_product_attention(q, k, v, attn_mask=mask), **EXACT)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("T", "S"), [(3, 5), (40, 1000), (16, 2049)])
def test_in_place_attention_equals_the_explicit_one(dtype, T, S):
    q, k, v = (numbers(2, 3, n, 16, seed=n, dtype=dtype) for n in (T, S, S + 1))
    v, before = v[..., :S, :], [q.clone(), k.clone()]
    some = numbers(2, 1, T, S, seed=7) > 0
    some[0, 0, 1] = False
    for mask in (None, some, some[:, :, :1], causal_mask(S)[S - T :], torch.zeros(T, S, dtype=torch.bool)):
        found = in_place_attention(q, k, v, mask)
        exact = scaled_dot_product_attention(q.double(), k.double(), v.double(), mask)
        for ours, expected in zip(found, exact, strict=True):
            assert ours.dtype == dtype
            torch.testing.assert_close(ours.double(), expected, rtol=0, atol=20 * torch.finfo(dtype).eps)
    assert torch.equal(q, before[0]) and torch.equal(k, before[1])
    with pytest.raises(ValueError, match="bool"):
        in_place_attention(q, k, v, torch.zeros(T, S))


def test_weights_are_computed_in_place_where_nobody_differentiates():
    q = numbers(1, 2, 256, 16, dtype=torch.float32)
    pulled = q.clone().requires_grad_()
    score_bytes = 4 * 2 * 256 * 256
    assert peak_bytes(lambda q: explicit_attention(q, q, q), q) < 1.2 * score_bytes
    assert peak_bytes(lambda q: explicit_attention(q, q, q), pulled) > 1.9 * score_bytes
    with torch.no_grad():
        assert peak_bytes(lambda q: explicit_attention(q, q, q), pulled) < 1.2 * score_bytes
    assert which_kernel(explicit_attention, q, q, q) == "explicit"
    with torch.autocast("cpu", torch.bfloat16):  # which changes the dtype between two steps
        for ours, differentiable in zip(explicit_attention(q, q, q), explicit_attention(pulled, q, q), strict=True):
            torch.testing.assert_close(ours, differentiable, rtol=0, atol=0.02)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_attention_keeps_the_dtype_and_its_inputs(dtype):
    q, k, v = (numbers(2, 4, 6, seed=i, dtype=dtype) for i in range(3))
    mask = causal_mask(4)
    before = [t.clone() for t in (q, k, v, mask)]
    output, weights = scaled_dot_product_attention(q, k, v, mask)
    assert output.dtype == weights.dtype == dtype
    assert all(torch.equal(a, b) for a, b in zip(before, (q, k, v, mask), strict=True))
    assert weights[:, 0, 1:].eq(0).all() and torch.isfinite(output).all()


@pytest.mark.parametrize("scale", [30, 200, 3000])
def test_attention_is_finite_with_large_scores(scale):
    q, k, v = (numbers(1, 5, 4, seed=i, dtype=torch.float32) for i in range(3))
    output, weights = scaled_dot_product_attention(q * scale, k, v, causal_mask(5))
    assert torch.isfinite(output).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 5))


@pytest.mark.parametrize("kernel", [explicit_attention, fused_attention])
def test_a_query_that_may_attend_to_nothing_gets_zero_and_gives_no_gradient(kernel):
    q, k, v = (numbers(2, 3, 4, 8, seed=i).requires_grad_() for i in range(3))
    mask = torch.ones(2, 1, 4, 4, dtype=torch.bool)
    mask[0, :, 2] = False
    mask[1] = False
    result = kernel(q, k, v, mask)
    output = result[0] if isinstance(result, tuple) else result
    assert output[0, :, 2].eq(0).all() and output[1].eq(0).all() and output[0, :, 1].ne(0).all()
    output.square().sum().backward()
    assert all(torch.isfinite(t.grad).all() for t in (q, k, v))
    assert q.grad[0, :, 2].eq(0).all() and all(t.grad[1].eq(0).all() for t in (q, k, v))


def test_a_mask_must_be_bool_and_fit():
    q = numbers(2, 4, 3, 8)
    with pytest.raises(ValueError, match=r"bool.*float64"):
        scaled_dot_product_attention(q, q, q, torch.zeros(3, 3, dtype=torch.float64))
    with pytest.raises(ValueError, match=r"\(3, 4\).*\(2, 4, 3, 3\)"):
        scaled_dot_product_attention(q, q, q, torch.ones(3, 4, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"\(2, 3\).*\(2, 4, 3, 3\)"):
        fused_attention(q, q, q, torch.ones(2, 3, dtype=torch.bool))


def test_split_heads_gives_each_head_its_own_columns_and_merge_undoes_it():
    x = torch.arange(2 * 3 * 8.0).reshape(2, 3, 8)
    heads = split_heads(x, 4)
    assert heads.shape == (2, 4, 3, 2)
    assert all(torch.equal(heads[:, i], x[..., 2 * i : 2 * i + 2]) for i in range(4))
    assert torch.equal(merge_heads(heads), x)
    with pytest.raises(ValueError, match="n_heads = 3, d_model = 8"):
        split_heads(x, 3)


def matrices(d_model, n=4):
    return [numbers(d_model, d_model, seed=10 + i) / math.sqrt(d_model) for i in range(n)]


def loaded(ws, n_heads, n_kv_heads=None):
    """A MultiHeadAttention without biases whose x @ w are the given matrices."""
    module = MultiHeadAttention(len(ws[0]), n_heads, bias=False, n_kv_heads=n_kv_heads).double()
    with torch.no_grad():
        for layer, w in zip((module.w_q, module.w_k, module.w_v, module.w_o), ws, strict=True):
            layer.weight.copy_(w.T)
    return module


def masks_of_every_rank(B, h, T, S):
    full = numbers(B, h, T, S, seed=5) > -0.5
    full[..., 0] = True
    four = {"4-D": full, "one head": full[:, :1], "rows": full[:, :, :1]}
    return {"none": None, "2-D": full[0, 0], "3-D": full[:, 0], **four}


@pytest.mark.parametrize("kind", ["none", "2-D", "3-D", "4-D", "one head", "rows"])
@pytest.mark.parametrize("padded", [False, True])
def test_the_module_equals_the_functions_forward_and_backward(kind, padded):
    B, T, d, h = 3, 3, 12, 3  # B = T on purpose: a (B, S) padding handed over as a mask would go unnoticed
    x, ws = numbers(B, T, d, seed=1), [w.requires_grad_() for w in matrices(d)]
    mask = masks_of_every_rank(B, h, T, T)[kind]
    padding = padding_mask([3, 1, 2]) if padded else None
    both = mask if padding is None else padding[:, None, None, :] & (True if mask is None else as_4d(mask))
    expected = multi_head_attention(x, *ws, h, both)
    module = loaded(ws, h)
    fused = module(x, mask=mask, padding=padding)
    explicit, weights = module(x, mask=mask, padding=padding, need_weights=True)
    torch.testing.assert_close(fused, expected, **EXACT)
    torch.testing.assert_close(explicit, expected, **EXACT)
    assert weights.shape == (B, h, T, T)
    for output in (fused, explicit):
        gradients = torch.autograd.grad(output.sin().sum(), [module.w_q.weight, module.w_v.weight], retain_graph=True)
        wanted = torch.autograd.grad(expected.sin().sum(), [ws[0], ws[2]], retain_graph=True)
        for ours, theirs in zip(gradients, wanted, strict=True):
            torch.testing.assert_close(ours, theirs.T, **EXACT)


def as_4d(mask):
    return mask[:, None] if mask.ndim == 3 else mask


def test_cross_attention_has_the_queries_of_the_decoder():
    x, memory, ws = numbers(2, 3, 12, seed=1), numbers(2, 5, 12, seed=2), matrices(12)
    padding = padding_mask([5, 2])
    output = cross_attention(x, memory, *ws, 3, padding)
    assert output.shape == x.shape
    torch.testing.assert_close(loaded(ws, 3)(x, memory, padding=padding), output, **EXACT)
    changed = memory.clone()
    changed[1, 2:] = 99.0  # padding: must not matter
    torch.testing.assert_close(cross_attention(x, changed, *ws, 3, padding), output, **EXACT)
    changed[1, 1] = 99.0
    assert not torch.allclose(cross_attention(x, changed, *ws, 3, padding)[1], output[1])


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("masked", ["nothing", "mask", "padding", "both"])
def test_equal_to_nn_multihead_attention(bias, masked):
    theirs = shake(nn.MultiheadAttention(12, 3, bias=bias, batch_first=True).double())
    ours = MultiHeadAttention(12, 3, bias=bias).double()
    copy_attention(ours, theirs)
    x, memory = numbers(2, 4, 12, seed=1).requires_grad_(), numbers(2, 5, 12, seed=2)
    mask = numbers(4, 5, seed=3) > -0.5 if masked in ("mask", "both") else None
    if mask is not None:
        mask[:, 0] = True
    padding = padding_mask([5, 3]) if masked in ("padding", "both") else None
    output, weights = ours(x, memory, mask=mask, padding=padding, need_weights=True)
    expected, their_weights = theirs(  # True = blocked in nn.MultiheadAttention, may attend with us
        x, memory, memory, attn_mask=None if mask is None else ~mask, average_attn_weights=False,
        key_padding_mask=None if padding is None else ~padding,
    )  # fmt: skip
    torch.testing.assert_close(output, expected, **EXACT)
    torch.testing.assert_close(weights, their_weights, **EXACT)
    torch.testing.assert_close(ours(x, memory, mask=mask, padding=padding), expected, **EXACT)
    ours_grad, = torch.autograd.grad(output.sin().sum(), x)
    their_grad, = torch.autograd.grad(expected.sin().sum(), x)
    torch.testing.assert_close(ours_grad, their_grad, **EXACT)


@given(n_kv_heads=st.sampled_from([1, 2, 4]), T=st.integers(1, 5), S=st.integers(1, 6), causal=st.booleans(),
       padded=st.booleans(), seed=st.integers(0, 99))  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_both_kernels_agree(n_kv_heads, T, S, causal, padded, seed):
    S = max(T, S) if causal else S
    q = numbers(2, 4, T, 8, seed=seed)
    k, v = numbers(2, n_kv_heads, S, 8, seed=seed + 1), numbers(2, n_kv_heads, S, 8, seed=seed + 2)
    mask = padding_mask([S, max(1, S // 2)], S)[:, None, None, :] if padded else None
    explicit, weights = attend(q, k, v, mask, causal, need_weights=True)
    fused, nothing = attend(q, k, v, mask, causal)
    assert nothing is None and weights.shape == (2, 4, T, S)
    torch.testing.assert_close(fused, explicit, **EXACT)


def test_grouped_queries_share_a_key_value_head_with_their_neighbours():
    x, module = numbers(1, 4, 16), MultiHeadAttention(16, 4, n_kv_heads=2).double()
    _, weights = module(x, need_weights=True)
    q, k = split_heads(module.w_q(x), 4), split_heads(module.w_k(x), 2)
    for head in range(4):
        _, expected = scaled_dot_product_attention(q[:, head], k[:, head // 2], k[:, head // 2])
        torch.testing.assert_close(weights[:, head], expected, **EXACT)


@pytest.mark.parametrize("need_weights", [False, True])
def test_causal_aligns_the_newest_query_to_the_newest_key(need_weights):
    q, k, v = numbers(1, 2, 6, 8, seed=0), numbers(1, 2, 6, 8, seed=1), numbers(1, 2, 6, 8, seed=2)
    whole, _ = attend(q, k, v, causal=True, need_weights=need_weights)
    for T in (1, 2, 5):
        last, _ = attend(q[:, :, -T:], k, v, causal=True, need_weights=need_weights)
        torch.testing.assert_close(last, whole[:, :, -T:], **EXACT)
    with pytest.raises(ValueError, match="T = 6, S = 5"):
        attend(q, k[:, :, 1:], v[:, :, 1:], causal=True, need_weights=True)


@pytest.mark.parametrize("causal", [False, True])
def test_wider_queries_and_keys_than_values_are_no_trouble(causal):
    q, k, v = numbers(2, 3, 5, 9, seed=0), numbers(2, 3, 5, 9, seed=1), numbers(2, 3, 5, 8, seed=2)
    explicit, _ = explicit_attention(q, k, v, causal=causal)
    torch.testing.assert_close(fused_attention(q, k, v, causal=causal), explicit, **EXACT)


def test_edit_replaces_the_weights():
    x, module = numbers(2, 4, 12), MultiHeadAttention(12, 3).double()
    uniform = module(x, edit=lambda weights: torch.full_like(weights, 0.25))
    by_hand = module.w_o(module.w_v(x).mean(dim=1, keepdim=True).expand_as(x))
    torch.testing.assert_close(uniform, by_hand, **EXACT)


def test_heads_must_divide_and_do_not_change_the_parameters():
    with pytest.raises(ValueError, match="d_model = 10, n_heads = 4"):
        MultiHeadAttention(10, 4)
    with pytest.raises(ValueError, match="n_kv_heads = 3"):
        MultiHeadAttention(16, 4, n_kv_heads=3)
    counts = {sum(p.numel() for p in MultiHeadAttention(32, h).parameters()) for h in (1, 2, 4, 8, 16, 32)}
    assert counts == {4 * (32 * 32 + 32)}
