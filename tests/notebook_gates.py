"""What every notebook must keep to. Each gate takes a notebook, as JSON has it, and lists the problems."""

import ast
import functools
import importlib
import re
import statistics

from notebook_runs import ROOT, exercise_name, source, tags
from words import OTHER_NAMES, foreign

LONGEST, LONGEST_BUILD, LONGEST_MEDIAN = 15, 25, 5  # lines of code in a cell, blank lines not counted
# each a heading, or bold at the start of a line
PARTS = ("After this( notebook)? you can", "Symbols", "Now you can")


def code_cells(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def text_of(notebook):
    return "\n".join(source(cell) for cell in notebook["cells"] if cell["cell_type"] == "markdown")


def lines(cell):
    return sum(1 for line in source(cell).splitlines() if line.strip())


def parsed(cell):
    """The cell's syntax tree; an empty one if it is no Python (the gate `plain_python` reports that)."""
    try:
        return ast.parse(source(cell))
    except SyntaxError:
        return ast.Module(body=[], type_ignores=[])


def calls(notebook, name):
    """Every call of `name(...)` in the code cells, whole attribute paths such as `plots.show` included."""
    trees = [parsed(cell) for cell in code_cells(notebook)]
    return [
        node
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == name
    ]


def short(cell):
    return repr(source(cell).strip().split("\n")[0][:60])


# As files


def stripped(notebook):
    """No outputs and no counts, but in cells tagged keep_output, which must have both; no widget state."""
    problems = []
    for cell in code_cells(notebook):
        kept = "keep_output" in tags(cell)
        if not kept and (cell["outputs"] or cell["execution_count"]):
            problems.append(f"cell {short(cell)} carries outputs or a count")
        if kept and not (cell["outputs"] and cell["execution_count"]):
            problems.append(f"cell {short(cell)} is tagged keep_output, and has no output or no count")
        if kept and re.search(r"/home/|/Users/|C:\\\\", str(cell["outputs"])):
            problems.append(f"cell {short(cell)} shows somebody's folder")
    return problems + (["the metadata hold widgets"] if "widgets" in notebook["metadata"] else [])


def nothing_hidden(notebook):
    """No cell is folded away, and none is tagged to be."""
    return [
        f"cell {short(cell)} is hidden"
        for cell in notebook["cells"]
        if cell["metadata"].get("jupyter")
        or cell["metadata"].get("collapsed")
        or any(tag.startswith(("hide", "remove")) for tag in tags(cell))
    ]


def format_is_current(notebook):
    """nbformat 4.5 with an id of its own for each cell, sources line by line, and Python's ordinary kernel."""
    problems = []
    if (notebook["nbformat"], notebook["nbformat_minor"]) < (4, 5):
        problems.append("the format is older than 4.5")
    ids = [cell.get("id") for cell in notebook["cells"]]
    if None in ids or len(set(ids)) < len(ids):
        problems.append("cell ids are missing or doubled")
    if any(isinstance(cell["source"], str) for cell in notebook["cells"]):
        problems.append("a source is one string: as a list of lines, as JupyterLab saves it, a diff shows the line")
    if notebook["metadata"].get("kernelspec", {}).get("name") != "python3":
        problems.append("the kernel is not python3")
    return problems


def plain_python(notebook):
    """No magics, no shell, no pyplot, and neither `interact` nor `Output`, on which executors hang."""
    problems = []
    for cell in code_cells(notebook):
        if re.search(r"^\s*[%!]|^\s*\?|\?\s*$", source(cell), re.M):
            problems.append(f"cell {short(cell)} has a magic or a shell line")
        elif source(cell).strip() and not parsed(cell).body:
            problems.append(f"cell {short(cell)} is no Python")
        problems += [
            f"cell {short(cell)} uses {name}"
            for name in ("pyplot", "interact", "Output", "pip")
            if re.search(rf"\b{name}\b", re.sub(r"#.*", "", source(cell)))
        ]
    return problems


# As teaching


def anatomy(notebook):
    """Title, minutes, what one can do after it, symbols, parameters, a quiz, and what one can do now."""
    cells, text = notebook["cells"], text_of(notebook)
    problems = [f"no part {part!r}" for part in PARTS if not re.search(rf"^(#+ |\*\*).*{part}", text, re.M)]
    if not source(cells[0]).startswith("# "):
        problems.append("the first cell is no title")
    if not re.search(r"\d+ minutes|an hour", source(cells[0]) + source(cells[1])):
        problems.append("the opening does not say how many minutes it takes")
    names = [name for cell in code_cells(notebook) if "parameters" in tags(cell) for name in assigned(cell)]
    if not {"SEED", "FULL"} <= set(names):
        problems.append("no cell tagged parameters that sets SEED and FULL")
    if not calls(notebook, "ask"):
        problems.append("no quiz: ask(…)")
    if len(calls(notebook, "predict")) > 2:
        problems.append(f"{len(calls(notebook, 'predict'))} predictions, of 2 at most")
    code = "\n".join(source(cell) for cell in code_cells(notebook))
    widgets = set(re.findall(r"\bexplore_\w+(?=\()", code))
    return problems + ([f"{len(widgets)} widgets, of 3 at most"] if len(widgets) > 3 else [])


def aims_come_back(notebook):
    """What one can do after it is said again at the end, in its order: a clause for each aim, about the same thing."""
    text = text_of(notebook)
    aims = re.findall(r"^[-*] (.*)$", between(text, r"\*\*After this[^\n]*", r"\n\n(?![-*] )"), re.M)
    clauses = between(text, r"\*\*Now you can\*\*", r"\n\n").split("; ")
    if len(aims) != len(clauses):
        return [f"{len(aims)} aims at the top, {len(clauses)} at the end (parted by semicolons)"]
    pairs = zip(aims, clauses, strict=True)
    return [f"{clause!r} does not come back to {aim!r}" for aim, clause in pairs if not stems(aim) & stems(clause)]


def between(text, begin, end):
    """What stands between the first two matches; "" if there is no beginning, the rest if there is no end."""
    found = re.split(begin, text, maxsplit=1)
    return re.split(end, found[1].lstrip("\n"), maxsplit=1)[0] if len(found) > 1 else ""


def stems(text):
    """The beginnings of its longer words: "translates" and "translator" have the same."""
    return {word[:5].lower() for word in re.findall(r"[^\W\d_]{5,}", text)} - {"which", "where", "their", "other", "about"}


def foundations_are_linked(notebook):
    """The opening links each earlier notebook that it names: 01, 02, …"""
    opening = source(notebook["cells"][0])
    own = re.search(r"# (\d)", opening)
    named = set(re.findall(r"\b0(\d)\b", opening)) - ({own[1]} if own else set())
    linked = set(re.findall(r"\]\(0(\d)_\w+\.ipynb\)", opening))
    earlier = {n for n in named - linked if own and n < own[1]}
    missing = [f"the opening names notebook 0{n} without a link" for n in sorted(earlier)]
    return missing + (["the opening links no notebook"] if own and own[1] > "1" and not linked else [])


def minutes_are_reckoned(notebook):
    """The minutes named in the opening are those of `minutes`, within ten."""
    text = source(notebook["cells"][0]) + source(notebook["cells"][1])
    said = sum(int(n) for n in re.findall(r"(\d+) minutes|plus (\d+) for", text) for n in n if n)
    reckoned = minutes(notebook)
    return [] if abs(said - reckoned) <= 10 else [f"it says {said} minutes; reckoned are {reckoned:.0f}"]


def minutes(notebook):
    """A learner's minutes: 200 words of prose a minute, or 10 lines of code; 6 an exercise, with a wrong try; 5 a widget;
    1 a prediction; 7 the quiz; and 1 for waiting, the CPU time of a whole notebook.
    """
    words = len(text_of(notebook).split())
    read = words / 200 + sum(lines(cell) for cell in code_cells(notebook)) / 10
    widgets = {name for cell in code_cells(notebook) for name in re.findall(r"\bexplore_\w+(?=\()", source(cell))}
    tried = sum("exercise" in tags(cell) for cell in code_cells(notebook))
    return read + 6 * tried + 5 * len(widgets) + len(calls(notebook, "predict")) + 7 + 1


def words_of_the_course(notebook):
    """Prose, and the names that the code gives, use the course's vocabulary."""
    named = {name for cell in code_cells(notebook) for name in assigned(cell)} & set(OTHER_NAMES)
    return foreign(text_of(notebook)) + [f"the code calls {name} what is {OTHER_NAMES[name]}" for name in sorted(named)]


def imports_first(notebook):
    """Imports stand in the first code cell, of eight lines at most; a build or exercise may repeat one."""
    first, *others = code_cells(notebook)
    problems = [] if lines(first) <= 8 else [f"{lines(first)} lines of imports, of 8 at most"]
    return problems + [
        f"cell {short(cell)} imports"
        for cell in others
        if not {"build", "exercise"} & set(tags(cell))
        and any(isinstance(node, ast.Import | ast.ImportFrom) for node in parsed(cell).body)
    ]


def cell_sizes(notebook):
    """Cells of few lines: the reader sees each step and its result."""
    cells = [cell for cell in code_cells(notebook) if lines(cell)]
    problems = []
    for cell in cells:
        most = LONGEST_BUILD if {"build", "exercise"} & set(tags(cell)) else LONGEST
        if lines(cell) > most:
            problems.append(f"cell {short(cell)} has {lines(cell)} lines, of {most} at most")
    median = statistics.median(lines(cell) for cell in cells)
    return problems + ([f"the median cell has {median} lines"] if median > LONGEST_MEDIAN else [])


def definitions(notebook):
    """Functions and classes are defined in cells tagged build or exercise only; the rest is in course_lib."""
    return [
        f"cell {short(cell)} defines {node.name}"
        for cell in code_cells(notebook)
        if not {"build", "exercise"} & set(tags(cell))
        for node in ast.walk(parsed(cell))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]


def figures_speak(notebook):
    """Every figure goes through show(fig, alt): none is a bare last value, none has an empty text."""
    problems = [
        f"show without alt: {ast.unparse(call)[:80]}"
        for call in calls(notebook, "show")
        if len(call.args) < 2 and "alt" not in [keyword.arg for keyword in call.keywords]
    ]
    for cell in code_cells(notebook):
        for node in parsed(cell).body:
            name = ast.unparse(node.value.func) if is_call(node) else ""
            if name.split(".")[-1].startswith("plot_") or name.endswith((".savefig", ".plot")):
                problems.append(f"cell {short(cell)} draws with {name} and not through show")
    return problems


def is_call(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


# Experiments, builds and exercises


def assigned(cell):
    """Names that the cell binds at its top level, loops and imports included."""
    names = set()
    for node in ast.walk(parsed(cell)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return names


def used(cell):
    names = [node for node in ast.walk(parsed(cell)) if isinstance(node, ast.Name)]
    return {node.id for node in names if isinstance(node.ctx, ast.Load)}


def experiments_stand_alone(notebook):
    """Leaving out the cells tagged experiment leaves no name without a value."""
    inside = [cell for cell in code_cells(notebook) if "experiment" in tags(cell)]
    outside = [cell for cell in code_cells(notebook) if "experiment" not in tags(cell)]
    bound = {name for cell in outside for name in assigned(cell)}
    only_inside = {name for cell in inside for name in assigned(cell)} - bound
    return [
        f"cell {short(cell)} uses {name}, which only an experiment defines"
        for cell in outside
        for name in sorted(used(cell) & only_inside)
    ]


def builds_equal_the_library(notebook):
    """What a build cell defines, course_lib has with the same code: docstrings and annotations aside."""
    problems = []
    for cell in code_cells(notebook):
        for node in parsed(cell).body if "build" in tags(cell) else []:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                ours = library().get(node.name)
                if ours is None:
                    problems.append(f"course_lib has no {node.name}, which a build cell defines")
                elif bare(node) != ours:
                    problems.append(f"{node.name} is not the same in course_lib")
    return problems


@functools.cache
def library():
    """{name: code} of every function and class at the top level of a module of course_lib."""
    files = sorted((ROOT / "course_lib").rglob("*.py"))
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in files]
    return {
        node.name: bare(node)
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


def bare(node):
    """The code of a definition without docstrings, annotations and comments, written in one way."""
    node = ast.parse(ast.unparse(node)).body[0]
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(inner) is not None:
            inner.body = inner.body[1:]
        if isinstance(inner, ast.FunctionDef):
            inner.returns = None
        if isinstance(inner, ast.arg):
            inner.annotation = None
    return ast.unparse(node)


def exercises(notebook):
    """An exercise is a stub, under a name known to course_lib, that its cell or a later one checks."""
    problems, known = [], importlib.import_module("course_lib.exercises.registry").all_exercises()
    cells = code_cells(notebook)
    for i, cell in enumerate(cells):
        if "exercise" not in tags(cell):
            continue
        name = exercise_name(cell)
        if name not in known:
            problems.append(f"cell {short(cell)} names {name!r}, which is no exercise of course_lib")
        if not any(re.search(rf"\bcheck\(\s*[\"']{name}[\"']", source(c)) for c in cells[i:]):
            problems.append(f"no cell from {short(cell)} on calls check({name!r}, …)")
        if not is_stub(cell):
            problems.append(f"cell {short(cell)} is no stub: a def with a docstring and `...`")
    return problems


def is_stub(cell):
    """True if the cell defines a function or class with a docstring, and leaves a `...` for the learner to replace."""
    for node in parsed(cell).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            ends = [s.value for s in ast.walk(node) if isinstance(s, ast.Expr | ast.Assign | ast.Return)]
            open_end = any(isinstance(end, ast.Constant) and end.value is ... for end in ends)
            return open_end and ast.get_docstring(node) is not None
    return False


GATES = (
    stripped,
    nothing_hidden,
    format_is_current,
    plain_python,
    anatomy,
    aims_come_back,
    foundations_are_linked,
    minutes_are_reckoned,
    words_of_the_course,
    imports_first,
    cell_sizes,
    definitions,
    figures_speak,
    experiments_stand_alone,
    builds_equal_the_library,
    exercises,
)


def smells(notebook):
    """What is not wrong but worth a second look: length, in cells and in words."""
    cells, words = len(notebook["cells"]), len(re.sub(r"<[^>]+>", " ", text_of(notebook)).split())
    found = [] if 40 <= cells <= 60 else [f"{cells} cells (40 to 60 are planned)"]
    return found + ([] if 1500 <= words <= 2500 else [f"{words} words (1,500 to 2,500 are planned)"])
