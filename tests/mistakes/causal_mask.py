"""Attempts at the causal mask."""

import numpy as np
import torch
from torch import nn

from tests.mistakes import Collector

collected = Collector()
wrong, right, ANSWERS = collected.wrong, collected.right, collected.answers


@wrong("sees-one-ahead")
def one_ahead(n):
    return torch.tril(torch.ones(n, n), diagonal=1).bool()


@wrong("cannot-see-itself")
def strictly_before(n):
    return torch.tril(torch.ones(n, n), diagonal=-1) == 1


@wrong("cannot-see-itself")
def strictly_before_by_index(n):
    return torch.arange(n)[None, :] < torch.arange(n)[:, None]


@wrong("true-means-blocked")
def blocked(n):
    return torch.triu(torch.ones(n, n, dtype=torch.bool), 1)


@wrong("sees-the-future")
def upper(n):
    return torch.triu(torch.ones(n, n)) == 1


@wrong("sees-the-future")
def index_turned(n):
    return torch.arange(n)[None, :] >= torch.arange(n)[:, None]


@wrong("true-means-blocked")
def additive_as_bool(n):
    return nn.Transformer.generate_square_subsequent_mask(n).to(torch.bool)


@wrong("additive-mask")
def additive(n):
    return nn.Transformer.generate_square_subsequent_mask(n)


@wrong("additive-mask-large")
def additive_large(n):
    return torch.triu(torch.full((n, n), -1e9), 1)


@wrong("numbers-instead-of-bool")
def floats(n):
    return torch.ones(n, n).tril()


@wrong("integers-instead-of-bool")
def integers(n):
    return torch.ones(n, n, dtype=torch.int).tril()


@wrong("blocked-as-numbers")
def floats_blocked(n):
    return torch.triu(torch.ones(n, n), diagonal=1)


@wrong("axis-too-many")
def leading_axis(n):
    return torch.ones(n, n, dtype=torch.bool).tril().unsqueeze(0)


@wrong("two-axes-too-many")
def two_leading_axes(n):
    return torch.ones(n, n, dtype=torch.bool).tril()[None, None]


@wrong("fixed-size")
def fixed(n):
    return torch.ones(8, 8, dtype=torch.bool).tril()


@wrong("fixed-size")
def fixed_seven(n):
    return torch.ones(7, 7, dtype=torch.bool).tril()


@wrong("everything-allowed")
def all_ones(n):
    return torch.ones(n, n, dtype=torch.bool)


@wrong("only-itself")
def eye(n):
    return torch.eye(n).bool()


@wrong("returns-no-tensor")
def array(n):
    return np.tril(np.ones((n, n), dtype=bool))


@wrong("returns-a-list")
def nested_list(n):
    return [[j <= i for j in range(n)] for i in range(n)]


@wrong("size-off", "wrong-shape")
def one_too_many(n):
    return torch.ones(n + 1, n + 1, dtype=torch.bool).tril()


@wrong("one-row-only", "wrong-shape", "last-row-only")
def a_row(n):
    return torch.ones(1, n, dtype=torch.bool)


@wrong("future-visible", "past-hidden")
def even_only(n):
    return torch.tensor([[(i - j) % 2 == 0 and j <= i for j in range(n)] for i in range(n)])


@wrong("past-hidden")
def window_of_two(n):
    i = torch.arange(n)
    return (i[None] <= i[:, None]) & (i[None] > i[:, None] - 2)


@wrong("rows-reversed", "columns-reversed")
def flipped(n):
    return torch.ones(n, n, dtype=torch.bool).tril().flip(0)


@wrong("wrong-dtype", "not-bool", "numbers-instead-of-bool", "additive-mask-inverted")
def ones_and_minus_infinity(n):
    return torch.ones(n, n).tril().masked_fill(torch.ones(n, n).triu(1).bool(), float("-inf"))


@wrong("returns-none")
def nothing(n):
    torch.ones(n, n).tril()


@wrong("wrong-parameters")
def takes_the_sequence(x, n):
    return torch.ones(n, n).tril().bool()


@right()
def textbook(n):
    return torch.tril(torch.ones(n, n, dtype=torch.bool))


@right()
def by_index(n):
    return torch.arange(n)[:, None] >= torch.arange(n)


@right()
def complement(n):
    return ~torch.ones(n, n).triu(diagonal=1).bool()


@right()
def loops(n, device=None):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[i, : i + 1] = True
    return mask


@right()
def from_numpy(n):
    return torch.from_numpy(np.tri(n, dtype=bool))


@right()
def from_the_additive(n):
    return nn.Transformer.generate_square_subsequent_mask(n) == 0
