"""Exercise: mean 0 and variance 1 for every token over its own features, then gamma and beta."""

import torch

from course_lib.blocks import layer_norm as reference
from course_lib.exercises.exercise import Example, Exercise, Finding, Probe, Slip

EPS = "eps is not the usual one"


def _probe(*shape, seed, facts=(), eps=1e-5, size=2.0, shift=1.5, dtype=torch.float32, plain=False):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(*shape, generator=generator, dtype=torch.float64) * size + shift
    x = x * torch.linspace(0.5, 2.0, x[..., 0].numel(), dtype=torch.float64).reshape(*shape[:-1], 1)  # tokens of many sizes
    gamma = torch.randn(shape[-1], generator=generator, dtype=torch.float64) * 1.2 + 0.8
    beta = torch.randn(shape[-1], generator=generator, dtype=torch.float64)
    if plain:
        gamma, beta = torch.ones_like(gamma), torch.zeros_like(beta)
    axes = f"x has {len(shape)} axes"
    return Probe((x.to(dtype), gamma.to(dtype), beta.to(dtype), eps), (axes, *facts))


PROBES = (
    _probe(3, 5, 4, seed=1, plain=True, facts=("gamma is 1 and beta is 0",)),
    _probe(3, 5, 4, seed=2),
    _probe(4, 6, seed=3),
    _probe(2, 3, 5, 7, seed=4),
    _probe(2, 4, 4, seed=5, facts=("T and d_model are equal",)),
    _probe(4, 4, seed=6, facts=("T and d_model are equal",)),
    _probe(4, 4, 4, seed=7, facts=("B, T and d_model are equal",)),
    _probe(2, 3, 6, seed=8, eps=0.5, facts=(EPS,)),
    _probe(2, 3, 6, seed=9, eps=0.02, size=0.05, shift=0.02, facts=(EPS, "x hardly varies")),
    _probe(2, 3, 6, seed=10, size=0.003, shift=0.0, facts=("x hardly varies",)),
    _probe(2, 3, 5, seed=11, dtype=torch.float64, facts=("the input is float64",)),
    _probe(6, seed=12),
    Probe(_probe(2, 3, 6, seed=13, size=0.003, shift=0.0).args[:3], ("x has 3 axes",
          "x hardly varies", "eps is left out")),
)


def statistics(x, axis, keepdim=True):
    """The axes over which mean and variance are taken."""
    return {"features": (-1,), "tokens": (-2,),
                         "batch": (0,), "axis 1": (1,), "axis 2": (2,), "all but the batch": tuple(range(1, x.ndim)),
            "all": tuple(range(x.ndim)),
                         "all but the features": tuple(range(x.ndim - 1)), "last two": (-2, -1)}[axis]  # fmt: skip


def stages(x, gamma, beta, eps=1e-5, *, axis="features",
           variance_axis=None, keepdim=True, centre=True, spread="√(variance + eps)",
           correction=0, about="mean",
               eps_is="given", affine="· gamma + beta", after="", norm_first="", mean_is="mean"):  # fmt: skip
    """Centre, measure the spread, divide, scale and shift: each with a knob."""
    if norm_first == "gamma":
        x = x * gamma
    if norm_first == "normed":
        x = stages(x, gamma, beta, eps)
    eps = {"given": eps, "1e-5": 1e-5, "1e-6": 1e-6, "1e-8": 1e-8, "1e-12": 1e-12, "none": 0.0, "1e-3": 1e-3}[eps_is]
    axes = statistics(x, axis)
    mean = x.amax(axes, keepdim=keepdim) if mean_is == "maximum" else x.amin(axes, keepdim=keepdim) if mean_is == "minimum" else (
        x.median(-1, keepdim=keepdim).values if mean_is == "median" else x.mean(axes, keepdim=keepdim))  # fmt: skip
    measured = statistics(x, variance_axis or axis)
    if about == "zero":
        variance = (x * x).mean(measured, keepdim=keepdim)
    elif about == "absolute":
        variance = (x - mean).abs().mean(measured, keepdim=keepdim) ** 2
    elif about == "sum":
        variance = ((x - mean) ** 2).sum(measured, keepdim=keepdim)
    else:
        variance = x.var(measured, keepdim=keepdim, correction=correction)
    centred = x - mean if centre else x
    normed = centred / _spread(spread, x, variance, eps) if spread != "nothing" else centred
    return _after(_affine(affine, normed, gamma, beta), x, after)


