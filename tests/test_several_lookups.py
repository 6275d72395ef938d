"""The look-up task and its model: is the truth true, and does the model see only what it should?"""

import pytest
import torch

from course_lib.tasks.several_lookups import LookupModel, several_lookups, train_lookup


def test_the_answers_are_what_lies_at_the_places_asked_for():
    values, asked, answers = several_lookups(50, T=7, n_values=5, k=3, seed=1)
    for row in range(50):
        assert answers[row].tolist() == [values[row, place].item() for place in asked[row]]
        assert len(set(asked[row].tolist())) == 3


def test_the_same_seed_gives_the_same_data_and_leaves_the_global_generator_alone():
    before = torch.get_rng_state()
    first, second, other = (several_lookups(20, seed=seed)[0] for seed in (3, 3, 4))
    assert torch.equal(first, second) and not torch.equal(first, other)
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("feed_forward", [False, True])
def test_weights_depend_on_the_query_and_not_on_the_values(feed_forward):
    model = LookupModel(16, 4, T=6, k=2, feed_forward=feed_forward)
    values, asked, _ = several_lookups(9, T=6, k=2)
    logits, weights = model(values, asked, need_weights=True)
    other_logits, other_weights = model((values + 1) % 10, asked, need_weights=True)
    assert torch.equal(weights, other_weights) and not torch.allclose(logits, other_logits)
    assert torch.allclose(weights.sum(dim=-1), torch.ones(9, 4))
    assert not torch.allclose(weights, model(values, asked.flip(1), need_weights=True)[1])  # the slot matters


def test_the_number_of_parameters_does_not_depend_on_the_number_of_heads():
    counts = {sum(p.numel() for p in LookupModel(64, h).parameters()) for h in (1, 2, 4, 8, 64)}
    assert counts == {23_720}


def test_heads_must_divide_the_width():
    with pytest.raises(ValueError, match="n_heads = 3, d_model = 16"):
        LookupModel(16, 3)


def test_enough_heads_solve_it_and_one_does_not():
    small = {"T": 6, "n_values": 4, "k": 3, "n": 3000, "epochs": 8, "lr": 5e-3}
    one, three = (train_lookup(48, n_heads, **small) for n_heads in (1, 3))
    assert one.accuracy < 0.7 < 0.95 < three.accuracy
    assert one.weights.shape == (4, 1, 6) and one.asked.shape == (4, 3) and one.d_k == 48
