"""What notebook 08 measures with: recall over a distance, chains of operations, and attention tile by tile."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import kernels
from course_lib.attention import scaled_dot_product_attention
from course_lib.tasks import distance, speed


def test_the_label_is_the_first_token_and_the_rest_is_no_help():
    tokens, labels = distance.first_token(2000, T=9, seed=3)
    assert torch.equal(labels, tokens[:, 0])
    assert all((tokens[:, t] == labels).float().mean() < 0.15 for t in range(1, 9))
    assert not torch.equal(tokens, distance.first_token(2000, T=9, seed=4)[0])


@pytest.mark.parametrize("name", distance.READERS)
def test_readers_answer_from_the_whole_sequence(name):
    model = distance.reader(name, seed=1)
    tokens, _ = distance.first_token(4, T=6)
    changed = tokens.clone()
    changed[:, 0] = (changed[:, 0] + 1) % distance.VOCAB_SIZE
    assert model(tokens).shape == (4, distance.VOCAB_SIZE)
    assert not torch.allclose(model(tokens), model(changed), atol=1e-7)


def test_the_open_gate_is_the_forget_gate():
    usual, opened = distance.reader("LSTM"), distance.reader("LSTM, gate open")
    moved = (usual.cell.bias_hh_l0 != opened.cell.bias_hh_l0).nonzero().flatten()
    assert moved.tolist() == list(range(32, 64))
    x, state = torch.zeros(1, 1, 32), (torch.zeros(1, 1, 32), torch.ones(1, 1, 32))
    kept = [reader.cell(x, state)[1][1].mean().item() for reader in (usual, opened)]  # of a memory of ones
    assert 0.3 < kept[0] < 0.7 and kept[1] > 0.9


def test_what_arrives_is_a_gradient():
    """Against differences: move the first and the last embedding a little, and see how the answer moves."""
    model = distance.reader("LSTM", seed=5)
    tokens, _ = distance.first_token(64, 3, seed=5)

    x = model.embedding(tokens).detach()

    def sizes(x):
        return model.head(model.cell(x)[0][:, -1]).pow(2).sum(dim=1)  # (n,)

    def moved(t):
        nudges = 1e-2 * torch.eye(32)
        changes = []
        for nudge in nudges:
            nudged = x.clone()
            nudged[:, t] += nudge
            changes.append((sizes(nudged) - sizes(x)) / 1e-2)
        return torch.stack(changes).norm()

    with torch.no_grad():
        by_hand = (moved(0) / moved(-1)).item()
    assert distance.what_arrives("LSTM", 2, seed=5) == pytest.approx(by_hand, rel=0.05)


def test_chains_are_counted_exactly():
    x = torch.ones(3, requires_grad=True)
    assert speed.longest_chain((x + 1) * 2) == 3  # add, multiply, and the leaf
    assert speed.longest_chain(((x + 1) * 2).sin() + x) == 5  # the longer way counts
    shared = x
    for _ in range(200):
        shared = shared + shared  # 2^200 ways, each of length 201
    assert speed.longest_chain(shared) == 201


def test_the_recurrent_loop_waits_for_every_step_and_attention_for_none():
    loop, attention = speed.RecurrentLoop(8), speed.LAYERS["attention"](8)
    chains = {layer: [speed.longest_chain(layer(torch.randn(1, T, 8))) for T in (5, 50)] for layer in (loop, attention)}
    assert chains[loop][1] - chains[loop][0] >= 45 and chains[attention][0] == chains[attention][1]


def test_times_are_measured_for_each_layer_and_threads_are_left_alone():
    threads = torch.get_num_threads()
    took = speed.milliseconds(8, rounds=2)
    assert took.keys() == speed.LAYERS.keys() and all(ms > 0 for ms in took.values())
    assert torch.get_num_threads() == threads


def test_threads_are_given_back_when_the_measurement_is_stopped(monkeypatch):
    def stopped(layer, x):
        raise KeyboardInterrupt

    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    monkeypatch.setattr(speed, "forward_and_backward", stopped)
    try:
        with pytest.raises(KeyboardInterrupt):
            speed.milliseconds(8)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(1, 12), st.integers(1, 14), st.integers(0, 100), st.sampled_from([1.0, 30.0, 1000.0]))
def test_tiles_give_what_the_explicit_way_gives(T, S, tile_size, seed, size):
    generator = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(2, n, d, generator=generator, dtype=torch.float64) for n, d in ((T, 4), (S, 4), (S, 3)))
    expected, _ = scaled_dot_product_attention(q * size, k, v)
    assert torch.allclose(kernels.online_attention(q * size, k, v, tile_size), expected, atol=1e-12)