def _spread(spread, x, variance, eps):
    """What the centred values are divided by."""
    return {
        "√(variance + eps)": lambda: (variance + eps).sqrt(),
        "√variance + eps": lambda: variance.sqrt() + eps,
        "variance + eps": lambda: variance + eps,
        "√variance + √eps": lambda: variance.sqrt() + eps**0.5,
        "√(variance + eps²)": lambda: (variance + eps**2).sqrt(),
        "√(variance - eps)": lambda: (variance - eps).sqrt(),
        "1/√(variance + eps)": lambda: (variance + eps) ** -0.5,
        "(variance + eps)²": lambda: (variance + eps) ** 2,
        "range": lambda: x.amax(-1, keepdim=True) - x.amin(-1, keepdim=True) + eps,
        "maximum": lambda: x.abs().amax(-1, keepdim=True) + eps,
        "√std": lambda: (variance.sqrt() + eps).sqrt(),
    }[spread]()


def _affine(affine, normed, gamma, beta):
    return {
        "· gamma + beta": lambda: normed * gamma + beta,
        "gamma missing": lambda: normed + beta,
        "beta missing": lambda: normed * gamma,
        "both missing": lambda: normed,
        "exchanged": lambda: normed * beta + gamma,
        "beta first": lambda: (normed + beta) * gamma,
        "gamma²": lambda: normed * gamma**2 + beta,
        "1 + gamma": lambda: normed * (1 + gamma) + beta,
        "/ gamma": lambda: normed / gamma + beta,
        "- beta": lambda: normed * gamma - beta,
        "+ gamma + beta": lambda: normed + gamma + beta,
        "gamma · beta": lambda: normed * gamma * beta,
        "matmul": lambda: (normed @ gamma)[..., None] + beta,
        "mean of gamma": lambda: normed * gamma.mean() + beta.mean(),
        "gamma[0]": lambda: normed * gamma[0] + beta[0],
        "|gamma|": lambda: normed * gamma.abs() + beta,
        "√gamma": lambda: normed * gamma.abs().sqrt() + beta,
        "along tokens": lambda: normed * gamma[:, None] + beta[:, None],
    }[affine]()


def _after(y, x, after):
    return {"": lambda: y, "plus x": lambda: x + y,
        "softmax": lambda: y.softmax(-1), "clamped": lambda: y.clamp(-1, 1), "tanh": lambda: y.tanh(),
            "relu": lambda: y.relu(), "x - y": lambda: x - y, "pair": lambda: (y, x.mean(-1, keepdim=True)),
            "squeezed": lambda: y.mean(-1)}[after]()  # fmt: skip


