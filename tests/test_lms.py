"""The quizzes as an LMS gets them: each file is read back by an independent reader, answered, and held to the bank.

No package carries the schemas of Moodle XML (there is none), QTI 2.1 or QTI 1.2, and tests use no network. So the
readers here check the structure themselves: the order of parts, that each name that is used is declared, and what
a learner's answer would score and be told. text2qti, an independent writer of Canvas packages, must agree with ours.
"""

import copy
import html
import itertools
import random
import re
import xml.etree.ElementTree as ET
import zipfile

import pytest

from course_lib import quiz_bank, rich_text
from course_lib.classroom import lms
from course_lib.classroom.lms_canvas import questions, write_canvas
from course_lib.classroom.lms_gift import gift
from course_lib.classroom.lms_moodle import formula, moodle_xml
from course_lib.classroom.lms_qti import item_xml
from course_lib.classroom.lms_qti_package import write_qti
from course_lib.quiz_numbers import evaluate, in_words

NAMES = lms.names()
EVERY = [(name, item["id"]) for name in NAMES for item in quiz_bank.load(name)["items"]]
INVENTED = {
    "notebook": "99_invented",
    "items": [
        {"id": "signs", "kind": "one", "text": r"Is {a} = [b] ~ c # d: `x == 1 -> {}`, $\sqrt{d_k} < \frac{a}{b}$ & \n?",
         "options": [{"letter": "A", "text": "{=yes} ~50%", "correct": True, "why": "# so: it's \"so\" \\ it is"},
                     {"letter": "B", "text": "no = never", "correct": False, "why": "//no\n  and a new line"}]},
        {"id": "half", "kind": "number", "text": "A half?", "answer": 0.5, "tolerance": 0.001, "unit": "%",
         "compute": "1 / 2", "why": "So $1/2$.", "slips": [{"value": -0.25, "why": "That is $-1/4$."}]},
        {"id": "big", "kind": "number", "text": "How many?", "answer": 175181291520001, "tolerance": 0,
         "compute": "175181291520001", "why": "Every digit counts."},
        {"id": "shares", "kind": "drill", "text": "[a] parts of [b]?", "numbers": {"a": [1, 3], "b": [2, 8, 5]},
         "options": [{"value": "a / b", "correct": True, "why": "[a] / [b]"},
                     {"value": "b // a", "correct": False, "why": "upside down"},
                     {"value": "-(a ** 2) % b", "correct": False, "why": "no"}]},
    ],
}  # fmt: skip


def load(name):
    return INVENTED if name == "99_invented" else quiz_bank.load(name)


every_quiz = pytest.mark.parametrize("name", [*NAMES, "99_invented"])


def plain(page):
    """HTML as words, spaces evened out; a root's brackets count like its bar."""
    text = html.unescape(re.sub("<[^>]*>", "", page or ""))
    return " ".join(text.replace("√(", "√").replace("√", " √ ").replace(")", " ").split())


def words(text):
    return plain(rich_text.to_html(text))


def facts(item):
    """What must survive of an item, from the bank, in plain words."""
    kind = item["kind"]
    if kind in ("one", "several"):
        said = [(words(o["text"]), o["correct"], words(o["why"])) for o in item["options"]]
    elif kind == "number":
        known = [(item["answer"], True, item["why"])] + [(s["value"], False, s["why"]) for s in item.get("slips", [])]
        said = [(value, right, words(why)) for value, right, why in known]
    elif kind == "order":
        said = [words(step["text"]) for step in item["steps"]]
    else:
        said = []
    return {"kind": kind, "text": words(item["text"]), "said": said}


def remarked(item, page):
    """Whether a page of remarks says all that the bank says of an item to be ordered or written."""
    parts = item.get("rubric", []) + [
        s[key] for s in item.get("steps", []) + item.get("samples", []) for key in ("text", "why")
    ]
    return all(words(part) in plain(page) for part in parts)


def undrawn(quiz):
    return [item for item in quiz["items"] if item["kind"] != "drill"]


