"""Bug hunt of notebook 01: the embedding is cut into heads before it is projected."""

import torch
from torch import nn

from course_lib.attention import merge_heads, scaled_dot_product_attention, split_heads
from course_lib.exercises.bug_hunts.hunt import Hunt


class HeadsBeforeProjection(nn.Module):
    """Self-attention. module(x) -> (output (B, T, d_model), weights (B, h, T, T)). It has d_model and n_heads."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.d_model, self.n_heads = d_model, n_heads
        d_k = d_model // n_heads
        self.w_q, self.w_k, self.w_v = (nn.Linear(d_k, d_k) for _ in range(3))
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x):
        heads = split_heads(x, self.n_heads)  # (B, h, T, d_k)
        q, k, v = self.w_q(heads), self.w_k(heads), self.w_v(heads)
        output, weights = scaled_dot_product_attention(q, k, v)
        return self.w_o(merge_heads(output)), weights


class HeadsAfterProjection(nn.Module):
    """The same without the bug: every head reads all features."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.d_model, self.n_heads = d_model, n_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x):
        q, k, v = (split_heads(w(x), self.n_heads) for w in (self.w_q, self.w_k, self.w_v))
        output, weights = scaled_dot_product_attention(q, k, v)
        return self.w_o(merge_heads(output)), weights


class OneMatrixPerHead(nn.Module):
    """The same computed in another way: each head has matrices of its own, d_model × d_k."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.d_model, self.n_heads = d_model, n_heads
        self.qkv = nn.Parameter(torch.randn(3, n_heads, d_model, d_model // n_heads) / d_model**0.5)
        self.mix = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        q, k, v = torch.einsum("btd,nhdk->nbhtk", x, self.qkv)
        weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        return self.mix((weights @ v).transpose(1, 2).flatten(2)), weights


class OverPyTorchs(nn.Module):
    """The same, by nn.MultiheadAttention."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.d_model, self.n_heads = d_model, n_heads
        self.inner = nn.MultiheadAttention(d_model, n_heads, batch_first=True)

    def forward(self, x):
        return self.inner(x, x, x, average_attn_weights=False)


def every_head_reads_every_feature(module):
    """Raise AssertionError if a feature of x has no influence on the attention weights of some head."""
    x = torch.randn(1, 5, module.d_model)
    _, before = module(x)
    for feature in range(module.d_model):
        changed = x.clone()
        changed[0, 2, feature] += 3.0
        _, after = module(changed)
        moved = (after - before).abs().amax(dim=(0, 2, 3))  # one number per head
        assert moved.min() > 1e-6, f"feature {feature} does not reach head {int(moved.argmin())}"


def returns_output_and_weights(module):
    x = torch.randn(2, 5, module.d_model)
    result = module(x)
    assert isinstance(result, tuple) and len(result) == 2, "forward must return the pair (output, weights)"
    output, weights = result
    assert output.shape == x.shape, f"the output must be (B, T, d_model) = {tuple(x.shape)}; yours is {tuple(output.shape)}"
    assert weights.shape == (2, module.n_heads, 5, 5), f"the weights must be (B, h, T, T); yours are {tuple(weights.shape)}"
    assert torch.allclose(weights.sum(-1), torch.ones(2, module.n_heads, 5), atol=1e-4), "each row of weights must sum to 1"


def is_attention(module):
    """Permuted tokens give permuted outputs, and sequences do not mix."""
    x, order = torch.randn(2, 5, module.d_model), torch.tensor([3, 0, 4, 1, 2])
    output, weights = module(x)
    assert torch.allclose(module(x[:, order])[0], output[:, order], atol=1e-4), "permuted tokens must give permuted outputs"
    assert torch.allclose(module(x[:1])[0], output[:1], atol=1e-4), "the sequences of a batch must not mix"
    spread = (weights[:, :1] - weights).abs().amax()
    assert module.n_heads == 1 or spread > 1e-4, "all heads have the same weights"


HUNT = Hunt(
    name="heads_before_projection",
    buggy=HeadsBeforeProjection,
    right=(HeadsAfterProjection, OneMatrixPerHead, OverPyTorchs),
    sizes=((8, 2), (12, 3)),
    witness=every_head_reads_every_feature,
    sound=(returns_output_and_weights, is_attention),
    bug="Each head sees only its own slice of x: x is cut into heads before it is projected, so that a head cannot "
        "use what stands elsewhere.",
    story="Seen in the wild: github.com/neetcode-gh/leetcode/issues/5130.",
    hints=(
        "A head should be able to use every feature of a token. How would you notice that one cannot?",
        "Change one single feature of one token, and compare the weights of every head before and after. In a right "
        "module no head stays the same.",
        "_, before = module(x); x2 = x.clone(); x2[0, 2, j] += 3; _, after = module(x2); then assert that (after - "
        "before).abs() is larger than 0 for each head, for every feature j.",
    ),
    mending_hints=(
        "Which comes first, projecting or cutting into heads?",
        "The projections must be (d_model, d_model), and read the whole token; only their results are cut.",
        "split_heads(self.w_q(x), self.n_heads), with w_q = nn.Linear(d_model, d_model); the same for k and v.",
    ),
)
