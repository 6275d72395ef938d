"""Exercise: one mask with which the same stack is an encoder, a decoder, or something between the two."""

import torch

from course_lib.exercises.exercise import Example, Exercise, Finding, Probe, Slip
from course_lib.masks import prefix_mask as reference


def _fact(n_prefix, n):
    return "the prefix is empty" if n_prefix == 0 else "everything is prefix" if n_prefix == n else "there is a prefix"


PROBES = tuple(Probe((p, n), (_fact(p, n),)) for p, n in ((2, 5), (3, 7), (0, 4), (4, 4), (1, 6), (5, 6), (0, 1), (1, 1)))


def stages(n_prefix, n, *, past="causal", prefix="seen by all", length="n", dtype="bool", blocked=False, off=0):
    """A causal mask, opened for the prefix. Each word is a knob."""
    size = n if length == "n" else n_prefix + n
    mask = {
        "causal": torch.ones(size, size).tril() > 0, "everything": torch.ones(size, size) > 0,
        "future": torch.ones(size, size).triu() > 0, "nothing": torch.zeros(size, size) > 0,
        "strictly": torch.ones(size, size).tril(-1) > 0, "one ahead": torch.ones(size, size).tril(1) > 0,
    }[past]  # fmt: skip
    p = max(0, n_prefix + off)
    if prefix == "seen by all":
        mask[:, :p] = True
    elif prefix == "sees all":
        mask[:p] = True
    elif prefix == "sees itself only":
        mask[:p, :p] = True
        mask[p:, :p] = False
    elif prefix == "apart":
        mask[:, :p] = True
        mask[:p, p:] = True
    elif prefix == "block":
        mask[:p, :p] = True
    mask = ~mask if blocked else mask
    if dtype == "additive":
        return torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)
    return mask.to({"bool": torch.bool, "float": torch.float32, "int": torch.int64}[dtype])


BOOL = "It must be bool, True = may attend."
SLIPS = (
    Slip("causal-throughout", "This is the plain causal mask: inside the prefix nobody sees what comes later in it.",
         {"prefix": "closed"}),
    Slip("everything-allowed", "Everything is allowed: behind the prefix each token sees the ones it has to predict.",
         {"past": "everything"}),
    Slip("prefix-sees-the-future", "The prefix sees what is written after it. Rows are queries, columns are keys: open "
         "the columns of the prefix, not its rows.", {"prefix": "sees all"}),
    Slip("prefix-sees-the-future", "The prefix sees everything, also what is written after it.", {"prefix": "apart"}),
    Slip("prefix-is-hidden", "The tokens behind the prefix do not see it.", {"prefix": "sees itself only"}),
    Slip("wrong-triangle", "Behind the prefix each token sees the future: the wrong triangle is kept.", {"past": "future"}),
    Slip("prefix-alone", "Behind the prefix nobody sees anything but the prefix, not even itself.", {"past": "nothing"}),
    Slip("cannot-see-itself", "Behind the prefix a token does not see itself: the diagonal is off by one.",
         {"past": "strictly"}),
    Slip("sees-one-ahead", "Behind the prefix each token sees the next one: the diagonal is off by one.", {"past": "one ahead"}),
    Slip("prefix-one-too-long", "The prefix is taken one token too long.", {"off": 1}),
    Slip("prefix-one-too-short", "The prefix is taken one token too short.", {"off": -1}),
    Slip("n-counts-the-rest", "The mask has n_prefix + n rows; n counts all tokens, the prefix among them.",
         {"length": "both"}),
    Slip("true-means-blocked", "It is the exact opposite: here True means *may attend*.", {"blocked": True}),
    Slip("additive-mask", f"This is an additive mask, 0 and −∞. {BOOL}", {"dtype": "additive"}),
    Slip("numbers-instead-of-bool", f"The pattern is right, but it consists of the numbers 0.0 and 1.0. {BOOL}",
         {"dtype": "float"}),
    Slip("integers-instead-of-bool", f"The pattern is right, but it consists of whole numbers. {BOOL}", {"dtype": "int"}),
)  # fmt: skip


def what_is_seen(seen):
    """The first query for which too much or too little is allowed."""
    for probe, got, want in seen.pairs:
        if isinstance(got, torch.Tensor) and got.shape == want.shape and got.dtype == torch.bool:
            row = int((got != want).any(1).nonzero()[0])
            mine, right = got[row].nonzero().flatten().tolist(), want[row].nonzero().flatten().tolist()
            where = "in the prefix" if row < probe.args[0] else "behind the prefix"
            says = (f"n_prefix = {probe.args[0]}, n = {probe.args[1]}: token {row}, {where}, may look at "
                    f"{mine or 'nothing'}; it should look at {right}.")  # fmt: skip
            return Finding("too-much-is-seen" if set(mine) - set(right) else "too-little-is-seen", says)
    return None


EXERCISE = Exercise(
    name="prefix_mask",
    reference=reference,
    parameters=("n_prefix", "n"),
    parts=("mask",),
    probes=PROBES,
    examples=(Example("n_prefix = 2, n = 4:", (2, 4)),),
    hints=(
        "Draw it for n_prefix = 2 and n = 4. What may token 0 see? And token 3?",
        "It is the causal mask with one thing more: the keys of the prefix are open to every query.",
        "Start from masks.causal_mask(n), and set the first n_prefix *columns* to True.",
    ),
    variant=stages,
    slips=SLIPS,
    measures=(what_is_seen,),
    look={
        "past": "what a token behind the prefix may see", "prefix": "who may see the prefix", "length": "what n counts",
        "dtype": "the dtype", "blocked": "what True stands for", "off": "where the prefix ends",
    },
)  # fmt: skip
