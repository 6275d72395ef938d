"""What marking leaves behind: a table, a page for each learner, an overview of the class, the short answers to mark."""

import csv
import html
import io
import os
import re
from collections import Counter, defaultdict
from pathlib import PurePosixPath

from course_lib import quiz_bank
from course_lib.classroom import tasks
from course_lib.exercises.result import STYLE, CheckResult, Table

FRAME = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --jp-success-color1: #2e7d32; --jp-error-color1: #c62828; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }}
table {{ border-collapse: collapse; margin: 1rem 0; }} caption {{ text-align: left; font-weight: 600; padding: 4px 0; }}
th, td {{ text-align: left; vertical-align: top; padding: 4px 12px 4px 0; border-bottom: 1px solid #8886; }}
td.n {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }}
@media (max-width: 40rem) {{ body {{ padding: 0 12px; }} main > table :is(th, td) {{ padding-right: 8px; }} }} section {{ margin: 1.6rem 0; }}
.note {{ font-style: italic; }} code {{ font-family: ui-monospace, monospace; }}
</style>{style}</head><body><main>
<h1>{title}</h1>
{body}
</main></body></html>
"""
WORDS = {"passed": "passed", "failed": "not yet", "error": "stops with an error", "timeout": "takes too long", "not_started": "not started"}


def points(result, task):
    """The points that a result earns in a task."""
    answer = result["answers"].get(task.key)
    return task.points if answer and answer["status"] == "passed" else 0.0


def file_name(learner):
    """A learner's name as the name of a file: readable, and different for different learners."""
    plain = re.sub(r"[^\w-]+", "_", learner, flags=re.ASCII).strip("_")[:60] or "learner"
    exact = plain == learner
    return plain if exact else f"{plain}-{int.from_bytes(learner.encode('utf-8', 'replace')) % 0xFFFFF1:06x}"


def write(path, text):
    """Write a file whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8", newline="")
    os.replace(part, path)


def _name(text):
    """A name as HTML that may be broken after its underscores and slashes, for a narrow page."""
    return re.sub("([_/])", r"\1<wbr>", html.escape(text))


def _number(value):
    return f"{value:g}"


def _cell(text):
    """Text for a spreadsheet; what one would take for a formula is kept a text."""
    text = str(text)
    return "'" + text if text[:1] in "=+-@\t\r" and text[:1] else text


def _csv(rows):
    out = io.StringIO()
    csv.writer(out).writerows([[_cell(c) if isinstance(c, str) else c for c in row] for row in rows])
    return "\ufeff" + out.getvalue()  # the mark by which spreadsheets know UTF-8


# ---- the table ----


def marks_csv(course, results, texts, when):
    """One line a learner: points for each exercise, for short answers, and the sum; what came late.

    when: {(learner, file): the time that it carries, or None}.
    """
    head = ["learner", "points", "of", *(t.key for t in course.tasks), "short answers", "late", "remarks"]
    most, rows = sum(t.points for t in course.tasks), []
    for result in results:
        earned = [points(result, t) for t in course.tasks]
        own = [p for (learner, _, _), p in texts.items() if learner == result["learner"] and p is not None]
        rows.append([result["learner"], _number(sum(earned) + sum(own)), _number(most), *map(_number, earned),
                     _number(sum(own)) if own else "", " ".join(t.key for t in course.tasks if _late(result, t, when) == "yes"),
                     " ".join(result["notes"])])  # fmt: skip
    return _csv([head, *rows])


def findings_csv(course, results, when):
    """One line for each answer: status, slug of the mistake, the file and the time that it carries, notes."""
    rows = [["learner", "exercise", "status", "mistake", "file", "time", "late", "notes"]]
    for result in results:
        for task in course.tasks:
            a = result["answers"].get(task.key)
            if a:
                time = when.get((result["learner"], a["file"]))
                rows.append([result["learner"], task.key, a["status"], a["mistake"] or "", PurePosixPath(a["file"]).name,
                             time.isoformat(" ") if time else "", _late(result, task, when), " ".join(a["notes"])])  # fmt: skip
    return _csv(rows)


def _late(result, task, when):
    """"yes" or "no", by Canvas's LATE in the file's name or by the time that the file carries; "" if nothing is known."""
    answer = result["answers"].get(task.key)
    if not answer or answer["status"] == "not_started":
        return ""
    if "_LATE_" in PurePosixPath(answer["file"]).name:
        return "yes"
    time, until = when.get((result["learner"], answer["file"])), tasks.end_of(task.due)
    if time is None or until is None:
        return ""
    return "yes" if time > until else "no"


# ---- short answers, marked by hand ----

TEXT_HEAD = ["learner", "question", "answer", "points"]


class BadTable(ValueError):
    """A table that an instructor has filled in cannot be read; the message says where."""


def read_texts(path):
    """{(learner, question, answer): points or None} from a file in which an instructor has written points.

    Some spreadsheets write it back with semicolons or tabs. Raises BadTable where something else is in the way.
    """
    if not path.exists():
        return {}
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadTable(f"{path} is not saved as UTF-8: save it as CSV in UTF-8, and start again.") from error
    rows = csv.DictReader(io.StringIO(text), delimiter=max(",;\t", key=text.partition("\n")[0].count))
    if not set(TEXT_HEAD) <= set(rows.fieldnames or ()):
        raise BadTable(f"{path} must have the columns {', '.join(TEXT_HEAD)} in its first line.")
    return {(_bare(r["learner"]), r["question"], _bare(r["answer"])): _points(path, r) for r in rows}


def _points(path, row):
    """The points in a row, or None where there are none yet."""
    written = (row["points"] or "").strip()
    try:
        return float(written.replace(",", ".")) if written else None
    except ValueError as error:
        raise BadTable(f"{path}: the points of {row['learner']} for {row['question']} are {written!r}, which is no number.") from error


def _bare(text):
    return text[1:] if text[:2] in ("'=", "'+", "'-", "'@") else text


def texts_of(results, earlier):
    """All short answers with the points given so far; an answer that has changed since has none."""
    found = {}
    for result in results:
        for id, answer in result["quiz"].items():
            if answer["right"] is None:
                key = (result["learner"], id, answer["given"].replace("\r", ""))
                found[key] = earlier.get(key)
    return found


def texts_csv(texts):
    """Sorted by question, so that all answers to one are marked in a row."""
    order = sorted(texts, key=lambda key: (key[1], key[0]))
    return _csv([TEXT_HEAD, *([a, q, text, "" if texts[a, q, text] is None else _number(texts[a, q, text])] for a, q, text in order)])


# ---- pages ----


def page(course, result, texts):
    """The feedback page of one learner."""
    earned, most = sum(points(result, t) for t in course.tasks), sum(t.points for t in course.tasks)
    own = {q: p for (learner, q, _), p in texts.items() if learner == result["learner"] and p is not None}
    parts = [f"<p>{html.escape(result['learner'])}: <strong>{_number(earned)} of {_number(most)} points</strong> for exercises"
             + (f", and {_number(sum(own.values()))} for short answers" if own else "") + ".</p>"]  # fmt: skip
    parts += [f"<p class='note'>{html.escape(n)}</p>" for n in result["notes"]]
    rows = "".join(f"<tr><th scope='row'>{_link(result, t)}</th><td>{_name(t.notebook)}</td>"
                   f"<td>{WORDS[_status(result, t)]}</td><td class='n'>{_number(points(result, t))} of {_number(t.points)}</td></tr>"
                   for t in course.tasks)  # fmt: skip
    parts.append("<table><caption>Summary</caption><thead><tr><th scope='col'>Exercise</th><th scope='col'>Notebook</th>"
                 f"<th scope='col'>Result</th><th scope='col'>Points</th></tr></thead><tbody>{rows}</tbody></table>")  # fmt: skip
    parts += [_section(t, result["answers"][t.key]) for t in course.tasks if _status(result, t) != "not_started"]
    return FRAME.format(title=html.escape(f"{course.title}: what was found"), style=STYLE, body="\n".join(parts))


def _link(result, task):
    """The exercise's name; a link where there is something to read about it."""
    name = _name(task.exercise)
    return name if _status(result, task) == "not_started" else f"<a href='#{_anchor(task)}'>{name}</a>"


def _anchor(task):
    return html.escape(task.key.replace("/", "-"))


def _status(result, task):
    return result["answers"].get(task.key, {"status": "not_started"})["status"]


def _section(task, answer):
    """One exercise, in the check's own words."""
    table = answer["table"] and Table(answer["table"]["caption"], *(tuple(map(tuple, answer["table"][k])) for k in ("yours", "right")))
    message = "\n".join(p for p in (answer["message"], answer["remark"]) if p)
    shown = CheckResult(answer["status"], answer["mistake"], message, None, 0.0, task.function, table)._repr_html_()
    notes = "".join(f"<p class='note'>{html.escape(n)}</p>" for n in answer["notes"])
    return f"<section id='{_anchor(task)}'><h2>{_name(task.exercise)}</h2>{shown.removeprefix(STYLE)}{notes}</section>"


def overview(course, results):
    """The class: how each exercise went, which mistakes are common, which questions were missed."""
    body = [f"<p>{len(results)} learners, {len(course.tasks)} exercises.</p>", _exercise_table(course, results)]
    for task in course.tasks:
        slugs = Counter(a["mistake"] for r in results if (a := r["answers"].get(task.key)) and a["status"] not in ("passed", "not_started"))
        if slugs:
            said = {a["mistake"]: a["message"].split("\n")[0] for r in results if (a := r["answers"].get(task.key))}
            rows = "".join(f"<tr><td class='n'>{n}</td><th scope='row'><code>{html.escape(str(s))}</code></th><td>{html.escape(said[s])}</td></tr>"
                           for s, n in sorted(slugs.items(), key=lambda pair: (-pair[1], str(pair[0]))))  # fmt: skip
            body.append(f"<table><caption>Mistakes in {_name(task.key)}</caption><thead><tr><th scope='col'>Learners</th>"
                        f"<th scope='col'>Mistake</th><th scope='col'>What they were told</th></tr></thead><tbody>{rows}</tbody></table>")  # fmt: skip
    body.append(_quiz_table(results))
    return FRAME.format(title=html.escape(f"{course.title}: the class"), style="", body="\n".join(body))


def _exercise_table(course, results):
    rows = ""
    for task in course.tasks:
        counts = Counter(_status(r, task) for r in results)
        wrong = counts["failed"] + counts["error"] + counts["timeout"]
        rows += (f"<tr><th scope='row'>{_name(task.key)}</th><td class='n'>{counts['passed']}</td>"
                 f"<td class='n'>{wrong}</td><td class='n'>{counts['not_started']}</td></tr>")  # fmt: skip
    return ("<table><caption>Exercises</caption><thead><tr><th scope='col'>Exercise</th><th scope='col'>Passed</th>"
            f"<th scope='col'>Not yet</th><th scope='col'>Not started</th></tr></thead><tbody>{rows}</tbody></table>")  # fmt: skip


def _quiz_table(results):
    """Questions by how many missed them at first; from the record files that were handed in."""
    counts = defaultdict(Counter)
    for result in results:
        for id, answer in result["quiz"].items():
            if answer["right"] is not None:
                counts[id][answer["right"]] += 1
    if not counts:
        return "<p>Nobody handed in a record of the quizzes (<code>progress.export_file()</code>).</p>"
    rows = "".join(
        f"<tr><th scope='row'>{_name(id)}</th><td class='n'>{c[False]} of {c.total()}</td><td>{html.escape(_question(id))}</td></tr>"
        for id, c in sorted(counts.items(), key=lambda pair: (-pair[1][False] / pair[1].total(), pair[0]))
    )
    return ("<table><caption>Questions, by how many missed them at first</caption><thead><tr><th scope='col'>Question</th>"
            f"<th scope='col'>Missed</th><th scope='col'>Text</th></tr></thead><tbody>{rows}</tbody></table>")  # fmt: skip


def _question(id):
    notebook, _, name = id.partition("/")
    return quiz_bank.find_item(notebook, name)["text"]
