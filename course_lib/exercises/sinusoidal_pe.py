"""Exercise: one fingerprint per position, sines and cosines of many speeds."""

import torch

from course_lib.exercises.exercise import Convention, Example, Exercise, Finding, Probe, Slip
from course_lib.exercises.sinusoidal_stages import stages
from course_lib.positions import sinusoidal_pe as reference

LONG = "there are many positions"
PROBES = tuple(Probe(sizes, facts, tells_slips=sizes[0] < 600) for sizes, facts in (
    ((7, 8), ("there are few positions",)),
    ((4, 6), ("d_model is no power of two",)),
    ((50, 16), (LONG,)),
    ((3, 2), ("d_model is 2",)),
    ((6, 6), ("n_positions and d_model are equal",)),
    ((12, 4), ("d_model is 4",)),
    ((600, 10), (LONG, "d_model is no power of two")),
    ((1, 4), ("there is one position",)),
    ((3, 40), ("d_model is larger than n_positions",)),
))  # fmt: skip

FORMULA = "Dimensions 2i and 2i + 1 are the sine and the cosine of p / 10000^(2i / d_model)."


def _base(value, says):
    return Slip("base-wrong", f"The first pair is right, the others drift: {says}; the base is 10000.", {"base": value})


SLIPS = (
    Slip("exponent-doubled", f"The first pair is right, later pairs are too slow: the exponent is doubled. A counter "
         f"that already runs in steps of two must not be doubled again. {FORMULA}", {"exponent": "4i / d"}),
    Slip("exponent-halved", f"The first pair is right, later pairs are too fast: the exponent is i / d_model, half "
         f"of what it should be (or the base is 100). {FORMULA}",
         {"exponent": "i / d"}),
    Slip("cosine-with-its-own-exponent", "The sine columns are right, the cosine columns are not: their exponent "
         "uses their own column number. Sine and cosine of a pair share one speed.", {"exponent": "j / d"}),
    Slip("exponent-from-column-doubled", f"The exponent is 2j / d_model with the column number j; j already counts "
         f"both columns of a pair. {FORMULA}",
         {"exponent": "2j / d"}),
    Slip("cosine-one-pair-further", "The sine columns are right; the cosines have the speed of the next pair. Sine "
         "and cosine of a pair share one.",
         {"exponent": "cosine one further"}),
    Slip("exponent-reaches-one", f"The speeds are spread from 1 to exactly 1/10000 (the exponent is divided by "
         f"d_model/2 − 1). {FORMULA}",
         {"exponent": "i / (d/2 - 1)"}),
    Slip("exponent-d-minus-one", f"The exponent is divided by d_model − 1 instead of d_model. {FORMULA}",
         {"exponent": "2i / (d - 1)"}),
    Slip("exponent-starts-at-one", f"The pairs are counted from 1 instead of 0, so that even the first pair is slow. "
         f"{FORMULA}",
         {"exponent": "2(i + 1) / d"}),
    Slip("exponent-odd", f"The exponent is (2i + 1) / d_model for both columns of a pair. {FORMULA}",
         {"exponent": "(2i + 1) / d"}),
    Slip("exponent-not-divided", f"The exponent is a whole number, 2i or i: it is not divided by d_model. {FORMULA}",
         {"exponent": "2i"}),
    Slip("exponent-floored", "The exponent is always 0, so that all pairs turn at the same speed: a floor division "
         "(//) where / belongs?",
         {"exponent": "none"}),
    Slip("exponent-always-one", f"The exponent is 1 for all pairs: all turn at the speed 1/10000. {FORMULA}",
         {"exponent": "one"}),
    Slip("exponent-reversed", "The pairs come in reversed order: the slowest first.", {"exponent": "reversed"}),
    Slip("exponent-squared", f"The exponent is squared. {FORMULA}", {"exponent": "2i / d squared"}),
    Slip("exponent-root-d", f"The exponent is divided by √d_model. {FORMULA}", {"exponent": "2i / sqrt d"}),
    Slip("exponent-fixed-512", f"The exponent is divided by 512, whatever d_model is. {FORMULA}",
         {"exponent": "2i / 512"}),
    _base(1000.0, "the base is 1000"), _base(100000.0, "the base is 100000"), _base(10.0, "the base is 10"),
    _base(1e6, "the base is 1000000"), _base(500000.0, "the base is 500000"), _base(2.0, "the base is 2"),
    _base(1024.0, "the base is 1024"), _base(512.0,
          "the base is 512"), _base(5000.0, "the base is 5000"), _base(20000.0, "the base is 20000"),
    Slip("speed-grows", "The speeds grow with the dimension instead of falling: the position is multiplied by "
         "10000^(2i / d_model), not divided. A minus sign is missing.", {"speed": "base ^ exponent"}),
    Slip("base-and-exponent-exchanged", "All speeds are nearly 1: base and exponent are exchanged. It is 10000 that "
         "is raised to a power.",
         {"speed": "exponent ^ 1/base"}),
    Slip("base-and-exponent-exchanged", "All speeds are nearly 1: base and exponent are exchanged. It is 10000 that "
         "is raised to a power.",
         {"speed": "(exponent + tiny) ^ 1/base"}),
    Slip("speeds-nearly-zero",
         "All angles are nearly 0, so that every row looks like row 0. Mind what is a power of what: 10000 ** 2 * i "
         "/ d squares 10000 only, and a number below 1 to the power of 10000 is 0.", {"speed": "exponent ^ base"}),
    Slip("division-after-the-power",
         "The division by d_model comes after the power instead of inside it: 10000 ** (2 * i) / d_model. Put brackets "
         "around the exponent.", {"speed": "d / base ^ 2i"}),
    Slip("division-after-the-power", "The division by d_model comes after the power: ** binds more tightly than /. "
         "Put brackets around the exponent.", {"speed": "1 / base ^ 2i / d"}),
    Slip("multiplied-not-raised", "10000 is multiplied by the exponent instead of being raised to it.",
         {"speed": "1 / (base · exponent)"}),
    Slip("multiplied-not-raised-and-not-divided", "10000 is multiplied by the exponent instead of being raised to it "
         "(and the position is not divided).", {"speed": "base · exponent"}),
    Slip("base-missing", "The speeds are e^(−2i / d_model): the 10000 (its logarithm) is missing.",
         {"speed": "e ^ -exponent"}),
    Slip("logarithm-base-10", "exp needs the natural logarithm of 10000, not the one to base 10.",
         {"speed": "log10"}),
    Slip("logarithm-base-2", "exp needs the natural logarithm of 10000, not the one to base 2.", {"speed": "log2"}),
    Slip("speed-halves", "The speed halves from pair to pair: there is no 10000 in it.", {"speed": "2 ^ -i"}),
    Slip("floor-division", "A floor division spoils the exponent: a / b // 2 means (a / b) // 2, which is rounded "
         "down to a whole number.",
         {"speed": "-log(base) / d // 2"}),
    Slip("floor-division", "A floor division spoils the exponent: −log(10000) // d_model is rounded down to a whole "
         "number.",
         {"speed": "-log(base) // d"}),
    Slip("floor-division", "A floor division spoils the exponent: it is rounded down to a whole number.",
         {"speed": "-(log(base) / d // 2)"}),
    Slip("positions-start-at-one", "Your row 0 is the encoding of position 1: positions start at 0.", {"first": 1}),
    Slip("positions-start-at-minus-one", "Your row 1 is the encoding of position 0: positions start at 0.",
         {"first": -1}),
    Slip("position-divided-by-n", "The position is divided by the number of positions: the same place gets another "
         "fingerprint in a longer sequence.", {"position": "p / n"}),
    Slip("position-between-0-and-1", "The positions are spread from 0 to 1: the same place gets another fingerprint "
         "in a longer sequence.",
         {"position": "p / (n - 1)"}),
    Slip("positions-reversed", "The rows come in reversed order.", {"position": "reversed"}),
    Slip("position-squared", "The position is squared.", {"position": "squared"}),
    Slip("position-unused", "All rows are the same: the position is not used.", {"position": "none"}),
    Slip("position-doubled", "The position is doubled.", {"position": "2p"}),
    Slip("sizes-exchanged", "n_positions and d_model are exchanged.", {"position": "sizes exchanged"}),
    Slip("in-degrees", "The angles are turned from degrees into radians; they are radians already.",
         {"unit": "degrees"}),
    Slip("times-2-pi", "The angles are multiplied by 2π.", {"unit": "2π"}),
    Slip("times-pi", "The angles are multiplied by π.", {"unit": "π"}),
    Slip("divided-by-2-pi", "The angles are divided by 2π.", {"unit": "/ 2π"}),
    Slip("cosine-first", "Sine and cosine are exchanged: even dimensions are sines, odd ones cosines. (Row 0 should "
         "be 0, 1, 0, 1, …)",
         {"layout": "cos, sin"}),
    Slip("halves-cosine-first", "All cosines come first, then all sines; sine and cosine should alternate, sine "
         "first.",
         {"layout": "halves, cosines first"}),
    Slip("halves-of-columns", "The first half of the columns is sines, the second cosines, each column with a speed "
         "of its own: sine and cosine of a pair should share one.",
         {"layout": "halves of columns", "exponent": "j / d"}),
    Slip("halves-of-columns", "The first half of the columns is sines, the second half cosines, of other speeds: "
         "each speed should come as a sine and as a cosine.", {"layout": "halves of columns"}),
    Slip("sines-only", "There are only sines: odd dimensions should be cosines.", {"layout": "all sines"}),
    Slip("sines-only", "There are only sines, each with a speed of its own: odd dimensions should be cosines.",
         {"layout": "all sines", "exponent": "j / d"}),
    Slip("cosines-only", "There are only cosines: even dimensions should be sines.", {"layout": "all cosines"}),
    Slip("no-sine-no-cosine", "The angles themselves are returned: sine and cosine are missing.",
         {"layout": "angles"}),
    Slip("alternates-by-position", "Sine and cosine alternate with the position; they should alternate with the "
         "dimension.",
         {"layout": "by position"}),
    Slip("alternates-by-position", "Sine and cosine alternate with the position; they should alternate with the "
         "dimension.",
         {"layout": "by position", "exponent": "j / d"}),
    Slip("cosines-missing", "The odd dimensions are 0: the cosines are missing.",
         {"layout": "sines only, rest zero"}),
    Slip("sine-plus-cosine", "Sine and cosine are added instead of standing side by side.", {"layout": "sin + cos"}),
    Slip("cosine-negative", "The cosines have the opposite sign.", {"layout": "sin, -cos"}),
    Slip("tangent", "The odd dimensions are tangents; they should be cosines.", {"layout": "sin, tan"}),
    Slip("half-as-wide", "Only the sines are returned: the table is half as wide as it should be.",
         {"layout": "only sines"}),
    Slip("twice-as-wide", "The table is twice as wide as it should be: d_model sines and d_model cosines instead of "
         "half of each.",
         {"layout": "twice as wide", "exponent": "j / d"}),
    Slip("pairs-not-joined", "Sine and cosine of a pair stand on an axis of their own: join it with the dimensions.",
         {"layout": "pairs kept apart"}),
    Slip("columns-reversed", "The columns come in reversed order.", {"layout": "columns reversed"}),
    Slip("axis-too-many", "The values are right, but there is a batch axis in front: return (n_positions, d_model).",
         {"after": "batch axis"}),
    Slip("axis-in-the-middle", "The values are right, but there is an axis in the middle, (n_positions, 1, d_model): "
         "added to x (B, T, d_model) it would give each sequence, not each position, a fingerprint.",
         {"after": "batch axis in the middle"}),
    Slip("transposed", "The table is transposed: one row per position is wanted.", {"after": "transposed"}),
    Slip("times-sqrt-d_model", "The table is multiplied by √d_model; that belongs to the token embedding.",
         {"after": "times √d"}),
    Slip("divided-by-sqrt-d_model", "The table is divided by √d_model.", {"after": "/ √d"}),
    Slip("halved", "The table is halved.", {"after": "halved"}),
    Slip("between-0-and-1", "The values are moved into 0 to 1.", {"after": "between 0 and 1"}),
    Slip("normed", "The rows are scaled to length 1.", {"after": "normed"}),
    Slip("whole-numbers", "The values are cut to whole numbers: the table has an integer dtype?",
         {"after": "whole numbers"}),
    Slip("first-row-zero", "Row 0 is all zeros; it should be 0, 1, 0, 1, …: the cosine of 0 is 1.",
         {"after": "first row zero"}),
    Slip("row-missing", "One row is missing at the end.", {"after": "row missing"}),
)  # fmt: skip


