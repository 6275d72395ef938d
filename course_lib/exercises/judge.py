"""`check`: from a learner's function to a verdict. The steps are tried in the order of STEPS; the first that speaks counts."""

import time
from dataclasses import dataclass, replace

import torch

from course_lib import progress
from course_lib.exercises import crashes, measure, slips
from course_lib.exercises.compare import agrees, can_be_compared, distance, same_input
from course_lib.exercises.evidence import fresh, gather
from course_lib.exercises.registry import find
from course_lib.exercises.result import CheckResult
from course_lib.exercises.runner import InProcess, surroundings_kept
from course_lib.exercises.show import table_for
from course_lib.exercises.stub import not_started, words_in


@dataclass(frozen=True)
class Verdict:
    """A status, the slug of the mistake, what is wrong, where to look, and whether a small example helps."""

    status: str
    mistake: str | None = None
    says: str = ""
    look: str = ""
    remark: str | None = None
    show: bool = True


def check(name, candidate):
    """Judge a learner's answer to exercise `name` and say what is wrong with it. Prints nothing.

    Returns a CheckResult. Raises ValueError for an unknown name, and nothing for whatever the candidate does.
    """
    result = examine(name, candidate)
    progress.record("exercise", name, status=result.status, mistake=result.mistake)
    return result


def examine(name, candidate):
    """`check`, without keeping a record of it."""
    exercise = find(name)
    started = time.perf_counter()
    with surroundings_kept():
        verdict, table = judge(exercise, candidate, InProcess)
    message = "\n".join(str(p) for p in (verdict.says, table, verdict.look, verdict.remark) if p)
    seconds = time.perf_counter() - started
    return CheckResult(verdict.status, verdict.mistake, message, verdict.remark, seconds, name, table)


def judge(exercise, candidate, make_runner):
    """(Verdict, Table or None). make_runner(candidate) gives the runner through which the candidate is reached."""
    if not callable(candidate):
        return Verdict("error", "not-a-function", f"check needs the function itself; it got {_kind(candidate)}."), None
    if not_started(candidate):
        return Verdict("not_started", None, "Nothing to check yet: write the body, then run this cell again."), None
    if exercise.judge is not None:
        return exercise.judge(exercise, candidate, make_runner)
    seen = gather(exercise, make_runner(candidate))
    verdict = next(v for v in (_take(step, seen) for step in STEPS) if v is not None)
    if seen.troubles:
        verdict = replace(verdict, look=f"{verdict.look}\n(The checker itself stumbled, please report it: "
                          f"{seen.troubles[0]})".strip())
    wanted = verdict.status in ("failed", "error") and verdict.show
    return verdict, _take(table_for, seen) if wanted else None


def _take(step, seen):
    """One step. Whatever odd thing a candidate returns, a step that cannot deal with it must not end the check."""
    try:
        return step(seen)
    except Exception as error:
        seen.troubles.append(f"{step.__name__}: {type(error).__name__}: {error}")
        return None


# ---- the steps: Evidence -> Verdict or None ------------------------------------------------------------


def took_too_long(seen):
    outcome = seen.outcomes[-1]
    if outcome.raised and outcome.raised.timed_out:
        says = f"Stopped after {outcome.seconds:.0f} seconds: a loop that does not end? A call takes milliseconds."
        return Verdict("timeout",
                       "takes-too-long", says, _facts(seen.probes[len(seen.outcomes) - 1].facts[-1:]), show=False)
    return None


def returned_nothing(seen):
    answers = [seen.outcomes[i].output for i in seen.valid if not seen.outcomes[i].raised]
    if not answers or not any(a is None for a in answers):
        return None
    says = "The function computes something, but returns None."
    if not all(a is None for a in answers):
        first = next(i for i in seen.valid if not seen.outcomes[i].raised and seen.outcomes[i].output is None)
        says = f"The function returns None when {' and '.join(seen.probes[first].facts)}."
    return Verdict("failed", "returns-none", says, "Does every path through it end in `return`?", show=False)


def changed_its_input(seen):
    for probe, outcome in zip(seen.probes, seen.outcomes, strict=True):
        for name, before, after in zip(seen.exercise.parameters, probe.args, outcome.inputs_after, strict=False):
            if not same_input(before, after):
                return Verdict("failed", "changes-its-input", _change(seen, name, before, after), show=False)
    return None


def left_to_chance(seen):
    for probe, one, two in zip(seen.probes, seen.outcomes, seen.again, strict=True):
        if one.raised or two.raised or not can_be_compared(one.output) or agrees(two.output, one.output, 1e-6):
            continue
        return _chance_or_memory(seen, probe)
    return None


def breaks_the_contract(seen):
    finding = measure.first(seen, seen.exercise.contract)
    return finding and Verdict("failed", finding.slug, finding.says, finding.look, show=False)


def right(seen):
    if seen.wrong:
        return None
    return _passed(seen)


def _passed(seen, *known):
    remarks = [*known, *(remark(seen) for remark in (*measure.REMARKS, *seen.exercise.remarks))]
    return Verdict("passed", None, "Right, on every probe.", remark=" ".join(r for r in remarks if r) or None)


def another_convention(seen):
    for convention in seen.exercise.conventions:
        if all(_follows(seen, convention, i) for i in range(len(seen.probes))):
            return _passed(seen, convention.remark)
    return None


def _follows(seen, convention, i):
    answer = slips.known_answer(seen.exercise, convention.knobs, i)
    return not seen.outcomes[i].raised and not isinstance(answer, slips.Crash) and agrees(seen.outcomes[i].output, answer)


