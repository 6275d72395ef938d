"""Sentences in two languages: what the three tasks (french, dates, number_words) have in common."""

from dataclasses import dataclass

import torch

from course_lib.tasks.vocabulary import Vocabulary


@dataclass(frozen=True)
class Pair:
    """A sentence and its translation, as words; and, where it is known, which word comes from which."""

    source: tuple
    target: tuple
    alignment: tuple = ()  # for each target word the place of its source word, -1 for a word that has none


class Translation:
    """Pairs to train on and pairs held out, none in both, and the vocabulary of each language.

    join_source, join_target: functions that put words together to a text; `cut` cuts a text into words.
    """

    def __init__(self, train, held_out, *, cut, join_source, join_target):
        self.train, self.held_out = train, held_out
        self.cut, self.join_source, self.join_target = cut, join_source, join_target
        both = {pair.source for pair in train} & {pair.source for pair in held_out}
        if both:
            raise ValueError(f"held out and trained on at once: {join_source(min(both))!r}")
        self.source_vocabulary = Vocabulary(word for pair in train for word in pair.source)
        self.target_vocabulary = Vocabulary(word for pair in train for word in pair.target)
        self._check_known()

    def tensors(self, pairs):
        """(source (N, S), decoder_input (N, T), source_padding (N, S), targets (N, T)), in the order of
        `train`'s models.

        decoder_input is <bos> and the words, targets are the words and <eos>: shifted by one place, once.
        Padded targets are -100.
        """
        source, source_padding = self.source_vocabulary.batch(pair.source for pair in pairs)
        decoder_input, _ = self.target_vocabulary.batch([pair.target for pair in pairs], bos=True)
        targets, real = self.target_vocabulary.batch([pair.target for pair in pairs], eos=True)
        return source, decoder_input, source_padding, targets.masked_fill(~real, -100)

    def alignments(self, pairs):
        """Place of the source word for each target, int64 (N, T), -1 where there is none (<eos>, padding, …).

        Row t belongs to `targets[:, t]`, so to the step that predicts the word, not to the one that reads it.
        """
        T = max(len(pair.target) for pair in pairs) + 1
        return torch.tensor([[*pair.alignment, *[-1] * (T - len(pair.alignment))] for pair in pairs])

    def source(self, text):
        """A text to translate as one row: (ids int64 (1, S), padding bool (1, S))."""
        return self.source_vocabulary.batch([self.cut(text)])

    def text(self, ids):
        """Ids of the target language as a text, up to the first <eos>."""
        return self.join_target(self.target_vocabulary.decode(ids))

    def _check_known(self):
        for pair in self.held_out:
            strange = [w for w in pair.source if w not in self.source_vocabulary]
            strange += [w for w in pair.target if w not in self.target_vocabulary]
            if strange:
                raise ValueError(
                    f"{strange[0]!r} occurs only in what is held out, so no model can know it: "
                    "take more pairs to train on"
                )
