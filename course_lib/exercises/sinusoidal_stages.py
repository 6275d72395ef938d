"""Sinusoidal positions in open stages, with a knob for every decision."""

import math

import torch


def exponents(d, how):
    """For each of the d columns: the exponent of 10000 by which the position is divided. The right one is (j // 2 * 2) / d."""
    j = torch.arange(d, dtype=torch.float64)
    pair = j // 2
    half = max(d // 2, 1)
    return {
        "2i / d": lambda: 2 * pair / d,
        "4i / d": lambda: 4 * pair / d,
        "i / d": lambda: pair / d,
        "j / d": lambda: j / d,
        "2j / d": lambda: 2 * j / d,
        "cosine one further": lambda: 2 * pair / d + (j % 2) * 2 / d,
        "i / (d/2 - 1)": lambda: pair / max(half - 1, 1),
        "2i / (d - 1)": lambda: 2 * pair / max(d - 1, 1),
        "2(i + 1) / d": lambda: 2 * (pair + 1) / d,
        "(2i + 1) / d": lambda: (2 * pair + 1) / d,
        "2(i - 1) / d": lambda: 2 * (pair - 1) / d,
        "2i": lambda: 2 * pair,
        "i": lambda: pair,
        "i // d": lambda: (2 * pair) // d,
        "none": lambda: torch.zeros(d, dtype=torch.float64),
        "one": lambda: torch.ones(d, dtype=torch.float64),
        "reversed": lambda: (2 * pair / d).reshape(-1, 2).flip(0).flatten(),
        "d / 2i": lambda: d / (2 * pair).clamp(min=1e-9),
        "j % 2 only": lambda: 2 * (j % 2) / d,
        "2i / d squared": lambda: (2 * pair / d) ** 2,
        "2i / sqrt d": lambda: 2 * pair / d**0.5,
        "2i / 512": lambda: 2 * pair / 512,
        "2i / (2 d)": lambda: 2 * pair / (2 * d),
    }[how]()


def speeds(d, exponent="2i / d", base=10000.0, speed="base ^ -exponent"):
    """How far each column turns from one position to the next."""
    e = exponents(d, exponent)
    return {
        "base ^ -exponent": lambda: base**-e,
        "base ^ exponent": lambda: base**e,
        "exponent ^ 1/base": lambda: e ** (1 / base),
        "(exponent + tiny) ^ 1/base": lambda: (e + 1e-9) ** (1 / base),
        "exponent ^ base": lambda: e**base,
        "exponent ^ -base": lambda: 1 / (e + 1e-12) ** 1e-4,
        "base · exponent": lambda: base * e,
        "1 / (base · exponent)": lambda: 1 / (base * e).clamp(min=1e-12),
        "1 / base · exponent": lambda: e / base,
        "e ^ -exponent": lambda: torch.exp(-e),
        "log base without minus": lambda: torch.exp(e * math.log(base)),
        "d / base ^ 2i": lambda: d * base ** -(exponents(d, "2i")),
        "1 / base ^ 2i / d": lambda: base ** -exponents(d, "2i") / d,
        "log10": lambda: torch.exp(-e * math.log10(base)),
        "log2": lambda: torch.exp(-e * math.log2(base)),
        "2 ^ -i": lambda: 2.0 ** -(torch.arange(d, dtype=torch.float64) // 2),
        "-log(base) / d // "
        "2": lambda: torch.exp((torch.arange(d, dtype=torch.float64) // 2 * 2) * (-math.log(base) / d // 2)),
        "-log(base) // d": lambda: torch.exp((torch.arange(d, dtype=torch.float64) // 2 * 2) * (-math.log(base) // d)),
        "-(log(base) / d // "
        "2)": lambda: torch.exp((torch.arange(d, dtype=torch.float64) // 2 * 2) * -(math.log(base) / d // 2)),
    }[speed]()


def stages(n_positions, d_model, *, first=0, exponent="2i / d",
           base=10000.0, speed="base ^ -exponent", unit="", layout="sin, cos", after="",
           position="p"):  # fmt: skip
    """Positions times speeds, then sine and cosine, in some layout."""
    n, d = n_positions, d_model
    if position == "sizes exchanged":
        n, d = d, n
    p = torch.arange(first, first + n, dtype=torch.float64)
    p = {"p / n": p / n,
        "p / (n - 1)": p / max(n - 1, 1), "reversed": p.flip(0), "squared": p**2, "root": p.clamp(min=0).sqrt(),
         "none": torch.ones_like(p), "p // 2": p // 2, "2p": 2 * p}.get(position, p)  # fmt: skip
    angle = p[:, None] * speeds(d, exponent, base, speed)
    angle = angle * {
        "degrees": math.pi / 180, "2π": 2 * math.pi, "π": math.pi, "/ 2π": 1 / (2 * math.pi), "": 1.0}[unit]
    pe = _laid_out(angle, layout)
    return _after(pe, n, d, after)


def _laid_out(angle, layout):
    """Sine and cosine of the angles (n, d), whose neighbouring columns are a pair."""
    even, odd = angle[:, 0::2], angle[:, 1::2]
    if layout in ("sin, cos", "cos, sin"):
        pair = (even.sin(), odd.cos()) if layout == "sin, cos" else (even.cos(), odd.sin())
        return torch.stack(pair, -1).flatten(1)
    d = angle.shape[1]
    return {
        "halves": lambda: torch.cat([even.sin(), odd.cos()], 1),
        "halves, cosines first": lambda: torch.cat([even.cos(), odd.sin()], 1),
        "halves of columns": lambda: torch.cat([angle[:, : d // 2].sin(), angle[:, d // 2 :].cos()], 1),
        "all sines": lambda: angle.sin(),
        "all cosines": lambda: angle.cos(),
        "angles": lambda: angle,
        "by position": lambda: torch.where(torch.arange(len(angle))[:, None] % 2 == 0, angle.sin(), angle.cos()),
        "sines only, rest zero": lambda: torch.stack([even.sin(), 0 * odd], -1).flatten(1),
        "sin + cos": lambda: angle.sin() + angle.cos(),
        "sin, -cos": lambda: torch.stack([even.sin(), -odd.cos()], -1).flatten(1),
        "sin, tan": lambda: torch.stack([even.sin(), odd.tan()], -1).flatten(1),
        "only sines": lambda: even.sin(),
        "twice as wide": lambda: torch.cat([angle.sin(), angle.cos()], 1),
        "twice as wide, interleaved": lambda: torch.stack([angle.sin(), angle.cos()], -1).flatten(1),
        "pairs kept apart": lambda: torch.stack([even.sin(), odd.cos()], -1),
        "pairs kept apart, second": lambda: torch.stack([even.sin(), odd.cos()], 1),
        "columns reversed": lambda: torch.stack([even.sin(), odd.cos()], -1).flatten(1).flip(1),
        "pairs reversed": lambda: torch.stack([even.sin(), odd.cos()], -1).flip(1).flatten(1),
    }[layout]()


def _after(pe, n, d, after):
    steps = {
        "batch axis": lambda: pe[None],
        "batch axis in the middle": lambda: pe[:, None],
        "transposed": lambda: pe.transpose(0, 1),
        "times √d": lambda: pe * d**0.5,
        "/ √d": lambda: pe / d**0.5,
        "halved": lambda: pe / 2,
        "between 0 and 1": lambda: (pe + 1) / 2,
        "normed": lambda: pe / pe.norm(dim=-1, keepdim=True),
        "whole numbers": lambda: pe.trunc(),
        "row missing": lambda: pe[:-1],
        "first row zero": lambda: torch.cat([pe[:1] * 0, pe[1:]]),
    }
    return (steps[after]() if after else pe).float()
