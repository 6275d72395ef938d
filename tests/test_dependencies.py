"""The grammar of notebook 01: does each hidden word really need the word it is said to need?"""

import random

import torch

from course_lib.tasks import dependencies as task


def test_words_agree_in_every_sentence():
    rng = random.Random(0)
    for _ in range(500):
        words, places = task.sentence(rng)
        pronoun, verb, article = (next(p for p in places if relation in places[p]) for relation in (0, 1, 3))
        assert task.SUBJECTS[words[places[pronoun][0]]] == words[pronoun]
        base, past = task.OBJECTS[words[places[verb][1]]]
        assert words[verb] == (base if "didn't" in words else past)
        assert (2 in places[verb]) == ("didn't" in words)
        assert words[article] == ("an" if words[article + 1][0] in "aeiou" else "a")
        assert len(words) <= 14


def test_hidden_words_and_labels_fit_together():
    data = task.sentences(300, seed=2)
    rows = torch.arange(300)
    assert (data.tokens[rows, data.hidden_at] == task.ID[task.MASK]).all()
    assert (data.tokens == task.ID[task.MASK]).sum() == 300
    labels = data.targets()
    assert (labels >= 0).sum() == 300 and torch.equal(labels[rows, data.hidden_at], data.answers)
    assert torch.equal(data.padding, data.tokens != task.ID["[PAD]"])
    assert set((data.needs >= 0).sum(dim=1).tolist()) <= {1, 2}  # a hidden verb may need two words


def test_the_same_seed_gives_the_same_sentences():
    first, second, other = (task.sentences(20, seed=seed).tokens for seed in (1, 1, 2))
    assert torch.equal(first, second) and not torch.equal(first, other)


def test_weight_on_needs_finds_a_head_that_was_built_to_look_there():
    data = task.sentences(200, seed=3)

    class Oracle(torch.nn.Module):
        def encoder(self, tokens, padding, need_weights):
            weights = torch.zeros(200, 2, 14, 14)
            relation = 0  # head 0 looks at the subject, head 1 at the first word
            weights[torch.arange(200), 0, data.hidden_at, data.needs[:, relation].clamp(min=0)] = 1
            weights[:, 1, :, 0] = 1
            return None, [weights]

    scores = task.weight_on_needs(Oracle(), data)
    assert scores[0, 0][0] == 1 and scores[0, 1].max() == 0


def test_pruning_removes_every_head_once_and_measures_on_the_other_set():
    model = task.train_model(n=400, epochs=1, n_layers=1, n_heads=2, d_model=16)
    choose, score = task.sentences(60, seed=5), task.sentences(60, seed=6)
    removed, kept = task.prune(model, choose, score)
    assert sorted(removed) == [(0, 0), (0, 1)] and len(kept) == 3
    assert kept[0] == task.accuracy(model, score) and kept[2] == task.accuracy(model, score, removed)
    assert task.prune(model, choose, score, order=[(0, 1), (0, 0)])[0] == [(0, 1), (0, 0)]
