"""The five ways to mask: which of them leak, and whether the evidence tells them apart."""

import pytest
import torch

from course_lib import models, training
from course_lib.exercises.module_checks import no_future_leak
from course_lib.masks import causal_mask
from course_lib.tasks import leaks
from course_lib.tasks.markov import MarkovSource

TOKENS = torch.randint(9, (2, 8), generator=torch.Generator().manual_seed(0))


def masked_decoder(kind):
    training.set_seed(0)
    return leaks.MaskedDecoder(leaks.small_config(9, 16), kind).eval()


def test_the_masks():
    assert torch.equal(leaks.may_attend("right", 5), causal_mask(5))
    assert torch.equal(leaks.may_attend("inverted", 5), torch.ones(5, 5).triu(1).bool())
    assert leaks.may_attend("off by one", 5).sum() == 15 + 4 and leaks.may_attend("none", 5).all()
    with pytest.raises(ValueError, match="'no such'"):
        leaks.may_attend("no such", 5)


@torch.no_grad()
def test_the_right_one_is_a_decoder():
    ours = masked_decoder("right")
    plain = models.Decoder(ours.config).eval()
    plain.load_state_dict(ours.state_dict())
    torch.testing.assert_close(ours(TOKENS), plain(TOKENS))
    no_future_leak(ours, TOKENS)


@pytest.mark.parametrize("kind", leaks.KINDS[1:])
def test_all_others_leak(kind):
    with pytest.raises(AssertionError, match="the future leaks"):
        no_future_leak(masked_decoder(kind), TOKENS)


def test_after_the_softmax_no_weight_is_left_on_the_future_and_the_sum_is_below_one():
    model = masked_decoder("after the softmax")
    seen = []
    attention = model.blocks[0].attention
    original = attention.with_weights

    def spy(*args, edit=None, **options):
        return original(*args, edit=lambda weights: seen.append(edit(weights)) or seen[-1], **options)

    attention.with_weights = spy
    model(TOKENS)
    assert (seen[0].triu(1) == 0).all() and (seen[0].sum(-1)[..., :-1] < 1).all()


def test_neither_padding_nor_a_cache():
    with pytest.raises(ValueError, match="neither padding nor a cache"):
        masked_decoder("none").hidden(TOKENS, cache=object())


class TheTable(torch.nn.Module):
    """Knows the source: its logits are the log-probabilities of the table."""

    def __init__(self, source):
        super().__init__()
        self.source, self.head = source, torch.nn.Identity()

    def hidden(self, tokens, padding=None, cache=None):
        return self.source.table[tokens].log().float()

    forward = hidden


def test_who_knows_the_table_sits_on_the_line():
    source = MarkovSource(8)
    found = leaks.evidence(TheTable(source), source, source.sample(4000, 17, seed=1), n_own=1000)
    assert abs(found.loss - source.entropy()) < 4 * found.standard_error
    assert 0 < found.standard_error < 0.02
    assert abs(found.last - source.entropy()) < 0.1 and abs(found.own - source.entropy()) < 0.1


def test_training_repeats_with_the_seed_and_the_leak_shows_soon():
    source = MarkovSource(8)
    fresh = source.sample(500, 9, seed=1)
    peeker, again = (leaks.train_fresh("none", source, steps=60, T=8, seed=3) for _ in range(2))
    assert torch.equal(leaks.losses(peeker, fresh), leaks.losses(again, fresh))
    found = leaks.evidence(peeker, source, fresh)
    assert found.loss < source.entropy() - 4 * found.standard_error
    honest = leaks.evidence(leaks.train_fresh("right", source, steps=60, T=8, seed=3), source, fresh)
    assert honest.loss > source.entropy() - 4 * honest.standard_error


def test_the_same_sequences_again_and_again():
    source = MarkovSource(8)
    model, seen = leaks.train_again_and_again("right", source, n=20, epochs=60, T=8, seed=0)
    assert seen.shape == (20, 9)
    unseen = source.sample(200, 9, seed=5)
    assert leaks.losses(model, seen).mean() < source.entropy() < leaks.losses(model, unseen).mean()
