"""What a model costs to run: operations counted twice, time measured, and joules as a stated power times time.

Nothing here measures energy. A processor's power is an assumption, and it stays a range up to the last line.
"""

import time

import torch

from course_lib import training
from course_lib.kernels.which import profiled


def forward_flops(config, B, T):
    """Floating-point operations of one pass of a Decoder over B sequences of T tokens, by part: {part: int}.

    A product of matrices (m, n) and (n, p) counts 2·m·n·p: one multiplication and one addition each. Additions,
    norms, softmax and activations are left out, as is usual: they are few.
    """
    d = config.d_model
    weights = config.n_layers * (4 * d * d + 2 * d * config.d_ff) + d * config.vocab_size  # in matrices
    return {"matrices": 2 * B * T * weights, "scores and averages": config.n_layers * 2 * (2 * B * T * T * d)}


PRODUCTS = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"}  # torch's products of matrices


def counted_flops(run):
    """Operations of the products of matrices that torch's profiler sees while `run()` is called: an int."""
    events = profiled(run, flops=True).key_averages()
    return sum(event.flops for event in events if event.key in PRODUCTS)


def seconds_per_step(model, inputs, targets, steps=12):
    """CPU seconds of one training step: the median of `steps`, after two to warm up. The model is trained by it."""
    seconds, before = [], time.process_time()
    for _ in training.train(model, [(inputs, targets)] * (steps + 2)):
        seconds.append(time.process_time() - before)
        before = time.process_time()
    return torch.tensor(seconds[2:]).median().item()


def cpu_seconds():
    """CPU seconds of this Python process since it started: in a notebook, all that you have run in it."""
    return time.process_time()


def joules(seconds, watts):
    """Power times time. watts: (low, high) -> (low, high) in joules."""
    return tuple(seconds * power for power in watts)
