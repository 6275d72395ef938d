"""Exercise: predict the slope. By which power of T does the work of an attention layer grow at this length?"""

import math

from course_lib.costs import work_slope as reference
from course_lib.exercises.exercise import Example, Exercise, Probe, Slip

SIZES = ((16, 64), (64, 64), (128, 64), (1024, 64), (2048, 64), (1, 512), (512, 512), (4096, 4096), (131_072, 4096),
         (100, 30), (7, 1), (1000, 1))
PROBES = tuple(Probe(size, ("T is larger than d_model" if size[0] > size[1] else "T is at most d_model",)) for size in SIZES)


def stages(T, d_model, *, projections=8, pairs=4, log=2, growth="log of the ratio"):
    """Work at T and at 2·T, and the exponent between the two. The keywords are the knobs."""

    def work(T):
        return projections * T * d_model**2 + pairs * T**2 * d_model

    ratio = work(2 * T) / work(T)
    return {
        "log of the ratio": lambda: math.log(ratio) / math.log(log),
        "the ratio": lambda: ratio,
        "half the ratio": lambda: ratio / 2,
        "upside down": lambda: -math.log2(ratio),
    }[growth]()


SLIPS = (
    Slip("ratio-for-exponent", "That is how many times as much work it is. The exponent is its logarithm to base 2, "
         "since T doubles.", {"growth": "the ratio"}),
    Slip("half-the-ratio", "That is half the ratio of the two, which here is also the slope **at** T, the derivative. "
         "Asked for is the slope from T to 2 · T: the logarithm to base 2 of the ratio.", {"growth": "half the ratio"}),
    Slip("upside-down", "The sign is turned round: the work grows, so the slope is positive.", {"growth": "upside down"}),
    Slip("natural-logarithm", "The logarithm must have base 2, since T doubles; this is the natural one.",
         {"log": math.e}),
    Slip("logarithm-to-base-10", "The logarithm must have base 2, since T doubles; this one has base 10.", {"log": 10}),
    Slip("projections-not-counted", "Only the T × T part is counted; the four projections are work too.",
         {"projections": 0}),
    Slip("pairs-not-counted", "As if twice the tokens were twice the work: that holds for the projections alone. The scores and "
         "the weighted sums are T × T numbers, four times as many.", {"pairs": 0}),
    Slip("output-projection-not-counted", "Only three projections are counted; w_o is the fourth.", {"projections": 6}),
    Slip("weighted-sum-not-counted", "Of the T × T part only the scores are counted; the weighted sum of the values is "
         "as much work again.", {"pairs": 2}),
    Slip("projections-not-doubled", "The projections count 4 · T · d_model² and the T × T part 4 · T² · d_model: a "
         "product of matrices is a multiplication **and** an addition each time, in both.", {"projections": 4}),
)


EXERCISE = Exercise(
    name="work_slope",
    reference=reference,
    parameters=("T", "d_model"),
    parts=("slope",),
    probes=PROBES,
    examples=(Example("T = 64, d_model = 64:", (64, 64)),),
    hints=(
        "Count the work at T and at 2 · T. If it doubles, the slope is 1; if it is four times as much, the slope is 2.",
        "The projections take 8 · T · d_model² operations, scores and weighted sums 4 · T² · d_model. The slope is the "
        "logarithm to base 2 of the ratio.",
        "math.log2(work(2 * T) / work(T)) with work(T) = 8 * T * d_model**2 + 4 * T**2 * d_model",
    ),
    variant=stages,
    slips=SLIPS,
    in_pairs=False,
    look={"projections": "the projections", "pairs": "the T × T part", "log": "the logarithm", "growth": "the exponent"},
)  # fmt: skip
