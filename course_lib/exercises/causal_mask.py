"""Exercise: the mask of a sequence that is read from left to right."""

import torch

from course_lib.exercises.exercise import Example, Exercise, Finding, Probe, Slip
from course_lib.masks import causal_mask as reference

PROBES = tuple(Probe((n,), (fact,)) for n, fact in (
    (5, "n = 5"), (3, "n = 3"), (8, "n = 8"), (1, "n = 1"), (2, "n = 2"), (13, "n = 13"),
))  # fmt: skip


def stages(n, *, keep="lower", diagonal=0, size=None, dtype="bool", axes=0, turn=""):
    """A square of ones, one triangle of it, and what it is made into."""
    size = n if size is None else size
    ones = torch.ones(size, size)
    if keep in ("lower", "upper"):
        mask = (ones.tril(diagonal) if keep == "lower" else ones.triu(diagonal)) > 0
    else:
        mask = {"all": ones > 0, "none": ones < 0,
            "eye": torch.eye(size) > 0, "row": ones.tril()[:1] > 0, "off the diagonal": torch.eye(size) < 1,
                "column": ones.tril()[:, :1] > 0,
                    "previous only": torch.eye(size).roll(1, 0).tril() > 0, "last row": ones.tril()[-1:] > 0}[keep]
    if turn:
        mask = mask.flip(0) if turn == "rows reversed" else mask.flip(1)
    return _made(mask, dtype).reshape((1,) * axes + tuple(mask.shape))


def _made(mask, dtype):
    """bool, or something else that says the same (or not)."""
    if dtype in ("0 and -inf", "-inf where allowed", "0 and -1e9", "0 and +inf"):
        fill = {"0 and -1e9": -1e9, "0 and +inf": float("inf")}.get(dtype, float("-inf"))
        return torch.zeros(mask.shape).masked_fill(mask if dtype == "-inf where allowed" else ~mask, fill)
    return mask.to({"bool": torch.bool,
                   "float": torch.float32, "int": torch.int64, "int32": torch.int32, "uint8": torch.uint8}[dtype])


BOOL = "It must be bool, True = may attend."
SLIPS = (
    Slip("sees-one-ahead", "Each token sees the next one, the very token it will have to predict: the diagonal is "
         "off by one.", {"diagonal": 1}),
    Slip("sees-two-ahead", "Each token sees two tokens ahead: the diagonal is off by two.", {"diagonal": 2}),
    Slip("cannot-see-itself", "A token cannot see itself (and the first one sees nothing): the diagonal is off by "
         "one.", {"diagonal": -1}),
    Slip("true-means-blocked", "This is the mask of the *forbidden* positions, the exact opposite: here True means "
         "*may attend*.",
         {"keep": "upper", "diagonal": 1}),
    Slip("sees-the-future", "Each token sees itself and the future: the wrong triangle is kept (the mask is "
         "transposed).", {"keep": "upper"}),
    Slip("sees-the-future-and-the-last", "Each token sees the future, itself and the token just before: the wrong "
         "triangle, and a diagonal too many.", {"keep": "upper", "diagonal": -1}),
    Slip("upper-second-diagonal", "The wrong triangle is kept, and it starts one diagonal too late.",
         {"keep": "upper", "diagonal": 2}),
    Slip("everything-allowed", "Everything is allowed: nothing is hidden from anybody.", {"keep": "all"}),
    Slip("nothing-allowed", "Nothing is allowed: every entry is False.", {"keep": "none"}),
    Slip("only-itself", "Each token sees itself only.", {"keep": "eye"}),
    Slip("all-but-itself", "Each token sees everything but itself.", {"keep": "off the diagonal"}),
    Slip("previous-only", "Each token sees only the one before.", {"keep": "previous only"}),
    Slip("one-row-only", "There is only one row; every query needs a row of its own.", {"keep": "row"}),
    Slip("last-row-only", "There is only one row; every query needs a row of its own.", {"keep": "last row"}),
    Slip("one-column-only", "There is only one column; every key needs a column of its own.", {"keep": "column"}),
    Slip("numbers-instead-of-bool", f"The pattern is right, but it consists of the numbers 0.0 and 1.0. {BOOL}",
         {"dtype": "float"}),
    Slip("integers-instead-of-bool", f"The pattern is right, but it consists of whole numbers, 0 and 1. {BOOL}",
         {"dtype": "int"}),
    Slip("integers-instead-of-bool", f"The pattern is right, but it consists of whole numbers, 0 and 1. {BOOL}",
         {"dtype": "int32"}),
    Slip("integers-instead-of-bool", f"The pattern is right, but it consists of whole numbers, 0 and 1. {BOOL}",
         {"dtype": "uint8"}),
    Slip("additive-mask-large", f"This is an additive mask, 0 where allowed and a huge negative number where not. "
         f"{BOOL}",
         {"dtype": "0 and -1e9"}),
    Slip("additive-mask", f"This is an additive mask, 0 where allowed and −∞ where not, to be added to the scores. "
         f"{BOOL}",
         {"dtype": "0 and -inf"}),
    Slip("additive-mask-inverted", f"This is an additive mask with −∞ on the *allowed* positions: the wrong way "
         f"round, and not bool. {BOOL}",
         {"dtype": "-inf where allowed"}),
    Slip("additive-mask-plus-infinity", f"Forbidden positions hold +∞, and it is not bool. {BOOL}",
         {"dtype": "0 and +inf"}),
    Slip("blocked-as-numbers", f"It consists of numbers, and 1 marks the forbidden positions. {BOOL}",
         {"dtype": "float", "keep": "upper", "diagonal": 1}),
    Slip("blocked-as-integers", f"It consists of whole numbers, and 1 marks the forbidden positions. {BOOL}",
         {"dtype": "int", "keep": "upper", "diagonal": 1}),
    Slip("axis-too-many", "The pattern is right, but there is an axis too many in front: (1, n, n) instead of (n, "
         "n).", {"axes": 1}),
    Slip("two-axes-too-many", "The pattern is right, but there are two axes too many in front: (1, 1, n, n) instead "
         "of (n, n).", {"axes": 2}),
    *(Slip("fixed-size", f"The mask always has {k} × {k} entries, whatever n is: build it for n tokens.", {"size": k})
      for k in (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 32, 64, 100, 128, 256, 512, 1024)),
    Slip("rows-reversed", "The rows come in reversed order: the first token sees everything.",
         {"turn": "rows reversed"}),
    Slip("columns-reversed", "The columns come in reversed order: the first token sees the last key.",
         {"turn": "columns reversed"}),
)  # fmt: skip


