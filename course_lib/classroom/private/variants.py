"""Graded exercises: the skill of a practised one, with another specification; some with numbers drawn for each learner.

The library's text does not contain the answers, and what passes in practice fails here, with a mistake of its own
("as-practised"). Numbers are drawn from the course's seed and the learner's name: the same ones each time.
"""

import functools
import inspect
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from course_lib.exercises.exercise import Exercise, Slip
from course_lib.exercises.registry import all_exercises, find


@dataclass(frozen=True)
class Variant:
    """A graded exercise. text: the task, with {numbers} in braces; stub: its first line; draw: random.Random -> numbers."""

    name: str
    base: str
    stub: str
    text: str
    knobs: Callable  # numbers -> the knobs of the base's `variant` that make the right answer
    draw: Callable = lambda r: {}
    stages: Callable | None = None  # in place of the base's, where its knobs cannot say it


def _windowed(n, *, window, **knobs):
    """A causal mask whose queries see only the newest `window` keys. The other knobs are those of causal_mask."""
    mask = find("causal_mask").variant(n, **knobs)
    distance = torch.arange(n)[:, None] - torch.arange(n)
    far = (distance >= window).expand(mask.shape[-2:] if mask.shape[-2:] == distance.shape else distance.shape)
    return mask.masked_fill(far, 0) if mask.shape[-1] == n else mask


def _heated(q, k, v, mask=None, *, temperature, **knobs):
    """Attention whose scores are divided by √d_k and by a temperature."""
    return find("scaled_dot_product_attention").variant(q / temperature, k, v, mask, **knobs)


_SDPA = "def {name}(q, k, v, mask=None):"
_NORM = "def {name}(x, gamma, beta, eps=1e-5):"
_BLOCK = "def {name}(x, attention, feed_forward, norm_1, norm_2):"
_COUNT = "def {name}(d_model, n_heads, d_ff, bias=True):"
VARIANTS = (
    Variant("windowed_mask", "causal_mask", "def {name}(n):",
            "bool (n, n): query i may attend to key j where j ≤ i and i − j < {window}: itself and the {before} before it.",
            lambda m: {"window": m["window"]}, lambda r: {"window": r.randint(3, 7)}, _windowed),
    Variant("strict_mask", "causal_mask", "def {name}(n):",
            "bool (n, n): query i may attend to key j where j < i: to what came before it, and not to itself.",
            lambda m: {"diagonal": -1}),
    Variant("other_base_pe", "sinusoidal_pe", "def {name}(n_positions, d_model):",
            "float32 (n_positions, d_model): sines and cosines interleaved, sine first, as in the paper, but with the base {base}.",
            lambda m: {"base": float(m["base"])}, lambda r: {"base": r.choice((700, 1700, 3300, 7000, 23000, 47000))}),
    Variant("cosine_first_pe", "sinusoidal_pe", "def {name}(n_positions, d_model):",
            "float32 (n_positions, d_model): as in the paper, but in each pair the cosine comes first.",
            lambda m: {"layout": "cos, sin"}),
    Variant("attention_with_temperature", "scaled_dot_product_attention", _SDPA,
            "The pair (output, weights), with the scores q·k divided by √d_k and by the temperature {temperature}. mask: bool, True = may attend.",
            lambda m: {"temperature": m["temperature"]}, lambda r: {"temperature": r.choice((0.4, 0.6, 1.5, 1.8, 2.5))}, _heated),
    Variant("attention_scaled_by_width", "scaled_dot_product_attention", _SDPA,
            "The pair (output, weights), with the scores q·k divided by d_k, not by its root. mask: bool, True = may attend.",
            lambda m: {"scale": "d_k"}),
    Variant("norm_around_one", "layer_norm", _NORM,
            "Layer norm over the last axis whose scale is 1 + gamma, so that gamma = 0 leaves the normed values alone.",
            lambda m: {"affine": "1 + gamma"}),
    Variant("norm_with_outer_eps", "layer_norm", _NORM,
            "Layer norm over the last axis that divides by (the standard deviation + eps): eps stands outside the root.",
            lambda m: {"spread": "√variance + eps"}),
    Variant("post_norm_block", "encoder_block", _BLOCK,
            "x (B, T, d_model) -> (B, T, d_model), always post-norm, and the feed-forward half comes before the attention half. "
            "norm_2 belongs to feed_forward, norm_1 to attention.",
            lambda m: {"flag": "always post", "order": "feed-forward first"}),
    Variant("inner_norm_block", "encoder_block", _BLOCK,
            "x (B, T, d_model) -> (B, T, d_model): in each half x + norm(part(x)). Attention with norm_1 first, then feed_forward with norm_2.",
            lambda m: {"pre": "x + norm(part(x))", "flag": "always pre"}),
    Variant("gated_block_count", "encoder_block_param_count", _COUNT,
            "Parameters of an encoder block whose feed-forward part has {matrices} matrices of d_model × d_ff numbers instead of two. "
            "Biases as before: one of d_ff and one of d_model for that part, all there only where bias=True.",
            lambda m: {"matrices": m["matrices"]}, lambda r: {"matrices": r.choice((3, 4, 5))}),
    Variant("one_norm_block_count", "encoder_block_param_count", _COUNT,
            "Parameters of an encoder block that has a single norm in front of both of its parts.",
            lambda m: {"norms": 1}),
)  # fmt: skip
BY_NAME = {variant.name: variant for variant in VARIANTS}


