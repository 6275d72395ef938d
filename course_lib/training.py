"""One readable training loop, and what it needs: seeds, a device, threads, batches, shifted targets."""

import os
import random
from itertools import islice
from pathlib import Path

import torch
import torch.nn.functional as F


def set_seed(n):
    """Seed Python's and torch's generators, so that a cell run twice gives the same numbers."""
    random.seed(n)
    torch.manual_seed(n)


def device():
    """The device to compute on: CUDA, else Apple's MPS, else the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def available_cores(quota_file="/sys/fs/cgroup/cpu.max"):
    """CPU cores this process may really use: a container's quota counts, not the host's cores."""
    cores = os.cpu_count() or 1
    try:
        quota, period = Path(quota_file).read_text(encoding="ascii").split()
    except (OSError, ValueError):  # not Linux, or no such group: there is no quota
        return cores
    return cores if quota == "max" else max(1, min(cores, int(quota) // int(period)))


def threads_for(n_parameters):
    """Threads that pay off: one for this course's small models, where a second costs more than it gives."""
    return 1 if n_parameters < 5_000_000 else available_cores()


class Minibatches:
    """Tensors of equal length, shuffled every epoch, cut into batches: tuples of tensors; len counts them."""

    def __init__(self, *tensors, batch_size, epochs=1, seed=0):
        if len({len(t) for t in tensors}) != 1:
            raise ValueError(f"all tensors must have the same length; got {[len(t) for t in tensors]}")
        self.tensors, self.batch_size, self.epochs, self.seed = tensors, batch_size, epochs, seed

    def __len__(self):
        return self.epochs * -(-len(self.tensors[0]) // self.batch_size)

    def __iter__(self):
        generator = torch.Generator().manual_seed(self.seed)
        for _ in range(self.epochs):
            for rows in torch.randperm(len(self.tensors[0]), generator=generator).split(self.batch_size):
                yield tuple(t[rows.to(t.device)] for t in self.tensors)


def shift_right(targets, bos_id):
    """The decoder's input: bos_id first, then every target but the last.

    targets int64 (B, T) -> int64 (B, T). At position t the decoder reads target t - 1 and predicts target t.
    Source: Vaswani et al. 2017, section 3.1.
    """
    shifted = torch.full_like(targets, bos_id)
    shifted[:, 1:] = targets[:, :-1]
    return shifted


def next_token_loss(model, batch):
    """Cross-entropy, in nats, of model(*inputs) against the batch's last tensor; -100 does not count."""
    *inputs, targets = batch
    logits = model(*inputs)
    return F.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=-100)


def train(model, batches, *, loss=None, lr=3e-3, steps=None, weight_decay=0.01):
    """Train model on batches and yield one record a step: {"step", "steps", "loss", "lr"}.

    batches: an iterable of tuples, of inputs and then targets; loss: (model, batch) -> scalar, by default
    `next_token_loss`; lr: the peak of a one-cycle schedule, held constant where the number of steps is
    unknown. The optimiser is AdamW. Nothing happens until the records are read: `for record in train(…)`, or
    `plots.live`.
    """
    loss = next_token_loss if loss is None else loss
    steps = len(batches) if steps is None and hasattr(batches, "__len__") else steps
    optimiser = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=weight_decay)
    one_cycle = torch.optim.lr_scheduler.OneCycleLR
    schedule = one_cycle(optimiser, max_lr=lr, total_steps=steps) if steps and steps > 1 else None
    threads_before = torch.get_num_threads()
    torch.set_num_threads(threads_for(sum(p.numel() for p in model.parameters())))
    model.train()
    try:
        for step, batch in enumerate(islice(batches, steps), start=1):
            value = loss(model, batch)
            optimiser.zero_grad()
            value.backward()
            optimiser.step()
            yield {"step": step, "steps": steps, "loss": value.item(), "lr": optimiser.param_groups[0]["lr"]}
            if schedule is not None and step < steps:
                schedule.step()
    finally:
        torch.set_num_threads(threads_before)
        model.eval()
