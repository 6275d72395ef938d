"""Makes a submission fit for nbgrader, in whatever state it comes back. Called by nbgrader_config.py, before grading.

nbgrader finds cells by marks in their metadata. A cell that a learner has copied, deleted, or typed anew costs points
there, or stops the whole class. So all marks are taken off, and put back where the answers are found, as `mark` finds
them. Only the answers and what they use will run: nothing is trained, and an endless loop elsewhere does no harm.
"""

import ast
import json
from collections import defaultdict

import nbformat

from course_lib.classroom import finding

ANSWER, TEST, TEXT = "answer-", "test-", "text-"  # how ids begin; the exercise's or the question's name follows
NOT_RUN = "skip-execution"  # the tag of cells that are not executed


def put_in_place(notebook, sources, points):
    """Give each answer its mark and its test behind it. Changes the notebook, a NotebookNode.

    sources: {id: text} of the cells that nbgrader knows, stubs and tests; points: {id: number} of those that are graded.
    """
    notebook.cells = [cell for cell in notebook.cells if not _is_test(cell)]
    texts = {_id(cell): cell for cell in notebook.cells if _id(cell) in points}  # of two copies the last one counts
    for cell in notebook.cells:
        if cell is not texts.get(_id(cell)):
            cell.metadata.pop("nbgrader", None)
    cells, _ = finding.cells_of(json.dumps(notebook).encode("utf-8"))
    running, tests = {}, defaultdict(list)
    for exercise, function, alone in exercises(sources):
        answer = finding.find(cells, exercise, function, alone)
        if answer:
            answer.cell.text += "" if answer.name == function else f"\n\n\n{function} = {answer.name}"
            running |= {cell.number: cell.text for cell in needed(cells, answer)}
            notebook.cells[answer.cell.number - 1].metadata["nbgrader"] = marks(ANSWER + exercise)
        id = TEST + exercise
        behind = answer.cell.number if answer else len(notebook.cells)
        tests[behind].append(nbformat.from_dict(new_cell("code", sources[id], id, points[id])))
    _run_only(notebook, running)
    notebook.cells = [one for number, cell in enumerate(notebook.cells, 1) for one in (cell, *tests[number])]


def exercises(sources):
    """[(name, function's name, True if no other exercise has a function of this name)] of a notebook."""
    functions = {}
    for id, text in sources.items():
        if id.startswith(ANSWER):
            functions[id.removeprefix(ANSWER)] = definition(text).name
    names = list(functions.values())
    return [(exercise, name, names.count(name) == 1) for exercise, name in functions.items()]


def definition(text):
    """The function or class that a stub defines: its syntax tree."""
    return next(s for s in ast.parse(text).body if isinstance(s, ast.FunctionDef | ast.ClassDef))


def needed(cells, answer):
    """The cells to run for an answer: what it uses, all that only import, and its own."""
    imports = [c for c in cells if c.kind == "code" and c.tree is not None and c.tree.body and all(map(_imports, c.tree.body))]
    try:
        uses = [cell for cell, _ in finding.needed(cells, answer)]
    except (KeyError, SyntaxError, ValueError, RecursionError):  # no valid Python: running it will tell the learner
        uses = []
    return [*imports, *uses, answer.cell]


def _imports(statement):
    return isinstance(statement, ast.Import | ast.ImportFrom)


def _run_only(notebook, running):
    """Tag all code cells that are not to run. running: {number from 1: text}."""
    for number, cell in enumerate(notebook.cells, 1):
        if number in running:
            cell.source = running[number]
        elif cell.cell_type == "code":
            cell.metadata["tags"] = [NOT_RUN]


def _id(cell):
    about = cell.metadata.get("nbgrader")
    return str(about.get("grade_id", "")) if isinstance(about, dict) else ""


def _is_test(cell):
    return _id(cell).startswith(TEST)


def marks(id, points=None):
    """The metadata by which nbgrader knows a cell. With points it is graded; what the learner writes is not locked."""
    own = {"schema_version": 3, "grade_id": id, "task": False, "grade": points is not None, "solution": not id.startswith(TEST),
           "locked": id.startswith(TEST)}  # fmt: skip
    return own if points is None else own | {"points": points}


def new_cell(kind, text, id, points):
    """A graded cell, as a dict."""
    cell = {"cell_type": kind, "id": id, "metadata": {"nbgrader": marks(id, points)}, "source": text}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})
