"""Exercise: cut the width of x into heads, (B, T, d_model) -> (B, h, T, d_k)."""

import torch

from course_lib.attention import split_heads as reference
from course_lib.exercises.exercise import Example, Exercise, Finding, Probe, Slip
from course_lib.exercises.rearrangement import counting, where_from
from course_lib.exercises.stub import words_in

TOO_FEW, FITS = "n_heads does not divide d_model", "n_heads divides d_model"


def _probe(B, T, d_model, n_heads, *facts, dtype=torch.float32):
    x = torch.randn(B, T, d_model, generator=torch.Generator().manual_seed(B * T * d_model)).to(dtype)
    return Probe((x, n_heads), (FITS, *facts))


PROBES = (
    _probe(2, 5, 12, 3, "every size is another number"),
    _probe(3, 4, 10, 5, "d_k is smaller than n_heads"),
    _probe(2, 3, 4, 2, "n_heads and d_k are equal"),
    _probe(2, 6, 6, 3, "T and d_model are equal"),
    _probe(4, 4, 16, 4, "B, T, n_heads and d_k are equal"),
    _probe(2, 3, 6, 1, "there is one head"),
    _probe(2, 3, 5, 5, "each head has one feature"),
    _probe(1, 1, 8, 2, "there is one token"),
    _probe(2, 5, 12, 4, "the input is float64", dtype=torch.float64),
    Probe((torch.randn(2, 6, 5, generator=torch.Generator().manual_seed(7)).transpose(1, 2), 3), (FITS,
          "x is a transposed view")),
    Probe((torch.zeros(2, 3, 12), 5), (TOO_FEW,), rule="raises"),
    Probe((torch.zeros(2, 5, 10), 4), (TOO_FEW,), rule="raises"),
)


def stages(x, n_heads, *, cut="features", cut_into="(h, d_k)", turn="heads forward", after=None):
    """Cut an axis in two, then bring the heads forward. cut, cut_into, turn, after: the knobs."""
    B, T, d_model = x.shape
    if d_model % n_heads and after != "no error":
        raise ValueError("n_heads must divide d_model")
    h, d_k = n_heads, d_model // n_heads
    x = x[..., : h * d_k]
    if cut == "copies":
        heads = x.unsqueeze(1).expand(B, h, T, d_model)
    elif cut == "tokens":
        heads = torch.stack(x.chunk(h, dim=1), dim=1)
    elif cut == "batch":
        heads = torch.stack(x.chunk(h, dim=0), dim=1)
    elif cut == "scrambled":
        heads = x.reshape(B, h, T, d_k)
    elif cut == "scrambled, d_k first":
        heads = x.reshape(B, d_k, T, h).permute(0, 3, 2, 1)
    elif cut == "scrambled, through T":
        heads = x.reshape(B, h, d_k, T).transpose(2, 3)
    elif cut == "features turned":
        heads = x.transpose(1, 2).reshape(B, h, T, d_k)
    elif cut == "batch joined":
        heads = x.reshape(h, B, T, d_k).transpose(0, 1)
    else:
        heads = _cut_features(x, B, T, h, d_k, cut_into)
    return _finish(_turned(heads, turn), after)


def _cut_features(x, B, T, h, d_k, cut_into):
    """(B, h, T, d_k), by whole runs of features or by every h-th one."""
    if cut_into == "(d_k, h)":
        return x.reshape(B, T, d_k, h).permute(0, 3, 1, 2)
    if cut_into == "h and d_k exchanged":
        return x.reshape(B, T, d_k, h).transpose(1, 2)
    if cut_into == "width h":
        return torch.stack([x[..., i * h : (i + 1) * h] for i in range(h)], dim=1)
    if cut_into == "always the first":
        return torch.stack([x[..., :d_k]] * h, dim=1)
    if cut_into == "overlapping":
        return torch.stack([x[..., i : i + d_k] for i in range(h)], dim=1)
    if cut_into == "from the end":
        return x.reshape(B, T, h, d_k).flip(2).transpose(1, 2)
    if cut_into == "features reversed":
        return x.reshape(B, T, h, d_k).flip(3).transpose(1, 2)
    return x.reshape(B, T, h, d_k).transpose(1, 2)