OWN = "Layer norm looks at one token at a time: mean and variance over its own features, the last axis."
ROOT = "The formula divides by √(variance + eps)."
AFFINE = "At the end every feature is scaled by its gamma and shifted by its beta."
SLIPS = (
    Slip("variance-unbiased", "The variance divides by d_model − 1 (torch's default); layer norm divides by d_model.",
         {"correction": 1}),
    Slip("variance-unbiased-and-eps-outside", "Close to layer norm, but not equal: the standard deviation divides by "
         "d_model − 1 (torch's default), and eps is added outside the root. "
         "" + ROOT, {"correction": 1, "spread": "√variance + eps"}),
    Slip("eps-outside-the-root", f"eps is added to the standard deviation, outside the root. {ROOT}",
         {"spread": "√variance + eps"}),
    Slip("eps-missing", f"eps is not used (or it is a fixed number, far too small). {ROOT}", {"eps_is": "none"}),
    Slip("eps-fixed", "eps is a fixed 1e-5: the argument is ignored.", {"eps_is": "1e-5"}),
    Slip("eps-fixed-1e-6", "eps is a fixed 1e-6: the argument is ignored.", {"eps_is": "1e-6"}),
    Slip("eps-fixed-1e-3", "eps is a fixed 1e-3: the argument is ignored.", {"eps_is": "1e-3"}),
    Slip("eps-root", f"The root of eps is added outside the root of the variance. {ROOT}",
         {"spread": "√variance + √eps"}),
    Slip("eps-squared", f"eps is squared. {ROOT}", {"spread": "√(variance + eps²)"}),
    Slip("eps-subtracted", f"eps is subtracted. {ROOT}", {"spread": "√(variance - eps)"}),
    Slip("root-missing", f"The root is missing: you divide by the variance, not by the standard deviation. {ROOT}",
         {"spread": "variance + eps"}),
    Slip("multiplied-by-the-spread", f"You multiply by √(variance + eps) instead of dividing. {ROOT}",
         {"spread": "1/√(variance + eps)"}),
    Slip("spread-squared", f"You divide by the variance squared. {ROOT}", {"spread": "(variance + eps)²"}),
    Slip("root-twice", f"The root is taken twice (the root of a standard deviation). {ROOT}", {"spread": "√std"}),
    Slip("divided-by-range", f"You divide by the range, largest minus smallest. {ROOT}", {"spread": "range"}),
    Slip("min-max-scaling", f"This scales to the range 0 to 1 (minus the minimum, divided by the range). {ROOT}",
         {"spread": "range", "mean_is": "minimum"}),
    Slip("divided-by-maximum", f"You divide by the largest absolute value. {ROOT}", {"spread": "maximum"}),
    Slip("not-divided", f"The mean is subtracted, but nothing is divided: the variance is not made 1. {ROOT}",
         {"spread": "nothing"}),
    Slip("mean-not-subtracted", "The mean is not subtracted: without it this is RMSNorm (each row is divided by its "
         "root mean square).",
         {"centre": False, "about": "zero"}),
    Slip("mean-subtracted-only-in-variance", "The values are divided by the right standard deviation, but the mean "
         "is not subtracted from them.",
         {"centre": False}),
    Slip("variance-about-zero", "The mean is subtracted from the values, but the variance is taken about zero: the "
         "mean of x², not of (x − mean)².", {"about": "zero"}),
    Slip("absolute-deviation", f"The spread is the mean absolute deviation, not the standard deviation. {ROOT}",
         {"about": "absolute"}),
    Slip("sum-of-squares", f"The squares are summed but not divided by d_model. {ROOT}", {"about": "sum"}),
    Slip("divided-by-squared-sum", f"You divide by the length of the vector (its norm) instead of the standard "
         f"deviation. {ROOT}",
         {"about": "sum", "spread": "√variance + eps"}),
    Slip("median-subtracted", "The median is subtracted instead of the mean.", {"mean_is": "median"}),
    Slip("maximum-subtracted", "The maximum is subtracted instead of the mean.", {"mean_is": "maximum"}),
    Slip("over-batch", f"The statistics run over axis 0, the batch: that is batch normalisation, where one example "
         f"changes another. {OWN}",
         {"axis": "batch"}),
    Slip("over-batch-and-tokens", f"Each feature is normalised over all tokens of the batch: that is batch "
         f"normalisation. {OWN}",
         {"axis": "all but the features"}),
    Slip("over-tokens", f"The statistics run over the tokens (axis -2) instead of the features. {OWN}",
         {"axis": "tokens"}),
    Slip("over-axis-1", f"The statistics run over axis 1, which is the axis of the features only for input with 2 "
         f"axes. {OWN}",
         {"axis": "axis 1"}),
    Slip("over-axis-2", f"The statistics run over axis 2, which is the axis of the features only for input with 3 "
         f"axes. {OWN}",
         {"axis": "axis 2"}),
    Slip("over-tokens-and-features", f"One mean and one variance are taken for a whole sequence, so that tokens "
         f"influence each other. {OWN}",
         {"axis": "all but the batch"}),
    Slip("over-last-two", f"The statistics run over the last two axes, tokens and features together. {OWN}",
         {"axis": "last two"}),
    Slip("over-everything", f"One mean and one variance are taken of all numbers. {OWN}", {"axis": "all"}),
    Slip("variance-over-everything", f"The mean is right, but the variance is taken over all numbers. {OWN}",
         {"variance_axis": "all"}),
    Slip("variance-over-tokens", f"The mean is right, but the variance runs over the tokens. {OWN}",
         {"variance_axis": "tokens"}),
    Slip("variance-over-batch", f"The mean is right, but the variance runs over axis 0. {OWN}",
         {"variance_axis": "batch"}),
    Slip("keepdim-forgotten", "Mean and variance lose the axis of the features (no keepdim), so that they are lined "
         "up with another axis: an error, or silently wrong where T = d_model.", {"keepdim": False}),
    Slip("gamma-missing", f"gamma is not used. {AFFINE}", {"affine": "gamma missing"}),
    Slip("beta-missing", f"beta is not used. {AFFINE}", {"affine": "beta missing"}),
    Slip("gamma-and-beta-missing", f"gamma and beta are not used. {AFFINE}", {"affine": "both missing"}),
    Slip("gamma-and-beta-exchanged", f"gamma and beta are exchanged. {AFFINE}", {"affine": "exchanged"}),
    Slip("beta-before-gamma", f"beta is added before gamma multiplies, so that it is scaled too. {AFFINE}",
         {"affine": "beta first"}),
    Slip("gamma-squared", f"gamma is applied twice. {AFFINE}", {"affine": "gamma²"}),
    Slip("one-plus-gamma", f"The scale is 1 + gamma. {AFFINE}", {"affine": "1 + gamma"}),
    Slip("divided-by-gamma", f"You divide by gamma. {AFFINE}", {"affine": "/ gamma"}),
    Slip("beta-subtracted", f"beta is subtracted. {AFFINE}", {"affine": "- beta"}),
    Slip("gamma-added", f"gamma is added instead of multiplied. {AFFINE}", {"affine": "+ gamma + beta"}),
    Slip("beta-multiplied", f"beta is multiplied instead of added. {AFFINE}", {"affine": "gamma · beta"}),
    Slip("gamma-averaged", f"Only the mean of gamma and of beta is used. {AFFINE}", {"affine": "mean of gamma"}),
    Slip("gamma-first-only", f"Only the first entry of gamma and of beta is used. {AFFINE}", {"affine": "gamma[0]"}),
    Slip("gamma-as-matrix-product", f"gamma is multiplied as in a matrix product, which sums over the features. "
         f"{AFFINE}", {"affine": "matmul"}),
    Slip("gamma-absolute", f"The absolute value of gamma is used. {AFFINE}", {"affine": "|gamma|"}),
    Slip("gamma-along-tokens", f"gamma and beta are lined up with the tokens, not with the features. {AFFINE}",
         {"affine": "along tokens"}),
    Slip("gamma-before-the-norm", f"x is scaled by gamma before it is normalised. {AFFINE}",
         {"norm_first": "gamma", "affine": "gamma missing"}),
    Slip("normed-twice", "The norm is applied twice.", {"norm_first": "normed"}),
    Slip("residual-added", "Your result is the right one plus x: the residual connection belongs to the block, not "
         "to the norm.",
         {"after": "plus x"}),
    Slip("softmax-at-the-end", "There is a softmax at the end.", {"after": "softmax"}),
    Slip("relu-at-the-end", "There is a ReLU at the end.", {"after": "relu"}),
    Slip("tanh-at-the-end", "There is a tanh at the end.", {"after": "tanh"}),
    Slip("clamped", "The result is clamped to −1 to 1.", {"after": "clamped"}),
)


