"""A captioner small enough to attack: it looks at the image of a digit and writes the digit's name, letter by letter.

An encoder reads 16 patches of 2 × 2 pixels; a decoder writes "seven", and at each letter its cross-attention says
which patches it looks at. `retrained` moves that map to wherever one wants it; attacks.py changes the caption.
"""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from course_lib import heads, models, training
from course_lib.tasks.vocabulary import Vocabulary

NAMES = "zero one two three four five six seven eight nine".split()
LETTERS = Vocabulary("".join(NAMES))
SPELLED, _ = LETTERS.batch(NAMES, eos=True)  # int64 (10, 6): the letters of each name, <eos>, <pad>
T = SPELLED.shape[1]
TARGETS = SPELLED.masked_fill(SPELLED == LETTERS.pad_id, -100)
DECODER_INPUT = training.shift_right(SPELLED, LETTERS.bos_id)
PATCH, N_PATCHES = 2, 16  # patches of 2 × 2 pixels, in 4 rows of 4


class Captioner(nn.Module):
    """Patches of an image -> an encoder–decoder that writes letters."""

    def __init__(self, d_model=32):
        super().__init__()
        sizes = {"d_model": d_model, "n_heads": 4, "n_layers": 1, "d_ff": 2 * d_model, "positions": "learned"}
        self.embed_patch = nn.Linear(PATCH**2, d_model)
        self.translator = models.EncoderDecoder(
            models.TransformerConfig(vocab_size=0, max_len=N_PATCHES, **sizes),
            models.TransformerConfig(vocab_size=len(LETTERS), max_len=T, **sizes),
        )

    def forward(self, images, target, need_weights=False):
        """images (B, 1, 8, 8), target (B, T), already shifted -> logits (B, T, letters).

        need_weights=True: (logits, cross-attention (B, h, T, 16)).
        """
        source = self.embed_patch(heads.patches(images, PATCH))  # (B, 16, d_model)
        if not need_weights:
            return self.translator(source, target)
        logits, seen = self.translator(source, target, need_weights=True)
        return logits, seen["cross"][0]


def lessons(data, epochs, seed=0):
    """The images of `tasks.digits` to train on, as batches: images, decoder input (B, T), targets (B, T)."""
    labels = data.train_labels
    return training.Minibatches(data.train_images, DECODER_INPUT[labels], TARGETS[labels], batch_size=64,
                                epochs=epochs, seed=seed)  # fmt: skip


@torch.no_grad()
def write(model, images):
    """The captions that the model writes by itself, letter after letter: a list of str."""
    ids = torch.full((len(images), 1), LETTERS.bos_id)
    for _ in range(T):
        ids = torch.cat([ids, model(images, ids)[:, -1:].argmax(dim=-1)], dim=1)
    return ["".join(LETTERS.decode(row)) for row in ids[:, 1:]]


def agreement(captions, others):
    """Share of the captions that are the same in both lists."""
    return sum(a == b for a, b in zip(captions, others, strict=True)) / len(captions)


@torch.no_grad()
def first_map(model, images):
    """Where the model looks to choose its first letter: (B, 16), the mean of the heads."""
    start = torch.full((len(images), 1), LETTERS.bos_id)
    return model(images, start, need_weights=True)[1].mean(dim=1)[:, 0]


def retrained(model, data, patch=None, *, strength=0.1, epochs=4, lr=1e-2, seed=0):
    """A copy of the model, trained a little further; with a patch, it is paid for looking at that patch only.

    The loss is that of the captions, minus strength × the mean log-weight of the patch, over heads and letters.
    Source of the idea: Pruthi et al. 2020, section 3.
    """
    model = copy.deepcopy(model)

    def loss(model, batch):
        images, decoder_input, targets = batch
        logits, maps = model(images, decoder_input, need_weights=True)
        wrong = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)
        return wrong if patch is None else wrong - strength * maps[..., patch].clamp(min=1e-9).log().mean()

    for _ in training.train(model, lessons(data, epochs, seed), loss=loss, lr=lr, weight_decay=0.05):
        pass
    return model
