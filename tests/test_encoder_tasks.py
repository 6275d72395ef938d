"""What notebook 04 measures with: stacks by depth, small encoders, the heads and the paraphrases of a real encoder."""

import math

import pytest
import torch

from course_lib import blocks, models, plots, pretrained
from course_lib.tasks import digits, encoder_study, order, paraphrases, real_heads, stacking


def test_the_stack_with_both_is_the_librarys_block():
    for norm_first in (True, False):
        config = models.TransformerConfig(0, 8, 2, 1, 16, 8, norm_first=norm_first)
        block, x = blocks.EncoderBlock(config), torch.randn(2, 5, 8)
        assert torch.allclose(stacking.run(x, block, True, "pre" if norm_first else "post"), block(x), atol=1e-6)


def test_likeness_is_one_for_equal_tokens_and_zero_for_orthogonal_ones():
    assert stacking.likeness(torch.ones(2, 4, 3)) == pytest.approx(1)
    assert stacking.likeness(torch.eye(4)[None]) == pytest.approx(0)


def test_only_a_residual_keeps_tokens_apart_and_a_norm_alone_keeps_gradient():
    health = {arm: stacking.measure(6, arm, seed=3) for arm in ("neither", "norm alone", "both, pre-norm")}
    assert health["neither"].gradient < 1e-4 < 0.05 < health["norm alone"].gradient
    assert health["norm alone"].likeness > 0.99 > 0.6 > health["both, pre-norm"].likeness


def test_occurs_twice_and_no_single_token_tells():
    tokens, labels = order.occurs_twice(4000, seed=1)
    distinct = torch.tensor([len(set(row)) for row in tokens.tolist()])
    assert torch.equal(distinct, 6 - labels)
    counts = torch.stack([torch.bincount(tokens[labels == label].flatten(), minlength=12) for label in (0, 1)])
    assert (counts[0] - counts[1]).abs().max() < 5 * math.sqrt(2000)
    assert torch.equal(tokens, order.occurs_twice(4000, seed=1)[0])
    with pytest.raises(ValueError, match="T different tokens"):
        order.occurs_twice(4, T=9, vocab_size=5)
    with pytest.raises(ValueError, match="even"):
        order.occurs_twice(3)


def test_rows_get_one_more_token_for_cls_only():
    plain, labels = encoder_study.rows(order.increasing, 6, seed=2)
    front, same = encoder_study.rows(order.increasing, 6, pooling="cls", seed=2)
    assert torch.equal(front[:, 1:], plain) and (front[:, 0] == encoder_study.CLS).all() and torch.equal(labels, same)


def test_without_positions_the_study_is_right_exactly_half_the_time():
    model = encoder_study.classifier(positions="none", seed=4)
    assert encoder_study.accuracy(model, order.a_before_b, n=400) == 0.5


def test_a_model_without_a_block_learns_the_sum_and_not_the_repeated_token():
    options = {"n_layers": 0, "lr": 1e-2, "steps": 300, "positions": "none"}
    assert encoder_study.scores(order.sum_above_median, [5], **options)[0] > 0.95
    assert encoder_study.scores(order.occurs_twice, [5], **options)[0] < 0.57


def test_entropy_is_one_for_uniform_weights_and_zero_for_one_hot_ones():
    weights = torch.stack([torch.full((4, 4), 0.25), torch.eye(4)])
    assert torch.allclose(encoder_study.entropy(weights), torch.tensor([[1.0] * 4, [0.0] * 4]))
    assert encoder_study.entropies(encoder_study.classifier(seed=1), order.increasing).shape == (2, 4)


def test_the_baseline_on_digits_and_a_vit_that_has_begun():
    data = digits.digits(seed=1)
    assert 0.93 < digits.logistic_regression(data) < 0.99
    assert digits.accuracy(digits.train_vit(data, epochs=3, seed=1), data) > 0.3


def test_luck_leaves_a_head_that_always_looks_at_one_place_at_one_half():
    right = torch.tensor([1.0, 0.0] * 14)[:, None, None]  # the first noun, whatever is meant
    assert (real_heads.luck(right, 1 - right, draws=50) == 0.5).all()
    perfect = torch.ones(28, 1, 1)
    drawn = real_heads.luck(perfect, 1 - perfect, draws=4000)
    assert abs(drawn.mean().item() - 0.5) < 0.02 and drawn.min() < 0.2 and drawn.max() > 0.8


