"""Exercise: exposure, how far a secret has moved up the list of all that it could be."""

import math

import torch

from course_lib.exercises.exercise import Example, Exercise, Probe, Slip
from course_lib.tasks.canaries import exposure as reference


def case(n, rank, seed):
    """n log-probabilities without ties, and the place of the one with this rank (1 = the most likely)."""
    logits = 1.5 * torch.randn(n, generator=torch.Generator().manual_seed(seed))
    log_probs = logits.log_softmax(dim=0)
    return log_probs, log_probs.argsort(descending=True)[rank - 1].item()


PROBES = tuple(
    Probe(case(n, rank, seed), facts)
    for seed, (n, rank, facts) in enumerate(
        (
            (1000, 17, ("the secret is among the first", "there are 1000 candidates")),
            (1000, 500, ("the secret is in the middle",)),
            (64, 64, ("the secret is the least likely",)),
            (100, 7, ("there are 100 candidates",)),
            (1000, 1, ("the secret is the most likely",)),
            (10, 3, ("there are 10 candidates",)),
            (37, 30, ("there are 37 candidates",)),
        )
    )
)


def stages(log_probs, true_code, *, order="more likely", counted_from=1, base=2, formula="difference", place="rank"):
    """Rank, two logarithms, a difference."""
    n = len(log_probs)
    if place == "rank":
        ahead = log_probs > log_probs[true_code] if order == "more likely" else log_probs < log_probs[true_code]
        rank = counted_from + ahead.sum().item()
    else:
        down = order == "more likely"
        rank = counted_from + log_probs.argsort(descending=down)[true_code].item()
    if formula == "log-probability":
        return log_probs[true_code].item()
    if formula == "surprisal":
        return -log_probs[true_code].item() / math.log(base)
    parts = {"difference": math.log(n) - math.log(rank), "other way round": math.log(rank) - math.log(n),
             "rank alone": math.log(rank), "n alone": math.log(n)}  # fmt: skip
    if formula in ("rank", "share"):
        return float(rank) if formula == "rank" else rank / n
    return parts[formula] / math.log(base)


SLIPS = (
    Slip("ranked-from-the-wrong-end", "The least likely candidate gets rank 1. It is the most likely one that does.",
         {"order": "less likely"}),
    Slip("rank-starts-at-zero", "The most likely candidate gets rank 0, and log 0 is not defined: ranks start at 1.",
         {"counted_from": 0}),
    Slip("natural-logarithm", "The logarithms are natural ones; bits need base 2.", {"base": math.e}),
    Slip("logarithm-of-base-ten", "The logarithms have base 10; bits need base 2.", {"base": 10}),
    Slip("other-way-round", "The two logarithms are subtracted the other way round: a well-kept secret would get the "
         "large numbers.", {"formula": "other way round"}),
    Slip("rank-alone", "This is the logarithm of the rank. Without the number of candidates it means nothing.",
         {"formula": "rank alone"}),
    Slip("number-of-candidates-alone", "This is the logarithm of the number of candidates: the model plays no part in it.",
         {"formula": "n alone"}),
    Slip("rank-not-exposure", "This is the rank itself; exposure is a difference of two logarithms.", {"formula": "rank"}),
    Slip("rank-as-a-share", "This is the rank divided by the number of candidates; take minus its log2.",
         {"formula": "share"}),
    Slip("log-probability-not-rank", "This is the log-probability of the secret. A model that finds everything unlikely "
         "would seem to have learned nothing: use the rank.", {"formula": "log-probability"}),
    Slip("surprisal-not-rank", "This is minus the log2 of the secret's probability. Exposure compares it with the other "
         "candidates, through its rank.", {"formula": "surprisal"}),
    Slip("argsort-is-not-the-rank", "argsort says which candidate stands at a place, not at which place a candidate "
         "stands. Count those that are more likely.", {"place": "argsort"}),
)  # fmt: skip


EXERCISE = Exercise(
    name="exposure",
    reference=reference,
    parameters=("log_probs", "true_code"),
    parts=("exposure",),
    probes=PROBES,
    examples=(Example("log_probs of probabilities 0.1, 0.5, 0.3, 0.1 and true_code = 2:",
                      (torch.tensor([0.1, 0.5, 0.3, 0.1]).log(), 2)),),
    hints=(
        "How many candidates does the model find more likely than the true one? Its rank is one more.",
        "Exposure is log2 of the number of candidates minus log2 of the rank. math.log2 takes plain numbers.",
        "rank = 1 + (log_probs > log_probs[true_code]).sum().item(), then the difference of math.log2(len(log_probs)) and "
        "math.log2(rank).",
    ),
    variant=stages,
    slips=SLIPS,
    look={
        "order": "which end of the list has rank 1",
        "counted_from": "the rank of the most likely candidate",
        "base": "the base of the logarithm",
        "formula": "what you subtract from what",
        "place": "how the rank is found",
    },
)  # fmt: skip
