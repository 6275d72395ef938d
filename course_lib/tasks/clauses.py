"""Which of the events happened first? Short texts in which the order of the words is not the order of the events.

"the race after lunch . the race before the storm" is about a chain of three events, lunch < race < storm, told in two
clauses, in any order. Each clause says "before" or "after". Every event that is named is tagged: is it the first of
the chain, or not? Single clauses, and three of the four combinations of two, are there to learn from; the fourth,
two times "after", is new to the model.
"""

from functools import partial

import torch

from course_lib import heads, models, training

EVENTS = "lunch race storm speech dance match parade film".split()
WORDS = [*EVENTS, "before", "after", ".", "-"]  # "-" fills up a text of one clause
BEFORE, AFTER, STOP, FILL = range(len(EVENTS), len(WORDS))
SEEN = ("before, before", "before, after", "after, before")  # how lunch–race is told, and how race–storm
NEW = "after, after"
RELATION = {"before": BEFORE, "after": AFTER}


def clause(earlier, later, relation):
    """earlier, later int64 (n,) -> tokens (n, 3): "earlier before later", or "later after earlier"."""
    first, second = (earlier, later) if relation == "before" else (later, earlier)
    return torch.stack([first, torch.full_like(first, RELATION[relation]), second], dim=1)


def tagged(tokens, first):
    """tokens (n, 7) and the labels (n, 7): 1 = the first event, 0 = another event, -100 = no event."""
    labels = (tokens == first[:, None]).long()
    return tokens, labels.masked_fill(tokens >= len(EVENTS), -100)


def single(n, relation, seed=0):
    """n texts of one clause: tokens int64 (n, 7), labels int64 (n, 7)."""
    generator = torch.Generator().manual_seed(seed)
    earlier, later = torch.rand(n, len(EVENTS), generator=generator).argsort(dim=1)[:, :2].T
    return tagged(torch.cat([clause(earlier, later, relation), torch.full((n, 4), FILL)], dim=1), earlier)


def chains(n, held_out=False, seed=0):
    """n chains of three events, earliest first: int64 (n, 3).

    A quarter of the trios of events is held out, whatever their order: no lesson brings these three together.
    """
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.rand(16 * n + 64, len(EVENTS), generator=generator).argsort(dim=1)[:, :3]
    return drawn[(drawn.sum(dim=1) % 4 == 0) == held_out][:n]


def double(n, combination, held_out=False, seed=0):
    """n texts of two clauses, in random order; combination: one of SEEN, or NEW. Returns as `single`."""
    chain = chains(n, held_out, seed)
    told = [clause(*chain[:, i : i + 2].T, relation) for i, relation in enumerate(combination.split(", "))]
    stop = torch.full((n, 1), STOP)
    texts = torch.stack([torch.cat([told[i], stop, told[1 - i]], dim=1) for i in (0, 1)])  # (2, n, 7)
    swap = torch.randint(2, (n,), generator=torch.Generator().manual_seed(seed))
    return tagged(texts[swap, torch.arange(n)], chain[:, 0])


def lesson(n, combinations=SEEN, seed=0):
    """n texts to learn from: as many of each kind, single clauses included."""
    kinds = [*(partial(single, relation=r) for r in RELATION), *(partial(double, combination=c) for c in combinations)]
    parts = [kind(-(-n // len(kinds)), seed=seed + i) for i, kind in enumerate(kinds)]
    return tuple(torch.cat(tensors)[:n] for tensors in zip(*parts, strict=True))


def train_tagger(combinations=SEEN, *, positions="learned", n=4800, epochs=4, lr=1e-2, seed=0):
    """A Classifier with a label per token, on an Encoder of two layers, trained on n texts of `lesson`.

    positions: as in TransformerConfig.
    """
    training.set_seed(seed)
    config = models.TransformerConfig(vocab_size=len(WORDS), d_model=32, n_heads=4, n_layers=2, d_ff=64, max_len=7,
                                      positions=positions)  # fmt: skip
    model = heads.Classifier(models.Encoder(config), n_classes=2, pooling=None)
    texts = lesson(n, combinations, seed)
    for _ in training.train(model, training.Minibatches(*texts, batch_size=80, epochs=epochs, seed=seed), lr=lr):
        pass
    return model


@torch.no_grad()
def all_right(model, tokens, labels):
    """Share of the texts in which every event gets the right tag."""
    right = (model(tokens).argmax(dim=-1) == labels) | (labels == -100)
    return right.all(dim=1).float().mean().item()


def text(tokens):
    """Ids -> words, without the filling."""
    return " ".join(WORDS[i] for i in tokens.tolist() if i != FILL)


def scores(model, n=500, seed=1_000_000):
    """`all_right` for each kind of text: {"before": …, "after": …, "before, before": …, …}.

    Those of two clauses are about trios of events that are held out from the lessons.
    """
    kinds = {relation: single(n, relation, seed) for relation in RELATION}
    kinds |= {combination: double(n, combination, held_out=True, seed=seed) for combination in (*SEEN, NEW)}
    return {kind: all_right(model, *texts) for kind, texts in kinds.items()}
