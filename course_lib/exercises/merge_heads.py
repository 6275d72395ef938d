"""Exercise: put the heads side by side again, (B, h, T, d_k) -> (B, T, d_model)."""

import torch

from course_lib.attention import merge_heads as reference
from course_lib.exercises.exercise import Example, Exercise, Finding, Probe, Slip
from course_lib.exercises.rearrangement import counting, where_from

STORED, VIEW = "x is stored in the order of its axes", "x is a transposed view, as split_heads returns it"


def _probe(B, h, T, d_k, *facts, dtype=torch.float32):
    x = torch.randn(B, h, T, d_k, generator=torch.Generator().manual_seed(B * h * T * d_k)).to(dtype)
    return Probe((x,), (STORED, *facts))


def _view(B, h, T, d_k, *facts):
    x = torch.randn(B, T, h, d_k, generator=torch.Generator().manual_seed(B + h + T * d_k))
    return Probe((x.transpose(1, 2),), (VIEW, *facts))


PROBES = (
    _probe(2, 3, 5, 4, "every size is another number"),
    _probe(3, 5, 4, 2, "there are more heads than tokens"),
    _probe(2, 2, 3, 2, "h and d_k are equal"),
    _probe(2, 3, 3, 4, "h and T are equal"),
    _probe(2, 3, 4, 4, "T and d_k are equal"),
    _probe(4, 4, 4, 4, "all sizes are equal"),
    _probe(2, 1, 3, 6, "there is one head"),
    _probe(1, 3, 1, 2, "there is one token"),
    _probe(2, 3, 5, 4, "the input is float64", dtype=torch.float64),
    _view(2, 3, 5, 4, "every size is another number"),
)


def stages(x, *, order="heads beside features", reduce=None, after=None, read="reshape"):
    """Bring the heads next to the features, then join the two. order, reduce, after, read: the knobs."""
    B, h, T, d_k = x.shape
    if reduce is not None:
        return {"mean": x.mean(1), "sum": x.sum(1), "max": x.amax(1), "first": x[:, 0], "last": x[:, -1],
                "product": x.prod(1)}[reduce]  # fmt: skip
    if order == "along tokens":
        return x.reshape(B, h * T, d_k)
    if order == "along tokens, interleaved":
        return x.transpose(1, 2).reshape(B, T * h, d_k)
    orders = {
        "heads beside features": (0, 2, 1, 3), "not turned": (0, 1, 2, 3), "interleaved": (0, 2, 3, 1),
        "d_k first": (0, 3, 1, 2), "heads and d_k exchanged": (0, 3, 2, 1), "last two exchanged": (0, 1, 3, 2),
        "batch and tokens exchanged": (2, 0, 1, 3), "batch and heads exchanged": (1, 0, 2, 3), "tokens first": (2, 1, 0, 3),
    }  # fmt: skip
    if read == "view" and order == "heads beside features":
        return x.transpose(1, 2).view(B, T, h * d_k)
    moved = x.permute(orders[order])
    if read == "reversed":
        moved = moved.flip(2)
    return _finish(moved, B, h, T, d_k, after)


def _finish(moved, B, h, T, d_k, after):
    if after == "not joined":
        return moved
    if after == "features before tokens":
        return moved.reshape(B, T, h * d_k).transpose(1, 2)
    if after == "tokens and heads joined":
        return moved.reshape(B, T * h, d_k)
    if after == "batch and tokens joined":
        return moved.reshape(B * T, h * d_k)
    if after == "all joined":
        return moved.reshape(B, T * h * d_k)
    if after == "divided by h":
        return moved.reshape(B, T, h * d_k) / h
    return moved.reshape(B, T, h * d_k)