def size_is_off(seen):
    """(n + 1, n + 1) and the like."""
    shapes = [tuple(got.shape) for _, got, _ in seen.pairs if isinstance(got, torch.Tensor)]
    sizes = [probe.args[0] for probe, _, _ in seen.pairs]
    if shapes and len(set(shapes)) == 1 and len(seen.pairs) > 1:
        return Finding("fixed-size", f"The mask has the shape {shapes[0]} whatever n is: build it for n tokens.")
    gaps = {s[0] - n for s, n in zip(shapes, sizes, strict=False) if len(s) == 2 and s[0] == s[1]}
    if len(gaps) == 1 and gaps != {0}:
        return Finding("size-off", f"The mask has n {gaps.pop():+d} rows and columns; it needs n.")
    return None


def what_is_seen(seen):
    """The first token for which too much or too little is allowed."""
    for _, got, want in seen.pairs:
        if not isinstance(got, torch.Tensor) or got.shape != want.shape or got.dtype != torch.bool:
            continue
        row = int((got != want).any(1).nonzero()[0])
        mine, right = got[row].nonzero().flatten().tolist(), want[row].nonzero().flatten().tolist()
        says = f"With n = {len(want)}, token {row} may look at {mine or 'nothing'}; it should look at {right}."
        return Finding("future-visible" if set(mine) - set(right) else "past-hidden",
                       says, "Look at which triangle is kept, and at its diagonal.")
    return None


EXERCISE = Exercise(
    name="causal_mask",
    reference=reference,
    parameters=("n",),
    parts=("mask",),
    probes=PROBES,
    examples=(Example("n = 3:", (3,)),),
    hints=(
        "Write the mask for three tokens on paper: what may the first one see, and what the last?",
        "True on and below the diagonal. torch can cut a triangle out of a matrix of ones; look at what its "
        "`diagonal` argument does.",
        "torch.ones(n, n, dtype=torch.bool) and one method that keeps the lower triangle.",
    ),
    variant=stages,
    slips=SLIPS,
    measures=(size_is_off, what_is_seen),
    look={
        "keep": "which triangle is kept, and what True stands for",
            "diagonal": "the diagonal, that is, whether a token sees itself and the next",
        "size": "the size of the matrix you start from",
            "dtype": "the dtype", "axes": "the shape", "turn": "the order of rows and columns",
    },
)  # fmt: skip
