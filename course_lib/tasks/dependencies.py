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
from torch import nn

from course_lib import models, training

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


class HiddenWordModel(nn.Module):
    """An encoder and a linear read-out over the words, trained to name the hidden word."""

    def __init__(self, n_layers=2, n_heads=4, d_model=64):
        super().__init__()
        self.encoder = models.Encoder(
            models.TransformerConfig(vocab_size=len(WORDS), d_model=d_model, n_heads=n_heads, n_layers=n_layers,
                                     d_ff=2 * d_model, max_len=14)
        )  # fmt: skip
        self.readout = nn.Linear(d_model, len(WORDS))

    def forward(self, tokens, padding, edit_weights=None):
        """tokens (B, T), padding (B, T) -> logits (B, T, vocab_size)."""
        return self.readout(self.encoder(tokens, padding, edit_weights=edit_weights))


def train_model(n=4000, epochs=5, lr=3e-3, seed=0, **sizes):
    """A HiddenWordModel trained on n sentences; sizes: n_layers, n_heads, d_model."""
    training.set_seed(seed)
    model = HiddenWordModel(**sizes)
    data = sentences(n, seed)
    batches = training.Minibatches(data.tokens, data.padding, data.targets(), batch_size=64, epochs=epochs, seed=seed)
    for _ in training.train(model, batches, lr=lr):
        pass
    return model


@torch.no_grad()
def accuracy(model, data, without=()):
    """Share of hidden words named right. without: heads (layer, head) whose weights are 0, without retraining."""

    def silence(layer, weights):  # weights (B, h, T, S)
        weights = weights.clone()
        weights[:, [head for at, head in without if at == layer]] = 0
        return weights

    logits = model(data.tokens, data.padding, edit_weights=silence if without else None)
    rows = torch.arange(len(data.tokens))
    return (logits[rows, data.hidden_at].argmax(dim=-1) == data.answers).float().mean().item()


@torch.no_grad()
def weight_on_needs(model, data):
    """How much of its weight each head puts, at the hidden word, on the word that is needed.

    Returns {(layer, head): (4,) tensor, one mean per entry of RELATIONS}.
    """
    _, maps = model.encoder(data.tokens, data.padding, need_weights=True)
    rows = torch.arange(len(data.tokens))
    scores = {}
    for layer, weights in enumerate(maps):  # weights (B, h, T, S)
        at_hidden = weights[rows, :, data.hidden_at]  # (B, h, S)
        for head in range(at_hidden.shape[1]):
            on_need = at_hidden[:, head].gather(1, data.needs.clamp(min=0)).where(data.needs >= 0, torch.nan)
            scores[layer, head] = on_need.nanmean(dim=0)
    return scores


def prune(model, choose, score, order=None):
    """Remove head after head, and measure what is left.

    Greedy: always the head whose loss hurts least on the sentences `choose`; or in the given order. Returns
    (removed heads in order, accuracy on `score` after removing 0, 1, 2 … heads): two sets, so that no luck is counted.
    """
    left = list(order) if order else sorted(weight_on_needs(model, choose))
    removed, kept_accuracy = [], [accuracy(model, score)]
    while left:
        head = left[0] if order else max(left, key=lambda head: accuracy(model, choose, [*removed, head]))
        left.remove(head)
        removed.append(head)
        kept_accuracy.append(accuracy(model, score, removed))
    return removed, kept_accuracy