def known_slip(seen):
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
    slip = slips.one_slip(seen, crashes_count=False) if seen.pairs else None
    if slip is None:
        return None
    crash = _crash_note(seen)
    return _slip_verdict(seen, slip, f"\nBesides: {crash}" if crash else "")


def wrong_kind_of_answer(seen):
    finding = measure.wrong_kind(seen)
    return finding and Verdict(_status(seen), finding.slug, finding.says, finding.look)


def two_known_slips(seen):
    pair = slips.two_slips(seen) if seen.exercise.in_pairs else None
    if pair is None:
        return None
    first, second = pair
    says = f"This looks like two things at once. One: {first.says} The other: {second.says}"
    return Verdict(_status(seen), f"{first.slug}+{second.slug}", says, _look(seen, first.knobs | second.knobs))


def measured(seen):
    finding = measure.first(seen, (measure.low_precision, *seen.exercise.measures, *measure.GENERAL))
    return finding and Verdict(_status(seen), finding.slug, finding.says, finding.look)


def crashed_sometimes(seen):
    if not seen.crashed or seen.pairs:
        return None
    slug, _ = crashes.meaning(seen.outcomes[seen.crashed[0]].raised)
    return Verdict("failed", slug, _crash_note(seen), show=False)


def mostly_a_slip(seen):
    slip = slips.mostly(seen)
    if slip is None:
        return None
    says = f"Most of the wrong answers look like this: {slip.says} But something else is different as well."
    return Verdict(_status(seen), slip.slug, says, _look(seen, slip.knobs))


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
    if not seen.pairs:
        return Verdict("failed", "breaks-the-contract", "The function does not keep to what its docstring promises.")
    probe, got, want = seen.pairs[0]
    share = f"{len(seen.pairs)} of {len(seen.valid)} probes"
    says = f"The values differ on {share}, the largest by {distance(got, want):.2g}. I do not recognise the mistake."
    return Verdict(_status(seen), "different-values", says, _facts(probe.facts))


STEPS = (
    took_too_long, returned_nothing, changed_its_input, left_to_chance,
    breaks_the_contract, right, another_convention, crashed_always,
    known_slip, known_slip_in_the_basic_case, known_slip_but_for_crashes, crashed_sometimes,
    wrong_kind_of_answer, two_known_slips, measured,
    mostly_a_slip, wrong_when, different,
)  # fmt: skip


# ---- words ------------------------------------------------------------


def _kind(value):
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _status(seen):
    return "error" if len(seen.crashed) == len(seen.valid) else "failed"


def _slip_verdict(seen, slip, more=""):
    says = slip.says(seen) if callable(slip.says) else slip.says
    return Verdict(_status(seen), slip.slug, says + more, _look(seen, slip.knobs))


def _look(seen, knobs):
    """Where to look, from the stages of the computation that the slip turns."""
    places = [seen.exercise.look[k] for k in knobs if k in seen.exercise.look]
    return "Look at " + ", and at ".join(dict.fromkeys(places)) + "." if places else ""


def _facts(facts):
    return f"Seen when {' and '.join(facts)}." if facts else ""


def _crash_note(seen):
    """What goes wrong on the probes that crash, and what they have in common."""
    if not seen.crashed:
        return ""
    raised = seen.outcomes[seen.crashed[0]].raised
    _, says = crashes.meaning(raised)
    fine = [i for i in seen.valid if i not in seen.crashed]
    common = [f for f in seen.probes[seen.crashed[0]].facts
              if all(f in seen.probes[i].facts for i in seen.crashed) and not any(f in seen.probes[i].facts for i in fine)]  # fmt: skip
    facts = common[:1] or seen.probes[seen.crashed[0]].facts
    when = f"when {' and '.join(facts)}" if facts else "for some valid inputs"
    return f"It stops with an error {when}. {says}\n{crashes.place(raised)}"


def _change(seen, name, before, after):
    """Which argument was changed, and how, where that is easy to see."""
    how = "has other values after the call"
    if isinstance(before, torch.Tensor) and isinstance(after, torch.Tensor) and before.shape == after.shape:
        if before.dtype == torch.bool and torch.equal(after, ~before):
            how = "is inverted after the call (a method whose name ends in `_` works in place)"
    right = all(seen.is_right(i) for i in seen.valid)
    what = "The returned value is right, but y" if right else "Y"
    return (
        f"{what}our function changes the caller's `{name}` in place: it {how}. Whoever uses `{name}` next gets the "
        f"changed one. Make a new tensor, or copy first."
    )


def _chance_or_memory(seen, probe):
    """Two equal calls gave two answers: because of random numbers, or of something kept from call to call?"""
    answers = []
    for _ in range(2):
        torch.manual_seed(0)
        answers.append(seen.ask(*fresh(probe.args)))
    if not agrees(answers[0], answers[1], 1e-6):
        says = "Two equal calls give two answers: the function remembers something from call to call, or uses random numbers."
        return Verdict("failed",
                       "remembers-earlier-calls", says, "A function must depend on its arguments only.", show=False)
    words = words_in(seen.runner.candidate)
    culprit = next((w for w in ("dropout", "Dropout", "multinomial", "bernoulli", "rand", "randn") if w in words), None)
    named = f" (`{culprit}`)" if culprit else " (dropout, sampling, random initial values)"
    says = f"Two equal calls give two answers: something random is at work{named}. {seen.exercise.chance}"
    return Verdict("failed", "left-to-chance", says.strip(), show=False)
