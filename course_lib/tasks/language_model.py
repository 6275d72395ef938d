"""A real language model under the loupe: what it writes, what it copies, where it parks its weight, what it cannot see.

`writer()` gives SmolLM2-135M in the course's own Decoder; where its weights are absent, a small model of characters
trained on the spot, so that every cell that follows runs with either.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F

from course_lib import generation, models, pretrained, training
from course_lib.tasks import text as real_text
from course_lib.tasks.on_demand import OnDemand


@dataclass
class Writer(OnDemand):
    """A Decoder, its `.model`, and how a text becomes ids and ids become a text."""

    load: object  # () -> the Decoder
    encode: object  # text -> list of ids
    decode: object  # list of ids -> text
    real: bool
    note: str

    def ids(self, text):
        """text -> int64 (1, T)."""
        return torch.tensor([self.encode(text)])

    def tokens(self, text):
        """text -> its T tokens, each as a text."""
        return [self.decode([i]) for i in self.encode(text)]


def writer(seed=0):
    """SmolLM2, or the stand-in with a note that says how to get the real one."""
    try:
        model, tokenizer = pretrained.load_smollm2()
    except pretrained.Unavailable as missing:
        return stand_in(f"{missing}. Until then: a small model of characters, trained here.", seed)
    note = "SmolLM2-135M-Instruct: 30 layers of 9 heads"

    def load():
        return pretrained.load_smollm2()[0]

    writer = Writer(load, lambda text: tokenizer.encode(text).ids, tokenizer.decode, True, note)
    writer.model = model
    return writer


def stand_in(note, seed=0, steps=150):
    """A small decoder of the same build, trained for some seconds on the characters of text.py."""
    words = real_text.vocabulary()
    training.set_seed(seed)
    model = models.Decoder(models.TransformerConfig(
        vocab_size=len(words), d_model=48, n_heads=4, n_kv_heads=2, n_layers=2, d_ff=96, max_len=64, norm="rms",
        activation="swiglu", positions="rotary", bias=False))  # fmt: skip
    ids = torch.tensor(words.encode(real_text.split()[0]))
    batches = training.Minibatches(*real_text.windows(ids, 32 * steps, 32, seed), batch_size=32, seed=seed)
    for _ in training.train(model, batches, lr=1e-2):
        pass
    return Writer(lambda: model, words.encode, lambda ids: "".join(words.decode(ids)), False, note)


def complete(writer, text, n=10):
    """text with n more tokens, each the most likely one."""
    return writer.decode(generation.generate(writer.model, writer.ids(text), n)[0].tolist())


@torch.no_grad()
def favourites(writer, text, k=3):
    """The k most likely next tokens after text: {token: probability}."""
    best = writer.model(writer.ids(text))[0, -1].softmax(dim=-1).topk(k)
    return {writer.decode([i]): round(p, 2) for p, i in zip(best.values.tolist(), best.indices.tolist(), strict=True)}


@torch.no_grad()
def sums_right(writer, question):
    """Share of the 36 sums with an answer of one digit that the most likely next token gets right.

    question: such as "{} + {} = ". Each digit is one token, so all questions have the same length.
    """
    sums = [(a, b) for a in range(1, 9) for b in range(1, 10 - a)]
    tokens = torch.tensor([writer.encode(question.format(a, b)) for a, b in sums])
    answers = writer.model.head(writer.model.hidden(tokens)[:, -1]).argmax(dim=-1)
    return sum(writer.decode([i]) == str(a + b) for i, (a, b) in zip(answers.tolist(), sums, strict=True)) / len(sums)


def repeated(writer, T=40, n=1, seed=0):
    """n rows of T random tokens, written twice: int64 (n, 2T). Nothing predicts the first half, and it the second."""
    lowest = 3 if writer.model.config.vocab_size < 1000 else 100  # what stands below has a special meaning
    generator = torch.Generator().manual_seed(seed)
    once = torch.randint(lowest, writer.model.config.vocab_size, (n, T), generator=generator)
    return torch.cat([once, once], dim=1)


@torch.no_grad()
def losses(model, tokens):
    """How surprising each token is, in nats, the first left out: tokens (B, T) -> (T - 1,), mean over the rows."""
    logits = model(tokens)[:, :-1]
    return F.cross_entropy(logits.transpose(1, 2), tokens[:, 1:], reduction="none").mean(dim=0)


@torch.no_grad()
def maps(model, tokens, layers=True):
    """Weights of the layers asked for, (layers, h, T, T) in float32, mean over the rows. Without the head's work."""
    _, weights = model.hidden(tokens, need_weights=layers)
    return torch.stack([layer.float().mean(dim=0) for layer in weights if layer is not None])


def copy_scores(maps):
    """Maps (layers, h, 2T, 2T) of a text written twice -> (layers, h): how much each head copies.

    The weight from a token of the second copy to the one that *followed* it in the first, mean over the tokens.
    Source: Olsson et al. 2022, induction heads.
    """
    T = maps.shape[-1] // 2
    return maps.diagonal(offset=1 - T, dim1=-2, dim2=-1)[..., 1:].mean(dim=-1)


def sink_scores(maps):
    """Weight on the first token, mean over all later ones: (layers, h, T, T) -> (layers, h)."""
    return maps[..., 1:, 0].mean(dim=-1)
