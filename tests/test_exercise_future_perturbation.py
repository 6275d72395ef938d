"""The exercise in which the learner writes a test: right tests pass, and each way of being too weak is named."""

import pytest
import torch

from course_lib.exercises import check
from course_lib.exercises.future_perturbation import future_perturbation, leaking_models, right_models


def moves(model, t, T=12, first=0, value=None, compare=slice(None)):
    """The largest change of a logit before position t, when token t becomes another."""
    tokens = torch.randint(17, (2, T), generator=torch.Generator().manual_seed(1))
    changed = tokens.clone()
    changed[:, t] = (tokens[:, t] + 1) % 17 if value is None else value
    return (model(changed) - model(tokens))[:, first:t][:, compare].abs().max()


def both_modes(model):
    for mode in (True, False):
        model.train(mode)
        for t in range(1, 12):
            assert moves(model, t) < 1e-5


def by_beginnings(model):
    """Another way: the logits of a beginning must be the first logits of the whole."""
    tokens = torch.randint(17, (3, 12), generator=torch.Generator().manual_seed(2))
    for mode in (model.train, model.eval):
        mode()
        for t in range(1, 12):
            torch.testing.assert_close(model(tokens[:, :t]), model(tokens)[:, :t], atol=1e-4, rtol=1e-4)


def as_it_comes(model):
    for t in range(1, 12):
        assert moves(model, t) < 1e-5


def eval_only(model):
    model.eval()
    as_it_comes(model)


def not_the_last(model):
    for mode in (True, False):
        model.train(mode)
        for t in range(1, 11):
            assert moves(model, t) < 1e-5


def only_the_last(model):
    for mode in (True, False):
        model.train(mode)
        assert moves(model, 11) < 1e-5


def not_the_first_position(model):
    for mode in (True, False):
        model.train(mode)
        for t in range(2, 12):
            assert moves(model, t, first=1) < 1e-5


def only_just_before(model):
    for mode in (True, False):
        model.train(mode)
        for t in range(1, 12):
            assert moves(model, t, compare=slice(-1, None)) < 1e-5


def too_short(model):
    for mode in (True, False):
        model.train(mode)
        for t in range(1, 4):
            assert moves(model, t, T=4) < 1e-5


def the_change_as_well(model):
    tokens = torch.arange(12)[None]
    changed = tokens.clone()
    changed[:, 5] = 16
    assert (model(changed) - model(tokens))[:, :6].abs().max() < 1e-5


def no_assert(model):
    return bool(moves(model, 5) < 1e-5)


def always_content(model):
    model(torch.arange(12)[None])


def crashes(model):
    assert model.no_such_part(torch.arange(12)[None]) is None


@pytest.mark.parametrize("test", [future_perturbation, both_modes, by_beginnings])
def test_right_tests_pass(test):
    result = check("future_perturbation", test)
    assert result, result.message
    assert result.remark is None


@pytest.mark.parametrize("test, mistake", [
    (as_it_comes, "misses-eval-only"),
    (eval_only, "misses-train-only"),
    (not_the_last, "misses-last-token"),
    (only_the_last, "misses-early-token"),
    (not_the_first_position, "misses-first-position"),
    (only_just_before, "misses-two-ahead"),
    (too_short, "misses-five-ahead"),
    (the_change_as_well, "rejects-a-right-model"),
    (no_assert, "returns-instead-of-raising"),
    (always_content, "misses-no-mask"),
])  # fmt: skip
def test_weak_tests_are_told_what_they_miss(test, mistake):
    result = check("future_perturbation", test)
    assert (result.status, result.mistake) == ("failed", mistake), result.message


def test_a_crash_is_no_finding():
    assert check("future_perturbation", crashes).status == "error"


def test_every_leak_is_large_enough_to_be_seen_and_no_right_model_moves():
    for model in right_models():
        assert max(moves(model, t) for t in range(1, 12)) < 1e-5
    for slug, _, model in leaking_models():
        found = [moves(model.train(mode), t) for mode in (True, False) for t in range(1, 12)]
        model.train()
        assert max(found) > 0.01, slug


def test_a_leak_in_one_mode_is_silent_in_the_other():
    by_name = {slug: model for slug, _, model in leaking_models()}
    assert max(moves(by_name["eval-only"].train(), t) for t in range(1, 12)) < 1e-5
    assert max(moves(by_name["train-only"].eval(), t) for t in range(1, 12)) < 1e-5
    by_name["train-only"].train()
