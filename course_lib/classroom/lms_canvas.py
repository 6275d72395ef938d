"""Quizzes as a QTI 1.2 package in Canvas's way: Settings → Import Course Content → QTI .zip file.

Feedback for each option is kept. Canvas has no place for a remark on one wrong number, so these stand together in
what it says to every wrong answer. A drill becomes a group of DRAWS questions of which Canvas picks one.
"""

import xml.etree.ElementTree as ET

from course_lib.classroom.lms_texts import add, drawn, exact, page, question, remarks, slips, xml_bytes, zipped
from course_lib.quiz_bank import title

DRAWS = 20  # questions that stand for a drill
QTI = "http://www.imsglobal.org/xsd/ims_qtiasiv1p2"
PACKAGE = "http://www.imsglobal.org/xsd/imsccv1p1/imscp_v1p1"
CANVAS = "http://canvas.instructure.com/xsd/cccv1p0"
TYPES = {"one": "multiple_choice_question", "several": "multiple_answers_question", "number": "numerical_question",
         "text": "essay_question", "order": "matching_question"}  # fmt: skip


def write_canvas(quiz, path):
    """Write a quiz as a zip file that Canvas imports."""
    name = quiz["notebook"]
    files = {
        "imsmanifest.xml": _manifest(name),
        f"{name}/{name}.xml": questions(quiz),
        f"{name}/assessment_meta.xml": _settings(quiz),
    }
    zipped(path, files)


def questions(quiz):
    """The questions of a quiz as QTI 1.2: bytes."""
    root = ET.Element("questestinterop", xmlns=QTI)
    assessment = add(root, "assessment", ident=quiz["notebook"], title=quiz["notebook"])
    _fields(assessment, cc_maxattempts="unlimited")
    section = add(assessment, "section", ident="root_section")
    for item in quiz["items"]:
        if item["kind"] == "drill":
            group = add(section, "section", ident=item["id"], title=title(item))
            selection = add(add(group, "selection_ordering"), "selection")
            add(selection, "selection_number", "1")
            add(add(selection, "selection_extension"), "points_per_item", "1")
            for one in drawn(item, DRAWS):
                _item(group, one)
        else:
            _item(section, item)
    return xml_bytes(root)


def _item(section, item):
    node = add(section, "item", ident=item["id"], title=title(item))
    answers = ",".join(option["letter"] for option in item.get("options", []))
    _fields(add(node, "itemmetadata"), question_type=TYPES[item["kind"]], points_possible="1",
            original_answer_ids=answers, assessment_question_identifierref=f"ref_{item['id']}")  # fmt: skip
    presentation = add(node, "presentation")
    _material(presentation, question(item))
    processing = ET.Element("resprocessing")
    add(add(processing, "outcomes"), "decvar", maxvalue="100", minvalue="0", varname="SCORE", vartype="Decimal")
    feedback = {}  # its name: the HTML
    {"one": _choice, "several": _choice, "number": _number, "text": _essay,
     "order": _matching}[item["kind"]](item, presentation, processing, feedback)  # fmt: skip
    if remarks(item):
        feedback["general_fb"] = remarks(item)
        _says(processing, "general_fb")
    node.append(processing)
    for name, text in feedback.items():
        _material(add(add(node, "itemfeedback", ident=name), "flow_mat"), text)


def _fields(parent, **fields):
    metadata = add(parent, "qtimetadata")
    for label, entry in fields.items():
        field = add(metadata, "qtimetadatafield")
        add(field, "fieldlabel", label)
        add(field, "fieldentry", entry)


def _material(parent, text):
    add(add(parent, "material"), "mattext", text, texttype="text/html")


def _condition(processing, go_on="Yes"):
    """A new condition, and the place in it for what must hold."""
    condition = add(processing, "respcondition", None, {"continue": go_on})
    return condition, add(condition, "conditionvar")


def _says(processing, feedback, choice=None):
    """Show this feedback to whoever picks this choice; to everybody, if none is given."""
    condition, holds = _condition(processing)
    if choice is None:
        add(holds, "other")
    else:
        add(holds, "varequal", choice, respident="response1")
    add(condition, "displayfeedback", feedbacktype="Response", linkrefid=feedback)


