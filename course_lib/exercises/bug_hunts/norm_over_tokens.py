"""Bug hunt of notebook 04: a layer norm that takes its statistics over the wrong axis."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.blocks import LayerNorm
from course_lib.exercises.bug_hunts.hunt import Hunt


class NormOverTokens(nn.Module):
    """Layer norm, x (B, T, d_model) -> (B, T, d_model). It has d_model."""

    def __init__(self, d_model):
        super().__init__()
        self.d_model = d_model
        self.gamma, self.beta = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        mean, variance = x.mean(dim=1, keepdim=True), x.var(dim=1, keepdim=True, correction=0)
        return (x - mean) / torch.sqrt(variance + 1e-5) * self.gamma + self.beta


class NormOverFeatures(NormOverTokens):
    """The same without the bug."""

    def forward(self, x):
        return F.layer_norm(x, (self.d_model,), self.gamma, self.beta)


class PyTorchsNorm(nn.LayerNorm):
    """PyTorch's own."""

    def __init__(self, d_model):
        super().__init__(d_model)
        self.d_model = d_model


class TheCoursesNorm(LayerNorm):
    """The library's, as the blocks use it."""

    def __init__(self, d_model):
        super().__init__(d_model)
        self.d_model = d_model


def tokens_stay_apart(module):
    """Raise AssertionError if one token changes the result of another."""
    x = torch.randn(2, 5, module.d_model)
    changed = x.clone()
    changed[:, 2] = changed[:, 2] * 3 + 1
    others = [0, 1, 3, 4]
    assert torch.allclose(module(changed)[:, others], module(x)[:, others], atol=1e-5), "token 2 changes what the other tokens get"


def keeps_the_shape(module):
    x = torch.randn(2, 5, module.d_model)
    assert module(x).shape == x.shape, f"x of shape {tuple(x.shape)} must keep its shape; yours gives {tuple(module(x).shape)}"


def norms_each_token(module):
    y = module(torch.randn(2, 5, module.d_model) * 4 + 2)
    assert y.mean(-1).abs().max() < 1e-3, "a token's features must have mean 0 (before gamma and beta have been trained)"
    assert (y.var(-1, correction=0) - 1).abs().max() < 1e-2, "a token's features must have variance 1"


HUNT = Hunt(
    name="norm_over_tokens",
    buggy=NormOverTokens,
    right=(NormOverFeatures, PyTorchsNorm, TheCoursesNorm),
    sizes=((8,), (6,)),
    witness=tokens_stay_apart,
    sound=(keeps_the_shape, norms_each_token),
    bug="Mean and variance are taken over axis 1, the tokens. A decoder with such a norm sees the future, and "
        "padding changes every token.",
    story="The same confusion of axes is among the most frequent bugs of home-made norms: it is instance or batch "
          "normalisation.",
    hints=(
        "Layer norm works on one token at a time. What follows for the other tokens?",
        "Change one token strongly. What the others get must not move.",
        "x2 = x.clone(); x2[:, 2] *= 3; assert torch.allclose(module(x2)[:, :2], module(x)[:, :2], atol=1e-5)",
    ),
    mending_hints=("Along which axis do a token's features stand?",
                   "Count axes from the right.", "x.mean(dim=-1, keepdim=True), and the same for the variance."),
)