# ---- Moodle XML ----
def read_moodle(data):
    """The questions of a Moodle XML file by name, as facts."""
    found = {}
    for node in ET.fromstring(data).iter("question"):
        if node.get("type") != "category":
            found[node.findtext("name/text")] = moodle_facts(node)
    return found


def moodle_facts(node):
    kind = {"multichoice": "one", "numerical": "number", "essay": "text", "matching": "order",
            "calculatedmulti": "drill"}[node.get("type")]  # fmt: skip
    if kind == "one" and node.findtext("single") == "false":
        kind = "several"
    said = []
    for answer in node.iter("answer"):
        if "fraction" in answer.attrib and kind in ("one", "several", "number"):
            text = answer.findtext("text")
            right = float(answer.get("fraction")) > 0
            said.append((float(text) if kind == "number" else plain(text), right, plain(answer.findtext("feedback/text"))))
    if kind == "order":
        pairs = sorted(node.iter("subquestion"), key=lambda pair: int(pair.findtext("answer/text")))
        said = [plain(pair.findtext("text")) for pair in pairs]
    return {"kind": kind, "text": without_unit(plain(node.findtext("questiontext/text"))), "said": said}


def without_unit(text):
    return re.sub(r" \(The unit: [^()]*\. ?$", "", text)


def title(item):
    return item.get("title", item["id"][0].upper() + item["id"][1:].replace("_", " "))


@every_quiz
def test_moodle_xml_read_back_equals_the_bank(name):
    quiz = load(name)
    read = read_moodle(moodle_xml(quiz))
    assert list(read) == [title(item) for item in quiz["items"]]
    for item in undrawn(quiz):
        assert read[title(item)] == facts(item)


def test_the_reader_notices_a_changed_answer_a_lost_reason_and_a_lost_formula():
    quiz = quiz_bank.load(NAMES[0])
    for change in (b"fraction=\"100\"", b"That is the number of heads, not the width of one.", b"&lt;sub&gt;model"):
        data = moodle_xml(quiz)
        assert change in data
        read = read_moodle(data.replace(change, b"fraction=\"0\"" if b"fraction" in change else b"", 1))
        assert any(read.get(title(item)) != facts(item) for item in undrawn(quiz)), change


@every_quiz
def test_marks_in_moodle_add_up_and_guessing_everything_brings_nothing(name):
    for node in ET.fromstring(moodle_xml(load(name))).iter("question"):
        shares = [float(a.get("fraction")) for a in node.iter("answer") if "fraction" in a.attrib]
        if node.get("type") in ("multichoice", "calculatedmulti"):
            assert sum(share for share in shares if share > 0) == pytest.approx(100, abs=1e-4)
        if node.findtext("single") == "false":
            assert sum(shares) == pytest.approx(0, abs=1e-4)
        if node.get("type") == "numerical":
            assert shares[0] == 100 and not any(shares[1:])


@every_quiz
def test_every_part_that_moodle_imports_of_a_question_is_there_once(name):
    needed = {"multichoice": ["single", "shuffleanswers", "answernumbering", "correctfeedback"],
              "calculatedmulti": ["single", "synchronize", "dataset_definitions"], "numerical": [], "category": [],
              "essay": ["responseformat", "graderinfo"], "matching": ["shuffleanswers"]}  # fmt: skip
    for node in ET.fromstring(moodle_xml(load(name))).iter("question"):
        tags = [child.tag for child in node]
        common = ["category"] if node.get("type") == "category" else ["name", "questiontext", "generalfeedback"]
        assert all(tags.count(tag) == 1 for tag in common + needed[node.get("type")])
        assert all(text.get("format") == "html" for text in node.iter("questiontext"))


def test_what_a_marker_and_a_learner_need_beside_the_answers_is_in_moodle():
    for name in NAMES:
        nodes = {n.findtext("name/text"): n for n in ET.fromstring(moodle_xml(load(name))).iter("question")}
        for item in load(name)["items"]:
            if item["kind"] == "text":
                assert remarked(item, nodes[title(item)].findtext("graderinfo/text"))
            if item["kind"] == "order":
                assert remarked(item, nodes[title(item)].findtext("generalfeedback/text"))