def _turned(heads, turn):
    """Another order of the axes than (B, h, T, d_k)."""
    orders = {"heads forward": (0, 1, 2, 3),
        "not turned": (0, 2, 1, 3), "d_k before T": (0, 1, 3, 2), "heads before batch": (1, 0, 2, 3),
              "heads last": (0, 2, 3, 1), "d_k forward": (0, 3, 2, 1),
                             "T before batch": (2, 1, 0, 3), "d_k before heads": (0, 3, 1, 2),
              "d_k and heads exchanged, T second": (0, 2, 3, 1), "T first": (2, 0, 1, 3)}  # fmt: skip
    return heads.permute(orders[turn])


def _finish(heads, after):
    if after == "batch and heads joined":
        return heads.flatten(0, 1)
    if after == "batch and heads joined, heads first":
        return heads.transpose(0, 1).flatten(0, 1)
    if after == "first head only":
        return heads[:, 0]
    if after == "list":
        return list(heads.unbind(1))
    return heads


SLIPS = (
    Slip("view-scrambles", "The shape is right, but a head holds pieces of several tokens: the numbers are only "
         "re-read in the shape (B, h, T, d_k), never moved. Cut the last axis in two first, and then bring the heads "
         "forward.", {"cut": "scrambled"}),
    Slip("view-scrambles-d_k-first", "The shape is right, but the numbers of different tokens are mixed: they are "
         "re-read in a shape in which the tokens are not an axis of their own.", {"cut": "scrambled, d_k first"}),
    Slip("view-scrambles-through-tokens", "The shape is right, but the numbers of different tokens are mixed: x is "
         "re-read as (B, h, d_k, T), although tokens come before features in x.", {"cut": "scrambled, through T"}),
    Slip("view-after-transpose-scrambles", "Tokens and features are exchanged before the cut, so that a head holds "
         "numbers of several features and tokens mixed.", {"cut": "features turned"}),
    Slip("view-into-batch", "The heads are taken out of the batch axis: (h, B, T, d_k) re-reads the numbers, and "
         "sequences are mixed.",
         {"cut": "batch joined"}),
    Slip("every-h-th-feature", "Head i gets every h-th feature (i, i + h, i + 2h, …). It should get a run of d_k "
         "neighbours: the order of the two new axes is what decides.", {"cut_into": "(d_k, h)"}),
    Slip("heads-and-d_k-exchanged", "The number of heads and their width are exchanged: there are d_k heads of width "
         "n_heads.",
         {"cut_into": "h and d_k exchanged"}),
    Slip("heads-as-wide-as-their-number", "Each head is n_heads features wide; it should be d_k = d_model / n_heads "
         "wide.",
         {"cut_into": "width h"}),
    Slip("always-the-first-head", "Every head is a copy of the first: all hold features 0 to d_k − 1.",
         {"cut_into": "always the first"}),
    Slip("heads-overlap", "The heads overlap: head i begins at feature i, not at feature i · d_k.",
         {"cut_into": "overlapping"}),
    Slip("heads-reversed", "The heads come in reversed order: head 0 holds the last features.",
         {"cut_into": "from the end"}),
    Slip("features-reversed", "Inside each head the features come in reversed order.",
         {"cut_into": "features reversed"}),
    Slip("whole-width-each", "Every head gets all d_model features (a copy); each should get d_model / n_heads of "
         "them.", {"cut": "copies"}),
    Slip("tokens-shared-out", "The tokens are shared out among the heads; the features should be. Cut the last axis.",
         {"cut": "tokens"}),
    Slip("batch-shared-out", "The sequences of the batch are shared out among the heads; the features should be. Cut "
         "the last axis.",
         {"cut": "batch"}),
    Slip("heads-not-brought-forward", "The heads stand behind the tokens: the shape is (B, T, h, d_k). They must "
         "stand before them.",
         {"turn": "not turned"}),
    Slip("d_k-before-tokens", "The last two axes are exchanged: (B, h, d_k, T) instead of (B, h, T, d_k).",
         {"turn": "d_k before T"}),
    Slip("heads-before-batch", "The heads stand before the batch: (h, B, T, d_k) instead of (B, h, T, d_k).",
         {"turn": "heads before batch"}),
    Slip("heads-last", "The heads stand last: (B, T, d_k, h) instead of (B, h, T, d_k).", {"turn": "heads last"}),
    Slip("d_k-forward", "d_k and the heads have changed places: (B, d_k, T, h) instead of (B, h, T, d_k). Another "
         "pair of axes must be exchanged.", {"turn": "d_k forward"}),
    Slip("tokens-before-batch", "Batch and tokens have changed places: another pair of axes must be exchanged.",
         {"turn": "T before batch"}),
    Slip("d_k-second", "Tokens and features have changed places, (B, d_k, h, T), instead of tokens and heads.",
         {"turn": "d_k before heads"}),
    Slip("tokens-first", "The tokens stand first: the axes are in the wrong order.", {"turn": "T first"}),
    Slip("batch-and-heads-joined", "Batch and heads are joined into one axis, (B · h, T, d_k); here they stay two.",
         {"after": "batch and heads joined"}),
    Slip("heads-and-batch-joined", "Heads and batch are joined into one axis, (h · B, T, d_k); here they stay two.",
         {"after": "batch and heads joined, heads first"}),
    Slip("first-head-only", "Only the first head is returned.", {"after": "first head only"}),
    Slip("list-of-heads", "The heads are right, but come as a list or tuple; return one tensor with a head axis.",
         {"after": "list"}),
    Slip("no-error-when-not-divisible", "Right as long as n_heads divides d_model. Where it does not, features are "
         "lost without a word: raise a ValueError that says so.", {"after": "no error"}),
)


