"""explore_block: step through one encoder or decoder block, with the shapes and the real values of a chosen token."""

from contextlib import contextmanager

import torch

from course_lib.blocks import DecoderBlock
from course_lib.widgets.view import Control, View, floats, source


class BlockView(View):
    """Every step's values are computed once, by the block itself; stepping happens in the browser."""

    _esm = source("keys.js", "family.js", "controls.js", "colours.js", "heat_map.js", "block.js")
    _css = source("family.css", "block.css")
    in_browser = ("step", "token")
    step = Control()
    token = Control()

    def __init__(self, steps, names, source_names):
        self.steps, self.names, self.source_names = steps, names, source_names
        limits = {"step": list(range(1, len(steps) + 1)), "token": list(range(len(names)))}
        super().__init__(limits, step=1, token=0)

    def compute(self):
        sent = [
            {
                "title": title,
                "text": text,
                "shape": shape_in_words(values),
                "sizes": list(values.shape),
                "values": floats(values),
            }
            for title, text, values in self.steps
        ]
        return {"steps": sent, "names": self.names, "source_names": self.source_names}

    def picture(self):
        values = self.steps[self.step - 1][2]
        if values.ndim == 3:
            return values[:, self.token], 0, 1
        most = float(values.abs().max()) or 1.0
        return values, -most, most

    def words(self):
        title, text, values = self.steps[self.step - 1]
        return f"Step {self.step} of {len(self.steps)}, {title}: {text} Shape {shape_in_words(values)}."


def shape_in_words(values):
    """(T, width) or, for attention weights, (h, T, S)."""
    names = ("T", "width") if values.ndim == 2 else ("h", "T", "S")
    return "(" + ", ".join(f"{name} = {size}" for name, size in zip(names, values.shape, strict=True)) + ")"


@contextmanager
def recording(block):
    """Inside, every submodule of the block notes what it read and what it gave: seen[name] = (input, output)."""
    seen = {}

    def note(name):
        def hook(module, inputs, output):
            seen[name] = (inputs[0][0], output[0])  # the first of the batch: (T, width)

        return hook

    hooks = [part.register_forward_hook(note(name)) for name, part in block.named_modules() if name]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def attention_steps(seen, part, weights):
    """Six steps of one attention sublayer; part: its name in the block, weights (h, T, S)."""
    h, cross = len(weights), "" if part == "attention" else "cross "
    read = "Each token" if part == "attention" else "Each token of the source"
    return [
        (cross + "queries", f"Each token asks: x @ w_q, for all {h} heads side by side.", seen[f"{part}.w_q"][1]),
        (cross + "keys", f"{read} says what it offers: x @ w_k.", seen[f"{part}.w_k"][1]),
        (cross + "values", f"{read} says what it hands over: x @ w_v.", seen[f"{part}.w_v"][1]),
        (cross + "weights", "softmax(q · k / √d_k) in each head: where a token looks.", weights),
        (cross + "heads, merged", "The weighted values of each head, side by side.", seen[f"{part}.w_o"][0]),
        (cross + "mixed by w_o", "One matrix mixes what the heads found.", seen[f"{part}.w_o"][1]),
    ]


def feed_forward_steps(seen):
    return [
        ("feed-forward, wide", "Each token alone: x @ w_1.", seen["feed_forward.w_1"][1]),
        ("activation", "What the activation lets through.", seen["feed_forward.w_2"][0]),
        ("feed-forward, back", "Back to d_model: @ w_2.", seen["feed_forward.w_2"][1]),
    ]


def sublayer_steps(block, seen, norm, steps, stream):
    """Norm and residual around a sublayer's steps. stream: the residual stream after the sum, for pre-norm."""
    norm_step = (norm.replace("_", " "), "Each token to mean 0 and variance 1, then scaled and shifted.", seen[norm][1])
    total = "x + what the sublayer found: nothing is overwritten."
    if block.norm_first:
        return [norm_step, *steps, ("residual sum", total, stream)]
    return [*steps, ("residual sum", total, seen[norm][0]), norm_step]


def block_steps(block, x, memory=None, **options):
    """Run a block on x (1, T, d_model) and list its steps: [(title, sentence, values (T, width) or (h, T, S))]."""
    with recording(block) as seen:
        inputs = (x,) if memory is None else (x, memory)
        output, *weights = block(*inputs, need_weights=True, **options)
    norms = ["norm_1", "norm_2"] if memory is None else ["norm_1", "norm_2", "norm_3"]
    sublayers = [attention_steps(seen, "attention", weights[0][0])]
    if memory is not None:
        sublayers.append(attention_steps(seen, "cross_attention", weights[1][0]))
    sublayers.append(feed_forward_steps(seen))
    streams = [seen[name][0] for name in norms[1:]] + [output[0]]
    steps = [("residual stream", "What comes in: one vector of width d_model for each token.", x[0])]
    for norm, inner, stream in zip(norms, sublayers, streams, strict=True):
        steps += sublayer_steps(block, seen, norm, inner, stream)
    return steps


@torch.no_grad()
def explore_block(model, tokens, names, layer=0, source_tokens=None, source_names=None):
    """Step through one block of a trained model: every shape, and the real values of the token you choose.

    model: an Encoder or a Decoder, or an EncoderDecoder, whose decoder block is shown: then tokens is the decoder's
    input, and source_tokens (1, S) with source_names the encoder's. tokens: int64 (1, T); names: T texts;
    layer: from 0.
    Returns a widget with the traits step (from 1) and token (from 0).
    """
    stack = getattr(model, "decoder", model)
    x, inside = stack.embed(tokens)
    block = stack.blocks[layer]
    if isinstance(block, DecoderBlock):
        memory = model.encode(source_tokens)
        for earlier in stack.blocks[:layer]:
            x = earlier(x, memory, positions=inside)
        steps = block_steps(block, x, memory, positions=inside)
    else:
        for earlier in stack.blocks[:layer]:
            x = earlier(x, causal=stack.causal, positions=inside)
        steps = block_steps(block, x, causal=stack.causal, positions=inside)
    return BlockView(steps, list(names), list(source_names or names))
