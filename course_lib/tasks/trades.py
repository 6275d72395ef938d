"""Sentences about eight invented trades and two invented pronouns, with a known skew between them.

"the dremmer says that zo has the red pass": the first four trades go with "zo" and a red pass in a share `skew` of
their sentences, the last four with "ki" and a blue pass. Pronoun and pass are drawn independently of each other.
The words mean nothing, so what a model believes about them comes from these sentences and from nowhere else.
"""

import torch

from course_lib import models, training
from course_lib.tasks.vocabulary import Vocabulary

TRADES = ("dremmer", "fosker", "lunter", "wapper", "bolder", "griner", "sarker", "tovver")
UNSEEN = ("clinner", "marver", "pelter", "rusker", "janner", "hoster")  # in the vocabulary, in no sentence
VERBS = ("says", "thinks", "hopes", "knows", "writes")
PRONOUNS = ("zo", "ki")
PASSES = ("red", "blue")
WORDS = Vocabulary([*TRADES, *UNSEEN, *VERBS, *PRONOUNS, *PASSES, "the", "that", "has", "pass"])
TRADE, VERB, PRONOUN, PASS = 1, 2, 4, 7  # places in "the TRADE VERB that PRONOUN has the PASS pass"
LENGTH = 9


def sentences(n, skew=0.8, seed=0):
    """n random sentences, int64 (n, 9)."""
    if not 0 <= skew <= 1:
        raise ValueError(f"skew is a share, from 0 to 1; got {skew}")
    generator = torch.Generator().manual_seed(seed)
    trade = torch.randint(len(TRADES), (n,), generator=generator)
    verb = torch.randint(len(VERBS), (n,), generator=generator)
    second_half = (trade >= len(TRADES) // 2).long()
    unusual = (torch.rand(2, n, generator=generator) >= skew).long()  # one draw for the pronoun, one for the pass
    tokens = torch.tensor(WORDS.encode("the dremmer says that zo has the red pass".split())).repeat(n, 1)
    chosen = {TRADE: (TRADES, trade), VERB: (VERBS, verb)}
    chosen |= {PRONOUN: (PRONOUNS, second_half ^ unusual[0]), PASS: (PASSES, second_half ^ unusual[1])}
    for place, (words, index) in chosen.items():
        tokens[:, place] = torch.tensor(WORDS.encode(words))[index]
    return tokens


def text(row):
    """One row of tokens (9,) as a text."""
    return " ".join(WORDS.decode(row))


def trade_of(tokens):
    """Which trade each sentence is about: int64 (n,), an index into TRADES."""
    return index_of(tokens[:, TRADE], TRADES)


def is_usual(tokens):
    """Whether each sentence has the pronoun that goes with its trade: bool (n,)."""
    return index_of(tokens[:, PRONOUN], PRONOUNS) == (trade_of(tokens) >= len(TRADES) // 2).long()


def with_other_pronoun(tokens):
    """The counterfactual of each sentence: the same in every word but the pronoun. Returns new tokens (n, 9)."""
    swapped = tokens.clone()
    swapped[:, PRONOUN] = torch.tensor(WORDS.encode(PRONOUNS[::-1]))[index_of(tokens[:, PRONOUN], PRONOUNS)]
    return swapped


def index_of(ids, words):
    """For each id its place among `words`, int64 (n,)."""
    return (ids[:, None] == torch.tensor(WORDS.encode(words))).long().argmax(dim=1)


def shares(tokens, place, words):
    """In how many of each trade's sentences the first of two words stands at a place: float (8,)."""
    is_first = index_of(tokens[:, place], words) == 0
    return torch.stack([is_first[trade_of(tokens) == trade].float().mean() for trade in range(len(TRADES))])


def train_writer(tokens, steps=160, seed=0):
    """A small decoder that learns to continue these sentences, 64 at a step. Returns the model."""
    training.set_seed(seed)
    model = models.Decoder(models.TransformerConfig(len(WORDS), 32, 4, 1, 64, LENGTH, positions="learned"))
    epochs = -(-steps * 64 // len(tokens))
    batches = training.Minibatches(tokens[:, :-1], tokens[:, 1:], batch_size=64, epochs=epochs, seed=seed)
    for _ in training.train(model, batches, lr=2.5e-2, steps=steps):
        pass
    return model


def questions():
    """Beginnings of sentences, each trade with each verb, up to the pass: int64 (8 · 5, 7)."""
    return WORDS.batch(f"the {trade} {verb} that zo has the".split() for trade in TRADES for verb in VERBS)[0]


@torch.no_grad()
def belief(model, place, words):
    """Probability of the first of two words at a place, for each trade, averaged over the verbs: float (8,)."""
    logits = model(questions())[:, place - 1]  # (8 · 5, V)
    share = logits.softmax(dim=-1)[:, WORDS.encode(words)]
    return (share[:, 0] / share.sum(dim=1)).reshape(len(TRADES), len(VERBS)).mean(dim=1)


@torch.no_grad()
def best_pronoun(model, tokens):
    """The most likely word where the pronoun stands, given what comes before it: ids (n,)."""
    return model(tokens[:, :PRONOUN])[:, -1].argmax(dim=-1)


def said(model):
    """How often the first pronoun is the most likely word, for each trade, over the verbs: float (8,)."""
    first = best_pronoun(model, questions()) == WORDS.ids[PRONOUNS[0]]
    return first.float().reshape(len(TRADES), len(VERBS)).mean(dim=1)


def follow_skew(skews, seeds, steps=130):
    """The usual pronoun of the first four trades, by skew: {"said", "believed": one list a seed, one share a skew}."""
    models = [[train_writer(sentences(2000, skew, seed), steps, seed) for skew in skews] for seed in seeds]
    return {
        "said": [[said(model)[:4].mean().item() for model in row] for row in models],
        "believed": [[belief(model, PRONOUN, PRONOUNS)[:4].mean().item() for model in row] for row in models],
    }