def numbers(variant, seed, learner):
    """The numbers of this learner: a dict. seed, learner: text."""
    drawn = variant.draw(random.Random(f"{seed}/{learner}/{variant.name}"))
    return drawn | {"before": drawn["window"] - 1} if "window" in drawn else drawn


def exercise_of(variant, drawn):
    """The Exercise, with references made of the base's open stages. It is known to the registry by name and numbers."""
    base, fixed = find(variant.base), variant.knobs(drawn)
    made = variant.stages or base.variant
    name = f"{variant.name}{sorted(drawn.items())}" if drawn else variant.name
    if name in all_exercises():
        return all_exercises()[name]

    def stages(*args, **knobs):
        return made(*args, **(fixed | knobs))

    stages.base = base.name
    probes = _asked_alike(base, variant)
    exercise = Exercise(
        name=name, reference=functools.partial(stages), hints=("",) * 3, parameters=base.parameters, parts=base.parts,
        probes=probes, examples=tuple(e for e in base.examples if len(e.args) <= _width(variant)), variant=stages,
        slips=_slips(base, variant, fixed, made), normal_form=base.normal_form, look=base.look, basic=base.basic,
        last_is_optional=base.last_is_optional)  # fmt: skip
    all_exercises()[name] = exercise  # where the slips look probes up
    return exercise


def _width(variant):
    """How many arguments the stub takes."""
    space = {}
    exec(variant.stub.format(name="f") + " ...", space)
    return len(inspect.signature(space["f"]).parameters)


def _asked_alike(base, variant):
    """The base's probes that have an answer here, without arguments that the stub does not take."""
    width, seen = _width(variant), []
    for probe in base.probes:
        cut = replace(probe, args=probe.args[:width])
        if probe.rule != "raises" and not any(cut.args is p.args for p in seen):
            seen.append(cut)
    return tuple(seen)


def _slips(base, variant, fixed, made):
    """The base's slips, but for those that turn the knobs which the variant has turned; and the base's own answer."""
    usual = {k: p.default for k, p in inspect.signature(base.variant).parameters.items() if k in fixed}
    says = "This is the exercise as it was practised. Read the task again: it asks for something else."
    kept = [s for s in base.slips if not set(s.knobs) & set(fixed) and not callable(s.says)]
    unheated = {"temperature": 1.0, "window": 10**9}
    practised = usual | {k: v for k, v in unheated.items() if k in fixed}
    return (Slip("as-practised", says, practised), *kept)


def for_learner(course, learner):
    """{name: Exercise} of the course's variants with this learner's numbers."""
    chosen = [BY_NAME[t.exercise] for t in course.tasks if t.notebook == "graded"]
    return {v.name: exercise_of(v, numbers(v, course.seed, learner)) for v in chosen}


def handed_out(course, learner):
    """[(name, text, stub)] as a learner sees them."""
    chosen = [BY_NAME[t.exercise] for t in course.tasks if t.notebook == "graded"]
    return [(v.name, v.text.format(**numbers(v, course.seed, learner)), v.stub.format(name=v.name)) for v in chosen]
