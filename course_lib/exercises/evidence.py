"""All that was seen of one candidate: what it was asked, what it answered, and what would have been right."""

import inspect
from dataclasses import dataclass, field, replace
from functools import cached_property

from course_lib.exercises.compare import STRICT, agrees, distance, is_finite


@dataclass
class Evidence:
    """outcomes[i] and again[i] are two runs of probe i; wants[i] is the reference's answer (None for "raises")."""

    exercise: object
    runner: object
    probes: tuple
    outcomes: list
    again: list
    wants: list
    troubles: list = field(default_factory=list)  # what went wrong in the checker itself

    def call(self, args):
        """One call through the runner; its output in the exercise's normal form."""
        outcome = self.runner.call(args)
        tidy = self.exercise.normal_form
        return outcome if tidy is None or outcome.raised else replace(outcome, output=tidy(outcome.output))

    def is_right(self, i):
        """Whether probe i was answered as its rule asks."""
        rule, outcome = self.probes[i].rule, self.outcomes[i]
        if rule == "raises":
            return outcome.raised is not None
        if outcome.raised:
            return False
        if rule == "finite":
            return is_finite(outcome.output)
        gap = distance(outcome.output, self.wants[i])
        return gap <= STRICT or (gap < 0.05 and self._right_in_float64(i))

    def _right_in_float64(self, i):
        """Float32 rounding is no mistake: what is right to nine digits in float64 is right."""
        args = in_float64(self.probes[i].args)
        outcome = self.call(args)
        return args != () and not outcome.raised and agrees(outcome.output, self.exercise.reference(*args), 1e-9)

    @cached_property
    def wrong(self):
        """Numbers of the probes that were not answered as they should be."""
        return [i for i in range(len(self.outcomes)) if not self.is_right(i)]

    @cached_property
    def crashed(self):
        """Numbers of the probes of valid input on which an exception came out."""
        return [i for i in self.valid if self.outcomes[i].raised]

    @cached_property
    def valid(self):
        """Numbers of the probes that must be answered."""
        return [i for i, probe in enumerate(self.probes) if probe.rule != "raises"]

    @cached_property
    def pairs(self):
        """(probe, output, right output) of every wrong answer by value: what measurements look at."""
        return [
            (self.probes[i], self.outcomes[i].output, self.wants[i])
            for i in self.wrong
            if self.probes[i].rule == "values" and not self.outcomes[i].raised
        ]

    def ask(self, *args):
        """One more question; None if it raises."""
        outcome = self.call(args)
        return None if outcome.raised else outcome.output


def gather(exercise, runner):
    """Run every probe twice; stop at the first that takes too long."""
    seen = Evidence(exercise, runner, _askable(exercise, runner.candidate), [], [], [])
    for probe in seen.probes:
        outcome = seen.call(probe.args)
        seen.outcomes.append(outcome)
        seen.wants.append(None if probe.rule == "raises" else exercise.reference(*fresh(probe.args)))
        if outcome.raised and outcome.raised.timed_out:
            return seen
    seen.again.extend(seen.call(probe.args) for probe in seen.probes)
    return seen


def _askable(exercise, candidate):
    """The probes, without those that hand over an optional last argument which the candidate does not take."""
    if not exercise.last_is_optional:
        return exercise.probes
    try:
        signature = inspect.signature(candidate)
        signature.bind(*exercise.parameters)
    except (TypeError, ValueError):  # no such parameter (or a callable that cannot be asked for its parameters)
        return tuple(p for p in exercise.probes if len(p.args) < len(exercise.parameters))
    return exercise.probes


def fresh(args):
    """The arguments, with a fresh copy of those that remember what was done to them."""
    return tuple(a.fresh() if hasattr(a, "fresh") else a for a in args)


def in_float64(args):
    """The arguments with float32 tensors in float64; the empty tuple if there is none."""
    wide = tuple(a.double() if hasattr(a, "is_floating_point") and a.is_floating_point() else a for a in args)
    return wide if any(w is not a for w, a in zip(wide, args, strict=True)) else ()
