"""The course where things go less well: a poor terminal, folders that cannot be written to, cells run twice."""

import ast
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import pytest
from notebook_runs import NOTEBOOKS, ROOT, read, run, source

from course_lib import lab

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


# Folders that cannot be written to


def test_a_folder_that_is_not_there_is_judged_by_the_one_it_would_be_made_in(tmp_path, monkeypatch):
    closed = tmp_path / "closed"
    closed.mkdir()
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != closed)
    assert lab.writable(tmp_path / "new" / "folder") and not lab.writable(closed / "new" / "folder")
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(closed / "data"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(closed / "run"))
    assert lab.replacements("spare") == {"JUPYTER_DATA_DIR": "spare", "JUPYTER_RUNTIME_DIR": "spare"}


def test_the_doctor_says_which_folder_cannot_be_written_to(monkeypatch):
    from course_lib import doctor

    found = doctor.advice()
    monkeypatch.setattr(doctor, "writable", lambda folder: False)
    worse = [sentence for sentence in doctor.advice() if sentence not in found]
    assert [sentence.split(",")[0] for sentence in worse[:1]] == ["The course's folder"] and len(worse) == 2
    assert os.environ["COURSE_LIB_HOME"] in worse[1]


# A view of the file system for one command, in which the folders $1 and $2 are read-only; needs root on Linux
READ_ONLY = """
for folder in "$1" "$2"; do mount --bind "$folder" "$folder" && mount -o remount,bind,ro "$folder" || exit 99; done
cd "$1" && export HOME="$2" && shift 2 && exec "$@"
"""


def read_only(course, home, *command):
    """The command that runs `command` in the folder `course`, with `home` as its home, both read-only."""
    return ["unshare", "--mount", "sh", "-c", READ_ONLY, "sh", str(course), str(home), *command]


def can_mount(folder):
    unshare = shutil.which("unshare") and subprocess.run(read_only(folder, folder, "true"), capture_output=True)
    return bool(unshare) and unshare.returncode == 0


def lab_opens(tmp_path):
    """JupyterLab opens from a read-only folder, with a read-only home, and starts a kernel."""
    course, home = tmp_path / "course", tmp_path / "home"
    shutil.copytree(ROOT, course, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__", "tests"))
    home.mkdir()
    command = read_only(course, home, sys.executable, "-m", "course_lib", "lab", "--no-browser", "--no-models")
    misleading = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "XDG_DATA_HOME", "COURSE_LIB_HOME")
    given = {name: value for name, value in os.environ.items() if name not in misleading}
    with subprocess.Popen(
        command, env=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        try:
            lines = list(itertools.takewhile(lambda line: "Ctrl-C ends it" not in line, process.stdout))
            assert any("home folder cannot be written to" in line for line in lines), lines
            address = next(line for line in lines if "http://" in line).strip()
            server, token = address.split("/lab/")[0], address.split("token=")[1]
            asked = urllib.request.Request(f"{server}/api/kernels?token={token}", data=b"{}", method="POST")
            with urllib.request.urlopen(asked, timeout=60) as answer:
                assert answer.status == 201
        finally:
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(timeout=60) == 0


if sys.platform == "linux" and can_mount(tempfile.gettempdir()):  # elsewhere nothing can be made read-only for root
    test_lab_opens_where_nothing_can_be_written = pytest.mark.slow(lab_opens)


# A cell that is run twice


def names(node, context):
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}


def carried(cell):
    """The names that a cell's code binds anew from the value they had before the cell: run twice, it gives another."""
    bound, found = set(), set()
    statements = list(ast.parse(cell).body)
    while statements:
        part = statements.pop(0)
        if isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            same_twice = isinstance(part.op, ast.BitOr)  # a dict or a set joined with another
            found |= set() if same_twice else {part.target.id} - bound
        elif isinstance(part, ast.Assign):
            targets = set().union(*(names(target, ast.Store) for target in part.targets))
            found |= targets & names(part.value, ast.Load) - names(part.value, ast.Store) - bound
            bound |= targets
        elif isinstance(part, ast.For | ast.While | ast.If | ast.With):
            bound |= names(part.target, ast.Store) if isinstance(part, ast.For) else set()
            statements = part.body + part.orelse + statements if hasattr(part, "orelse") else part.body + statements
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_cell_counts_how_often_it_is_run(path):
    cells = [source(cell) for cell in read(path)["cells"] if cell["cell_type"] == "code"]
    found = {cell[:60]: sorted(carried(cell)) for cell in cells if carried(cell)}
    assert not found, f"give the new value another name, or begin from the start in the same cell: {found}"


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("total = total * 2", {"total"}),
        ("total, acc = total + 1, x", {"total"}),
        ("n += 1", {"n"}),
        ("for i in range(3):\n    n = n + i", {"n"}),
        ("n = 0\nfor i in range(3):\n    n += i", set()),
        ("n = 0\nif x:\n    n = n + 1", set()),
        ("runs |= {arm: 1}", set()),
        ("x = [x for x in y]", set()),
        ("total_2 = total * 2", set()),
    ],
)
def test_what_a_cell_carries_over_is_found(cell, expected):
    assert carried(cell) == expected


# What will be gone in a later release of a package


def test_a_notebook_that_calls_what_is_deprecated_is_found(tmp_path):
    """Whatever the notebooks call, nbval's own kernel reports it as an error: kernel_watch.py."""
    kinds = ("DeprecationWarning", "PendingDeprecationWarning", "FutureWarning", "UserWarning")
    cells = [
        {"cell_type": "code", "id": kind, "metadata": {}, "outputs": [], "execution_count": None,
         "source": f"import warnings\nwarnings.warn('this will go', {kind})"}
        for kind in kinds
    ]  # fmt: skip
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": cells}
    (tmp_path / "old.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    result = run(tmp_path / "old.ipynb", tmp_path / "run")
    assert [cell["ok"] for cell in result.cells] == [False, False, False, True], result.output
