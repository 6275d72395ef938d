"""Exercise: how many parameters one encoder block has. A wrong count is taken apart into its terms."""

import itertools

import numpy as np

from course_lib.counting import encoder_block_param_count as reference
from course_lib.exercises.compare import as_number
from course_lib.exercises.exercise import Convention, Example, Exercise, Finding, Probe, Slip

SIZES = ((8, 2, 24), (12, 3, 40), (16, 4, 16), (30, 5, 70), (24, 6, 100), (512, 8, 2048), (6, 1, 11), (20, 10, 33))
PROBES = tuple(
    Probe((*size, bias), (f"bias is {bias}",
          "d_ff and d_model are equal" if size[0] == size[2] else "d_ff and d_model differ"))
    for bias in (True, False)
    for size in SIZES
) + (Probe((10, 2, 15), ("bias is left out",)),)


def stages(d_model, n_heads, d_ff, bias=True, *, projections=4, per_head="",
           matrices=2, ff_bias="d_ff + d_model", attention_bias=4, norms=2,
           norm_parts=2, shifts_without_bias=False, bias_flag="used", more=0):  # fmt: skip
    """Attention, feed-forward, norms: each counted with a knob."""
    d, h = d_model, n_heads
    square = {"": d * d, "/ h": d * d / h, "· h": d * d * h, "d_k²": (d / h) ** 2, "d · d_k": d * d / h}[per_head]
    linear = bias or bias_flag == "ignored"
    total = projections * square + matrices * d * d_ff
    if linear and bias_flag != "never":
        total += attention_bias * d + {"d_ff + d_model": d_ff + d,
            "2 d_ff": 2 * d_ff, "2 d_model": 2 * d, "d_ff": d_ff, "d_model": d, "none": 0}[ff_bias]
    parts = norm_parts if linear or shifts_without_bias else min(norm_parts, 1)
    return total + norms * parts * d + more


SLIPS = (
    Slip("w_o-not-counted", "d_model² is counted 3 times instead of 4: besides w_q, w_k and w_v there is w_o.",
         {"projections": 3}),
    Slip("w_o-not-counted", "d_model² is counted 3 times instead of 4, with its bias: besides w_q, w_k and w_v there "
         "is w_o.",
         {"projections": 3, "attention_bias": 3}),
    Slip("one-projection", "d_model² is counted once; attention has four projections: w_q, w_k, w_v and w_o.",
         {"projections": 1}),
    Slip("one-projection", "d_model² is counted once; attention has four projections, each with a bias.",
         {"projections": 1, "attention_bias": 1}),
    Slip("divided-by-heads", "Attention is divided by n_heads: it shrinks with the number of heads. Each head reads "
         "all d_model features, so the heads together need d_model × d_model.", {"per_head": "/ h"}),
    Slip("multiplied-by-heads", "Attention is multiplied by n_heads: it grows with the number of heads. Each head is "
         "only d_model / n_heads wide, so that together they need d_model × d_model.", {"per_head": "· h"}),
    Slip("head-width-squared", "Attention is counted as d_k² instead of d_model²: each head reads all d_model "
         "features.", {"per_head": "d_k²"}),
    Slip("one-feed-forward-matrix", "The feed-forward part has two matrices, up to d_ff and down again; you count "
         "one.", {"matrices": 1}),
    Slip("three-feed-forward-matrices", "You count three feed-forward matrices; this block has two (three belong to "
         "SwiGLU).", {"matrices": 3}),
    Slip("feed-forward-missing", "The feed-forward part is missing.", {"matrices": 0, "ff_bias": "none"}),
    Slip("feed-forward-bias-d_ff", "The second feed-forward bias has d_model entries, not d_ff: a bias is as long as "
         "its output.",
         {"ff_bias": "2 d_ff"}),
    Slip("feed-forward-bias-d_model", "The first feed-forward bias has d_ff entries, not d_model: a bias is as long "
         "as its output.",
         {"ff_bias": "2 d_model"}),
    Slip("one-bias-short", "You are d_model short with biases: each of the four projections has a bias, and so has "
         "the second feed-forward layer.", {"ff_bias": "d_ff"}),
    Slip("first-feed-forward-bias-missing", "The first feed-forward bias, d_ff entries, is missing.",
         {"ff_bias": "d_model"}),
    Slip("feed-forward-biases-missing", "The two feed-forward biases, d_ff + d_model entries, are missing.",
         {"ff_bias": "none"}),
    Slip("attention-biases-missing", "The four biases of the projections, 4 · d_model entries, are missing.",
         {"attention_bias": 0}),
    Slip("attention-bias-once", "The bias of the projections is counted once; each of the four has one.",
         {"attention_bias": 1}),
    Slip("norms-missing", "The two layer norms, each with a scale and a shift, are missing.", {"norms": 0}),
    Slip("one-norm", "You are 2 · d_model short (d_model without biases): a block has two layer norms, each with a "
         "scale and a shift.", {"norms": 1}),
    Slip("one-norm", "You are 2 · d_model short: a block has two layer norms, each with a scale and a shift.",
         {"norms": 1, "shifts_without_bias": True}),
    Slip("three-norms", "You count three layer norms; a block has two.", {"norms": 3}),
    Slip("bias-flag-ignored", "With bias=False your count is the same as with biases: the flag is ignored.",
         {"bias_flag": "ignored"}),
    Slip("biases-never-counted", "The biases are never counted, whatever the flag says.",
         {"bias_flag": "never", "shifts_without_bias": True}),
    Slip("biases-never-counted", "The biases are never counted, whatever the flag says.", {"bias_flag": "never"}),
)

