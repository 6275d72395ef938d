"""Exercises: `check` names the mistake, `hint` helps on, `reveal` shows the library's own code.

    def split_heads(x, n_heads):
        ...
    check("split_heads", split_heads)     # as a cell's last value: shown as a verdict with a small table
    hint("split_heads")                   # the next of three hints
    reveal("split_heads")                 # the library's source
    with yours(split_heads=split_heads):  # every model runs through it
        ...
"""

from course_lib.exercises.guidance import hint, reveal
from course_lib.exercises.judge import check
from course_lib.exercises.result import CheckResult
from course_lib.exercises.yours import yours

__all__ = ["CheckResult", "check", "hint", "reveal", "yours"]
