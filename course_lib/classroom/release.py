"""Hand out: a tree for learners, without answer keys of graded work, hidden probes or the code that marks.

    python3 -m course_lib release DIR [--course course.yaml] [--nbgrader]

The same course file gives the same tree, byte for byte. The library in it is readable: whoever looks for the answer to a
practised exercise finds it. Graded work is therefore made of variants (see INSTRUCTORS.md).
"""

import argparse
import ast
import json
import re
import sys
from pathlib import Path

from course_lib.classroom import nbgrader_source, tasks
from course_lib.classroom.private.variants import handed_out
from course_lib.classroom.roster import EVERYBODY

KEPT = ("README.md", "LICENSE", "pyproject.toml", "environment.yml", "models.txt", "binder", "course_lib", "quizzes")
DROPPED = ("classroom", "__pycache__")


def parser():
    p = argparse.ArgumentParser(prog="python3 -m course_lib release", description=__doc__.split("\n\n")[0], epilog=__doc__.split("\n\n")[2])
    p.add_argument("dir", type=Path, help="a folder that is not there yet")
    p.add_argument("--course", help="a course file; without one, everything is handed out")
    p.add_argument("--nbgrader", action="store_true", help="write a course folder for nbgrader in place of the learners' tree")
    p.add_argument("--dry-run", action="store_true", help="say what would be written, and stop")
    return p


def main(arguments):
    """Returns the exit code: 0, or 1 if something stands in the way."""
    options = parser().parse_args(arguments)
    try:
        course = tasks.read(options.course) if options.course else tasks.shipped()
    except tasks.BadCourse as error:
        print(error, file=sys.stderr)
        return 1
    if options.dir.exists() and (not options.dir.is_dir() or any(options.dir.iterdir())):
        print(f"{options.dir} is there already and not empty: choose another folder.", file=sys.stderr)
        return 1
    written = for_nbgrader(course) if options.nbgrader else files(course)
    if options.dry_run:
        print("\n".join(f"{path} ({len(data)} bytes)" for path, data in written))
        return 0
    count = 0
    for path, data in written:
        target = options.dir / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        count += 1
    same_for_all = options.nbgrader or not course.roster
    print(f"{count} files in {options.dir}: {len(course.notebooks)} notebooks"
          + (f", and graded ones for {'all' if same_for_all else len(course.roster)}." if is_graded(course) else "."))  # fmt: skip
    return 0


def files(course):
    """(path, bytes) of the whole tree, in order."""
    for path in _kept():
        inner = path.relative_to(tasks.ROOT).as_posix()
        if path.parent.name != "quizzes" or path.stem in (*course.notebooks, "schema"):
            yield inner, _changed(inner, path.read_bytes(), course)
    for notebook, text in notebooks(course):
        yield f"notebooks/{notebook}.ipynb", text.encode("utf-8")
    if is_graded(course):
        for learner in course.roster or (EVERYBODY,):
            name = f"{learner}_{tasks.GRADED}" if course.roster else tasks.GRADED
            yield f"graded/{name}.ipynb", graded(course, learner)
    yield "COURSE.md", what_counts(course).encode("utf-8")


def for_nbgrader(course):
    """(path, bytes) of a course folder for nbgrader. Of the variants there is one notebook for all."""
    handed_in = list(notebooks(course))
    if is_graded(course):
        handed_in.append((tasks.GRADED, graded(course, EVERYBODY).decode("utf-8")))
    return nbgrader_source.files(course, handed_in, EVERYBODY)


