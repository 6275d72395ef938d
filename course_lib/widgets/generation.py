"""explore_generation: what temperature, top-k, top-p and a beam do to a real model's next-token distribution."""

import torch

from course_lib import generation
from course_lib.widgets.view import Control, View, source

SHOWN = 12  # tokens in the table
AHEAD = 5  # tokens that a beam looks ahead


class GenerationView(View):
    """The model runs once for each text; temperature, top-k and top-p work on the logits it gave."""

    _esm = source("keys.js", "family.js", "controls.js", "generation.js")
    _css = source("family.css", "generation.css")
    temperature = Control()
    top_k = Control()
    top_p = Control()
    beam = Control()
    chosen = Control([])
    draws = Control(0)

    def __init__(self, step, prompt, name, separator, eos_id):
        self.step, self.prompt, self.name, self.separator, self.eos_id = step, prompt, name, separator, eos_id
        self.known = {}
        vocab_size = len(self.logits(()))
        limits = {
            "temperature": {"min": 0, "max": 2, "step": 0.1},
            "top_k": [k for k in (1, 2, 3, 5, 10, 20, 50) if k < vocab_size] + [vocab_size],
            "top_p": {"min": 0.05, "max": 1, "step": 0.05},
            "beam": [1, 2, 3, 4, 5, 6],
            "chosen": {"ids": vocab_size},
            "draws": {"min": 0, "max": 10**6, "step": 1},
        }
        super().__init__(limits, temperature=1.0, top_k=vocab_size, top_p=1.0, beam=1, chosen=[], draws=0)
        self.observe(self._draw_one, names="draws")

    def problem(self, name, value):
        if name != "chosen":
            return super().problem(name, value)
        size = self.limits["chosen"]["ids"]
        fits = isinstance(value, (list, tuple)) and all(isinstance(i, int) and 0 <= i < size for i in value)
        return "" if fits else f"chosen must list token ids from 0 to {size - 1}; got {value!r}."

    def logits(self, chosen):
        """Next-token logits (V,) after the prompt and the chosen ids; each text runs through the model once."""
        if chosen not in self.known:
            self.known[chosen] = self.step(torch.tensor([[*self.prompt, *chosen]]), None)[0].float()
        return self.known[chosen]

    def kept(self):
        """Probabilities (V,) after temperature, top-k and top-p."""
        logits = self.logits(tuple(self.chosen))
        if self.temperature == 0:
            return torch.nn.functional.one_hot(logits.argmax(), len(logits)).float()
        return generation.likely(logits[None], self.temperature, self.top_k, self.top_p)[0]

    @torch.no_grad()
    def _draw_one(self, change):
        seed = torch.Generator().manual_seed(change.new)
        self.chosen = [*self.chosen, int(torch.multinomial(self.kept(), 1, generator=seed))]

    def beams(self):
        """The best continuations of AHEAD tokens: [{text, log_prob}], best first; none for a beam of 1."""
        if self.beam == 1 or self.ended():
            return []
        start = tuple(self.chosen)
        found = generation.beam_search(
            lambda ids: self.logits((*start, *ids[1:])), -1, self.eos_id, 1 + AHEAD, width=self.beam
        )
        return [{"text": self.text(ids[1:]), "log_prob": log_prob} for log_prob, ids in found]

    def ended(self):
        return self.eos_id in self.chosen

    def text(self, ids):
        return self.separator.join(self.name(i) for i in ids)

    def compute(self):
        raw, kept = self.logits(tuple(self.chosen)).softmax(-1), self.kept()
        ids = raw.topk(min(SHOWN, len(raw))).indices.tolist()
        tokens = [{"id": i, "text": self.name(i), "raw": float(raw[i]), "kept": float(kept[i])} for i in ids]
        entropy = -(kept[kept > 0].log() * kept[kept > 0]).sum().item()
        return {
            "prompt": self.text(self.prompt),
            "text": self.text(self.chosen),
            "ended": self.ended(),
            "tokens": tokens,
            "possible": int((kept > 0).sum()),
            "vocab_size": len(raw),
            "entropy": entropy,
            "ahead": AHEAD,
            "beams": self.beams(),
        }

    def words(self):
        shown = self.result
        best = shown["tokens"][0]
        text = f"{shown['prompt']}{self.separator}{shown['text']}"
        return (
            f"After “{text}” the likeliest next token is “{best['text']}” ({best['raw']:.0%}). At temperature "
            f"{self.temperature:g}, {shown['possible']} of {shown['vocab_size']} tokens can be drawn."
        )


@torch.no_grad()
def explore_generation(model, prompt, names, source=None, eos_id=-1, separator=" "):
    """Build a text token by token, and see what temperature, top-k, top-p and a beam make of the model's choice.

    model: a trained Decoder, or an EncoderDecoder with source int64 (1, S); prompt: a list of ids; names: a list of
    texts, or a function id -> text; eos_id: the id that ends a text, -1 for none; separator: what stands between
    two tokens.
    Returns a widget with the traits temperature, top_k, top_p, beam (its width) and chosen (ids after the prompt).
    """
    step = generation.stepper(model.eval(), use_cache=False, source=source)
    return GenerationView(step, list(prompt), names if callable(names) else names.__getitem__, separator, eos_id)
