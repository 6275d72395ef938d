"""Quizzes as Moodle XML: Question bank → Import → Moodle XML format.

Every option keeps its own feedback. A drill becomes a calculated multiple-choice question: Moodle draws a row of
numbers for each attempt. An item to be ordered becomes a matching question, which every Moodle has.
"""

import ast
import xml.etree.ElementTree as ET

from course_lib.classroom.lms_texts import add, drawn, exact, names_in, page, question, remarks, xml_bytes
from course_lib.quiz_bank import title
from course_lib.quiz_numbers import in_words

ROWS = 40  # of drawn numbers in a drill
TYPES = {"one": "multichoice", "several": "multichoice", "number": "numerical", "text": "essay",
         "order": "matching", "drill": "calculatedmulti"}  # fmt: skip
SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


def moodle_xml(quiz):
    """A quiz as one Moodle XML file: bytes. Its questions go to a category named as the notebook."""
    root = ET.Element("quiz")
    category = add(add(root, "question", type="category"), "category")
    add(category, "text", f"$course$/top/Transformers by Experiment/{quiz['notebook']}")
    for item in quiz["items"]:
        _question(root, item)
    return xml_bytes(root)


def _question(root, item):
    node = add(root, "question", type=TYPES[item["kind"]])
    add(add(node, "name"), "text", title(item))
    _html(node, "questiontext", question(item, _braces(item)))
    _html(node, "generalfeedback", "" if item["kind"] == "text" else remarks(item))
    add(node, "defaultgrade", "1")
    add(node, "hidden", "0")
    {"one": _choice, "several": _choice, "number": _number, "text": _essay, "order": _matching,
     "drill": _calculated}[item["kind"]](node, item)  # fmt: skip


def _html(parent, tag, text, **attributes):
    node = add(parent, tag, format="html", **attributes)
    add(node, "text", text)
    return node


def _answer(node, fraction, text, why, html=True):
    """One answer with the share of the mark that it brings, in per cent, and what is said to it."""
    kind = "html" if html else "moodle_auto_format"
    answer = add(node, "answer", fraction=f"{fraction:.7g}", format=kind)
    add(answer, "text", text)
    _html(answer, "feedback", why)
    return answer


def _choice_settings(node, single):
    add(node, "single", "true" if single else "false")
    add(node, "shuffleanswers", "true")
    add(node, "answernumbering", "ABCD")
    for when in ("correctfeedback", "partiallycorrectfeedback", "incorrectfeedback"):
        _html(node, when, "")


def shares(options, single):
    """Per cent of the mark for each option: the right ones share 100, and a wrong tick takes back its share."""
    n_right = sum(option["correct"] for option in options)
    wrong = 0 if single else -100 / (len(options) - n_right)
    return [100 / n_right if option["correct"] else wrong for option in options]


def _choice(node, item):
    single = item["kind"] == "one"
    _choice_settings(node, single)
    for option, share in zip(item["options"], shares(item["options"], single), strict=True):
        _answer(node, share, page(option["text"]), page(option["why"]))


def _number(node, item):
    known = [(100, item["answer"], item["why"]), *((0, s["value"], s["why"]) for s in item.get("slips", []))]
    for share, value, why in known:  # the first one that fits counts
        answer = _answer(node, share, exact(value), page(why), html=False)
        add(answer, "tolerance", exact(item['tolerance']))


def _essay(node, item):
    add(node, "responseformat", "editor")
    add(node, "responserequired", "1")
    add(node, "responsefieldlines", "6")
    add(node, "attachments", "0")
    _html(node, "graderinfo", remarks(item))
    _html(node, "responsetemplate", "")


def _matching(node, item):
    add(node, "shuffleanswers", "true")
    for when in ("correctfeedback", "partiallycorrectfeedback", "incorrectfeedback"):
        _html(node, when, "")
    for place, step in enumerate(item["steps"], start=1):
        pair = _html(node, "subquestion", page(step["text"]))
        add(add(pair, "answer"), "text", str(place))


# ---- drills ----
def _braces(item):
    """Moodle writes {h} where our files write [h]."""
    return {name: f"{{{name}}}" for name in names_in(item)} if item["kind"] == "drill" else {}


def formula(expression):
    """An expression as Moodle writes it: "d_model // h" gives floor({d_model}/{h}). ValueError if it has none."""
    return _formula(ast.parse(expression, mode="eval").body)


def _formula(node):
    if isinstance(node, ast.Constant):
        return in_words(node.value)
    if isinstance(node, ast.Name):
        return f"{{{node.id}}}"
    if isinstance(node, ast.UnaryOp):
        return f"(-{_formula(node.operand)})"
    left, right = _formula(node.left), _formula(node.right)
    if type(node.op) in SIGNS:
        return f"({left}{SIGNS[type(node.op)]}{right})"
    names = {ast.Pow: "pow({},{})", ast.Mod: "fmod({},{})", ast.FloorDiv: "floor({}/{})"}
    return names[type(node.op)].format(left, right)


def _calculated(node, item):
    _choice_settings(node, single=True)
    add(node, "synchronize", "0")
    rows = [one["numbers"] for one in drawn(item, ROWS)]
    for option in item["options"]:
        answer = _answer(node, 100 if option["correct"] else 0, f"{{={formula(option['value'])}}}",
                         page(option["why"], _braces(item)))  # fmt: skip
        for name, value in (("tolerance", "0.01"), ("tolerancetype", "1"),
                            ("correctanswerformat", "1"), ("correctanswerlength", _digits(rows))):  # fmt: skip
            add(answer, name, value)
    definitions = add(node, "dataset_definitions")
    for name in rows[0]:
        _dataset(definitions, name, [row[name] for row in rows])


def _digits(rows):
    """How many decimals the answers are shown with: none where all numbers are whole."""
    return "0" if all(value == int(value) for row in rows for value in row.values()) else "4"


def _dataset(parent, name, values):
    """The numbers that one name stands for, row by row; Moodle takes the same row for every name."""
    node = add(parent, "dataset_definition")
    for tag, text in (("status", "private"), ("name", name)):
        add(add(node, tag), "text", text)
    add(node, "type", "calculated")
    digits = _digits([{name: value} for value in values])
    for tag, text in (("distribution", "uniform"), ("minimum", in_words(min(values))),
                      ("maximum", in_words(max(values))), ("decimals", digits)):  # fmt: skip
        add(add(node, tag), "text", text)
    add(node, "itemcount", str(len(values)))
    items = add(node, "dataset_items")
    for number, value in enumerate(values, start=1):
        one = add(items, "dataset_item")
        add(one, "number", str(number))
        add(one, "value", in_words(value))
    add(node, "number_of_items", str(len(values)))
