"""Exercise: attention in one pass over the keys, tile by tile, with the online softmax."""

import math

import torch

from course_lib.exercises.exercise import Example, Exercise, Probe, Slip
from course_lib.kernels import online_attention as reference
from course_lib.kernels import peak_bytes

LARGE, DIVIDES, REST = "scores are large", "tile_size divides S", "the last tile is smaller"


def _probe(seed, *, B=(2,), T=3, S=7, d_k=4, d_v=4, tile_size=2, facts=(), size=1.0, ramp=0.0, apart=0.0,
           dtype=torch.float32):  # fmt: skip
    """Random q, k, v. ramp: how much higher each key scores than the one before; apart: the same for each query."""
    generator = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(*B, n, d, generator=generator, dtype=torch.float64) for n, d in ((T, d_k), (S, d_k), (S, d_v)))
    q[..., 0] = 2.0
    k = k * size
    k[..., 0] = ramp * torch.arange(S) * math.sqrt(d_k) / 2
    q[..., 1], k[..., 1] = apart * torch.arange(T), math.sqrt(d_k)
    divides = DIVIDES if S % tile_size == 0 else REST
    return Probe((q.to(dtype), k.to(dtype), v.to(dtype), tile_size), (divides, *facts))


PROBES = (
    _probe(1, S=6, ramp=0.7),
    _probe(2, ramp=0.7),
    _probe(3, ramp=-0.7),
    _probe(4, B=(2, 3), T=5, S=8, d_k=4, d_v=2, tile_size=4, facts=("d_v is not d_k", "there are heads")),
    _probe(5, T=1, S=9, tile_size=4, facts=("there is one query",)),
    _probe(6, S=5, tile_size=1, ramp=0.3, facts=("tile_size is 1",)),
    _probe(7, S=5, tile_size=8, facts=("one tile holds all keys",)),
    _probe(8, B=(), S=6, tile_size=3, ramp=0.4, facts=("there is no batch",)),
    _probe(9, S=8, tile_size=4, size=2.0, ramp=30.0, facts=(LARGE, "later keys score higher")),
    _probe(10, S=8, tile_size=4, size=2.0, ramp=-30.0, facts=(LARGE, "earlier keys score higher")),
    _probe(11, S=6, tile_size=4, apart=200.0, facts=(LARGE, "the queries score at different levels")),
    _probe(13, S=9, tile_size=3, size=2.0, ramp=-40.0, facts=(LARGE, "earlier keys score higher")),
    _probe(15, S=9, tile_size=3, size=2.0, ramp=40.0, facts=(LARGE, "later keys score higher")),
    _probe(14, T=4, S=8, apart=150.0, facts=(LARGE, "the queries score at different levels")),
    _probe(12, S=7, tile_size=3, ramp=0.5, facts=("the input is float64",), dtype=torch.float64),
)


def stages(q, k, v, tile_size=4, *, maximum="so far", total_shrinks=True, acc_shrinks=True, shrink="old - new",
           scale="√d_k", rest="read", divided="by the sum", softmax="online"):  # fmt: skip
    """Tile by tile: scores, the maximum so far, the two sums, one division. The keywords are the knobs."""
    if softmax == "of each tile":
        return _softmax_of_each_tile(q, k, v, tile_size)
    biggest = torch.full_like(q[..., :1], -math.inf)
    total, acc = torch.zeros_like(biggest), torch.zeros_like(q[..., :1] * v[..., :1, :])
    S = k.shape[-2] - (k.shape[-2] % tile_size if rest == "dropped" else 0)
    for start in range(0, S, tile_size):
        scores = q @ k[..., start : start + tile_size, :].transpose(-2, -1) / _scale(scale, q.shape[-1])
        new_biggest = _maximum(maximum, biggest, scores)
        factor = torch.exp(new_biggest - biggest if shrink == "new - old" and start else biggest - new_biggest)
        weights = torch.exp(scores - new_biggest)
        total = (total * factor if total_shrinks else total) + weights.sum(dim=-1, keepdim=True)
        acc = (acc * factor if acc_shrinks else acc) + weights @ v[..., start : start + tile_size, :]
        biggest = biggest if maximum == "not kept" else new_biggest
    return {"by the sum": lambda: acc / total, "not": lambda: acc, "by S": lambda: acc / k.shape[-2]}[divided]()


def _scale(scale, d_k):
    return {"√d_k": math.sqrt(d_k), "none": 1.0, "d_k": d_k}[scale]


def _maximum(maximum, biggest, scores):
    """What is subtracted before exp."""
    of_tile = scores.amax(dim=-1, keepdim=True)
    return {
        "so far": lambda: torch.maximum(biggest, of_tile),
        "of the tile": lambda: of_tile,
        "not kept": lambda: of_tile,
        "of all queries": lambda: torch.maximum(biggest, scores.amax() + torch.zeros_like(of_tile)),
        "of the first tile": lambda: torch.where(biggest.isinf(), of_tile, biggest),
        "none": lambda: torch.zeros_like(of_tile),
    }[maximum]()


