"""`yours`: every model of the course runs through the learner's own functions for a while.

    with yours(scaled_dot_product_attention=mine, split_heads=mine_too) as report:
        logits = decoder(tokens)
    report                        # which functions ran, how often, in which models

The library's modules look these functions up in the module that defines them, so that replacing the name there is
enough. Everything is put back at the end, also after an error, also when nested.
"""

import functools
import html
import inspect
import sys

import torch
from torch import nn

from course_lib import attention, blocks, generation, masks, positions, training
from course_lib.exercises.judge import examine

_library_fused_attention = attention.fused_attention
_library_rotary_inside = positions.Rotary.inside


class Report:
    """What ran while `yours` was in force: calls = {function: {class of the model: number of calls}}."""

    def __init__(self, names):
        self.calls = {name: {} for name in names}

    def count(self, name):
        model = _outermost_model()
        self.calls[name][model] = self.calls[name].get(model, 0) + 1

    def lines(self):
        """One sentence per function."""
        for name, models in self.calls.items():
            where, total = ", ".join(f"{model} ({n})" for model, n in models.items()), sum(models.values())
            often = "once" if total == 1 else f"{total} times"
            yield f"Your {name} ran {often}: {where}." if models else f"Your {name} was not needed."

    def __str__(self):
        return "\n".join(self.lines())

    __repr__ = __str__

    def _repr_html_(self):
        return "<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in self.lines()) + "</ul>"


class yours:
    """Context manager: inside it every model of the course runs through the functions that are handed over.

    Each must have passed its check (it is checked again here), or anyway=True says that it may be wrong: then the
    models show what a mistake does. Raises ValueError for a function that no model calls, or that did not pass.
    Two things are added to yours: a query that may attend to nothing gets 0, as in the library; and where a model
    asks for what the exercise does not (a norm without beta, rotary positions of another kind), the library helps.
    """

    def __init__(self, *, anyway=False, **functions):
        unknown = [name for name in functions if name not in REPLACE]
        if unknown:
            raise ValueError(f"no model calls {', '.join(unknown)} as a whole; these can be yours: "
                             f"{', '.join(REPLACE)}")
        for name, function in functions.items():
            result = None if anyway else examine(name, function)
            if result is not None and not result:
                raise ValueError(f"your {name} has not passed its check yet: {result.message}\n(anyway=True runs it "
                    f"all the same)")
        self.functions, self.report, self.before = functions, Report(functions), []

    def __enter__(self):
        for name, function in self.functions.items():
            for place, attribute, replacement in REPLACE[name](_counted(name, function, self.report)):
                self.before.append((place, attribute, getattr(place, attribute)))
                setattr(place, attribute, replacement)
        return self.report

    def __exit__(self, *error):
        while self.before:
            setattr(*self.before.pop())


def _counted(name, function, report):
    @functools.wraps(function, updated=())
    def counted(*args, **kwargs):
        report.count(name)
        return function(*args, **kwargs)

    return counted


def _outermost_model():
    """The class of the outermost module whose method is running, or "no model"."""
    frame, found = sys._getframe(2), "no model"
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, nn.Module):
            found = type(owner).__name__
        frame = frame.f_back
    return found


# ---- what to replace for each function: (place, attribute, replacement) ------------------------------------------------------------


def _attention(f):
    """The explicit attention, in place or not, and the fused kernel as well, so that no number bypasses it."""

    def scaled_dot_product_attention(q, k, v, mask=None):
        output, weights = f(q, k, v, mask)
        if mask is not None:
            nothing = ~mask.any(-1, keepdim=True)
            output, weights = output.masked_fill(nothing, 0.0), weights.masked_fill(nothing, 0.0)
        return output, weights

    def fused_attention(q, k, v, mask=None, causal=False):
        return attention.explicit_attention(q, k, v, mask, causal)[0]

    yield attention, "scaled_dot_product_attention", scaled_dot_product_attention
    yield attention, "in_place_attention", scaled_dot_product_attention
    yield attention, "fused_attention", fused_attention


def _causal_mask(f):
    """The mask, also where the fused kernel would have hidden the future by itself."""

    def causal_mask(n, device=None):
        return f(n).to(device) if device is not None else f(n)

    def fused_attention(q, k, v, mask=None, causal=False):
        if causal:
            rows = masks.causal_rows(q.shape[-2], k.shape[-2], q.device)
            mask = rows if mask is None else mask & rows
        return _library_fused_attention(q, k, v, mask)

    yield masks, "causal_mask", causal_mask
    if attention.fused_attention is _library_fused_attention:
        yield attention, "fused_attention", fused_attention


def _layer_norm(f):
    """The norm, and the fused kernel that the blocks use. A norm without beta gets zeros."""

    def layer_norm(x, gamma, beta, eps=1e-5):
        return f(x, gamma, torch.zeros_like(gamma) if beta is None else beta, eps)

    yield blocks, "layer_norm", layer_norm
    yield blocks, "fused_layer_norm", layer_norm


def _online_attention(f):
    """The fused kernel, where nothing is masked; grouped heads get their keys and values repeated."""

    def fused_attention(q, k, v, mask=None, causal=False):
        if mask is not None or causal:
            return _library_fused_attention(q, k, v, mask, causal)
        group = q.shape[1] // k.shape[1]
        return f(q, k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1))

    yield attention, "fused_attention", fused_attention


def _rotary(f):
    """Rotary positions of the exercise's kind: base 10000, neighbouring features, one row of positions for all."""
    with_base = "base" in inspect.signature(f).parameters

    def inside(self, at, x):
        usual = self.pairs == "interleaved" and (self.base == 10000.0 or with_base) and at.ndim == 1
        if not usual:
            return _library_rotary_inside(self, at, x)
        more = {"base": self.base} if with_base else {}
        return lambda q, k: (f(q, at, **more), f(k, at, **more))

    yield positions, "rotary", f
    yield positions.Rotary, "inside", inside


def _by_name(place, attribute):
    return lambda f: [(place, attribute, f)]


REPLACE = {
    "scaled_dot_product_attention": _attention,
    "split_heads": _by_name(attention, "split_heads"),
    "merge_heads": _by_name(attention, "merge_heads"),
    "causal_mask": _causal_mask,
    "layer_norm": _layer_norm,
    "rms_norm": _by_name(blocks, "rms_norm"),
    "encoder_block": _by_name(blocks, "encoder_block"),
    "decoder_block": _by_name(blocks, "decoder_block"),
    "sinusoidal_pe": _by_name(positions, "sinusoidal_pe"),
    "rotary": _rotary,
    "shift_right": _by_name(training, "shift_right"),
    "mask_tokens": _by_name(training, "mask_tokens"),
    "greedy_decode": _by_name(generation, "greedy_decode"),
    "online_attention": _online_attention,
}
