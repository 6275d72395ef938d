"""Real English that is always there: the topics of Python's own help, from `pydoc_data.topics`.

Python prints these texts at `help("assert")`. They come with Python (PSF licence), so nothing is downloaded;
how much there is depends on the Python version, so compute it: `len(load())`. Many topics repeat whole
paragraphs of others. Cut as it is, such a text would put the same sentences into training and test, so each
paragraph is kept once, and what is held out repeats no long stretch of what is trained on.
"""

from pydoc_data.topics import topics

import torch

from course_lib.tasks.vocabulary import Vocabulary

STRETCH = 60  # characters


def paragraphs():
    """The different paragraphs of the text, in order. Two that differ in blanks and line ends alone count as
    one.
    """
    found = {}
    for topic in topics.values():
        for paragraph in topic.split("\n\n"):
            found.setdefault(" ".join(paragraph.split()), paragraph.strip("\n"))
    return [paragraph for squeezed, paragraph in found.items() if squeezed]


def load():
    """The whole text, each paragraph once, with a blank line between two."""
    return "\n\n".join(paragraphs())


def split(held_out_share=0.1, seed=0):
    """Two texts, (to train on, held out), without a common paragraph or a common stretch of STRETCH
    characters.
    """
    if not 0 < held_out_share < 1:
        raise ValueError(f"held_out_share must lie between 0 and 1; got {held_out_share}")
    found = paragraphs()
    order = torch.randperm(len(found), generator=torch.Generator().manual_seed(seed)).tolist()
    held_out = set(order[: max(1, round(held_out_share * len(found)))])
    train = "\n\n".join(p for i, p in enumerate(found) if i not in held_out)
    seen = _stretches(train)
    test = [p for i, p in enumerate(found) if i in held_out and seen.isdisjoint(_stretches(p))]
    return train, "\n\n".join(test)


def vocabulary():
    """A Vocabulary of the characters of the whole text: `encode(text)` gives ids, `"".join(decode(ids))` the
    text.
    """
    return Vocabulary(load())


def windows(ids, n, T=64, seed=0):
    """n pieces cut at random places: inputs int64 (n, T), targets int64 (n, T), the id after each input. May
    overlap.
    """
    ids = _long_enough(ids, T)
    starts = torch.randint(len(ids) - T, (n, 1), generator=torch.Generator().manual_seed(seed))
    pieces = ids[starts + torch.arange(T + 1)]
    return pieces[:, :-1], pieces[:, 1:]


def windows_once(ids, T=64, seed=0):
    """The whole text as pieces that do not overlap, in random order: inputs and targets, int64 (n, T) each.

    Every id is a target once at most, so that nothing is learned by heart.
    """
    ids = _long_enough(ids, T)
    n = (len(ids) - 1) // T
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    return ids[: n * T].view(n, T)[order], ids[1 : n * T + 1].view(n, T)[order]


def _stretches(text):
    """All stretches of STRETCH characters, blanks and line ends not told apart; a shorter text is one
    stretch.
    """
    squeezed = " ".join(text.split())
    return {squeezed[i : i + STRETCH] for i in range(max(1, len(squeezed) - STRETCH + 1))}


def _long_enough(ids, T):
    ids = torch.as_tensor(ids)
    if ids.ndim != 1 or len(ids) <= T or T < 1:
        raise ValueError(f"ids must be 1-D and longer than T; got shape {tuple(ids.shape)}, T = {T}")
    return ids