def bare_statistics(seen):
    """With gamma 1, beta 0 and a tiny eps: do the rows have mean 0 and variance 1?"""
    x = torch.randn(3, 5, 8, generator=torch.Generator().manual_seed(3), dtype=torch.float64) * 3 + 1
    y = seen.ask(x, torch.ones(8, dtype=torch.float64), torch.zeros(8, dtype=torch.float64), 1e-12)
    if not isinstance(y, torch.Tensor) or y.shape != x.shape or not torch.isfinite(y).all():
        return None
    mean, variance = y.mean(-1), y.var(-1, correction=0)
    if mean.abs().max() > 1e-3:
        says = f"With gamma = 1 and beta = 0 a token's features should have mean 0; yours have {mean.flatten()[0].item():.2g}."
        return Finding("mean-not-zero", says, "Look at what is subtracted, and over which axis it is computed.")
    if (variance - 1).abs().max() > 1e-3:
        says = f"The mean is 0, but the variance should be 1 (gamma = 1, beta = 0); yours is {variance.flatten()[0].item():.3g}."
        return Finding("variance-not-one", says, "Look at what you divide by.")
    return None


def scale_and_shift(seen):
    """The normalised values are right: then gamma, beta or eps is to blame."""
    plain = [i for i in seen.valid if "gamma is 1 and beta is 0" in seen.probes[i].facts]
    if all(i in seen.wrong for i in plain):
        return None
    with_eps = all(EPS in p.facts or "x hardly varies" in p.facts for p, _, _ in seen.pairs)
    if with_eps:
        return Finding("eps-wrong",
                       "All is right while eps is negligible: eps is used in another way than under the root.",
                       f"{ROOT}")
    return Finding("affine-wrong",
                   "The normalised values are right; scaling by gamma and shifting by beta is not.", AFFINE)


