"""Finds a learner's answers in a notebook, however it was handed in. Runs in the sandbox: the file is not trusted.

An answer is looked for in this order: cells that carry the exercise's tag; cells that call check("exercise", …); cells
that define a function of the right name; the same once more in cells that were turned into text. Of several, the last
one that is more than a stub counts, as it would in a run from top to bottom.
"""

import ast
import dis
import json
import re
import types
from dataclasses import dataclass, field


@dataclass
class Cell:
    """One cell: its number, its kind, its text, the exercise it is tagged with, and its syntax tree if it has one."""

    number: int
    kind: str
    text: str
    tag: str = ""
    tree: ast.Module | None = None
    problem: str = ""  # why there is no tree
    names: dict = field(default_factory=dict)  # what it defines: name -> statement


@dataclass
class Answer:
    """Where an answer was found, by which name, and what was odd on the way."""

    cell: Cell
    name: str
    notes: list


# ---- reading ----


def decoded(raw):
    """The text of a file, whatever its encoding was."""
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16", errors="replace")
    if raw[1:2] == b"\0":
        return raw.decode("utf-16-le", errors="replace")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace")


def cells_of(raw):
    """(cells, notes) of a notebook's bytes. A file that is no JSON any more gives those cells that can still be read."""
    text, notes = decoded(raw), []
    try:
        book = json.loads(text)
        items = _items(book)
    except (ValueError, RecursionError, AttributeError, TypeError):
        items, notes = salvaged(text), ["The file is damaged; what could be read of it was marked."]
    cells = [_cell(number, item) for number, item in enumerate(items, 1) if isinstance(item, dict)]
    cells = _joined(cells)
    for cell in cells:
        _parse(cell)
    return cells, notes


def _items(book):
    """The list of cells, also of the old format with worksheets."""
    sheets = book.get("worksheets")
    items = [c for s in sheets for c in s["cells"]] if isinstance(sheets, list) else book["cells"]
    if not isinstance(items, list):
        raise TypeError("cells is no list")
    return items


SOURCE = re.compile(r'"source"\s*:\s*')


def salvaged(text):
    """Cells of a text that is no JSON: everything that follows the word "source" and can be read."""
    decoder, items, before = json.JSONDecoder(), [], 0
    for match in SOURCE.finditer(text):
        try:
            source, end = decoder.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            end = match.end()
            source = re.findall(r'"((?:[^"\\]|\\.)*)"', text[end:])  # a list that breaks off
            source = [json.loads(f'"{line}"', strict=False) for line in source if "\\u" not in line]
        about = text[before : match.start()]
        kinds = re.findall(r'"cell_type"\s*:\s*"(\w+)"', about)
        tags = re.findall(r'"(exercise|bug_hunt)"\s*:\s*"(\w+)"', about)
        items.append({"cell_type": kinds[-1] if kinds else "code", "source": source, "metadata": dict(tags[-1:])})
        before = end
    return items


def _cell(number, item):
    source = item.get("source", item.get("input", ""))
    text = "".join(str(line) for line in source) if isinstance(source, list) else str(source or "")
    about = item.get("metadata") if isinstance(item.get("metadata"), dict) else {}
    tag = about.get("exercise") or (f"bug_hunt_{about['bug_hunt']}" if about.get("bug_hunt") else "")
    return Cell(number, str(item.get("cell_type", "code")), text.replace("\r\n", "\n").replace("\0", ""), str(tag))


def _joined(cells):
    """A cell that starts indented is the second half of a cell that was split: it goes back to the first."""
    kept = []
    for cell in cells:
        split = kept and cell.kind == kept[-1].kind == "code" and re.match(r"[ \t]+\S", cell.text)
        if split and re.search(r"^\s*(async def|def|class|for|while|if|with|try|else|elif)\b", kept[-1].text, re.M):
            kept[-1].text = f"{kept[-1].text.rstrip()}\n{cell.text}"
            kept[-1].tag = kept[-1].tag or cell.tag
        else:
            kept.append(cell)
    return kept


def _parse(cell):
    lines = cell.text.split("\n")
    plain = "\n".join("pass  # " + line.strip() if re.match(r"[ \t]*[%!?]", line) and not line[:1].isspace() else line
                      for line in lines)  # fmt: skip
    if plain.startswith("pass  # %%") and not re.match(r"pass  # %%(time|timeit|capture|prun)\b", plain):
        plain = ""  # another language
    cell.text = plain
    try:
        cell.tree = ast.parse(plain)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        cell.problem = f"{getattr(error, 'msg', None) or error}" + (f", line {line} of the cell" if line else "")
        return
    for statement in cell.tree.body:
        for name in bound_by(statement):
            cell.names[name] = statement


