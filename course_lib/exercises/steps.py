"""The steps of judging: each takes an Evidence and returns a Verdict, or None if it has nothing to say.

They are tried in the order of STEPS; the first that speaks counts.
"""

import torch

from course_lib.exercises import crashes, measure, slips
from course_lib.exercises.compare import agrees, can_be_compared, distance, same_input
from course_lib.exercises.evidence import fresh
from course_lib.exercises.stub import words_in
from course_lib.exercises.verdict import Verdict
from course_lib.exercises.wording import change, crash_note, facts_in_words, look


def took_too_long(seen):
    """Stopped by the watchdog."""
    outcome = seen.outcomes[-1]
    if outcome.raised and outcome.raised.timed_out:
        after = f" after {outcome.seconds:.0f} seconds" if outcome.seconds else ""  # marking does not look at the clock
        says = f"Stopped{after}: a loop that does not end? A call takes milliseconds."
        last = seen.probes[len(seen.outcomes) - 1]
        return Verdict("timeout", "takes-too-long", says, facts_in_words(last.facts[-1:]), show=False)
    return None


def returned_nothing(seen):
    """None where a value is wanted."""
    answers = [seen.outcomes[i].output for i in seen.valid if not seen.outcomes[i].raised]
    if not answers or not any(a is None for a in answers):
        return None
    says = "The function computes something, but returns None."
    if not all(a is None for a in answers):
        first = next(i for i in seen.valid if not seen.outcomes[i].raised and seen.outcomes[i].output is None)
        says = f"The function returns None when {' and '.join(seen.probes[first].facts)}."
    return Verdict("failed", "returns-none", says, "Does every path through it end in `return`?", show=False)


def changed_its_input(seen):
    """An argument was written to."""
    for probe, outcome in zip(seen.probes, seen.outcomes, strict=True):
        for name, before, after in zip(seen.exercise.parameters, probe.args, outcome.inputs_after, strict=False):
            if not same_input(before, after):
                return Verdict("failed", "changes-its-input", change(seen, name, before, after), show=False)
    return None


def left_to_chance(seen):
    """Two equal calls gave two answers."""
    for probe, one, two in zip(seen.probes, seen.outcomes, seen.again, strict=True):
        if one.raised or two.raised or not can_be_compared(one.output) or agrees(two.output, one.output, 1e-6):
            continue
        return _chance_or_memory(seen, probe)
    return None


def breaks_the_contract(seen):
    """What counts before any value: the dtype of ids, for instance."""
    finding = measure.first(seen, seen.exercise.contract)
    return finding and Verdict("failed", finding.slug, finding.says, finding.look, show=False)


def right(seen):
    """Every probe is answered as it should be."""
    if seen.wrong:
        return None
    return _passed(seen)


def _passed(seen, *known):
    remarks = [*known, *(remark(seen) for remark in (*measure.REMARKS, *seen.exercise.remarks))]
    return Verdict("passed", None, "Right, on every probe.", remark=" ".join(r for r in remarks if r) or None)


def another_convention(seen):
    """Right, in a way that differs from the library's."""
    for convention in seen.exercise.conventions:
        if all(_follows(seen, convention, i) for i in range(len(seen.probes))):
            return _passed(seen, convention.remark)
    return None


def _follows(seen, convention, i):
    answer = slips.known_answer(seen.exercise, convention.knobs, i)
    return not seen.outcomes[i].raised and not isinstance(answer, slips.Crash) and agrees(seen.outcomes[i].output, answer)


def known_slip(seen):
    """One known mistake explains everything."""
    slip = slips.one_slip(seen)
    return slip and _slip_verdict(seen, slip)


def known_slip_in_the_basic_case(seen):
    """A slip that explains the basic probes; what goes wrong on the others comes second."""
    numbers = [i for i, probe in enumerate(seen.probes) if seen.exercise.basic in probe.facts]
    slip = slips.one_slip(seen, numbers=numbers) if seen.exercise.basic else None
    if slip is None:
        return None
    second = slips.second_slip(seen, slip)
    more = f"And a second thing: {second.says}" if second else f"And something else is wrong where not {seen.exercise.basic}."
    return _slip_verdict(seen, slip, f"\n{more.replace('where not no mask', 'where a mask')}")


def crashed_always(seen):
    """With no answer at all to compare, only the error itself says anything."""
    if len(seen.crashed) < len(seen.valid):
        return None
    slug, says = crashes.meaning(seen.outcomes[seen.crashed[0]].raised)
    special = measure.first(seen, seen.exercise.crash_measures)
    if special:
        slug, says = special.slug, special.says
    lines = (says, crashes.place(seen.outcomes[seen.crashed[0]].raised))
    return Verdict("error", slug, "\n".join(line for line in lines if line), show=False)


