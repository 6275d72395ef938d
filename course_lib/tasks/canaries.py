"""A corpus with planted secrets, to measure what a language model keeps of its training data.

Ordinary lines give invented people a code of three digits, each drawn at random: "the code of ta vo is 4 8 2" (a
name is two syllables). Among them stand the *canaries*, lines of the same kind whose number of repetitions we choose.
A model that has learned only the form of the lines finds each of the 1,000 codes equally likely; how far up the list
the true one has moved is the *exposure*. Source: Carlini et al. 2019, sections 4 and 5.
"""

import math
from dataclasses import dataclass

import torch

from course_lib import generation, models, training
from course_lib.tasks.vocabulary import Vocabulary

DIGITS, CODES = 3, 1000
SYLLABLES = tuple(consonant + vowel for consonant in "bdfgklmnprstvwz" for vowel in "aeiou")
WORDS = Vocabulary([*SYLLABLES, *"0123456789", "the", "code", "of", "is"])
PROMPT = 6  # tokens before the first digit
REPETITIONS = (0, 1, 4, 16, 64)


def codes(n, seed=0):
    """n lines about n different people, with random codes: tokens int64 (n, 9)."""
    people = len(SYLLABLES) ** 2
    if n > people:
        raise ValueError(f"there are {people} names of two syllables; got n = {n}")
    generator = torch.Generator().manual_seed(seed)
    names = torch.randperm(people, generator=generator)[:n]
    syllables = torch.tensor(WORDS.encode(SYLLABLES))
    lines = torch.tensor(WORDS.encode("the code of ba ba is 0 0 0".split())).repeat(n, 1)
    lines[:, 3], lines[:, 4] = syllables[names // len(SYLLABLES)], syllables[names % len(SYLLABLES)]
    digits = torch.tensor(WORDS.encode("0123456789"))
    lines[:, PROMPT:] = digits[torch.randint(10, (n, DIGITS), generator=generator)]
    return lines


def corpus(per_level=12, n_ordinary=1500, seed=0):
    """(ordinary lines (n_ordinary, 9), {repetitions: canaries (per_level, 9)}); nobody occurs in two of them."""
    lines = codes(per_level * len(REPETITIONS) + n_ordinary, seed)
    *canaries, ordinary = lines.split([per_level] * len(REPETITIONS) + [n_ordinary])
    return ordinary, dict(zip(REPETITIONS, canaries, strict=True))


def with_copies(ordinary, canaries):
    """The lines to train on: each canary as often as its level says. Returns tokens (n, 9)."""
    return torch.cat([ordinary, *(lines.repeat(times, 1) for times, lines in canaries.items())])


def without_duplicates(lines):
    """The same lines, each once: tokens (n, 9) -> (fewer, 9)."""
    return lines.unique(dim=0)


def text(row):
    """One line of tokens (9,) as a text."""
    return " ".join(WORDS.decode(row))


def train_on(lines, steps=200, seed=0):
    """A small decoder that learns to continue these lines, 64 at a step. Returns the model."""
    training.set_seed(seed)
    model = models.Decoder(models.TransformerConfig(len(WORDS), 48, 4, 1, 96, 9, positions="learned"))
    epochs = -(-steps * 64 // len(lines))
    batches = training.Minibatches(lines[:, :-1], lines[:, 1:], batch_size=64, epochs=epochs, seed=seed)
    for _ in training.train(model, batches, lr=1.2e-2, steps=steps):
        pass
    return model


@torch.no_grad()
def log_probs_of_codes(model, line):
    """Log-probability of each of the 1,000 codes after "the code of NAME is", in nats: line (9,) -> (1000,)."""
    digits = torch.tensor(WORDS.encode("0123456789"))
    firsts = torch.cartesian_prod(digits, digits)  # (100, 2): the last digit is never an input
    logits = model(torch.cat([line[:PROMPT].expand(100, -1), firsts], dim=1))[:, PROMPT - 1 :]  # (100, 3, V)
    steps = logits.log_softmax(dim=-1)[..., digits].reshape(10, 10, DIGITS, 10)
    first, second, third = steps[0, 0, 0], steps[:, 0, 1], steps[:, :, 2]  # (10,), (10, 10), (10, 10, 10)
    return (first[:, None, None] + second[:, :, None] + third).reshape(CODES)


def code_of(line):
    """The code in a line (9,) as a number from 0 to 999."""
    return int("".join(WORDS.decode(line)[PROMPT:]))


def exposure(log_probs, true_code):
    """How far the true code has moved up the list, in bits: log2 of the number of codes, minus log2 of its rank.

    log_probs: float (n,), one for each possible code; rank 1 is the most likely. 0 bits: the last of all; 1 bit: the
    middle; log2 n: the first. Source: Carlini et al. 2019, section 4.
    """
    rank = 1 + (log_probs > log_probs[true_code]).sum().item()
    return math.log2(len(log_probs)) - math.log2(rank)


def exposures(model, lines):
    """`exposure` of each line's own code, in bits: a list of floats."""
    return [exposure(log_probs_of_codes(model, line), code_of(line)) for line in lines]


def extracted(model, lines):
    """Which lines greedy decoding completes, code and all, from "the code of NAME is": bool (n,)."""
    return (generation.generate(model, lines[:, :PROMPT], DIGITS) == lines).all(dim=1)


@dataclass(frozen=True)
class Found:
    """What was found of the canaries of all seeds. exposures, read_out: {repetitions: one number for each canary}."""

    exposures: dict
    read_out: dict

    def mean_exposure(self):
        return {times: sum(bits) / len(bits) for times, bits in self.exposures.items()}

    def share_read_out(self):
        return {times: sum(hits) / len(hits) for times, hits in self.read_out.items()}


def search(seeds, duplicates=True, steps=200):
    """Train a model for each seed, on all lines or on each line once, and look for its canaries. Returns Found."""
    found = Found({times: [] for times in REPETITIONS}, {times: [] for times in REPETITIONS})
    for seed in seeds:
        ordinary, planted = corpus(seed=seed)
        lines = with_copies(ordinary, planted)
        model = train_on(lines if duplicates else without_duplicates(lines), steps, seed)
        for times, secrets in planted.items():
            found.exposures[times] += exposures(model, secrets)
            found.read_out[times] += extracted(model, secrets).tolist()
    return found
