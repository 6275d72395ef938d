"""Questions as items of QTI 2.1, one file each; lms_qti_package.py packs them.

QTI 2.1 has everything that ours have: feedback on each option and on each known wrong number, questions to order,
and templates that draw a drill's numbers anew for each learner.
"""

import ast
import itertools
import xml.etree.ElementTree as ET

from course_lib.classroom.lms_texts import add, exact, names_in, page, question, remarks, xml_bytes
from course_lib.quiz_bank import title

QTI = "http://www.imsglobal.org/xsd/imsqti_v2p1"
OPERATORS = {ast.Add: "sum", ast.Sub: "subtract", ast.Mult: "product", ast.Div: "divide", ast.Pow: "power",
             ast.FloorDiv: "integerDivide", ast.Mod: "integerModulus"}  # fmt: skip


def item_xml(item):
    """One question as an assessmentItem: bytes."""
    root = ET.Element("assessmentItem", xmlns=QTI, identifier=item["id"], title=title(item),
                      adaptive="false", timeDependent="false")  # fmt: skip
    parts = {"one": _choice, "several": _choice, "number": _number, "text": _essay, "order": _order,
             "drill": _drill}[item["kind"]]  # fmt: skip
    parts(root, item)
    return xml_bytes(root, indent=False)


# ---- parts that every question has ----
def _declare(root, cardinality, base, right):
    response = add(root, "responseDeclaration", identifier="RESPONSE", cardinality=cardinality, baseType=base)
    if right:
        holder = add(response, "correctResponse")
        for value in right:
            add(holder, "value", value)
    score = add(root, "outcomeDeclaration", identifier="SCORE", cardinality="single", baseType="float")
    add(add(score, "defaultValue"), "value", "0")
    many = "multiple" if cardinality == "multiple" else "single"
    add(root, "outcomeDeclaration", identifier="FEEDBACK", cardinality=many, baseType="identifier")


def _markup(parent, tag, page_text):
    """A child made from HTML: what stands in our texts is well formed."""
    child = ET.fromstring(f"<{tag}>{page_text}</{tag}>")
    parent.append(child)
    return child


def _body(root, item, names=None):
    body = add(root, "itemBody")
    _markup(body, "p", question(item, names))
    return body


def _feedback(root, name, text):
    node = add(root, "modalFeedback", outcomeIdentifier="FEEDBACK", identifier=name, showHide="show")
    _markup(node, "div", text)


def _processing(root, feedback):
    """Full marks for the right response. feedback: an expression for what to say, put into FEEDBACK."""
    processing = add(root, "responseProcessing")
    if_right = add(add(processing, "responseCondition"), "responseIf")
    match = add(if_right, "match")
    add(match, "variable", identifier="RESPONSE")
    add(match, "correct", identifier="RESPONSE")
    _full_mark(if_right)
    add(processing, "setOutcomeValue", identifier="FEEDBACK").append(feedback)


def _full_mark(branch):
    add(add(branch, "setOutcomeValue", identifier="SCORE"), "baseValue", "1", baseType="float")


def _value(base, text):
    node = ET.Element("baseValue", baseType=base)
    node.text = text
    return node


# ---- one kind each ----
def _choice(root, item):
    options, single = item["options"], item["kind"] == "one"
    right = [option["letter"] for option in options if option["correct"]]
    _declare(root, "single" if single else "multiple", "identifier", right)
    interaction = add(_body(root, item), "choiceInteraction", responseIdentifier="RESPONSE", shuffle="true",
                      maxChoices="1" if single else "0")  # fmt: skip
    for option in options:
        _markup(interaction, "simpleChoice", page(option["text"])).set("identifier", option["letter"])
    _processing(root, ET.Element("variable", identifier="RESPONSE"))  # the letter picked names its own feedback
    for option in options:
        _feedback(root, option["letter"], page(option["why"]))


def _order(root, item):
    names = [f"step_{place}" for place in range(1, len(item["steps"]) + 1)]
    _declare(root, "ordered", "identifier", names)
    interaction = add(_body(root, item), "orderInteraction", responseIdentifier="RESPONSE", shuffle="true")
    for name, step in zip(names, item["steps"], strict=True):
        _markup(interaction, "simpleChoice", page(step["text"])).set("identifier", name)
    _processing(root, _value("identifier", "all"))
    _feedback(root, "all", remarks(item))


