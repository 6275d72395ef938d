"""Checks of whole modules: each lets a right module pass and catches a wrong one."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib import models
from course_lib.exercises import module_checks as checks
from course_lib.training import shift_right

V = 13


def config(**options):
    return models.TransformerConfig(V, 16, 2, 2, 32, 32, **options)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.fixture
def tokens():
    return torch.randint(V, (2, 7))


class Mean(nn.Module):
    """Adds the mean over all tokens: sees the future, and knows no order."""

    def __init__(self, only_in=("train", "eval")):
        super().__init__()
        self.embedding, self.only_in = nn.Embedding(V, 8), only_in

    def forward(self, tokens):
        x = self.embedding(tokens)
        leaks = ("train" if self.training else "eval") in self.only_in
        return x + (x.mean(1, keepdim=True) if leaks else x.cumsum(1) / 7)


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_a_future_leak_is_found_in_either_mode(tokens, mode):
    checks.no_future_leak(models.Decoder(config(dropout=0.1)), tokens)
    with pytest.raises(AssertionError, match=f"in {mode} mode"):
        checks.no_future_leak(Mean(only_in=(mode,)), tokens)


def test_the_mode_and_the_random_numbers_are_given_back(tokens):
    model = models.Decoder(config(dropout=0.1)).train()
    model.blocks[0].eval()
    state = torch.get_rng_state()
    checks.no_future_leak(model, tokens)
    assert model.training and not model.blocks[0].training
    assert torch.equal(state, torch.get_rng_state())


def test_the_past_must_matter(tokens):
    checks.past_matters(models.Decoder(config()), tokens)
    with pytest.raises(AssertionError, match="does not depend"):
        checks.past_matters(nn.Embedding(V, 8), tokens)


def test_sequences_stay_apart(tokens):
    checks.batch_apart(models.Encoder(config()), tokens)
    with pytest.raises(AssertionError, match="batch"):
        checks.batch_apart(lambda t: t.float()[..., None] + t.float().mean(), tokens)


def test_eval_must_be_deterministic(tokens):
    checks.eval_deterministic(models.Encoder(config(dropout=0.5)), tokens)
    with pytest.raises(AssertionError, match="dropout"):
        checks.eval_deterministic(lambda t: F.dropout(t.float(), 0.5), tokens + 1)


def test_order_is_known_exactly_where_there_are_positions():
    x = torch.randn(2, 5, 16)
    checks.permutation_equivariant(models.Encoder(config(positions="none")), x)
    checks.permutation_equivariant(models.Encoder(config(positions="sinusoidal")), x, expected=False)
    with pytest.raises(AssertionError, match="depends on the position"):
        checks.permutation_equivariant(models.Encoder(config(positions="rotary")), x)
    with pytest.raises(AssertionError, match="where a token stands"):
        checks.permutation_equivariant(models.Encoder(config(positions="none")), x, expected=False)


def test_the_source_must_matter(tokens):
    model = models.EncoderDecoder(config())
    checks.source_matters(lambda target, source: model(source, target), tokens, tokens[:, :4])
    with pytest.raises(AssertionError, match="not used"):
        checks.source_matters(lambda target, source: model(target, target), tokens, tokens[:, :4])


def test_the_cache_must_change_nothing(tokens):
    model = models.Decoder(config(positions="learned"))
    checks.cached_equals_uncached(model, tokens, lambda t, cache: checks.with_cache(model, t, cache))

    def forgets(t, cache):
        return model(t), cache

    with pytest.raises(AssertionError, match="uncached"):
        checks.cached_equals_uncached(model, tokens, forgets)


def test_the_first_loss_is_ln_v(tokens):
    checks.initial_loss_near_ln_v(models.Decoder(config(tie_embeddings=True)), tokens, tokens, V)
    huge = models.Decoder(config())
    nn.init.normal_(huge.head.weight, std=3.0)
    with pytest.raises(AssertionError, match="ln V"):
        checks.initial_loss_near_ln_v(huge, tokens, tokens, V)


def loss(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


@pytest.mark.parametrize("step", [
    lambda model, t: loss(model(t[:, :-1]), t[:, 1:]),
    lambda model, t: loss(model(t)[:, :-1], t[:, 1:]),
])  # fmt: skip
def test_labels_shifted_once_pass(step):
    checks.labels_shifted_once(step, torch.randint(V, (4, 9)), V)


@pytest.mark.parametrize("step", [
    lambda model, t: loss(model(t), t),  # not shifted
    lambda model, t: loss(model(t[:, :-1])[:, :-1], t[:, 2:]),  # twice
    lambda model, t: loss(model(shift_right(shift_right(t, 0), 0))[:, 2:], t[:, 2:]),
])  # fmt: skip
def test_other_shifts_are_found(step):
    with pytest.raises(AssertionError, match="exactly one"):
        checks.labels_shifted_once(step, torch.randint(1, V, (4, 9)), V)
