import itertools
import math

import pytest
import torch
from carry import shake, small_config
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.cache import KVCache
from course_lib.generation import beam_search, choose, generate, greedy_decode
from course_lib.masks import padding_mask
from course_lib.models import POSITIONS, Decoder, EncoderDecoder

positions = pytest.mark.parametrize("positions", POSITIONS)


def tokens(B, T, seed=0):
    return torch.randint(19, (B, T), generator=torch.Generator().manual_seed(seed))


def make(kind, **changes):
    torch.manual_seed(0)
    return shake(kind(small_config(max_len=80, **changes)).double()).eval()


def table_step(table):
    """A step function that looks at the last id alone: row i of table has the logits after token i."""
    return lambda ids: torch.tensor(table[ids[-1]])


def test_greedy_decode_takes_the_likeliest_until_the_end():
    step = table_step([[0.0, 1, 0], [0, 0, 1], [0, 0, 0]])
    assert greedy_decode(step, 0, 2, 10) == [0, 1, 2]
    assert greedy_decode(step, 0, 2, 2) == [0, 1] and greedy_decode(step, 0, 2, 1) == [0]
    assert greedy_decode(table_step([[1.0, 0]]), 0, 1, 4) == [0, 0, 0, 0]
    assert greedy_decode(table_step([[0.0, 1], [1.0, 0]]), 0, 0, 9) == [0, 1, 0]  # bos may equal eos


@positions
@pytest.mark.parametrize("side", ["left", "right"])
def test_cached_equals_uncached_for_fifty_ragged_prompts(positions, side):
    model, x = make(Decoder, positions=positions, n_kv_heads=2), tokens(50, 9)
    lengths = torch.randint(1, 10, (50,), generator=torch.Generator().manual_seed(1))
    padding = padding_mask(lengths, 9)
    padding = padding.flip(1) if side == "left" else padding
    cached = generate(model, x, 12, padding=padding)
    assert cached.shape == (50, 21) and cached.dtype == torch.int64
    assert torch.equal(cached, generate(model, x, 12, padding=padding, cache=False))
    for row in (0, 17, 49):
        alone = generate(model, x[row][padding[row]][None], 12)
        assert torch.equal(alone[0, -12:], cached[row, -12:])


@positions
@given(pieces=st.lists(st.integers(1, 4), min_size=1, max_size=5), seed=st.integers(0, 99))
@settings(max_examples=10, deadline=None)
def test_a_cache_may_be_filled_in_pieces(positions, pieces, seed):
    model, x = make(Decoder, positions=positions), tokens(2, sum(pieces), seed)
    cache = KVCache()
    parts = [model(piece, cache=cache) for piece in x.split(pieces, dim=1)]
    assert cache.length == x.shape[1]
    torch.testing.assert_close(torch.cat(parts, dim=1), model(x), rtol=1e-11, atol=1e-11)


@positions
def test_the_weights_of_a_cached_step_are_the_last_rows(positions):
    model, x, cache = make(Decoder, positions=positions), tokens(2, 7), KVCache()
    logits, weights = model(x, need_weights=True)
    model(x[:, :4], cache=cache)
    last, rows = model(x[:, 4:], cache=cache, need_weights=True)
    torch.testing.assert_close(last, logits[:, 4:], rtol=1e-11, atol=1e-11)
    for layer, expected in zip(rows, weights, strict=True):
        torch.testing.assert_close(layer, expected[:, :, 4:], rtol=1e-11, atol=1e-11)


@positions
def test_a_cache_knows_which_tokens_were_real(positions):
    model, x, padding = make(Decoder, positions=positions), tokens(3, 7), padding_mask([4, 1, 3], 4)
    whole = torch.cat([padding, torch.ones(3, 3, dtype=torch.bool)], dim=1)
    expected = model(x, padding=whole)[:, 4:]
    for later in (None, whole[:, 4:], whole):  # nothing said, the new tokens alone, or all of them
        cache = KVCache()
        model(x[:, :4], padding=padding, cache=cache)
        torch.testing.assert_close(model(x[:, 4:], padding=later, cache=cache), expected, rtol=1e-11, atol=1e-11)


def test_a_cached_step_without_gradients_equals_one_with_them():
    model, x = make(Decoder), tokens(1, 6)
    with torch.no_grad():
        cache = KVCache()
        without = [model(x[:, t : t + 1], cache=cache) for t in range(6)]
    cache = KVCache()
    with_them = torch.cat([model(x[:, t : t + 1], cache=cache) for t in range(6)], dim=1)
    torch.testing.assert_close(torch.cat(without, dim=1), with_them.detach(), rtol=1e-12, atol=1e-12)
    with_them.sum().backward()
    cached = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    model(x).sum().backward()
    for ours, expected in zip(cached, (p.grad for p in model.parameters()), strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-9, atol=1e-9)


