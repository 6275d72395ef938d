"""The experiments of notebook 07 on maps and on time: reviews, captions, attacks, clauses. Each is measured on a case
whose answer is known beforehand.
"""

import pytest
import torch
from scipy.stats import kendalltau

from course_lib.tasks import attacks, captions, clauses, digits, reviews


def test_a_review_is_judged_by_the_majority_of_its_three_words():
    tokens, labels = reviews.reviews(200, seed=1)
    speaks_for, speaks_against = (tokens < 4).sum(dim=1), ((tokens >= 4) & (tokens < 8)).sum(dim=1)
    assert (speaks_for + speaks_against == 3).all()
    assert torch.equal(labels == 1, speaks_for > speaks_against)
    assert 0.3 < labels.float().mean() < 0.7
    assert not torch.equal(tokens, reviews.reviews(200, seed=2)[0])


def test_rank_agreement_is_kendalls_tau():
    a, b = torch.rand(5, 8), torch.rand(5, 8)
    expected = [kendalltau(x, y).statistic for x, y in zip(a, b, strict=True)]
    assert reviews.rank_agreement(a, b).tolist() == pytest.approx(expected, abs=1e-6)
    assert reviews.rank_agreement(a, 2 * a).tolist() == pytest.approx([1] * 5)
    assert reviews.rank_agreement(a, -a).tolist() == pytest.approx([-1] * 5)


class Counting(torch.nn.Module):
    """Judges by one word alone: three times the word "good", whatever else stands there, and looks at word 0."""

    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Module()
        self.encoder.embedding = torch.nn.Embedding.from_pretrained(torch.eye(len(reviews.WORDS)))

    def forward(self, tokens, need_weights=False, edit=None):
        vectors = tokens if tokens.is_floating_point() else self.encoder.embedding(tokens)
        liking = 3 * vectors[..., 0].sum(dim=1)
        weights = torch.eye(reviews.T)[0].expand(len(tokens), -1)
        logits = torch.stack([torch.zeros_like(liking), liking], dim=1)
        return (logits, weights) if need_weights else logits


def test_replacing_finds_the_word_that_decides_and_attention_need_not():
    tokens = torch.tensor([[9, 10, 0, 11, 12, 5, 6, 13]])  # "good" stands at place 2, two words against it elsewhere
    model = Counting()
    assert reviews.by_replacing(model, tokens).tolist() == [[0, 0, 3, 0, 0, 0, 0, 0]]
    assert reviews.by_attention(model, tokens).argmax() == 0
    assert reviews.by_gradient(model, tokens).tolist() == [[3] * 8]  # the slope towards "good" is the same anywhere
    assert reviews.on_mood_words(reviews.by_replacing(model, tokens), tokens) == 1
    assert reviews.on_mood_words(torch.ones(1, 8), tokens) == 3 / 8


def test_other_weights_take_the_place_of_the_readers_own():
    model, tokens = reviews.Reader(n_layers=1).eval(), reviews.reviews(6, seed=3)[0]
    own = reviews.by_attention(model, tokens)
    assert torch.allclose(own.sum(dim=1), torch.ones(6))
    assert torch.allclose(model(tokens, edit=lambda weights: weights), model(tokens))
    only_first = torch.eye(reviews.T)[0].expand(6, -1)
    expected = model.readout(model.encoder(tokens)[:, 0])
    assert torch.allclose(model(tokens, edit=lambda weights: only_first), expected, atol=1e-6)


@pytest.fixture(scope="module")
def data():
    return digits.digits(seed=5)


@pytest.fixture(scope="module")
def captioner():
    torch.manual_seed(5)
    return captions.Captioner().eval()


def test_a_caption_is_written_as_it_is_spelled(captioner, data):
    assert captions.LETTERS.decode(captions.SPELLED[7]) == list("seven")
    written = captions.write(captioner, data.test_images[:3])
    with torch.no_grad():
        ids = torch.tensor([[captions.LETTERS.bos_id]])
        for _ in range(captions.T):
            ids = torch.cat([ids, captioner(data.test_images[:1], ids)[:, -1:].argmax(dim=-1)], dim=1)
    assert written[0] == "".join(captions.LETTERS.decode(ids[0, 1:]))
    assert captions.agreement(["one", "two"], ["one", "too"]) == 0.5


def test_the_first_map_is_a_distribution_over_patches_and_depends_on_the_image(captioner, data):
    maps = captions.first_map(captioner, data.test_images[:4])
    assert maps.shape == (4, 16) and torch.allclose(maps.sum(dim=1), torch.ones(4))
    assert not torch.allclose(maps[0], maps[1], atol=1e-5)


def test_an_attack_stays_within_epsilon_and_hurts_more_than_noise(captioner, data):
    images, labels, epsilon = data.test_images[:20], data.test_labels[:20], 1 / 8
    before = images.clone()
    attacked, noisy = attacks.attacked(captioner, images, labels, epsilon), attacks.noisy(images, epsilon)
    for changed in (attacked, noisy):
        assert 0 < (changed - images).abs().max() <= epsilon + 1e-6
        assert changed.min() >= 0 and changed.max() <= 1
    clean, hurt, random = (attacks.caption_loss(captioner, x, labels) for x in (images, attacked, noisy))
    assert hurt - clean > 2 * (random - clean).abs()
    assert torch.equal(images, before) and all(p.grad is None for p in captioner.parameters())