TERMS = {
    "d_model²": lambda d, h, f: d * d,
        "d_model · d_ff": lambda d, h, f: d * f, "d_model": lambda d, h, f: d, "d_ff": lambda d, h, f: f,
    "d_model² / n_heads": lambda d, h, f: d * d / h,
        "d_model² · n_heads": lambda d, h, f: d * d * h, "(d_model / n_heads)²": lambda d, h, f: (d / h) ** 2,
    "d_model · n_heads": lambda d, h, f: d * h,
        "d_model / n_heads": lambda d, h, f: d / h, "n_heads": lambda d, h, f: h, "1": lambda d, h, f: 1,
    "d_ff²": lambda d, h, f: f * f, "d_model · d_ff · "
        "n_heads": lambda d, h, f: d * f * h, "d_model · d_ff / n_heads": lambda d, h, f: d * f / h,
}  # fmt: skip
RIGHT = {True: {"d_model²": 4,
    "d_model · d_ff": 2, "d_model": 9, "d_ff": 1}, False: {"d_model²": 4, "d_model · d_ff": 2, "d_model": 2}}
PART = {
    "d_model²": "four projections, w_q, w_k, w_v and w_o", "d_model · d_ff": "two feed-forward matrices, up and down",
        "d_model": "biases as long as d_model, and the scales and shifts of two norms",
            "d_ff": "the bias of the first feed-forward layer"}  # fmt: skip


def terms_counted(seen):
    """Takes the wrong counts apart: so many d_model², so many d_model · d_ff, …"""
    for bias in (True, False):
        counts = {p.args[:3]: as_number(o.output) for p, o in zip(seen.probes, seen.outcomes, strict=True) if p.args[3:] == (bias,)}
        if any(c is None for c in counts.values()):
            continue
        found = _fit(counts)
        if found and found not in (RIGHT[bias], {**RIGHT[bias], "d_model": 4} if not bias else None):
            return _difference(found, RIGHT[bias], bias)
    return None


def _fit(counts):
    """{term: how often}, with as few terms beyond the usual four as fit all counts exactly; None if nothing does."""
    usual = list(TERMS)[:4]
    values = np.array(list(counts.values()), dtype=float)
    for extra in itertools.chain.from_iterable(itertools.combinations(list(TERMS)[4:], k) for k in range(3)):
        names = usual + list(extra)
        table = np.array([[TERMS[n](*size) for n in names] for size in counts], dtype=float)
        scale = table.max(axis=0)
        times = np.linalg.lstsq(table / scale, values, rcond=None)[0] / scale
        rounded = np.round(times * 2) / 2
        if np.allclose(table @ rounded, values):
            return {n: t for n, t in zip(names, rounded.tolist(), strict=True) if t}
    return None


def _difference(found, right, bias):
    """The terms that are counted another number of times than they should be."""
    off = [t for t in dict.fromkeys((*right, *found)) if found.get(t, 0) != right.get(t, 0)]
    when = "" if bias else " with bias=False"
    says = " ".join(f"Your count{when} holds {found.get(t, 0):g} × {t}; "
                    f"{_wanted(t, right.get(t, 0), bias)}." for t in off[:2])
    return Finding("counts-" + off[0].replace(" ", ""), says + (" And so on." if len(off) > 2 else ""))


def _wanted(term, times, bias):
    if not times:
        return "no part of the block has such a size"
    if term == "d_model" and not bias:
        return f"it should hold {times}: without biases only the scales of two norms are left"
    return f"it should hold {times}: {PART[term]}"


def whole_number(seen):
    """Remark: a float."""
    kinds = {type(o.output).__name__ for o in seen.outcomes} - {"int"}
    return f"It returns a {kinds.pop()}; a count is better an int (// instead of /)." if kinds else None


EXERCISE = Exercise(
    name="encoder_block_param_count",
    reference=reference,
    parameters=("d_model", "n_heads", "d_ff", "bias"),
    parts=("count",),
    probes=PROBES,
    examples=(Example("d_model = 8, n_heads = 2, d_ff = 24, bias = True:", (8, 2, 24, True)),
              Example("d_model = 8, n_heads = 2, d_ff = 24, bias = False:", (8, 2, 24, False))),
    hints=(
        "List the parts of the block: which of them have numbers that are learned? Attention, feed-forward, norms.",
        "Four matrices d_model × d_model; two of d_model × d_ff; every linear layer has a bias as long as its "
        "output; each of two norms has a scale and a shift of length d_model. How does n_heads come in?",
        "4 * (d_model**2 + d_model) for attention with biases; the feed-forward part is d_model * d_ff twice, with "
        "biases d_ff and d_model; the norms are 2 * 2 * d_model.",
    ),
    variant=stages,
    slips=SLIPS,
    conventions=(
        Convention("With bias=False you keep the shifts of the norms. That is one reading; the library drops them "
                   "with the other biases.",
                   {"shifts_without_bias": True}),
    ),
    measures=(terms_counted,),
    in_pairs=False,  # two wrong terms are read off directly
    remarks=(whole_number,),
    look={
        "projections": "how many matrices attention has",
            "per_head": "what n_heads has to do with the count", "matrices": "the feed-forward matrices",
        "ff_bias": "the biases of the feed-forward part",
            "attention_bias": "the biases of the projections", "norms": "the norms",
        "norm_parts": "the norms", "bias_flag": "what bias=False changes",
    },
)  # fmt: skip
