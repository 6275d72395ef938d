"""Recall over a distance: read a token, then others, and say at the end what the first one was.

Only the way from the question to the answer matters, so this measures how far a model can carry something: a
recurrent net through every step in between, attention in one.
"""

from functools import partial

import torch
from torch import nn

from course_lib import heads, models, training
from course_lib.tasks import fresh

VOCAB_SIZE = 10  # by chance: 1 / 10


def first_token(n, T, seed=0):
    """n sequences: tokens int64 (n, T), uniform and independent; labels int64 (n,), the first token of each."""
    tokens = torch.randint(VOCAB_SIZE, (n, T), generator=torch.Generator().manual_seed(seed))
    return tokens, tokens[:, 0].clone()


class RecurrentReader(nn.Module):
    """An RNN or LSTM that reads a sequence and answers from its last state.

    cell: nn.RNN or nn.LSTM; forget_bias: what the LSTM's forget gate starts with. PyTorch's default is about 0,
    which keeps half of the memory at each step; 4 keeps 98 %.
    """

    def __init__(self, cell, d_model=32, forget_bias=None):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB_SIZE, d_model)
        self.cell = cell(d_model, d_model, batch_first=True)
        self.head = nn.Linear(d_model, VOCAB_SIZE)
        if forget_bias is not None:  # the gates lie in the order input, forget, cell, output
            nn.init.constant_(self.cell.bias_hh_l0[d_model : 2 * d_model], forget_bias)

    def forward(self, tokens):
        """tokens (B, T) -> logits (B, vocab_size)."""
        states, _ = self.cell(self.embedding(tokens))  # (B, T, d_model)
        return self.head(states[:, -1])


class AttentionReader(nn.Module):
    """One Transformer block that answers from the last token's place, as the recurrent nets do."""

    def __init__(self, d_model=32):
        super().__init__()
        config = models.TransformerConfig(vocab_size=VOCAB_SIZE, d_model=d_model, n_heads=4, n_layers=1,
                                          d_ff=2 * d_model, max_len=512)  # fmt: skip
        self.classifier = heads.Classifier(models.Encoder(config), VOCAB_SIZE, pooling="last")
        self.embedding = self.classifier.body.embedding

    def forward(self, tokens):
        """tokens (B, T) -> logits (B, vocab_size)."""
        return self.classifier(tokens)


READERS = {
    "RNN": partial(RecurrentReader, nn.RNN),
    "LSTM": partial(RecurrentReader, nn.LSTM),
    "LSTM, gate open": partial(RecurrentReader, nn.LSTM, forget_bias=4.0),
    "attention": AttentionReader,
}


def reader(name, seed=0, **sizes):
    """A new, untrained reader: "RNN", "LSTM", "LSTM, gate open" or "attention"."""
    training.set_seed(seed)
    return READERS[name](**sizes)


def recall_at(name, distance, *, steps=200, lr=1e-2, batch_size=32, seed=0, **sizes):
    """Train a new reader to recall a token `distance` places back; share of right answers on 1,000 new sequences."""
    model = reader(name, seed, **sizes)
    make = partial(first_token, T=distance + 1)
    for _ in training.train(model, fresh.FreshBatches(make, batch_size=batch_size, steps=steps, seed=seed), lr=lr):
        pass
    tokens, labels = make(1000, seed=seed + 1_000_000)
    with torch.no_grad():
        return (model(tokens).argmax(dim=-1) == labels).float().mean().item()


def what_arrives(name, distance, seed=0, n=64, **sizes):
    """How much an untrained reader's answer depends on the first token, as a share of how much on the last.

    It is the size of the gradient of the logits with respect to the first token's embedding, over that of the last.
    """
    model = reader(name, seed, **sizes)
    tokens, _ = first_token(n, distance + 1, seed)
    kept = []
    hook = model.embedding.register_forward_hook(lambda module, inputs, output: kept.append(output))
    logits = model(tokens)
    hook.remove()
    [gradient] = torch.autograd.grad(logits.pow(2).sum(), kept[0])  # (n, T, d_model)
    first, last = gradient[:, 0].norm(), gradient[:, -1].norm()
    return (first / last).item()
