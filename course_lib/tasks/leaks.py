"""Five ways to mask a decoder, four of them wrong, and what tells an honest model from one that sees the answer.

A model is trained on text from a Markov source (see `markov`), whose entropy no model can cross on fresh sequences
unless it sees the future. Three measures tell who does: the loss at all positions; the loss at the last one, after
which there is nothing to look at; and what the model writes by itself, scored by the true source.
"""

from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F

from course_lib import generation, models, training
from course_lib.masks import causal_mask
from course_lib.tasks.fresh import FreshBatches

KINDS = ("right", "after the softmax", "inverted", "off by one", "none")


def may_attend(kind, n):
    """The mask that a model of this kind uses: bool (n, n), True = may attend."""
    masks = {
        "right": causal_mask(n),
        "after the softmax": causal_mask(n),  # the right mask in the wrong place
        "inverted": ~causal_mask(n),
        "off by one": torch.ones(n, n, dtype=torch.bool).tril(diagonal=1),
        "none": torch.ones(n, n, dtype=torch.bool),
    }
    if kind not in masks:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}; got {kind!r}")
    return masks[kind]


class MaskedDecoder(models.Decoder):
    """A Decoder with the mask of `may_attend(kind, T)` instead of its own. It takes neither padding nor a cache."""

    def __init__(self, config, kind):
        super().__init__(config)
        self.kind = kind

    def hidden(self, tokens, padding=None, cache=None):
        """tokens (B, T) -> hidden (B, T, d_model)."""
        if padding is not None or cache is not None:
            raise ValueError("a MaskedDecoder takes neither padding nor a cache")
        mask = may_attend(self.kind, tokens.shape[1]).to(tokens.device)
        late = self.kind == "after the softmax"
        options = {"edit": lambda weights: weights * mask} if late else {"mask": mask}
        x, positions = self.embed(tokens)
        for block in self.blocks:
            x = block(x, positions=positions, **options)
        return self.final_norm(x)

    def forward(self, tokens):
        """tokens (B, T) -> logits (B, T, vocab_size)."""
        return self.head(self.hidden(tokens))


def small_config(vocab_size, max_len, d_model=32):
    """A decoder of two layers that trains in two seconds."""
    return models.TransformerConfig(vocab_size, d_model, 4, 2, 4 * d_model, max_len, positions="learned")


def train_masked(kind, source, batches, *, T=16, seed=0, lr=8e-3):
    """A MaskedDecoder of this kind, trained on batches of sequences of length T from a Markov source."""
    training.set_seed(seed)
    model = MaskedDecoder(small_config(source.vocab_size, T), kind)
    for _ in training.train(model, batches, lr=lr):
        pass
    return model


def train_fresh(kind, source, *, steps=120, T=16, seed=0):
    """`train_masked` on fresh sequences: 64 at each step, and none is ever used twice."""
    batches = FreshBatches(partial(source.batch, T=T), batch_size=64, steps=steps, seed=seed)
    return train_masked(kind, source, batches, T=T, seed=seed)


def train_again_and_again(kind, source, *, n=100, epochs=75, T=16, seed=0):
    """`train_masked` on the same n sequences in every epoch. Returns (model, those sequences (n, T + 1))."""
    inputs, targets = source.batch(n, T, seed=seed)
    batches = training.Minibatches(inputs, targets, batch_size=50, epochs=epochs, seed=seed)
    return train_masked(kind, source, batches, T=T, seed=seed), torch.cat([inputs, targets[:, -1:]], dim=1)


@dataclass(frozen=True)
class Evidence:
    """What a model is worth on some sequences, in nats a token."""

    loss: float  # mean over all positions
    standard_error: float  # of that mean, over the sequences
    last: float  # at the last position alone, which has no future to look at
    own: float  # of the model's own samples under the true source


@torch.no_grad()
def losses(model, tokens):
    """Loss at each position, in nats: tokens (B, T + 1) -> (B, T)."""
    logits = model(tokens[:, :-1])
    return F.cross_entropy(logits.transpose(1, 2), tokens[:, 1:], reduction="none")


def evidence(model, source, tokens, *, n_own=200, seed=0):
    """Measure a model on tokens (B, T + 1), and n_own sequences of its own making. Returns an Evidence."""
    found = losses(model, tokens)
    means = found.mean(dim=1)
    first = source.sample(n_own, 1, seed=seed + 2_000_000)
    own = generation.generate(model, first, tokens.shape[1] - 1, cache=False, temperature=1.0, seed=seed)
    return Evidence(
        loss=means.mean().item(),
        standard_error=(means.std() / len(means) ** 0.5).item(),
        last=found[:, -1].mean().item(),
        own=source.score(own).mean().item(),
    )
