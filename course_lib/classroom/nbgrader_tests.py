"""What the hidden test of an exercise runs, in the kernel that nbgrader starts: the course's check, and fresh inputs.

    nbgrader_tests.must_pass(nbgrader_tests.exercise("split_heads"), split_heads, "words that fresh inputs are drawn from")

This is no sandbox: nbgrader runs a learner's code on the account of whoever grades. `mark` does not.
"""

import contextlib
import io
import random
import textwrap

from course_lib.classroom.private.probes import holds_on_fresh_inputs
from course_lib.classroom.private.variants import BY_NAME, exercise_of
from course_lib.exercises.judge import judge
from course_lib.exercises.registry import find
from course_lib.exercises.runner import InProcess, surroundings_kept

WIDTH = 76  # characters in a line


class NotYet(AssertionError):
    """An answer is not right. A notebook shows the message alone, without the way through our code."""

    def _render_traceback_(self):
        """What IPython prints in place of a traceback: a list of lines. nbgrader's page would cut long ones."""
        lines = str(self).split("\n")
        wrapped = [textwrap.wrap(line, WIDTH, break_on_hyphens=False) if len(line) > WIDTH else [line] for line in lines]
        return [part for parts in wrapped for part in parts]


def exercise(name, **numbers):
    """The Exercise of that name; for a variant, with these numbers. Raises ValueError if there is none."""
    return exercise_of(BY_NAME[name], numbers) if name in BY_NAME else find(name)


def must_pass(exercise, candidate, seed):
    """Raise NotYet, which says why in the check's words, unless the candidate is right.

    candidate: a learner's function or class; None where no cell has defined it. seed: text.
    """
    with contextlib.redirect_stderr(io.StringIO()):  # nbgrader gives no points to a test that warns
        problem = what_is_wrong(exercise, candidate, seed)
    if problem:
        raise NotYet(problem)


def what_is_wrong(exercise, candidate, seed):
    """The reason why an answer does not pass, or ""."""
    if candidate is None:
        return "Nothing to mark: no cell defines it, or the cell that does so stops with an error."
    if str(getattr(candidate, "__module__", "")).startswith("course_lib."):
        return "It is imported from the library, not written."
    with surroundings_kept():
        verdict, table = judge(exercise, candidate, InProcess)
        if verdict.status != "passed":
            return "\n".join(str(part) for part in (verdict.says, table, verdict.look) if part)
        if exercise.judge is not None:  # a bug hunt has no inputs that could be fresh
            return ""
        problem = holds_on_fresh_inputs(exercise, InProcess(candidate), random.Random(seed))
    return problem and f"It is right on the inputs that the notebook tries, but not on fresh ones: {problem}."
