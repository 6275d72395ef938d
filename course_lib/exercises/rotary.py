"""Exercise: turn each pair of features by an angle that grows with the position."""

import math

import torch

from course_lib.exercises.exercise import Example, Exercise, Finding, Probe, Slip
from course_lib.exercises.rotary_stages import stages
from course_lib.positions import rotary as reference
from course_lib.positions import rotary_cos_sin, turn_pairs

FROM_ZERO, ELSEWHERE = "positions are 0, 1, 2, …", "positions do not start at 0"


def _probe(shape, places, *facts, dtype=torch.float32):
    x = torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)
    return Probe((x, torch.tensor(places)), facts)


PROBES = (
    _probe((2, 3, 5, 6), [0, 1, 2, 3, 4], FROM_ZERO, "x has 4 axes", "every size is another number"),
    _probe((5, 8), [0, 1, 2, 3, 4], FROM_ZERO, "x has 2 axes"),
    _probe((4, 4), [0, 1, 2, 3], FROM_ZERO, "T and d_k are equal", "x has 2 axes"),
    _probe((3, 4, 2), [0, 1, 2, 3], FROM_ZERO, "d_k is 2", "x has 3 axes"),
    _probe((4, 4, 6), [0, 1, 2, 3], FROM_ZERO, "B and T are equal", "x has 3 axes"),
    _probe((2, 4, 4, 6), [0, 1, 2, 3], FROM_ZERO, "h and T are equal", "x has 4 axes"),
    _probe((2, 3, 4, 10), [7, 8, 9, 10], ELSEWHERE, "x has 4 axes"),
    _probe((2, 4, 12), [3, 0, 50, 700], ELSEWHERE, "positions are far apart and out of order", "x has 3 axes"),
    _probe((2, 3, 1, 8), [9], ELSEWHERE, "there is one token", "x has 4 axes"),
    _probe((2, 3, 5, 6), [2, 3, 4, 5, 6], ELSEWHERE, "the input is float64", "x has 4 axes", dtype=torch.float64),
    Probe((_probe((2, 5, 3, 6), [0]).args[0].transpose(1, 2), torch.arange(5)), (FROM_ZERO, "x is a transposed view")),
)


# ---- known slips ---------------------------------------------------------------------------------------------------

ANGLE = "Pair i turns by p / 10000^(2i / d_k)."


def _turn(slug, says, turn):
    return Slip(slug, says, {"turn": turn})


def _exponent(slug, says, exponent):
    return Slip(slug, f"{says} {ANGLE}", {"exponent": exponent})


