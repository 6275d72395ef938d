"""Attempts at the sinusoidal positional encoding."""

import math

import numpy as np
import torch

from tests.mistakes import Collector

collected = Collector()
wrong, right, ANSWERS = collected.wrong, collected.right, collected.answers


def interleaved(angle):
    """sin, cos, sin, cos, … of (n, d / 2) angles."""
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


@wrong("exponent-doubled")
def doubled(n, d):
    i = torch.arange(0, d, 2)
    return interleaved(torch.arange(n)[:, None] / 10000 ** (2 * i / d))


@wrong("exponent-halved")
def halved(n, d):
    i = torch.arange(d // 2)
    return interleaved(torch.arange(n)[:, None] / 10000 ** (i / d))


@wrong("cosine-with-its-own-exponent")
def own_column(n, d):
    pe = torch.zeros(n, d)
    for p in range(n):
        for j in range(d):
            angle = p / 10000 ** (j / d)
            pe[p, j] = math.sin(angle) if j % 2 == 0 else math.cos(angle)
    return pe


@wrong("exponent-from-column-doubled")
def own_column_doubled(n, d):
    angle = torch.arange(n)[:, None] / 10000 ** (2 * torch.arange(d) / d)
    pe = angle.sin()
    pe[:, 1::2] = angle[:, 1::2].cos()
    return pe


@wrong("division-after-the-power")
def no_brackets(n, d):
    return interleaved(torch.arange(n)[:, None] / 10000 ** torch.arange(0, d, 2) / d)


@wrong("division-after-the-power")
def no_brackets_in_floats(n, d):
    return interleaved(torch.arange(n)[:, None] / 10000.0 ** torch.arange(0.0, d, 2) / d)


@wrong("base-wrong")
def base_1000(n, d):
    return interleaved(torch.arange(n)[:, None] / 1000 ** (torch.arange(0, d, 2) / d))


@wrong("base-wrong")
def base_100000(n, d):
    return interleaved(torch.arange(n)[:, None] / 100000 ** (torch.arange(0, d, 2) / d))


@wrong("floor-division")
def floored_log(n, d):
    step = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) // d))
    return interleaved(torch.arange(n)[:, None] * step)


@wrong("exponent-floored")
def floored_exponent(n, d):
    return interleaved(torch.arange(n)[:, None] / 10000.0 ** (torch.arange(0, d, 2) // d))


@wrong("base-and-exponent-exchanged")
def exchanged(n, d):
    return interleaved(torch.arange(n)[:, None] * (torch.arange(0, d, 2) / d) ** (1 / 10000))


@wrong("speed-grows")
def no_minus(n, d):
    return interleaved(torch.arange(n)[:, None] * torch.exp(torch.arange(0, d, 2) * math.log(10000.0) / d))


@wrong("positions-start-at-one")
def from_one(n, d):
    return interleaved(torch.arange(1, n + 1)[:, None] / 10000 ** (torch.arange(0, d, 2) / d))


@wrong("cosine-first")
def cosine_first(n, d):
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
    return torch.stack([angle.cos(), angle.sin()], dim=-1).flatten(1)


@wrong("halves-cosine-first")
def halves_cosine_first(n, d):
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
    return torch.cat([angle.cos(), angle.sin()], dim=-1)


@wrong("sines-only")
def only_sines(n, d):
    pe = torch.zeros(n, d)
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
    pe[:, 0::2] = pe[:, 1::2] = angle.sin()
    return pe


@wrong("cosines-missing")
def odd_columns_empty(n, d):
    pe = torch.zeros(n, d)
    pe[:, 0::2] = (torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)).sin()
    return pe


@wrong("half-as-wide")
def half_width(n, d):
    return (torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)).sin()


@wrong("no-sine-no-cosine")
def angles(n, d):
    return torch.arange(n)[:, None] / 10000 ** (torch.arange(d) // 2 * 2 / d)


@wrong("axis-too-many")
def batch_axis(n, d):
    return interleaved(torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d))[None]


@wrong("axis-in-the-middle")
def as_in_a_tutorial(n, d):
    return interleaved(torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)).unsqueeze(1)


@wrong("transposed")
def turned(n, d):
    return interleaved(torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)).T


@wrong("sizes-exchanged")
def sizes_exchanged(d, n):
    return interleaved(torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d))


