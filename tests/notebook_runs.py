"""Runs a notebook with nbval, as an instructor would, in a kernel that is watched by kernel_watch.py."""

import ast
import copy
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
RUNS = pytest.StashKey()  # (the pool, {(notebook, "as shipped" or "solved"): a future Run}) while tests run


@dataclass
class Run:
    """What came of it: nbval's exit code and output, and kernel_watch's report."""

    code: int
    output: str
    cells: list  # of {"code", "cpu", "ok"}
    cpu: float  # seconds, the start of the kernel included
    peak: int  # bytes
    refused: list  # addresses beyond this machine that were asked for


def offline():
    """A prefix for a command that gives it no network but this machine's own; [] where that cannot be had."""
    enter = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    if not shutil.which("unshare") or not shutil.which("ip"):
        return []
    return enter if subprocess.run([*enter, "true"], capture_output=True).returncode == 0 else []


def run(notebook, folder, prefix=()):
    """Run a notebook file. All that it writes, and what the kernel needs, goes to `folder`. Returns a Run."""
    profile = folder / "ipython" / "profile_default"
    profile.mkdir(parents=True)
    watch = "get_config().InteractiveShellApp.extensions = ['kernel_watch']\n"
    (profile / "ipython_config.py").write_text(watch, encoding="utf-8")
    report = folder / "report.json"
    environment = os.environ | {
        "IPYTHONDIR": str(profile.parent),
        "WATCH_FILE": str(report),
        "COURSE_LIB_HOME": str(folder / "home"),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), str(ROOT)]),
        "OMP_NUM_THREADS": "1",
    }
    command = [
        *prefix,
        sys.executable,
        "-m",
        "pytest",
        "--nbval-lax",
        "--nbval-current-env",
        "-q",
        "--nbval-cell-timeout=120",
        "-p",
        "no:cacheprovider",
        "-c",
        "pyproject.toml",
        str(notebook),
    ]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        timeout=900,
        encoding="utf-8",
        errors="replace",
    )
    seen = (
        json.loads(report.read_text(encoding="utf-8"))
        if report.exists()
        else {"cells": [], "cpu": 0.0, "peak": 0, "refused": []}
    )
    return Run(done.returncode, done.stdout + done.stderr, **seen)


def read(path):
    return json.loads(Path(path).read_text(encoding="utf-8"))


def tags(cell):
    return cell["metadata"].get("tags", [])


def source(cell):
    return "".join(cell["source"])


def exercise_name(cell):
    """The name under which course_lib checks what an `exercise` cell asks for."""
    hunt = cell["metadata"].get("bug_hunt")
    return f"bug_hunt_{hunt}" if hunt else cell["metadata"].get("exercise")


def solved(notebook, references):
    """A copy without `experiment` cells, its exercises solved from the library, and checks that must pass.

    references: {exercise name: the library's function}
    """
    cells = [copy.deepcopy(cell) for cell in notebook["cells"] if "experiment" not in tags(cell)]
    for cell in cells:
        if "exercise" in tags(cell):
            name = exercise_name(cell)
            if name not in references:
                raise LookupError(f"course_lib has no exercise {name!r}, which a cell of the notebook asks for")
            cell["source"] = solution(cell, references[name])
    return {**notebook, "cells": cells}


def solution(cell, reference):
    """The cell's code with its stub replaced by the library's function, and checked: the check must pass."""
    lines, parts = source(cell).split("\n"), ast.parse(source(cell)).body
    stub = next(part for part in parts if isinstance(part, ast.FunctionDef | ast.ClassDef))
    import_line = f"from {reference.__module__} import {reference.__name__} as {stub.name}"
    given = "\n".join([*lines[: stub.lineno - 1], import_line, *lines[stub.end_lineno :]])
    verdict = f"check({exercise_name(cell)!r}, {stub.name})"
    return f"{given}\nassert {verdict}, {verdict}.message"


def references():
    """{exercise name: the library's function}"""
    from course_lib.exercises.registry import all_exercises

    return {name: exercise.reference for name, exercise in all_exercises().items()}


def start_runs(notebooks, folder):
    """Begin to run these notebooks, solved and as shipped, one after the other, beside whatever comes next.

    Returns the pool and {(notebook, "as shipped" or "solved"): a future Run}.
    """

    def run_solved(path):
        variant = folder / f"{path.stem}_solved.ipynb"
        variant.write_text(json.dumps(solved(read(path), references())), encoding="utf-8")
        return run(variant, folder / f"{path.stem}_solved", prefix=offline())

    pool = ThreadPoolExecutor(1)
    runs = {(path, "solved"): pool.submit(run_solved, path) for path in notebooks}
    return pool, runs | {(path, "as shipped"): pool.submit(run, path, folder / path.stem) for path in notebooks}