SLIPS = (
    Slip(
        "halves-for-neighbours",
        "Column j is paired with column j + d_k / 2. Some libraries do that, and it works as long as weights "
        "were trained with it; here a pair is two neighbours.",
        {"pairing": "halves"},
    ),
    Slip(
        "pairs-and-angles-disagree",
        "The features are paired by halves, but the angles are laid out for neighbours: the two members of a "
        "pair turn by different angles.",
        {"pairing": "halves, angles of neighbours"},
    ),
    Slip(
        "pairs-and-angles-disagree",
        "The features are paired as neighbours, but the angles are laid out by halves: the two members of a "
        "pair turn by different angles.",
        {"pairing": "neighbours, angles of halves"},
    ),
    Slip(
        "joined-as-halves",
        "The pairs are turned rightly and then put back elsewhere: all first members, then all second ones. "
        "Each belongs in the column it came from.",
        {"pairing": "neighbours, joined as halves"},
    ),
    Slip(
        "joined-as-neighbours",
        "The pairs are taken as halves, j with j + d_k / 2, and put back as neighbours.",
        {"pairing": "halves, joined as neighbours"},
    ),
    _turn(
        "turned-backwards", "The pairs turn the other way round: the minus sign stands in the wrong line.", "backwards"
    ),
    _turn("minus-missing", "A turn has one minus sign; here is none, so that lengths change.", "plus twice"),
    _turn(
        "minus-in-both",
        "A turn has one minus sign; here both lines subtract a sine, so that lengths change.",
        "minus in both",
    ),
    _turn(
        "minus-before-cosine",
        "The second line subtracts b · cos; that mirrors the pair instead of turning it.",
        "minus before b cos",
    ),
    _turn(
        "cosine-and-sine-exchanged",
        "Cosine and sine are exchanged: at position 0, where nothing should turn, everything does.",
        "cos and sin exchanged",
    ),
    _turn(
        "results-exchanged",
        "The two results are exchanged: the first member of a pair gets what belongs to the second.",
        "results exchanged",
    ),
    _turn(
        "cosines-only",
        "The features are only multiplied by cosines: that shrinks them. A turn also mixes the two members of a pair.",
        "cosines only",
    ),
    _turn(
        "second-member-left",
        "Only the first member of each pair is changed; a turn changes both.",
        "second left as it was",
    ),
    _turn(
        "uses-the-new-a",
        "The second line uses the first member after it was turned; it needs the one from before.",
        "new a used",
    ),
    _turn(
        "added-not-turned",
        "Sines and cosines are added to x, as sinusoidal encodings are; rotary adds nothing, it turns.",
        "added",
    ),
    _turn(
        "multiplied-not-turned",
        "x is multiplied by sines and cosines column by column; a turn mixes the two members of a pair.",
        "multiplied",
    ),
    _turn("nothing-turned", "x comes back as it was.", "not at all"),
    _exponent("one-angle-for-all-pairs", "All pairs turn by the same angle: the exponent is always 0.", "none"),
    Slip(
        "first-pair-only",
        "Only the first pair is turned; all should be. (Or all but the first hardly move: an exponent not "
        "divided by d_k?)",
        {"part": "first pair"},
    ),
    _exponent(
        "exponent-halved",
        "The first pair is right, later ones are too fast: the exponent is half of what it should be (or the "
        "base 100).",
        "i / d",
    ),
    _exponent(
        "exponent-doubled",
        "The first pair is right, later ones are too slow: the exponent is doubled. A counter in steps of "
        "two is 2i already.",
        "4i / d",
    ),
    _exponent("exponent-reversed", "The pairs come in reversed order: the slowest first.", "reversed"),
    _exponent(
        "exponent-starts-at-one", "The pairs are counted from 1, so that even the first is slow.", "2(i + 1) / d"
    ),
    _exponent("exponent-odd", "The exponent is (2i + 1) / d_k.", "(2i + 1) / d"),
    _exponent("exponent-pair-number", "The exponent is the number of the pair, not divided by d_k.", "i"),
    _exponent("exponent-reaches-one", "The exponents are spread from 0 to exactly 1.", "i / (d/2 - 1)"),
    Slip(
        "speed-grows",
        "The position is multiplied by 10000^(2i / d_k), not divided: the speeds grow with the pair. A minus "
        "sign is missing.",
        {"speed": "multiplied"},
    ),
    *(
        Slip(
            "base-wrong",
            f"The first pair is right, the others drift: the base is {base:g}; it should be 10000.",
            {"base": base},
        )
        for base in (1000.0, 100000.0, 500000.0, 1e6, 10.0, 2.0, math.e)
    ),
    Slip(
        "degrees",
        "The angle is taken for degrees and turned into radians; it is in radians from the start.",
        {"unit": "to radians"},
    ),
    Slip("degrees", "The angle is turned into degrees, but sine and cosine want radians.", {"unit": "to degrees"}),
    Slip("times-2π", "The angle is multiplied by 2π; it is in radians already.", {"unit": "2π"}),
    Slip(
        "ignores-positions",
        "The tokens are counted 0, 1, 2, … whatever `positions` says: wrong as soon as a sequence does not "
        "start at 0, as with a cache.",
        {"place": "row number"},
    ),
    Slip(
        "positions-by-leading-axis",
        "The angle depends on the index along the first axis (the sequence of the batch, or the head), not "
        "on the token's position.",
        {"place": "leading axis"},
    ),
    Slip("positions-start-at-one", "Every token is turned one position too far.", {"place": "p + 1"}),
    Slip("position-divided-by-T", "The position is divided by the number of tokens.", {"place": "p / T"}),
    Slip("first-half-only", "Only the first half of the features is turned; all should be.", {"part": "first half"}),
    Slip(
        "pairs-not-joined",
        "The members of a pair stand on an axis of their own, (…, T, d_k / 2, 2): join it with the one before.",
        {"after": "pair axis left"},
    ),
    Slip("scaled", "The result is multiplied by √d_k; a turn keeps lengths.", {"after": "times √d_k"}),
    Slip("x-added", "x is added to the turned x.", {"after": "plus x"}),
    Slip("negated", "Everything has the opposite sign: half a turn too far.", {"after": "negated"}),
)


