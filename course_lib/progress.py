"""What this learner predicted, answered and passed: kept on their own disk, and read back as one page.

    progress.show()                       what is done, what was surprising, what to come back to
    progress.export_file("mine.jsonl")    everything in one file, to take along (Binder forgets)
    progress.import_file("mine.jsonl")    merge such a file; doing it twice changes nothing
    progress.delete_everything()

How the records are stored, and what survives a crash, stands in journal.py. Uses the standard library only.
"""
import html
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from course_lib import journal

A_DAY, A_WEEK = timedelta(days=1), timedelta(days=7)
EARLY = timedelta(hours=4)                   # tomorrow morning counts as "after a day", whatever the hour


def record(kind, id, **data):
    """Keep one event: `kind` such as "exercise" or "answer", `id` what it is about, and any JSON data.

    Never raises for a full or read-only disk: the event stays in memory then, and `warning()` says so.
    """
    journal.append(journal.new_record(kind, id, data))


def warning():
    """One sentence if something could not be saved, else the empty string."""
    return journal.trouble()


def events(kind=None, id=None):
    """All events as dicts with time, kind, id and data, oldest first; only this `kind` or `id` if given."""
    records, _ = journal.read()
    return [r for r in records if kind in (None, r["kind"]) and id in (None, r["id"])]


# ---- one file to take along ----
def export_file(path="my_progress.jsonl"):
    """Write every event into one file and return its path. A file of another sort is not replaced."""
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
    """Remove all that was kept, on the disk and in memory. If in doubt, export_file() first."""
    return f"Everything is deleted: {journal.delete_all()} file(s) in {journal.home()}."


# ---- what to come back to ----
def passed():
    """Ids of the exercises and quiz items that were right at least once."""
    return {event["id"] for event in events() if _verdict(event) == "passed"}


def come_back():
    """{id: when} for what was missed or revealed: look again after a day, and once more after a week."""
    tries = {}
    for event in events():
        if _verdict(event):
            when = datetime.fromisoformat(event["time"])
            tries.setdefault(event["id"], []).append((when, _verdict(event)))
    due = {id: _next_look(history) for id, history in tries.items()}
    return dict(sorted(((id, when) for id, when in due.items() if when), key=lambda pair: pair[1]))


def _verdict(event):
    """What an event says about its exercise or quiz item: "passed", "open", "missed", or None for nothing."""
    if event["kind"] == "reveal":
        return "missed"
    if event["kind"] == "exercise":
        return {"passed": "passed", "not_started": None}.get(event.get("status"), "open")
    if event["kind"] == "answer" and event.get("right") is not None:
        return "passed" if event["right"] else "missed"
    return None


def _next_look(tries):
    """When to look again, or None.

    "missed" (a wrong answer, a revealed solution) asks for two more successes, a day and then a week later;
    an earlier success proves little and changes nothing. "open" (an exercise that fails) asks for one.
    """
    due, then = None, []                     # then: the waits that follow the next success
    for when, verdict in tries:
        if verdict == "missed":
            due, then = when + A_DAY, [A_WEEK]
        elif verdict == "open" and due is None:
            due, then = when + A_DAY, None
        elif verdict == "passed" and due and (then is None or when >= due - EARLY):
            due, then = (when + then[0], []) if then else (None, [])
    return due


# ---- the page ----
class Page:
    """Headings with lists: HTML in a notebook, plain text elsewhere. sections: {heading: [sentence, …]}."""

    def __init__(self, title, sections):
        self.title, self.sections = title, sections

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
    """One page: what to come back to and when, what was surprising, what is done. now: for tests."""
    now = now or datetime.now(UTC)
    records, notes = journal.read()
    looks = come_back()
    later = [f"{in_words(id)}: from {_day(when)}" for id, when in looks.items() if when - EARLY > now]
    sections = {
        "Come back to these today": [in_words(id) for id, when in looks.items() if when - EARLY <= now],
        "Come back to these later": later,
        "What surprised you": _surprises(records),
        "Done": [in_words(id) for id in sorted(passed())] or ["Nothing yet."],
        "About the files": [note for note in [*notes, warning()] if note],
    }
    shown = {heading: lines for heading, lines in sections.items() if lines}
    shown["Where it is kept"] = [f"On this computer only, in {journal.home()}. progress.export_file() takes "
                                 "it along, progress.delete_everything() removes it."]
    return Page("Your progress", shown)


def _surprises(records):
    """The latest sentence about each prediction that the measurement contradicted."""
    latest = {r["id"]: r for r in records if r["kind"] == "outcome"}
    return [f"{in_words(id)}: {r.get('sentence', '')}" for id, r in latest.items() if r.get("surprising")]


def in_words(id):
    """An id as a reader knows it: "01_multi_head_intuition/Q1" is "Notebook 01: Q1"."""
    notebook, slash, item = id.partition("/")
    return f"Notebook {notebook[:2]}: {item}" if slash and notebook[:2].isdigit() else id


def _day(when):
    return when.astimezone().strftime("%d %B %Y").lstrip("0")