def moodle_evaluate(text, row):
    """What Moodle makes of {=({d_model}*{h})} for one row of its numbers."""
    inner = re.fullmatch(r"\{=(.*)\}", text)[1]
    for name, value in row.items():
        inner = inner.replace(f"{{{name}}}", str(value))
    assert re.fullmatch(r"[-+*/().,\d]*", re.sub("pow|floor|fmod", "", inner)), f"Moodle knows no {inner}"
    functions = {"pow": pow, "floor": lambda x: x // 1, "fmod": lambda x, y: x - y * int(x / y)}
    return eval(inner, {"__builtins__": {}}, functions)  # the characters were checked in the line above


def filled(text, numbers):
    """A drill's text in plain words, with its numbers in place."""
    for name, value in numbers.items():
        text = text.replace(f"[{name}]", in_words(value))
    return words(text)


def drills():
    return [item for name in [*NAMES, "99_invented"] for item in load(name)["items"] if item["kind"] == "drill"]


@pytest.mark.parametrize("drill", drills(), ids=lambda drill: drill["id"])
def test_a_drill_in_moodle_draws_numbers_for_which_one_answer_is_right(drill):
    node = list(ET.fromstring(moodle_xml({"notebook": "99_x", "items": [drill]})).iter("question"))[1]
    columns = {d.findtext("name/text"): [float(v.text) for v in d.iter("value")] for d in node.iter("dataset_definition")}
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    assert len({tuple(row.values()) for row in rows}) == len(rows) >= 4
    texts = [node.findtext("questiontext/text"), *(a.findtext("feedback/text") for a in node.iter("answer"))]
    assert set(re.findall(r"\{([^}]*)\}", " ".join(texts))) <= set(columns), "a formula's braces would be taken for names"
    assert not re.search(r"\[\w+\]", " ".join(texts))
    for row in rows:
        shown = re.sub(r"\{(\w+)\}", lambda match, row=row: in_words(row[match[1]]), " ".join(texts))
        assert plain(shown) == " ".join(filled(text, row) for text in [drill["text"], *(o["why"] for o in drill["options"])])
    for row, option in itertools.product(rows, range(len(drill["options"]))):
        answer = list(node.iter("answer"))[option]
        bank = drill["options"][option]
        if "%" not in bank["value"]:  # PHP's remainder has the sign of the left side
            assert moodle_evaluate(answer.findtext("text"), row) == pytest.approx(evaluate(bank["value"], row))
        assert (answer.get("fraction") == "100") == bank["correct"]


def test_an_expression_becomes_moodles():
    assert formula("a * (b + 2) ** 2 // 3") == "floor(({a}*pow(({b}+2),2))/3)"


# ---- GIFT ----
def read_gift(text):
    """The questions of a GIFT file by name, as facts: read by Moodle's rules."""
    blocks = [block for block in re.split(r"\n\s*\n", text.strip()) if not block.startswith("$CATEGORY")]
    return dict(gift_question(block) for block in blocks)


def gift_question(block):
    for i, sign in enumerate("\\:#={}~"):  # a sign after a backslash is a text's
        block = block.replace(f"\\{sign}", chr(0xF000 + i))
    name, text, body = re.fullmatch(r"::(.*?)::\s*\[html\](.*?)\{(.*)\}", block, re.S).groups()
    assert "{" not in body and "}" not in body
    body, _, remark = body.strip().partition("####")
    kind, said = gift_answers(body.strip())
    found = {"kind": kind, "text": without_unit(plain(gift_text(text))), "said": said}
    return gift_text(name), (found, gift_text(remark))


def gift_text(text):
    return re.sub(r"[\uf000-\uf006]", lambda m: "\\:#={}~"[ord(m[0]) - 0xF000], text)


def gift_answers(body):
    if not body:
        return "text", []
    if body[0] == "#":
        answers = [gift_answer(part if part.startswith("%") else f"={part}") for part in body[1:].split("=")[1:]]
        return "number", [(float(value.split(":")[0]), share > 0, why) for value, share, why in answers]
    if "~" in body:
        parts = body.replace("=", "~=").split("~")[1:]
        answers = [gift_answer(part) for part in parts]
        return ("one" if "=" in body else "several"), [(value, share > 0, why) for value, share, why in answers]
    pairs = [part.split("->") for part in body.split("=")[1:]]
    return "order", [plain(gift_text(text)) for text, _ in sorted(pairs, key=lambda pair: int(pair[1]))]


def gift_answer(part):
    """(answer, share of the mark in per cent, feedback) of "=answer #why", "%50%answer #why" or "answer #why"."""
    part, share = part.strip(), 0.0
    weight = re.match(r"%(-?[\d.]+)%", part)
    if part.startswith("="):
        part, share = part[1:], 100.0
    elif weight:
        part, share = part[weight.end():], float(weight[1])
    value, why = part.split("#")
    return plain(gift_text(value)), share, plain(gift_text(why))


@every_quiz
def test_gift_read_back_equals_the_bank(name):
    quiz, read = load(name), read_gift(gift(load(name)))
    assert set(read) >= {title(item) for item in undrawn(quiz)}
    for item in undrawn(quiz):
        found, remark = read[title(item)]
        assert found == facts(item)
        assert remarked(item, remark)


@pytest.mark.parametrize("drill", drills(), ids=lambda drill: drill["id"])
def test_a_drill_in_gift_is_several_different_questions_with_one_right_answer_each(drill):
    read = read_gift(gift({"notebook": "99_x", "items": [drill]}))
    assert len(read) >= 4 and len({found["text"] for found, _ in read.values()}) == len(read)
    for found, _ in read.values():
        assert found["kind"] == "one" and [right for _, right, _ in found["said"]].count(True) == 1
        assert len({text for text, _, _ in found["said"]}) == len(drill["options"])


def test_the_reader_of_gift_notices_a_sign_that_lost_its_backslash():
    text = gift(INVENTED).replace("\\~ 50%", "~ 50%").replace("\\~50%", "~50%")
    assert text != gift(INVENTED)
    with pytest.raises(ValueError):
        read_gift(text)


# ---- Canvas, QTI 1.2 ----
def read_canvas(data):
    """The questions of a QTI 1.2 file by their ids: {"type", "text", "options": {ident: text}, "node"}."""
    root = ET.fromstring(re.sub(rb' xmlns="[^"]*"', b"", data))
    found = {}
    for node in root.iter("item"):
        labels = {label.get("ident"): plain(label.findtext(".//mattext")) for label in node.iter("response_label")}
        text = without_unit(plain(node.findtext("presentation/material/mattext")))
        found[node.get("ident")] = {"type": field(node, "question_type"), "text": text, "options": labels, "node": node}
    return found


def field(node, label):
    return next(f.findtext("fieldentry") for f in node.iter("qtimetadatafield") if f.findtext("fieldlabel") == label)


def canvas_answer(node, **given):
    """(score, what is said) for responses {ident: a list of choices, or a number}."""
    score, said = 0.0, []
    texts = {fb.get("ident"): plain(fb.findtext(".//mattext")) for fb in node.iter("itemfeedback")}
    for condition in node.iter("respcondition"):
        if all(holds(part, given) for part in condition.find("conditionvar")):
            for mark in condition.iter("setvar"):
                score = float(mark.text) + (score if mark.get("action") == "Add" else 0)
            said += [texts[shown.get("linkrefid")] for shown in condition.iter("displayfeedback")]
            if condition.get("continue") == "No":
                break
    return score, said


def holds(part, given):
    if part.tag in ("and", "or", "not"):
        inner = [holds(child, given) for child in part]
        return {"and": all(inner), "or": any(inner), "not": not any(inner)}[part.tag]
    if part.tag == "other":
        return True
    value = given[part.get("respident")]
    if isinstance(value, list):
        return part.text in value
    tests = {"varequal": value == float(part.text), "vargte": value >= float(part.text), "varlte": value <= float(part.text)}
    return tests[part.tag]


@every_quiz
def test_canvas_marks_each_answer_as_the_bank_does_and_says_its_reason(name):
    read = read_canvas(questions(load(name)))
    for item in undrawn(load(name)):
        found = read[item["id"]]
        assert found["text"] == words(item["text"])
        if item["kind"] in ("one", "several"):
            assert found["options"] == {o["letter"]: words(o["text"]) for o in item["options"]}
        for given, right, said in expected_answers(item):
            score, told = canvas_answer(found["node"], **canvas_given(item, given))
            assert (score > 99.9) == right
            assert item["kind"] in ("order", "text") or all(any(s in t for t in told) for s in said)
        if item["kind"] in ("order", "text"):
            assert remarked(item, " ".join(fb.findtext(".//mattext") for fb in found["node"].iter("itemfeedback")))


def canvas_given(item, given):
    if item["kind"] == "order":
        return {f"response_{step + 1}": [f"place_{place}"] for place, step in enumerate(given, start=1)}
    return {"response1": given}


def expected_answers(item):
    """(answer, whether it is right, the reasons that it must bring), for answers that tell formats apart."""
    options = item.get("options", [])
    right = [o["letter"] for o in options if o.get("correct")]
    if item["kind"] == "one":
        return [([o["letter"]], o["correct"], [words(o["why"])]) for o in options]
    if item["kind"] == "several":
        picks = [list(pick) for n in range(1, len(options) + 1) for pick in itertools.combinations("ABCDEFGH"[:len(options)], n)]
        return [(pick, pick == right, [words(o["why"]) for o in options if o["letter"] in pick]) for pick in picks]
    if item["kind"] == "number":
        slips = [(float(s["value"]), False, [words(s["why"])]) for s in item.get("slips", [])]
        edge = item["answer"] + 0.9 * item["tolerance"]
        return [(float(v), True, [words(item["why"])]) for v in (item["answer"], edge)] + slips
    if item["kind"] == "order":
        n = len(item["steps"])
        return [(list(range(n)), True, []), ([1, 0, *range(2, n)], False, []), ([*range(1, n), 0], False, [])]
    return []


@pytest.mark.parametrize("drill", drills(), ids=lambda drill: drill["id"])
def test_a_drill_in_canvas_is_a_group_of_which_one_is_picked(drill):
    root = ET.fromstring(re.sub(rb' xmlns="[^"]*"', b"", questions({"notebook": "99_x", "items": [drill]})))
    group = root.find("assessment/section/section")
    assert group.findtext("selection_ordering/selection/selection_number") == "1"
    items = group.findall("item")
    assert len({item.findtext("presentation/material/mattext") for item in items}) == len(items) >= 4
    for item in items:
        letters = [label.get("ident") for label in item.iter("response_label")]
        marks = [canvas_answer(item, response1=[letter]) for letter in letters]
        assert [score for score, _ in marks].count(100) == 1 and all(said for _, said in marks)


@every_quiz
def test_the_canvas_package_holds_what_its_manifest_names(name, tmp_path):
    write_canvas(load(name), tmp_path / "quiz.zip")
    with zipfile.ZipFile(tmp_path / "quiz.zip") as package:
        manifest = ET.fromstring(package.read("imsmanifest.xml"))
        files = {file.get("href") for file in manifest.iter() if file.tag.endswith("}file")}
        assert files | {"imsmanifest.xml"} == set(package.namelist())
        resources = {r.get("identifier") for r in manifest.iter() if r.tag.endswith("}resource")}
        assert {d.get("identifierref") for d in manifest.iter() if d.tag.endswith("}dependency")} <= resources
        for file in files:
            ET.fromstring(package.read(file))


# ---- QTI 2.1 ----
ITEM_PARTS = ["responseDeclaration", "outcomeDeclaration", "templateDeclaration", "templateProcessing", "itemBody",
              "responseProcessing", "modalFeedback"]  # fmt: skip
INLINE = {"em", "strong", "code", "sub", "sup", "i", "b", "printedVariable", "textEntryInteraction"}
INSIDE = {"itemBody": {"p", "choiceInteraction", "orderInteraction", "extendedTextInteraction", "rubricBlock"},
          "choiceInteraction": {"simpleChoice"}, "orderInteraction": {"simpleChoice"}, "rubricBlock": {"div"},
          "modalFeedback": {"div"}, "div": INLINE | {"p", "ul", "ol"}, "ul": {"li"}, "ol": {"li"},
          "simpleChoice": INLINE, "p": INLINE, "li": INLINE}  # fmt: skip


def bare(data):
    """The element tree of a file without its namespace."""
    return ET.fromstring(re.sub(rb' xmlns="[^"]*"', b"", data))


def structure_problems(root):
    """What in an assessmentItem breaks the order of its parts, stands where it may not, or is not declared."""
    order = [ITEM_PARTS.index(child.tag) for child in root]
    problems = [] if order == sorted(order) else [f"parts out of order: {[child.tag for child in root]}"]
    for node in root.iter():
        allowed = INSIDE.get(node.tag, INLINE if node.tag in INLINE else None)
        problems += [f"{c.tag} in {node.tag}" for c in node if allowed is not None and c.tag not in allowed]
    declared = {d.get("identifier") for d in root if d.tag.endswith("Declaration")}
    for node in root.iter():
        names = [node.get(key) for key in ("responseIdentifier", "outcomeIdentifier") if node.get(key)]
        if node.tag in ("variable", "correct", "printedVariable", "setOutcomeValue", "setTemplateValue"):
            names.append(node.get("identifier"))
        problems += [f"{name} is not declared" for name in names if name not in declared]
    return problems


@pytest.mark.parametrize("name, id", EVERY + [("99_invented", item["id"]) for item in INVENTED["items"]])
def test_a_qti_item_has_its_parts_in_order_and_declares_what_it_uses(name, id):
    item = next(item for item in load(name)["items"] if item["id"] == id)
    assert structure_problems(bare(item_xml(item))) == []


def test_structure_problems_finds_a_misplaced_part_and_an_unknown_name():
    good = item_xml(quiz_bank.load(NAMES[0])["items"][0])
    moved = bare(good)
    moved.insert(0, moved[-1])
    assert structure_problems(moved)
    assert structure_problems(bare(good.replace(b'"SCORE" cardinality', b'"SCOER" cardinality')))


def qti_answer(root, given, variables=()):
    """(score, what is said) for a response to an assessmentItem, by its own response processing."""
    values = dict(variables) | {"RESPONSE": given, "SCORE": 0.0, "FEEDBACK": None}
    right = [value.text for value in root.findall("responseDeclaration/correctResponse/value")]
    values["correct"] = right[0] if root.find("responseDeclaration").get("cardinality") == "single" and right else right
    for step in root.find("responseProcessing") if root.find("responseProcessing") is not None else []:
        branches = step if step.tag == "responseCondition" else [step]
        for branch in branches:
            if branch.tag == "setOutcomeValue" or qti_value(branch[0], values):
                for node in [branch] if branch.tag == "setOutcomeValue" else branch[1:]:
                    values[node.get("identifier")] = qti_value(node[0], values)
                break
    shown = values["FEEDBACK"] if isinstance(values["FEEDBACK"], list) else [values["FEEDBACK"]]
    said = [printed(node, values) for node in root.iter("modalFeedback") if node.get("identifier") in shown]
    return float(values["SCORE"]), said


def qti_given(item, given):
    if item["kind"] == "order":
        return [f"step_{step + 1}" for step in given]
    return given[0] if item["kind"] == "one" else given


def qti_value(node, values):
    """The value of an expression of QTI."""
    if node.tag == "baseValue":
        return node.text if node.get("baseType") == "identifier" else float(node.text)
    if node.tag in ("variable", "correct"):
        return values["correct" if node.tag == "correct" else node.get("identifier")]
    if node.tag == "random":
        return qti_value(values["rng"].choice(list(node[0])), values)
    inner = [qti_value(child, values) for child in node]
    if node.tag == "match":
        return sorted(inner[0]) == sorted(inner[1]) if values.get("unordered") else inner[0] == inner[1]
    if node.tag == "equal":
        return abs(inner[0] - inner[1]) <= float(node.get("tolerance", 0))
    operations = {"sum": sum, "not": lambda v: not v[0], "product": lambda v: v[0] * v[1], "divide": lambda v: v[0] / v[1],
                  "subtract": lambda v: v[0] - v[1], "power": lambda v: v[0] ** v[1],
                  "integerDivide": lambda v: v[0] // v[1], "integerModulus": lambda v: v[0] % v[1]}  # fmt: skip
    return operations[node.tag](inner)


def printed(node, values):
    """The words of an element, with the values of its variables."""
    node = copy.deepcopy(node)
    for variable in node.iter("printedVariable"):
        variable.text = in_words(values[variable.get('identifier')])
    return plain(ET.tostring(node, encoding="unicode", method="xml"))


@every_quiz
def test_qti_marks_each_answer_as_the_bank_does_and_says_its_reason(name):
    for item in undrawn(load(name)):
        root = bare(item_xml(item))
        assert without_unit(printed(root.find("itemBody/p"), {})) == words(item["text"])
        if item["kind"] in ("one", "several"):
            assert [printed(c, {}) for c in root.iter("simpleChoice")] == [words(o["text"]) for o in item["options"]]
        for given, right, said in expected_answers(item):
            score, told = qti_answer(root, qti_given(item, given), {"unordered": item["kind"] == "several"})
            assert (score == 1) == right
            assert told == said or item["kind"] == "order" and remarked(item, told[0])
        if item["kind"] == "text":
            assert remarked(item, printed(root.find("itemBody/rubricBlock"), {}))


@pytest.mark.parametrize("drill", drills(), ids=lambda drill: drill["id"])
def test_a_drill_in_qti_draws_numbers_and_stays_right(drill):
    root, seen = bare(item_xml(drill)), set()
    for seed in range(60):
        values = drawn_by_qti(root, random.Random(seed))
        numbers = {name: int(v) if v == int(v) else v for name, v in values.items() if name != "rng"}
        seen.add(tuple(numbers.values()))
        assert printed(root.find("itemBody/p"), values) == filled(drill["text"], numbers)
        assert len({numbers[name] for name in numbers if name.startswith("option_")}) == len(drill["options"])
        for letter, option in zip("ABCDEFGH", drill["options"], strict=False):
            assert numbers[f"option_{letter}"] == pytest.approx(evaluate(option["value"], numbers))
            score, told = qti_answer(root, letter, values)
            assert (score == 1) == option["correct"] and told == [filled(option["why"], numbers)]
    assert len(seen) >= 4


def drawn_by_qti(root, rng):
    """The values of an item's template variables, drawn anew until its constraints hold."""
    while True:
        values = {"rng": rng}
        for step in root.find("templateProcessing"):
            if step.tag == "setTemplateValue":
                values[step.get("identifier")] = qti_value(step[0], values)
            elif step.tag == "templateConstraint" and not qti_value(step[0], values):
                break
        else:
            return values


@every_quiz
def test_the_qti_package_holds_what_its_manifest_and_its_test_name(name, tmp_path):
    write_qti(load(name), tmp_path / "quiz.zip")
    with zipfile.ZipFile(tmp_path / "quiz.zip") as package:
        manifest = bare(package.read("imsmanifest.xml"))
        assert {file.get("href") for file in manifest.iter("file")} | {"imsmanifest.xml"} == set(package.namelist())
        resources = [resource.get("identifier") for resource in manifest.iter("resource")]
        assert len(set(resources)) == len(resources)
        assert {d.get("identifierref") for d in manifest.iter("dependency")} <= set(resources)
        refs = bare(package.read("test.xml")).iter("assessmentItemRef")
        assert [ref.get("href") for ref in refs] == [f"{item['id']}.xml" for item in load(name)["items"]]


# ---- formulae, and the command ----
def test_formulae_survive_in_every_format_without_a_script():
    quiz = quiz_bank.load("01_multi_head_intuition")
    moodle, canvas = (html.unescape(data.decode("utf-8")) for data in (moodle_xml(quiz), questions(quiz)))
    for text in (moodle, canvas, gift(quiz), item_xml(quiz["items"][0]).decode("utf-8")):
        assert "<i>d</i><sub>model</sub>" in text and "<i>d</i><sub><i>k</i></sub>" in text
        assert "$d" not in text and "d_{" not in text


def test_the_command_writes_every_format_and_the_same_bytes_again(tmp_path, capsys):
    assert lms.main([str(tmp_path / "a")]) == 0
    assert capsys.readouterr().out.count("questions") == 4 * len(NAMES)
    assert lms.main([str(tmp_path / "b"), "--notebook", NAMES[0]]) == 0
    written = sorted(path for path in (tmp_path / "b").rglob("*") if path.is_file())
    assert len(written) == 4
    for path in written:
        assert path.read_bytes() == (tmp_path / "a" / path.relative_to(tmp_path / "b")).read_bytes()


def test_a_dry_run_writes_nothing_and_names_what_it_would(tmp_path, capsys):
    assert lms.main([str(tmp_path / "new"), "--dry-run", "--format", "gift"]) == 0
    assert not (tmp_path / "new").exists() and f"{NAMES[0]}.txt" in capsys.readouterr().out


def test_an_unknown_notebook_and_a_folder_that_is_a_file_are_said(tmp_path, capsys):
    assert lms.main([str(tmp_path), "--notebook", "09_nothing"]) == 1
    assert "There are: 01_multi_head_intuition" in capsys.readouterr().err
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert lms.main([str(tmp_path / "file")]) == 1
    assert "file" in capsys.readouterr().err


# ---- text2qti, which writes the same kind of package from a text of its own ----
def text2qti_source(quiz):
    """The items that text2qti has a kind for, in its own notation, with plain words."""
    lines = [f"Quiz title: {quiz['notebook']}", ""]
    for number, item in enumerate(quiz["items"], start=1):
        if item["kind"] in ("one", "several"):
            lines.append(f"{number}. {for_text2qti(item['text'])}")
            for option in item["options"]:
                sign = {True: "*", False: ""}[option["correct"]] if item["kind"] == "one" else "[*]" if option["correct"] else "[ ]"
                letter = f"{sign}{option['letter'].lower()})" if item["kind"] == "one" else sign
                lines += [f"{letter} {for_text2qti(option['text'])}", f"... {for_text2qti(option['why'])}"]
        elif item["kind"] == "number":
            lines += [f"{number}. {for_text2qti(item['text'])}", f"+ {for_text2qti(item['why'])}",
                      f"= {item['answer']} +- {item['tolerance']}"]  # fmt: skip
        elif item["kind"] == "text":
            lines += [f"{number}. {for_text2qti(item['text'])}", "____"]
        lines.append("")
    return "\n".join(lines)


def for_text2qti(text):
    """Words with every sign of Markdown marked as text."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!<>&$~|'\"])", r"\\\1", words(text))


@pytest.mark.parametrize("name", NAMES)
def test_text2qti_writes_the_same_questions_answers_and_marks(name):
    quiz_module = pytest.importorskip("text2qti.quiz", reason="no text2qti: python3 -m course_lib install lms")
    from text2qti.config import Config
    from text2qti.xml_assessment import assessment

    quiz = load(name)
    theirs = quiz_module.Quiz(text2qti_source(quiz), config=Config(), source_name=name)
    theirs = read_canvas(assessment(quiz=theirs, assessment_identifier="a", title_xml="t").encode("utf-8"))
    ours = read_canvas(questions(quiz))
    compared = [item for item in undrawn(quiz) if item["kind"] != "order"]
    assert len(theirs) == len(compared) > 0
    for item, other in zip(compared, theirs.values(), strict=True):
        mine = ours[item["id"]]
        assert (mine["type"], mine["text"]) == (other["type"], other["text"])
        if "options" in item:
            assert list(mine["options"].values()) == list(other["options"].values())
        names = dict(zip(mine["options"], other["options"], strict=True))
        for given, _, _ in expected_answers(item):
            translated = [names[letter] for letter in given] if isinstance(given, list) else given
            score, said = canvas_answer(mine["node"], response1=given)
            assert (score, said) == canvas_answer(other["node"], response1=translated) or item["kind"] == "number" and (
                score == canvas_answer(other["node"], response1=translated)[0])  # fmt: skip
