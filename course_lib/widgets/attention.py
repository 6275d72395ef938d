"""explore_attention: every layer and head of a model on a sentence of your own."""

import torch

from course_lib.widgets.view import Control, View, floats, source

LONGEST = 48  # tokens; longer maps cannot be read


class AttentionView(View):
    """The model runs once for a sentence; choosing layers, heads and tokens happens in the browser."""

    _esm = source("keys.js", "family.js", "controls.js", "colours.js", "heat_map.js", "attention.js")
    _css = source("family.css", "attention.css")
    in_browser = ("layer", "head", "query", "stretch")
    sentence = Control()
    layer = Control()
    head = Control()
    query = Control()
    stretch = Control()

    def __init__(self, model, encode, sentence):
        self.model, self.encode = model, encode
        config = model.config
        limits = {
            "sentence": {"length": 400},
            "layer": list(range(1, config.n_layers + 1)),
            "head": list(range(1, config.n_heads + 1)),
            "query": {"min": 0, "max": LONGEST - 1, "step": 1},
            "stretch": [False, True],
        }
        super().__init__(limits, sentence=sentence, layer=1, head=1, query=0, stretch=False)

    def compute(self):
        tokens, names = self.encode(self.sentence)
        tokens = torch.as_tensor(tokens).reshape(1, -1)
        if not 1 <= tokens.shape[1] <= LONGEST:
            raise ValueError(f"the sentence must have 1 to {LONGEST} tokens; this one has {tokens.shape[1]}")
        _, weights = self.model(tokens, need_weights=True)
        self.names = [str(name) for name in names]
        self.weights = torch.stack([layer[0] for layer in weights]).float()  # (L, h, T, T)
        return {"names": self.names, "weights": floats(self.weights)}

    def picture(self):
        return self.weights[self.layer - 1, self.head - 1], 0, 1

    def words(self):
        query = min(self.query, len(self.names) - 1)
        row = self.weights[self.layer - 1, self.head - 1, query]
        key = int(row.argmax())
        return (
            f"Layer {self.layer}, head {self.head}: “{self.names[query]}” ({query}) looks most at "
            f"“{self.names[key]}” ({key}), with weight {row[key]:.2f}."
        )


def explore_attention(model, encode, sentence):
    """Look at every head of a trained model, on any sentence you type.

    model: an Encoder or Decoder; encode(text) -> (ids, names): the token ids, as a list or int64 (1, T),
    and the text of each.
    Returns a widget with the traits sentence, layer, head (both from 1), query (a token, from 0) and stretch
    (colours up to the largest weight instead of 1).
    """
    return AttentionView(model.eval(), encode, sentence)
