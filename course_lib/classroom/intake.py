"""Which files belong to which learner: folders, zips from an LMS, zips in zips, single notebooks. Nothing is unpacked.

The learner is the name of the folder just inside what was given (`Anna Muster_4711_assignsubmission_file_` becomes
`Anna Muster`), or the part of a loose file's name that stands before the notebook's name (`muster_anna_01_multi…`).
Where neither names anybody, it is what was given: of `Class/*` each folder or zip, of `Class/*/*.ipynb` each folder.
Whoever handed in something, but no notebook, has a Submission all the same, with a note.
"""

import io
import re
import unicodedata
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath

LARGEST = 300 << 20  # bytes of one file; a larger one is reported, not read
OURS = ("notebooks", "graded")  # the course's own folders: who hands in all of it is named by what stands around them
DEEPEST, MOST = 3, 5000  # zips in zips; files of one zip


@dataclass
class File:
    """A file that was handed in. read() gives its bytes, or raises OSError. when: the local time that it carries, or None."""

    name: str
    read: Callable
    when: datetime | None = None


@dataclass
class Submission:
    """All that one learner handed in."""

    learner: str
    notebooks: list = field(default_factory=list)
    records: list = field(default_factory=list)  # what progress.export_file() wrote
    notes: list = field(default_factory=list)


def gather(paths, known):
    """[Submission, …] by learner's name. known: names of the course's notebooks, to tell them from learners' names.

    Raises OSError for a path that is none, or a zip that cannot be opened.
    """
    found = {}
    for path in map(Path, paths):
        for place, file in _files(path):
            folder, _, rest = place.partition("/") if "/" in place else ("", "", place)
            learner = _learner(folder, rest, known, path)
            submission = found.setdefault(learner, Submission(learner))
            if isinstance(file, str):
                submission.notes.append(file)
            elif file:
                kind = PurePosixPath(rest).suffix.lower()
                {".ipynb": submission.notebooks, ".jsonl": submission.records}[kind].append(file)
    for submission in found.values():
        if not submission.notebooks:
            submission.notes.append("No notebook was handed in.")
    return [found[name] for name in sorted(found)]


def _person(folder):
    """A folder's name without what Moodle adds to it."""
    return re.sub(r"_\d+_assignsubmission_.*$", "", _composed(folder)).strip() or folder


def _composed(name):
    """A Mac writes a letter such as ö as two characters, o and its dots: here it is one, as in the roster."""
    return unicodedata.normalize("NFC", name)


def _given(path):
    """The learner's name from the folder or zip that was given, or from the folder of the notebook that was."""
    path = path.resolve()
    return _person(path.name if path.is_dir() else path.stem if path.suffix.lower() == ".zip" else path.parent.name)


def _learner(folder, name, known, path):
    """The learner's name from the folder, or from what stands before the notebook's name, or else from the path given."""
    if folder:
        return _given(path) if folder in OURS else _person(folder)
    stem = _composed(PurePosixPath(name).stem)
    for notebook in known:
        before, match, _ = stem.partition(notebook)
        if match and before.strip("_- "):
            return re.sub(r"(_LATE)?(_\d+)+$", "", before.strip("_- ")) or stem
        if match and notebook.endswith("_graded"):
            return notebook.removesuffix("_graded")
        if match:
            return _given(path)
    return stem


def _files(path):
    """(place, File) of every notebook and record file; the place is relative to what was given.

    In the place of a File stands None for any other file in a learner's folder, and a sentence for a zip that cannot be opened.
    """
    if path.is_dir():
        for inner in sorted(path.rglob("*")):
            if inner.is_symlink() or not inner.is_file():
                continue
            place = inner.relative_to(path).as_posix()
            if inner.suffix.lower() == ".zip":
                yield from _inside(place, lambda inner=inner: _bounded(inner), 1)
            elif _wanted(place):
                yield place, File(place, lambda inner=inner: _bounded(inner), _changed(inner))
            elif _of_somebody(place):
                yield place, None
    elif path.suffix.lower() == ".zip":
        if not zipfile.is_zipfile(path):
            raise OSError(f"{path} cannot be opened as a zip.")
        yield from _inside("", path.read_bytes, 1)
    elif path.is_file() and _wanted(path.name):
        yield path.name, File(path.name, lambda: _bounded(path), _changed(path))
    else:
        raise FileNotFoundError(f"{path} is no folder, no zip and no notebook")


def _inside(place, read, depth):
    """The files of a zip, whose bytes read() gives. One inside a learner's folder belongs to that learner."""
    prefix = place.removesuffix(".zip").removesuffix(".ZIP")
    try:
        archive = zipfile.ZipFile(io.BytesIO(read()))
        entries = [e for e in archive.infolist() if not e.is_dir()][:MOST]
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        yield f"{prefix}/", f"{PurePosixPath(place).name} cannot be opened as a zip: {error}."
        return
    for entry in entries:
        inner = f"{prefix}/{entry.filename.replace(chr(92), '/').lstrip('/')}" if prefix else entry.filename.replace(chr(92), "/")
        if inner.lower().endswith(".zip") and depth < DEEPEST and entry.file_size <= LARGEST:
            yield from _inside(inner, lambda entry=entry: _unzipped(archive, entry), depth + 1)
        elif _wanted(inner):
            yield inner, File(inner, lambda archive=archive, entry=entry: _unzipped(archive, entry), _dated(entry))
        elif _of_somebody(inner):
            yield inner, None


def _unzipped(archive, entry):
    try:
        with archive.open(entry) as file:
            raw = file.read(LARGEST + 1)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, ValueError) as error:
        raise OSError(f"it cannot be unpacked ({error})") from error
    if len(raw) > LARGEST:
        raise OSError("it is too large")
    return raw


def _bounded(path):
    if path.stat().st_size > LARGEST:
        raise OSError("it is too large")
    return path.read_bytes()


def _changed(path):
    return datetime.fromtimestamp(path.stat().st_mtime).replace(microsecond=0)


def _dated(entry):
    """The time of a zip's entry; None where the zip has none, or one that is in no calendar."""
    try:
        return datetime(*entry.date_time) if entry.date_time[0] > 1980 else None
    except ValueError:
        return None


def _hidden(place):
    return any(p.startswith((".", "__MACOSX")) for p in place.split("/"))


def _wanted(place):
    return not _hidden(place) and place.lower().endswith((".ipynb", ".jsonl"))


def _of_somebody(place):
    """True for a file in a folder, and so in a learner's."""
    return "/" in place and not _hidden(place)
