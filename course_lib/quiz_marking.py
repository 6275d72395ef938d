"""Marking an answer, and telling whether it fits its question at all.

What an answer is, by the kind of the question:
    one      a letter
    several  a list of letters
    number   a number
    order    a list of step numbers, counted from 0 in the file's order
    text     a list with the numbers of the rubric's points that the learner ticked
"""
import math


def is_right(item, given):
    """Whether an answer that fits is right."""
    kind = item["kind"]
    if kind == "one":
        return given in right_letters(item)
    if kind == "several":
        return sorted(given) == right_letters(item)
    if kind == "number":
        return abs(given - item["answer"]) <= item["tolerance"]
    if kind == "order":
        return list(given) == list(range(len(item["steps"])))
    if kind == "text":
        return len(given) >= item["need"]
    raise ValueError(f"A {kind} is not marked itself; draw() makes a question from it, and that is.")


def right_letters(item):
    """The letters of the right options, in order."""
    return [option["letter"] for option in item["options"] if option["correct"]]


def fits(item, given):
    """Whether this can be an answer at all: a kept one may be older than the question as it stands now."""
    letters = [option["letter"] for option in item.get("options", [])]
    kind = item["kind"]
    if kind == "one":
        return isinstance(given, str) and given in letters
    if kind == "number":
        return isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given)
    if not isinstance(given, list):
        return False
    if kind == "several":
        return bool(given) and all(letter in letters for letter in given)
    if kind == "order":
        return all(isinstance(i, int) for i in given) and sorted(given) == list(range(len(item["steps"])))
    return all(isinstance(i, int) and 0 <= i < len(item["rubric"]) for i in given)
