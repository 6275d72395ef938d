"""Where a learner's records are kept: plain JSON lines on their own disk, never sent anywhere.

Each kernel appends to a file of its own, so two notebooks cannot spoil each other's records and no lock is
needed. A line is forced to the disk before `append` returns. A crash can therefore harm at most the line
being written, and no other kernel ever writes to that file: what is damaged is set aside by itself.
Uses the standard library only.
"""
import json
import os
import secrets
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

VERSION = 1                                  # of the records; a record with a higher number is left alone
NAMES = "progress-*.jsonl"

_lock = threading.Lock()                     # widget callbacks run in a thread of their own
_own_names = {}                              # (folder, process id) -> the one file that this process writes
_unsaved = []                                # records that no disk would take yet; tried again with the next
_trouble = ""                                # why, in a sentence for the learner


def home():
    """Folder of the records: COURSE_LIB_HOME if set, else the place where this system keeps a user's data."""
    if os.environ.get("COURSE_LIB_HOME"):
        return Path(os.environ["COURSE_LIB_HOME"]).expanduser()
    return default_home()


def default_home():
    """The folder used when COURSE_LIB_HOME is not set."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "transformers-by-experiment"


# ---- writing ----
def new_record(kind, id, data):
    """A record as a dict: version, a unique key, the time in UTC, the kind, what it is about, and `data`."""
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    own = {"v": VERSION, "time": now, "kind": kind, "id": id, "uid": secrets.token_hex(8)}
    return {**own, **data, **own}            # its own fields first, and never replaced by data


def as_lines(records):
    """Records as text. Each starts on a new line, so that a torn line before it cannot spoil it."""
    return "".join("\n" + json.dumps(record, ensure_ascii=False) for record in records)


def append(*records):
    """Write records, and any that could not be written before. Returns True when all are on the disk.

    On a full or read-only disk they stay in memory, and `trouble()` says so: a learner's work goes on.
    """
    global _trouble
    text = as_lines(records)                 # what is no JSON raises here, and leaves nothing behind
    with _lock:
        try:
            _write(_own_file(), as_lines(_unsaved) + text)
        except OSError as error:
            _unsaved.extend(records)
            _trouble = (f"Not saved: {error.strerror or error} ({home()}). {len(_unsaved)} record(s) are "
                        "held in memory until this kernel stops; the next answer tries again.")
            return False
        _unsaved.clear()
        _trouble = ""
        return True


def trouble():
    """Empty when everything is on the disk; else one sentence that says what is not, and why."""
    return _trouble


def _own_file():
    """The file that this process, and no other, writes in the present folder."""
    key = (str(home()), os.getpid())         # a forked child gets a file of its own
    if key not in _own_names:
        started = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        _own_names[key] = f"progress-{started}-{secrets.token_hex(4)}.jsonl"
    return home() / _own_names[key]


def _write(path, text):
    """Append `text` and wait until it is on the disk; on failure the file is as long as before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
    try:
        length = os.fstat(handle).st_size
        try:
            data = text.encode("utf-8")
            while data:
                data = data[os.write(handle, data):]
            os.fsync(handle)
        except OSError:
            os.ftruncate(handle, length)
            raise
    finally:
        os.close(handle)


# ---- reading ----
def read():
    """All readable records, oldest first, and a list of sentences about what could not be read."""
    by_uid, notes = {}, []
    for path in sorted(home().glob(NAMES)):
        records, problems = read_file(path)
        by_uid.update((record["uid"], record) for record in records)
        notes += problems
    by_uid.update((record["uid"], record) for record in _unsaved)
    return sorted(by_uid.values(), key=lambda record: record["time"]), notes


def read_file(path):
    """The readable records of one file, and what was left out, in sentences. The file is never changed."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        return [], [f"{path.name} cannot be read ({error.strerror or error}); it is left as it is."]
    parsed = [_parse(line) for line in lines if line.strip()]
    damaged = parsed.count(None)
    newer = sum(1 for record in parsed if record and record["v"] > VERSION)
    notes = []
    if newer:
        notes.append(f"{path.name} holds {newer} record(s) of a newer version of this course. They are left "
                     "untouched and are not shown; update the course to see them.")
    if damaged:
        notes.append(f"{path.name} holds {damaged} damaged line(s). They are left out; "
                     "the file is kept as it is.")
    return [record for record in parsed if record and record["v"] <= VERSION], notes


def _parse(line):
    """The record in one line, or None where the line is damaged."""
    try:
        record = json.loads(line.decode("utf-8"))
    except ValueError:
        return None
    if not isinstance(record, dict) or type(record.get("v")) is not int:
        return None
    if record["v"] > VERSION:
        return record                        # a newer version may have other fields
    whole = all(isinstance(record.get(key), str) for key in ("uid", "time", "kind", "id"))
    return record if whole and _is_time(record["time"]) else None


def _is_time(text):
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


# ---- deleting ----
def delete_all():
    """Remove every record, on the disk and in memory. Returns the number of files removed."""
    global _trouble
    with _lock:
        paths = list(home().glob(NAMES))
        for path in paths:
            path.unlink(missing_ok=True)
        _unsaved.clear()
        _trouble = ""
    return len(paths)
