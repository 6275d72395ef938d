"""The questions of the course: read from quizzes/*.yaml, checked, drawn with random numbers, and marked.

A file is {notebook, items: [{id, kind, text, …}], predictions: [{id, kind, text, …}]}; quizzes/schema.json says
what each kind needs. A file that breaks a rule raises BadQuiz, which names the file, the question and the line.
The keys stand in the file, so a quiz here is for learning, not for grades.
"""
import ast
import functools
import json
import operator
import random
from pathlib import Path

import fastjsonschema
import yaml

from course_lib import rich_text

FOLDER = Path(__file__).resolve().parents[1] / "quizzes"


class BadQuiz(ValueError):
    """A quiz file breaks a rule: the message names file, line and question."""


# ---- reading ----
def load(notebook):
    """The checked quiz of a notebook as a dict. Unknown name: ValueError that lists the names."""
    path = FOLDER / f"{notebook}.yaml"
    if not path.exists():
        names = ", ".join(sorted(p.stem for p in FOLDER.glob("*.yaml")))
        raise ValueError(f"There is no quiz {notebook!r}. There are: {names}.")
    return _load_cached(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=32)
def _load_cached(path, changed):             # `changed` makes an edited file be read again
    return read(path)


def read(path):
    """Read and check one file."""
    text = Path(path).read_text(encoding="utf-8")
    try:
        quiz = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        raise BadQuiz(f"{path}, line {error.problem_mark.line + 1}: not valid YAML: {error.problem}.") from error
    for place, problem in _problems(quiz, Path(path).stem):
        raise BadQuiz(_describe(path, text, quiz, place, problem))
    return quiz


def find_item(notebook, id):
    """One item of a notebook's quiz."""
    items = load(notebook)["items"]
    for item in items:
        if item["id"] == id:
            return item
    raise ValueError(f"{notebook} has no question {id!r}. It has: {', '.join(i['id'] for i in items)}.")


def find_prediction(id):
    """(notebook, prediction) for a prediction's id, which is unique in the whole course."""
    known = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        for prediction in load(path.stem).get("predictions", []):
            known[prediction["id"]] = (path.stem, prediction)
    if id not in known:
        raise ValueError(f"There is no prediction {id!r}. There are: {', '.join(known)}.")
    return known[id]


# ---- checking ----
@functools.cache
def _schema():
    return fastjsonschema.compile(json.loads((FOLDER / "schema.json").read_text(encoding="utf-8")))


def _problems(quiz, stem):
    """(place in the file, what is wrong) for each broken rule; the schema's come first."""
    try:
        _schema()(quiz)
    except fastjsonschema.JsonSchemaValueException as error:
        yield [int(key) if key.isdigit() else key for key in error.path[1:]], _in_words(error)
        return
    if quiz["notebook"] != stem:
        yield ["notebook"], f"the notebook is {quiz['notebook']!r} but the file is called {stem!r}"
    seen = set()
    for part in ("items", "predictions"):
        for i, item in enumerate(quiz.get(part, [])):
            if item["id"] in seen:
                yield [part, i, "id"], f"the id {item['id']!r} is used twice"
            seen.add(item["id"])
            yield from (([part, i, *place], problem) for place, problem in _item_problems(item, part))


def _in_words(error):
    """A schema's complaint without the path, which _describe gives as a line."""
    return error.message.removeprefix(error.name + " ")


def _item_problems(item, part):
    """What the schema cannot say: letters, one right option, formulae that can be read, numbers that fit."""
    for place, text in _texts(item):
        try:
            rich_text.to_html(text)
        except ValueError as error:
            yield place, str(error)
    options = item.get("options", [])
    letters = "".join(option.get("letter", "") for option in options)
    if letters != "ABCDEFGH"[:len(letters)]:
        yield ["options"], f"the letters are {', '.join(letters)}; they must run from A without a gap"
    right = sum(1 for option in options if option.get("correct"))
    if item["kind"] in ("one", "drill") and part == "items" and right != 1:
        yield ["options"], f"exactly one option must be correct; {right} are"
    if item["kind"] == "several" and not 0 < right < len(options):
        yield ["options"], "some options must be correct and some not"
    if item["kind"] == "text" and item["need"] > len(item["rubric"]):
        yield ["need"], f"{item['need']} points are needed, but the rubric has only {len(item['rubric'])}"
    try:
        yield from _number_problems(item) if part == "items" else ()
    except (ValueError, ZeroDivisionError, SyntaxError) as error:
        yield ["compute"] if "compute" in item else ["options"], f"cannot be computed: {error}"


