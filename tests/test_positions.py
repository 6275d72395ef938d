import math

import pytest
import torch
from carry import small_config
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import positions
from course_lib.attention import attend
from course_lib.models import Decoder, Encoder

EXACT = {"rtol": 1e-12, "atol": 1e-12}


def numbers(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("d_model", [2, 4, 64])
def test_sinusoidal_equals_the_formula_entry_by_entry(d_model):
    table = positions.sinusoidal_pe(30, d_model)
    assert table.dtype == torch.float32 and table.shape == (30, d_model)
    for p in (0, 1, 17, 29):
        for i in range(d_model // 2):
            angle = p / 10000 ** (2 * i / d_model)
            assert table[p, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-7)
            assert table[p, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-7)


def test_sinusoidal_dot_product_depends_on_the_offset_alone():
    table = positions.sinusoidal_pe(512, 64).double()
    for offset in (1, 7, 100):
        products = (table[offset:] * table[: 512 - offset]).sum(-1)
        assert (products - products.mean()).abs().max() < 1e-4


@pytest.mark.parametrize("d_model", [1, 7])
def test_sinusoidal_refuses_an_odd_width(d_model):
    with pytest.raises(ValueError, match=f"even.*{d_model}"):
        positions.sinusoidal_pe(4, d_model)


@given(T=st.integers(1, 9), half=st.integers(1, 8), start=st.integers(0, 5000), seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_rotary_equals_multiplying_complex_numbers(T, half, start, seed):
    x, at = numbers(2, 3, T, 2 * half, seed=seed), torch.arange(start, start + T)
    frequency = 10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    turn = torch.polar(torch.ones(T, half, dtype=torch.float64), at[:, None] * frequency)
    interleaved = torch.view_as_real(torch.view_as_complex(x.reshape(2, 3, T, half, 2)) * turn).flatten(-2)
    torch.testing.assert_close(positions.rotary(x, at), interleaved, rtol=1e-11, atol=1e-11)
    halves = torch.complex(x[..., :half], x[..., half:]) * turn
    expected = torch.cat([halves.real, halves.imag], dim=-1)
    torch.testing.assert_close(positions.rotary(x, at, pairs="halves"), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("pairs", ["interleaved", "halves"])
def test_rotary_scores_depend_on_the_distance_alone(pairs):
    q, k = numbers(1, 16, seed=1), numbers(1, 16, seed=2)

    def score(i, j):
        turned = (positions.rotary(x, torch.tensor([p]), pairs=pairs) for x, p in ((q, i), (k, j)))
        return float(torch.mul(*turned).sum())

    assert score(3, 1) == pytest.approx(score(103, 101), abs=1e-12)
    assert abs(score(3, 1) - score(3, 2)) > 1e-3


def test_rotary_refuses_an_odd_width():
    with pytest.raises(ValueError, match="even; got 5"):
        positions.rotary(numbers(3, 5), torch.arange(3))


def test_alibi_slopes_are_the_papers():
    assert positions.alibi_slopes(8).tolist() == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]
    sixteen = [2 ** (-0.5 * i) for i in range(1, 17)]
    assert positions.alibi_slopes(16).tolist() == pytest.approx(sixteen)
    assert positions.alibi_slopes(12).tolist() == pytest.approx([2.0**-i for i in range(1, 9)] + sixteen[0:8:2])
    assert positions.alibi_slopes(1).tolist() == [2**-8]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("need_weights", [True, False])
def test_alibi_inside_attention_equals_adding_the_bias(causal, need_weights):
    T, h, d_k = 7, 4, 6
    q, k, v = (numbers(2, h, T, d_k, seed=i) for i in range(3))
    extend = positions.Alibi(h, causal).inside(torch.arange(T), q)
    output, weights = attend(*extend(q, k), v, causal=causal, need_weights=need_weights)
    scores = q @ k.mT / math.sqrt(d_k) + positions.alibi_bias(h, T)
    if causal:
        scores = scores.masked_fill(~torch.ones(T, T, dtype=torch.bool).tril(), -torch.inf)
    torch.testing.assert_close(output, scores.softmax(-1) @ v, rtol=1e-10, atol=1e-10)
    if need_weights:
        torch.testing.assert_close(weights, scores.softmax(-1), rtol=1e-10, atol=1e-10)


def test_alibi_is_precise_in_float32_at_a_thousand_tokens():
    T, h = 1024, 8
    q, k, v = (numbers(1, h, T, 16, seed=i) for i in range(3))
    exact, _ = attend(*positions.Alibi(h, True).inside(torch.arange(T), q)(q, k), v, causal=True)
    q, k, v = q.float(), k.float(), v.float()
    ours, _ = attend(*positions.Alibi(h, True).inside(torch.arange(T), q)(q, k), v, causal=True)
    assert (ours - exact).abs().max() / exact.abs().max() < 5e-5


def test_alibi_in_bfloat16_still_tells_neighbours_apart_far_from_the_start():
    T, h = 600, 2
    q, k, v = (numbers(1, h, T, 16, seed=i) for i in range(3))
    exact, _ = attend(*positions.Alibi(h, True).inside(torch.arange(T), q)(q, k), v, causal=True)
    q, k, v = q.bfloat16(), k.bfloat16(), v.bfloat16()
    ours, _ = attend(*positions.Alibi(h, True).inside(torch.arange(T), q)(q, k), v, causal=True)
    assert (ours - exact)[:, :, 300:].abs().max() / exact.abs().max() < 0.03


@pytest.mark.parametrize("kind", ["sinusoidal", "learned", "rotary", "alibi", "none"])
def test_autocast_runs_with_every_kind(kind):
    torch.manual_seed(0)
    model, tokens = Decoder(small_config(positions=kind)), torch.tensor([[3, 1, 4, 1, 5]])
    exact = model(tokens)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = model(tokens)
    assert (rounded - exact).abs().max() / exact.abs().max() < 0.05


def test_position_ids_count_real_tokens_alone():
    assert positions.position_ids(3, start=4).tolist() == [4, 5, 6]
    padding = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 0, 0]], dtype=torch.bool)
    assert positions.position_ids(5, padding=padding).tolist() == [[0, 1, 0, 1, 2], [0, 1, 2, 3, 4]]
    assert positions.position_ids(2, start=3, padding=padding).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("kind", ["sinusoidal", "learned", "rotary", "alibi"])
