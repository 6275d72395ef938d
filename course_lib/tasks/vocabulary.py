"""Words and their ids, in one place: what turns a list of words into a row of a tensor, and back.

A "word" is any string: a word, a character, a digit. The data sets decide how a text is cut, this file only
counts.
"""

import torch

PAD, BOS, EOS = "<pad>", "<bos>", "<eos>"


class Vocabulary:
    """The words of a data set, each with an id: 0 is <pad>, 1 is <bos>, 2 is <eos>, then the words in sorted
    order.

    `words` may be any iterable of strings, repeats included; a str counts as its characters.
    """

    pad_id, bos_id, eos_id = 0, 1, 2

    def __init__(self, words):
        known = sorted(set(words))
        clash = {PAD, BOS, EOS} & set(known)
        if clash:
            raise ValueError(f"{', '.join(sorted(clash))} is reserved: a vocabulary adds it by itself")
        self.words = [PAD, BOS, EOS, *known]
        self.ids = {word: i for i, word in enumerate(self.words)}

    def __len__(self):
        return len(self.words)

    def __contains__(self, word):
        return word in self.ids

    def encode(self, words):
        """Words -> list of ids. A word that is not known: ValueError."""
        words = list(words)
        unknown = [word for word in words if word not in self.ids]
        if unknown:
            raise ValueError(f"not among the {len(self)} words of this vocabulary: {unknown[0]!r}")
        return [self.ids[word] for word in words]

    def decode(self, ids):
        """Ids (a list or a 1-D tensor) -> list of words up to the first <eos>, without <pad> and <bos>."""
        words = []
        for i in torch.as_tensor(ids).tolist():
            if not 0 <= i < len(self):
                raise ValueError(f"ids run from 0 to {len(self) - 1}; got {i}")
            if i == self.eos_id:
                break
            if i > self.eos_id:
                words.append(self.words[i])
        return words

    def batch(self, sequences, *, bos=False, eos=False, length=None):
        """Sequences of words -> (ids int64 (B, T), padding bool (B, T), True = a real token), padded on the
        right.

        bos, eos: put <bos> before, <eos> after each sequence. length: T; by default that of the longest
        sequence.
        """
        rows = [[self.bos_id] * bos + self.encode(words) + [self.eos_id] * eos for words in sequences]
        longest = max((len(row) for row in rows), default=0)
        length = longest if length is None else length
        if longest > length:
            raise ValueError(f"the longest sequence has {longest} ids, which does not fit into length = {length}")
        ids = torch.tensor([row + [self.pad_id] * (length - len(row)) for row in rows], dtype=torch.int64)
        sizes = torch.tensor([len(row) for row in rows])
        return ids, torch.arange(length) < sizes[:, None]
