"""Sentences of a verdict that do not come from a slip or a measurement."""

import torch

from course_lib.exercises import crashes


def kind(value):
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def look(seen, knobs):
    """Where to look, from the stages of the computation that the slip turns."""
    places = [seen.exercise.look[k] for k in knobs if k in seen.exercise.look]
    return "Look at " + ", and at ".join(dict.fromkeys(places)) + "." if places else ""


def facts_in_words(facts):
    return f"Seen when {' and '.join(facts)}." if facts else ""


def crash_note(seen):
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


def change(seen, name, before, after):
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
