"""Softmax in Triton: one program per row, one pass over memory.

Plain torch reads and writes the row once for each of its four steps (maximum, subtract and exponentiate, sum, divide).
Here the row is read once, lives in registers while the four steps are done, and is written once. Importing this file
needs Triton (see `triton_here`).
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_row(X, OUT, width, BLOCK: tl.constexpr):
    """Row number program_id of X (rows, width) -> the same row of OUT. BLOCK: a power of 2, at least width."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    inside = column < width
    x = tl.load(X + row * width + column, mask=inside, other=float("-inf")).to(tl.float32)
    biggest = tl.max(x, axis=0)
    anchor = tl.where(biggest == float("-inf"), 0.0, biggest)  # a row of -inf alone has nothing to attend to
    exponentials = tl.exp(x - anchor)
    total = tl.sum(exponentials, axis=0)
    weights = exponentials / tl.where(total == 0.0, 1.0, total)
    tl.store(OUT + row * width + column, weights.to(OUT.dtype.element_ty), mask=inside)


def softmax(x):
    """Softmax over the last axis: x (…, width) -> the same shape and dtype. A row of -inf alone gives 0, never NaN."""
    x = x.contiguous()
    output = torch.empty_like(x)
    if x.numel():
        width = x.shape[-1]
        softmax_row[(x.numel() // width,)](x, output, width, BLOCK=triton.next_power_of_2(width))
    return output
