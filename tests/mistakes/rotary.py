"""Attempts at rotary positions."""

import math

import torch

from tests.mistakes import Collector

collected = Collector()
wrong, right, ANSWERS = collected.wrong, collected.right, collected.answers


def angles(positions, d_k, base=10000):
    """(T, d_k / 2)"""
    return positions[:, None] / base ** (torch.arange(0, d_k, 2) / d_k)


def turn(x, theta):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * theta.cos() - b * theta.sin(), a * theta.sin() + b * theta.cos()], dim=-1).flatten(-2)


@right()
def filled_in(x, positions):
    theta, out = angles(positions, x.shape[-1]), torch.empty_like(x)
    out[..., 0::2] = x[..., 0::2] * theta.cos() - x[..., 1::2] * theta.sin()
    out[..., 1::2] = x[..., 0::2] * theta.sin() + x[..., 1::2] * theta.cos()
    return out


@right()
def complex_numbers(x, positions):
    theta = angles(positions.double(), x.shape[-1])
    z = torch.view_as_complex(x.double().reshape(*x.shape[:-1], -1, 2).contiguous())
    return torch.view_as_real(z * torch.polar(torch.ones_like(theta), theta)).flatten(-2).to(x.dtype)


@right()
def repeated_angles(x, positions):
    theta = angles(positions, x.shape[-1]).repeat_interleave(2, dim=-1)
    quarter = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)
    return x * theta.cos() + quarter * theta.sin()


@right()
def one_matrix_per_position(x, positions):
    d_k, out = x.shape[-1], []
    for t, p in enumerate(positions.tolist()):
        m = torch.zeros(d_k, d_k, dtype=x.dtype)
        for i in range(0, d_k, 2):
            c, s = math.cos(p / 10000 ** (i / d_k)), math.sin(p / 10000 ** (i / d_k))
            m[i, i], m[i, i + 1], m[i + 1, i], m[i + 1, i + 1] = c, -s, s, c
        out.append(x[..., t, :] @ m.T)
    return torch.stack(out, dim=-2)


@wrong("halves-for-neighbours")
def as_on_the_hub(x, positions):
    theta = angles(positions, x.shape[-1])
    theta, (a, b) = torch.cat([theta, theta], dim=-1), x.chunk(2, dim=-1)
    return x * theta.cos() + torch.cat([-b, a], dim=-1) * theta.sin()


@wrong("pairs-and-angles-disagree")
def half_of_each_library(x, positions):
    theta, (a, b) = angles(positions, x.shape[-1]).repeat_interleave(2, dim=-1), x.chunk(2, dim=-1)
    return x * theta.cos() + torch.cat([-b, a], dim=-1) * theta.sin()


@wrong("turned-backwards")
def minus_in_the_other_line(x, positions):
    return turn(x, -angles(positions, x.shape[-1]))


@wrong("one-angle-for-all-pairs")
def position_only(x, positions):
    return turn(x, positions[:, None].float())


@wrong("exponent-doubled")
def two_times_two_i(x, positions):
    d_k = x.shape[-1]
    return turn(x, positions[:, None] / 10000 ** (2 * torch.arange(0, d_k, 2) / d_k))


@wrong("base-wrong")
def short_clock(x, positions):
    return turn(x, angles(positions, x.shape[-1], base=1000))


@wrong("degrees")
def in_degrees(x, positions):
    return turn(x, torch.deg2rad(angles(positions, x.shape[-1])))


@wrong("ignores-positions")
def counts_by_itself(x, positions):
    return turn(x, angles(torch.arange(x.shape[-2]), x.shape[-1]))


@wrong("uses-the-new-a")
def overwritten(x, positions):
    theta, out = angles(positions, x.shape[-1]), x.clone()
    out[..., 0::2] = out[..., 0::2] * theta.cos() - out[..., 1::2] * theta.sin()
    out[..., 1::2] = out[..., 0::2] * theta.sin() + out[..., 1::2] * theta.cos()
    return out


@wrong("changes-its-input")
def in_place(x, positions):
    theta, a, b = angles(positions, x.shape[-1]), x[..., 0::2].clone(), x[..., 1::2].clone()
    x[..., 0::2] = a * theta.cos() - b * theta.sin()
    x[..., 1::2] = a * theta.sin() + b * theta.cos()
    return x


@wrong("angle-wrong")
def exponent_squared(x, positions):
    d_k = x.shape[-1]
    return turn(x, positions[:, None] / 10000 ** (torch.arange(0, d_k, 2) / d_k) ** 2)


@wrong("position-0-moves")
def cosine_twice(x, positions):
    theta, a, b = angles(positions, x.shape[-1]), x[..., 0::2], x[..., 1::2]
    return torch.stack([a * theta.cos() - b * theta.sin(), a * theta.cos() + b * theta.sin()], dim=-1).flatten(-2)


@wrong("changes-lengths")
def sine_squared(x, positions):
    theta, a, b = angles(positions, x.shape[-1]), x[..., 0::2], x[..., 1::2]
    return torch.stack([a * theta.cos() - b * theta.sin() ** 2, a * theta.sin() + b * theta.cos()], dim=-1).flatten(-2)


@wrong("hard-coded-axes")
def four_axes_only(x, positions):
    _, _, T, d_k = x.shape
    assert T == len(positions)
    return turn(x, angles(positions, d_k))
