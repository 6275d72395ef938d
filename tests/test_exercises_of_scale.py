"""The exercises of notebook 08: right answers of any style pass, each known slip and some invented ones are named."""

import math

import pytest
import torch

from course_lib.exercises import check, reveal, yours
from course_lib.exercises.registry import find
from course_lib.models import Encoder, TransformerConfig

NAMES = ("online_attention", "largest_tile", "work_slope")


@pytest.mark.parametrize("name", NAMES)
def test_the_library_passes_without_remark_and_is_revealed(name):
    result = check(name, find(name).reference)
    assert result and result.remark is None, result.message
    assert f"def {name}(" in str(reveal(name))


SLIPS = [(name, slip) for name in NAMES for slip in find(name).slips]


@pytest.mark.parametrize(("name", "slip"), SLIPS, ids=lambda part: getattr(part, "slug", part))
def test_each_slip_is_named(name, slip):
    variant = find(name).variant
    if name == "online_attention":
        result = check(name, lambda q, k, v, tile_size=64: variant(q, k, v, tile_size, **slip.knobs))
    elif name == "largest_tile":
        result = check(name, lambda memory, d_k, bytes_per_number=2: variant(memory, d_k, bytes_per_number, **slip.knobs))
    else:
        result = check(name, lambda T, d_model: variant(T, d_model, **slip.knobs))
    assert (result.status, result.mistake) == ("failed", slip.slug), result.message


# Right answers in other words


def with_lists(q, k, v, tile_size=64):
    """Splits first, carries log-sum-exp, and divides at each tile."""
    output, lse = None, None
    for k_tile, v_tile in zip(k.split(tile_size, -2), v.split(tile_size, -2), strict=True):
        scores = torch.einsum("...td,...sd->...ts", q, k_tile) * q.shape[-1] ** -0.5
        own = scores.logsumexp(-1, keepdim=True)
        part = (scores - own).exp() @ v_tile
        if output is None:
            output, lse = part, own
        else:
            both = torch.logaddexp(lse, own)
            output, lse = output * (lse - both).exp() + part * (own - both).exp(), both
    return output


def all_at_once(q, k, v, tile_size=64):
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), -1) @ v


def test_other_right_answers_pass():
    assert check("online_attention", with_lists).remark is None
    assert check("online_attention", with_lists)
    at_once = check("online_attention", all_at_once)
    assert at_once and "held at once" in at_once.remark
    assert check("work_slope", lambda T, d: 2 + math.log2((d + T) / (2 * d + T)))

    def by_formula(memory, d_k, bytes_per_number=2):
        numbers = memory // bytes_per_number
        root = math.isqrt(4 * d_k * d_k + numbers) - 2 * d_k
        if root < 1:
            raise ValueError("too small")
        return 1 << (root.bit_length() - 1)

    assert check("largest_tile", by_formula), check("largest_tile", by_formula).message


def test_the_derivative_is_told_apart():
    result = check("work_slope", lambda T, d_model: (2 * d_model + 2 * T) / (2 * d_model + T))
    assert result.mistake == "half-the-ratio" and "derivative" in result.message, result.message


def test_online_attention_of_yours_runs_in_a_model():
    config = TransformerConfig(vocab_size=9, d_model=16, n_heads=4, n_layers=2, d_ff=16, max_len=30, n_kv_heads=2)
    encoder, tokens = Encoder(config).eval(), torch.arange(18).reshape(2, 9) % 9
    expected = encoder(tokens)
    with yours(online_attention=with_lists) as report:
        assert torch.allclose(encoder(tokens), expected, atol=1e-5)
        encoder(tokens, padding=torch.ones(2, 9, dtype=torch.bool))  # masked: the library's
    assert report.calls["online_attention"] == {"Encoder": 2}