# ---- measurements, where no slip fits ------------------------------------------------------------------------------


def _answer(seen, x, places):
    """What the candidate makes of x (T, d_k) at these positions; None if it is no tensor of that shape."""
    out = seen.ask(x, torch.tensor(places))
    fits = isinstance(out, torch.Tensor) and out.shape == x.shape and out.is_floating_point()
    return out.double() if fits else None


def moves_position_zero(seen):
    """At position 0 every angle is 0, so nothing may move."""
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    out = _answer(seen, x, [0])
    if out is None or torch.allclose(out, x.double(), atol=1e-3):
        return None
    got = ", ".join(f"{number:.2g}" for number in out[0].tolist())
    says = f"At position 0 nothing turns, so the token 1, 2, 3, 4 must come back as it is; yours is {got}."
    return Finding(
        "position-0-moves", says, "All angles are 0 there: what do cos 0 = 1 and sin 0 = 0 make of your lines?"
    )


def changes_lengths(seen):
    """A turn keeps the length of every token."""
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    out = _answer(seen, x, [3])
    if out is None or abs(out.norm().item() - x.norm().item()) < 1e-2:
        return None
    was, is_now = x.norm().item(), out.norm().item()
    says = f"A turn keeps lengths: 1, 2, 3, 4 has length {was:.2f}, and at position 3 yours has {is_now:.2f}."
    return Finding(
        "changes-lengths", says, "Look at the signs, and at which cosine and sine meet which member of a pair."
    )


def angle_read_off(seen):
    """Reads the angle of each pair from a token (1, 0, 1, 0, …) at position 1."""
    out = _answer(seen, torch.tensor([[1.0, 0.0] * 4]), [1])
    if out is None:
        return None
    pairs = out[0].reshape(4, 2)
    got = torch.atan2(pairs[:, 1], pairs[:, 0])
    want = 10000.0 ** (-torch.arange(4, dtype=torch.float64) / 4)
    wrong = ((got - want).abs() > 1e-3).nonzero().flatten().tolist()
    if not wrong:
        return None
    i = wrong[0]
    says = f"At position 1, with d_k = 8, pair {i} turns by {got[i]:.3g} radians; it should be {want[i]:.3g}."
    return Finding("angle-wrong", says, "Look at the exponent, at the base, and at which pair gets which angle.")


EXERCISE = Exercise(
    name="rotary",
    reference=reference,
    parameters=("x", "positions"),
    parts=("result",),
    probes=PROBES,
    examples=(
        Example(
            "Two tokens 1, 0 at positions 0 and 1:", (torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([0, 1]))
        ),
        Example(
            "One token 1, 0, 1, 0 at position 5:", (torch.tensor([[1.0, 0.0, 1.0, 0.0]]), torch.tensor([5]))
        ),
    ),
    hints=(
        "Three steps: an angle for each token and pair, (T, d_k / 2); the two members of each pair, each (…, "
        "T, d_k / 2); a turn.",
        "The angles are positions[:, None] / 10000 ** (two_i / d_k), with two_i = 0, 2, 4, … The members are "
        "x[..., 0::2] and x[..., 1::2]. Both lines of the turn need the members from before it.",
        "torch.stack([turned_a, turned_b], dim=-1).flatten(-2) puts neighbours side by side again; turned_b "
        "is a * sin + b * cos.",
    ),
    variant=stages,
    slips=SLIPS,
    measures=(moves_position_zero, changes_lengths, angle_read_off),
    look={
        "place": "which number says where a token stands",
        "exponent": "the exponent of 10000",
        "base": "the number that is raised to a power",
        "speed": "the line that computes the angles",
        "unit": "what the angles are multiplied by",
        "pairing": "which columns form a pair, and where they are put back",
        "turn": "the two lines of the turn",
        "part": "how many columns are turned",
        "after": "what is returned",
    },
    chance="The angles are computed, not drawn.",
    reveals=(rotary_cos_sin, turn_pairs),
)
