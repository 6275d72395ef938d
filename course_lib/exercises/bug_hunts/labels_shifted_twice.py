"""Bug hunt of notebook 05: the targets are shifted where the data were shifted already."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.exercises.bug_hunts.hunt import Hunt


class LabelsShiftedTwice(nn.Module):
    """The loss of a decoder. module(logits (B, T, V), targets (B, T)) -> scalar; it has vocab_size.

    The inputs were shifted when the batch was made: logits[:, t] is about targets[:, t].
    """

    def __init__(self, vocab_size):
        super().__init__()
        self.vocab_size = vocab_size

    def forward(self, logits, targets):
        logits, targets = logits[:, :-1], targets[:, 1:]
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class LabelsAsTheyAre(LabelsShiftedTwice):
    """The same without the bug."""

    def forward(self, logits, targets):
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class LabelsByHand(LabelsShiftedTwice):
    """The same, written out."""

    def forward(self, logits, targets):
        return -logits.log_softmax(-1).gather(-1, targets[..., None]).mean()


def right_logits_cost_nothing(module):
    """Raise AssertionError if logits that are sure of the right target have a loss, or if wrong ones have none."""
    targets = torch.randint(module.vocab_size, (3, 6))
    sure = 20.0 * F.one_hot(targets, module.vocab_size).float()
    assert module(sure, targets) < 0.01, f"logits that are sure of the right targets cost {module(sure, targets):.2f}; they should cost 0"
    assert module(sure.flip(-1), targets) > 1.0, "logits that are sure of wrong targets cost nothing"


def is_the_mean_cross_entropy(module):
    V = module.vocab_size
    logits, targets = torch.zeros(2, 5, V), torch.randint(V, (2, 5))
    loss = module(logits, targets)
    assert loss.ndim == 0, "the loss must be one number"
    assert torch.allclose(loss, torch.tensor(float(V)).log(), atol=1e-4), f"logits that are all equal must cost ln V = {torch.tensor(float(V)).log():.3f}"


def every_position_counts(module):
    logits = torch.zeros(1, 4, module.vocab_size, requires_grad=True)
    module(logits, torch.randint(module.vocab_size, (1, 4))).backward()
    silent = [t for t in range(4) if logits.grad[0, t].abs().max() == 0]
    assert not silent, f"the logits at position {silent} do not count"


HUNT = Hunt(
    name="labels_shifted_twice",
    buggy=LabelsShiftedTwice,
    right=(LabelsAsTheyAre, LabelsByHand),
    sizes=((11,), (50,)),
    witness=right_logits_cost_nothing,
    sound=(is_the_mean_cross_entropy, every_position_counts),
    bug="The loss shifts once more what the data had shifted already: the model learns to predict the token after "
        "the next.",
    story="Seen in the wild: transformers issues 37830 and 47394, MONAI GenerativeModels 314; and the other way "
          "round, not shifted at all.",
    hints=(
        "For which logits should the loss be 0?",
        "Make logits that are sure of exactly the targets, and look at the loss.",
        "sure = 20.0 * F.one_hot(targets, module.vocab_size).float(); assert module(sure, targets) < 0.01",
    ),
    mending_hints=("Who shifts?",
                   "Read the docstring: logits[:, t] is about targets[:, t] already.",
                   "Leave out the line that cuts logits and targets."),
)
