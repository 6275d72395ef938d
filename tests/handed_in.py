"""Notebooks as learners hand them in: solved, wrong, damaged or hostile. Made from the shipped ones."""

import ast
import copy
import json

from notebook_runs import ROOT, exercise_name, source

from course_lib.exercises.registry import all_exercises


def shipped(name):
    return json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))


def right_answer(function, reference):
    """An answer that works like the library's: as text."""
    line = f"from {reference.__module__} import {reference.__qualname__.split('.')[0]} as answer"
    if isinstance(reference, type):
        return f"{line}\nclass {function}(answer):\n    pass\n"
    return f"def {function}(*args, **kwargs):\n    {line}\n    return answer(*args, **kwargs)\n"


def answered(name, answers=None, only=None):
    """The notebook `name` with right answers in place of its stubs. answers: {exercise: text} for others."""
    book, exercises = copy.deepcopy(shipped(name)), all_exercises()
    for cell in book["cells"]:
        exercise = exercise_name(cell) if cell["cell_type"] == "code" else None
        if exercise is None or only is not None and exercise not in only:
            continue
        stub = next(s for s in ast.parse(source(cell)).body if isinstance(s, ast.FunctionDef | ast.ClassDef))
        text = (answers or {}).get(exercise) or right_answer(stub.name, exercises[exercise].reference)
        cell["source"] = f"{text}\n\ncheck({exercise!r}, {stub.name})"
    return book


def as_bytes(book):
    return json.dumps(book, indent=1, ensure_ascii=False).encode("utf-8")


# ---- damage: each takes a notebook and a random.Random and gives the bytes of a file; no answer is lost by any ----


def _by_cell(change):
    """Damage that changes the cells one by one or as a list."""

    def damage(book, r):
        book = copy.deepcopy(book)
        book["cells"] = change(book["cells"], r)
        return as_bytes(book)

    damage.__name__ = change.__name__
    return damage


def _is_answer(cell):
    return cell["cell_type"] == "code" and exercise_name(cell) is not None


def cells_deleted(cells, r):
    return [c for c in cells if _is_answer(c) or r.random() < 0.4]


def everything_twice(cells, r):
    return cells + copy.deepcopy(cells)


def stubs_pasted_after(cells, r):
    stub = {"cell_type": "code", "metadata": {}, "source": "def split_heads(x, n_heads):\n    ...\n", "outputs": []}
    return [*cells, stub]


def check_in_a_cell_of_its_own(cells, r):
    out = []
    for cell in cells:
        if _is_answer(cell):
            answer, _, check = source(cell).rpartition("\n\n")
            out += [{**cell, "source": answer, "metadata": {}}, {**cell, "source": check, "metadata": {}}]
        else:
            out.append(cell)
    return out


def function_cut_in_two(cells, r):
    out = []
    for cell in cells:
        if _is_answer(cell):
            lines = source(cell).split("\n")
            cut = r.randint(1, 2)
            out += [{**cell, "source": "\n".join(lines[:cut])}, {**cell, "metadata": {}, "source": "\n".join(lines[cut:])}]
        else:
            out.append(cell)
    return out


def turned_into_markdown(cells, r):
    return [{**c, "cell_type": r.choice(["markdown", "raw"])} if _is_answer(c) else c for c in cells]


def tags_gone(cells, r):
    return [{**c, "metadata": {}} for c in cells]


def metadata_nonsense(cells, r):
    return [{**c, "metadata": r.choice([None, [], "x", {"tags": 3}, {"exercise": {"a": 1}}])} for c in cells]


def huge_outputs(cells, r):
    text = "x" * r.randint(500_000, 2_000_000) + '"source": "def split_heads(x, n_heads): return 0"'
    big = {"output_type": "stream", "name": "stdout", "text": [text]}
    return [{**c, "outputs": [big]} if _is_answer(c) else c for c in cells]


def reversed_order(cells, r):
    return cells[::-1]


def magics_everywhere(cells, r):
    lines = ["%matplotlib inline", "!pip list", "%%time", "?print"]
    return [{**c, "source": f"{lines[r.randrange(2)]}\n{''.join(c['source'])}"} if c["cell_type"] == "code" else c for c in cells]


def other_cells_broken(cells, r):
    return [c if _is_answer(c) or c["cell_type"] != "code" else {**c, "source": "def (:\n  1 +"} for c in cells]


def other_cells_endless(cells, r):
    return [c if _is_answer(c) or c["cell_type"] != "code" else {**c, "source": "while True:\n    pass"} for c in cells]


def one_big_cell(cells, r):
    code = "\n\n".join(source(c) for c in cells if c["cell_type"] == "code")
    return [{"cell_type": "code", "metadata": {}, "outputs": [], "source": code}]


def odd_cells_between(cells, r):
    return [x for c in cells for x in (c, r.choice([None, 7, [], {}, {"cell_type": "code"}, {"source": None}]))]


def saved_mid_run(book, r):
    book = copy.deepcopy(book)
    for cell in book["cells"][r.randrange(len(book["cells"])) :]:
        cell.update(execution_count=None, outputs=[{"output_type": "error", "ename": "KeyboardInterrupt"}])
    text = as_bytes(book)
    return text + text[-r.randint(1, 200) :]  # an older, longer file overwritten


def cut_off_at_the_end(book, r):
    book = copy.deepcopy(book)
    book["cells"].append({"cell_type": "code", "metadata": {}, "source": "y" * 3000})
    return as_bytes(book)[: -r.randint(200, 2800)]


def other_kernel(book, r):
    return as_bytes({**book, "metadata": {"kernelspec": {"name": "ir", "language": "R", "display_name": "R"}}})


def old_format(book, r):
    cells = [{**c, "input": c["source"]} for c in copy.deepcopy(book["cells"])]
    for cell in cells:
        del cell["source"]
    return json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]}).encode("utf-8")


def utf_8_with_a_mark(book, r):
    return b"\xef\xbb\xbf" + as_bytes(book)


def utf_16(book, r):
    return as_bytes(book).decode("utf-8").encode(r.choice(["utf-16", "utf-16-le"]))


def western_encoding(book, r):
    text = as_bytes(book).decode("utf-8").encode("ascii", "replace").decode("ascii")
    return text.replace("Q", "Ä", 5).encode("cp1252")


def windows_lines(book, r):
    return as_bytes(book).replace(b"\n", b"\r\n").replace(b"\\n", b"\\r\\n")


DAMAGE = (
    *map(_by_cell, (
        cells_deleted, everything_twice, stubs_pasted_after, check_in_a_cell_of_its_own, function_cut_in_two,
        turned_into_markdown, tags_gone, metadata_nonsense, huge_outputs, reversed_order, magics_everywhere,
        other_cells_broken, other_cells_endless, one_big_cell, odd_cells_between)),
    saved_mid_run, cut_off_at_the_end, other_kernel, old_format, utf_8_with_a_mark, utf_16, western_encoding, windows_lines,
)  # fmt: skip
