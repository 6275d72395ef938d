"""The experiments of notebook 02: questions about order, and accuracy place by place beyond the trained length."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F

from course_lib.tasks import order, recall


@pytest.mark.parametrize("make", [order.increasing, order.a_before_b])
def test_the_question_is_the_same_in_every_row_and_in_no_row_before(make):
    tokens, labels = order.asked(make, 40, seed=3)
    rows, answers = make(40, seed=3)
    assert (tokens[:, -1] == order.QUESTION).all() and (rows != order.QUESTION).all()
    assert torch.equal(tokens[:, :-1], rows) and torch.equal(labels, answers)


def test_without_positions_an_encoder_is_right_exactly_half_the_time():
    model = order.train_classifier(order.a_before_b, "none", steps=5)
    assert order.accuracy(model, order.a_before_b, n=400) == 0.5
    assert not model.training


def test_a_model_that_reads_the_order_is_scored_as_such():
    def oracle(tokens):  # token 0 before token 1: the class 1
        first = (tokens == order.A).int().argmax(dim=1) < (tokens == order.B).int().argmax(dim=1)
        return F.one_hot(first.long(), 2).float()

    assert order.accuracy(oracle, order.a_before_b, n=200) == 1
    assert order.accuracy(lambda tokens: -oracle(tokens), order.a_before_b, n=200) == 0


def test_the_same_seed_trains_the_same_classifier():
    first, again, other = (order.train_classifier(order.increasing, "sinusoidal", steps=2, seed=s) for s in (1, 1, 2))
    assert torch.equal(first.head.weight, again.head.weight)
    assert not torch.equal(first.head.weight, other.head.weight)


def looks_back(tokens, k):
    """An oracle for `shift`, or for another distance: logits that name the token k places back."""
    return F.one_hot(tokens.roll(k, dims=1), 16).float()


def test_accuracy_by_place_counts_what_is_asked_and_nothing_else():
    right = recall.accuracy_by_place(partial(looks_back, k=2), recall.shift, T=32, bin_size=8, n=50)
    wrong = recall.accuracy_by_place(partial(looks_back, k=1), recall.shift, T=32, bin_size=8, n=50)
    assert right.tolist() == [1.0] * 4  # the first two places, where nothing is asked, do not count
    assert ((wrong > 0) & (wrong < 0.15)).all()  # chance is 1 / 16


def test_accuracy_by_place_tells_where_a_model_stops():
    def stops_at_16(tokens):
        logits = looks_back(tokens, 2)
        logits[:, 16:] = 0
        logits[:, 16:, 0] = 1  # always says 0
        return logits

    accuracy = recall.accuracy_by_place(stops_at_16, recall.shift, T=32, bin_size=8, n=50)
    assert accuracy[:2].tolist() == [1.0, 1.0] and accuracy[2:].max() < 0.15


def test_beyond_training_gives_a_curve_for_each_seed_and_is_repeatable():
    sizes = {"T": 8, "longest": 16, "steps": 3, "batch_size": 4}
    curves = recall.beyond_training(recall.last_value, "rotary", [0, 1], 4, **sizes)
    again = recall.beyond_training(recall.last_value, "rotary", [0, 1], 4, **sizes)
    assert curves.shape == (2, 4) and torch.equal(curves, again)
    assert not torch.equal(curves[0], curves[1])


def test_the_learned_table_reaches_as_far_as_the_test():
    records, model = recall.train_at_length(recall.shift, "learned", T=8, longest=24, steps=2, batch_size=4)
    before = model.positions.table.weight.detach().clone()
    assert [record["step"] for record in records] == [1, 2]
    after = model.positions.table.weight
    assert after.shape == (24, 32)
    moved = (after - before).abs().amax(dim=1)
    assert moved[:8].min() > 10 * moved[8:].max()  # training reaches the first T rows; the others only decay
