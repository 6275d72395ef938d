"""Loss against parameters and tokens, and against depth at equal size, on the real text of text.py, in characters.

Each character is trained on at most once, and the loss is that of a text held out. The learning rate is constant, so
that a long run has the short ones in its beginning: one training gives a point for each number of tokens.
"""

from dataclasses import dataclass

import torch

from course_lib import models, training
from course_lib.tasks import modern, text

BATCH, T = 16, 32  # 512 characters a step


def config_for(vocab_size, d_model, n_layers=1, d_ff=None):
    """A small decoder: rotary positions, feed-forward four times as wide, one matrix for embedding and head."""
    return models.TransformerConfig(
        vocab_size=vocab_size, d_model=d_model, n_heads=2 if d_model < 16 else 4, n_layers=n_layers,
        d_ff=d_ff or 4 * d_model, max_len=T, positions="rotary", tie_embeddings=True,
    )  # fmt: skip


def same_size(vocab_size, d_model, n_layers, parameters):
    """A config of this width and depth with the d_ff that brings it nearest to so many parameters."""
    candidates = [config_for(vocab_size, d_model, n_layers, d_ff) for d_ff in range(8, 40 * d_model, 4)]
    return min(candidates, key=lambda config: abs(modern.size(config) - parameters))


class Corpus:
    """The text as ids, to train on and held out, and its vocabulary's size."""

    def __init__(self):
        words = text.vocabulary()
        self.train, self.held_out = (torch.tensor(words.encode(part)) for part in text.split())
        self.vocab_size = len(words)


def batches(corpus, seed=0):
    """(inputs, targets), each (BATCH, T), until the text is used up."""
    yield from zip(*(tensor.split(BATCH) for tensor in text.windows_once(corpus.train, T, seed)), strict=True)


def held_out_losses(config, corpus, steps=(30, 60, 120), lr=5e-3, seed=0):
    """Nats a character on the held-out text after each of these numbers of steps, from one training."""
    training.set_seed(seed)
    model, losses = models.Decoder(config), []
    for record in training.train(model, batches(corpus, seed), lr=lr):
        if record["step"] in steps:
            losses.append(modern.loss(model, corpus.held_out, T))
        if record["step"] == max(steps):
            return losses
    raise ValueError(f"the text is used up after {record['step']} steps; asked for {max(steps)}")


@dataclass(frozen=True)
class Fit:
    """ln loss = constant − slope_parameters · ln parameters − slope_tokens · ln tokens, by least squares."""

    slopes: torch.Tensor  # (2,): of parameters, of tokens
    errors: torch.Tensor  # (2,): their standard errors
    residuals: torch.Tensor  # (n,): what the line misses, in ln loss


def fit(parameters, tokens, losses):
    """Three lists of n numbers -> Fit. The standard errors take the points as independent, which is only roughly so."""
    parameters, tokens, losses = (torch.tensor(values, dtype=torch.float64).log() for values in (parameters, tokens, losses))
    x = torch.stack([torch.ones_like(losses), -parameters, -tokens], dim=1)  # (n, 3)
    solution = torch.linalg.lstsq(x, losses).solution
    residuals = losses - x @ solution
    variance = residuals.square().sum() / (len(losses) - 3)
    errors = (variance * torch.linalg.inv(x.T @ x).diagonal()).sqrt()
    return Fit(solution[1:], errors[1:], residuals)


def loss_after(config, corpus, steps, lr=1e-2, seed=0):
    """Held-out loss, nats a character, of a model trained for so many steps with the usual one-cycle schedule."""
    training.set_seed(seed)
    model = models.Decoder(config)
    for _ in training.train(model, batches(corpus, seed), lr=lr, steps=steps):
        pass
    return modern.loss(model, corpus.held_out, T)
