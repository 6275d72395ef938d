"""From one learner's files to marks: what was found in each exercise, with the reason in the checks' own words."""

import random
from dataclasses import replace
from types import SimpleNamespace

import torch

from course_lib.classroom import remote
from course_lib.classroom.private.probes import holds_on_fresh_inputs
from course_lib.classroom.session import Gone, Session
from course_lib.exercises.judge import judge
from course_lib.exercises.runner import surroundings_kept
from course_lib.exercises.verdict import Verdict

READING, WORLD_LIMIT = 60.0, 20.0  # seconds to read a file; seconds to run what an answer needs


def mark_file(zygote, raw, tasks, exercises, seed):
    """{key of a task: a dict with status, mistake, message, table, notes} for the tasks of one notebook.

    raw: the bytes of the file; exercises: {name: Exercise}; seed: text, from which fresh inputs are drawn.
    """
    results = {}
    for task in tasks:
        session, notes = opened(zygote, raw)  # a child for each answer: one cannot spoil the next
        try:
            results[task.key] = _mark_task(zygote, raw, session, task, exercises[task.exercise], f"{seed}/{task.exercise}", notes)
        finally:
            session.close()
    return results


def opened(zygote, raw):
    """A session that holds the file, and notes on the file's state."""
    session = Session(zygote)
    try:
        file = torch.frombuffer(bytearray(raw), dtype=torch.uint8) if raw else torch.empty(0, dtype=torch.uint8)
        return session, list(session.ask("read", file, wait=READING)["notes"])
    except Exception as error:  # the child fell over the file, or was ended: there is nothing to find in it
        session.close()
        return SimpleNamespace(ended="", close=lambda: None, ask=_nothing), [f"The file could not be read ({error})."]


def _nothing(*_, **__):
    return {"state": "missing", "notes": []}


def _mark_task(zygote, raw, session, task, exercise, seed, notes):
    """One exercise of one notebook, as a dict that JSON can hold."""
    with surroundings_kept():
        try:
            verdict, table, more = _judged(zygote, raw, session, task, exercise, seed)
        except Gone as gone:
            verdict, table, more = _ended(gone), None, []
        except Exception as error:  # whatever a hostile child answered, the next exercise is marked
            verdict, table, more = Verdict("error", "answers-oddly", f"It could not be judged: {type(error).__name__}."), None, []
    if session.ended and verdict.status != "timeout":
        verdict, table = _ended(session.ended), None
    message = "\n".join(str(p) for p in (verdict.says, table, verdict.look) if p)
    return {
        "status": verdict.status, "mistake": verdict.mistake, "message": message, "remark": verdict.remark,
        "table": table and vars(table), "notes": [*notes, *more],
    }  # fmt: skip


def _judged(zygote, raw, session, task, exercise, seed):
    """(Verdict, Table or None, notes)."""
    about = session.ask("look_for", task.exercise, task.function, task.alone, WORLD_LIMIT, wait=2 * WORLD_LIMIT)
    notes = [str(n) for n in about.get("notes", ())]
    if about["state"] != "ready":
        return _not_ready(about, task), None, notes
    if not about["callable"]:
        return Verdict("error", "not-a-function", f"{task.function} is no function."), None, notes
    if about["ours"]:
        return Verdict("failed", "imported", "It is imported from the library, not written."), None, notes
    if about["not_started"]:
        return Verdict("not_started", None, "Not started."), None, notes
    candidate = remote.stand_in(session, task.exercise, about)
    if exercise.judge is not None and not about["is_class"]:
        candidate.afresh = lambda: _again(zygote, raw, task)  # a test must not know how often it was asked before
    verdict, table = judge(exercise, candidate, remote.Remote)
    if verdict.status == "passed" and exercise.judge is None and not session.ended:
        problem = holds_on_fresh_inputs(exercise, remote.Remote(candidate), random.Random(seed))
        if problem:
            says = f"It is right on the inputs that the notebook tries, but not on fresh ones: {problem}."
            verdict, table = Verdict("failed", "wrong-on-fresh-inputs", says, "Is something written for particular inputs?"), None
    return replace(verdict, status="failed") if verdict.status == "passed" and session.ended else verdict, table, notes


def _again(zygote, raw, task):
    """A fresh session that has the same answer ready."""
    session, _ = opened(zygote, raw)
    session.ask("look_for", task.exercise, task.function, task.alone, WORLD_LIMIT, wait=2 * WORLD_LIMIT)
    return session


def _not_ready(about, task):
    """A Verdict on an answer that is not there, or cannot be run."""
    if about["state"] == "missing":
        return Verdict("not_started", "not-found", f"No cell with {task.function} was found.")
    problem = str(about.get("problem", ""))
    if about["state"] == "unreadable":
        return Verdict("error", "does-not-parse", f"The cell is no valid Python: {problem}.")
    if about.get("timed_out"):
        return Verdict("timeout", "takes-too-long", "Stopped: what the answer needs takes too long to run.")
    return Verdict("error", "cell-raises", f"The cell, or one that it needs, stops with an error: {problem}.")


def _ended(reason):
    """A Verdict where the learner's process was ended or ended itself."""
    if "time" in str(reason):
        return Verdict("timeout", "takes-too-long", "Stopped: it took too long.")
    return Verdict("error", "process-ended", f"The process that ran this answer is gone: {reason}.")