def moved(seen):
    return where_from(seen, ("sequence", "token", "feature"), ("sequence", "head", "token", "feature"))


def swallows_bad_sizes(seen):
    """Right everywhere but for the error that is asked for."""
    if seen.wrong and all(seen.probes[i].rule == "raises" for i in seen.wrong):
        says = "Right as long as n_heads divides d_model. Where it does not, something is returned all the same: raise a ValueError."
        return Finding("no-error-when-not-divisible", says)
    return None


def kind_of_error(seen):
    """Remark: something is raised when n_heads does not divide d_model, but no ValueError."""
    kinds = {o.raised.kind for p, o in zip(seen.probes, seen.outcomes, strict=True) if p.rule == "raises"}
    if kinds == {"ValueError"}:
        return None
    return f"When n_heads does not divide d_model it raises {', '.join(sorted(kinds))}; a ValueError that names both numbers helps more."


def refuses_everything(seen):
    """It always raises the error that is meant for numbers that do not divide."""
    raised = seen.outcomes[seen.crashed[0]].raised
    if raised.kind in ("ValueError",
                       "AssertionError") and {"ValueError", "AssertionError"} & words_in(seen.runner.candidate):
        return Finding("refuses-valid-input",
                       "Input that is valid is refused: the test for n_heads dividing d_model is the wrong way round.")
    return None


EXERCISE = Exercise(
    name="split_heads",
    reference=reference,
    parameters=("x", "n_heads"),
    parts=("result",),
    probes=PROBES,
    examples=(Example("One sequence of two tokens with four features, 0 to 7, cut into two heads:",
              (counting(1, 2, 4), 2)),),
    hints=(
        "Which axis is cut, and which axes only change places? Follow one token's features through your code.",
        "Two steps: give the last axis two axes in its place, (h, d_k), without touching the others; then let heads "
        "and tokens change places. One reshape straight to the final shape moves nothing.",
        "x.reshape(B, T, n_heads, d_k).transpose(…, …), and before that a ValueError if d_model % n_heads is not 0.",
    ),
    variant=stages,
    slips=SLIPS,
    measures=(moved, swallows_bad_sizes),
    crash_measures=(refuses_everything,),
    remarks=(kind_of_error,),
    look={
        "cut": "which axis is cut in two, and whether numbers are moved or only re-read",
        "cut_into": "the order and the sizes of the two axes that replace the last one",
        "turn": "the line that lets axes change places",
        "after": "what is returned",
    },
)  # fmt: skip
