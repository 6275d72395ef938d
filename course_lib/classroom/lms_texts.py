"""What the formats for an LMS share: texts as HTML, drawn numbers, XML elements, and zip files.

A learning management system shows HTML but not our style sheet, and many have no mathematics: so formulae are
written with <sub>, <sup> and Unicode signs, as rich_text does it, and nothing needs a script.
"""

import random
import re
import xml.etree.ElementTree as ET
import zipfile

from course_lib.quiz_numbers import draw, in_words
from course_lib.rich_text import to_html

FIRST_SIGN = 0xE000  # signs without a meaning of their own, which no text contains
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the date of each file in a zip, so that the same quiz gives the same bytes


def page(text, drawn_names=None):
    """HTML of a quiz text that needs no style sheet: a root has brackets in place of its bar.

    drawn_names: {name: what the format writes where our file has [name], a number that is drawn}.
    """
    signs = {chr(FIRST_SIGN + i): name for i, name in enumerate(drawn_names or {})}
    for sign, name in signs.items():  # rich_text must not take the name for a formula
        text = text.replace(f"[{name}]", sign)
    text = re.sub(r'√<span class="root">(.*?)</span>', r"√(\1)", to_html(text))
    text = re.sub("</?span[^>]*>", "", text).replace("&#x27;", "'").replace("&quot;", '"')
    for sign, name in signs.items():
        text = text.replace(sign, drawn_names[name])
    return text


def question(item, drawn_names=None):
    """HTML of the question itself, with the unit that the answer is wanted in."""
    unit = f" (The unit: {page(item['unit'])}.)" if item.get("unit") else ""
    return page(item["text"], drawn_names) + unit


def names_in(drill):
    """The names of a drill's numbers: drawn, then computed."""
    return [*drill["numbers"], *drill.get("compute", {})]


def slips(item):
    """HTML: what to say to each wrong number that people reach."""
    return " ".join(f"<b>{in_words(slip['value'])}</b>: {page(slip['why'])}" for slip in item.get("slips", []))


def remarks(item):
    """HTML shown to everybody afterwards, where a format has no place for it beside one answer; "" if none."""
    if item["kind"] == "order":
        steps = "".join(f"<li>{page(step['text'])} {page(step['why'])}</li>" for step in item["steps"])
        return f"<p>The right order:</p><ol>{steps}</ol>"
    if item["kind"] == "text":
        points = "".join(f"<li>{page(point)}</li>" for point in item["rubric"])
        samples = "".join(f"<li>{page(s['text'])} <em>{page(s['why'])}</em></li>" for s in item["samples"])
        need = f"<p>A good answer says {item['need']} or more of:</p>"
        return f"{need}<ul>{points}</ul><p>Answers, and what is to be said of them:</p><ul>{samples}</ul>"
    return ""


def drawn(drill, count):
    """`count` different questions of a drill, the same ones each time: items of kind "one"."""
    rng, found = random.Random(drill["id"]), {}
    for _ in range(50 * count):
        one = draw(drill, rng)
        found.setdefault(tuple(one["numbers"].values()), one)
        if len(found) == count:
            break
    return [{**one, "id": f"{drill['id']}_{i}"} for i, one in enumerate(found.values(), start=1)]


def exact(value):
    """A number with all its digits, and without a point if it is whole."""
    return str(int(value)) if value == int(value) else repr(value)


def add(parent, tag, text=None, more=None, /, **attributes):
    """A new last child of `parent`, with a text and attributes. more: those whose names Python keeps for itself."""
    child = ET.SubElement(parent, tag, (more or {}) | attributes)
    child.text = text
    return child


def xml_bytes(root, indent=True):
    """An XML file. indent: only where no text has elements in it, since the new spaces would show."""
    if indent:
        ET.indent(root)
    return ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def zipped(path, files):
    """Write {name: bytes} as one zip file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, EARLIEST), data, zipfile.ZIP_DEFLATED)
