"""What a bug hunt is: a module with a bug, a right one, and a judge for tests and for mended modules.

The learner first writes `def test(module) -> None`, which raises AssertionError on the bug: `bug_hunt_<name>`.
Then they mend the class: `bug_hunt_<name>_mended`. A notebook shows the bug by `inspect.getsource`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from course_lib.exercises import crashes
from course_lib.exercises.exercise import Exercise
from course_lib.exercises.verdict import Verdict


@dataclass(frozen=True)
class Hunt:
    """One bug. `sizes` are the arguments with which the classes are built; `witness` is the library's own test."""

    name: str
    buggy: type
    right: tuple  # classes without the bug: no test may accuse them
    sizes: tuple
    witness: Callable  # (module) -> None, raises AssertionError on the bug
    sound: tuple  # further functions of a module: what a mended one must still do
    bug: str  # what is wrong, in one sentence; shown only when the hunt is won
    story: str  # where it really happened
    hints: tuple
    mending_hints: tuple

    def exercises(self):
        """The two exercises of a hunt: its test, and the mended class."""

        def judge_the_test(exercise, test, make_runner):
            return judge_test(self, make_runner(test)), None

        def judge_the_class(exercise, cls, make_runner):
            return judge_class(self, cls, make_runner), None

        name = f"bug_hunt_{self.name}"
        return (
            Exercise(name=name, reference=self.witness, hints=self.hints, judge=judge_the_test),
            Exercise(name=f"{name}_mended", reference=self.right[0], hints=self.mending_hints, judge=judge_the_class),
        )


def built(cls, size, seed):
    """An instance with its own seed, in eval mode."""
    torch.manual_seed(seed)
    return cls(*size).eval()


def judge_test(hunt, runner):
    """The test must raise AssertionError on every module with the bug, and on no other."""
    accused = [runner.call((built(cls, size, 1),), grad=True) for cls in hunt.right for size in hunt.sizes]
    caught = [runner.call((built(hunt.buggy, size, seed),), grad=True) for size in hunt.sizes for seed in (1, 2)]
    for outcome in (*accused, *caught):
        if outcome.raised and outcome.raised.kind != "AssertionError":
            return _stopped(outcome.raised)
    wrongly = next((o.raised for o in accused if o.raised), None)
    missed = sum(not o.raised for o in caught)
    if all(o.raised for o in accused) and not missed:
        return _failed("accuses-every-module", f"Your test fails every module, the right ones too{_text(wrongly)}.",
                       "Which number must be different in a module without the bug? Compare with a small "
                       "tolerance.")  # fmt: skip
    if wrongly:
        return _failed("accuses-a-right-module", f"A module without the bug fails your test{_text(wrongly)}.",
                       "Is something assumed that a right module need not do? Is the tolerance too small?")  # fmt: skip
    if missed:
        return _missed(missed, caught)
    says = f"Right: it catches the bug in {len(caught)} modules and lets {len(accused)} right ones pass.\n{hunt.bug}\n{hunt.story}"
    return Verdict("passed", None, says)


def _missed(missed, caught):
    if any(o.output is not None for o in caught):
        return _failed("returns-instead-of-raising",
                       "Your test returns its finding. A test says no by raising AssertionError: use `assert`.")
    how_many = "the bug" if missed == len(caught) else f"the bug in {missed} of {len(caught)} modules"
    return _failed("misses-the-bug", f"Your test lets {how_many} pass.",
                   "What would a right module do when you change the input a little? Try it on the module by hand "
                   "first.")  # fmt: skip


def judge_class(hunt, cls, make_runner):
    """The mended class must be free of the bug and still do what the module is for."""
    if not isinstance(cls, type):
        return _failed("not-a-class", "Hand over the class itself, not an instance of it.")
    for test in (hunt.sound[0], hunt.witness, *hunt.sound[1:]):
        for size in hunt.sizes:
            outcome = make_runner(lambda size, test=test: test(built(cls, size, 3))).call((size,), grad=True)
            if outcome.raised and outcome.raised.kind != "AssertionError":
                return _stopped(outcome.raised)
            if outcome.raised:
                slug = "still-there" if test is hunt.witness else test.__name__.replace("_", "-")
                return _failed(slug,
                    f"{'The bug is still there: ' if slug == 'still-there' else ''}{outcome.raised.text}.")
    return Verdict("passed", None, "Mended: the bug is gone, and the module still does what it is for.")


def _failed(slug, says, look=""):
    return Verdict("failed", slug, says, look)


def _stopped(raised):
    if raised.timed_out:
        return Verdict("timeout", "takes-too-long", "Stopped: it takes too long. A loop that does not end?")
    slug, says = crashes.meaning(raised)
    return Verdict("error", slug, "\n".join(line for line in (says, crashes.place(raised)) if line))


def _text(raised):
    return f" ({raised.text.splitlines()[0]})" if raised.text else ""
