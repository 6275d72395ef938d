"""`hint` and `reveal`: help that comes in steps. Both are recorded, so that a learner can see what they did alone."""

import html
import inspect

from course_lib import progress
from course_lib.exercises.registry import find


def hint(name):
    """The next of three hints for an exercise, from vague to nearly the line; after the third, the third again.

    Returns a str. Raises ValueError for an unknown name.
    """
    hints = find(name).hints
    given = sum(event.get("number", 0) > 0 for event in progress.events("hint", name))
    number = min(given + 1, len(hints))
    progress.record("hint", name, number=number)
    return f"Hint {number} of {len(hints)}. {hints[number - 1]}"


class Revealed:
    """The library's own source, with a question. `str()` is the source alone."""

    def __init__(self, name, source):
        self.name, self.source = name, source

    def __str__(self):
        return self.source

    def __repr__(self):
        return f"{self.source}\n\n{self.question}"

    @property
    def question(self):
        """What to write down: one sentence, for oneself."""
        return "Before you go on: in one sentence, what is different in yours? Write it into a cell, then try again from a blank."

    def _repr_html_(self):
        return (
            f"<div role='group' aria-label='The library’s {html.escape(self.name)}'>"
            f"<pre style='white-space: pre-wrap'><code>{html.escape(self.source)}</code></pre>"
            f"<p><strong>{html.escape(self.question)}</strong></p></div>"
        )


def reveal(name):
    """The library's own code for an exercise, to compare with: shown in a notebook; str() is the source.

    Raises ValueError for an unknown name.
    """
    exercise = find(name)
    progress.record("reveal", name)
    shown = [inspect.getsource(function).rstrip() for function in (exercise.reference, *exercise.reveals)]
    return Revealed(name, "\n\n\n".join(shown))
