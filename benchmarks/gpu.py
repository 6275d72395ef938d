"""Our Triton kernels on a GPU: are they right, and how fast are they? `python -m benchmarks.gpu`, under 6 minutes.

1. What the card can do: bytes a second of a copy, operations a second of a matrix product; the rest is read against these.
2. Ours against float64, forward and gradients, in float32, float16 and bfloat16.
3. Ours beside PyTorch's flash, cuDNN, efficient and math kernels at T = 512 … 16,384, timed with CUDA events.
4. Softmax and rotary beside plain torch, as a share of the speed of a copy.
Prints tables, and ends with 1 if a check failed. Written and checked where no GPU was: `--rehearse` runs every step on a CPU
in Triton's interpreter, at toy sizes, to see that the script itself holds; its times mean nothing.
"""

import statistics
import sys
import time
from functools import partial

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_lib import kernels
from course_lib.attention import explicit_attention
from course_lib.positions import rotary_cos_sin, turn_pairs

REHEARSAL = "--rehearse" in sys.argv
DEVICE = "cpu" if REHEARSAL else "cuda"
BOUNDS = {torch.float32: (2e-6, 5e-6), torch.float16: (2e-3, 2e-3), torch.bfloat16: (2e-2, 2e-2)}  # forward, gradients
LENGTHS = (16, 32) if REHEARSAL else (512, 1024, 2048, 4096, 8192, 16384)
TOKENS, D_MODEL = (32, 32) if REHEARSAL else (16384, 2048)  # B·T and h·d_k stay the same while T grows
BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "cuDNN": SDPBackend.CUDNN_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
}
NOT_THERE = float("nan")


def milliseconds(run, rounds=10):
    """Median over the rounds of one call, by CUDA events; the first two calls compile and warm up."""
    run(), run()
    if REHEARSAL:
        started = time.perf_counter()
        run()
        return 1000 * (time.perf_counter() - started)
    times = []
    for _ in range(rounds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def ceilings():
    """(bytes a second read and written by a copy, operations a second of a float16 matrix product)."""
    n = 2**10 if REHEARSAL else 2**28
    a, size = torch.empty(n, dtype=torch.int8, device=DEVICE), 64 if REHEARSAL else 8192
    b = torch.empty_like(a)
    square = torch.randn(size, size, device=DEVICE, dtype=torch.float32 if REHEARSAL else torch.float16)
    copied = 2 * n / milliseconds(lambda: b.copy_(a)) * 1000
    multiplied = 2 * size**3 / milliseconds(lambda: square @ square) * 1000
    print(f"copy: {copied / 1e9:.0f} GB/s; matrix product in float16: {multiplied / 1e12:.1f} TFLOP/s\n", flush=True)
    return copied, multiplied


def error(result, exact):
    return ((result.double() - exact).abs().max() / exact.abs().max()).item()


def check(dtype, B, h, h_kv, T, S, d_k, causal, padded):
    """Errors of forward and gradients against float64, by max |a - b| / max |b|; NaN anywhere counts as an error."""
    q, k, v = (torch.randn(B, n, m, d_k, device=DEVICE).to(dtype) for n, m in ((h, T), (h_kv, S), (h_kv, S)))
    padding = torch.rand(B, S, device=DEVICE) < 0.8 if padded else None
    if padded:
        padding[:, 0] = False  # the first query of a causal square sees nothing
    inputs = [x.requires_grad_() for x in (q, k, v)]
    doubles = [x.detach().double().requires_grad_() for x in inputs]
    exact, _ = explicit_attention(*doubles, padding[:, None, None, :] if padded else None, causal)
    output = kernels.flash_attention(*inputs, causal, padding)
    pull = torch.randn_like(output)
    gradients = torch.autograd.grad(output, inputs, pull)
    expected = torch.autograd.grad(exact, doubles, pull.double())
    return error(output, exact), max(map(error, gradients, expected))


def check_all():
    """Print the worst errors of each dtype. Returns whether all are within bounds."""
    torch.backends.cuda.matmul.allow_tf32 = False
    small = REHEARSAL
    shapes = [(1, 2, 2, 9, 9, 16), (2, 4, 2, 5, 12, 24)] if small else [
        (2, 8, 8, 128, 128, 64), (2, 8, 2, 100, 333, 64), (1, 4, 4, 1, 77, 128), (1, 4, 1, 65, 65, 40),
        (2, 4, 4, 257, 257, 16), (1, 2, 2, 2048, 2048, 128),
    ]  # fmt: skip
    fine = True
    for dtype in list(BOUNDS)[:2] if small else BOUNDS:
        found = [check(dtype, *shape, causal, padded) for shape in shapes for causal in (False, True) for padded in (False, True)]
        worst = [max(column, key=lambda e: (e != e, e)) for column in zip(*found, strict=True)]  # NaN is the worst
        good = all(e <= bound for e, bound in zip(worst, BOUNDS[dtype], strict=True))
        fine &= good
        verdict = "within bounds" if good else f"WRONG, bounds {BOUNDS[dtype]}"
        print(f"{str(dtype):16} forward {worst[0]:.1e}  gradients {worst[1]:.1e}  {len(found)} cases  {verdict}", flush=True)
    return fine


def timed_backend(backend, q, k, v):
    """Milliseconds of one of PyTorch's kernels; NaN where it refuses these inputs or the memory does not reach."""
    try:
        with sdpa_kernel(backend):
            return milliseconds(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True))
    except RuntimeError as refused:  # torch.OutOfMemoryError is one as well
        print(f"    {backend.name} at T = {q.shape[2]}: {str(refused).splitlines()[0][:90]}")
        return NOT_THERE


