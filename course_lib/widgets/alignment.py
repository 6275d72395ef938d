"""explore_alignment: cross-attention against the true alignment, read at the right step and at the wrong one."""

import numpy as np
import torch

from course_lib.widgets.view import Control, View, floats, source

READINGS = ["the step that predicts the word", "the step that reads the word"]


class AlignmentView(View):
    """The maps of a few sentences, from every layer and head, are sent once; choosing among them asks no Python."""

    _esm = source("keys.js", "family.js", "controls.js", "colours.js", "heat_map.js", "alignment.js")
    in_browser = ("sentence", "layer", "head", "read_at")
    sentence = Control()
    layer = Control()
    head = Control()
    read_at = Control()

    def __init__(self, maps, pairs):
        self.maps, self.pairs = maps, pairs  # maps: per pair (L, 1 + h, T + 1, S), the mean of the heads first
        n_layers, n_heads = maps[0].shape[0], maps[0].shape[1] - 1
        limits = {
            "sentence": list(range(1, len(pairs) + 1)),
            "layer": list(range(1, n_layers + 1)),
            "head": list(range(n_heads + 1)),
            "read_at": READINGS,
        }
        super().__init__(limits, sentence=1, layer=n_layers, head=0, read_at=READINGS[0])

    def scores(self):
        """Share of words whose largest weight is on their true source word: (readings, L, 1 + h)."""
        right, n = 0, 0
        for maps, pair in zip(self.maps, self.pairs, strict=True):
            truth = np.array(pair.alignment)
            known = truth >= 0
            found = np.stack([rows_read(maps, late, len(truth)) for late in (0, 1)]).argmax(
                -1
            )  # (readings, L, 1 + h, T)
            right = right + (found == truth)[..., known].sum(-1)
            n += known.sum()
        return right / n

    def compute(self):
        sentences = [
            {
                "source": list(pair.source),
                "target": list(pair.target),
                "truth": list(pair.alignment),
                "maps": floats(maps),
            }
            for maps, pair in zip(self.maps, self.pairs, strict=True)
        ]
        return {"sentences": sentences, "scores": self.scores().tolist()}

    def picture(self):
        maps, pair = self.maps[self.sentence - 1], self.pairs[self.sentence - 1]
        late = READINGS.index(self.read_at)
        return rows_read(maps[self.layer - 1, self.head], late, len(pair.target)), 0, 1

    def words(self):
        score = self.result["scores"][READINGS.index(self.read_at)][self.layer - 1][self.head]
        whose = f"head {self.head}" if self.head else "the mean of the heads"
        return (
            f"Layer {self.layer}, {whose}, read at {self.read_at}: the largest weight is on the true source word for "
            f"{score:.0%} of the words of {len(self.pairs)} sentences."
        )


def rows_read(maps, late, n_words):
    """The rows that belong to the words: row t predicts word t and reads word t - 1; late = 1 takes the row after."""
    return maps[..., late : late + n_words, :]


@torch.no_grad()
def cross_maps(model, translation, pair):
    """Cross-attention of one pair under teacher forcing: (L, 1 + h, T + 1, S), the mean over the heads first."""
    source, decoder_input, padding, _ = translation.tensors([pair])
    decoder_input = torch.cat(
        [decoder_input, decoder_input.new_tensor([[translation.target_vocabulary.eos_id]])], dim=1
    )
    _, weights = model(source, decoder_input[:, : len(pair.target) + 1], padding, need_weights=True)
    cross = torch.stack([layer[0] for layer in weights["cross"]])  # (L, h, T + 1, S)
    return torch.cat([cross.mean(dim=1, keepdim=True), cross], dim=1).numpy()


def explore_alignment(model, translation, n_sentences=8):
    """Compare cross-attention with the known alignment, at the step that predicts a word and at the step that reads it.

    model: a trained EncoderDecoder; translation: a Translation of course_lib.tasks whose pairs carry an alignment.
    The first n_sentences held-out pairs are shown. Returns a widget with the traits sentence, layer, head
    (0: the mean of all) and read_at.
    """
    pairs = [pair for pair in translation.held_out if pair.alignment][:n_sentences]
    if not pairs:
        raise ValueError("no held-out pair carries an alignment: explore_alignment needs to know the truth")
    return AlignmentView([cross_maps(model.eval(), translation, pair) for pair in pairs], pairs)
