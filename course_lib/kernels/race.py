"""A race between ways to compute the same: interleaved, so that a busy machine slows all of them alike."""

import statistics
import time

import torch

from course_lib.kernels.which import device_of, peak_bytes, which_kernel


def race(runners, *args, rounds=7):
    """Time each function of runners, {name: function}, on the same args, round by round.

    Returns one dict per name, in the given order: name; kernel, as `which_kernel` saw it; ms, the median over the
    rounds of CPU milliseconds on a CPU, of wall-clock milliseconds on another device; times_fastest, the median over
    the rounds of its time over that of the runner with the smallest ms; peak, in bytes, as in `peak_bytes`.
    """
    kernels = {name: which_kernel(run, *args) for name, run in runners.items()}  # and a warm-up
    peaks = {name: peak_bytes(run, *args) for name, run in runners.items()}
    device = device_of(args)
    times = {name: [] for name in runners}
    for _ in range(rounds):
        for name, run in runners.items():
            times[name].append(milliseconds(run, args, device))
    medians = {name: statistics.median(spent) for name, spent in times.items()}
    fastest = times[min(medians, key=medians.get)]
    return [
        {
            "name": name,
            "kernel": kernels[name],
            "ms": medians[name],
            "times_fastest": statistics.median(a / b for a, b in zip(times[name], fastest, strict=True)),
            "peak": peaks[name],
        }
        for name in runners
    ]


def milliseconds(run, args, device):
    """CPU time of one call on a CPU, and so little disturbed by others; elsewhere wall-clock time until it is done."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    wait_for(device)
    started = clock()
    run(*args)
    wait_for(device)
    return 1000 * (clock() - started)


def wait_for(device):
    """Until the device has done all that it was given."""
    if device == "cuda":
        torch.cuda.synchronize()
    elif device == "mps":
        torch.mps.synchronize()