def bound_by(statement):
    """Names that a top-level statement binds."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [(a.asname or a.name).split(".")[0] for a in statement.names]
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
    if isinstance(statement, ast.If | ast.Try | ast.With):
        return [name for part in ast.iter_child_nodes(statement) if isinstance(part, ast.stmt) for name in bound_by(part)]
    return []


# ---- finding ----


def find(cells, exercise, function, alone):
    """The Answer to an exercise, or None. alone: no other exercise of the notebook has a function of this name."""
    for kinds in (("code",), ("markdown", "raw", "heading")):
        chosen = [cell for cell in cells if cell.kind in kinds]
        found = _candidates(chosen, exercise, function, alone)
        if not found:
            continue
        started = [a for a in found if a.cell.tree is None or not is_stub(a.cell.names.get(a.name))]
        answer = (started or found)[-1]
        if len(started) > 1:
            answer.notes.append(f"{len(started)} cells answer this exercise; the last one counts.")
        if answer.cell.kind != "code":
            answer.notes.append("The answer stands in a cell that was turned into text; it was marked all the same.")
        return answer
    return None


def _candidates(cells, exercise, function, alone):
    found = [a for place, cell in enumerate(cells) if (a := _anchored(cells, place, cell, exercise, function))]
    if found or not alone:
        return found
    return [Answer(c, function, ["Found by the name of its function: the cell's tag was gone."])
            for c in cells if function in c.names or c.tree is None and _mentions(c.text, function)]  # fmt: skip


def _anchored(cells, place, cell, exercise, function):
    """The answer that belongs to a cell with the exercise's tag or its check; None if it has neither."""
    call = re.search(rf"\bcheck\(\s*[\"']{re.escape(exercise)}[\"']\s*,\s*([A-Za-z_]\w*)", cell.text)
    name = call.group(1) if call else function
    if cell.tag != exercise and not call:
        return None
    if name in cell.names or cell.tree is None and _mentions(cell.text, name):
        return Answer(cell, name, [] if cell.tag == exercise else ["Found by its check: the cell's tag was gone."])
    made = [n for n, s in cell.names.items() if isinstance(s, ast.FunctionDef | ast.ClassDef)]
    if cell.tag == exercise and len(made) == 1 and not call:
        return Answer(cell, made[0], [f"The function is called {made[0]}, not {name}."])
    earlier = [c for c in cells[:place] if name in c.names or c.tree is None and _mentions(c.text, name)]
    return Answer(earlier[-1], name, ["The cell was split; both parts were found."]) if earlier else None


def _mentions(text, name):
    return bool(re.search(rf"^[ \t]*(?:def|class)\s+{re.escape(name)}\b", text, re.M))


def is_stub(statement):
    """True for a def or class whose body is only a docstring, `...`, pass, or raise NotImplementedError."""
    if isinstance(statement, ast.ClassDef):
        return all(is_stub(s) or isinstance(s, ast.Pass) or _is_constant(s) for s in statement.body)
    if not isinstance(statement, ast.FunctionDef):
        return False
    return all(isinstance(s, ast.Pass) or _is_constant(s) or "NotImplementedError" in ast.dump(s) for s in statement.body)


def _is_constant(statement):
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


# ---- what an answer needs ----


def needed(cells, answer):
    """[(cell, statement)] to run for an answer, in order: what defines the names it uses, and last the answer itself."""
    final = answer.cell.names[answer.name]
    wanted, chosen = _names(final), []
    pool = [(c, s) for c in cells if c.tree is not None and (c.kind == "code" or c is answer.cell) for s in c.tree.body]
    growing = True
    while growing:
        growing = False
        for cell, statement in pool:
            if statement is final or any(statement is s for _, s in chosen):
                continue
            star = isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*"
            if star or wanted & set(bound_by(statement)):
                chosen.append((cell, statement))
                wanted, growing = wanted | _names(statement), True
    order = {id(s): n for n, (_, s) in enumerate(pool)}
    return sorted(chosen, key=lambda pair: order[id(pair[1])]) + [(answer.cell, final)]


def _names(statement):
    """The global names that a statement reads, also inside the functions that it defines."""
    codes, names = [compile(ast.Module([statement], []), "", "exec")], set()
    for code in codes:
        names |= {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return names