SLIPS = (
    Slip("reshape-scrambles", "The shape is right, but a token gets numbers of other tokens: the heads are joined "
         "without being brought next to the features first.", {"order": "not turned"}),
    Slip("features-interleaved", "The features of the heads are interleaved: head 0's first, head 1's first, … The "
         "first d_k features should be head 0. It is the order of the axes before joining that decides.",
         {"order": "interleaved"}),
    Slip("d_k-brought-forward", "The features are brought before heads and tokens, so that the numbers of different "
         "tokens are mixed.",
         {"order": "d_k first"}),
    Slip("heads-and-d_k-exchanged", "Heads and features change places instead of heads and tokens (the wrong pair of "
         "axes).",
         {"order": "heads and d_k exchanged"}),
    Slip("last-two-axes-exchanged", "The last two axes, tokens and features, change places instead of heads and "
         "tokens.",
         {"order": "last two exchanged"}),
    Slip("batch-and-tokens-mixed", "The batch axis is moved, so that sequences are mixed.",
         {"order": "batch and tokens exchanged"}),
    Slip("batch-and-heads-exchanged", "Batch and heads change places instead of heads and tokens.",
         {"order": "batch and heads exchanged"}),
    Slip("batch-and-tokens-exchanged", "Batch and tokens change places instead of heads and tokens.",
         {"order": "tokens first"}),
    Slip("heads-reversed", "The heads come in reversed order: the last one first.", {"read": "reversed"}),
    Slip("view-after-transpose", "`.view` refuses after a transpose, because the numbers are no longer contiguous in "
         "memory. It works only for input that is itself a transposed view, as split_heads returns it; attention "
         "returns another kind.", {"read": "view"}),
    Slip("heads-along-tokens", "The heads are put one after the other along the tokens: the sequence became h times "
         "longer. They belong side by side, along the features.", {"order": "along tokens"}),
    Slip("heads-between-tokens", "The heads are put between the tokens: the sequence became h times longer. They "
         "belong side by side, along the features.", {"order": "along tokens, interleaved"}),
    Slip("heads-averaged", "The heads are averaged: that keeps d_k features and mixes what the heads found. Put them "
         "side by side.",
         {"reduce": "mean"}),
    Slip("heads-summed", "The heads are summed: that keeps d_k features and mixes what the heads found. Put them "
         "side by side.",
         {"reduce": "sum"}),
    Slip("heads-maximum", "Only the largest value over the heads is kept. Put the heads side by side.",
         {"reduce": "max"}),
    Slip("heads-multiplied", "The heads are multiplied with each other. Put them side by side.",
         {"reduce": "product"}),
    Slip("first-head-only", "Only the first head is returned.", {"reduce": "first"}),
    Slip("last-head-only", "Only the last head is returned.", {"reduce": "last"}),
    Slip("heads-not-joined", "Heads and features are still two axes, (B, T, h, d_k): join them into one.",
         {"after": "not joined"}),
    Slip("features-before-tokens", "The last two axes are exchanged: (B, d_model, T) instead of (B, T, d_model).",
         {"after": "features before tokens"}),
    Slip("batch-and-tokens-joined", "Batch and tokens are joined into one axis; only heads and features should be.",
         {"after": "batch and tokens joined"}),
    Slip("tokens-joined-too", "Tokens, heads and features are all joined into one axis; the tokens must stay one of "
         "their own.",
         {"after": "all joined"}),
    Slip("divided-by-h", "The result is divided by the number of heads; nothing should be changed, only moved.",
         {"after": "divided by h"}),
)


def moved(seen):
    return where_from(seen, ("sequence", "head", "token", "feature"), ("sequence", "token", "feature"))


def needs_a_view(seen):
    """Works on a transposed view and nothing else."""
    texts = " ".join(seen.outcomes[i].raised.text for i in seen.crashed)
    if "view size is not compatible" in texts:
        slip = next(s for s in SLIPS if s.slug == "view-after-transpose")
        return Finding(slip.slug, slip.says)
    return None


EXERCISE = Exercise(
    name="merge_heads",
    reference=reference,
    parameters=("x",),
    parts=("result",),
    probes=PROBES,
    examples=(Example("One sequence with two heads of two tokens and two features, 0 to 7:", (counting(1, 2, 2, 2),)),),
    hints=(
        "It undoes split_heads: the same two steps backwards.",
        "First bring the heads next to the features, (B, T, h, d_k); then join these last two axes into one. Joining "
        "without moving first gives the right shape and the wrong numbers.",
        "x.transpose(…, …).reshape(B, T, h * d_k); `.view` in place of `.reshape` would refuse here.",
    ),
    variant=stages,
    slips=SLIPS,
    measures=(moved,),
    crash_measures=(needs_a_view,),
    look={
        "order": "which axes change places before heads and features are joined",
        "reduce": "what is done with the head axis",
        "after": "the shape that is returned",
        "read": "how the axes are joined",
    },
)  # fmt: skip