def test_the_cache_counts_its_bytes():
    model, cache = make(Decoder, n_kv_heads=2), KVCache()
    with torch.no_grad():
        model(tokens(3, 7), cache=cache)
    assert cache.bytes() == 2 * 2 * 3 * 2 * 7 * 4 * 8  # keys and values, layers, B, h_kv, T, d_k, bytes


@positions
def test_encoder_decoder_generation_equals_the_full_pass(positions):
    model, source = make(EncoderDecoder, positions=positions), tokens(6, 5, 2)
    source_padding = padding_mask([5, 1, 3, 2, 4, 5])
    start = torch.zeros(6, 1, dtype=torch.int64)
    ids = generate(model, start, 10, source=source, source_padding=source_padding)
    assert torch.equal(ids, generate(model, start, 10, source=source, source_padding=source_padding, cache=False))
    logits = model(source, ids[:, :-1], source_padding)
    assert torch.equal(logits.argmax(-1), ids[:, 1:])


def test_the_encoder_runs_once():
    model, calls = make(EncoderDecoder), []
    model.encoder.register_forward_hook(lambda *_: calls.append("encoder"))
    model.decoder.blocks[0].cross_attention.w_k.register_forward_hook(lambda *_: calls.append("keys of the source"))
    generate(model, torch.zeros(1, 1, dtype=torch.int64), 7, source=tokens(1, 5))
    assert calls == ["encoder", "keys of the source"]


def test_only_the_new_token_is_computed():
    model, widths = make(Decoder), []
    model.blocks[0].feed_forward.register_forward_hook(lambda _, inputs, __: widths.append(inputs[0].shape[1]))
    generate(model, tokens(1, 5), 4)
    assert widths == [5, 1, 1, 1]


def test_each_row_stops_for_itself():
    class Countdown(torch.nn.Module):
        """Says 3, 2, 1, 0, 0, …: the next token is one less than the last."""

        head = torch.nn.Identity()

        def hidden(self, tokens, padding=None, cache=None):
            return torch.nn.functional.one_hot((tokens - 1).clamp(min=0), 9).double()

    ids = generate(Countdown(), torch.tensor([[3], [5], [8]]), 20, eos_id=1, cache=False)
    assert ids.tolist() == [[3, 2, 1, 1, 1, 1, 1, 1], [5, 4, 3, 2, 1, 1, 1, 1], [8, 7, 6, 5, 4, 3, 2, 1]]


def test_generate_leaves_the_mode_the_prompt_and_the_gradients_alone():
    model, prompt = make(Decoder, dropout=0.5).train(), tokens(2, 3)
    before = prompt.clone()
    assert torch.equal(generate(model, prompt, 5), generate(model, prompt, 5))  # dropout was off
    assert model.training and torch.equal(prompt, before) and torch.is_grad_enabled()
    assert torch.equal(generate(model, prompt, 0), prompt)
    with pytest.raises(ValueError, match=r"\(2, 0\)"):
        generate(model, prompt[:, :0], 3)


def test_dropout_is_off_in_the_encoder_too():
    model, source = make(EncoderDecoder, dropout=0.5).train(), tokens(4, 5)
    start = torch.zeros(4, 1, dtype=torch.int64)
    first = generate(model, start, 8, source=source)
    assert torch.equal(first, generate(model.eval(), start, 8, source=source))


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"temperature": -1.0}, "temperature must be 0"),
        ({"top_k": 0}, r"top_k.*got 0"),
        ({"top_p": 0.0}, "top_p must be above 0"),
    ],
)
def test_settings_that_leave_no_token_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        generate(make(Decoder), tokens(1, 3), 2, **{"temperature": 1.0, **wrong})


def test_learned_positions_say_where_they_end():
    with pytest.raises(ValueError, match="max_len = 80; got position 80"):
        generate(make(Decoder, positions="learned"), tokens(1, 78), 5)


def test_a_seed_repeats_and_does_not_touch_the_global_generator():
    model, prompt = make(Decoder), tokens(3, 4)
    state = torch.get_rng_state()
    first = generate(model, prompt, 20, temperature=1.5, seed=7)
    assert torch.equal(first, generate(model, prompt, 20, temperature=1.5, seed=7))
    assert torch.equal(first, generate(model, prompt, 20, temperature=1.5, seed=7, cache=False))
    assert not torch.equal(first, generate(model, prompt, 20, temperature=1.5, seed=8))
    assert torch.equal(state, torch.get_rng_state())


