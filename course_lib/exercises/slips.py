"""Which known slip, or which two, does a wrong answer look like?"""

import functools
import itertools
import math
from dataclasses import dataclass

import torch

from course_lib.exercises import crashes
from course_lib.exercises.compare import LOOSE, distance, is_finite
from course_lib.exercises.evidence import fresh

MOST_PAIRS = 1500  # tried at most: 0.2 s
HUGE = 1e4  # stands where an infinity does, as in a score of -1e9
MOST_PAIRS = 1500  # tried at most: 0.3 s


@dataclass(frozen=True)
class Crash:
    """The answer of a variant that raises: which kind of error (see crashes.py)."""

    slug: str


def answer(exercise, knobs, args):
    """What a slip's variant answers; a Crash if it raises."""
    try:
        return exercise.variant(*fresh(args), **knobs)
    except Exception as error:  # many slips are wrong in that they crash, each in a way of its own
        return Crash(crashes.kind(type(error).__name__, str(error)))


@functools.cache
def _known_answer(exercise_name, knobs, probe_number):
    from course_lib.exercises.registry import find  # here, since the registry imports every exercise

    exercise = find(exercise_name)
    return answer(exercise, dict(knobs), exercise.probes[probe_number].args)


def known_answer(exercise, knobs, i):
    """`answer` on probe i, computed once."""
    return _known_answer(exercise.name, tuple(sorted(knobs.items())), i)


def matches(seen, knobs, reply, numbers, crashes_count=True):
    """Does reply(exercise, knobs, i) look like the candidate on all these probes, and explain one that is wrong?

    With crashes_count=False, probes on which either of the two crashes are left out. Crashes alone are an explanation
    only if they are of the same kind.
    """
    explained = False
    for i in sorted(numbers, key=lambda i: i not in seen.wrong):  # wrong ones first: most slips fall at once
        if not seen.probes[i].tells_slips:
            continue
        theirs, slip = seen.outcomes[i], reply(seen.exercise, knobs, i)
        if isinstance(slip, Crash) or theirs.raised:
            both = isinstance(slip, Crash) and theirs.raised is not None
            if crashes_count and not both:
                return False
            explained |= both and crashes_count and i in seen.wrong and slip.slug == crashes.meaning(theirs.raised)[0]
        elif not _alike(seen, i, slip):
            return False
        else:
            explained |= i in seen.wrong
    return explained


def _alike(seen, i, slip):
    """Neither crashed on probe i: do the answers look the same?"""
    rule, output = seen.probes[i].rule, seen.outcomes[i].output
    if rule == "raises":
        return True
    if rule == "finite":
        return is_finite(slip) == is_finite(output)
    return looks_like(output, slip, seen.wants[i], i in seen.wrong)


def looks_like(output, slip, want, is_wrong):
    """Close to the slip; and where the answer is wrong, clearly closer to the slip than to the right one."""
    gap = finite_distance(output, slip)
    return gap <= LOOSE and (not is_wrong or gap <= 0.2 * distance(output, want))


def finite_distance(output, slip):
    """`distance` on the elements where the slip is finite; elsewhere the answer must be infinite or NaN, or huge."""
    if isinstance(slip, tuple | list):
        if not isinstance(output, tuple | list) or len(output) != len(slip):
            return math.inf
        return max((finite_distance(o, s) for o, s in zip(output, slip, strict=True)), default=0.0)
    if not isinstance(slip, torch.Tensor) or not slip.is_floating_point() or is_finite(slip):
        return distance(output, slip)
    if not isinstance(output, torch.Tensor) or output.shape != slip.shape or not output.is_floating_point():
        return math.inf
    finite = torch.isfinite(slip)
    other_sign = slip.isinf() & (output.sign() != slip.sign()) & ~output.isnan()
    if (output[~finite].abs() < HUGE).any() or other_sign.any():
        return math.inf
    return distance(output[finite], slip[finite])


