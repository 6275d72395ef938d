"""What a learner's exported records say about the quiz: marked again here, since a record can be edited."""

from course_lib import journal, quiz_bank
from course_lib.quiz_marking import fits, is_right


class _InMemory:
    """Looks like a path to journal.read_file."""

    def __init__(self, file):
        self.name, self.read_bytes = file.name, file.read


def answers(files):
    """{id: {"right": bool or None, "given": text}} from record files: the first answer to each item, the last text."""
    events = []
    for file in files:
        try:
            events += journal.read_file(_InMemory(file))[0]
        except RecursionError:
            continue  # brackets in brackets: nobody's record
    found = {}
    for event in sorted((e for e in events if e["kind"] == "answer"), key=lambda e: e["time"]):
        item = _item(event["id"])
        if item is not None:
            _take(found, event, item)
    return found


def _item(id):
    notebook, _, name = id.partition("/")
    try:
        return quiz_bank.find_item(notebook, name)
    except (ValueError, OSError):  # a question of another version
        return None


def _take(found, event, item):
    given = event.get("given")
    if item["kind"] == "text":
        if isinstance(given, str) and given.strip():
            found[event["id"]] = {"right": None, "given": given[:5000]}
    elif item["kind"] != "drill" and event["id"] not in found and fits(item, given):
        found[event["id"]] = {"right": bool(is_right(item, given)), "given": str(given)[:200]}
