"""Our flash attention as a function that torch can differentiate, and the switch that makes the models use it.

Forward is our Triton kernel, `flash.flash_forward`. Backward is PyTorch's: its fused attention is run again from q, k, v,
and differentiated. On a GPU the kernel is compiled; elsewhere Triton's interpreter runs it, which needs no GPU and is slow.
Apple's MPS has no Triton: there, and without Triton, `missing` says so, and the models keep PyTorch's kernel.
"""

from contextlib import contextmanager
from contextvars import ContextVar

import torch

from course_lib.kernels.fused import fused_attention
from course_lib.kernels.triton_here import is_interpreted, load

LARGEST_D_K = 128
_chosen = ContextVar("ours", default=False)  # a widget's thread does not see what a cell has chosen


class TritonFlashAttention(torch.autograd.Function):
    """(q, k, v, causal, padding) -> (output, log-sum-exp); gradients flow through the output only."""

    @staticmethod
    def forward(ctx, q, k, v, causal, padding):
        output, lse = load("flash").launch(q, k, v, causal, padding)
        ctx.causal = causal
        ctx.save_for_backward(q, k, v, padding)
        ctx.mark_non_differentiable(lse)
        return output, lse

    @staticmethod
    def backward(ctx, grad, _):
        *inputs, padding = ctx.saved_tensors
        inputs = [x.detach().requires_grad_() for x in inputs]
        with torch.enable_grad():
            output = fused_attention(*inputs, None if padding is None else padding[:, None, None, :], ctx.causal)
        return *torch.autograd.grad(output, inputs, grad), None, None


def flash_attention(q, k, v, causal=False, padding=None):
    """softmax(q kᵀ / √d_k) v by our Triton kernel, differentiable.

    q (B, h, T, d_k); k, v (B, h_kv, S, d_k), where h_kv divides h; d_k up to 128; float32, float16, or, on a GPU,
    bfloat16. causal: the newest query is aligned to the newest key; padding: bool (B, S), True = real token.
    Returns (B, h, T, d_k): 0 for a query that may attend to nothing.
    Raises ValueError for what does not fit, RuntimeError where Triton cannot run.
    """
    return flash_attention_with_lse(q, k, v, causal, padding)[0]


def flash_attention_with_lse(q, k, v, causal=False, padding=None):
    """As `flash_attention`, and the log of the sum of the exponentiated scores of every query, float32 (B, h, T)."""
    problem = misfit(q, k, v, causal) or padding_misfit(padding, k)
    if problem:
        raise ValueError(problem)
    return TritonFlashAttention.apply(q, k, v, causal, padding)


def misfit(q, k, v, causal=False):
    """Why our kernel cannot compute this, as a sentence; None if it can."""
    shapes = f"got q {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}"
    if q.ndim != 4 or k.shape != v.shape or (q.shape[0], q.shape[3]) != (k.shape[0], k.shape[3]):
        return f"q must be (B, h, T, d_k), k and v (B, h_kv, S, d_k); {shapes}"
    if 0 in q.shape or 0 in k.shape or q.shape[1] % k.shape[1]:
        return f"h_kv must divide h, and nothing may be empty; {shapes}"
    if q.shape[3] > LARGEST_D_K:
        return f"our kernel keeps a whole head in registers, so d_k must be at most {LARGEST_D_K}; {shapes}"
    if causal and q.shape[2] > k.shape[2]:
        return f"causal attention needs at least as many keys as queries; {shapes}"
    device = "cpu" if is_interpreted() else "cuda"
    if {x.device.type for x in (q, k, v)} != {device}:
        return f"our kernel runs on this machine's {device} alone; got tensors on {q.device}, {k.device}, {v.device}"
    known = (torch.float32, torch.float16) if is_interpreted() else (torch.float32, torch.float16, torch.bfloat16)
    if q.dtype not in known or {k.dtype, v.dtype} != {q.dtype}:
        return f"q, k and v must all be one of {', '.join(map(str, known))}; got {q.dtype}, {k.dtype}, {v.dtype}"
    return None


def padding_misfit(padding, k):
    """Why this padding does not go with these keys, as a sentence; None if it does."""
    expected = (k.shape[0], k.shape[2])
    if padding is None or (padding.dtype == torch.bool and padding.shape == expected):
        return None
    return f"padding must be bool (B, S) = {expected}, True = real token; got {padding.dtype} {tuple(padding.shape)}"


@contextmanager
def ours():
    """with ours(): attention runs on our Triton kernel wherever that can compute it, on PyTorch's elsewhere.

    Raises RuntimeError where Triton cannot run.
    """
    load("flash")
    token = _chosen.set(True)
    try:
        yield
    finally:
        _chosen.reset(token)


def chosen_and_fits(q, k, v, mask, causal):
    """Whether `ours` holds here and our kernel can compute this: no mask, or one that only hides keys, (B, 1, 1, S)."""
    if not _chosen.get() or misfit(q, k, v, causal):
        return False
    return mask is None or tuple(mask.shape) == (k.shape[0], 1, 1, k.shape[2])
