"""Where a token stands, told to the model in one of five ways.

Sinusoidal and learned positions are added to the embeddings, once. Rotary and ALiBi act inside every
attention layer: rotary turns queries and keys, ALiBi makes far keys count less. "none" tells the model
nothing.
"""

import math
from functools import lru_cache

import torch
from torch import nn


def sinusoidal_pe(n_positions, d_model, base=10000.0):
    """One fingerprint per position: feature 2i is sin(p / base^(2i / d_model)), feature 2i + 1 its cosine.

    Returns float32 (n_positions, d_model). Raises ValueError if d_model is odd: sines and cosines come in
    pairs.
    Source: Vaswani et al. 2017, section 3.5.
    """
    if d_model % 2 != 0:
        raise ValueError(f"d_model must be even, since sines and cosines come in pairs; got {d_model}")
    position = torch.arange(n_positions, dtype=torch.float64)[:, None]  # (n, 1)
    wavelength = base ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)  # (d_model / 2,)
    angle = position / wavelength  # (n, d_model / 2)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()


def rotary(x, positions, base=10000.0, pairs="interleaved"):
    """Turn pair i of the features by the angle p / base^(2i / d_k): q · k then depends on distance alone.

    x (…, T, d_k), positions (T,) or (B, T), whole numbers, which pairs to turn as in `turn_pairs`. Returns
    the shape of x.
    Raises ValueError if d_k is odd. Source: Su et al. 2021, section 3.2.
    """
    return turn_pairs(x, *rotary_cos_sin(positions, x, base), pairs)


def rotary_cos_sin(positions, x, base=10000.0):
    """Cosine and sine of the angle of every pair, (T, d_k / 2) or (B, 1, T, d_k / 2), for x (…, T, d_k)."""
    d_k = x.shape[-1]
    if d_k % 2 != 0:
        raise ValueError(f"rotary positions turn pairs of features, so d_k must be even; got {d_k}")
    wavelength = base ** (torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)  # (d_k / 2,)
    angle = positions.cpu()[..., None] / wavelength  # float64: in float32 far angles are off by 1e-4
    angle = angle[:, None] if positions.ndim == 2 else angle  # one row of angles serves all heads
    return angle.cos().to(x), angle.sin().to(x)


def turn_pairs(x, cos, sin, pairs="interleaved"):
    """Rotate each pair (a, b) of the last axis to (a cos - b sin, a sin + b cos).

    pairs: which features belong together: "interleaved" (0, 1), (2, 3), … as in the paper, or "halves"
    (0, d_k / 2), (1, d_k / 2 + 1), … as in LLaMA's files on the hub. Trained weights fit only one of the two.
    """
    a, b = (x[..., 0::2], x[..., 1::2]) if pairs == "interleaved" else x.chunk(2, dim=-1)
    turned = a * cos - b * sin, a * sin + b * cos
    return torch.stack(turned, dim=-1).flatten(-2) if pairs == "interleaved" else torch.cat(turned, dim=-1)


def alibi_slopes(n_heads):
    """How fast each head forgets with distance: 2^(-8/h), 2^(-16/h), …, 2^(-8). Returns float32 (n_heads,).

    For other numbers of heads than powers of two, every second slope of the next power fills up.
    Source: Press, Smith and Lewis 2022, section 3.
    """
    power = 2 ** int(math.log2(n_heads))
    slopes = [2.0 ** (-8 * (i + 1) / power) for i in range(power)]
    between = [2.0 ** (-4 * (i + 1) / power) for i in range(0, 2 * power, 2)]
    return torch.tensor((slopes + between)[:n_heads])


def alibi_bias(n_heads, T):
    """What ALiBi adds to the scores, (h, T, T): each step away costs a head its slope.

    Entry (head, i, j) is -slope · |i - j|. Source: Press, Smith and Lewis 2022, section 3.
    """
    position = torch.arange(T)
    return -alibi_slopes(n_heads)[:, None, None] * (position[:, None] - position).abs()  # (h, T, T)


