r"""Quizzes as GIFT, Moodle's plain-text format: one question is a few lines that a person can read.

    ::name:: [html]question { =right #why ~wrong #why }

GIFT has no random numbers, so a drill becomes DRAWS questions with numbers drawn here; it has no ordering, so that
becomes matching. The signs ~ = # { } : \ have a backslash before them wherever they belong to a text.
"""

import re

from course_lib.classroom.lms_moodle import shares
from course_lib.classroom.lms_texts import drawn, exact, page, question, remarks
from course_lib.quiz_bank import title

DRAWS = 10  # questions that stand for a drill


def gift(quiz):
    """A quiz as GIFT: a str."""
    parts = [f"$CATEGORY: $course$/top/Transformers by Experiment/{quiz['notebook']}"]
    for item in quiz["items"]:
        parts += [_question(one) for one in (drawn(item, DRAWS) if item["kind"] == "drill" else [item])]
    return "\n\n".join(parts) + "\n"


def escaped(text):
    """HTML on one line, with GIFT's own signs marked as text."""
    return re.sub(r"([~=#{}:\\])", r"\\\1", " ".join(text.split()))


def _question(item):
    lines = {"one": _choice, "several": _choice, "number": _number, "order": _matching,
             "text": _nothing}[item["kind"]](item)  # fmt: skip
    general = [f"####{escaped(remarks(item))}"] if remarks(item) else []
    body = "\n".join(f"  {line}" for line in [*lines, *general])
    opening = "{#" if item["kind"] == "number" else "{"
    return f"::{escaped(title(item))}:: [html]{escaped(question(item))} {opening}\n{body}\n}}"


def _choice(item):
    single = item["kind"] == "one"
    lines = []
    for option, share in zip(item["options"], shares(item["options"], single), strict=True):
        sign = ("=" if option["correct"] else "~") if single else f"~%{share:.7g}%"
        lines.append(f"{sign}{escaped(page(option['text']))} #{escaped(page(option['why']))}")
    return lines


def _number(item):
    known = [("=", item["answer"], item["why"]), *(("=%0%", s["value"], s["why"]) for s in item.get("slips", []))]
    return [f"{sign}{exact(value)}:{exact(item['tolerance'])} #{escaped(page(why))}" for sign, value, why in known]


def _matching(item):
    return [f"={escaped(page(step['text']))} -> {place}" for place, step in enumerate(item["steps"], start=1)]


def _nothing(item):
    """An empty list of answers is GIFT's sign for a text that a person marks."""
    return []