def speeds_measured(seen):
    """Reads the speed of each column off the table."""
    table = seen.ask(4, 8)
    right = reference(4, 8)
    if not isinstance(table, torch.Tensor) or table.shape != right.shape or not table.is_floating_point():
        return None
    wrong = [j for j in range(8) if not torch.allclose(table[:, j].double(), right[:, j].double(), atol=2e-4)]
    if not wrong or len(wrong) == 8:
        return None
    kinds = "even" if all(j % 2 == 0 for j in wrong) else "odd" if all(j % 2 for j in wrong) else ""
    if kinds:
        says = f"Only the {kinds} dimensions are wrong, which should be the {'sines' if kinds == 'even' else 'cosines'}."
        return Finding("one-half-wrong", says, "Look at how these columns are computed and where they are put.")
    if wrong[0] >= 2:
        says = f"The first pair is right; from dimension {wrong[0]} on the speed is wrong."
        return Finding("speeds-wrong", says, "Look at the exponent, and at the base.")
    return None


def speeds_grow(seen):
    """Read from the first steps only: large angles differ from machine to machine in float32."""
    return _in_a_small_table(seen, 8, "base ^ exponent", 0.02)


def brackets_missing(seen):
    """Read from a narrow table only: in a wider one, powers of whole numbers overflow."""
    return _in_a_small_table(seen, 4, "1 / base ^ 2i / d", 1e-4)


