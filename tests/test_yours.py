"""`yours`: every model runs through the learner's functions, the numbers stay, and everything is put back."""

import math

import pytest
import torch

from course_lib import attention, blocks, generation, masks, models, positions
from course_lib.exercises import yours
from course_lib.exercises.gallery import slip, slips_of
from course_lib.generation import generate


def my_attention(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1)
    return weights @ v, weights


def my_split(x, n_heads):
    return torch.stack(x.chunk(n_heads, -1), 1) if x.shape[-1] % n_heads == 0 else 1 / 0


def my_merge(x):
    return torch.cat(x.unbind(1), -1)


def my_norm(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.pow(2).mean(-1, keepdim=True) + eps).sqrt() * gamma + beta


def my_mask(n):
    return torch.arange(n)[:, None] >= torch.arange(n)


MINE = {
    "scaled_dot_product_attention": my_attention, "split_heads": my_split, "merge_heads": my_merge, "layer_norm": my_norm,
    "causal_mask": my_mask,
}  # fmt: skip
ATTENTION = ("scaled_dot_product_attention", "in_place_attention", "fused_attention", "split_heads", "merge_heads")
PLACES = ((attention, ATTENTION),
          (blocks, ("layer_norm", "fused_layer_norm")), (masks, ("causal_mask",)),
          (positions, ("sinusoidal_pe", "rotary")), (generation, ("greedy_decode",)))  # fmt: skip


def state():
    return [getattr(place, name) for place, names in PLACES for name in names] + [positions.Rotary.inside]


@pytest.fixture(autouse=True)
def put_back():
    before = state()
    torch.manual_seed(0)
    yield
    assert state() == before


def model(kind="rotary", **options):
    return models.Decoder(models.TransformerConfig(23, 16, 4, 2, 32, 32, positions=kind, n_kv_heads=2, **options)).eval()


@pytest.mark.parametrize("kind", ["sinusoidal", "learned", "rotary", "alibi", "none"])
@pytest.mark.parametrize("padded", [False, True])
def test_every_number_goes_through_them_and_stays(kind, padded):
    decoder, tokens = model(kind), torch.randint(23, (2, 9))
    padding = torch.ones(2, 9, dtype=torch.bool)
    padding[0, :3] = not padded
    right, more = decoder(tokens, padding=padding), generate(decoder, tokens, 4)
    with yours(**MINE) as report:
        mine, generated = decoder(tokens, padding=padding), generate(decoder, tokens, 4)
    assert (mine - right).abs().max() < 1e-4 and torch.equal(more, generated)
    assert all(report.calls[name] for name in MINE), str(report)
    assert set(report.calls["split_heads"]) == {"Decoder"}


def test_rotary_and_sinusoids_can_be_yours():
    for kind, name, function in (
        ("rotary", "rotary", lambda x, at: positions.turn_pairs(x, *positions.rotary_cos_sin(at, x))),
        ("sinusoidal", "sinusoidal_pe", positions.sinusoidal_pe),
    ):
        decoder, tokens = model(kind), torch.randint(23, (2, 9))
        right = decoder(tokens)
        with yours(**{name: function}) as report:
            assert (decoder(tokens) - right).abs().max() < 1e-4
        assert report.calls[name]


def test_a_function_that_fails_its_check_is_refused():
    with pytest.raises(ValueError, match="split_heads has not passed"):
        yours(split_heads=lambda x, n_heads: x.reshape(x.shape[0], n_heads, x.shape[1], -1))
    with pytest.raises(ValueError, match="no model calls"):
        yours(encoder_block_param_count=len)


def test_anyway_shows_what_a_mistake_does():
    decoder, tokens = model(), torch.randint(23, (2, 9))
    right = decoder(tokens)
    for slug in ("scale-missing", "softmax-over-queries", "mask-inverted", "mask-ignored"):
        with yours(scaled_dot_product_attention=slip("scaled_dot_product_attention", slug), anyway=True):
            wrong = decoder(tokens)
        assert torch.isfinite(wrong).all()
        assert (wrong - right).abs().max() > 1e-3, slug


def test_nested_and_after_an_error_everything_is_put_back():
    decoder, tokens = model(), torch.randint(23, (2, 9))
    before = state()
    with pytest.raises(RuntimeError, match="in the middle"), yours(split_heads=my_split) as outer:
        with yours(scaled_dot_product_attention=my_attention, split_heads=my_split) as inner:
            decoder(tokens)
        between = state()
        decoder(tokens)
        raise RuntimeError("in the middle")
    assert state() == before != between
    assert inner.calls["split_heads"] and outer.calls["split_heads"]


def test_the_report_says_what_was_not_needed():
    with yours(sinusoidal_pe=positions.sinusoidal_pe) as report:
        model("rotary")(torch.randint(23, (1, 4)))
    assert str(report) == "Your sinusoidal_pe was not needed."
    assert "<li>" in report._repr_html_()


def test_a_slip_is_found_by_its_slug():
    assert "scale-missing" in slips_of("scaled_dot_product_attention")
    with pytest.raises(ValueError, match="scale-missing"):
        slip("scaled_dot_product_attention", "no-such-slip")
