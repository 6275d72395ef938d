"""Two tasks that can be asked at any length, to see what a model does beyond the length it was trained on.

* last_value: markers and values take turns. At a marker, say which value followed this marker the last time.
  Far tokens matter little here: each marker comes back soon.
* shift: say which token stood k places back. Only the distance matters.

Where the answer is not defined (a marker's first time; the first k places) the target is -100, which the loss
ignores. All data are random and made here, so the truth is known at every place.
"""

from functools import partial

import torch

from course_lib import models, training
from course_lib.tasks import fresh

IGNORED = -100  # the target that torch's cross-entropy skips


def last_value(n, T=32, n_markers=4, n_values=12, seed=0):
    """n sequences: tokens int64 (n, T), targets int64 (n, T) with -100 where there is no answer.

    Tokens 0 … n_markers − 1 are markers, at even places; the next n_values are values, at odd places. By
    chance: 1 / n_values. A model needs vocab_size = n_markers + n_values.
    """
    _check(T, n_markers=n_markers, n_values=n_values)
    generator = torch.Generator().manual_seed(seed)
    rounds = (T + 1) // 2
    markers = torch.randint(n_markers, (n, rounds), generator=generator)
    values = torch.randint(n_markers, n_markers + n_values, (n, rounds), generator=generator)
    tokens = torch.stack([markers, values], dim=2).flatten(1)[:, :T]
    targets = torch.full_like(tokens, IGNORED)
    last = torch.full((n, n_markers), IGNORED)  # the value that followed each marker the last time
    for i in range(rounds):
        marker = markers[:, i : i + 1]
        targets[:, 2 * i] = last.gather(1, marker)[:, 0]
        last.scatter_(1, marker, values[:, i : i + 1])
    return tokens, targets


def shift(n, T=32, k=2, vocab_size=16, seed=0):
    """n sequences: tokens int64 (n, T), targets int64 (n, T): the token k places back; -100 in the first k
    places.

    Tokens are independent and uniform. By chance: 1 / vocab_size.
    """
    _check(T, k=k, vocab_size=vocab_size)
    if k >= T:
        raise ValueError(f"the token k places back exists only if k < T; got k = {k}, T = {T}")
    tokens = torch.randint(vocab_size, (n, T), generator=torch.Generator().manual_seed(seed))
    targets = torch.full_like(tokens, IGNORED)
    targets[:, k:] = tokens[:, :-k]
    return tokens, targets


def _check(T, **sizes):
    for name, value in {"T": T, **sizes}.items():
        if value < 1:
            raise ValueError(f"{name} must be at least 1; got {value}")


def train_at_length(make, positions, *, T=16, longest=64, d_model=32, steps=300, lr=5e-3, batch_size=32, seed=0):
    """Train a decoder with two layers of four heads on fresh sequences of T tokens, with one kind of positions.

    make: `last_value` or `shift`, with their default vocabulary of 16; positions: as in `models.TransformerConfig`;
    longest: rows of the learned table, of which training reaches the first T. Returns a generator of the records of
    `training.train`, and the model.
    """
    training.set_seed(seed)
    config = models.TransformerConfig(vocab_size=16, d_model=d_model, n_heads=4, n_layers=2, d_ff=2 * d_model,
                                      max_len=longest, positions=positions)  # fmt: skip
    model = models.Decoder(config)
    batches = fresh.FreshBatches(partial(make, T=T), batch_size=batch_size, steps=steps, seed=seed)
    return training.train(model, batches, lr=lr), model


@torch.no_grad()
def accuracy_by_place(model, make, T=64, bin_size=8, n=200, seed=1_000_000):
    """Share of right answers in each run of bin_size places, on n sequences that the model has not seen.

    Returns float32 (T / bin_size,).
    """
    tokens, targets = make(n, T=T, seed=seed)
    asked = targets != IGNORED
    right = (model(tokens).argmax(dim=-1) == targets) & asked
    in_bins = right.sum(dim=0).reshape(-1, bin_size).sum(dim=1)  # (T / bin_size,)
    return in_bins / asked.sum(dim=0).reshape(-1, bin_size).sum(dim=1)


def beyond_training(make, positions, seeds, bin_size=8, *, longest=64, **sizes):
    """Train one model per seed with `train_at_length` and measure each up to `longest`: (seeds, longest / bin_size).

    sizes: options of `train_at_length`.
    """
    curves = []
    for seed in seeds:
        records, model = train_at_length(make, positions, longest=longest, **sizes, seed=seed)
        for _ in records:
            pass
        curves.append(accuracy_by_place(model, make, longest, bin_size))
    return torch.stack(curves)