def test_map_distance_is_the_weight_that_moves():
    a, b = torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.0, 0.5, 0.5])
    assert attacks.map_distance(a, b) == 0.5 and attacks.map_distance(a, a) == 0
    assert attacks.map_distance(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])) == 1


def test_the_detector_tells_different_maps_apart_and_equal_ones_not():
    maps = torch.rand(300, 16, generator=torch.Generator().manual_seed(1)).softmax(dim=1)
    same = torch.rand(300, 16, generator=torch.Generator().manual_seed(2)).softmax(dim=1)
    assert attacks.told_apart(maps, maps.roll(1, dims=1)) < 0.7
    assert abs(attacks.told_apart(maps, same) - 0.5) < 0.15
    other = maps * torch.linspace(0.2, 2, 16)
    assert attacks.told_apart(maps, other / other.sum(dim=1, keepdim=True)) > 0.95


def test_the_detector_is_scikit_learns_logistic_regression():
    from sklearn.linear_model import LogisticRegression

    x = torch.randn(200, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    y = (x @ torch.tensor([2.0, -1.0, 0.0, 0.5, 3.0]).double() > 0.4).double()
    weights, constant = attacks.logistic_regression(x, y)
    theirs = LogisticRegression(tol=1e-8, max_iter=1000).fit(x.numpy(), y.numpy())
    assert weights.numpy() == pytest.approx(theirs.coef_[0], abs=1e-4)
    assert constant.item() == pytest.approx(theirs.intercept_[0], abs=1e-4)


def test_a_bonus_moves_the_map_of_a_copy(captioner, data):
    few = digits.Digits(data.train_images[:128], data.train_labels[:128], *data[2:])
    images, before = data.test_images[:50], captions.first_map(captioner, data.test_images[:50])
    paid = captions.retrained(captioner, few, patch=15, strength=2.0, epochs=8)
    assert captions.first_map(paid, images)[:, 15].mean() > before[:, 15].mean() + 0.3
    assert torch.equal(captions.first_map(captioner, images), before)  # the model itself is as it was


def happened_first(story):
    """The first event of a story, found by its words alone: the one that is never the later of two."""
    clauses_ = [part.split() for part in story.split(" . ")]
    later = {second if relation == "before" else first for first, relation, second in clauses_}
    (first,) = {word for clause in clauses_ for word in (clause[0], clause[2])} - later
    return first


@pytest.mark.parametrize("combination", (*clauses.SEEN, clauses.NEW))
def test_the_tags_of_two_clauses_say_what_the_words_say(combination):
    tokens, labels = clauses.double(60, combination, seed=4)
    for row in range(60):
        first = happened_first(clauses.text(tokens[row]))
        tagged = [clauses.WORDS[i] for i in tokens[row][labels[row] == 1]]
        assert set(tagged) == {first}
    assert ((labels >= 0).sum(dim=1) == 4).all()
    relations = sorted(combination.split(", "))
    assert all(sorted(w for w in clauses.text(t).split() if w in clauses.RELATION) == relations for t in tokens)
    mentioned_first = (labels[:, 0] == 1).float().mean()
    assert mentioned_first < 0.8  # the order of the words does not give it away


def test_the_new_combination_is_not_among_the_lessons():
    tokens, _ = clauses.lesson(500, seed=6)
    n_after = (tokens == clauses.AFTER).sum(dim=1)
    assert len(tokens) == 500 and n_after.max() == 1
    everything, _ = clauses.lesson(500, (*clauses.SEEN, clauses.NEW), seed=6)
    assert (everything == clauses.AFTER).sum(dim=1).max() == 2


def test_trios_held_out_appear_in_no_lesson():
    taught = {frozenset(row[row < len(clauses.EVENTS)].tolist()) for row in clauses.lesson(4000, seed=8)[0]}
    tested, _ = clauses.double(300, clauses.NEW, held_out=True, seed=9)
    held_out = {frozenset(row[row < len(clauses.EVENTS)].tolist()) for row in tested}
    assert len(held_out) == 14 and not taught & held_out
    assert len({trio for trio in taught if len(trio) == 3}) == 56 - 14


def test_a_text_counts_as_right_only_if_every_tag_is():
    tokens, labels = clauses.double(40, clauses.NEW, seed=7)

    class Oracle(torch.nn.Module):
        def __init__(self, wrong_in):
            super().__init__()
            self.wrong_in = wrong_in

        def forward(self, tokens):
            tags = labels.clamp(min=0).clone()
            tags[: self.wrong_in, 0] = 1 - tags[: self.wrong_in, 0]
            return torch.nn.functional.one_hot(tags, 2).float()

    assert clauses.all_right(Oracle(0), tokens, labels) == 1
    assert clauses.all_right(Oracle(10), tokens, labels) == pytest.approx(0.75)
