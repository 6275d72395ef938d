"""The exercises of notebook 06: right answers of any style pass, and each known slip is told its name."""

import pytest
import torch
import torch.nn.functional as F

from course_lib import blocks, masks, models, training
from course_lib.exercises import check, reveal, yours
from course_lib.exercises import mask_tokens as masking
from course_lib.exercises import prefix_mask as prefixes
from course_lib.exercises import rms_norm as norms

EXERCISES = (masking, prefixes, norms)
SLIPS = [(exercise, slip) for exercise in EXERCISES for slip in exercise.SLIPS]


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.EXERCISE.name)
def test_the_library_passes_without_remark_and_is_revealed(exercise):
    name = exercise.EXERCISE.name
    result = check(name, exercise.reference)
    assert result and result.remark is None, result.message
    assert f"def {name}(" in str(reveal(name))


@pytest.mark.parametrize(("exercise", "slip"), SLIPS, ids=[f"{e.EXERCISE.name}-{s.slug}" for e, s in SLIPS])
def test_each_slip_is_named(exercise, slip):
    def answer(*args):
        return exercise.stages(*args, **slip.knobs)

    result = check(exercise.EXERCISE.name, answer)
    assert (result.status, result.mistake) == ("failed", slip.slug), result.message


def by_where(tokens, chosen, mask_id, special):
    hidden = torch.logical_and(chosen, torch.logical_not(special))
    return torch.where(hidden, mask_id, tokens), torch.where(hidden, tokens, -100)


def by_loop(tokens, chosen, mask_id, special):
    inputs, targets = tokens.clone(), torch.full_like(tokens, -100)
    for b in range(tokens.shape[0]):
        for t in range(tokens.shape[1]):
            if chosen[b, t] and not special[b, t]:
                targets[b, t], inputs[b, t] = tokens[b, t], mask_id
    return inputs, targets


def prefix_by_or(n_prefix, n):
    return torch.ones(n, n, dtype=torch.bool).tril() | (torch.arange(n) < n_prefix)


def prefix_by_comparison(n_prefix, n):
    query, key = torch.arange(n)[:, None], torch.arange(n)
    return (key <= query) | (key < n_prefix)


def rms_by_torch(x, gamma, eps=1e-5):
    return F.rms_norm(x, gamma.shape, gamma, eps)


def rms_by_length(x, gamma, eps=1e-5):
    return gamma * x / (torch.linalg.vector_norm(x, dim=-1, keepdim=True) ** 2 / x.shape[-1] + eps) ** 0.5


@pytest.mark.parametrize(("name", "answer"), [
    ("mask_tokens", by_where), ("mask_tokens", by_loop), ("prefix_mask", prefix_by_or),
    ("prefix_mask", prefix_by_comparison), ("rms_norm", rms_by_torch), ("rms_norm", rms_by_length),
])  # fmt: skip
def test_unusual_right_answers_pass(name, answer):
    assert check(name, answer), check(name, answer).message


def test_changing_the_callers_tokens_is_noticed():
    def in_place(tokens, chosen, mask_id, special):
        targets = tokens.clone().masked_fill(~(chosen & ~special), -100)
        tokens[chosen & ~special] = mask_id
        return tokens, targets

    assert check("mask_tokens", in_place).mistake == "changes-its-input"


def test_labels_taken_too_late_are_named():
    def too_late(tokens, chosen, mask_id, special):
        inputs = tokens.clone()
        inputs[chosen & ~special] = mask_id
        return inputs, inputs.masked_fill(~(chosen & ~special), -100)

    assert check("mask_tokens", too_late).mistake == "labels-are-mask"


@pytest.mark.parametrize("name", ["mask_tokens", "prefix_mask", "rms_norm"])
def test_a_stub_is_not_started(name):
    def stub(*args):
        """To do."""
        ...

    assert check(name, stub).status == "not_started"


def test_masked_tokens_by_hand():
    tokens, flags = torch.tensor([[5, 6, 7]]), torch.tensor([[True, True, False]])
    inputs, targets = training.mask_tokens(tokens, flags, 9, torch.tensor([[True, False, False]]))
    assert inputs.tolist() == [[5, 9, 7]] and targets.tolist() == [[-100, 6, -100]]


def test_the_prefix_mask_lies_between_decoder_and_encoder():
    assert torch.equal(masks.prefix_mask(0, 5), masks.causal_mask(5))
    assert masks.prefix_mask(5, 5).all()
    assert masks.prefix_mask(2, 4).tolist()[0] == [True, True, False, False]


def test_a_model_runs_through_the_learners_norm():
    config = models.TransformerConfig(20, 8, 2, 2, 16, 10, norm="rms")
    model, tokens = models.Decoder(config).eval(), torch.arange(5)[None]
    before = model(tokens)
    with yours(rms_norm=rms_by_length) as report:
        assert torch.allclose(model(tokens), before, atol=1e-5)
    assert report.calls["rms_norm"] == {"Decoder": 5}  # two a block, and the last
    assert blocks.rms_norm is norms.reference
