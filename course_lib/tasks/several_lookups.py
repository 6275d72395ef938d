"""Several look-ups at once: can one softmax serve k requests?

A shelf holds T values, one at each position. A query names k positions, in order, and the answer is the k values in
that order. The truth is known for every input, and the keys are made from positions alone, so that the weights of a
head depend on nothing but the query. Chance is 1 / n_values for each slot.
"""

from dataclasses import dataclass

import torch
from torch import nn

from course_lib import attention, training


def several_lookups(n, T=12, n_values=10, k=4, seed=0):
    """n random inputs: values int64 (n, T), asked int64 (n, k) distinct positions, answers int64 (n, k)."""
    generator = torch.Generator().manual_seed(seed)
    values = torch.randint(n_values, (n, T), generator=generator)
    asked = torch.rand(n, T, generator=generator).argsort(dim=1)[:, :k]
    return values, asked, values.gather(1, asked)


class LookupModel(nn.Module):
    """One attention layer and a linear read-out: no residual stream, no feed-forward layer, unless `feed_forward`.

    Query: the sum of k pointers, a vector for each (slot, position). Keys: a vector for each position.
    Values: a vector for each value. d_k: width of a head, by default d_model / n_heads.
    feed_forward=True puts a hidden layer, which also sees the query, before the read-out: the counter-case.
    """

    def __init__(self, d_model, n_heads, T=12, n_values=10, k=4, d_k=None, feed_forward=False):
        super().__init__()
        if d_k is None and d_model % n_heads:
            raise ValueError(f"n_heads must divide d_model; got n_heads = {n_heads}, d_model = {d_model}")
        d_k = d_model // n_heads if d_k is None else d_k
        self.n_heads, self.d_k, self.k, self.n_values = n_heads, d_k, k, n_values
        self.pointers = nn.Embedding(k * T, d_model)
        self.places = nn.Parameter(torch.randn(T, d_model))
        self.contents = nn.Embedding(n_values, d_model)
        self.w_q, self.w_k, self.w_v = (nn.Linear(d_model, n_heads * d_k) for _ in range(3))
        self.w_o = nn.Linear(n_heads * d_k, d_model)
        width = 2 * d_model if feed_forward else d_model
        self.hidden = nn.Sequential(nn.Linear(width, 4 * d_model), nn.ReLU(), nn.Linear(4 * d_model, d_model))
        self.hidden = self.hidden if feed_forward else None
        self.readout = nn.Linear(d_model, k * n_values)

    def forward(self, values, asked, need_weights=False):
        """values (B, T), asked (B, k) -> logits (B, k, n_values), and the weights (B, h, T) if wanted."""
        T = values.shape[1]
        slot = torch.arange(self.k, device=asked.device) * T
        x = self.pointers(asked + slot).sum(dim=1, keepdim=True)  # (B, 1, d_model)
        q = attention.split_heads(self.w_q(x), self.n_heads)  # (B, h, 1, d_k)
        k = attention.split_heads(self.w_k(self.places)[None], self.n_heads)  # (1, h, T, d_k)
        v = attention.split_heads(self.w_v(self.contents(values)), self.n_heads)  # (B, h, T, d_k)
        heads, weights = attention.scaled_dot_product_attention(q, k, v)
        output = self.w_o(attention.merge_heads(heads))[:, 0]  # (B, d_model)
        if self.hidden is not None:
            output = self.hidden(torch.cat([output, x[:, 0]], dim=-1))
        logits = self.readout(output).unflatten(-1, (self.k, self.n_values))
        return (logits, weights[:, :, 0]) if need_weights else logits


@dataclass(frozen=True)
class HeadsRun:
    """One trained model, measured: what `explore_heads` shows."""

    accuracy: float  # share of slots answered right, on inputs not trained on
    all_right: float  # share of inputs with every slot right
    n_parameters: int
    d_k: int
    weights: torch.Tensor  # (n_examples, h, T): where each head looks, for a few inputs
    asked: torch.Tensor  # (n_examples, k): where it was asked to look
    model: LookupModel


def train_lookup(d_model=64, n_heads=4, *, n=6000, epochs=15, lr=3e-3, seed=0, n_examples=4, **task):
    """Train one LookupModel and measure it on 2,000 fresh inputs. Returns a HeadsRun.

    task: T, n_values, k for the data and the model; d_k, feed_forward for the model.
    """
    training.set_seed(seed)
    data = {name: task[name] for name in ("T", "n_values", "k") if name in task}
    model = LookupModel(d_model, n_heads, **task)
    batches = training.Minibatches(*several_lookups(n, **data, seed=seed), batch_size=256, epochs=epochs, seed=seed)
    for _ in training.train(model, batches, lr=lr):
        pass
    values, asked, answers = several_lookups(2000, **data, seed=seed + 1_000_000)
    with torch.no_grad():
        logits, weights = model(values, asked, need_weights=True)
    right = logits.argmax(dim=-1) == answers
    return HeadsRun(
        accuracy=right.float().mean().item(),
        all_right=right.all(dim=1).float().mean().item(),
        n_parameters=sum(p.numel() for p in model.parameters()),
        d_k=model.d_k,
        weights=weights[:n_examples],
        asked=asked[:n_examples],
        model=model,
    )
