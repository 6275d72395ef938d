"""The roster: who has numbers of their own in the variants, and by which name a submission is known to be theirs."""

import re

from course_lib.classroom import tasks

EVERYBODY = "everybody"  # whose numbers count where there is no roster


def handed_out(course):
    """The names of all notebooks that were handed out; `anna_graded` stands before `graded`."""
    return [*course.notebooks, *(f"{name}_{tasks.GRADED}" for name in course.roster), tasks.GRADED]


def draws(course):
    """True if learners have numbers of their own."""
    return bool(course.roster) and any(t.notebook == tasks.GRADED for t in course.tasks)


def numbers_of(learner, course):
    """The name of the roster under which a learner's numbers were drawn.

    learner: the name of a submission. Names that stand in it as words come first, then parts of words; the longest counts.
    """
    words = [name for name in course.roster if _is_word(name, learner)]
    fitting = words or [name for name in course.roster if name.lower() in learner.lower()]
    return max(fitting, key=len) if fitting else EVERYBODY


def _is_word(name, text):
    """True if a name stands in a text with no letter and no digit beside it."""
    return re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", text, re.IGNORECASE) is not None


def in_doubt(learner, course):
    """[a remark] where numbers are drawn, and the name of a submission is not plainly one of the roster's; else []."""
    owner = numbers_of(learner, course)
    if not draws(course) or _is_word(owner, learner):
        return []
    if owner == EVERYBODY:
        return ["No name of the roster is in the name of this submission: variants are marked with everybody's numbers."]
    return [f"Variants are marked with the numbers of {owner}, whose name is only a part of a word in the name of this submission."]


def missing(submissions, course):
    """A line that names those of the roster from whom nothing came; "" if all are there."""
    there = {numbers_of(s.learner, course) for s in submissions}
    names = [name for name in course.roster if name not in there]
    return f"Nothing came from: {', '.join(names)}.\n" if names else ""
