import pytest
import torch

from course_lib.masks import causal_mask, causal_rows, check_mask, last_real, mask_per_head, padding_mask


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_causal_mask_allows_the_past_and_the_present(n):
    mask = causal_mask(n)
    assert mask.dtype == torch.bool and mask.shape == (n, n)
    assert all(bool(mask[i, j]) == (j <= i) for i in range(n) for j in range(n))


def test_causal_rows_are_the_last_of_the_mask():
    assert torch.equal(causal_rows(2, 5), causal_mask(5)[3:])
    assert causal_rows(1, 5).all()
    with pytest.raises(ValueError, match="T = 6, S = 5"):
        causal_rows(6, 5)


@pytest.mark.parametrize("lengths", [[2, 0, 3], torch.tensor([2, 0, 3])])
def test_padding_mask_marks_the_real_tokens(lengths):
    assert padding_mask(lengths).tolist() == [[True, True, False], [False] * 3, [True] * 3]
    assert padding_mask(lengths, 4).shape == (3, 4)


@pytest.mark.parametrize("wrong", [[[1, 2]], [1.0, 2.0], torch.tensor([True, False]), [3, -1], [9, 1]])
def test_padding_mask_refuses_what_are_no_lengths(wrong):
    with pytest.raises(ValueError, match="lengths must"):
        padding_mask(wrong, max_len=4)


def test_mask_per_head_joins_mask_and_padding():
    padding = padding_mask([3, 1])
    assert mask_per_head(None) is None
    assert mask_per_head(None, padding).shape == (2, 1, 1, 3)
    assert mask_per_head(causal_mask(3)).shape == (3, 3)
    assert mask_per_head(causal_mask(3).expand(2, 3, 3)).shape == (2, 1, 3, 3)
    both = mask_per_head(causal_mask(3), padding).expand(2, 1, 3, 3)
    assert torch.equal(both[0, 0], causal_mask(3))
    assert both[1, 0].tolist() == [[True, False, False]] * 3


@pytest.mark.parametrize("wrong", [torch.ones(2, 3), torch.ones(3).bool(), torch.ones(2, 1, 3).bool()])
def test_padding_must_be_bool_and_flat(wrong):
    with pytest.raises(ValueError, match="padding must be bool"):
        mask_per_head(None, wrong)


def test_check_mask_names_what_came_and_what_was_expected():
    with pytest.raises(ValueError, match=r"int64 of shape \(3, 3\)"):
        check_mask(torch.ones(3, 3, dtype=torch.int64), (2, 3, 3))
    with pytest.raises(ValueError, match=r"\(4, 3, 3\) does not fit scores of shape \(2, 3, 3\)"):
        check_mask(torch.ones(4, 3, 3, dtype=torch.bool), (2, 3, 3))
    check_mask(torch.ones(1, 3, dtype=torch.bool), (2, 3, 3))


def test_last_real_finds_it_on_either_side_and_between():
    padding = torch.tensor([[1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 0, 0], [0, 0, 0, 0]], dtype=torch.bool)
    assert last_real(padding).tolist() == [1, 3, 1, 0]
