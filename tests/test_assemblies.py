"""Three assemblies on three tasks, and loss against size: the data, the bookkeeping, and one short training of each."""

import pytest
import torch

from course_lib.tasks import agreement, assemblies, modern, scaling

THREE = assemblies.Three(seed=3)


def test_each_sentence_is_french_and_each_spoiled_one_is_not():
    assert len(agreement.sentences()) > 600
    for i, words in enumerate(list(agreement.sentences())[::7]):
        wrong = agreement.spoiled(words, seed=i)
        assert agreement.is_french(words) and not agreement.is_french(wrong)
        assert len(wrong) == len(words) and sum(a != b for a, b in zip(words, wrong, strict=True)) == 1


def test_known_sentences():
    assert agreement.is_french("la pomme n' est pas vieille".split())
    assert not agreement.is_french("la pomme n' est pas vieux".split())
    assert agreement.sentences()[("je", "suis", "étudiant")].target == ("i", "am", "a", "student")


@pytest.mark.parametrize("task", assemblies.TASKS)
def test_nothing_held_out_is_trained_on_and_answers_end_once(task):
    held_out, train = THREE.held_out[task], THREE.train[task]
    if task == "translate":
        assert not {tuple(row) for row in held_out.prompts.tolist()} & {tuple(row) for row in train.prompts.tolist()}
    ends = (train.answers == THREE.vocabulary.eos_id).sum(dim=1)
    assert (ends == 1).all() and (train.answers[~train.asked] == THREE.mask_id).all()


def test_judge_is_half_right_and_half_wrong():
    answers = assemblies.texts(THREE, THREE.train["judge"].answers)
    assert answers.count(["yes"]) == answers.count(["no"]) == len(answers) / 2


def test_sizes_are_equal_to_within_one_per_cent():
    sizes = [sum(p.numel() for p in assemblies.assemble(kind, len(THREE.vocabulary)).parameters())
             for kind in assemblies.KINDS]  # fmt: skip
    assert max(sizes) / min(sizes) < 1.01


@pytest.mark.parametrize("kind", assemblies.KINDS)
def test_who_may_see_a_later_slot(kind):
    """Only the encoder-only model's first answer depends on what stands in the last slot."""
    model, lessons = assemblies.assemble(kind, len(THREE.vocabulary)).eval(), THREE.held_out["translate"]
    slots = lessons.answers[:2].clone()
    changed = slots.clone()
    changed[:, -1] = 5
    one, other = (assemblies.slot_logits(model, lessons.prompts[:2], lessons.padding[:2], s)[:, 0] for s in (slots, changed))
    assert torch.allclose(one, other, atol=1e-6) == (kind != "encoder-only")


@pytest.mark.parametrize("kind", assemblies.KINDS)
def test_a_short_training_beats_word_frequencies(kind):
    model = assemblies.train_one(THREE, kind, steps=40, d_model=32)
    by_frequency, by_model = assemblies.objective(model, THREE)
    assert by_model < by_frequency


def test_scores_of_an_oracle(monkeypatch):
    """With every answer right, judge and translate score 1; what is written is looked up in the grammar."""
    monkeypatch.setattr(assemblies, "answer", lambda model, three, lessons, **_: lessons.answers)
    assert assemblies.scores(None, THREE) == {"judge": 1.0, "write": 1.0, "translate": 1.0}
    nothing = THREE.vocabulary.eos_id
    monkeypatch.setattr(assemblies, "answer", lambda model, three, lessons, **_: torch.full_like(lessons.answers, nothing))
    assert assemblies.scores(None, THREE) == {"judge": 0.0, "write": 0.0, "translate": 0.0}


def test_words_alone_judge_better_than_a_coin():
    """Spoiled sentences hold rare forms: the notebook says so before any attention gets the credit."""
    assert 0.65 < assemblies.judged_by_words(THREE) < 0.9


# ---- loss against size ----
def test_a_plane_in_logarithms_is_found_exactly():
    points = [(n, d, 7 * n**-0.1 * d**-0.2) for n in (10, 100, 1000) for d in (50, 500)]
    line = scaling.fit(*zip(*points, strict=True))
    assert torch.allclose(line.slopes, torch.tensor([0.1, 0.2], dtype=torch.float64))
    assert line.residuals.abs().max() < 1e-9 and line.errors.max() < 1e-6


def test_the_errors_of_the_slopes_are_those_of_repeated_draws():
    generator = torch.Generator().manual_seed(0)
    grid = [(n, d) for n in (10, 40, 160, 640) for d in (50, 200, 800)]
    fits = []
    for _ in range(300):
        noise = (0.05 * torch.randn(len(grid), generator=generator, dtype=torch.float64)).exp().tolist()
        losses = [n**-0.1 * d**-0.2 * e for (n, d), e in zip(grid, noise, strict=True)]
        fits.append(scaling.fit(*zip(*grid, strict=True), losses))
    spread = torch.stack([f.slopes for f in fits]).std(dim=0)
    stated = torch.stack([f.errors for f in fits]).mean(dim=0)
    assert torch.allclose(spread, stated, rtol=0.15)


@pytest.mark.parametrize("n_layers, width", [(1, 40), (2, 32), (4, 24), (8, 16)])
def test_depths_have_the_same_size(n_layers, width):
    size = modern.size(scaling.same_size(106, width, n_layers, 20_000))
    assert abs(size / 20_000 - 1) < 0.03


def test_losses_come_from_one_training_and_text_is_used_once():
    corpus = scaling.Corpus()
    config = scaling.config_for(corpus.vocab_size, 8)
    losses = scaling.held_out_losses(config, corpus, steps=(2, 12))
    assert losses == scaling.held_out_losses(config, corpus, steps=(2, 12)) and losses[1] < losses[0]
    rows = torch.cat([inputs for inputs, _ in scaling.batches(corpus)])
    assert len(rows) * scaling.T <= len(corpus.train)
    with pytest.raises(ValueError, match="used up"):
        short = scaling.Corpus()
        short.train = short.train[:2000]
        scaling.held_out_losses(config, short, steps=(5000,))
