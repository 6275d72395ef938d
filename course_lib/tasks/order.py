"""Four yes-or-no questions about a row of tokens. Two of them cannot be answered without knowing the order.

* increasing: is the row increasing, or the same tokens in another order?
* a_before_b: does token A come before token B?
* sum_above_median: is the sum of the tokens above the median of such sums? Here the order means nothing.
* occurs_twice: is there a token that occurs twice? Order means nothing here either, but tokens must be compared.

In the first two, rows come in pairs: row 2i has the answer 1, row 2i + 1 the answer 0, and both hold the same
tokens. A model that does not see the order gives both rows of a pair the same answer, so it is right exactly
half the time: check by hand that `tokens.sort(dim=1)` has equal neighbours. All data are random and made
here.
"""

from functools import partial

import torch

from course_lib import heads, models, training
from course_lib.tasks import fresh

A, B = 0, 1  # the two tokens that `a_before_b` asks about


def increasing(n, T=8, vocab_size=20, seed=0):
    """n rows (n even): tokens int64 (n, T), labels int64 (n,): 1 = strictly increasing, 0 = the same tokens
    shuffled.
    """
    _check_pairs(n)
    if not 2 <= T <= vocab_size:
        raise ValueError(f"T different tokens are needed: 2 ≤ T ≤ vocab_size; got T = {T}, vocab_size = {vocab_size}")
    generator = torch.Generator().manual_seed(seed)
    rising = torch.rand(n // 2, vocab_size, generator=generator).argsort(dim=1)[:, :T].sort(dim=1).values
    return _pairs(rising, rising.gather(1, _other_orders(n // 2, T, generator)))


def a_before_b(n, T=10, vocab_size=20, seed=0):
    """n rows (n even): tokens int64 (n, T), labels int64 (n,): 1 = token 0 comes before token 1, 0 = after
    it.

    Tokens 0 and 1 occur once in each row; the other T − 2 are drawn from 2 … vocab_size − 1. The two rows of
    a pair differ only in that 0 and 1 have changed places.
    """
    _check_pairs(n)
    if T < 2 or vocab_size < 3:
        raise ValueError(f"T must be at least 2 and vocab_size at least 3; got T = {T}, vocab_size = {vocab_size}")
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(2, vocab_size, (n // 2, T), generator=generator)
    places = torch.rand(n // 2, T, generator=generator).argsort(dim=1)[:, :2].sort(dim=1).values
    before = tokens.scatter(1, places, torch.tensor([A, B]).expand(n // 2, 2))
    after = tokens.scatter(1, places, torch.tensor([B, A]).expand(n // 2, 2))
    return _pairs(before, after)


def sum_above_median(n, T=10, vocab_size=20, seed=0):
    """n rows of independent uniform tokens: tokens int64 (n, T), labels int64 (n,): 1 = the sum is above the
    median.

    The median is that of the true distribution, not of the sample. A sum that equals it counts as "not
    above".
    """
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(vocab_size, (n, T), generator=generator)
    return tokens, (tokens.sum(dim=1) > median_of_sum(T, vocab_size)).long()


def occurs_twice(n, T=6, vocab_size=12, seed=0):
    """n rows (n even): tokens int64 (n, T), labels int64 (n,): 1 = one token occurs twice, 0 = all are different.

    The two rows of a pair differ in one token. Over many rows each token is as frequent under 1 as under 0, so that
    no sum over single tokens can tell: tokens have to be compared.
    """
    _check_pairs(n)
    if not 2 <= T <= vocab_size:
        raise ValueError(f"T different tokens are needed: 2 ≤ T ≤ vocab_size; got T = {T}, vocab_size = {vocab_size}")
    generator = torch.Generator().manual_seed(seed)
    different = torch.rand(n // 2, vocab_size, generator=generator).argsort(dim=1)[:, :T]
    places = torch.rand(n // 2, T, generator=generator).argsort(dim=1)[:, :2]  # copied from, copied to
    twice = different.scatter(1, places[:, 1:], different.gather(1, places[:, :1]))
    return _pairs(twice, different)


def median_of_sum(T, vocab_size):
    """Median of the sum of T independent uniform tokens from 0 … vocab_size − 1: the middle, by symmetry."""
    return T * (vocab_size - 1) / 2


def _check_pairs(n):
    if n % 2 or n < 2:
        raise ValueError(f"rows come in pairs, so n must be even and at least 2; got {n}")


def _other_orders(n, T, generator):
    """n orders of T places, int64 (n, T), none of them the order as it was."""
    orders = torch.rand(n, T, generator=generator).argsort(dim=1)
    while (same := (orders == torch.arange(T)).all(dim=1)).any():
        orders[same] = torch.rand(int(same.sum()), T, generator=generator).argsort(dim=1)
    return orders


def _pairs(positive, negative):
    """Rows of the two tensors in turn, with their labels 1, 0, 1, 0, …"""
    tokens = torch.stack([positive, negative], dim=1).flatten(0, 1)
    return tokens, torch.tensor([1, 0]).repeat(len(positive))


QUESTION = 20  # a token that no row of the tasks above contains, with their default vocabulary of 20


def asked(make, n, seed=0):
    """n rows of `make` (`increasing` or `a_before_b`) with one token more at the end, the same in all: the question.

    Returns tokens int64 (n, T + 1), labels int64 (n,). The question is a place to answer from that gives nothing away.
    """
    tokens, labels = make(n, seed=seed)
    return torch.cat([tokens, torch.full((n, 1), QUESTION)], dim=1), labels


def train_classifier(make, positions, *, causal=False, n_layers=1, pooling="mean", steps=80, lr=8e-3, seed=0):
    """A yes-or-no classifier of width 32 with 4 heads, trained on fresh rows of `asked(make, …)`.

    positions: as in `models.TransformerConfig`; causal: a Decoder reads instead of an Encoder; pooling: as in
    `heads.Classifier`. Returns the model.
    """
    training.set_seed(seed)
    config = models.TransformerConfig(vocab_size=QUESTION + 1, d_model=32, n_heads=4, n_layers=n_layers, d_ff=64,
                                      max_len=32, positions=positions)  # fmt: skip
    body = models.Decoder(config) if causal else models.Encoder(config)
    model = heads.Classifier(body, n_classes=2, pooling=pooling)
    batches = fresh.FreshBatches(partial(asked, make), batch_size=64, steps=steps, seed=seed)
    for _ in training.train(model, batches, lr=lr):
        pass
    return model


@torch.no_grad()
def accuracy(model, make, n=2000, seed=1_000_000):
    """Share of n rows of `asked(make, …)` that get the right answer."""
    tokens, labels = asked(make, n, seed)
    return (model(tokens).argmax(dim=-1) == labels).float().mean().item()