def test_kinds_of_heads():
    after = torch.eye(5).roll(1, dims=1)  # row i looks at i + 1 …
    maps = torch.stack([after, after.T])[None]  # … and the second head at i - 1
    kinds = real_heads.head_kinds(maps)
    assert real_heads.strongest(kinds["the token before"]) == (1, 2)
    assert real_heads.strongest(kinds["the token after"]) == (1, 1)
    assert kinds["the token after"][0, 0] == 1 and kinds["the token before"][0, 0] < 0.3


def test_the_stand_in_comes_with_a_line_and_answers_in_the_same_form(monkeypatch):
    def absent():
        raise pretrained.Unavailable("not on this machine; run: python3 -m course_lib models")

    monkeypatch.setattr(pretrained, "load_minilm", absent)
    monkeypatch.setattr(real_heads.dependencies, "train_model", lambda **_: real_heads.dependencies.HiddenWordModel())
    reader = real_heads.reader()
    assert reader.tokenizer is None and "python3 -m course_lib models" in reader.note and "\n" not in reader.note
    right, wrong = real_heads.looks_at(reader)
    assert right.shape == wrong.shape == (28, 2, 4) and right.min() >= 0
    ids, names = reader.encode(reader.sentence)
    assert len(ids) == len(names) == 10
    with pytest.raises(ValueError, match="does not know 'giraffe'"):
        reader.encode("the giraffe")


def test_margin_and_found():
    assert paraphrases.margin(torch.eye(4)) == pytest.approx(1)
    assert paraphrases.margin(torch.ones(4, 4)) == pytest.approx(0)
    assert paraphrases.found(torch.eye(4)) == 1 and paraphrases.found(torch.eye(4).flip(0)) == 0


def test_sentences_are_different_and_triples_hold_the_same_words():
    sentences = [sentence for pair in paraphrases.PAIRS for sentence in pair]
    assert len(set(sentences)) == len(sentences) == 48
    for first, _, other in paraphrases.TRIPLES:
        assert sorted(first.lower().strip(".").replace(",", "").split()) == sorted(
            other.lower().strip(".").replace(",", "").split()
        )
        assert first != other


def test_line_panels_show_every_line_in_every_panel():
    lines = {"one": [[1, 2, 3], [2, 3, 4]], "two": [3, 2, 1]}
    fig = plots.plot_line_panels((2, 4, 8), {"left": lines, "right": lines}, "x", logx=True, logy=["right"])
    assert [len(ax.lines) for ax in fig.axes] == [2, 2]
    assert [ax.get_yscale() for ax in fig.axes] == ["linear", "log"]
    assert fig.axes[0].lines[0].get_ydata().tolist() == [1.5, 2.5, 3.5]


@pytest.fixture(scope="module")
def minilm():
    try:
        return pretrained.load_minilm()
    except pretrained.Unavailable as missing:
        pytest.skip(str(missing))


def test_a_sentence_in_a_padded_batch_is_the_sentence_alone(minilm):
    sentences = ["A cat.", "The mayor promised to build a bridge over the river."]
    with torch.no_grad():
        both = paraphrases.embed(*minilm, sentences)
        alone = paraphrases.embed(*minilm, sentences[:1])
    assert torch.allclose(both[:1], alone, atol=1e-5)
    assert torch.allclose(both.norm(dim=-1), torch.ones(2), atol=1e-5)


def test_the_slope_is_what_closing_a_gate_a_little_changes(minilm):
    pairs, head = paraphrases.PAIRS[:6], (5, 9)
    gates = torch.ones(6, 12)
    gates[head] = 0.99
    with torch.no_grad():
        whole, less = (paraphrases.margin(paraphrases.similarities(*minilm, pairs, g)) for g in (None, gates))
    slope = paraphrases.usefulness(*minilm, pairs)[head]
    assert (whole - less).item() / 0.01 == pytest.approx(slope.item(), abs=3e-4, rel=0.1)
    order_ = list(range(72))
    full, nothing = paraphrases.margins_without(*minilm, pairs, order_, [0, 72])
    assert full == pytest.approx(whole.item(), abs=1e-5) and nothing < full