EXERCISE = Exercise(
    name="layer_norm",
    reference=reference,
    parameters=("x", "gamma", "beta", "eps"),
    parts=("result",),
    probes=PROBES,
    examples=(
        Example("Three tokens with three features, gamma = [1, 1, 1], beta = [0, 0, 0], x = [[1, 2, 3], [2, 4, 6], "
                "[0, 0, 9]]:",
                (torch.tensor([[1.0, 2, 3], [2, 4, 6], [0, 0, 9]]), torch.ones(3), torch.zeros(3))),
        Example("Three tokens [[1, 2, 3], [2, 4, 6], [0, 0, 9]], gamma = [1, 2, 3], beta = [1, 0, −1]:",
                (torch.tensor([[1.0, 2, 3], [2, 4, 6], [0, 0, 9]]), torch.tensor([1.0, 2, 3]), torch.tensor([1.0, 0, -1]))),
        Example("Three tokens [[0.1, 0.2, 0.3], [0.2, 0.4, 0.6], [0, 0, 0.9]], gamma = 1, beta = 0, eps = 0.5:",
                (torch.tensor([[0.1, 0.2, 0.3], [0.2, 0.4, 0.6], [0, 0, 0.9]]), torch.ones(3), torch.zeros(3), 0.5)),
    ),
    hints=(
        "One token at a time: which numbers belong together, and along which axis do they stand?",
        "Subtract the mean over the last axis and divide by the root of (variance + eps); keep the axis (keepdim) so "
        "that it lines up. The variance divides by d_model: torch's default does not.",
        "x.mean(dim=-1, keepdim=True), x.var(dim=-1, keepdim=True, correction=…); then (x - mean) / torch.sqrt(…) * "
        "gamma + beta.",
    ),
    variant=stages,
    slips=SLIPS,
    measures=(bare_statistics, scale_and_shift),
    look={
        "axis": "the axis over which mean and variance are taken",
            "variance_axis": "the axis of the variance", "keepdim": "the shape of mean and variance",
        "centre": "what is subtracted",
            "mean_is": "what is subtracted",
                "spread": "what you divide by", "correction": "how the variance is computed",
        "about": "how the variance is computed",
            "eps_is": "where eps comes from", "affine": "the last step, gamma and beta", "after": "what is returned",
    },
)  # fmt: skip
