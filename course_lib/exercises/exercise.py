"""What an exercise is made of. Each exercise fills these in, in one file that bears its name.

    reference   the library's own function: it decides what is right
    probes      arguments to try; each isolates one thing that can go wrong
    variant     the same computation in open stages, with one keyword *knob* for each decision on the way
    slips       known mistakes: a slug, a sentence, and the knobs that produce the mistake
    measures    what to look at when no slip fits: functions of an `evidence.Evidence` that return a Finding or None
"""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Probe:
    """One set of arguments. `facts` say in words what is special about it ("a mask is given")."""

    args: tuple
    facts: tuple = ()
    rule: str = "values"  # "values": as the reference; "finite": no NaN, no inf; "raises": must refuse
    tells_slips: bool = True  # False where rounding hides which slip it is


@dataclass(frozen=True)
class Slip:
    """A known mistake: `variant(*args, **knobs)` makes it. `says` names it in one sentence, without the solution."""

    slug: str
    says: str
    knobs: dict


@dataclass(frozen=True)
class Convention:
    """A way to answer that differs from the library's and is right all the same: it passes, with a remark."""

    remark: str
    knobs: dict


@dataclass(frozen=True)
class Finding:
    """What a measurement found: a slug, what is wrong, and where to look."""

    slug: str
    says: str
    look: str = ""


@dataclass(frozen=True)
class Example:
    """Tiny arguments on which a wrong answer is shown beside the right one. `caption` says what they are."""

    caption: str
    args: tuple


@dataclass(frozen=True)
class Exercise:
    """See the head of this file. `parts` names what the reference returns, one name for each value."""

    name: str
    reference: Callable
    hints: tuple  # three, from vague to nearly the line
    parameters: tuple = ()  # names of the arguments, for messages
    parts: tuple = ()
    probes: tuple = ()
    examples: tuple = ()
    variant: Callable | None = None
    slips: tuple = ()
    separators: tuple = ()  # more probes, asked only where several slips look like the candidate on all others
    conventions: tuple = ()
    measures: tuple = ()
    normal_form: Callable | None = None  # applied to an output before it is compared: a tensor of ids becomes a list
    last_is_optional: bool = False  # a candidate that does not take the last argument is not asked with it
    contract: tuple = ()  # the same, but asked before the values are compared: dtype of ids and the like
    crash_measures: tuple = ()  # the same, for a candidate that raises on every probe
    remarks: tuple = ()  # functions of an Evidence that return a sentence or None, for an answer that passed
    in_pairs: bool = True  # whether two slips at once are looked for
    basic: str = ""  # a fact: where the probes that have it go wrong, they are explained first, by themselves
    chance: str = "This function has no use for chance."
    look: dict = field(default_factory=dict)  # knob -> where to look
    reveals: tuple = ()  # functions of the library that the reference calls: `reveal` shows them below it
    judge: Callable | None = None  # bug hunts judge in their own way: (exercise, candidate, make_runner) -> verdict
