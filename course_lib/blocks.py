"""What stands between two attentions: the norm, the feed-forward layer, and the block that joins them."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import MultiHeadAttention

ACTIVATIONS = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),  # GPT-2's approximation
    "swiglu": F.silu,  # and multiplied by a gate: see FeedForward
}


def layer_norm(x, gamma, beta, eps=1e-5):
    """Give every token mean 0 and variance 1 over its own features, then scale by gamma and shift by beta.

    x (…, d_model); gamma, beta (d_model,). Returns the shape of x. The variance divides by d_model, not
    d_model - 1.
    Source: Ba, Kiros and Hinton 2016, section 3.
    """
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, keepdim=True, correction=0)
    return (x - mean) / torch.sqrt(variance + eps) * gamma + beta


def fused_layer_norm(x, gamma, beta, eps=1e-5):
    """The same as `layer_norm` in one kernel: what the models run. beta may be None."""
    return F.layer_norm(x, gamma.shape, gamma, beta, eps)


def rms_norm(x, gamma, eps=1e-5):
    """Divide every token by the root of its mean square, then scale by gamma: no mean, no shift.

    x (…, d_model), gamma (d_model,). Returns the shape of x; half-precision input is averaged in float32.
    Source: Zhang and Sennrich 2019, section 4.
    """
    precise = x if x.dtype == torch.float64 else x.float()
    mean_square = precise.pow(2).mean(dim=-1, keepdim=True)
    return (precise * torch.rsqrt(mean_square + eps)).to(x.dtype) * gamma


class LayerNorm(nn.Module):
    """`layer_norm` with its gamma and beta as parameters; bias=False leaves out beta."""

    def __init__(self, d_model, eps=1e-5, bias=True):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model)) if bias else None

    def forward(self, x):
        return fused_layer_norm(x, self.gamma, self.beta, self.eps)


class RMSNorm(nn.Module):
    """`rms_norm` with its gamma as a parameter."""

    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        return rms_norm(x, self.gamma, self.eps)


def make_norm(config):
    """The norm that a TransformerConfig asks for."""
    if config.norm == "rms":
        return RMSNorm(config.d_model, config.norm_eps)
    return LayerNorm(config.d_model, config.norm_eps, config.bias)


def make_dropout(config):
    """The dropout that a TransformerConfig asks for; at 0 none, as an idle one is 5% of the time of a generated token."""
    return nn.Dropout(config.dropout) if config.dropout else nn.Identity()


class FeedForward(nn.Module):
    """Two linear layers for each token alone: d_model -> d_ff -> d_model; "swiglu" multiplies d_ff by a gate.

    Source: Vaswani et al. 2017, section 3.3; the gate: Shazeer 2020.
    """

    def __init__(self, d_model, d_ff, activation="gelu", bias=True):
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.w_1 = nn.Linear(d_model, d_ff, bias)
        self.w_gate = nn.Linear(d_model, d_ff, bias) if activation == "swiglu" else None
        self.w_2 = nn.Linear(d_ff, d_model, bias)

    def forward(self, x):
        if self.w_gate is not None:
            return self.w_2(self.activation(self.w_gate(x)) * self.w_1(x))
        return self.w_2(self.activation(self.w_1(x)))


class Block(nn.Module):
    """What both blocks share: a sublayer is added to the residual stream, with a norm before it or after."""

    def __init__(self, config):
        super().__init__()
        self.norm_first = config.norm_first
        self.dropout = make_dropout(config)
        self.attention = self.make_attention(config)
        self.feed_forward = FeedForward(config.d_model, config.d_ff, config.activation, config.bias)

    @staticmethod
    def make_attention(config):
        return MultiHeadAttention(config.d_model, config.n_heads, config.bias, config.n_kv_heads)

    def before(self, norm, x):
        """What the sublayer reads: pre-norm norms its input, post-norm hands x over as it is."""
        return norm(x) if self.norm_first else x


def encoder_block(x, attention, feed_forward, norm_1, norm_2, norm_first=True):
    """One encoder block out of its four parts: attention, then feed-forward, each added to the residual stream.

    x (B, T, d_model); attention, feed_forward, norm_1, norm_2: functions (B, T, d_model) -> (B, T, d_model).
    norm_first=True: pre-norm, every part reads a normed copy; False: post-norm, every sum is normed.
    Returns (B, T, d_model). Source: Vaswani et al. 2017, section 3.1; pre-norm: Xiong et al. 2020.
    """
    if norm_first:
        x = x + attention(norm_1(x))
        return x + feed_forward(norm_2(x))
    x = norm_1(x + attention(x))
    return norm_2(x + feed_forward(x))


class EncoderBlock(Block):
    """Self-attention, then the feed-forward layer. With causal=True it is the block of a decoder-only model.

    config: a models.TransformerConfig. Source: Vaswani et al. 2017, section 3.1; pre-norm: Xiong et al. 2020.
    """

    def __init__(self, config):
        super().__init__(config)
        self.norm_1, self.norm_2 = make_norm(config), make_norm(config)

    def forward(self, x, mask=None, padding=None, causal=False, need_weights=False,
                positions=None, cache=None, edit=None):  # fmt: skip
        """x (B, T, d_model) -> (B, T, d_model); need_weights=True: (x, weights (B, h, T, S)).

        mask, padding, causal, positions, cache, edit: as in MultiHeadAttention.
        """
        weights = None

        def attention(x):
            nonlocal weights
            output, weights = self.attention.with_weights(
                x, mask=mask, padding=padding, causal=causal, need_weights=need_weights,
                positions=positions, cache=cache, edit=edit,
            )  # fmt: skip
            return self.dropout(output)

        def feed_forward(x):
            return self.dropout(self.feed_forward(x))

        x = encoder_block(x, attention, feed_forward, self.norm_1, self.norm_2, self.norm_first)
        return (x, weights) if need_weights else x


def decoder_block(x, memory, self_attention, cross_attention, feed_forward, norm_1, norm_2, norm_3, norm_first=True):
    """One decoder block out of its parts: masked self-attention, cross-attention, feed-forward, each added to x.

    x (B, T, d_model); memory (B, S, d_model), the encoder's output, which no norm of this block touches;
    self_attention(x, causal=True) and cross_attention(x, memory): (B, T, d_model), called as `MultiHeadAttention` is;
    feed_forward and the norms: functions (B, T, d_model) -> (B, T, d_model).
    norm_first=True: pre-norm, every part reads a normed copy; False: post-norm, every sum is normed.
    Returns (B, T, d_model). Source: Vaswani et al. 2017, section 3.1; pre-norm: Xiong et al. 2020.
    """
    if norm_first:
        x = x + self_attention(norm_1(x), causal=True)
        x = x + cross_attention(norm_2(x), memory)
        return x + feed_forward(norm_3(x))
    x = norm_1(x + self_attention(x, causal=True))
    x = norm_2(x + cross_attention(x, memory))
    return norm_3(x + feed_forward(x))


class DecoderBlock(Block):
    """Masked self-attention, cross-attention to the encoder's output, then the feed-forward layer.

    config: a models.TransformerConfig. Source: Vaswani et al. 2017, section 3.1.
    """

    def __init__(self, config):
        super().__init__(config)
        self.cross_attention = self.make_attention(config)
        self.norm_1, self.norm_2, self.norm_3 = (make_norm(config) for _ in range(3))

    def forward(self, x, memory, padding=None, memory_padding=None, need_weights=False,
                positions=None, cache=None, memory_cache=None):  # fmt: skip
        """x (B, T, d_model), memory (B, S, d_model), the encoder's output -> (B, T, d_model).

        padding (B, T) and memory_padding (B, S): True = real token. memory_cache keeps the keys and values of
        memory. need_weights=True: (x, weights (B, h, T, T), cross weights (B, h, T, S)).
        """
        seen = {}

        def self_attention(query, key=None, value=None, **how):
            output, seen["own"] = self.attention.with_weights(
                query, key, value, padding=padding, need_weights=need_weights, positions=positions, cache=cache, **how
            )
            return self.dropout(output)

        def cross_attention(query, key=None, value=None, **how):
            output, seen["cross"] = self.cross_attention.with_weights(
                query, key, value, padding=memory_padding, need_weights=need_weights, cache=memory_cache, **how
            )
            return self.dropout(output)

        def feed_forward(x):
            return self.dropout(self.feed_forward(x))

        norms = (self.norm_1, self.norm_2, self.norm_3)
        x = decoder_block(x, memory, self_attention, cross_attention, feed_forward, *norms, self.norm_first)
        return (x, seen.get("own"), seen.get("cross")) if need_weights else x
