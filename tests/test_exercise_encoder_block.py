"""The exercise `encoder_block`: right answers of any style pass, each known slip and each invented mistake is named."""

import pytest
import torch

from course_lib import blocks, models
from course_lib.exercises import check, reveal
from course_lib.exercises.encoder_block import SLIPS, stages
from course_lib.exercises.yours import yours
from tests.mistakes.encoder_block import ANSWERS, block, other_order


def test_the_library_passes_and_is_revealed():
    assert check("encoder_block", blocks.encoder_block)
    assert "def encoder_block(" in str(reveal("encoder_block"))


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: f"{slip.slug} {slip.knobs}")
def test_each_slip_is_named(slip):
    result = check("encoder_block", lambda *args: stages(*args, **slip.knobs))
    assert (result.status, result.mistake) == ("failed", slip.slug)


@pytest.mark.parametrize(("slugs", "answer", "remark"), ANSWERS, ids=lambda value: getattr(value, "__name__", ""))
def test_answers_of_learners(slugs, answer, remark):
    result = check("encoder_block", answer)
    assert (result.status == "passed") == (not slugs), result.message
    assert not slugs or result.mistake in slugs, result.message


def test_the_learners_block_runs_the_models():
    config = models.TransformerConfig(vocab_size=9, d_model=8, n_heads=2, n_layers=3, d_ff=16, max_len=8)
    model, tokens = models.Encoder(config).eval(), torch.arange(6)[None]
    want = model(tokens)
    with yours(encoder_block=block) as report:
        assert torch.equal(model(tokens), want)
    assert report.calls == {"encoder_block": {"Encoder": 3}}
    with yours(encoder_block=other_order, anyway=True):
        assert not torch.allclose(model(tokens), want, atol=1e-2)
    with pytest.raises(ValueError, match="feed-forward"):
        yours(encoder_block=other_order)
