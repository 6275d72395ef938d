"""The translator of notebook 05 and what is asked of it: measured on models whose answers are known beforehand."""

import pytest
import torch
import torch.nn.functional as F

from course_lib import generation
from course_lib.tasks import decoder_study, french, translators, two_answers


@pytest.fixture(scope="module")
def task():
    return french.french(500, 40, seed=3)


@pytest.fixture(scope="module")
def model(task):
    return translators.translator(task, seed=1).eval()


class Oracle(torch.nn.Module):
    """Stands in for a translator that is right under teacher forcing, and looks at the true source word, or not."""

    def __init__(self, task, pairs, looks_late=False):
        super().__init__()
        *_, self.targets = task.tensors(pairs)
        self.looked = task.alignments(pairs).clamp(min=0)
        if looks_late:
            self.looked = F.pad(self.looked[:, :-1], (1, 0))

    def forward(self, source, decoder_input, padding, need_weights=False):
        logits = F.one_hot(self.targets.clamp(min=0), 100).float()
        cross = F.one_hot(self.looked, source.shape[1]).float()[:, None].expand(-1, 3, -1, -1)
        return (logits, {"cross": [cross]}) if need_weights else logits


def test_alignment_is_scored_at_both_steps(task):
    pairs = task.held_out
    right = decoder_study.alignment_accuracy(Oracle(task, pairs), task, pairs)
    late = decoder_study.alignment_accuracy(Oracle(task, pairs, looks_late=True), task, pairs)
    assert right.shape == (2, 1, 4)
    assert (right[0] == 1).all() and (right[1] < 0.5).all()
    assert (late[1] == 1).all() and (late[0] < 0.5).all()


def test_right_by_position_tells_forced_from_own(task, model, monkeypatch):
    pairs = task.held_out
    *_, targets = task.tensors(pairs)
    written = targets.masked_fill(targets == -100, 2).clone()
    written[:, 1] = 99  # the second word is always wrong
    monkeypatch.setattr(translators, "translate", lambda model, task, pairs: written)
    forced, own = decoder_study.right_by_position(Oracle(task, pairs), task, pairs)
    assert forced == [1.0] * targets.shape[1]
    assert own == [1.0, 0.0] + [1.0] * (targets.shape[1] - 2)


@pytest.mark.parametrize("sublayer", translators.SUBLAYERS)
def test_a_silenced_sublayer_adds_nothing_and_stays_silent(task, model, sublayer):
    silent = translators.silenced(model, sublayer)
    source, decoder_input, padding, targets = task.tensors(task.held_out)
    other = source[torch.arange(len(source)).roll(1)]
    same = torch.allclose(silent(source, decoder_input), silent(other, decoder_input), atol=1e-6)
    assert same == (sublayer == "cross-attention")
    assert not torch.allclose(silent(source, decoder_input), model(source, decoder_input), atol=1e-4)
    loss = F.cross_entropy(silent(source, decoder_input, padding).flatten(0, 1), targets.flatten(), ignore_index=-100)
    loss.backward()
    frozen = [p for p in silent.decoder.parameters() if not p.requires_grad]
    assert len(frozen) == 2 and all((p == 0).all() and p.grad is None for p in frozen)


def test_written_with_and_without_the_cache_is_the_same(task, model):
    with decoder_study.runs_counted(model) as once:
        ids = translators.translate(model, task, task.held_out)
    with decoder_study.runs_counted(model) as again:
        slow = decoder_study.write_from_scratch(model, task, task.held_out)
    assert [task.text(row) for row in ids] == [task.text(row) for row in slow]
    assert len(once["encoder"]) == 1 and set(once["decoder"]) == {1}
    assert again["decoder"] == list(range(1, slow.shape[1] + 1)) and len(again["encoder"]) == slow.shape[1]
    before = dict(once)
    translators.translate(model, task, task.held_out[:1])
    assert once == before, "after the with block nothing is counted"


def test_one_sentence_word_by_word_is_that_of_the_batch(task, model):
    pairs = task.held_out[:5]
    for pair, want in zip(pairs, translators.translate(model, task, pairs), strict=True):
        step = decoder_study.next_word(model, task, task.join_source(pair.source))
        ids = generation.greedy_decode(step, 1, 2, max_len=1 + len(want))
        assert task.text(ids) == task.text(want)


def test_a_beam_never_finds_less(task, model):
    greedy, beam, better = decoder_study.beam_against_greedy(model, task, task.held_out[:4])
    assert greedy == beam == 0.0 and 0.0 <= better <= 1.0
    assert decoder_study.beam_against_greedy(model, task, task.held_out[:4], width=1)[2] == 0.0


def test_errors_and_exact_match_agree(task, model):
    wrong = translators.errors(model, task, task.held_out)
    assert 1 - len(wrong) / len(task.held_out) == translators.exact_match(model, task, task.held_out)
    assert all(written != right for _, written, right in wrong)
    sources = [pair.source for pair in translators.swapped(task.held_out)]
    assert sources == [pair.source for pair in [*task.held_out[1:], task.held_out[0]]]


def test_two_answers_are_both_right_and_told_apart():
    both = two_answers.two_answers()
    assert len(both.train) == 96 and len({pair.source for pair in both.train}) == 48
    assert all(two_answers.agrees(both.join_target(pair.target)) for pair in both.train)
    assert not two_answers.agrees("tu n'aimez pas le chat") and not two_answers.agrees("vous n'aimes pas le chat")
    assert not two_answers.agrees("le chat n'aime pas") and not two_answers.agrees("")
