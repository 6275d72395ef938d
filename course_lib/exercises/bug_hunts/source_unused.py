"""Bug hunt of notebook 05: a decoder block whose cross-attention never looks at the source."""

import torch
from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.exercises.bug_hunts.hunt import Hunt
from course_lib.exercises.module_checks import no_future_leak, source_matters


class SourceUnused(nn.Module):
    """A decoder block. module(x (B, T, d_model), memory (B, S, d_model)) -> (B, T, d_model). It has d_model."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.d_model = d_model
        self.own, self.cross = MultiHeadAttention(d_model, n_heads), MultiHeadAttention(d_model, n_heads)
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, memory):
        x = self.norm_1(x + self.own(x, causal=True))
        return self.norm_2(x + self.cross(x, x))


class SourceRead(SourceUnused):
    """The same without the bug."""

    def forward(self, x, memory):
        x = self.norm_1(x + self.own(x, causal=True))
        return self.norm_2(x + self.cross(x, memory))


class SourceReadByPyTorch(nn.Module):
    """PyTorch's decoder layer."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.d_model = d_model
        self.layer = nn.TransformerDecoderLayer(d_model, n_heads, 2 * d_model, dropout=0.0, batch_first=True)

    def forward(self, x, memory):
        blocked = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        return self.layer(x, memory, tgt_mask=blocked)


def the_source_matters(module):
    """Raise AssertionError if another source gives the same result."""
    source_matters(module, torch.randn(2, 5, module.d_model), torch.randn(2, 4, module.d_model))


def has_the_targets_length(module):
    x, memory = torch.randn(2, 4, module.d_model), torch.randn(2, 6, module.d_model)
    assert module(x, memory).shape == x.shape, "the result must have the target's length, (B, T, d_model)"


def is_causal(module):
    memory = torch.randn(2, 5, module.d_model)
    no_future_leak(lambda x: module(x, memory), torch.randn(2, 6, module.d_model))


HUNT = Hunt(
    name="source_unused",
    buggy=SourceUnused,
    right=(SourceRead, SourceReadByPyTorch),
    sizes=((8, 2), (12, 3)),
    witness=the_source_matters,
    sound=(has_the_targets_length, is_causal),
    bug="Cross-attention is called with (x, x): the memory is never read. The model can only learn which targets are "
        "common.",
    story="Seen in the wild: keitakurita/Practical_NLP_in_PyTorch issue 1. It also lets each token see its future, "
          "since this attention is not masked.",
    hints=(
        "What is a translation worth that is the same for every sentence?",
        "Keep x and change memory: the result must change.",
        "assert not torch.allclose(module(x, memory), module(x, torch.randn_like(memory)), atol=1e-5)",
    ),
    mending_hints=("Who asks, and who is asked?",
                   "The second attention takes its queries from x, keys and values from memory.",
                   "self.cross(x, memory)"),
)
