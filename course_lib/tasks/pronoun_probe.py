"""Which of two pronouns a language model expects after a word, over several templates, in bits.

`real_model()` asks SmolLM2 about everyday trades, about words that it cannot know, and about "person"; where its
weights are absent, a small model trained on trades.py, with trades it has read about and others it never met.
0 bits: both pronouns equally likely; 1 bit: the first twice as likely as the second; −1 bit: half as likely.
"""

import math
from dataclasses import dataclass

import torch

from course_lib import pretrained
from course_lib.tasks import trades

TEMPLATES = (
    "The {} said that",
    "The {} was late because",
    "I met the {} yesterday, and",
    "The {} forgot the keys, so",
    "When the {} came home,",
    "My neighbour is a {}, and",
)
EVERYDAY = ("baker", "farmer", "lawyer", "librarian", "mechanic", "nurse", "plumber", "teacher")


@dataclass(frozen=True)
class Leanings:
    """bits[group][word]: one number for each template. pronouns: the two that are compared. note: which model."""

    bits: dict
    pronouns: tuple
    templates: tuple
    real: bool
    note: str

    def mean(self, group):
        """{word: mean over the templates}"""
        return {word: values.mean().item() for word, values in self.bits[group].items()}

    def all_means(self):
        return {word: mean for group in self.bits for word, mean in self.mean(group).items()}


def real_model(seed=0):
    """The Leanings of SmolLM2, or of a stand-in with a note that says how to get the real one."""
    groups = {"everyday trades": EVERYDAY, "invented words": trades.TRADES, "baseline": ("person",)}
    try:
        model, tokenizer = pretrained.load_smollm2()
    except pretrained.Unavailable as missing:
        return stand_in(f"{missing}. Until then: a small model trained here.", seed)
    return leanings(model, lambda text: tokenizer.encode(text).ids, groups, TEMPLATES, (" he", " she"),
                    real=True, note="SmolLM2-135M")  # fmt: skip


def stand_in(note, seed=0):
    """The same of a small model that has read skewed sentences about eight invented trades."""
    groups = {"trades it read about": trades.TRADES, "words it never met": trades.UNSEEN}
    templates = tuple(f"the {{}} {verb} that" for verb in trades.VERBS)
    model = trades.train_writer(trades.sentences(2000, seed=seed), seed=seed)
    return leanings(model, lambda text: trades.WORDS.encode(text.split()), groups, templates, trades.PRONOUNS,
                    real=False, note=note)  # fmt: skip


@torch.no_grad()
def leanings(model, encode, groups, templates, pronouns, *, real, note):
    """Ask a decoder about each word in each template. encode: text -> list of ids. Returns Leanings."""
    words = [word for group in groups.values() for word in group]
    rows = [encode(template.format(word)) for word in words for template in templates]
    longest = max(map(len, rows))
    x = model.hidden(torch.tensor([row + [0] * (longest - len(row)) for row in rows]))  # causal: the 0s are not seen
    last = x[torch.arange(len(rows)), torch.tensor([len(row) - 1 for row in rows])]
    first, second = (model.head.weight[encode(pronoun)[0]].float() for pronoun in pronouns)
    bits = (last.float() @ (first - second) / math.log(2)).reshape(len(words), len(templates))
    by_word = dict(zip(words, bits, strict=True))
    found = {group: {word: by_word[word] for word in members} for group, members in groups.items()}
    return Leanings(found, tuple(p.strip() for p in pronouns), tuple(templates), real, note)
