"""Rotary positions in Triton: one program turns all pairs of one token of one head.

The same as `positions.turn_pairs` with interleaved pairs, without the three tensors that it makes on the way.
Importing this file needs Triton (see `triton_here`).
"""

import torch
import triton
import triton.language as tl


@triton.jit
def rotary_row(X, COS, SIN, OUT, T, n_pairs, BLOCK: tl.constexpr):
    """Row number program_id of X (rows, 2·n_pairs), T rows a head; COS, SIN (T, n_pairs). BLOCK: a power of 2."""
    row = tl.program_id(0).to(tl.int64)
    pair = tl.arange(0, BLOCK)
    inside = pair < n_pairs
    cos = tl.load(COS + row % T * n_pairs + pair, mask=inside, other=1.0).to(tl.float32)
    sin = tl.load(SIN + row % T * n_pairs + pair, mask=inside, other=0.0).to(tl.float32)
    place = row * 2 * n_pairs + 2 * pair
    a = tl.load(X + place, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(X + place + 1, mask=inside, other=0.0).to(tl.float32)
    tl.store(OUT + place, (a * cos - b * sin).to(OUT.dtype.element_ty), mask=inside)
    tl.store(OUT + place + 1, (a * sin + b * cos).to(OUT.dtype.element_ty), mask=inside)


def turn(x, cos, sin):
    """x (…, T, d_k), cos and sin (T, d_k / 2) from `positions.rotary_cos_sin` -> the shape and dtype of x."""
    T, d_k = x.shape[-2:]
    if cos.shape != (T, d_k // 2) or sin.shape != cos.shape or d_k % 2:
        shapes = f"{tuple(cos.shape)} and {tuple(sin.shape)}"
        raise ValueError(f"cos and sin must be (T, d_k / 2) for x of shape {tuple(x.shape)}; got {shapes}")
    x, cos, sin = x.contiguous(), cos.contiguous(), sin.contiguous()
    output = torch.empty_like(x)
    if x.numel():
        BLOCK = triton.next_power_of_2(d_k // 2)
        rotary_row[(x.numel() // d_k,)](x, cos, sin, output, T, d_k // 2, BLOCK=BLOCK)
    return output
