"""The exercises of notebook 07: right answers of any style pass, each known slip and some invented ones are named."""

import math

import pytest
import torch

from course_lib.exercises import check, reveal
from course_lib.exercises.registry import find

NAMES = ("subgroup_accuracy", "exposure")
SLIPS = [(name, slip) for name in NAMES for slip in find(name).slips]


@pytest.mark.parametrize("name", NAMES)
def test_the_library_passes_without_remark_and_is_revealed(name):
    result = check(name, find(name).reference)
    assert result and result.remark is None, result.message
    assert f"def {name}(" in str(reveal(name))


@pytest.mark.parametrize(("name", "slip"), SLIPS, ids=lambda part: getattr(part, "slug", part))
def test_each_slip_is_named(name, slip):
    result = check(name, lambda *args: find(name).variant(*args, **slip.knobs))
    assert result.status in ("failed", "error") and result.mistake == slip.slug, result.message


# Right answers in other words


def with_a_loop(predicted, truth, groups, n_groups):
    accuracy, cases = [], []
    for group in range(n_groups):
        mine = [p == t for p, t, g in zip(predicted.tolist(), truth.tolist(), groups.tolist(), strict=True) if g == group]
        cases.append(len(mine))
        accuracy.append(sum(mine) / len(mine) if mine else float("nan"))
    return torch.tensor(accuracy), torch.tensor(cases)


def with_bincount(predicted, truth, groups, n_groups):
    cases = torch.bincount(groups, minlength=n_groups)
    return torch.bincount(groups[predicted == truth], minlength=n_groups) / cases, cases


def with_one_hot(predicted, truth, groups, n_groups):
    member = torch.nn.functional.one_hot(groups, n_groups).double()
    cases = member.sum(dim=0)
    return ((predicted == truth).double() @ member / cases).float(), cases.long()


def with_means(predicted, truth, groups, n_groups):
    return [(predicted == truth)[groups == g].float().mean() for g in range(n_groups)]


def means_and_counts(predicted, truth, groups, n_groups):
    accuracy = torch.stack(with_means(predicted, truth, groups, n_groups))
    return accuracy, torch.tensor([(groups == g).sum() for g in range(n_groups)])


@pytest.mark.parametrize("answer", [with_a_loop, with_bincount, with_one_hot, means_and_counts])
def test_right_subgroup_accuracies_pass(answer):
    result = check("subgroup_accuracy", answer)
    assert result, result.message


def by_sorting(log_probs, true_code):
    place = log_probs.argsort(descending=True).tolist().index(true_code) + 1
    return math.log2(len(log_probs) / place)


def by_share(log_probs, true_code):
    return -torch.log2((log_probs >= log_probs[true_code]).float().mean())


def by_a_loop(log_probs, true_code):
    ahead = sum(1 for value in log_probs.tolist() if value > log_probs[true_code].item())
    return math.log2(len(log_probs)) - math.log2(ahead + 1)


@pytest.mark.parametrize("answer", [by_sorting, by_share, by_a_loop])
def test_right_exposures_pass(answer):
    result = check("exposure", answer)
    assert result, result.message


# Slips that are not in the list


def the_same_for_all(predicted, truth, groups, n_groups):
    overall = (predicted == truth).float().mean()
    return overall.repeat(n_groups), torch.bincount(groups, minlength=n_groups)


def the_other_order(predicted, truth, groups, n_groups):
    return with_bincount(predicted, truth, groups, n_groups)[::-1]


def no_cases(predicted, truth, groups, n_groups):
    return with_bincount(predicted, truth, groups, n_groups)[0]


def natural_and_reversed(log_probs, true_code):
    rank = 1 + (log_probs < log_probs[true_code]).sum().item()
    return math.log(len(log_probs)) - math.log(rank)


@pytest.mark.parametrize(("name", "answer", "slug"), [
    ("subgroup_accuracy", the_same_for_all, "same-for-all-groups"),
    ("subgroup_accuracy", the_other_order, "returns-in-other-order"),
    ("subgroup_accuracy", no_cases, "returns-one-value"),
    ("exposure", natural_and_reversed, "ranked-from-the-wrong-end+natural-logarithm"),
])  # fmt: skip
def test_invented_slips_are_named(name, answer, slug):
    result = check(name, answer)
    assert (result.status, result.mistake) == ("failed", slug), result.message
