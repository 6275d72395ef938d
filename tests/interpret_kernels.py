"""Run our Triton kernels in Triton's interpreter, which needs no GPU, and print what came out, as JSON.

A program of its own, since the interpreter must be chosen before Triton is imported by anyone: test_kernels.py starts it.
Errors are max |a - b| / max |b| against float64.
"""

import json
import sys

import torch

from course_lib import attention, kernels
from course_lib.models import Decoder, TransformerConfig
from course_lib.positions import rotary_cos_sin, turn_pairs

DTYPES = {"float32": torch.float32, "float16": torch.float16}
# name: (B, h, h_kv, T, S, d_k)
SIZES = {
    "one query": (1, 2, 2, 1, 9, 16),
    "no whole tile": (2, 2, 2, 7, 7, 16),
    "grouped, more keys": (2, 4, 2, 40, 70, 24),
    "several tiles": (1, 2, 1, 130, 130, 64),
    "wide, fewer keys": (1, 1, 1, 40, 33, 128),
}


def error(result, exact):
    return ((result.double() - exact).abs().max() / exact.abs().max()).item()


def inputs(B, h, h_kv, T, S, d_k, dtype):
    """q, k, v in this dtype, and a padding whose first row hides the first key (so query 0 sees nothing)."""
    q, k, v = torch.randn(B, h, T, d_k), torch.randn(B, h_kv, S, d_k), torch.randn(B, h_kv, S, d_k)
    padding = torch.rand(B, S) < 0.7
    padding[:, 1], padding[0, 0] = True, False
    return [x.to(dtype).requires_grad_() for x in (q, k, v)], padding


def flash_case(size, dtype, causal, padded):
    """Errors of output, gradients and log-sum-exp, and whether what must be zero is."""
    (q, k, v), padding = inputs(*size, dtype)
    q64, k64, v64 = (x.detach().double().requires_grad_() for x in (q, k, v))
    mask = padding[:, None, None, :] if padded else None
    exact, weights = attention.explicit_attention(q64, k64, v64, mask, causal)
    output, lse = kernels.flash_attention_with_lse(q, k, v, causal, padding if padded else None)
    pull = torch.randn(exact.shape)
    gradients = torch.autograd.grad(output, (q, k, v), pull.to(dtype))
    exact_gradients = torch.autograd.grad(exact, (q64, k64, v64), pull.to(dtype).double())
    sees = weights.sum(-1) > 0.5  # (B, h, T)
    scores = q64 @ k64.repeat_interleave(size[1] // size[2], 1).mT / size[5] ** 0.5
    exact_lse = scores.masked_fill(weights == 0, -torch.inf).logsumexp(-1)
    return {
        "output": error(output, exact),
        "gradients": max(map(error, gradients, exact_gradients)),
        "lse": (lse - exact_lse)[sees].abs().max().item(),
        "blind queries": int((~sees).sum()),
        "blind are zero": not (output[~sees].any() or gradients[0][~sees].any()),
        "blind lse": bool((lse[~sees] == -torch.inf).all()),
        "nan": any(x.isnan().any().item() for x in (output, lse, *gradients)),
    }


def model_case():
    """A model whose heads share keys runs on our kernel inside `ours`, on PyTorch's outside, with one result."""
    model = Decoder(TransformerConfig(20, 32, 4, 2, 64, 32, n_kv_heads=2, positions="rotary")).eval()
    tokens, padding = torch.randint(20, (2, 12)), torch.arange(12) < torch.tensor([[12], [9]])
    outside = model(tokens, padding)
    with kernels.ours():
        inside = model(tokens, padding)
        names = [kernels.which_kernel(model, tokens), kernels.which_kernel(model, tokens, need_weights=[0])]
        q = torch.randn(1, 2, 6, 16)
        names += [kernels.which_kernel(attention.attend, q, q, q, torch.ones(6, 6).tril() > 0),
                  kernels.which_kernel(attention.attend, q.double(), q.double(), q.double())]  # fmt: skip
    return {"error": error(inside, outside.double()), "inside": names, "outside": kernels.which_kernel(model, tokens)}


def row_cases():
    """Softmax and rotary, float32 and float16; a row of -inf alone gives 0."""
    x = torch.randn(3, 5, 11)
    x[0, 0], x[1, 1, :4] = -torch.inf, -torch.inf
    exact = x.double().softmax(-1).nan_to_num(0.0)
    turned = torch.randn(2, 3, 9, 6)
    cos_sin = rotary_cos_sin(torch.arange(9), turned.double())
    for name, dtype in DTYPES.items():
        rotary = kernels.triton_rotary(turned.to(dtype), *(c.float() for c in cos_sin))
        yield f"softmax, {name}", error(kernels.triton_softmax(x.to(dtype)), x.to(dtype).double().softmax(-1).nan_to_num(0))
        yield f"rotary, {name}", error(rotary, turn_pairs(turned.to(dtype).double(), *cos_sin))
    assert exact[0, 0].sum() == 0


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    cases = [(n, d, c, p) for n in SIZES for d in DTYPES for c in (False, True) for p in (False, True)]
    flash = {
        f"{name}, {dtype}{', causal' * causal}{', padded' * padded}": flash_case(SIZES[name], DTYPES[dtype], causal, padded)
        for name, dtype, causal, padded in cases
        if not causal or SIZES[name][3] <= SIZES[name][4]
    }
    json.dump({"flash": flash, "rows": dict(row_cases()), "model": model_case()}, sys.stdout)


if __name__ == "__main__":
    main()
