"""Bug hunt of notebook 02: every position gets the encoding of its sample number."""

import torch
from torch import nn

from course_lib.exercises.bug_hunts.hunt import Hunt
from course_lib.positions import sinusoidal_pe


class PositionsByBatch(nn.Module):
    """Adds sinusoids to x (batch, T, d_model). It has d_model and max_len."""

    def __init__(self, max_len, d_model):
        super().__init__()
        self.max_len, self.d_model = max_len, d_model
        self.register_buffer("table", sinusoidal_pe(max_len, d_model)[:, None])  # (max_len, 1, d_model)

    def forward(self, x):
        return x + self.table[: x.shape[0]]


class PositionsByTime(nn.Module):
    """The same without the bug."""

    def __init__(self, max_len, d_model):
        super().__init__()
        self.max_len, self.d_model = max_len, d_model
        self.register_buffer("table", sinusoidal_pe(max_len, d_model))  # (max_len, d_model)

    def forward(self, x):
        return x + self.table[: x.shape[1]]


class PositionsTimeFirst(nn.Module):
    """The same: turns x so that time comes first, as in PyTorch's old tutorial."""

    def __init__(self, max_len, d_model):
        super().__init__()
        self.max_len, self.d_model = max_len, d_model
        self.register_buffer("table", sinusoidal_pe(max_len, d_model)[:, None])

    def forward(self, x):
        x = x.transpose(0, 1)  # (T, batch, d_model)
        return (x + self.table[: x.shape[0]]).transpose(0, 1)


class LearnedPositions(nn.Module):
    """Another kind of positions, which no test should accuse either."""

    def __init__(self, max_len, d_model):
        super().__init__()
        self.max_len, self.d_model = max_len, d_model
        self.table = nn.Embedding(max_len, d_model)

    def forward(self, x):
        return x + self.table(torch.arange(x.shape[1]))


def same_sequence_same_encoding(module):
    """Raise AssertionError if equal sequences of a batch come out different, or equal tokens at two places the same."""
    x = torch.ones(3, 4, module.d_model)
    added = module(x) - x
    assert torch.allclose(added[0], added[1], atol=1e-5), "two equal sequences of a batch get different encodings"
    assert not torch.allclose(added[0, 0], added[0, 1], atol=1e-5), "two places of a sequence get the same encoding"


def keeps_the_shape(module):
    for B, T in ((1, 5), (4, 2), (3, 3)):
        x = torch.randn(B, T, module.d_model)
        assert module(x).shape == x.shape, f"x of shape {tuple(x.shape)} must keep its shape; yours gives {tuple(module(x).shape)}"


def adds_the_same_to_any_x(module):
    x, y = torch.randn(2, 4, module.d_model), torch.randn(2, 4, module.d_model)
    assert torch.allclose(module(x) - x, module(y) - y, atol=1e-4), "what is added must depend on the position only, not on x"


def adds_the_sinusoids(module):
    added = module(torch.zeros(2, 6, module.d_model))[0]
    right = sinusoidal_pe(6, module.d_model)
    assert torch.allclose(added, right, atol=1e-4), "position p must get row p of sinusoidal_pe"


HUNT = Hunt(
    name="positions_by_batch",
    buggy=PositionsByBatch,
    right=(PositionsByTime, PositionsTimeFirst, LearnedPositions),
    sizes=((32, 8), (20, 6)),
    witness=same_sequence_same_encoding,
    sound=(keeps_the_shape, adds_the_same_to_any_x, adds_the_sinusoids),
    bug="The table is cut by the size of axis 0, which is the batch: every token of sample b gets the encoding of "
        "place b.",
    story="Seen in the wild: Neuromatch's course-content-dl (W2D5) and cmu-l3/anlp-fall2025-code issue 1, among "
          "others.",
    hints=(
        "What must two equal tokens at different places of a sequence get? And two equal sequences of a batch?",
        "Hand over x in which all tokens are equal, and look at what is added: it must differ from place to place "
        "and agree from sequence to sequence.",
        "x = torch.ones(3, 4, module.d_model); added = module(x) - x; then assert that added[0] and added[1] are "
        "close, and that added[0, 0] and added[0, 1] are not.",
    ),
    mending_hints=(
        "Which axis of x is the time?",
        "x is (batch, T, d_model): the table must be cut to T rows, and line up with axis 1.",
        "Keep the table as (max_len, d_model) and add self.table[: x.shape[1]].",
    ),
)
