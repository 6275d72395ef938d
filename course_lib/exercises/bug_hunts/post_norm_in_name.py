"""Bug hunt of notebook 04: the text says post-norm, the code does pre-norm."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.blocks import EncoderBlock, FeedForward, LayerNorm
from course_lib.exercises.bug_hunts.hunt import Hunt
from course_lib.models import TransformerConfig


class PostNormInName(nn.Module):
    """A post-norm encoder block, norm(x + part(x)) twice; x (B, T, d_model) -> (B, T, d_model). It has d_model."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.d_model = d_model
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, 4 * d_model)
        self.norm_1, self.norm_2 = LayerNorm(d_model), LayerNorm(d_model)

    def forward(self, x):
        x = x + self.attention(self.norm_1(x))
        return x + self.feed_forward(self.norm_2(x))


class PostNormIndeed(PostNormInName):
    """The same without the bug."""

    def forward(self, x):
        x = self.norm_1(x + self.attention(x))
        return self.norm_2(x + self.feed_forward(x))


class PyTorchsBlock(nn.TransformerEncoderLayer):
    """PyTorch's own, post-norm by default."""

    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads, 4 * d_model, dropout=0.0, batch_first=True)
        self.d_model = d_model


class TheCoursesBlock(EncoderBlock):
    """The library's, asked for post-norm."""

    def __init__(self, d_model, n_heads):
        super().__init__(TransformerConfig(0, d_model, n_heads, 1, 4 * d_model, 16, norm_first=False))
        self.d_model = d_model


def ends_with_a_norm(module):
    """Raise AssertionError unless every token leaves with mean 0 and variance 1, as after a norm that is untrained."""
    y = module(3 * torch.randn(2, 5, module.d_model) + 1)
    assert y.mean(-1).abs().max() < 1e-3, "a token leaves with a mean other than 0: no norm came last"
    assert (y.var(-1, correction=0) - 1).abs().max() < 1e-2, (
        "a token leaves with a variance other than 1: no norm came last"
    )


def keeps_the_shape(module):
    x = torch.randn(2, 5, module.d_model)
    assert module(x).shape == x.shape, f"x {tuple(x.shape)} came back as {tuple(module(x).shape)}"


def tokens_see_each_other(module):
    x = torch.randn(1, 5, module.d_model)
    changed = x.clone()
    changed[:, 4] += torch.randn(module.d_model)
    assert (module(changed)[:, 0] - module(x)[:, 0]).abs().max() > 1e-6, "token 0 takes no notice of token 4"


def norms_the_first_sum_too(module):
    """A norm only at the end would drown the feed-forward part in a large x; post-norm norms before it as well."""
    x = 1000 * torch.randn(1, 4, module.d_model)
    gap = (module(x) - F.layer_norm(x, (module.d_model,))).abs().max()
    assert gap > 0.05, "a large x drowns both parts: only the last sum is normed, and post-norm norms each of the two"


HUNT = Hunt(
    name="post_norm_in_name",
    buggy=PostNormInName,
    right=(PostNormIndeed, PyTorchsBlock, TheCoursesBlock),
    sizes=((8, 2), (12, 3)),
    witness=ends_with_a_norm,
    sound=(keeps_the_shape, tokens_see_each_other, norms_the_first_sum_too),
    bug="The text promises post-norm, norm(x + part(x)); the code does pre-norm, x + part(norm(x)).",
    story="Seen in the wild: in The Annotated Transformer, asked about again and again (its issues 1, 13, 92, 110). "
    "Pre-norm is a fine choice, and trains more easily; the bug is that text and code disagree.",
    hints=(
        "Both kinds have the same parts and the same shapes. What is the last thing that happens to x in post-norm?",
        "A norm that has not been trained yet gives every token mean 0 and variance 1. Look at what leaves the block.",
        "y = module(3 * torch.randn(2, 5, module.d_model)); assert y.mean(-1).abs().max() < 1e-3",
    ),
    mending_hints=(
        "Where does the formula in the docstring put the norm?",
        "Attention reads x itself; the sum is normed. Then the same with the feed-forward layer.",
        "x = self.norm_1(x + self.attention(x)), and once more with feed_forward and norm_2.",
    ),
)
