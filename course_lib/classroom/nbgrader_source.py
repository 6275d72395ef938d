"""A course folder for nbgrader: its settings, and each notebook as an assignment with answers, tests and points.

Each exercise is followed by a test that nbgrader hides. What stands between the marks of a solution is a call of the
library, so no answer is written down a second time. Taken out again by `nbgrader generate_assignment`, it leaves the
exercise's cell as the course ships it.
"""

import hashlib
import json
from pathlib import Path

from course_lib import quiz_bank
from course_lib.classroom import tasks
from course_lib.classroom.nbgrader_intake import ANSWER, TEST, TEXT, definition, marks, new_cell
from course_lib.classroom.private.variants import BY_NAME, numbers

SETTINGS = Path(__file__).with_name("nbgrader_config.py")
GET = "from course_lib.classroom import nbgrader_tests"


def files(course, notebooks, learner):
    """(path, bytes) of the whole folder. notebooks: (name, text) of each as it is handed out.

    learner: whose numbers the variants have. nbgrader gives everybody the same notebook.
    """
    yield SETTINGS.name, SETTINGS.read_bytes()
    for name, text in notebooks:
        book = json.loads(text)
        chosen = {t.exercise: t for t in course.tasks if t.notebook == name}
        book["cells"] = [made for cell in book["cells"] for made in _with_grading(cell, chosen, course.seed, learner)]
        book["cells"] += _short_answers(name)
        text = json.dumps(book, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        yield f"source/{name}/{name}.ipynb", text.encode("utf-8")


def _with_grading(cell, chosen, seed, learner):
    """A cell of the notebook; where it is one of the chosen exercises, with its answer, and the test behind it."""
    task = chosen.get(tasks.tag_of(cell)) if cell["cell_type"] == "code" else None
    if task is None:
        return [cell]
    drawn = numbers(BY_NAME[task.exercise], seed, learner) if task.notebook == tasks.GRADED else {}
    given = [f'"{task.exercise}"', *(f"{name}={value!r}" for name, value in drawn.items())]
    call = f"nbgrader_tests.exercise({', '.join(given)})"
    source = with_answer("".join(cell["source"]), call)
    answer = cell | {"source": source, "metadata": cell["metadata"] | {"nbgrader": marks(ANSWER + task.exercise)}}
    test = hidden_test(task, call, hashlib.sha256(f"{seed}/{task.key}".encode()).hexdigest()[:16])
    return [answer, new_cell("code", test, TEST + task.exercise, task.points)]


def with_answer(source, call):
    """A stub in which a call of the library stands in the place of its last line, `...`."""
    stub = definition(source)
    lines, gap = source.split("\n"), stub.body[-1]
    if hasattr(stub, "args"):
        arguments = ", ".join(a.arg for a in stub.args.args)
        answer = ["    ### BEGIN SOLUTION", f"    {GET}", "", f"    return {call}.reference({arguments})", "    ### END SOLUTION"]
    else:
        answer = ["    ### BEGIN SOLUTION", "    ...", "", "", GET, "", "", f"class {stub.name}({call}.reference):", "    pass", "### END SOLUTION"]
    return "\n".join([*lines[: gap.lineno - 1], *answer, *lines[gap.end_lineno :]])


def hidden_test(task, call, seed):
    """The text of an exercise's test. A name that several exercises use is taken away, so that each is marked once."""
    take = f'globals().{"get" if task.alone else "pop"}("{task.function}", None)'
    points = f"{task.points:g} point{'' if task.points == 1 else 's'}"
    return (f"# {points}: nbgrader marks the answer above here.\n### BEGIN HIDDEN TESTS\n{GET}\n\n"
            f'nbgrader_tests.must_pass({call}, {take}, "{seed}")\n### END HIDDEN TESTS')  # fmt: skip


def _short_answers(notebook):
    """Cells for those questions of a notebook's quiz that are answered in words: marked by hand, a point for each thing asked for."""
    if notebook == tasks.GRADED:
        return []
    cells = []
    for item in quiz_bank.load(notebook)["items"]:
        if item["kind"] == "text":
            rubric = "\n".join(f"- {line}" for line in item["rubric"])
            answer = f"### BEGIN SOLUTION\n{item['need']} of these:\n\n{rubric}\n### END SOLUTION"
            id = TEXT + item["id"]
            cells.append({"cell_type": "markdown", "id": f"{id}-asked", "metadata": {}, "source": f"**Short answer.** {item['text']}"})
            cells.append(new_cell("markdown", answer, id, item["need"]))
    return cells
