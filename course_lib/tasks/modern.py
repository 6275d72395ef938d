"""What changed between GPT-2 and LLaMA, one field of TransformerConfig at a time, at equal parameters and steps.

The text is that of text.py, in characters. A change that saves parameters gets a wider feed-forward layer, and one
that costs some gets a narrower, so that all models have the same size within one per mille or so.
"""

from dataclasses import replace

import torch
import torch.nn.functional as F

from course_lib import counting, models, training
from course_lib.tasks import text

CHANGES = {
    "as in 2019": {},
    "RMSNorm": {"norm": "rms"},
    "SwiGLU": {"activation": "swiglu"},
    "rotary positions": {"positions": "rotary"},
    "grouped queries, 4 over 1": {"n_kv_heads": 1},
    "tied embeddings": {"tie_embeddings": True},
}
CHANGES["all at once"] = {field: value for change in CHANGES.values() for field, value in change.items()}


def base(vocab_size, d_model=32, T=32):
    """A small model in the style of GPT-2, but with an output matrix of its own: LayerNorm, GELU, learned positions."""
    return models.TransformerConfig(
        vocab_size=vocab_size, d_model=d_model, n_heads=4, n_layers=2, d_ff=4 * d_model, max_len=T, positions="learned"
    )


def size(config):
    """Parameters of a Decoder with this config."""
    return sum(counting.parameter_table(config, "decoder").values())


def changed(config, **change):
    """config with the change, and with the d_ff that brings its size as near as can be to the old one."""
    candidates = [replace(config, **change, d_ff=d_ff) for d_ff in range(1, 3 * config.d_ff)]
    return min(candidates, key=lambda candidate: abs(size(candidate) - size(config)))


def batches(ids, steps, T=32, seed=0):
    """`steps` batches of 32 pieces of the text: (inputs, targets), each int64 (32, T)."""
    return training.Minibatches(*text.windows(ids, 32 * steps, T, seed), batch_size=32, seed=seed)


@torch.no_grad()
def loss(model, ids, T=32, n=300):
    """Nats a character on n pieces of a text that do not overlap."""
    inputs, targets = (tensor[:n] for tensor in text.windows_once(ids, T))
    return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()).item()


def train_one(config, ids, steps=50, lr=2e-2, seed=0):
    """A Decoder trained on the text `ids` for `steps` steps; the same seed brings the same batches to every config."""
    training.set_seed(seed)
    model = models.Decoder(config)
    for _ in training.train(model, batches(ids, steps, config.max_len, seed), lr=lr):
        pass
    return model


def losses(changes, seeds, **options):
    """Held-out loss of each change, one number a seed: {label: [nats a character]}. options: as in `train_one`."""
    words, (train_text, held_out) = text.vocabulary(), text.split()
    ids, test = (torch.tensor(words.encode(part)) for part in (train_text, held_out))
    old = base(len(words))
    return {
        label: [loss(train_one(changed(old, **change), ids, seed=seed, **options), test) for seed in seeds]
        for label, change in changes.items()
    }
