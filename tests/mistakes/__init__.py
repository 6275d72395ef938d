"""Answers that learners give, right and wrong, one file per exercise. `ANSWERS` of a file lists them.

`@wrong("slug")` marks a mistake and the slug that `check` must give it; `@right()` an unusual answer that must pass.
"""


class Collector:
    """Collects (slug or None, function) in the order of the file."""

    def __init__(self):
        self.answers = []

    def wrong(self, *slugs):
        return lambda function: self._keep(slugs, function)

    def right(self, remark=None):
        return lambda function: self._keep((), function, remark)

    def _keep(self, slugs, function, remark=None):
        self.answers.append((slugs, function, remark))
        return function
