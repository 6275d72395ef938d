"""Two tasks that can be asked at any length, to see what a model does beyond the length it was trained on.

* last_value: markers and values take turns. At a marker, say which value followed this marker the last time.
  Far tokens matter little here: each marker comes back soon.
* shift: say which token stood k places back. Only the distance matters.

Where the answer is not defined (a marker's first time; the first k places) the target is -100, which the loss
ignores. All data are random and made here, so the truth is known at every place.
"""

import torch

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