def _number_problems(item):
    """Answers that a formula gives are computed again."""
    if item["kind"] == "number":
        value = evaluate(item["compute"])
        if abs(value - item["answer"]) > item["tolerance"]:
            yield ["answer"], f"the answer is {item['answer']}, but {item['compute']} gives {value}"
    elif item["kind"] == "one" and "compute" in item:
        text = next(option["text"] for option in item["options"] if option["correct"])
        if _number(evaluate(item["compute"])) not in text:
            yield ["options"], f"{item['compute']} gives {evaluate(item['compute'])}, but the right option says {text!r}"
    elif item["kind"] == "drill":
        draw(item, random.Random(0))


def _texts(item, place=()):
    """(place, text) of everything a learner reads in an item."""
    for key, value in item.items() if isinstance(item, dict) else enumerate(item):
        if isinstance(value, (dict, list)):
            yield from _texts(value, (*place, key))
        elif key in ("text", "why") or "rubric" in place:
            yield [*place, key], value


def _describe(path, text, quiz, place, problem):
    """File, line and question of a problem, in one sentence."""
    node = yaml.compose(text)
    line = node.start_mark.line if node else 0
    for key in place:
        if isinstance(node, yaml.MappingNode):
            node = next((value for name, value in node.value if name.value == key), None)
        elif isinstance(node, yaml.SequenceNode):
            node = node.value[key]
        if node is None:
            break
        line = node.start_mark.line
    question = ""
    if len(place) > 1:
        item = quiz[place[0]][place[1]]
        question = f" ({item.get('id', 'without id') if isinstance(item, dict) else item})"
    return f"{path}, line {line + 1}{question}: {problem}."


# ---- random numbers ----
def draw(item, rng):
    """A drill with numbers filled in: an item of kind "one" with lettered options. rng: random.Random."""
    for _ in range(1000):
        names = {name: rng.choice(values) for name, values in item["numbers"].items()}
        for name, expression in item.get("compute", {}).items():
            names[name] = evaluate(expression, names)
        values = [evaluate(option["value"], names) for option in item["options"]]
        if len(set(values)) == len(values):
            return _filled(item, names, values, rng)
    raise ValueError("1,000 draws gave no numbers for which all options differ")


def _filled(item, names, values, rng):
    shown = {name: _number(value) for name, value in names.items()}
    order = rng.sample(range(len(values)), len(values))
    options = [{"letter": letter, "text": _number(values[i]), "correct": item["options"][i]["correct"],
                "why": _fill(item["options"][i]["why"], shown)} for letter, i in zip("ABCDEFGH", order, strict=False)]
    return {"id": item["id"], "kind": "one", "text": _fill(item["text"], shown), "options": options, "numbers": names}


def _fill(text, shown):
    """Replace [name] by the drawn number."""
    for name, value in shown.items():
        text = text.replace(f"[{name}]", value)
    return text


def _number(value):
    return str(int(value)) if value == int(value) else f"{value:.4g}"


OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
             ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.USub: operator.neg}


def evaluate(expression, names=None):
    """Value of an arithmetic expression: numbers, names, + - * / // % ** and brackets; nothing else is run."""
    def value(node):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return node.value
        if isinstance(node, ast.Name) and node.id in (names or {}):
            return names[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](value(node.operand))
        raise ValueError(f"{ast.unparse(node)!r} is not allowed in {expression!r}")
    return value(ast.parse(str(expression), mode="eval").body)


# ---- marking ----
def is_right(item, given):
    """Whether an answer is right. given: a letter; letters; a number; ticked rubric points; steps in some order."""
    kind = item["kind"]
    if kind == "one":
        return given == next(option["letter"] for option in item["options"] if option["correct"])
    if kind == "several":
        return sorted(given) == [option["letter"] for option in item["options"] if option["correct"]]
    if kind == "number":
        return abs(given - item["answer"]) <= item["tolerance"]
    if kind == "order":
        return list(given) == list(range(len(item["steps"])))
    if kind == "text":
        return len(given) >= item["need"]
    raise ValueError(f"A {kind} has no answer of its own; draw() makes an item from it.")
