"""One small encoder and the questions of order.py: what does it need to answer them?

The smallest arm has no block at all: embedding, mean over the tokens, one linear layer. It is the baseline that shows
which question needs attention.
"""

from functools import partial

import torch

from course_lib import heads, models, training
from course_lib.tasks.fresh import FreshBatches

VOCAB, CLS = 20, 20  # the tokens of order.py, and one more that stands in front where pooling is "cls"


def rows(make, n, pooling="mean", seed=0):
    """n rows of a question: tokens int64 (n, T), labels int64 (n,). "cls" puts the same extra token before each row."""
    tokens, labels = make(n, seed=seed)
    front = [torch.full((n, 1), CLS)] if pooling == "cls" else []
    return torch.cat([*front, tokens], dim=1), labels


def classifier(n_layers=2, n_heads=4, positions="sinusoidal", pooling="mean", d_model=32, seed=0):
    """An untrained yes-or-no Classifier on an Encoder of width 32."""
    training.set_seed(seed)
    config = models.TransformerConfig(vocab_size=VOCAB + 1, d_model=d_model, n_heads=n_heads, n_layers=n_layers,
                                      d_ff=2 * d_model, max_len=16, positions=positions)  # fmt: skip
    return heads.Classifier(models.Encoder(config), n_classes=2, pooling=pooling)


def batches(make, steps=100, pooling="mean", seed=0):
    """`steps` batches of 64 fresh rows: no row is used twice."""
    return FreshBatches(partial(rows, make, pooling=pooling), batch_size=64, steps=steps, seed=seed)


@torch.no_grad()
def accuracy(model, make, n=3000, seed=1_000_000):
    """Share of n rows, none of them trained on, that get the right answer."""
    tokens, labels = rows(make, n, model.pooling, seed)
    return (model(tokens).argmax(dim=-1) == labels).float().mean().item()


def train_one(make, *, steps=100, lr=5e-3, seed=0, **sizes):
    """A classifier trained on a question. sizes: as in `classifier`. Returns the model."""
    model = classifier(**sizes, seed=seed)
    for _ in training.train(model, batches(make, steps, model.pooling, seed), lr=lr):
        pass
    return model


def scores(make, seeds, **options):
    """Accuracy of one model per seed, as a list; options: as in `train_one`."""
    return [accuracy(train_one(make, seed=seed, **options), make) for seed in seeds]


@torch.no_grad()
def entropies(model, make, n=300, seed=1_000_000):
    """How spread out the weights of each layer and head are: (layers, heads), 1 = uniform, 0 = all on one token."""
    tokens, _ = rows(make, n, model.pooling, seed)
    _, maps = model(tokens, need_weights=True)
    return torch.stack([entropy(weights).mean(dim=(0, 2)) for weights in maps])


def entropy(weights):
    """Entropy of each row of weights (…, T, S) as a share of its maximum, log S: (…, T)."""
    return -torch.special.xlogy(weights, weights).sum(dim=-1) / torch.log(torch.tensor(float(weights.shape[-1])))
