"""Work and depth: one attention layer beside one LSTM layer, the chain of steps in each, and the time they take."""

import statistics
import time
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode

from course_lib import attention


class RecurrentLoop(nn.Module):
    """An RNN as a loop in Python, so that each step is to be seen. x (B, T, d_model) -> (B, T, d_model)."""

    def __init__(self, d_model):
        super().__init__()
        self.cell = nn.RNNCell(d_model, d_model)

    def forward(self, x):
        state, states = x.new_zeros(x.shape[0], x.shape[2]), []
        for t in range(x.shape[1]):
            state = self.cell(x[:, t], state)  # needs the state before it
            states.append(state)
        return torch.stack(states, dim=1)


class LSTM(nn.LSTM):
    """nn.LSTM that returns the states alone: x (B, T, d_model) -> (B, T, d_model)."""

    def __init__(self, d_model):
        super().__init__(d_model, d_model, batch_first=True)

    def forward(self, x):
        return super().forward(x)[0]


LAYERS = {"LSTM": LSTM, "attention": partial(attention.MultiHeadAttention, n_heads=4)}


def longest_chain(output):
    """The longest chain of operations, each waiting for the one before, that led to `output`: as autograd saw it."""
    depth, waiting = {}, [output.grad_fn]
    while waiting:
        node = waiting[-1]
        before = [n for n, _ in node.next_functions if n is not None]
        unknown = [n for n in before if n not in depth]
        if unknown:
            waiting += unknown
        else:
            depth[waiting.pop()] = 1 + max((depth[n] for n in before), default=0)
    return depth[output.grad_fn]


class MatrixProducts(TorchFunctionMode):
    """Counts the operations of every matrix product while it is in force: 2 for each number of the one factor and each
    column of the other. (torch.utils.flop_counter sees more kinds of operation, and takes seconds to import.)"""

    operations = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function.__name__ in ("matmul", "__matmul__", "baddbmm"):  # left @ right; the last adds it to something
            left, right = args[-2:]
            self.operations += 2 * left.numel() * right.shape[-1]
        elif function is F.linear:  # x @ weight.T
            self.operations += 2 * args[0].numel() * args[1].shape[0]
        return function(*args, **(kwargs or {}))


@torch.no_grad()
def operations_counted(layer, x, **options):
    """Multiplications and additions of the matrix products in layer(x, **options), counted while it runs."""
    with MatrixProducts() as products:
        layer(x, **options)
    return products.operations


def forward_and_backward(layer, x):
    """One step of training without the optimiser. The gradients are thrown away."""
    layer(x).sum().backward()
    layer.zero_grad()


def milliseconds(T, batch=2, d_model=64, rounds=5, device="cpu", seed=0):
    """{name: median ms of `rounds`} to run each of LAYERS forward and backward; the layers take turns.

    On a CPU: CPU time, one thread. On a GPU: wall time, after it has finished.
    """
    torch.manual_seed(seed)
    layers = {name: make(d_model).to(device) for name, make in LAYERS.items()}
    x, took = torch.randn(batch, T, d_model, device=device), {name: [] for name in LAYERS}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for _ in range(rounds + 1):  # the first warms up and does not count
            for name, layer in layers.items():
                began = clock(device)
                forward_and_backward(layer, x)
                took[name].append(1000 * (clock(device) - began))
    finally:
        torch.set_num_threads(threads)
    return {name: statistics.median(times[1:]) for name, times in took.items()}


def clock(device):
    """Seconds: of CPU time on a CPU; on a GPU, of wall time after everything queued so far is done."""
    if torch.device(device).type == "cpu":
        return time.process_time()
    torch.accelerator.synchronize()
    return time.perf_counter()