def _in_a_small_table(seen, d_model, speed, tolerance):
    """The slip with these speeds, if three positions look like it."""
    table, slipped = seen.ask(3, d_model), stages(3, d_model, speed=speed)
    if isinstance(table, torch.Tensor) and table.shape == slipped.shape and (table - slipped).abs().max() < tolerance:
        slip = next(s for s in SLIPS if s.knobs.get("speed") == speed)
        return Finding(slip.slug, slip.says, f"Look at {EXERCISE.look['speed']}.")
    return None


def rows_shifted(seen):
    """Row 0 must be 0, 1, 0, 1, …"""
    table = seen.ask(3, 4)
    if isinstance(table, torch.Tensor) and table.shape == (3, 4) and not torch.allclose(table[0].double(), torch.tensor([0.0, 1, 0, 1]).double()):
        numbers = ", ".join(f"{x:.2g}" for x in table[0].tolist())
        return Finding("row-0-wrong",
                       f"Row 0 should be 0, 1, 0, 1; yours is {numbers}.",
                       "Position 0 has the angle 0 in every column.")
    return None


def odd_width(seen):
    """Remark: sines and cosines come in pairs, so the library refuses an odd d_model by a ValueError."""
    raised = seen.runner.call((3, 5)).raised
    if raised and raised.kind == "ValueError":
        return None
    does = f"it stops with {raised.kind}" if raised else "it returns a table all the same"
    return f"With an odd d_model {does}; the library raises a ValueError, since sines and cosines come in pairs."