def race(dtype, d_k, peak):
    """Ours and PyTorch's kernels, causal, at growing T: milliseconds, and our share of a matrix product's speed."""
    print(f"\ncausal, {dtype}, d_k = {d_k}, {TOKENS} tokens, d_model = {D_MODEL}; milliseconds forward")
    print(f"{'T':>7}{'ours':>9}" + "".join(f"{name:>11}" for name in BACKENDS) + f"{'ours / flash':>14}{'of matmul':>11}")
    for T in LENGTHS:
        shape = (TOKENS // T, D_MODEL // d_k, T, d_k)
        q, k, v = (torch.randn(shape, device=DEVICE).to(dtype) for _ in range(3))
        ours = milliseconds(partial(kernels.flash_attention, q, k, v, causal=True))
        theirs = [timed_backend(backend, q, k, v) for backend in BACKENDS.values()]
        share = 2 * TOKENS * T * D_MODEL / (ours / 1000) / peak  # causal: half of 4·B·h·T²·d_k operations
        print(f"{T:7}{ours:9.3f}" + "".join(f"{t:11.3f}" for t in theirs) + f"{ours / theirs[0]:14.2f}{share:11.0%}", flush=True)


def backward():
    """Forward and backward: ours computes the forward twice, since its backward is PyTorch's."""
    T, dtype = LENGTHS[len(LENGTHS) // 2], torch.float32 if REHEARSAL else torch.float16
    shape = (TOKENS // T, D_MODEL // 16 if REHEARSAL else D_MODEL // 64, T, 16 if REHEARSAL else 64)
    q, k, v = (torch.randn(shape, device=DEVICE).to(dtype).requires_grad_() for _ in range(3))
    ours = milliseconds(lambda: kernels.flash_attention(q, k, v, causal=True).sum().backward())
    theirs = milliseconds(lambda: kernels.fused_attention(q, k, v, causal=True).sum().backward())
    print(f"\nforward and backward, T = {T}: ours {ours:.2f} ms, PyTorch's {theirs:.2f} ms")


def rows(copied):
    """Softmax and rotary: milliseconds, plain torch's, and the share of a copy's speed that ours reaches."""
    x = torch.randn(64 if REHEARSAL else 16384, 64 if REHEARSAL else 4096, device=DEVICE)
    y = torch.randn(1, 2, 8, 16, device=DEVICE) if REHEARSAL else torch.randn(8, 16, 2048, 128, device=DEVICE)
    cos_sin = rotary_cos_sin(torch.arange(y.shape[2]), y)
    pairs = {
        "softmax": (x, lambda: kernels.triton_softmax(x), lambda: x.softmax(-1)),
        "rotary": (y, lambda: kernels.triton_rotary(y, *cos_sin), lambda: turn_pairs(y, *cos_sin)),
    }
    print()
    for name, (moved, ours, theirs) in pairs.items():
        difference = (ours() - theirs()).abs().max().item()
        time_ours, time_theirs = milliseconds(ours), milliseconds(theirs)
        share = 2 * moved.numel() * moved.element_size() / (time_ours / 1000) / copied
        print(f"{name:8} ours {time_ours:.3f} ms ({share:.0%} of a copy's speed), torch {time_theirs:.3f} ms, "
              f"largest difference {difference:.1e}")  # fmt: skip


def main():
    if not REHEARSAL and not torch.cuda.is_available():
        sys.exit("There is no CUDA device here; --rehearse tries the script on a CPU.")
    if kernels.missing():
        sys.exit(kernels.missing())
    started = time.perf_counter()
    torch.manual_seed(0)
    if not REHEARSAL:
        print(torch.cuda.get_device_name(), "torch", torch.__version__, time.strftime("%Y-%m-%d"))
    copied, multiplied = ceilings()
    fine = check_all()
    if not fine:
        print("\nThe times below are those of kernels that are not right.")
    half = torch.float32 if REHEARSAL else torch.float16
    with torch.no_grad():
        for dtype, d_k in ((half, 16),) if REHEARSAL else ((half, 64), (half, 128), (torch.bfloat16, 128)):
            race(dtype, d_k, multiplied)
    backward()
    with torch.no_grad():
        rows(copied)
    print(f"\n{time.perf_counter() - started:.0f} s")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