def _essay(root, item):
    _declare(root, "single", "string", [])
    body = _body(root, item)
    rubric = add(body, "rubricBlock", view="scorer")
    _markup(rubric, "div", remarks(item))
    add(body, "extendedTextInteraction", responseIdentifier="RESPONSE", expectedLines="6")


def _number(root, item):
    _declare(root, "single", "float", [exact(item['answer'])])
    place = add(_body(root, item), "p", "Your number: ")
    add(place, "textEntryInteraction", responseIdentifier="RESPONSE", expectedLength="12")
    cases = [("right", item["answer"], item["why"])]
    cases += [(f"slip_{i}", slip["value"], slip["why"]) for i, slip in enumerate(item.get("slips", []), start=1)]
    condition = add(add(root, "responseProcessing"), "responseCondition")
    for i, (name, value, _) in enumerate(cases):
        branch = add(condition, "responseElseIf" if i else "responseIf")
        equal = add(branch, "equal", toleranceMode="absolute", tolerance=exact(item['tolerance']))
        add(equal, "variable", identifier="RESPONSE")
        equal.append(_value("float", exact(value)))
        if name == "right":
            _full_mark(branch)
        add(branch, "setOutcomeValue", identifier="FEEDBACK").append(_value("identifier", name))
    for name, _, why in cases:
        _feedback(root, name, page(why))


# ---- drills ----
def _drill(root, item):
    options = dict(zip("ABCDEFGH", item["options"], strict=False))
    _declare(root, "single", "identifier", [letter for letter, option in options.items() if option["correct"]])
    shown = {name: f'<printedVariable identifier="{name}"/>' for name in names_in(item)}
    expressions = item.get("compute", {}) | {f"option_{x}": option["value"] for x, option in options.items()}
    for name in [*item["numbers"], *expressions]:
        add(root, "templateDeclaration", identifier=name, cardinality="single", baseType=_base(item))
    _drawing(root, item, expressions, [f"option_{letter}" for letter in options])
    interaction = add(_body(root, item, shown), "choiceInteraction", responseIdentifier="RESPONSE", shuffle="true",
                      maxChoices="1")  # fmt: skip
    for letter in options:
        choice = add(interaction, "simpleChoice", identifier=letter)
        add(choice, "printedVariable", identifier=f"option_{letter}")
    _processing(root, ET.Element("variable", identifier="RESPONSE"))
    for letter, option in options.items():
        _feedback(root, letter, page(option["why"], shown))


def _base(item):
    """Whole numbers stay whole, as long as nothing divides them."""
    values = [value for choices in item["numbers"].values() for value in choices]
    texts = [*item.get("compute", {}).values(), *(option["value"] for option in item["options"])]
    divides = any(isinstance(node, ast.Div) for text in texts for node in ast.walk(ast.parse(text)))
    return "float" if divides or any(value != int(value) for value in values) else "integer"


def _drawing(root, item, expressions, answers):
    """Draw the numbers, compute the others, and draw again where two answers would be the same."""
    processing, base = add(root, "templateProcessing"), _base(item)
    for name, choices in item["numbers"].items():
        holder = add(add(add(processing, "setTemplateValue", identifier=name), "random"), "multiple")
        for value in choices:
            holder.append(_value(base, exact(value)))
    for name, expression in expressions.items():
        tree = ast.parse(expression, mode="eval").body
        add(processing, "setTemplateValue", identifier=name).append(_expression(tree, base))
    for one, other in itertools.combinations(answers, 2):
        same = add(add(add(processing, "templateConstraint"), "not"), "equal", toleranceMode="exact")
        add(same, "variable", identifier=one)
        add(same, "variable", identifier=other)


def _expression(node, base):
    """An arithmetic expression as QTI's elements."""
    if isinstance(node, ast.Constant):
        return _value(base, exact(node.value))
    if isinstance(node, ast.Name):
        return ET.Element("variable", identifier=node.id)
    if isinstance(node, ast.UnaryOp):
        made = ET.Element("subtract")
        made.extend([_value(base, "0"), _expression(node.operand, base)])
        return made
    made = ET.Element(OPERATORS[type(node.op)])
    made.extend([_expression(node.left, base), _expression(node.right, base)])
    return made
