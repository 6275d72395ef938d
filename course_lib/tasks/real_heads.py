"""The heads of a real encoder: where they look, and whether a head that finds the right noun once finds it again.

`reader()` gives MiniLM with the twin sentences; where its weights are absent, a small encoder trained on the spot on
the grammar of dependencies.py, with questions of the same form.
"""

from dataclasses import dataclass

import torch

from course_lib import pretrained
from course_lib.tasks import dependencies, twins


@dataclass(frozen=True)
class Question:
    """A sentence with a pronoun: does a head look from it at the right noun more than at the wrong one?"""

    tokens: torch.Tensor  # int64 (1, T)
    names: list  # T texts
    pronoun: int
    right: list  # places of the noun that is meant: more than one where it was cut into pieces
    wrong: list


@dataclass(frozen=True)
class Reader:
    """An encoder, its tokenizer (None for the stand-in), a sentence to begin with, and the questions."""

    model: torch.nn.Module
    tokenizer: object
    sentence: str
    questions: list
    note: str

    def encode(self, text):
        """text -> (ids, names), as `explore_attention` wants it."""
        if self.tokenizer is None:
            words = text.split()
            strange = [word for word in words if word not in dependencies.ID]
            if strange:
                raise ValueError(
                    f"the stand-in does not know {strange[0]!r}; it knows {', '.join(dependencies.WORDS[2:])}"
                )
            return [dependencies.ID[word] for word in words], words
        encoded = self.tokenizer.encode(text)
        return encoded.ids, encoded.tokens

    @torch.no_grad()
    def maps(self, tokens):
        """All weights for tokens (1, T): (layers, heads, T, T)."""
        return torch.stack([weights[0] for weights in self.model(tokens, need_weights=True)[1]])


def reader(seed=0):
    """MiniLM, or the stand-in with a note that says how to get the real one."""
    try:
        model, tokenizer = pretrained.load_minilm()
    except pretrained.Unavailable as missing:
        return stand_in(f"{missing}. Until then: a small encoder trained here.", seed)
    questions = [twin_question(tokenizer, twin) for twin in twins.twins()]
    return Reader(model, tokenizer, twins.twins()[0].text, questions, "all-MiniLM-L6-v2: 6 layers of 12 heads")


def twin_question(tokenizer, twin):
    """A twin sentence in tokens."""
    encoded = tokenizer.encode(twin.text)

    def places(word):
        start, end = twin.span(word)
        return [i for i, (a, b) in enumerate(encoded.offsets) if start <= a < b <= end]

    tokens = torch.tensor([encoded.ids])
    return Question(tokens, encoded.tokens, places(twin.pronoun)[0], places(twin.antecedent), places(twin.other))


def stand_in(note, seed=0):
    """A small encoder that has learned to name hidden words; the questions hide the pronoun."""
    model, data = dependencies.train_model(n=3000, epochs=3, seed=seed), dependencies.sentences(200, seed=seed + 1)
    objects = torch.tensor([dependencies.ID[noun] for noun in dependencies.OBJECTS])
    questions = []
    for row in (data.needs[:, 0] >= 0).nonzero().flatten().tolist()[:28]:
        tokens = data.tokens[row][data.padding[row]][None]
        wrong = torch.isin(tokens[0], objects).nonzero().flatten().tolist()
        names = [dependencies.WORDS[i] for i in tokens[0]]
        questions.append(Question(tokens, names, int(data.hidden_at[row]), [int(data.needs[row, 0])], wrong))
    sentence = "the queen didn't write a letter because [MASK] was tired"
    return Reader(model.encoder, None, sentence, questions, note)


def looks_at(reader, questions=None):
    """Weight from the pronoun to the right and to the wrong noun: two tensors (questions, layers, heads)."""
    right, wrong = [], []
    for question in reader.questions if questions is None else questions:
        row = reader.maps(question.tokens)[:, :, question.pronoun]  # (layers, heads, T)
        right.append(row[..., question.right].sum(dim=-1))
        wrong.append(row[..., question.wrong].sum(dim=-1))
    return torch.stack(right), torch.stack(wrong)


def luck(right, wrong, draws=2000, seed=0):
    """What the best of all heads would reach if the nouns of each pair of questions were labelled by a coin: (draws,).

    right, wrong: as from `looks_at`, twin after twin. Both questions of a pair change their labels together, so a
    head that always looks at the same place stays at one half.
    """
    per_pair = (right > wrong).float().unflatten(0, (-1, 2)).sum(dim=1).flatten(1) - 1  # (pairs, all heads): -1, 0, 1
    coins = torch.randint(0, 2, (draws, len(per_pair)), generator=torch.Generator().manual_seed(seed)) * 2.0 - 1
    return 0.5 + (coins @ per_pair).amax(dim=1) / (2 * len(per_pair))


def head_kinds(maps):
    """For each head (layers, heads), its mean weight on the token before, the one after, the first and the last."""
    T = maps.shape[-1]
    later, earlier = torch.arange(1, T), torch.arange(T - 1)
    return {
        "the token before": maps[:, :, later, earlier].mean(dim=-1),
        "the token after": maps[:, :, earlier, later].mean(dim=-1),
        "the first token": maps[..., 0].mean(dim=-1),
        "the last token": maps[..., -1].mean(dim=-1),
    }


def strongest(scores):
    """(layer, head) with the highest score, both counted from 1."""
    layer, head = divmod(int(scores.argmax()), scores.shape[1])
    return layer + 1, head + 1
