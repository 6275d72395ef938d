"""Bug hunt of notebook 06: the last real token is found by counting, which holds for one side of padding only."""

import torch
from torch import nn

from course_lib.exercises.bug_hunts.hunt import Hunt


class LastByCount(nn.Module):
    """A classifier's read-out on a decoder. module(hidden (B, T, d_model), padding (B, T)) -> logits (B, 2).

    padding: True = real token. It reads the last real token of each row. It has d_model.
    """

    def __init__(self, d_model):
        super().__init__()
        self.d_model = d_model
        self.head = nn.Linear(d_model, 2)

    def forward(self, hidden, padding):
        last = padding.sum(dim=1) - 1  # (B,)
        return self.head(hidden[torch.arange(len(hidden)), last])


class LastByPlace(LastByCount):
    """The same without the bug: the largest place that holds a real token."""

    def forward(self, hidden, padding):
        last = (padding * torch.arange(padding.shape[1])).argmax(dim=1)
        return self.head(hidden[torch.arange(len(hidden)), last])


class LastByLoop(LastByCount):
    """The same, row by row."""

    def forward(self, hidden, padding):
        rows = [row[real][-1] for row, real in zip(hidden, padding, strict=True)]
        return self.head(torch.stack(rows))


def padding_on_either_side_changes_nothing(module):
    """Raise AssertionError if a row's answer depends on the side on which it was padded."""
    hidden, filler = torch.randn(1, 4, module.d_model), torch.randn(1, 3, module.d_model)
    real, empty = torch.ones(1, 4, dtype=torch.bool), torch.zeros(1, 3, dtype=torch.bool)
    alone = module(hidden, real)
    right = module(torch.cat([hidden, filler], dim=1), torch.cat([real, empty], dim=1))
    left = module(torch.cat([filler, hidden], dim=1), torch.cat([empty, real], dim=1))
    assert torch.allclose(alone, right, atol=1e-5), "padding on the right changes the answer"
    assert torch.allclose(alone, left, atol=1e-5), "padding on the left changes the answer"


def reads_the_last_token(module):
    hidden, real = torch.randn(2, 5, module.d_model), torch.ones(2, 5, dtype=torch.bool)
    logits = module(hidden, real)
    assert logits.shape == (2, 2), f"the logits must have the shape (B, 2); they have {tuple(logits.shape)}"
    others = torch.cat([torch.randn(2, 4, module.d_model), hidden[:, -1:]], dim=1)
    assert torch.allclose(module(others, real), logits, atol=1e-5), "another token than the last real one is read"


def each_row_reads_its_own(module):
    hidden = torch.randn(2, 4, module.d_model)
    padding = torch.tensor([[True, True, True, True], [True, True, False, False]])
    logits, single = module(hidden, padding), module(hidden[1:, :2], padding[1:, :2])
    assert torch.allclose(logits[1:], single, atol=1e-5), "in a batch, a short row is read at another place than alone"


HUNT = Hunt(
    name="last_by_count",
    buggy=LastByCount,
    right=(LastByPlace, LastByLoop),
    sizes=((8,), (16,)),
    witness=padding_on_either_side_changes_nothing,
    sound=(reads_the_last_token, each_row_reads_its_own),
    bug="The number of real tokens minus one is the place of the last one only where the padding stands on the right. "
        "Padded on the left, as one does for generating, a token in the middle is read, or padding.",
    story="Seen in the wild: transformers issues 24265 and 35909 (June 2023, January 2025), mended for most models in "
          "pull request 35911 and for one more in 46782; PEFT issue 3620 (August 2026).",
    hints=(
        "The answer for a sentence must not depend on how it was padded. How many ways are there to pad?",
        "Call the module on four real tokens, then on the same four with padding before them, then behind them.",
        "left = module(torch.cat([filler, hidden], 1), torch.cat([empty, real], 1)); assert torch.allclose(alone, left)",
    ),
    mending_hints=("Which place holds the last True of a row?",
                   "Number the places, and let only the real ones count: the largest number is the place.",
                   "last = (padding * torch.arange(padding.shape[1])).argmax(dim=1)"),
)  # fmt: skip
