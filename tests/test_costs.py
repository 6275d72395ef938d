"""Costs on paper against what really happens: operations counted while a layer runs, bytes held by a cache, published
sizes, and tiles tried one by one."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from course_lib import costs, counting
from course_lib.attention import MultiHeadAttention
from course_lib.cache import KVCache
from course_lib.models import Decoder, TransformerConfig
from course_lib.tasks import speed


@pytest.mark.parametrize(("T", "d_model"), [(10, 8), (33, 64), (100, 32)])
def test_attention_work_is_what_pytorch_counts(T, d_model):
    layer, x = MultiHeadAttention(d_model, 4), torch.randn(1, T, d_model)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        layer(x, need_weights=True)
    assert counter.get_total_flops() == costs.attention_work(T, d_model)
    assert speed.operations_counted(layer, x, need_weights=True) == counter.get_total_flops()


def test_lstm_work_is_that_of_its_gates_step_by_step():
    T, d_model = 7, 16
    cell, state = torch.nn.LSTMCell(d_model, d_model), None
    gates = [cell.weight_ih, cell.weight_hh]  # each (4 · d_model, d_model), once a step
    assert costs.lstm_work(T, d_model) == T * sum(2 * gate.numel() for gate in gates)
    assert cell(torch.randn(1, d_model), state)[0].shape == (1, d_model)


@given(st.integers(1, 10**6), st.integers(1, 10**4))
def test_the_slope_lies_between_one_and_two_and_grows_with_length(T, d_model):
    assert 1 < costs.work_slope(T, d_model) < 2
    assert costs.work_slope(T, d_model) <= costs.work_slope(T + 1, d_model) + 1e-12


def test_attention_and_lstm_do_equal_work_at_twice_the_width():
    assert all(costs.attention_work(2 * d, d) == costs.lstm_work(2 * d, d) for d in (1, 64, 4096))


@given(st.integers(10, 10**6), st.integers(1, 256), st.sampled_from([1, 2, 4]))
def test_the_largest_tile_fits_and_the_next_does_not(memory, d_k, size):
    def needed(n):
        return sum(size * part for part in (n * d_k, n * d_k, n * d_k, n * d_k, n * n))

    fitting = [n for n in (2**i for i in range(12)) if needed(n) <= memory]
    if fitting:
        assert costs.largest_tile(memory, d_k, size) == max(fitting)
    else:
        with pytest.raises(ValueError, match=f"{memory} bytes"):
            costs.largest_tile(memory, d_k, size)


@pytest.mark.parametrize("n_kv_heads", [None, 1, 2])
def test_kv_bytes_are_those_of_the_real_cache(n_kv_heads):
    config = TransformerConfig(vocab_size=5, d_model=32, n_heads=4, n_layers=3, d_ff=8, max_len=20, n_kv_heads=n_kv_heads)
    cache = KVCache()
    with torch.no_grad():
        Decoder(config)(torch.zeros(2, 9, dtype=torch.int64), cache=cache)
    assert cache.bytes() == 2 * 9 * costs.kv_bytes_per_token(config, bytes_per_number=4)


def test_the_large_models_have_the_published_sizes():
    sizes = [sum(counting.parameter_table(c, "decoder").values()) for c in (costs.LLAMA2_7B, costs.LLAMA3_8B)]
    assert sizes == [6_738_415_616, 8_030_261_248]  # as their checkpoints hold
    assert costs.kv_bytes_per_token(costs.LLAMA2_7B) == 512 * 1024
    assert costs.kv_bytes_per_token(costs.LLAMA3_8B) == 128 * 1024


def test_training_takes_sixteen_bytes_a_parameter():
    assert sum(costs.training_bytes(1000).values()) == 16_000
    optimiser = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(10))])
    optimiser.param_groups[0]["params"][0].grad = torch.ones(10)
    optimiser.step()
    [state] = optimiser.state.values()
    averages = sum(t.numel() * t.element_size() for t in (state["exp_avg"], state["exp_avg_sq"]))
    assert averages == costs.training_bytes(10)["AdamW's two averages, float32"]
    assert math.isclose(averages / 10, 8)
