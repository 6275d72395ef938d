"""One readable training loop, and what it needs: seeds, a device, threads, batches, shifted targets."""

import math
import os
import random
from itertools import islice

import torch
import torch.nn.functional as F

from course_lib.cgroups import cpu_quota


def set_seed(n):
    """Seed Python's and torch's generators, so that a cell run twice gives the same numbers."""
    random.seed(n)
    torch.manual_seed(n)


def device():
    """The device to compute on: CUDA, else Apple's MPS, else the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def available_cores():
    """CPU cores this process may really use: a container's quota and share of cores count, not the host's cores."""
    pinned = getattr(os, "sched_getaffinity", None)  # Linux only
    cores = len(pinned(0)) if pinned else os.cpu_count() or 1
    return max(1, min(cores, int(cpu_quota() or cores)))


# torch starts a thread for each core of the host; in a container that may use few of them, all would wait for each other
if torch.get_num_threads() > available_cores():
    torch.set_num_threads(available_cores())


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


def mask_tokens(tokens, chosen, mask_id, special):
    """What a masked-token objective reads, and what it is asked: hide the chosen tokens, ask for these alone.

    tokens int64 (B, T); chosen, special: bool (B, T). A special token (padding, [CLS], …) is never hidden, even where it
    is chosen. Returns inputs (B, T), with mask_id at the hidden places, and targets (B, T): there the token, elsewhere
    -100, which no loss counts. Source: Devlin et al. 2019, section 3.1, task 1, without its random replacements.
    """
    hidden = chosen & ~special
    return tokens.masked_fill(hidden, mask_id), tokens.masked_fill(~hidden, -100)


def next_token_loss(model, batch):
    """Cross-entropy, in nats, of model(*inputs) against the batch's last tensor; -100 does not count."""
    *inputs, targets = batch
    logits = model(*inputs)
    return F.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=-100)


class AdamW:
    """Adam with decoupled weight decay: .step(lr, beta_1) moves every parameter that has a gradient.

    Equal to torch.optim.AdamW, which imports torch's compiler (four CPU seconds, 150 MB) at its first use.
    Source: Loshchilov and Hutter 2019, algorithm 2.
    """

    def __init__(self, parameters, weight_decay=0.01, beta_2=0.999, eps=1e-8):
        self.weight_decay, self.beta_2, self.eps = weight_decay, beta_2, eps
        self.moments = [(p, torch.zeros_like(p), torch.zeros_like(p), [0]) for p in parameters if p.requires_grad]

    @torch.no_grad()
    def step(self, lr, beta_1=0.9):
        moved = [moments for moments in self.moments if moments[0].grad is not None]
        if not moved:
            return
        parameters, means, squares, steps = map(list, zip(*moved, strict=True))
        gradients = [parameter.grad for parameter in parameters]
        for count in steps:
            count[0] += 1
        # _foreach_: the same for each tensor of a list, in one call where hundreds would take longer than the arithmetic
        torch._foreach_mul_(parameters, 1 - lr * self.weight_decay)
        torch._foreach_lerp_(means, gradients, 1 - beta_1)
        torch._foreach_mul_(squares, self.beta_2)
        torch._foreach_addcmul_(squares, gradients, gradients, 1 - self.beta_2)
        sizes = torch._foreach_sqrt(squares)
        torch._foreach_div_(sizes, [math.sqrt(1 - self.beta_2 ** count[0]) for count in steps])
        torch._foreach_add_(sizes, self.eps)
        torch._foreach_addcdiv_(parameters, means, sizes, [-lr / (1 - beta_1 ** count[0]) for count in steps])

    def zero_grad(self):
        for parameter, *_ in self.moments:
            parameter.grad = None


def one_cycle(step, steps, peak):
    """(learning rate, beta_1) at this step, from 1: up to the peak in the first 30%, then down to nearly 0.

    Both follow half a cosine; beta_1 goes the other way, .95 to .85 and back. Equal to
    torch.optim.lr_scheduler.OneCycleLR. Source: Smith and Topin 2019.
    """
    top = 0.3 * steps - 1
    if step - 1 <= top:
        way, start, end = (step - 1) / top, (peak / 25, 0.95), (peak, 0.85)
    else:
        way, start, end = (step - 1 - top) / (steps - 1 - top), (peak, 0.85), (peak / 250_000, 0.95)
    near = (1 + math.cos(math.pi * way)) / 2
    return tuple(b + (a - b) * near for a, b in zip(start, end, strict=True))


def train(model, batches, *, loss=None, lr=3e-3, steps=None, weight_decay=0.01):
    """Train model on batches and yield one record a step: {"step", "steps", "loss", "lr"}.

    batches: an iterable of tuples, of inputs and then targets; loss: (model, batch) -> scalar, by default
    `next_token_loss`; lr: the peak of a one-cycle schedule, held constant where the number of steps is
    unknown. The optimiser is AdamW. Nothing happens until the records are read: `for record in train(…)`, or
    `plots.live`.
    """
    loss = next_token_loss if loss is None else loss
    steps = len(batches) if steps is None and hasattr(batches, "__len__") else steps
    optimiser = AdamW(model.parameters(), weight_decay)
    threads_before = torch.get_num_threads()
    torch.set_num_threads(threads_for(sum(p.numel() for p in model.parameters())))
    model.train()
    try:
        for step, batch in enumerate(islice(batches, steps), start=1):
            rate, beta_1 = one_cycle(step, steps, lr) if steps and steps > 1 else (lr, 0.9)
            with torch.enable_grad():  # an interrupt inside torch's own no_grad may have left gradients off for good
                value = loss(model, batch)
                optimiser.zero_grad()
                value.backward()
            optimiser.step(rate, beta_1)
            yield {"step": step, "steps": steps, "loss": value.item(), "lr": rate}
    finally:
        torch.set_num_threads(threads_before)
        model.eval()