def _softmax_of_each_tile(q, k, v, tile_size):
    """The mean of what each tile would give by itself."""
    starts = range(0, k.shape[-2], tile_size)
    tiles = [(k[..., i : i + tile_size, :], v[..., i : i + tile_size, :]) for i in starts]
    parts = [(q @ a.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(dim=-1) @ b for a, b in tiles]
    return sum(parts) / len(parts)


SLIPS = (
    Slip("output-not-shrunk", "When a tile brings a larger score, the sum of the exponentials shrinks to fit, but the "
         "output so far does not: it too was summed against the old maximum.", {"acc_shrinks": False}),
    Slip("sum-not-shrunk", "When a tile brings a larger score, the output so far shrinks to fit, but the sum of the "
         "exponentials does not: it too was summed against the old maximum.", {"total_shrinks": False}),
    Slip("nothing-shrunk", "When a tile brings a larger score, what was summed before must shrink to fit: each "
         "exponential was taken against the old maximum, and is too large now.",
         {"total_shrinks": False, "acc_shrinks": False}),
    Slip("shrinks-the-wrong-way", "What was summed before grows where it should shrink: the factor is exp(old maximum "
         "− new maximum), at most 1.", {"shrink": "new - old"}),
    Slip("softmax-of-each-tile", "Each tile gets a softmax of its own, and the tiles are averaged: then a tile of "
         "unimportant keys counts as much as one of important keys.", {"softmax": "of each tile"}),
    Slip("maximum-of-the-tile", "The maximum is that of the tile alone. Where an earlier tile held a larger score, the "
         "factor exp(old − new) is above 1 and can overflow: keep the maximum so far.", {"maximum": "of the tile"}),
    Slip("maximum-of-the-first-tile", "The maximum is never updated after the first tile: a larger score later on "
         "overflows.", {"maximum": "of the first tile"}),
    Slip("maximum-not-kept", "The new maximum is never stored for the next tile: `biggest` stays at −∞, the factor is "
         "exp(−∞) = 0 each time, and all tiles but the last are forgotten.", {"maximum": "not kept"}),
    Slip("maximum-of-all-queries", "One maximum is used for all queries. Each row needs its own: a row whose scores lie "
         "far below it underflows to 0 / 0.", {"maximum": "of all queries"}),
    Slip("no-maximum", "exp of the bare scores overflows where they are large: subtract the largest score so far "
         "first.", {"maximum": "none"}),
    Slip("not-divided", "The output is not divided by the sum of the exponentials at the end.", {"divided": "not"}),
    Slip("divided-by-S", "The output is divided by the number of keys and not by the sum of the exponentials.",
         {"divided": "by S"}),
    Slip("last-tile-dropped", "The last, smaller tile is left out: S need not be a multiple of tile_size.",
         {"rest": "dropped"}),
    Slip("scale-missing", "The scores are not divided by √d_k.", {"scale": "none"}),
    Slip("scale-d_k", "The scores are divided by d_k and not by its square root.", {"scale": "d_k"}),
)


def all_scores_at_once(seen):
    """Remark: right, but the whole T × S matrix was made."""
    T, S = 64, 512
    args = torch.zeros(1, T, 2), torch.zeros(1, S, 2), torch.zeros(1, S, 2), 8
    held = peak_bytes(lambda *args: seen.call(args), *args)
    if held is None or held < T * S * 4:
        return None
    return "The result is right, but all T × S scores were held at once; the tiles are there to avoid that."


EXERCISE = Exercise(
    name="online_attention",
    reference=reference,
    parameters=("q", "k", "v", "tile_size"),
    parts=("output",),
    probes=PROBES,
    examples=(Example("One query, two keys with scores 0 and 2, tile_size = 1:",
                      (torch.tensor([[1.0]]), torch.tensor([[0.0], [2.0]]), torch.tensor([[10.0], [20.0]]), 1)),),
    hints=(
        "What must be remembered from tile to tile so that nothing has to be read twice? Three things, one row for "
        "each query.",
        "The largest score so far, the sum of the exponentials so far, and the output so far. When the maximum grows, "
        "the two sums were taken against the old one: by which factor are they too large?",
        "shrink = torch.exp(biggest - new_biggest); total = total * shrink + weights.sum(-1, keepdim=True); and the "
        "same for acc with weights @ v_tile.",
    ),
    variant=stages,
    slips=SLIPS,
    remarks=(all_scores_at_once,),
    look={
        "maximum": "the maximum that is subtracted", "total_shrinks": "what happens to the sum at a new tile",
        "acc_shrinks": "what happens to the output at a new tile", "shrink": "the factor at a new tile",
        "scale": "what the scores are divided by", "rest": "the last tile", "divided": "the division at the end",
        "softmax": "where the softmax is taken",
    },
)  # fmt: skip
