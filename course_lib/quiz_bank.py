"""The questions of the course: read from quizzes/*.yaml, and checked.

A file is {notebook, items: [{id, kind, text, …}], predictions: [{id, kind, text, …}]}; quizzes/schema.json
says what each kind needs. A file that breaks a rule raises BadQuiz, which names file, line and question.
The keys stand in the file, so a quiz is for learning and not for grades.
"""
import difflib
import functools
import json
import random
from pathlib import Path

import fastjsonschema
import yaml

from course_lib import rich_text
from course_lib.quiz_numbers import LETTERS, draw, evaluate, in_words

FOLDER = Path(__file__).resolve().parents[1] / "quizzes"


class BadQuiz(ValueError):
    """A quiz file breaks a rule: the message names file, line and question."""


# ---- reading ----
def load(notebook):
    """The checked quiz of a notebook as a dict. Unknown name: ValueError that lists the names."""
    path = FOLDER / f"{notebook}.yaml"
    if not path.exists():
        names = sorted(p.stem for p in FOLDER.glob("*.yaml"))
        near = [name for name in names if name.startswith(str(notebook))] or difflib.get_close_matches(str(notebook), names)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"There is no quiz {notebook!r}.{meant} There are: {', '.join(names)}.")
    return _load(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=32)
def _load(path, changed):                    # `changed` makes an edited file be read again
    return read(path)


def read(path):
    """Read and check one file; BadQuiz names the first rule it breaks."""
    text = Path(path).read_text(encoding="utf-8")
    try:
        quiz = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1
        raise BadQuiz(f"{path}, line {line}: this is not YAML: {error.problem}.") from error
    for place, problem in _problems(quiz, Path(path).stem):
        raise BadQuiz(_located(path, text, quiz, place, problem))
    return quiz


def find_item(notebook, id):
    """One item of a notebook's quiz."""
    items = {item["id"]: item for item in load(notebook)["items"]}
    if id not in items:
        raise ValueError(f"{notebook} has no question {id!r}. It has: {', '.join(items)}.")
    return items[id]


def title(item):
    """What a list of questions shows: the item's title, or "which_pairs" as "Which pairs"."""
    words = item["id"].replace("_", " ")
    return item.get("title", words[0].upper() + words[1:])


def find_prediction(id):
    """(notebook, prediction) for a prediction's id, which is unique in the whole course."""
    known = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        known.update((p["id"], (path.stem, p)) for p in load(path.stem).get("predictions", []))
    if id not in known:
        raise ValueError(f"There is no prediction {id!r}. There are: {', '.join(known)}.")
    return known[id]


# ---- checking ----
@functools.cache
def _validator():
    return fastjsonschema.compile(json.loads((FOLDER / "schema.json").read_text(encoding="utf-8")))


def _problems(quiz, stem):
    """(place in the file, what is wrong) for each rule that is broken; of the schema's only the first."""
    try:
        _validator()(quiz)
    except fastjsonschema.JsonSchemaValueException as error:
        place = [int(key) if key.isdigit() else key for key in error.path[1:]]
        yield place, error.message.removeprefix(f"{error.name} ")
        return
    if quiz["notebook"] != stem:
        yield ["notebook"], f"the notebook is {quiz['notebook']!r}, but the file is called {stem!r}"
    seen = set()
    for part in ("items", "predictions"):
        for i, item in enumerate(quiz.get(part, [])):
            if item["id"] in seen:
                yield [part, i, "id"], f"the id {item['id']!r} is used twice"
            seen.add(item["id"])
            for place, problem in [*_text_problems(item), *_option_problems(item, part)]:
                yield [part, i, *place], problem


def _text_problems(node, place=()):
    """Formulae in the texts that rich_text cannot read."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        if isinstance(value, (dict, list)):
            yield from _text_problems(value, (*place, key))
        elif isinstance(value, str) and (key in ("text", "why") or "rubric" in place):
            try:
                rich_text.to_html(value)
            except ValueError as error:
                yield (*place, key), str(error)


def _option_problems(item, part):
    """What a schema cannot say: letters in order, how many options are right, numbers that fit."""
    options, kind = item.get("options", []), item["kind"]
    letters = "".join(option.get("letter", "") for option in options)
    if letters != LETTERS[:len(letters)]:
        yield ["options"], f"the letters are {', '.join(letters)}; they must run from A without a gap"
    if part == "predictions":
        return
    right = sum(1 for option in options if option["correct"])
    if kind in ("one", "drill") and right != 1:
        yield ["options"], f"exactly one option must be correct, not {right}"
    elif kind == "several" and not 0 < right < len(options):
        yield ["options"], "some options must be correct and some not"
    elif kind == "text" and item["need"] > len(item["rubric"]):
        yield ["need"], f"{item['need']} points are needed, but the rubric has {len(item['rubric'])}"
    else:
        yield from _number_problems(item)


def _number_problems(item):
    """Answers that an expression gives are computed again here."""
    kind, expression = item["kind"], item.get("compute")
    try:
        if kind == "drill":
            draw(item, random.Random(0))
        elif kind == "number" and abs(evaluate(expression) - item["answer"]) > item["tolerance"]:
            yield ["answer"], f"the answer is {item['answer']}, but {expression} gives {evaluate(expression)}"
        elif kind == "one" and expression is not None:
            text = next(option["text"] for option in item["options"] if option["correct"])
            if in_words(evaluate(expression)) not in text.split():
                yield ["options"], f"{expression} is {evaluate(expression)}; the right option says {text!r}"
    except (ValueError, ArithmeticError, SyntaxError) as error:
        yield ["compute"] if expression is not None else ["options"], f"cannot be computed: {error}"


def _located(path, text, quiz, place, problem):
    """File, line and question of a problem, in one sentence."""
    node = yaml.compose(text)
    line = node.start_mark.line if node else 0
    for key in place:
        if isinstance(node, yaml.MappingNode):
            children = {name.value: value for name, value in node.value}
        elif isinstance(node, yaml.SequenceNode):
            children = dict(enumerate(node.value))
        else:
            break
        if key not in children:              # something is missing here: the line of what should hold it
            break
        node = children[key]
        line = node.start_mark.line
    item = quiz[place[0]][place[1]] if len(place) > 1 else None
    kind = "prediction" if place and place[0] == "predictions" else "question"
    question = f", {kind} {item.get('id', '(without id)')}" if isinstance(item, dict) else ""
    return f"{path}, line {line + 1}{question}: {problem}."
