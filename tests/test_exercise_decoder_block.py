"""The exercise `decoder_block`: right answers of any style pass, each slip is named, and the learner's own translates."""

import pytest
import torch

from course_lib import blocks, models
from course_lib.exercises import check, reveal
from course_lib.exercises.decoder_block import SLIPS, stages
from course_lib.exercises.yours import yours
from tests.mistakes.decoder_block import ANSWERS, asks_the_source_first, block, says_keys_and_values


def test_the_library_passes_and_is_revealed():
    assert check("decoder_block", blocks.decoder_block)
    assert "def decoder_block(" in str(reveal("decoder_block"))


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: f"{slip.slug} {slip.knobs}")
def test_each_slip_is_named(slip):
    result = check("decoder_block", lambda *args: stages(*args, **slip.knobs))
    assert (result.status, result.mistake) == ("failed", slip.slug)


@pytest.mark.parametrize(("slugs", "answer", "remark"), ANSWERS, ids=lambda value: getattr(value, "__name__", ""))
def test_answers_of_learners(slugs, answer, remark):
    result = check("decoder_block", answer)
    assert (result.status == "passed") == (not slugs), result.message
    assert not slugs or result.mistake in slugs, result.message


def test_the_learners_block_runs_the_translator():
    config = models.TransformerConfig(vocab_size=9, d_model=8, n_heads=2, n_layers=3, d_ff=16, max_len=8)
    model, source, target = models.EncoderDecoder(config).eval(), torch.arange(6)[None], torch.arange(4)[None]
    want = model(source, target)
    for mine in (block, says_keys_and_values):
        with yours(decoder_block=mine) as report:
            torch.testing.assert_close(model(source, target), want)
        assert report.calls == {"decoder_block": {"EncoderDecoder": 3}}
    with yours(decoder_block=asks_the_source_first, anyway=True):
        assert not torch.allclose(model(source, target), want, atol=1e-2)
    with pytest.raises(ValueError, match="before self-attention"):
        yours(decoder_block=asks_the_source_first)
