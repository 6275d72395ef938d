"""A small grammar of English whose dependencies are known: which word does a hidden word need?

Every sentence reads like "the queen didn't quickly write a letter because she was often tired". One word is hidden:

- the pronoun, which needs the subject (king: he, queen: she, robot: it, twins: they);
- the verb, which needs the object (a letter is written, a song is sung), and whose form needs "didn't" (wrote, write);
- the article, which needs the word after it (a letter, an email).

Adverbs stand here and there, so that the distances vary.
"""

import random
from dataclasses import dataclass

import torch

SUBJECTS = {"king": "he", "monk": "he", "prince": "he", "queen": "she", "nun": "she", "duchess": "she",
            "robot": "it", "kettle": "it", "twins": "they", "cats": "they"}  # fmt: skip
VERBS = {"eat": ("ate", "apple egg pear"), "sing": ("sang", "anthem song ode"), "write": ("wrote", "email letter note")}
OBJECTS = {noun: (base, past) for base, (past, nouns) in VERBS.items() for noun in nouns.split()}
ADVERBS = "quickly often slowly today quietly".split()
STATES = "tired happy late bored".split()
RELATIONS = ("pronoun → subject", "verb → object", "verb → didn't", "article → noun")
MASK = "[MASK]"
WORDS = [MASK, "[PAD]", "the", "didn't", "because", "was", "were", "a", "an", "he", "she", "it", "they",
         *SUBJECTS, *VERBS, *(past for past, _ in VERBS.values()), *OBJECTS, *ADVERBS, *STATES]  # fmt: skip
ID = {word: i for i, word in enumerate(WORDS)}


@dataclass(frozen=True)
class Sentences:
    """A batch of sentences with one word hidden in each."""

    tokens: torch.Tensor  # int64 (n, T), the hidden word replaced by [MASK]
    padding: torch.Tensor  # bool (n, T), True = real token
    hidden_at: torch.Tensor  # int64 (n,), where [MASK] stands
    answers: torch.Tensor  # int64 (n,), the hidden word
    needs: torch.Tensor  # int64 (n, 4): where the word of each of RELATIONS stands, -1 where it plays no part

    def targets(self):
        """Labels for training, int64 (n, T): the answer where a word is hidden, -100 everywhere else."""
        labels = torch.full_like(self.tokens, -100)
        labels.scatter_(1, self.hidden_at[:, None], self.answers[:, None])
        return labels


def adverb(rng):
    """An adverb, or nothing: a list of one word or none."""
    return [rng.choice(ADVERBS)] if rng.random() < 0.4 else []


def sentence(rng):
    """One sentence and its dependencies: (words, {place of a word that may be hidden: {relation: place it needs}})."""
    subject, obj = rng.choice(list(SUBJECTS)), rng.choice(list(OBJECTS))
    base, past = OBJECTS[obj]
    pronoun = SUBJECTS[subject]
    negated = rng.random() < 0.5
    words = ["the", subject, *(["didn't"] if negated else []), *adverb(rng)]
    verb = len(words)
    words += [base if negated else past, *adverb(rng), "an" if obj[0] in "aeiou" else "a", obj]
    article, noun = len(words) - 2, len(words) - 1
    words += [*adverb(rng), "because", pronoun]
    pronoun_at = len(words) - 1
    words += ["were" if pronoun == "they" else "was", *adverb(rng), rng.choice(STATES)]
    verb_needs = {1: noun, **({2: words.index("didn't")} if negated else {})}
    return words, {pronoun_at: {0: 1}, verb: verb_needs, article: {3: noun}}


def sentences(n, seed=0):
    """n random sentences with one word hidden in each. Returns Sentences; the same seed gives the same ones."""
    rng = random.Random(seed)
    drawn = [sentence(rng) for _ in range(n)]
    T = 14  # the longest sentence there is
    tokens = torch.full((n, T), ID["[PAD]"])
    needs = torch.full((n, len(RELATIONS)), -1)
    hidden_at, answers = torch.empty(n, dtype=torch.int64), torch.empty(n, dtype=torch.int64)
    for row, (words, places) in enumerate(drawn):
        tokens[row, : len(words)] = torch.tensor([ID[word] for word in words])
        hidden_at[row] = place = rng.choice(sorted(places))
        answers[row] = tokens[row, place]
        tokens[row, place] = ID[MASK]
        for relation, where in places[place].items():
            needs[row, relation] = where
    return Sentences(tokens, tokens != ID["[PAD]"], hidden_at, answers, needs)


def text(tokens):
    """Ids back to words, without the padding."""
    return " ".join(WORDS[i] for i in tokens.tolist() if WORDS[i] != "[PAD]")