def test_every_kind_makes_the_order_matter_to_an_encoder_and_none_does_not(kind):
    tokens = torch.tensor([[3, 1, 4, 1, 5]])
    order = torch.tensor([1, 0, 2, 4, 3])
    for positions_, moved in ((kind, True), ("none", False)):
        torch.manual_seed(0)
        encoder = Encoder(small_config(positions=positions_)).double()
        difference = (encoder(tokens[:, order]) - encoder(tokens)[:, order]).abs().max().item()
        assert (difference > 1e-3) if moved else (difference < 1e-12)


@pytest.mark.parametrize("kind", ["sinusoidal", "rotary", "alibi", "none"])
def test_only_learned_positions_end_at_max_len(kind):
    tokens = torch.zeros(1, 9, dtype=torch.long)
    assert Decoder(small_config(positions=kind, max_len=8))(tokens).shape == (1, 9, 19)
    with pytest.raises(ValueError, match="max_len = 8; got position 8"):
        Decoder(small_config(positions="learned", max_len=8))(tokens)


def test_the_models_use_the_sinusoidal_function_that_stands_in_the_module(monkeypatch):
    encoder, tokens = Encoder(small_config()), torch.tensor([[1, 2, 3]])
    before = encoder(tokens)
    monkeypatch.setattr(positions, "sinusoidal_pe", lambda n, d: torch.zeros(n, d))
    without = encoder(tokens)
    monkeypatch.undo()
    assert not torch.allclose(before, without)
    torch.testing.assert_close(encoder(tokens), before)