class Positions(nn.Module):
    """No positions; and the form of the other four: what is added to x, what happens inside attention."""

    def add(self, x, positions):
        """x (B, T, d_model) with the positions (T,) or (B, T) added where this kind does so."""
        return x

    def inside(self, positions, x):
        """None, or a function (q, k) -> (q, k) that every attention layer calls; dtype and device are x's."""
        return None


class Sinusoidal(Positions):
    """Adds `sinusoidal_pe`: nothing to learn, and defined at any length."""

    def add(self, x, positions):
        length = int(positions.max()) + 1 if positions.numel() else 0
        table = _table(sinusoidal_pe, max(64, 2 ** math.ceil(math.log2(length + 1))), x.shape[-1])
        return x + table[positions.cpu()].to(x)


@lru_cache(maxsize=32)
def _table(make, n_positions, d_model):
    """The rows of `make`, kept: generating a token must not compute the whole table again."""
    with torch.inference_mode(False):
        return make(n_positions, d_model)


class Learned(Positions):
    """Adds one trained vector per position, up to max_len and not one further."""

    def __init__(self, max_len, d_model):
        super().__init__()
        self.table = nn.Embedding(max_len, d_model)

    def add(self, x, positions):
        max_len = self.table.num_embeddings
        if positions.numel() and int(positions.max()) >= max_len:
            furthest = int(positions.max())
            raise ValueError(f"learned positions end before max_len = {max_len}; got position {furthest}")
        return x + self.table(positions.to(x.device))


class Rotary(Positions):
    """Turns queries and keys by angles that grow with the position: see `rotary`."""

    def __init__(self, base=10000.0, pairs="interleaved"):
        super().__init__()
        self.base, self.pairs = base, pairs

    def inside(self, positions, x):
        tables = {}  # made by the first layer, read by the others

        def turn(q, k):
            if not tables:
                tables["cos"], tables["sin"] = rotary_cos_sin(positions, q, self.base)
            return turn_pairs(q, **tables, pairs=self.pairs), turn_pairs(k, **tables, pairs=self.pairs)

        return turn


class Alibi(Positions):
    """Adds `alibi_bias` to the scores, by features appended to q and k: so any attention kernel can run it.

    q' · k' = q · k + extra_q · extra_k. The softmax ignores what is the same for all keys of a query, so
    where only the past is seen, slope · j stands for slope · (j - i). Seeing both sides takes a feature per
    position.
    """

    def __init__(self, n_heads, causal):
        super().__init__()
        self.n_heads, self.causal = n_heads, causal

    def inside(self, positions, x):
        at = positions.cpu()  # (T,) or (B, T)
        at = at[:, None] if at.ndim == 2 else at  # (B, 1, T): one row serves all heads
        slope = alibi_slopes(self.n_heads)[:, None, None]  # (h, 1, 1)
        if self.causal:
            extra_q = slope.expand(-1, at.shape[-1], 2)  # (h, T, 2)
            extra_k = torch.stack([at // 256 * 256, at % 256], dim=-1)  # in two parts: bfloat16 counts to 256
        else:
            extra_q = -slope * (at[..., :, None] - at[..., None, :]).abs()  # (…, h, T, T)
            extra_k = torch.eye(at.shape[-1])

        def extend(q, k):
            d_k = q.shape[-1]
            wider = d_k + extra_q.shape[-1]
            q = q * math.sqrt(wider / d_k)  # attention divides by √wider; the scores must be those of √d_k
            bias = extra_q.to(q) * math.sqrt(wider)
            q = torch.cat([q, bias.expand(*q.shape[:-1], -1)], dim=-1)
            return q, torch.cat([k, extra_k.to(k).expand(*k.shape[:-1], -1)], dim=-1)

        return extend


def position_ids(T, start=0, padding=None):
    """The positions of the newest T tokens: (T,), counted from start; or (B, T), counting real tokens alone.

    padding: bool (B, S), True = real token, S ≥ T: it covers the tokens before the newest T as well. A token of
    padding gets the place where it stands, which no real token can notice.
    """
    if padding is None:
        return torch.arange(start, start + T)
    place = torch.arange(padding.shape[1], device=padding.device)
    return torch.where(padding, padding.cumsum(dim=-1) - 1, place)[:, padding.shape[1] - T :]