@wrong("position-divided-by-n")
def relative_position(n, d):
    return interleaved(torch.arange(n)[:, None] / n / 10000 ** (torch.arange(0, d, 2) / d))


@wrong("times-2-pi")
def full_turns(n, d):
    return interleaved(2 * math.pi * torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d))


@wrong("in-degrees")
def degrees(n, d):
    return interleaved(torch.deg2rad(torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)))


@wrong("exponent-starts-at-one")
def pairs_from_one(n, d):
    return interleaved(torch.arange(n)[:, None] / 10000 ** (2 * torch.arange(1, d // 2 + 1) / d))


@wrong("exponent-reaches-one")
def linspace(n, d):
    return interleaved(torch.arange(n)[:, None] * torch.logspace(0, -4, d // 2))


@wrong("logarithm-base-10")
def log10(n, d):
    return interleaved(torch.arange(n)[:, None] * torch.exp(-torch.arange(0, d, 2) * math.log10(10000.0) / d))


@wrong("multiplied-not-raised")
def star_instead_of_two_stars(n, d):
    pe = torch.zeros(n, d)
    for p in range(n):
        for i in range(0, d, 2):
            angle = p / (10000 * i / d) if i else p / 1e-12
            pe[p, i], pe[p, i + 1] = math.sin(angle), math.cos(angle)
    return pe


@wrong("alternates-by-position")
def by_row(n, d):
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(d) // 2 * 2 / d)
    return torch.where(torch.arange(n)[:, None] % 2 == 0, angle.sin(), angle.cos())


@wrong("left-to-chance")
def learned(n, d):
    return torch.randn(n, d)


@wrong("positions-start-at-one", "row-0-wrong", "first-row-zero", "different-values")
def zero_row_for_padding(n, d):
    pe = interleaved(torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d))
    pe[0] = 0
    return pe


@wrong("times-sqrt-d_model", "wrong-factor")
def scaled_up(n, d):
    return interleaved(torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)) * d**0.5


@wrong("exponent-floored", "whole-numbers", "wrong-dtype", "different-values")
def integer_table(n, d):
    pe = torch.zeros(n, d, dtype=torch.long)
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
    pe[:, 0::2], pe[:, 1::2] = angle.sin(), angle.cos()
    return pe


@wrong("returns-no-tensor")
def array(n, d):
    return interleaved(torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)).numpy()


@wrong("exponent-doubled")
def doubled_in_halves(n, d):
    angle = torch.arange(n)[:, None] / 10000 ** (2 * torch.arange(0, d, 2) / d)
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


@wrong("speeds-wrong", "exponent-odd", "different-values", "exponent-starts-at-one", "one-half-wrong")
def speed_squared(n, d):
    return interleaved(torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d) ** 3)


@right()
def loops(n, d):
    pe = torch.zeros(n, d)
    for p in range(n):
        for i in range(0, d, 2):
            angle = p / 10000 ** (i / d)
            pe[p, i], pe[p, i + 1] = math.sin(angle), math.cos(angle)
    return pe


@right()
def exp_log(n, d):
    pe = torch.zeros(n, d)
    step = torch.exp(torch.arange(0, d, 2).float() * (-math.log(10000.0) / d))
    p = torch.arange(n).unsqueeze(1)
    pe[:, 0::2] = torch.sin(p * step)
    pe[:, 1::2] = torch.cos(p * step)
    return pe


@right("float64")
def with_numpy(n, d):
    angle = np.arange(n)[:, None] / np.power(10000, np.arange(0, d, 2) / d)
    return torch.from_numpy(np.stack([np.sin(angle), np.cos(angle)], -1).reshape(n, d))


@right()
def phase(n, d):
    j = torch.arange(d)
    angle = torch.arange(n)[:, None] / 10000 ** ((j - j % 2) / d)
    return torch.sin(angle + torch.pi / 2 * (j % 2))


@right("interleave")
def halves(n, d):
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


@right("odd d_model it returns a table all the same")
def odd_sizes_too(n, d):
    pe = torch.zeros(n, d)
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
    pe[:, 0::2] = angle.sin()
    pe[:, 1::2] = angle.cos()[:, : d // 2]
    return pe


@right("odd d_model it stops with RuntimeError")
def odd_sizes_crash(n, d):
    pe = torch.zeros(n, d)
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
    pe[:, 0::2] = angle.sin()
    pe[:, 1::2] = angle.cos()
    return pe
