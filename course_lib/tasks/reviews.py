"""Is the review good? A task whose true reasons are known, and a reader whose attention can be compared with them.

A review is 8 words: three speak for or against, in random places, and five say nothing. The answer is the majority
of the three. The reader makes one set of attention weights, over the words, right before its answer. Below it stand
0, 1 or 2 encoder blocks, which mix the words first.
"""

import torch
from torch import nn

from course_lib import models, training
from course_lib.tasks.fresh import FreshBatches

FOR = "good fine witty bright".split()
AGAINST = "bad dull silly stale".split()
NEUTRAL = "the a this film play scene plot actor music ending script stage".split()
WORDS = [*FOR, *AGAINST, *NEUTRAL]
N_MOOD = len(FOR) + len(AGAINST)  # words below this id speak for or against
T = 8


def reviews(n, seed=0):
    """n random reviews: tokens int64 (n, 8), labels int64 (n,): 1 = more words speak for it than against it."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(N_MOOD, len(WORDS), (n, T), generator=generator)
    places = torch.rand(n, T, generator=generator).argsort(dim=1)[:, :3]
    moods = torch.randint(N_MOOD, (n, 3), generator=generator)
    return tokens.scatter(1, places, moods), ((moods < len(FOR)).sum(dim=1) > 1).long()


class Reader(nn.Module):
    """Encoder blocks (or none), then one softmax over the words, whose weighted average is read out.

    Source of the pooling: Bahdanau et al. 2015, section 3.1; with one query, as in Jain and Wallace 2019.
    """

    def __init__(self, n_layers, d_model=32):
        super().__init__()
        config = models.TransformerConfig(vocab_size=len(WORDS), d_model=d_model, n_heads=4, n_layers=n_layers,
                                          d_ff=2 * d_model, max_len=T, positions="none")  # fmt: skip
        self.encoder = models.Encoder(config)
        self.hidden, self.score = nn.Linear(d_model, d_model), nn.Linear(d_model, 1)
        self.readout = nn.Linear(d_model, 2)

    def forward(self, tokens, need_weights=False, edit=None):
        """tokens (B, T), or embedded (B, T, d_model) -> logits (B, 2); need_weights: and the weights (B, T).

        edit(weights) -> weights puts other weights in their place.
        """
        x = self.encoder(tokens)
        weights = self.score(self.hidden(x).tanh())[..., 0].softmax(dim=-1)  # (B, T)
        weights = weights if edit is None else edit(weights)
        logits = self.readout((weights[..., None] * x).sum(dim=1))
        return (logits, weights) if need_weights else logits


def train_reader(n_layers, *, steps=100, lr=1.5e-2, seed=0):
    """A Reader with n_layers blocks below its attention, trained on fresh reviews."""
    training.set_seed(seed)
    model = Reader(n_layers)
    for _ in training.train(model, FreshBatches(reviews, batch_size=64, steps=steps, seed=seed), lr=lr):
        pass
    return model


def margin(logits):
    """How much the model prefers "good" to "bad": logits (…, 2) -> (…)."""
    return logits[..., 1] - logits[..., 0]


def text(tokens):
    """Ids -> words."""
    return " ".join(WORDS[i] for i in tokens.tolist())


@torch.no_grad()
def decisions(model, tokens, edit=None):
    """What the model decides: bool (n,), True = good; edit: other weights, as in `Reader`."""
    return margin(model(tokens, edit=edit)) > 0


def on_mood_words(importance, tokens):
    """Share of the importance (n, T) that lies on the three words that speak for or against: the mean."""
    on_them = (importance * (tokens < N_MOOD)).sum(dim=1)
    return (on_them / importance.sum(dim=1)).mean().item()


@torch.no_grad()
def by_attention(model, tokens):
    """The weight of each word, (n, T)."""
    return model(tokens, need_weights=True)[1]


@torch.no_grad()
def by_replacing(model, tokens, n_fillers=4):
    """How far the margin moves when a word is replaced by a neutral one: (n, T), mean over n_fillers of these."""
    whole, moved = margin(model(tokens)), torch.zeros(tokens.shape)
    for place in range(T):
        for filler in range(N_MOOD, N_MOOD + n_fillers):
            changed = tokens.index_fill(1, torch.tensor([place]), filler)
            moved[:, place] += (margin(model(changed)) - whole).abs() / n_fillers
    return moved


def by_gradient(model, tokens):
    """Length of the margin's gradient with respect to each word's vector: (n, T)."""
    vectors = model.encoder.embedding(tokens).detach().requires_grad_()
    (gradient,) = torch.autograd.grad(margin(model(vectors)).sum(), vectors)
    return gradient.norm(dim=-1)


def rank_agreement(a, b):
    """Kendall's tau of two rankings: (concordant - discordant pairs) / pairs. a, b (…, T) -> (…)."""
    order_a, order_b = ((x[..., :, None] - x[..., None, :]).sign() for x in (a, b))
    T = a.shape[-1]
    return (order_a * order_b).sum(dim=(-2, -1)) / (T * (T - 1))
