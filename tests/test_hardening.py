"""The course where little is given: a terminal without our letters, folders that cannot be written to."""

import os
import subprocess
import sys

import pytest
from notebook_runs import ROOT

# As a bare Unix system has it: no UTF-8, neither by the locale nor by Python's own choice
ASCII_TERMINALS = [
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"PYTHONIOENCODING": "ascii"},
]


def course(*arguments, **environment):
    """`python3 -m course_lib ARGUMENTS` with these environment variables: the finished process, its output as text."""
    return subprocess.run(
        [sys.executable, "-m", "course_lib", *arguments],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=200,
    )


@pytest.mark.parametrize("environment", ASCII_TERMINALS, ids=["locale", "encoding"])
def test_a_terminal_that_lacks_a_letter_shows_another(environment):
    """The usage of `lms` has an ellipsis."""
    done = course("lms", "--help", **environment)
    assert done.returncode == 0, done.stderr
    assert "NN_?" in done.stdout and done.stdout.isascii()
