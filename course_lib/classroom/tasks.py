"""What is to be marked: read from the notebooks as they are shipped, or from an instructor's course file (YAML)."""

import ast
import json
import re
from dataclasses import dataclass
from datetime import datetime, time
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
GRADED = "graded"  # the notebook of the variants


class BadCourse(ValueError):
    """A course file breaks a rule; the message says which."""


@dataclass(frozen=True)
class Task:
    """One exercise in one notebook. function: the name that the stub has; alone: no other task of the notebook has it."""

    notebook: str
    exercise: str
    function: str
    alone: bool
    points: float = 1.0
    due: str = ""

    @property
    def key(self):
        return f"{self.notebook}/{self.exercise}"


@dataclass(frozen=True)
class Course:
    """A course: its title, its notebooks and tasks, the roster, and the seed of all draws."""

    title: str
    notebooks: tuple
    tasks: tuple
    roster: tuple = ()
    seed: str = "transformers-by-experiment"
    keep_reveal: bool = True


def end_of(due):
    """The local time until which something may come: for a date, the end of that day; None for words that are no date."""
    try:
        until = datetime.fromisoformat(due)
    except ValueError:
        return None
    if len(due) <= len("2027-01-31"):
        return datetime.combine(until, time.max)
    return until.astimezone().replace(tzinfo=None) if until.tzinfo else until


def tag_of(cell):
    """The exercise that a notebook's cell is tagged with, or ""."""
    about = cell["metadata"]
    return about.get("exercise") or (f"bug_hunt_{about['bug_hunt']}" if about.get("bug_hunt") else "")


def tasks_of(notebook):
    """The tasks of one notebook, in its order. notebook: its name, without .ipynb."""
    book = json.loads((NOTEBOOKS / f"{notebook}.ipynb").read_text(encoding="utf-8"))
    found = {}
    for cell in book["cells"]:
        if cell["cell_type"] == "code" and tag_of(cell):
            body = ast.parse("".join(cell["source"])).body
            found[tag_of(cell)] = next(s.name for s in body if isinstance(s, ast.FunctionDef | ast.ClassDef))
    names = list(found.values())
    return tuple(Task(notebook, exercise, name, names.count(name) == 1) for exercise, name in found.items())


def shipped():
    """The whole course as it is shipped, one point for each exercise."""
    notebooks = tuple(p.stem for p in sorted(NOTEBOOKS.glob("[0-9]*.ipynb")))
    return Course("Transformers by Experiment", notebooks, tuple(t for n in notebooks for t in tasks_of(n)))


KEYS = {"title", "notebooks", "exercises", "variants", "roster", "seed", "keep_reveal"}


def read(path):
    """The Course that a course file describes. Raises BadCourse with the reason if it describes none.

        title: Deep learning, winter term
        notebooks: [01_multi_head_intuition, 03_causal_mask]
        exercises:                      # left out: all of these notebooks, one point each
          - {exercise: split_heads, notebook: 01_multi_head_intuition, points: 2, due: 2027-01-31}
        variants:                       # graded work, handed out in notebooks of its own
          - {variant: windowed_mask, points: 3, due: 2027-02-14}
        roster: [anna, bo]              # needed where numbers are drawn for each learner
        seed: any words, kept secret    # what numbers and fresh inputs are drawn from
        keep_reveal: true
    """
    try:
        given = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:  # ValueError: a day that is in no calendar, a file not in UTF-8
        raise BadCourse(f"{path} cannot be read as a course file: {error}") from error
    if not isinstance(given, dict) or set(given) - KEYS:
        odd = ", ".join(sorted(map(str, set(given) - KEYS))) if isinstance(given, dict) else "no keys at all"
        raise BadCourse(f"{path}: a course file has the keys {', '.join(sorted(KEYS))}; it has {odd}.")
    _check_kinds(path, given)
    whole = shipped()
    notebooks = tuple(given.get("notebooks") or whole.notebooks)
    if unknown := [n for n in notebooks if n not in whole.notebooks]:
        raise BadCourse(f"{path}: there is no notebook {unknown[0]}; there are {', '.join(whole.notebooks)}.")
    here = {(t.notebook, t.exercise): t for t in whole.tasks if t.notebook in notebooks}
    tasks = tuple(_chosen(path, here, line) for line in given["exercises"]) if given.get("exercises") else tuple(here.values())
    tasks += tuple(_graded(path, line) for line in given.get("variants") or ())
    keys = [t.key for t in tasks]
    if twice := [key for key in keys if keys.count(key) > 1]:
        raise BadCourse(f"{path}: {twice[0]} is there twice.")
    return Course(str(given.get("title", whole.title)), notebooks, tasks, tuple(map(str, given.get("roster") or ())), str(given.get("seed", whole.seed)),
                  bool(given.get("keep_reveal", True)))  # fmt: skip


def _check_kinds(path, given):
    """Raises BadCourse for a value of the wrong kind."""
    for key in ("notebooks", "exercises", "variants", "roster"):
        if not isinstance(given.get(key) or [], list):
            raise BadCourse(f"{path}: {key} is a list, such as [a, b]; this is {given[key]!r}.")
    if bad := [name for name in map(str, given.get("roster") or ()) if re.search(r"[/\\]", name)]:
        raise BadCourse(f"{path}: a name of the roster becomes a file's name, so it has no slash; this is {bad[0]}.")
    if not isinstance(given.get("keep_reveal", True), bool):
        raise BadCourse(f"{path}: keep_reveal is true or false; this is {given['keep_reveal']!r}.")


def _points_of(path, line):
    """The points of a line, one where it names none."""
    points = line.get("points", 1)
    if isinstance(points, bool) or not isinstance(points, int | float) or not 0 <= points < float("inf"):
        raise BadCourse(f"{path}: points are a number from 0 on; this is {line}.")
    return float(points)


def _graded(path, line):
    """The task that one line of `variants` names; it is handed out in a notebook of its own."""
    from course_lib.classroom.private.variants import BY_NAME  # here: only an instructor's tree has them

    if not isinstance(line, dict) or line.get("variant") not in BY_NAME or set(line) - {"variant", "points", "due"}:
        raise BadCourse(f"{path}: a variant is written {{variant: …, points: …, due: …}}, with one of {', '.join(BY_NAME)}; this is {line}.")
    return Task(GRADED, line["variant"], line["variant"], True, _points_of(path, line), str(line.get("due", "")))


def _chosen(path, here, line):
    """The task that one line of `exercises` names."""
    if not isinstance(line, dict) or "exercise" not in line or set(line) - {"exercise", "notebook", "points", "due"}:
        raise BadCourse(f"{path}: an exercise is written {{exercise: …, notebook: …, points: …, due: …}}; this is {line}.")
    fitting = [t for (notebook, exercise), t in here.items()
               if exercise == line["exercise"] and line.get("notebook") in (None, notebook)]  # fmt: skip
    if not fitting:
        raise BadCourse(f"{path}: there is no exercise {line['exercise']} in {line.get('notebook', 'the chosen notebooks')}; "
                        f"there are {', '.join(dict.fromkeys(name for _, name in here))}.")  # fmt: skip
    if len(fitting) != 1:
        raise BadCourse(f"{path}: {line['exercise']} is in {len(fitting)} of the chosen notebooks: name one.")
    task = fitting[0]
    return Task(task.notebook, task.exercise, task.function, task.alone, _points_of(path, line), str(line.get("due", "")))
