"""Which query may look at which key. A mask is a bool tensor, and True means *may attend*."""

import torch


def causal_mask(n, device=None):
    """The mask of a sequence read from left to right: a query sees its own position and the ones before.

    Returns bool (n, n), True on and below the diagonal.
    Source: Vaswani et al. 2017, section 3.2.3.
    """
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()


def prefix_mask(n_prefix, n, device=None):
    """The mask of a sequence whose first n_prefix tokens are given as a whole, and whose others are written one by one.

    Every query sees the whole prefix; those behind it see themselves and what came before as well. n_prefix = 0 is a
    decoder's mask, n_prefix = n an encoder's. Returns bool (n, n). Source: Raffel et al. 2020, section 3.2.1.
    """
    mask = causal_mask(n, device)
    mask[:, :n_prefix] = True
    return mask


def padding_mask(lengths, max_len=None):
    """Which tokens of a padded batch are real.

    lengths: how many real tokens each sequence has, (B,); max_len: the padded length, by default the longest.
    Returns bool (B, max_len), True = real token. Hand it over as `padding=`, never as `mask=`.
    """
    lengths = torch.as_tensor(lengths)
    if lengths.ndim != 1 or lengths.is_floating_point() or lengths.dtype == torch.bool:
        got = f"{lengths.dtype} {tuple(lengths.shape)}"
        raise ValueError(f"lengths must be whole numbers, one per sequence, (B,); got {got}")
    longest = int(lengths.max()) if len(lengths) else 0
    max_len = longest if max_len is None else max_len
    if longest > max_len or (lengths < 0).any():
        raise ValueError(f"lengths must lie between 0 and max_len = {max_len}; got {lengths.tolist()}")
    return torch.arange(max_len, device=lengths.device) < lengths[:, None]


def causal_rows(T, S, device=None):
    """The last T rows of the causal mask over S keys, (T, S): newest query aligned to newest key."""
    if T > S:
        raise ValueError(f"causal attention needs at least as many keys as queries; got T = {T}, S = {S}")
    return causal_mask(S, device)[S - T :]


def check_mask(mask, scores_shape):
    """Raise ValueError unless mask is bool and broadcasts to scores_shape, (…, T, S)."""
    if mask.dtype != torch.bool:
        got = f"{mask.dtype} of shape {tuple(mask.shape)}"
        raise ValueError(f"mask must be bool, True = may attend; got {got}")
    sizes = zip(reversed(mask.shape), reversed(scores_shape), strict=False)
    if mask.ndim > len(scores_shape) or any(m not in (1, s) for m, s in sizes):
        shapes = f"{tuple(mask.shape)} does not fit scores of shape {tuple(scores_shape)}"
        raise ValueError(f"mask of shape {shapes}")


def mask_per_head(mask, padding=None):
    """One mask for scores of shape (B, h, T, S), out of what a caller may hand over.

    mask: None, (T, S), (B, T, S), where a head axis is inserted, or (B|1, h|1, T|1, S);
    padding: None or bool (B, S), True = real token. Returns None if there is nothing to mask.
    """
    if mask is not None and mask.ndim == 3:
        mask = mask[:, None]
    if padding is None:
        return mask
    if padding.dtype != torch.bool or padding.ndim != 2:
        got = f"{padding.dtype} {tuple(padding.shape)}"
        raise ValueError(f"padding must be bool (B, S), True = real token; got {got}")
    padding = padding[:, None, None, :]
    return padding if mask is None else mask & padding


def last_real(padding):
    """The index of the last real token of each row: padding (B, T) -> (B,); 0 where there is none."""
    return (padding * torch.arange(padding.shape[1], device=padding.device)).argmax(dim=1)
