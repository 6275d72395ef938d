"""`check`: from a learner's function to a verdict."""

import contextlib
import time
from contextvars import ContextVar
from dataclasses import replace

from course_lib import progress
from course_lib.exercises.evidence import gather
from course_lib.exercises.registry import find
from course_lib.exercises.result import CheckResult
from course_lib.exercises.runner import InProcess, surroundings_kept
from course_lib.exercises.show import table_for
from course_lib.exercises.steps import STEPS
from course_lib.exercises.stub import gap_is_open, not_started
from course_lib.exercises.verdict import Verdict
from course_lib.exercises.wording import kind

_under_check = ContextVar("under_check", default=False)


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
    with never_inside_itself(), surroundings_kept():
        verdict, table = judge(exercise, candidate, InProcess)
    message = "\n".join(str(p) for p in (verdict.says, table, verdict.look, verdict.remark) if p)
    seconds = time.perf_counter() - started
    return CheckResult(verdict.status, verdict.mistake, message, verdict.remark, seconds, name, table)


@contextlib.contextmanager
def never_inside_itself():
    """A `check` that stands too far to the right is a part of the function that it checks: it would never end."""
    if _under_check.get():
        raise RuntimeError("`check` is called inside the function that it checks: move that line to the left margin")
    token = _under_check.set(True)
    try:
        yield
    finally:
        _under_check.reset(token)


def judge(exercise, candidate, make_runner):
    """(Verdict, Table or None). make_runner(candidate) gives the runner through which the candidate is reached."""
    if not callable(candidate):
        return Verdict("error", "not-a-function", f"check needs the function itself; it got {kind(candidate)}."), None
    if not_started(candidate):
        what = "fill the gaps that are still open (`...`)" if gap_is_open(candidate) else "write the body"
        return Verdict("not_started", None, f"Nothing to check yet: {what}, then run this cell again."), None
    if exercise.judge is not None:
        return exercise.judge(exercise, candidate, make_runner)
    if isinstance(candidate, type):
        return Verdict("error", "not-a-function", f"check needs a function; it got the class {candidate.__name__}."), None
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
