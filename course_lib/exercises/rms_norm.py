"""Exercise: the norm of LLaMA and SmolLM2, which takes no mean."""

import torch

from course_lib.blocks import rms_norm as reference
from course_lib.exercises.exercise import Example, Exercise, Finding, Probe, Slip


def _probe(*shape, seed, eps=1e-5, size=2.0, facts=(), dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(*shape, generator=generator, dtype=torch.float64) * size + 0.7 * size
    x = x * torch.linspace(0.5, 2.0, x[..., 0].numel(), dtype=torch.float64).reshape(*shape[:-1], 1)
    gamma = torch.randn(shape[-1], generator=generator, dtype=torch.float64) * 1.2 + 0.8
    return Probe((x.to(dtype), gamma.to(dtype), eps), (f"x has {len(shape)} axes", *facts))


PROBES = (
    _probe(3, 5, 4, seed=1),
    _probe(4, 6, seed=2),
    _probe(2, 3, 5, 7, seed=3),
    _probe(4, 4, 4, seed=4, facts=("B, T and d_model are equal",)),
    _probe(2, 3, 6, seed=5, eps=0.5, facts=("eps is not the usual one",)),
    _probe(2, 3, 6, seed=6, size=0.003, facts=("x is small",)),
    _probe(2, 3, 5, seed=7, dtype=torch.float64, facts=("the input is float64",)),
    _probe(6, seed=8),
)


def stages(x, gamma, eps=1e-5, *, axis="features", measure="mean square", root="√(m + eps)", scale="· gamma", centre=False,
           after=""):  # fmt: skip
    """Mean square, root, divide, scale: each with a knob."""
    x_in, x = x, x - x.mean(-1, keepdim=True) if centre else x
    axes = {"features": (-1,), "tokens": (-2,), "all": tuple(range(x.ndim)), "batch": (0,)}[axis]
    m = {"mean square": lambda: x.square().mean(axes, keepdim=True), "sum of squares": lambda: x.square().sum(axes, keepdim=True),
         "variance": lambda: x.var(axes, keepdim=True, correction=0), "mean": lambda: x.mean(axes, keepdim=True),
         "mean size": lambda: x.abs().mean(axes, keepdim=True) ** 2}[measure]()  # fmt: skip
    divisor = {"√(m + eps)": lambda: (m + eps).sqrt(), "√m + eps": lambda: m.sqrt() + eps, "m + eps": lambda: m + eps,
               "√m": lambda: m.sqrt(), "1/√(m + eps)": lambda: (m + eps).rsqrt()}[root]()  # fmt: skip
    y = x / divisor
    y = {"· gamma": lambda: y * gamma, "missing": lambda: y, "1 + gamma": lambda: y * (1 + gamma), "/ gamma": lambda: y / gamma,
         "+ gamma": lambda: y + gamma}[scale]()  # fmt: skip
    return x_in + y if after == "plus x" else y


SLIPS = (
    Slip("is-layer-norm", "This takes the mean away: it is a layer norm. RMSNorm leaves the mean where it is.",
         {"centre": True}),
    Slip("variance-instead-of-square", "The mean is taken away inside the measure: this is the variance, not the mean "
         "square.", {"measure": "variance"}),
    Slip("sum-instead-of-mean", "The squares are summed; their *mean* is wanted, or wide tokens become small.",
         {"measure": "sum of squares"}),
    Slip("mean-size", "The mean of the absolute values is taken; the mean of the *squares* is wanted.", {"measure": "mean size"}),
    Slip("over-tokens", "The mean runs over the tokens: a token's neighbours must not reach it. Take the last axis.",
         {"axis": "tokens"}),
    Slip("over-everything", "There is one number for the whole batch; each token has its own.", {"axis": "all"}),
    Slip("over-the-batch", "The mean runs over the first axis; it must run over a token's own features, the last one.",
         {"axis": "batch"}),
    Slip("root-missing", "It is divided by the mean square itself; the root is missing.", {"root": "m + eps"}),
    Slip("multiplied-by-the-root", "It is divided by the inverse of the root, so multiplied by the root.",
         {"root": "1/√(m + eps)"}),
    Slip("eps-outside-the-root", "eps is added after the root; it stands under it.", {"root": "√m + eps"}),
    Slip("eps-missing", "eps is missing.", {"root": "√m"}),
    Slip("gamma-missing", "gamma is not used.", {"scale": "missing"}),
    Slip("gamma-plus-1", "It is scaled by 1 + gamma; by gamma alone here.", {"scale": "1 + gamma"}),
    Slip("divided-by-gamma", "It is divided by gamma.", {"scale": "/ gamma"}),
    Slip("gamma-added", "gamma is added; it must multiply.", {"scale": "+ gamma"}),
    Slip("adds-x", "x is added at the end. That is the block's business, not the norm's.", {"after": "plus x"}),
)  # fmt: skip


def sizes_are_off(seen):
    """The root mean square of what came out, where gamma is divided out."""
    for probe, got, want in seen.pairs:
        if isinstance(got, torch.Tensor) and got.shape == want.shape and got.is_floating_point():
            plain, right = ((y / probe.args[1]).square().mean(-1).sqrt().flatten()[0].item() for y in (got, want))
            return Finding("wrong-size", f"With gamma divided out, the first token has the root mean square {plain:.3f}; "
                           f"it should have {right:.3f}.")  # fmt: skip
    return None


EXERCISE = Exercise(
    name="rms_norm",
    reference=reference,
    parameters=("x", "gamma", "eps"),
    parts=("result",),
    probes=PROBES,
    examples=(Example("x = [[3, 4]], gamma = [1, 1], eps = 0:", (torch.tensor([[3.0, 4.0]]), torch.ones(2), 0.0)),),
    hints=(
        "How large is a token? Take the mean of its squared features, then the root.",
        "x / root(mean square + eps) · gamma. The mean runs over the last axis and keeps it (keepdim=True).",
        "x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps) * gamma",
    ),
    variant=stages,
    slips=SLIPS,
    measures=(sizes_are_off,),
    look={
        "axis": "the axis of the mean", "measure": "what is averaged", "root": "the root, and where eps stands",
        "scale": "what becomes of gamma", "centre": "whether the mean is taken away", "after": "what is added at the end",
    },
)  # fmt: skip
