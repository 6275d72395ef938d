"""What this learner predicted, answered and passed: kept on their own disk, and read back as one page.

    progress.show()                     what is done, what was surprising, what to come back to
    progress.export_file("mine.jsonl")  everything in one file, to take along (Binder forgets)
    progress.import_file("mine.jsonl")  merge such a file; doing it twice changes nothing
    progress.delete_everything()

How the records are stored, and what survives a crash, stands in journal.py. Uses the standard library only.
"""
import html
import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import NamedTuple

from course_lib import journal

A_DAY, A_WEEK = timedelta(days=1), timedelta(days=7)
EARLY = timedelta(hours=4)                   # tomorrow morning counts as "after a day", whatever the hour


def record(kind, id, **data):
    """Keep one event: `kind` such as "exercise", "answer" or "prediction", `id` what it is about, and any JSON data.

    Never raises for a full or read-only disk: the event stays in memory then, and `warning()` says so.
    """
    journal.append(journal.new_record(kind, id, data))


def warning():
    """One sentence if something could not be saved, else the empty string."""
    return journal.trouble()


def events(kind=None, id=None):
    """All events as dicts (keys: time, kind, id and the data recorded), oldest first; only `kind` or `id` if given."""
    records, _ = journal.read()
    return [r for r in records if kind in (None, r["kind"]) and id in (None, r["id"])]


# ---- one file to take along ----
def export_file(path="my_progress.jsonl"):
    """Write every event into one file and return its path. An existing file that is not such an export is kept."""
    path = Path(path)
    if path.exists() and path.stat().st_size and not journal.read_file(path)[0]:
        raise FileExistsError(f"{path} exists and holds no progress of this course. Choose another name.")
    part = path.with_name(path.name + ".part")
    part.write_text(journal.as_lines(events()), encoding="utf-8")
    os.replace(part, path)
    return path


class Imported(NamedTuple):
    """What import_file did."""
    new: int
    known: int
    notes: list

    def __str__(self):
        return " ".join([f"{self.new} new record(s), {self.known} known already.", *self.notes])


def import_file(path):
    """Merge an exported file into this learner's records. Importing it again changes nothing."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}. export_file() writes one.")
    records, notes = journal.read_file(path)
    known = {event["uid"] for event in events()}
    new = [r for r in records if r["uid"] not in known]
    if new and not journal.append(*new):
        notes = [*notes, warning()]
    return Imported(len(new), len(records) - len(new), notes)


def delete_everything():
    """Remove all that was kept, on the disk and in memory. It cannot be undone; export_file() first if in doubt."""
    count = journal.delete_all()
    return f"Everything is deleted: {count} file(s) in {journal.home()}."


# ---- what to come back to ----
def _verdict(event):
    """"passed", "missed" or None: what an event says about an exercise or a quiz item."""
    if event["kind"] == "exercise":
        return "passed" if event.get("status") == "passed" else None if event.get("status") == "not_started" else "missed"
    if event["kind"] == "reveal":
        return "missed"
    if event["kind"] == "answer":
        return "passed" if event.get("right") else "missed"
    return None


def passed():
    """Ids of the exercises and quiz items that were right at least once."""
    return {event["id"] for event in events() if _verdict(event) == "passed"}


def come_back(now=None):
    """{id: when to look at it again} for all that was missed or revealed: after a day, and once more after a week."""
    history = {}
    for event in events():
        if _verdict(event):
            history.setdefault(event["id"], []).append((datetime.fromisoformat(event["time"]), _verdict(event)))
    due = {id: _next_look(tries) for id, tries in history.items()}
    return {id: when for id, when in sorted(due.items(), key=lambda pair: str(pair[1])) if when}


def _next_look(tries):
    """When to try again, or None. A success counts only once its day has come: the same evening proves little."""
    waits, due = [], None
    for when, verdict in tries:
        if verdict == "missed":
            waits, due = [A_DAY, A_WEEK], when + A_DAY
            waits.pop(0)
        elif due and when >= due - EARLY:
            due = when + waits.pop(0) if waits else None
    return due


# ---- the page ----
class Page:
    """Headings with lists, shown as HTML in a notebook and as plain text elsewhere."""

    def __init__(self, title, sections):
        self.title, self.sections = title, sections          # sections: {heading: [sentence, ...]}

    def __str__(self):
        parts = [self.title]
        for heading, lines in self.sections.items():
            parts.append("\n".join([heading, *(f"  - {line}" for line in lines)]))
        return "\n\n".join(parts)

    __repr__ = __str__

    def _repr_html_(self):
        parts = [f"<h3>{html.escape(self.title)}</h3>"]
        for heading, lines in self.sections.items():
            items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
            parts.append(f"<h4>{html.escape(heading)}</h4><ul>{items}</ul>")
        return "".join(parts)


def show(now=None):
    """One page: what is done, what was surprising, and what to come back to and when."""
    now = now or datetime.now(timezone.utc)
    records, notes = journal.read()
    later = come_back()
    due = [f"{name(id)}" for id, when in later.items() if when - EARLY <= now]
    soon = [f"{name(id)}: from {_day(when)}" for id, when in later.items() if when - EARLY > now]
    sections = {"Come back to these today": due or ["Nothing is due today."]}
    if soon:
        sections["Later"] = soon
    sections["What surprised you"] = _surprises(records) or ["Nothing yet: commit to a prediction before a result."]
    sections["Done"] = [name(id) for id in sorted(passed())] or ["Nothing yet."]
    notes = [*notes, warning()] if warning() else notes
    if notes:
        sections["About the files"] = notes
    return Page(f"Your progress, kept on this computer only ({journal.home()})", sections)


def _surprises(records):
    """The latest sentence about each prediction that the measurement contradicted."""
    latest = {r["id"]: r for r in records if r["kind"] == "outcome"}
    return [f"{name(id)}: {r.get('sentence', '')}" for id, r in latest.items() if r.get("surprising")]


def name(id):
    """An id in words: "01_multi_head_intuition/Q1" is "Notebook 01, Q1"."""
    notebook, slash, item = id.partition("/")
    return f"Notebook {notebook[:2]}, {item}" if slash and notebook[:2].isdigit() else id


def _day(when):
    return when.astimezone().strftime("%d %B %Y").lstrip("0")