def draws(logits, **how):
    """How often each token is drawn, of 20,000."""
    rows = torch.tensor(logits).expand(20_000, -1)
    picked = choose(rows, generator=torch.Generator().manual_seed(0), **how)
    return torch.bincount(picked, minlength=len(logits)) / len(rows)


def test_sampling_follows_the_probabilities():
    logits = [2.0, 1.0, 0.0, -1.0]
    for temperature in (0.5, 1.0, 3.0):
        expected = (torch.tensor(logits) / temperature).softmax(-1)
        assert (draws(logits, temperature=temperature) - expected).abs().max() < 0.015
    assert choose(torch.tensor([[0.0, 3.0, 1.0]])).tolist() == [1]


def test_top_k_and_top_p_leave_the_unlikely_out():
    logits = [math.log(p) for p in (0.5, 0.3, 0.15, 0.05)]
    for how, expected in (
        ({"top_k": 1}, [1, 0, 0, 0]),
        ({"top_k": 2}, [0.625, 0.375, 0, 0]),
        ({"top_k": 99}, [0.5, 0.3, 0.15, 0.05]),
        ({"top_p": 0.4}, [1, 0, 0, 0]),
        ({"top_p": 0.7}, [0.625, 0.375, 0, 0]),  # the one that crosses 0.7 still counts
        ({"top_p": 1.0}, [0.5, 0.3, 0.15, 0.05]),
    ):
        shares = draws(logits, temperature=1.0, **how)
        assert (shares - torch.tensor(expected)).abs().max() < 0.015, how
        assert shares[torch.tensor(expected) == 0].eq(0).all(), how


def random_step(seed, vocab_size=4):
    """A step function whose logits depend on all ids so far."""

    def step(ids):
        generator = torch.Generator().manual_seed(seed + sum((i + 1) * 7**n for n, i in enumerate(ids)))
        return 2 * torch.randn(vocab_size, generator=generator)

    return step


def every_sentence(step, bos, eos, max_len):
    """All sentences with their log-probability: those that end, and those of full length."""
    for length in range(1, max_len):
        for rest in itertools.product(range(4), repeat=length):
            ends = rest[-1] == eos
            if eos in rest[:-1] or not (ends or length == max_len - 1):
                continue
            ids = [bos, *rest]
            log_prob = sum(float(step(ids[:n]).double().log_softmax(-1)[ids[n]]) for n in range(1, len(ids)))
            yield log_prob, ids


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0])
def test_a_beam_that_is_wide_enough_finds_the_best_of_all(seed, length_penalty):
    step, bos, eos, max_len = random_step(seed), 0, 3, 5
    found = beam_search(step, bos, eos, max_len, width=300, length_penalty=length_penalty)
    everything = list(every_sentence(step, bos, eos, max_len))
    assert len(found) == len(everything)

    def score(pair):
        return pair[0] / ((5 + len(pair[1]) - 1) / 6) ** length_penalty

    everything.sort(key=score, reverse=True)
    for (log_prob, ids), (expected_log_prob, expected_ids) in zip(found, everything, strict=True):
        assert ids == expected_ids and log_prob == pytest.approx(expected_log_prob, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_a_beam_of_one_is_greedy_and_wider_ones_do_not_stop_too_early(seed):
    step = random_step(seed)
    (log_prob, ids), = beam_search(step, 0, 3, 6, width=1)
    assert ids == greedy_decode(step, 0, 3, 6)
    best = max(every_sentence(step, 0, 3, 6))[0]
    assert log_prob <= beam_search(step, 0, 3, 6, width=200)[0][0] == pytest.approx(best)
    assert len(beam_search(step, 0, 3, 6, width=3)) <= 3


def test_a_beam_finds_what_greedy_misses():
    sixty_forty, even = [-9, math.log(0.6), math.log(0.4), -9], [math.log(0.5), math.log(0.5), -9, -9.0]
    table = [sixty_forty, even, [-9, -9, -9, 0.0], [0.0] * 4]
    step = table_step(table)
    assert greedy_decode(step, 0, 3, 3)[1] == 1
    log_prob, ids = beam_search(step, 0, 3, 3, width=2)[0]
    assert ids == [0, 2, 3] and log_prob == pytest.approx(math.log(0.4), abs=0.01)
    assert beam_search(step, 0, 3, 1) == [(0.0, [0])]
