"""Which attention kernel really ran, and what it held in memory: PyTorch's profiler saw every operator."""

import gc
import os

import torch
from torch.autograd.profiler import profile

# operator -> the name used in this course. What is asked for and what runs may differ: only the profiler knows.
ATTENTION = {
    "TritonFlashAttention": "ours (Triton)",
    "aten::_scaled_dot_product_flash_attention_for_cpu": "flash (CPU)",
    "aten::_scaled_dot_product_flash_attention": "flash (CUDA)",
    "aten::_scaled_dot_product_efficient_attention": "efficient (CUDA)",
    "aten::_scaled_dot_product_cudnn_attention": "cuDNN",
    "aten::_scaled_dot_product_attention_math_for_mps": "math (MPS)",
    "aten::_scaled_dot_product_fused_attention_overrideable": "overridable (other device)",
    "aten::_scaled_dot_product_attention_math": "math",
}
SOFTMAX = "aten::_softmax"


def which_kernel(function, *args, **kwargs):
    """Run function(*args, **kwargs) once, and name the attention kernels that it ran, joined by " + ".

    "explicit" is a softmax of its own, outside all fused attention; "math" is PyTorch's explicit way, which it takes
    where no fast kernel fits; "none" if there was no attention at all.
    """
    events = profiled(function, *args, kwargs=kwargs).function_events
    names = [ATTENTION[event.name] for event in events if event.name in ATTENTION]
    if any(event.name == SOFTMAX and not inside_attention(event) for event in events):
        names.append("explicit")
    return " + ".join(sorted(set(names))) or "none"


def inside_attention(event):
    """Whether one of the operators that called this one is an attention kernel."""
    parent = event.cpu_parent
    while parent is not None and parent.name not in ATTENTION:
        parent = parent.cpu_parent
    return parent is not None


def profiled(function, *args, kwargs=None, memory=False, flops=False):
    """The profiler's record of one call. (torch.profiler.profile is a layer above, and takes seconds to start.)"""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else each use writes two lines into the notebook
    with profile(profile_memory=memory, with_flops=flops) as record:
        function(*args, **(kwargs or {}))
    return record


def peak_bytes(function, *args):
    """Most bytes that the tensors made inside one call held at once; None on a device whose memory has no meter."""
    device = device_of(args)
    if device == "cuda":
        return peak_bytes_cuda(function, *args)
    if device != "cpu":
        return None
    gc.collect()  # what is freed inside the call but was made before would count as negative
    events = profiled(function, *args, memory=True).kineto_results.events()
    held = peak = 0
    for event in sorted((e for e in events if e.name() == "[memory]"), key=lambda event: event.start_ns()):
        held += event.nbytes()  # negative where memory is freed
        peak = max(peak, held)
    return peak


def peak_bytes_cuda(function, *args):
    """The same from CUDA's own meter."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    function(*args)
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def device_of(args):
    """The kind of device that the first tensor among args is on: "cpu", "cuda", "mps", …"""
    return next((a.device.type for a in args if isinstance(a, torch.Tensor)), "cpu")
