"""Accuracy for each group by itself, which a single number over all of them hides."""

import torch


def subgroup_accuracy(predicted, truth, groups, n_groups):
    """Share of right predictions in each group, and how many cases that share rests on.

    predicted, truth, groups: int64 (n,); groups holds numbers from 0 to n_groups - 1. Returns the pair (accuracy
    float (n_groups,), cases int64 (n_groups,)). A group without cases has no accuracy: NaN, not 0.
    """
    right = (predicted == truth).float()
    cases = torch.stack([(groups == group).sum() for group in range(n_groups)])
    hits = torch.stack([right[groups == group].sum() for group in range(n_groups)])
    return hits / cases, cases
