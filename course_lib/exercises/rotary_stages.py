"""Rotary positions in open stages, each with the knobs that turn it wrong: what the slips of `rotary` are made of."""

import math

import torch


def stages(
    x,
    positions,
    *,
    place="p",
    exponent="2i / d",
    base=10000.0,
    speed="divided",
    unit="",
    pairing="neighbours",
    turn="turn",
    part="all",
    after="",
):
    """Positions to angles, angles to cosines and sines, and a turn of each pair. The keywords are the knobs."""
    angle = _places(x, positions, place)[..., None] * _speeds(x.shape[-1], exponent, base, speed)
    angle = angle * {"": 1.0, "to radians": math.pi / 180, "to degrees": 180 / math.pi, "2π": 2 * math.pi}[unit]
    out = _turned(x, angle.cos().to(x), angle.sin().to(x), pairing, turn)
    d_k = x.shape[-1]
    kept = {"all": d_k, "first half": d_k // 2, "first pair": 2}[part]
    out = torch.cat([out[..., :kept], x[..., kept:]], dim=-1)
    return {
        "": out,
        "pair axis left": out.unflatten(-1, (-1, 2)),
        "times √d_k": out * d_k**0.5,
        "plus x": out + x,
        "negated": -out,
    }[after]


def _places(x, positions, place):
    """The position by which each token is turned, float64, broadcast to x without its last axis."""
    p = positions.double()
    T = x.shape[-2]
    if place == "leading axis":  # of the batch, or of the heads: a mistake that needs no error to happen
        return torch.arange(x.shape[0]).double().reshape(-1, *[1] * (x.ndim - 2))
    return {"p": p, "row number": torch.arange(T).double(), "p + 1": p + 1, "p / T": p / T}[place]


def _speeds(d_k, exponent, base, speed):
    """Radians a position, one for each pair."""
    i = torch.arange(d_k // 2, dtype=torch.float64)
    e = {
        "2i / d": 2 * i / d_k,
        "i / d": i / d_k,
        "4i / d": 4 * i / d_k,
        "none": 0 * i,
        "reversed": (2 * i / d_k).flip(0),
        "2(i + 1) / d": 2 * (i + 1) / d_k,
        "(2i + 1) / d": (2 * i + 1) / d_k,
        "i": i,
        "i / (d/2 - 1)": i / max(d_k // 2 - 1, 1),
    }[exponent]
    return base**e if speed == "multiplied" else base**-e


def _turned(x, cos, sin, pairing, turn):
    """Take the pairs out of x, turn them, put them back."""
    if pairing in ("halves, angles of neighbours", "neighbours, angles of halves"):
        return _rows_disagree(x, cos, sin, pairing)
    a, b = x.chunk(2, dim=-1) if pairing.startswith("halves") else (x[..., 0::2], x[..., 1::2])
    a, b = TURNS[turn](a, b, cos, sin)
    if pairing in ("halves", "neighbours, joined as halves"):
        return torch.cat([a, b], dim=-1)
    return torch.stack([a, b], dim=-1).flatten(-2)


def _rows_disagree(x, cos, sin, pairing):
    """x · cos + turned(x) · sin, where the columns of cos and sin are laid out for the other kind of pairs."""
    if pairing == "halves, angles of neighbours":
        a, b = x.chunk(2, dim=-1)
        quarter = torch.cat([-b, a], dim=-1)
        return x * cos.repeat_interleave(2, dim=-1) + quarter * sin.repeat_interleave(2, dim=-1)
    quarter = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)
    return x * torch.cat([cos, cos], dim=-1) + quarter * torch.cat([sin, sin], dim=-1)


def _new_a_used(a, b, cos, sin):
    a = a * cos - b * sin
    return a, a * sin + b * cos


TURNS = {
    "turn": lambda a, b, cos, sin: (a * cos - b * sin, a * sin + b * cos),
    "backwards": lambda a, b, cos, sin: (a * cos + b * sin, b * cos - a * sin),
    "plus twice": lambda a, b, cos, sin: (a * cos + b * sin, a * sin + b * cos),
    "minus in both": lambda a, b, cos, sin: (a * cos - b * sin, b * cos - a * sin),
    "minus before b cos": lambda a, b, cos, sin: (a * cos - b * sin, a * sin - b * cos),
    "cos and sin exchanged": lambda a, b, cos, sin: (a * sin - b * cos, a * cos + b * sin),
    "results exchanged": lambda a, b, cos, sin: (a * sin + b * cos, a * cos - b * sin),
    "cosines only": lambda a, b, cos, sin: (a * cos, b * cos),
    "second left as it was": lambda a, b, cos, sin: (a * cos - b * sin, b + 0 * cos),
    "new a used": _new_a_used,
    "added": lambda a, b, cos, sin: (a + sin, b + cos),
    "multiplied": lambda a, b, cos, sin: (a * sin, b * cos),
    "not at all": lambda a, b, cos, sin: (a + 0 * cos, b + 0 * cos),
}