def _full_mark(condition):
    add(condition, "setvar", "100", action="Set", varname="SCORE")


def _choice(item, presentation, processing, feedback):
    single = item["kind"] == "one"
    lid = add(presentation, "response_lid", ident="response1", rcardinality="Single" if single else "Multiple")
    render = add(lid, "render_choice")
    for option in item["options"]:
        letter = option["letter"]
        _material(add(render, "response_label", ident=letter), page(option["text"]))
        feedback[f"{letter}_fb"] = page(option["why"])
        _says(processing, f"{letter}_fb", letter)
    condition, holds = _condition(processing, go_on="No")
    together = holds if single else add(holds, "and")
    for option in item["options"]:
        if option["correct"]:
            add(together, "varequal", option["letter"], respident="response1")
        elif not single:
            add(add(together, "not"), "varequal", option["letter"], respident="response1")
    _full_mark(condition)


def _text_field(presentation, **kind):
    field = add(presentation, "response_str", ident="response1", rcardinality="Single")
    add(add(field, "render_fib", **kind), "response_label", ident="answer1")


def _number(item, presentation, processing, feedback):
    _text_field(presentation, fibtype="Decimal")
    answer, tolerance = item["answer"], item["tolerance"]
    condition, holds = _condition(processing, go_on="No")
    either = add(holds, "or")
    add(either, "varequal", exact(answer), respident="response1")
    between = add(either, "and")
    add(between, "vargte", exact(round(answer - tolerance, 12)), respident="response1")
    add(between, "varlte", exact(round(answer + tolerance, 12)), respident="response1")
    _full_mark(condition)
    add(condition, "displayfeedback", feedbacktype="Response", linkrefid="correct_fb")
    feedback["correct_fb"] = page(item["why"])
    if item.get("slips"):
        feedback["general_incorrect_fb"] = slips(item)
        _says(processing, "general_incorrect_fb")


def _essay(item, presentation, processing, feedback):
    _text_field(presentation)


def _matching(item, presentation, processing, feedback):
    """Each step is matched with its place: Canvas has no question to order things."""
    share = 100 / len(item["steps"])
    places = [str(place) for place in range(1, len(item["steps"]) + 1)]
    for place, step in zip(places, item["steps"], strict=True):
        lid = add(presentation, "response_lid", ident=f"response_{place}")
        _material(lid, page(step["text"]))
        render = add(lid, "render_choice")
        for other in places:
            _material(add(render, "response_label", ident=f"place_{other}"), other)
        condition, holds = _condition(processing)
        add(holds, "varequal", f"place_{place}", respident=f"response_{place}")
        add(condition, "setvar", f"{share:.2f}", varname="SCORE", action="Add")


# ---- what belongs to the package ----
def _settings(quiz):
    """Canvas's own settings: practice, with any number of tries, and answers shuffled."""
    root = ET.Element("quiz", identifier=quiz["notebook"], xmlns=CANVAS)
    for tag, text in (("title", quiz["notebook"]), ("quiz_type", "practice_quiz"), ("allowed_attempts", "-1"),
                      ("shuffle_answers", "true"), ("show_correct_answers", "true"),
                      ("points_possible", f"{len(quiz['items'])}.0")):  # fmt: skip
        add(root, tag, text)
    return xml_bytes(root)


def _manifest(name):
    root = ET.Element("manifest", identifier=f"{name}_manifest", xmlns=PACKAGE)
    metadata = add(root, "metadata")
    add(metadata, "schema", "IMS Content")
    add(metadata, "schemaversion", "1.1.3")
    add(root, "organizations")
    resources = add(root, "resources")
    one = add(resources, "resource", identifier=name, type="imsqti_xmlv1p2")
    add(one, "file", href=f"{name}/{name}.xml")
    add(one, "dependency", identifierref=f"{name}_settings")
    settings = f"{name}/assessment_meta.xml"
    other = add(resources, "resource", identifier=f"{name}_settings", href=settings,
                type="associatedcontent/imscc_xmlv1p1/learning-application-resource")  # fmt: skip
    add(other, "file", href=settings)
    return xml_bytes(root)