def one_slip(seen, crashes_count=True, numbers=None):
    """The known slip that looks like the candidate on every probe (or on those of `numbers`), or None."""
    numbers = range(len(seen.outcomes)) if numbers is None else numbers
    for usage in ({}, *(c.knobs for c in seen.exercise.conventions)):  # a slip may come with any accepted convention
        found = [s for s in seen.exercise.slips
                 if not usage.keys() & s.knobs.keys() and matches(seen, usage | s.knobs, known_answer, numbers, crashes_count)]  # fmt: skip
        if found:
            return _separated(seen, found)
    return None


def _separated(seen, found):
    """The slip among several that also looks like the candidate on probes made to tell them apart; else the first."""
    if len({s.slug for s in found}) == 1:
        return found[0]
    for probe in seen.exercise.separators:
        output = seen.ask(*fresh(probe.args))
        answers = [answer(seen.exercise, s.knobs, probe.args) for s in found]
        alike = [s for s, a in zip(found, answers, strict=True) if _same_reply(output, a)]
        found = alike or found
    return found[0]


def _same_reply(output, reply):
    if isinstance(reply, Crash) or output is None:
        return isinstance(reply, Crash) and output is None
    return finite_distance(output, reply) <= LOOSE


def second_slip(seen, first):
    """The known slip that, together with `first`, looks like the candidate on every probe, or None."""
    return next((s for s in seen.exercise.slips if _fit(seen, first, s)), None)


def two_slips(seen):
    """Two known slips which together look like the candidate on every probe, or None. Simple and common ones come first."""
    slips = seen.exercise.slips

    def rank(pair):
        return sum(len(slips[i].knobs) for i in pair), sum(pair)

    crashing = [_crashes(seen, slip) for slip in slips]
    theirs = set(seen.crashed)
    pairs = [(i, j) for i, j in itertools.combinations(range(len(slips)), 2) if crashing[i] | crashing[j] == theirs]
    if seen.pairs:  # two slips together give the shape that one of them gives
        probe, output, _ = seen.pairs[0]
        i = next(i for i in seen.wrong if seen.probes[i] is probe)
        alike = [_shape(known_answer(seen.exercise, slip.knobs, i)) == _shape(output) for slip in slips]
        pairs = [(i, j) for i, j in pairs if alike[i] or alike[j]]
    pairs = sorted(pairs, key=rank)[:MOST_PAIRS]
    return next(((slips[i], slips[j]) for i, j in pairs if _fit(seen, slips[i], slips[j])), None)


def _crashes(seen, slip):
    """The probes of valid input on which the slip raises."""
    return {i for i in seen.valid if isinstance(known_answer(seen.exercise, slip.knobs, i), Crash)}


def _shape(value):
    """Shapes of a tensor or a pair; the type of anything else."""
    if isinstance(value, tuple | list):
        return tuple(_shape(v) for v in value)
    return value.shape if isinstance(value, torch.Tensor) else type(value)


def _fit(seen, first, second):
    if first.knobs.keys() & second.knobs.keys():
        return False
    return matches(seen, first.knobs | second.knobs, _new_answer, range(len(seen.outcomes)))


def _new_answer(exercise, knobs, i):
    return answer(exercise, knobs, exercise.probes[i].args)


def mostly(seen):
    """The known slip that explains most of the wrong answers by value (more than half of them), or None."""
    best, most = None, 0.5 * len(seen.pairs)
    values = [i for i in seen.wrong if seen.probes[i].rule == "values" and not seen.outcomes[i].raised]
    for slip in seen.exercise.slips:
        count = sum(_explains(seen, slip, i) for i in values)
        if count > most:
            best, most = slip, count
    return best


def _explains(seen, slip, i):
    reply = known_answer(seen.exercise, slip.knobs, i)
    return not isinstance(reply, Crash) and looks_like(seen.outcomes[i].output, reply, seen.wants[i], True)