def known_slip_but_for_crashes(seen):
    """One known mistake explains all answers; the errors are something else."""
    slip = slips.one_slip(seen, crashes_count=False) if seen.pairs else None
    if slip is None:
        return None
    crash = crash_note(seen)
    return _slip_verdict(seen, slip, f"\nBesides: {crash}" if crash else "")


def wrong_kind_of_answer(seen):
    """A list for a tensor, one value for two, and the like."""
    finding = measure.wrong_kind(seen)
    return finding and Verdict(_status(seen), finding.slug, finding.says, finding.look)


def two_known_slips(seen):
    """Two known mistakes at once explain everything."""
    pair = slips.two_slips(seen) if seen.exercise.in_pairs else None
    if pair is None:
        return None
    first, second = pair
    says = f"This looks like two things at once. One: {first.says} The other: {second.says}"
    return Verdict(_status(seen), f"{first.slug}+{second.slug}", says, look(seen, first.knobs | second.knobs))


def measured(seen):
    """What can be measured: which axis, which factor, which input has no influence."""
    finding = measure.first(seen, (measure.low_precision, *seen.exercise.measures, *measure.GENERAL))
    return finding and Verdict(_status(seen), finding.slug, finding.says, finding.look)


def crashed_sometimes(seen):
    """All answers are right, but for some inputs there is none."""
    if not seen.crashed or seen.pairs:
        return None
    slug, _ = crashes.meaning(seen.outcomes[seen.crashed[0]].raised)
    return Verdict("failed", slug, crash_note(seen), show=False)


def mostly_a_slip(seen):
    """A known mistake explains more than half of the wrong answers."""
    slip = slips.mostly(seen)
    if slip is None:
        return None
    says = f"Most of the wrong answers look like this: {slip.says} But something else is different as well."
    return Verdict(_status(seen), slip.slug, says, look(seen, slip.knobs))


def wrong_when(seen):
    """The facts that hold for every wrong answer and for no right one."""
    wrong, fine = set(seen.wrong), set(range(len(seen.probes))) - set(seen.wrong)
    facts = [f for f in seen.probes[seen.wrong[0]].facts
             if all(f in seen.probes[i].facts for i in wrong) and not any(f in seen.probes[i].facts for i in fine)]  # fmt: skip
    if not facts:
        return None
    return Verdict(_status(seen), "wrong-when",
                   f"Wrong whenever {facts[0]}, and right otherwise.", "What does your code do then?")


def different(seen):
    """Nothing is recognised: say so, with a number."""
    if not seen.pairs:
        return Verdict("failed", "breaks-the-contract", "The function does not keep to what its docstring promises.")
    probe, got, want = seen.pairs[0]
    share = f"{len(seen.pairs)} of {len(seen.valid)} probes"
    says = f"The values differ on {share}, the largest by {distance(got, want):.2g}. I do not recognise the mistake."
    return Verdict(_status(seen), "different-values", says, facts_in_words(probe.facts))


def _status(seen):
    return "error" if len(seen.crashed) == len(seen.valid) else "failed"


def _slip_verdict(seen, slip, more=""):
    says = slip.says(seen) if callable(slip.says) else slip.says
    return Verdict(_status(seen), slip.slug, says + more, look(seen, slip.knobs))


def _chance_or_memory(seen, probe):
    """Two equal calls gave two answers: because of random numbers, or of something kept from call to call?"""
    answers = []
    for _ in range(2):
        torch.manual_seed(0)
        answers.append(seen.ask(*fresh(probe.args)))
    if not agrees(answers[0], answers[1], 1e-6):
        says = "Two equal calls give two answers: the function remembers something from call to call, or uses random numbers."
        look = "A function must depend on its arguments only."
        return Verdict("failed", "remembers-earlier-calls", says, look, show=False)
    words = words_in(seen.runner.candidate)
    culprit = next((w for w in ("dropout", "Dropout", "multinomial", "bernoulli", "rand", "randn") if w in words), None)
    named = f" (`{culprit}`)" if culprit else " (dropout, sampling, random initial values)"
    says = f"Two equal calls give two answers: something random is at work{named}. {seen.exercise.chance}"
    return Verdict("failed", "left-to-chance", says.strip(), show=False)


STEPS = (
    took_too_long, returned_nothing, changed_its_input, left_to_chance,
    breaks_the_contract, right, another_convention, crashed_always,
    known_slip, known_slip_in_the_basic_case, known_slip_but_for_crashes, crashed_sometimes,
    wrong_kind_of_answer, two_known_slips, measured,
    mostly_a_slip, wrong_when, different,
)  # fmt: skip
