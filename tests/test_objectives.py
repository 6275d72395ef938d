"""T5's hidden stretches and the label of an image: the data by hand, the baseline by hand, and that a model beats it."""

import math

import pytest
import torch

from course_lib.tasks import objectives
from course_lib.tasks.vocabulary import Vocabulary

WORDS = "la pomme n' est pas vieille".split()


def test_stretches_by_hand():
    source, target = objectives.hide_stretches(WORDS, [(1, 2), (4, 6)])
    assert source == "la <1> n' est <2>".split() and target == "<1> pomme <2> pas vieille".split()
    assert objectives.hide_stretches(WORDS, []) == (WORDS, [])


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7])
def test_what_is_hidden_and_what_is_left_make_the_sentence(n):
    """Put each stretch back in the place of its sign: whatever was drawn, the sentence is as it was."""
    words = [f"w{i}" for i in range(n)]
    generator = torch.Generator().manual_seed(n)
    for _ in range(50):
        stretches = objectives.random_stretches(n, generator)
        (a, b), (c, d) = stretches
        assert 0 <= a < b <= c < d <= n and max(b - a, d - c) <= 2
        source, target = objectives.hide_stretches(words, stretches)
        second = target.index("<2>")
        behind = {"<1>": target[1:second], "<2>": target[second + 1 :]}
        assert [word for token in source for word in behind.get(token, [token])] == words


def test_lessons_hold_what_was_hidden_and_ask_for_nothing_after_the_end():
    vocabulary = Vocabulary([*objectives.SIGNS, *WORDS])
    sources, padding, targets = objectives.lessons([WORDS] * 20, vocabulary, seed=1)
    for row, real, target in zip(sources, padding, targets, strict=True):
        kept, written = vocabulary.decode(row[real]), vocabulary.decode(target[target != -100])
        assert sorted(kept + written) == sorted([*WORDS, *objectives.SIGNS * 2])
        assert target[target != -100][-1] == vocabulary.eos_id
    assert (sources[0] != sources).any(), "other stretches for other rows"


def test_the_baseline_by_hand():
    """Three of four seen are 0; with one added to each count, that is 4 of 6 and 2 of 6."""
    surprise = objectives.by_frequency(torch.tensor([0, 0, 0, 1]), torch.tensor([0, 1]), n=2)
    assert surprise == pytest.approx(-(math.log(4 / 6) + math.log(2 / 6)) / 2)


def test_an_untrained_model_does_not_beat_the_baseline_and_a_trained_one_does():
    by_frequency, untrained = objectives.hidden_stretches(steps=1, seed=2)
    assert untrained > by_frequency - 0.3
    by_frequency, by_model = objectives.hidden_stretches(steps=60, seed=2)
    assert by_model < by_frequency - 0.3


def test_a_small_vit_beats_the_frequency_of_the_labels():
    by_frequency, by_model = objectives.image_labels(epochs=3, seed=2)
    assert by_frequency == pytest.approx(math.log(10), abs=0.02) and by_model < by_frequency - 0.6