EXERCISE = Exercise(
    name="sinusoidal_pe",
    reference=reference,
    parameters=("n_positions", "d_model"),
    parts=("table",),
    probes=PROBES,
    examples=(Example("Three positions, d_model = 4:", (3, 4)),
              Example("Three positions, d_model = 6:", (3, 6))),
    hints=(
        "A clock with several hands: each pair of dimensions is one hand, and each hand turns at its own speed.",
        "Positions down (n, 1), speeds across (1, d_model / 2): their product is the angle. The speed of pair i is "
        "10000^(−2i / d_model). Sines go into the even columns, cosines of the same angles into the odd ones.",
        "torch.arange(0, d_model, 2) is 2i already; pe[:, 0::2] = torch.sin(angle), and pe[:, 1::2] likewise.",
    ),
    variant=stages,
    slips=SLIPS,
    conventions=(
        Convention("All sines come first here, then all cosines: a layout that some libraries use. The paper, and "
                   "this course, interleave them.",
                   {"layout": "halves"}),
    ),
    measures=(speeds_grow, brackets_missing, rows_shifted, speeds_measured),
    remarks=(odd_width,),
    look={
        "first": "where the positions start",
            "exponent": "the exponent of 10000", "base": "the number that is raised to a power",
        "speed": "the line that computes the speeds",
            "unit": "what the angles are multiplied by", "layout": "which columns are sines and which cosines",
        "after": "what is done to the finished table", "position": "the positions",
    },
    chance="This table is computed, not learned or drawn.",
)  # fmt: skip