def notebooks(course):
    """(name, text) of the chosen notebooks as they are handed out."""
    for name in course.notebooks:
        text = (tasks.NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8")
        yield name, without_dead_links(text, course)


def is_graded(course):
    return any(t.notebook == tasks.GRADED for t in course.tasks)


def _kept():
    for name in KEPT:
        top = tasks.ROOT / name
        inner = sorted(p for p in top.rglob("*") if p.is_file()) if top.is_dir() else [top]
        for path in inner:
            parts = path.relative_to(tasks.ROOT).parts
            if not any(p in DROPPED or p.startswith(".") for p in parts) and path.suffix != ".pyc":
                yield path


def _changed(path, data, course):
    """The few files that know of what is left out."""
    if path == "course_lib/__main__.py":
        return re.sub(rb'\n    "\w+": \("course_lib\.classroom\.[\w.]+",[^\n]*', b"", data)
    if path == "course_lib/exercises/guidance.py" and not course.keep_reveal:
        return without_reveal(data.decode("utf-8")).encode("utf-8")
    if path == "README.md":
        return readme(data.decode("utf-8"), course).encode("utf-8")
    return data


def readme(text, course):
    """The front page without what is not handed out: other notebooks, the tests, the pages for instructors and contributors."""
    left_out = [name for name in tasks.shipped().notebooks if name not in course.notebooks]
    gone = [f"(notebooks/{name}.ipynb)" for name in left_out] + ["course_lib test", "(CONTRIBUTING.md)", "(INSTRUCTORS.md)", ".github/", "mybinder.org"]
    kept = [line for line in text.rstrip().split("\n") if not any(word in line for word in gone)]
    last = "What counts, and until when: [COURSE.md](COURSE.md). Code under the MIT licence, text under CC BY 4.0: [LICENSE](LICENSE)."
    return "\n".join([*kept, last, ""])


def without_dead_links(text, course):
    """A notebook's text, in which the names of notebooks that are not handed out are no links."""
    return re.sub(r"\[([^]\[]*)\]\((\w+)\.ipynb\)", lambda found: found[0] if found[2] in course.notebooks else found[1], text)


def without_reveal(text):
    """guidance.py with a `reveal` that shows nothing."""
    function = next(n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == "reveal")
    lines = text.split("\n")
    body = ['    """In this course the solutions are not shown: hint(name) helps on."""', "    find(name)",
            '    return "The solutions are not shown in this course. hint(…) helps on."']  # fmt: skip
    return "\n".join([*lines[: function.lineno], *body, *lines[function.end_lineno :]])


def graded(course, learner):
    """A notebook with the variants, numbers and all, for one learner: bytes."""
    head = (f"# {course.title}: graded work\n\nFor: {learner}. Write each function; nothing here tells you whether it is right, so test it. "
            "Hand this notebook in with its name unchanged.")  # fmt: skip
    cells = [_cell("markdown", head, 0), _cell("code", "import math\n\nimport torch", 1)]
    due = {t.exercise: t for t in course.tasks if t.notebook == tasks.GRADED}
    for name, text, stub in handed_out(course, learner):
        task = due[name]
        when = f", due {task.due}" if task.due else ""
        cells.append(_cell("markdown", f"## {name}\n\n{text}\n\n{task.points:g} points{when}.", len(cells)))
        cells.append(_cell("code", f"{stub}\n    ...", len(cells)) | {"metadata": {"exercise": name, "tags": ["exercise"]}})
    kernel = {"kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}}
    book = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    return (json.dumps(book, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode("utf-8")


def _cell(kind, text, number):
    cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def what_counts(course):
    """COURSE.md: what is handed in, for how many points, until when."""
    rows = "".join(f"| {_place(t, course)} | `{t.exercise}` | {t.points:g} | {t.due or 'none'} |\n" for t in course.tasks)
    return f"# {course.title}\n\nHand in each of these notebooks, with its name unchanged.\n\n| notebook | exercise | points | due |\n|---|---|---|---|\n{rows}"


def _place(task, course):
    """Where a task's notebook lies, as Markdown."""
    if task.notebook != tasks.GRADED:
        return f"[{task.notebook}](notebooks/{task.notebook}.ipynb)"
    return "`graded/`, the one with your name" if course.roster else f"[{task.notebook}](graded/{task.notebook}.ipynb)"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
